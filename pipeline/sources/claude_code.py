"""Sessions of Claude Code: its own session files (`.jsonl`), and what `--output-format stream-json` prints.

A line is an event: `user`, `assistant`, `system`, `summary` and others. One session is one trace; `/clear` wipes the
agent's memory, so what follows it is another trace of the same session. Lines count by their time.

- A message is written as one line for each content block, its id and usage repeated: usage counts once per message
  id, with the highest figures, and the blocks are put together. `input_tokens` leaves out the cache, the total counts
  it. Lines written twice under one `uuid` count once.
- The question is the first thing that the user typed: tool results, command tags, injected context (`isMeta`) and
  the summary after a compaction are nothing that was asked. The answer is the last message with text after the last
  thing asked; messages that the tool itself made up (`<synthetic>`, API errors) are no answers.
- Sub-agents (`isSidechain`, `parent_tool_use_id`): their calls and usage count, their words are no question or answer,
  unless the whole file is a sub-agent's.
- A call is joined to its result by id; `is_error: true` means that it failed, only an explicit false that it did not.
  Its duration is the one that the tool itself stated (`toolUseResult.durationMs`, `totalDurationMs`).
- `stream-json` ends with a `result` line: its text is the answer, and it states duration, cost and usage of the run
  (usage is taken from it where it is the only one).

Stays null: cost in session files. The question is not in what `stream-json` prints unless the user lines are replayed.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage, Warned
from pipeline.sources.call_log import CallLog, Outcome
from pipeline.sources.content_blocks import MessageUsage, log_calls, texts_of
from pipeline.sources.instants import SECOND
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run
from pipeline.sources.sessions import read_sessions
from pipeline.sources.span_tree import amount

_MILLISECOND: Final = SECOND // 1000
_TALK: Final = ("user", "assistant", "system", "progress", "attachment", "result")
# Lines about a session that may stand first; each with a key that tells it from other formats' lines.
_ASIDE: Final = {
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "last-prompt": "lastPrompt",
    "permission-mode": "permissionMode",
    "mode": "mode",
    "worktree-state": "worktreeSession",
    "pr-link": "prNumber",
}
_TAG: Final = re.compile(r"\s*<(?:command-|local-command-|bash-|system-reminder|task-notification|user-memory-input)")
_COMMAND: Final = re.compile(r"<command-name>\s*/?([^<\s]+)\s*</command-name>")
_COMMAND_TEXT: Final = re.compile(r"<command-args>([^<]*)</command-args>")
_CLEAR: Final = "clear"
# Commands to the program, not to the model.
_OF_THE_PROGRAM: Final = frozenset({_CLEAR, "compact", "exit", "quit", "model", "resume", "login", "logout", "config"})
_SYNTHETIC: Final = "<synthetic>"


def recognises(document: Any) -> str | None:
    """The reason why a document is a line of a Claude Code session, else None."""
    if isinstance(document, list):
        # `--output-format json --verbose` prints the lines as one list.
        return "its elements are events of a Claude Code session" if document and _is_line(document[0]) else None
    return "it is an event of a Claude Code session" if _is_line(document) else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read session files."""
    return read_sessions(documents, _Session, _session_of, time_of=_time)


