"""Sessions of OpenCode: exported sessions, and the events that `opencode run --format json` prints.

An export is one object, `info` and `messages`, each message an `info` and its `parts`; a printed event is one line
with a `sessionID` and a `part`. One session is one trace; messages and parts stand in order.

- The question is the first text of a user message, the answer the text parts of the last assistant message with text
  after the last question; parts that the program put in (`synthetic`, `ignored`) are nothing that was said.
- Calls are parts of type `tool`. `state` holds arguments, output or error, the status (`completed` or `error`;
  others are still running), and start and end in milliseconds.
- Tokens and cost are those of the assistant messages, each once, else of the `step-finish` parts, else of the
  session's `info`. `tokens.input` leaves out the cache and `tokens.output` the reasoning; the total counts both.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run, iso_text
from pipeline.sources.sessions import read_sessions
from pipeline.sources.span_tree import amount

_MILLISECOND: Final = SECOND // 1000
_INT64: Final = 2**63 - 1


def recognises(document: Any) -> str | None:
    """The reason why a document is an OpenCode session, or an event of one, else None."""
    if not isinstance(document, dict):
        return None
    messages = document.get("messages")
    if isinstance(document.get("info"), dict) and isinstance(messages, list) and all(map(_is_message, messages)):
        return "it has `info` and `messages`, each with `info` and `parts`"
    part = document.get("part")
    if isinstance(document.get("sessionID"), str) and isinstance(part, dict) and isinstance(part.get("type"), str):
        return "it is an event of an OpenCode session"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read sessions."""
    return read_sessions(documents, _Session, _session_of)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("info"), dict) and isinstance(value.get("parts"), list)


def _session_of(line: Node) -> str | None:
    info = line.member("info")
    return line.member("sessionID").name() or (info.member("id").name() if info else None)


class _Figures(msgspec.Struct, kw_only=True):
    """Tokens and cost of one message, step or session."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    cost: float | None = None


class _Session:
    """One session: an export, or events as they come."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._id: str | None = None
        self._model: str | None = None
        self._question: str | None = None
        self._answer: list[str] = []
        self._speaking: str | None = None
        self._log = CallLog()
        self._times: list[int] = []
        self._seen: set[str] = set()
        # By how far in they stand: the innermost are the surest, and none is counted beside another.
        self._of_messages: list[_Figures] = []
        self._of_steps: list[_Figures] = []
        self._of_session: list[_Figures] = []

    def take(self, line: Node) -> None:
        """Take an export, or the next event."""
        if line.member("part"):
            self._id = self._id or _session_of(line)
            self._time(line.member("timestamp"))
            self._printed(line.member("part"))
            return
        # Of a session exported twice the later export counts, which holds the earlier.
        self._begin()
        self._id = _session_of(line)
        info = line.member("info")
        model = info.member("model")
        self._model = model.text() if isinstance(model.value, str) else model.member("id", "modelID").text()
        figures = _figures(info)
        self._of_session += [figures] if figures else []
        for message in line.member("messages").items():
            self._message(message.member("info"), list(message.member("parts").items()))

    def _printed(self, part: Node) -> None:
        """A part as it is printed: one of the agent's, for what it was asked is not printed."""
        if self._part(part) and self._is_new(part):
            message = part.member("messageID").name()
            before = self._answer if message is not None and message == self._speaking else []
            self._answer = [*before, part.member("text").text() or ""]
            self._speaking = message

    def _message(self, info: Node, parts: list[Node]) -> None:
        role = info.member("role").text()
        self._time(info.member("time").member("created"))
        self._time(info.member("time").member("completed"))
        if role == "assistant":
            self._model = info.member("modelID").text() or self._model
            figures = _figures(info)
            self._of_messages += [figures] if figures else []
        texts = [part.member("text").text() for part in parts if self._part(part)]
        said = [text for text in texts if text]
        if role == "user" and said:
            self._question, self._answer = self._question or "\n".join(said), []
        elif role == "assistant":
            self._answer = said or self._answer

    def _part(self, part: Node) -> bool:
        """Take a part; whether it is text that somebody said."""
        kind = part.member("type").value
        if kind == "tool":
            self._call(part)
        elif kind == "step-finish":
            figures = _figures(part)
            self._of_steps += [figures] if figures and self._is_new(part) else []
        said = kind == "text" and not part.member("synthetic").flag() and not part.member("ignored").flag()
        return said and part.member("text").text() is not None

    def _is_new(self, part: Node) -> bool:
        own = part.member("id").name()
        if own is None:
            return True
        new = own not in self._seen
        self._seen.add(own)
        return new

    def _call(self, part: Node) -> None:
        state = part.member("state")
        status, error = state.member("status").text(), state.member("error").value
        start, end = (_milliseconds(state.member("time").member(name)) for name in ("start", "end"))
        for time in (start, end):
            self._times += [time] if time is not None else []
        call = self._log.add(
            part.member("callID", "id").name(), part.member("tool").text(), arguments_of(state.member("input"))
        )
        Outcome(
            result=state.member("output").value,
            success=None if status not in ("completed", "error") else status == "completed",
            error=(error or "error") if status == "error" else None,
            duration_ms=(end - start) / _MILLISECOND if start is not None and end is not None else None,
        ).fill(call)

    def _time(self, node: Node) -> None:
        time = _milliseconds(node)
        self._times += [time] if time is not None else []

    def runs(self) -> Iterator[Run]:
        """The session."""
        first, last = (min(self._times), max(self._times)) if self._times else (None, None)
        trace = Trace(
            traceId=self._id,
            question=self._question,
            finalAnswer="\n".join(self._answer) or None,
            startedAt=iso_text(first),
            finishedAt=iso_text(last),
            durationMs=(last - first) / _MILLISECOND
            if first is not None and last is not None and last > first
            else None,
            model=self._model,
            usage=_usage(self._of_messages or self._of_steps or self._of_session),
            toolInvocations=self._log.calls(),
        )
        yield Run(trace=trace, warned=self._log.warned())


