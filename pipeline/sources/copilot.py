"""Sessions of GitHub's Copilot CLI: its event files, and the flat lines that benchmarks keep of it.

Events are `{type, data, id, timestamp, parentId}` with dotted types such as `assistant.message` and
`tool.execution_complete`; flat lines are `message`, `tool_use`, `tool_result` and `usage`. One session is one trace.
Lines of plain text between them, as a wrapper's standard error leaves them, are left out with a warning. Lines count
by their time.

- The question is the first user message, the answer the text of the last assistant message with text after the last
  user message; messages of sub-agents (`parentToolCallId`) say nothing, and pieces (`*_delta`, `*_partial_result`)
  are repeated by the whole.
- Calls are `tool.execution_start` events and the `toolRequests` of messages, joined by `toolCallId`. An execution's
  end says whether it succeeded, and its time gives the duration. In flat lines calls are joined to results by id, and
  `is_error` says whether they failed.
- Tokens are summed over `assistant.usage` events (each once) or flat `usage` lines; where there are none, they are
  those of the last `session.shutdown`. A session file without either knows the `outputTokens` of its messages only.

Stays null: cost, for the program counts premium requests.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.content_blocks import outcome_of
from pipeline.sources.instants import SECOND
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run
from pipeline.sources.sessions import read_sessions

_MILLISECOND: Final = SECOND // 1000
_INT64: Final = 2**63 - 1
_FAMILIES: Final = frozenset(
    {"session", "user", "assistant", "tool", "subagent", "skill", "hook", "permission", "system"}
)
_FIGURES: Final = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def recognises(document: Any) -> str | None:
    """The reason why a document is a line of a Copilot CLI session, else None."""
    if not isinstance(document, dict) or not isinstance(document.get("type"), str) or "timestamp" not in document:
        return None
    kind = document["type"]
    family, dot, _ = kind.partition(".")
    if dot and family in _FAMILIES and isinstance(document.get("data"), dict):
        return f"it is a Copilot CLI event of type {kind[:40]}"
    flat = (
        (kind == "message" and isinstance(document.get("role"), str) and isinstance(document.get("content"), str))
        or (kind == "tool_use" and "name" in document and "input" in document)
        or (kind == "tool_result" and "tool_use_id" in document)
        or (kind == "usage" and "input_tokens" in document)
    )
    return f"it is a line of type {kind} with a time, as Copilot CLI sessions are kept" if flat else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read session files."""
    return read_sessions(documents, _Session, _session_of, time_of=_time)


def _session_of(line: Node) -> str | None:
    if line.member("type").value == "session.start":
        return line.member("data").member("sessionId").name()
    return None


def _time(line: Node) -> int | None:
    return line.member("timestamp").instant()