def _is_line(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind in _ASIDE:
        return _ASIDE[kind] in value
    if kind not in _TALK or not isinstance(value.get("sessionId", value.get("session_id")), str):
        return False
    if kind in ("user", "assistant"):
        return isinstance(value.get("message"), dict)
    return "subtype" in value or "uuid" in value


def _session_of(line: Node) -> str | None:
    return line.member("sessionId", "session_id").name()


def _time(line: Node) -> int | None:
    return line.member("timestamp").instant()


class _Part:
    """One conversation of a session: all of it, or what lies between two `/clear`."""

    def __init__(self) -> None:
        self.log = CallLog()
        self.usage = MessageUsage()
        self.times: list[tuple[int, str]] = []
        self.model: str | None = None
        self.asked: list[str] = []
        self.commanded: str | None = None
        self.answer_id: str | None = None
        self.texts: dict[str, dict[str, None]] = {}
        self.failed = False
        self.results: list[_Result] = []
        self.lines = 0

    def ask(self, text: str) -> None:
        """Take what the user typed."""
        self.asked.append(text)
        self.answer_id = None

    def say(self, message: Node, key: str) -> None:
        """Take one line of an assistant message."""
        known = self.texts.setdefault(key, {})
        # A message that is written while it streams repeats what it has said so far.
        known |= dict.fromkeys(texts_of(message.member("content")))
        if known:
            self.answer_id = key


class _Session:
    """One session, line by line."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._uuids: set[str] = set()
        self._main, self._side = [_Part()], _Part()

    def take(self, line: Node) -> None:
        """Take the next line."""
        self._id = self._id or _session_of(line)
        uuid = line.member("uuid").name()
        if uuid is not None:
            if uuid in self._uuids:
                return
            self._uuids.add(uuid)
        aside = line.member("isSidechain").flag() or bool(line.member("parent_tool_use_id"))
        kind = line.member("type").value
        message = line.member("message")
        if kind == "user" and not aside and _command(message) == _CLEAR:
            self._main.append(_Part())
            return
        part = self._main[-1]
        time = line.member("timestamp")
        instant = time.instant()
        if instant is not None and kind in _TALK:
            part.times.append((instant, time.value))
        if kind == "assistant":
            self._assistant(line, message, part, aside=aside)
        elif kind == "user":
            self._user(line, message, part, aside=aside)
        elif kind == "system" and line.member("subtype").value == "init":
            part.model = part.model or line.member("model").text()
        elif kind == "result":
            part.results.append(_Result(line))

    def _assistant(self, line: Node, message: Node, part: _Part, *, aside: bool) -> None:
        message_id = message.member("id").name() or line.member("requestId").name()
        model = message.member("model").text()
        made_up = model == _SYNTHETIC or line.member("isApiErrorMessage").flag()
        part.failed = line.member("isApiErrorMessage").flag()
        if made_up:
            return
        part.lines += 1
        log_calls(message.member("content"), part.log)
        part.usage.add(message_id, message.member("usage"))
        part.model = part.model or model
        speaker = self._side if aside else part
        speaker.say(message, message_id or f"\0{part.lines}")

    def _user(self, line: Node, message: Node, part: _Part, *, aside: bool) -> None:
        content = message.member("content")
        log_calls(content, part.log)
        self._own_figures(line, content, part)
        text = "\n".join(texts_of(content))
        if not text or line.member("isMeta").flag() or line.member("isCompactSummary").flag():
            return
        part.lines += 1
        speaker = self._side if aside else part
        command = _COMMAND.search(text)
        if command:
            if command[1] not in _OF_THE_PROGRAM:
                arguments = _COMMAND_TEXT.search(text)
                words = arguments[1].strip() if arguments else ""
                speaker.ask(f"/{command[1].removeprefix('/')} {words}".strip())
        elif not _TAG.match(text) and not any(block.member("type").value == "tool_result" for block in _items(content)):
            speaker.ask(text)

    def _own_figures(self, line: Node, content: Node, part: _Part) -> None:
        """The duration that a tool states of itself, where the line holds one result."""
        results = [block for block in _items(content) if block.member("type").value == "tool_result"]
        stated = line.member("toolUseResult", "tool_use_result")
        if len(results) == 1 and isinstance(stated.value, dict):
            duration = amount(stated.member("totalDurationMs", "durationMs").value)
            if duration is not None:
                part.log.settle(results[0].member("tool_use_id").name(), Outcome(duration_ms=duration))

    def runs(self) -> Iterator[Run]:
        """The conversations of the session."""
        main = [part for part in self._main if part.lines or part.results]
        side = self._side
        for number, part in enumerate(main):
            speaker = side if not (part.asked or part.texts) and side.texts else part
            cleared = Warned(
                path="$",
                kind="context-cleared",
                message="/clear wiped the agent's memory here: what follows it is a trace of its own",
            )
            yield Run(trace=self._trace(part, speaker), warned=part.log.warned() + ((cleared,) if number else ()))

    def _trace(self, part: _Part, speaker: _Part) -> Trace:
        part.times.sort()
        first, last = (part.times[0], part.times[-1]) if part.times else (None, None)
        trace = Trace(
            traceId=self._id,
            question=speaker.asked[0] if speaker.asked else None,
            finalAnswer="\n".join(speaker.texts[speaker.answer_id]) if speaker.answer_id is not None else None,
            status="api_error" if part.failed else None,
            startedAt=first[1] if first else None,
            finishedAt=last[1] if last else None,
            durationMs=(last[0] - first[0]) / _MILLISECOND if first and last and last > first else None,
            model=part.model,
            usage=part.usage.total(),
            toolInvocations=part.log.calls(),
        )
        if part.results:
            _add_results(trace, part.results)
        return trace


class _Result:
    """What a `result` line says of the run as a whole.

    Raises:
        Refused: a field is of the wrong type.
    """

    def __init__(self, line: Node) -> None:
        failed = line.member("is_error").flag()
        self.answer = None if failed else line.member("result").text()
        self.failed = failed
        self.status = line.member("subtype").text() or ("error" if failed else None)
        self.duration_ms = amount(line.member("duration_ms").value)
        self.cost = amount(line.member("total_cost_usd", "cost_usd").value)
        usage = MessageUsage()
        usage.add(None, line.member("usage"))
        self.usage = usage.total()


def _add_results(trace: Trace, results: list[_Result]) -> None:
    """Take over what the results say.

    Cost is a sum over the turns and duration stands for each; what usage is with several turns is not documented, so
    the messages' own figures stay then.
    """
    last = results[-1]
    trace.finalAnswer = None if last.failed else last.answer or trace.finalAnswer
    trace.status = last.status
    durations = [result.duration_ms for result in results if result.duration_ms is not None]
    if len(durations) == len(results):
        trace.durationMs = math.fsum(durations)
    if len(results) == 1:
        trace.usage = last.usage or trace.usage
    if last.cost is not None:
        trace.usage = trace.usage or Usage()
        trace.usage.costUsd = last.cost


def _command(message: Node) -> str | None:
    """The command of the program that a message of the user is."""
    text = message.member("content").value if isinstance(message.value, dict) else None
    found = _COMMAND.search(text) if isinstance(text, str) else None
    return found[1].removeprefix("/") if found else None


def _items(content: Node) -> Iterator[Node]:
    if not isinstance(content.value, str):
        yield from (item for item in content.items() if isinstance(item.value, dict))


FORMAT = Format(
    name="claude-code",
    summary="Claude Code: session files with one event per line, and the lines of --output-format stream-json",
    recognises=recognises,
    read=read,
    recognised_by=(
        "an object with a `type` of user, assistant, system or result and a `sessionId` (`session_id`), or one of the "
        "session's own lines such as summary and file-history-snapshot"
    ),
    fields={
        "traceId": "sessionId",
        "question": "the first type=user message.content that the user typed",
        "finalAnswer": "the texts of the last type=assistant message.content; the result line's `result`",
        "status": "api_error where the last message is one; the result line's `subtype`",
        "startedAt": "the first timestamp",
        "finishedAt": "the last timestamp",
        "durationMs": "from the first timestamp to the last; the result line's `duration_ms`",
        "model": "message.model",
        "usage.inputTokens": "message.usage.input_tokens, once per message.id",
        "usage.outputTokens": "message.usage.output_tokens, once per message.id",
        "usage.totalTokens": "input_tokens, output_tokens, cache_creation_input_tokens and cache_read_input_tokens",
        "usage.costUsd": "the result line's `total_cost_usd`",
        "toolInvocations[].toolName": "message.content[type=tool_use].name",
        "toolInvocations[].arguments": "message.content[type=tool_use].input",
        "toolInvocations[].resultSummary": "message.content[type=tool_result].content, by tool_use_id",
        "toolInvocations[].success": "not message.content[type=tool_result].is_error, where it is there",
        "toolInvocations[].durationMs": "toolUseResult.totalDurationMs or toolUseResult.durationMs",
        "toolInvocations[].error": "message.content[type=tool_result].content where is_error is true",
    },
)