def _milliseconds(node: Node) -> int | None:
    """Nanoseconds of a time in milliseconds."""
    return scaled_ns(node.value, _MILLISECOND) if not isinstance(node.value, str) else node.instant()


def _figures(node: Node) -> _Figures | None:
    tokens = node.member("tokens")
    cache = tokens.member("cache")
    given, made = tokens.member("input").count(), tokens.member("output").count()
    beside = [node.count() or 0 for node in (tokens.member("reasoning"), cache.member("read"), cache.member("write"))]
    found = _Figures(
        input=given,
        output=made,
        total=given + made + sum(beside) if given is not None and made is not None else None,
        cost=amount(node.member("cost").value),
    )
    # A message that was never sent says zero everywhere.
    return found if found.total or found.cost else None


def _usage(figures: list[_Figures]) -> Usage | None:
    if not figures:
        return None
    sums = {
        name: sum(known)
        for name in ("input", "output", "total")
        if (known := [count for each in figures if (count := getattr(each, name)) is not None]) and sum(known) <= _INT64
    }
    costs = [each.cost for each in figures if each.cost is not None]
    return Usage(
        inputTokens=sums.get("input"),
        outputTokens=sums.get("output"),
        totalTokens=sums.get("total"),
        costUsd=math.fsum(costs) if costs else None,
    )


FORMAT = Format(
    name="opencode",
    summary="OpenCode: exported sessions with info and messages, and the events of opencode run --format json",
    recognises=recognises,
    read=read,
    recognised_by="an object with `info` and `messages[]` of `info` and `parts`; or with a `sessionID` and a `part`",
    fields={
        "traceId": "info.id",
        "question": "the first messages[info.role=user].parts[type=text].text",
        "finalAnswer": "the last messages[info.role=assistant].parts[type=text].text",
        "startedAt": "the first time",
        "finishedAt": "the last time",
        "durationMs": "from the first time to the last",
        "model": "messages[].info.modelID, else info.model.id",
        "usage.inputTokens": "messages[].info.tokens.input",
        "usage.outputTokens": "messages[].info.tokens.output",
        "usage.totalTokens": "messages[].info.tokens: input, output, reasoning, cache.read and cache.write",
        "usage.costUsd": "messages[].info.cost",
        "toolInvocations[].toolName": "parts[type=tool].tool",
        "toolInvocations[].arguments": "parts[type=tool].state.input",
        "toolInvocations[].resultSummary": "parts[type=tool].state.output",
        "toolInvocations[].success": "whether parts[type=tool].state.status is completed",
        "toolInvocations[].durationMs": "parts[type=tool].state.time, from start to end",
        "toolInvocations[].error": "parts[type=tool].state.error",
    },
)