class _Session:
    """One session, line by line."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._question: str | None = None
        self._answer: str | None = None
        self._model: str | None = None
        self._log = CallLog()
        self._times: list[tuple[int, str]] = []
        self._starts: dict[str, int] = {}
        self._stated: dict[str, dict[str, int]] = {}
        self._shutdown: list[dict[str, int]] = []
        self._outputs: dict[str, int] = {}

    def take(self, line: Node) -> None:
        """Take the next line."""
        kind = line.member("type").text() or ""
        time = line.member("timestamp")
        instant = time.instant()
        if instant is not None:
            self._times.append((instant, time.value))
        if "." in kind:
            self._event(kind, line.member("data"), line.member("id").name(), instant)
        else:
            self._flat(kind, line)

    def _flat(self, kind: str, line: Node) -> None:
        if kind == "message":
            self._model = self._model or line.member("model").text()
            self._say(line.member("role").text(), line.member("content").text())
        elif kind == "tool_use":
            self._model = self._model or line.member("model").text()
            self._log.add(line.member("id").name(), line.member("name").text(), arguments_of(line.member("input")))
        elif kind == "tool_result":
            self._log.settle(line.member("tool_use_id").name(), outcome_of(line))
        elif kind == "usage":
            names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
            self._add_usage(None, dict(zip(_FIGURES, (line.member(name).count() for name in names), strict=True)))
        elif kind == "result":
            # The last line of what the program prints names the session.
            self._id = self._id or line.member("sessionId").name()

    def _say(self, role: str | None, text: str | None) -> None:
        if role == "user" and text:
            self._question, self._answer = self._question or text, None
        elif role == "assistant":
            self._answer = text or self._answer

    def _event(self, kind: str, data: Node, own: str | None, instant: int | None) -> None:
        aside = bool(data.member("parentToolCallId"))
        if kind == "session.start":
            self._id = self._id or data.member("sessionId").name()
            self._model = self._model or data.member("selectedModel").text()
        elif kind == "session.model_change":
            self._model = self._model or data.member("newModel").text()
        elif kind == "user.message":
            self._say("user", None if aside else data.member("content").text())
        elif kind == "assistant.message":
            self._message(data, own, aside=aside)
        elif kind == "assistant.usage":
            self._model = self._model or data.member("model").text()
            self._add_usage(own, {name: data.member(name).count() for name in _FIGURES})
        elif kind == "tool.execution_start":
            call = data.member("toolCallId").name()
            if call is not None and instant is not None:
                self._starts[call] = instant
            self._log.add(call, data.member("toolName").text(), arguments_of(data.member("arguments")))
        elif kind == "tool.execution_complete":
            self._model = self._model or data.member("model").text()
            self._complete(data, instant)
        elif kind == "session.shutdown":
            self._shut_down(data)

    def _message(self, data: Node, own: str | None, *, aside: bool) -> None:
        for request in data.member("toolRequests").items():
            name, arguments = request.member("name").text(), arguments_of(request.member("arguments"))
            self._log.add(request.member("toolCallId").name(), name, arguments)
        tokens = data.member("outputTokens").count()
        if tokens is not None:
            self._outputs[data.member("messageId").name() or own or f"\0{len(self._outputs)}"] = tokens
        if not aside:
            self._say("assistant", data.member("content").text())

    def _complete(self, data: Node, instant: int | None) -> None:
        call, stated = data.member("toolCallId").name(), data.member("success")
        error, result = data.member("error"), data.member("result")
        success = stated.flag() if stated else None
        start = self._starts.get(call) if call is not None else None
        given = result.member("content").value if isinstance(result.value, dict) else None
        reason = error.member("message").value if isinstance(error.value, dict) else error.value
        self._log.settle(
            call,
            Outcome(
                result=result.value if given is None else given,
                success=success,
                error=(reason or error.value or given or "failed") if success is False or error else None,
                duration_ms=None if start is None or instant is None else (instant - start) / _MILLISECOND,
            ),
        )

    def _add_usage(self, own: str | None, figures: dict[str, int | None]) -> None:
        self._stated[own or f"\0{len(self._stated)}"] = {
            name: count for name, count in figures.items() if count is not None
        }

    def _shut_down(self, data: Node) -> None:
        metrics = data.member("modelMetrics")
        usages = [metrics.member(model).member("usage") for model in metrics.fields()]
        self._shutdown = [
            {name: count for name in _FIGURES if (count := usage.member(name).count()) is not None} for usage in usages
        ]

    def _usage(self) -> Usage | None:
        stated = list(self._stated.values()) or self._shutdown or [{"outputTokens": n} for n in self._outputs.values()]
        sums = {
            name: total
            for name in _FIGURES
            if (known := [figures[name] for figures in stated if name in figures]) and (total := sum(known)) <= _INT64
        }
        found = Usage(inputTokens=sums.get("inputTokens"), outputTokens=sums.get("outputTokens"))
        return found if found != Usage() else None

    def runs(self) -> Iterator[Run]:
        """The session."""
        self._times.sort()
        first, last = (self._times[0], self._times[-1]) if self._times else (None, None)
        trace = Trace(
            traceId=self._id,
            question=self._question,
            finalAnswer=self._answer,
            startedAt=first[1] if first else None,
            finishedAt=last[1] if last else None,
            durationMs=(last[0] - first[0]) / _MILLISECOND if first and last and last > first else None,
            model=self._model,
            usage=self._usage(),
            toolInvocations=self._log.calls(),
        )
        yield Run(trace=trace, warned=self._log.warned())


FORMAT = Format(
    name="copilot",
    summary="Copilot CLI: session files with one event per line, and the flat lines that benchmarks keep of it",
    recognises=recognises,
    read=read,
    recognised_by=(
        "an object with a `timestamp` and either a dotted `type` and `data`, "
        "or a `type` of message, tool_use, tool_result or usage"
    ),
    fields={
        "traceId": "session.start.data.sessionId",
        "question": "the first user.message.data.content, or message[role=user].content",
        "finalAnswer": "the last assistant.message.data.content, or message[role=assistant].content",
        "startedAt": "the first timestamp",
        "finishedAt": "the last timestamp",
        "durationMs": "from the first timestamp to the last",
        "model": "assistant.usage.data.model, session.model_change.data.newModel, or message.model",
        "usage.inputTokens": "assistant.usage.data.inputTokens, usage.input_tokens, or those of session.shutdown",
        "usage.outputTokens": "assistant.usage.data.outputTokens, usage.output_tokens, or those of session.shutdown",
        "toolInvocations[].toolName": "tool.execution_start.data.toolName, or tool_use.name",
        "toolInvocations[].arguments": "tool.execution_start.data.arguments, or tool_use.input",
        "toolInvocations[].resultSummary": "tool.execution_complete.data.result.content, or tool_result.content",
        "toolInvocations[].success": "tool.execution_complete.data.success, or not tool_result.is_error",
        "toolInvocations[].durationMs": "from tool.execution_start to tool.execution_complete",
        "toolInvocations[].error": "tool.execution_complete.data.error.message, or tool_result.content on is_error",
    },
)
