"""Sessions of Codex: its rollout files (`rollout-*.jsonl`), and what `codex exec --json` prints.

A line of a rollout is `{timestamp, type, payload}`: `session_meta`, `turn_context`, `response_item` (what went to the
model and came from it), `event_msg` (what happened around it). Rollouts of early versions hold the items bare. One
session is one trace; a session forked from another copies its lines, which count as its own. Lines count by their
time.

- The question is the first `user_message`; without such events the first user item that is not the context which
  Codex itself puts in (`<environment_context>`, AGENTS.md and the like). The answer is the `last_agent_message` of
  the last `task_complete`, else the last assistant message after the last thing asked.
- Calls are the items `function_call`, `custom_tool_call`, `local_shell_call` and `web_search_call`, joined to their
  outputs by `call_id`. The head of an output tells `Process exited with code N` (or an `exit_code` in its metadata),
  from which success follows, and its wall time; a process that still ran says nothing of success.
- Tokens are those of the last `token_count`, which counts the whole session; input tokens include cached ones, output
  tokens include reasoning.

Stays null: cost.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage
from pipeline.sources.call_log import CallLog, Outcome
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.json_text import ANY, decode
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run
from pipeline.sources.repair import Repairs
from pipeline.sources.responses_items import CALLS, log_item, result_of, text_of, usage_of
from pipeline.sources.sessions import read_sessions
from pipeline.sources.wording import Refused

_MILLISECOND: Final = SECOND // 1000
_RECORDS: Final = ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state")
_ITEMS: Final = (*CALLS, "message", "reasoning")
_PUT_IN: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions|skill|turn_aborted|subagent|user_shell_command"
    r"|collaboration_mode|personality|apps_instructions|plugins_instructions|model_switch)|# AGENTS\.md)"
)
_HEAD: Final = 2000
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d{1,9})$", re.MULTILINE)
_WALL_TIME: Final = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds$", re.MULTILINE)
_OUTPUT: Final = "\nOutput:"


def recognises(document: Any) -> str | None:
    """The reason why a document is a line of a Codex session, else None."""
    if not isinstance(document, dict):
        return None
    kind = document.get("type")
    if kind in _RECORDS and isinstance(document.get("payload"), dict):
        return f"it is a rollout line of type {kind}"
    if kind == "thread.started" and isinstance(document.get("thread_id"), str):
        return "it is the first event of `codex exec --json`"
    if kind is None and {"id", "timestamp", "instructions"} <= document.keys():
        return "it is the first line of an early rollout"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read session files."""
    return read_sessions(documents, _Session, _Keys(), time_of=_time)


class _Keys:
    """Tells where a session begins: the copied beginning of the session that it was forked from is its own."""

    def __init__(self) -> None:
        self._parents: set[str] = set()

    def __call__(self, line: Node) -> str | None:
        """The id of the session that begins with this line."""
        kind = line.member("type").value
        if kind == "thread.started":
            return line.member("thread_id").name()
        if kind is None and "instructions" in line.fields():
            return line.member("id").name()
        if kind != "session_meta":
            return None
        meta = line.member("payload")
        parent = meta.member("forked_from_id").name()
        if parent is not None:
            self._parents.add(parent)
        own = meta.member("id", "session_id").name()
        return None if own in self._parents else own


def _time(line: Node) -> int | None:
    return line.member("timestamp").instant()


class _Session:
    """One session, line by line."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._model: str | None = None
        self._typed: str | None = None
        self._given: str | None = None
        self._answer: str | None = None
        self._usage: Usage | None = None
        self._log = CallLog()
        self._times: list[tuple[int, str]] = []

    def take(self, line: Node) -> None:
        """Take the next line."""
        kind, payload = line.member("type").value, line.member("payload")
        time = line.member("timestamp")
        instant = time.instant()
        if instant is not None:
            self._times.append((instant, time.value))
        if kind == "session_meta":
            self._id = self._id or payload.member("id", "session_id").name()
        elif kind == "turn_context":
            self._model = self._model or payload.member("model").text()
        elif kind == "response_item":
            self._item(payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind in _ITEMS or str(kind).endswith("_call_output"):
            self._item(line)
        elif kind is None:
            self._id = self._id or (line.member("id").name() if "instructions" in line.fields() else None)
        else:
            self._printed(str(kind), line)

    def _item(self, item: Node) -> None:
        kind = item.member("type").value
        if kind == "message":
            role, text = item.member("role").text(), text_of(item)
            if role == "assistant":
                self._answer = text or self._answer
            elif role == "user" and text and not _PUT_IN.match(text):
                self._given = self._given or text
                # Where there are events of what was typed, they tell it from what programs put in.
                self._answer = self._answer if self._typed else None
        elif isinstance(kind, str) and kind.endswith("_call_output"):
            self._log.settle(item.member("call_id", "id").name(), _outcome(item.member("output")))
        else:
            log_item(item, self._log)

    def _event(self, event: Node) -> None:
        kind = event.member("type").value
        if kind == "user_message":
            self._typed = self._typed or event.member("message").text()
            self._answer = None
        elif kind == "agent_message":
            self._answer = event.member("message").text() or self._answer
        elif kind == "task_complete":
            self._answer = event.member("last_agent_message").text() or self._answer
        elif kind == "token_count":
            self._usage = usage_of(event.member("info").member("total_token_usage")) or self._usage

    def _printed(self, kind: str, line: Node) -> None:
        """An event of `codex exec --json`."""
        if kind == "thread.started":
            self._id = self._id or line.member("thread_id").name()
        elif kind == "turn.completed":
            self._usage = usage_of(line.member("usage")) or self._usage
        elif kind in ("item.started", "item.updated", "item.completed"):
            item = line.member("item")
            own = item.member("type", "item_type").value
            if own in ("agent_message", "assistant_message"):
                self._answer = item.member("text").text() or self._answer
            elif own in ("command_execution", "mcp_tool_call", "web_search"):
                self._printed_call(own, item)

    def _printed_call(self, kind: str, item: Node) -> None:
        code, error = item.member("exit_code").value, item.member("error").value
        status = item.member("status").value
        done = status in ("completed", "failed", "declined")
        failed = bool(error) or status in ("failed", "declined") or (type(code) is int and code != 0)
        asked = {name: item.member(name).value for name in ("command", "query") if item.member(name)}
        call = self._log.add(
            item.member("id").name(),
            item.member("tool").text() or kind,
            item.member("arguments").value or asked or None,
        )
        if failed and not error and type(code) is int:
            error = f"exit code {code}"
        Outcome(
            result=item.member("aggregated_output", "result").value,
            success=not failed if done or failed else None,
            error=error or None,
        ).fill(call)

    def runs(self) -> Iterator[Run]:
        """The session."""
        self._times.sort()
        first, last = (self._times[0], self._times[-1]) if self._times else (None, None)
        trace = Trace(
            traceId=self._id,
            question=self._typed or self._given,
            finalAnswer=self._answer,
            startedAt=first[1] if first else None,
            finishedAt=last[1] if last else None,
            durationMs=(last[0] - first[0]) / _MILLISECOND if first and last and last > first else None,
            model=self._model,
            usage=self._usage,
            toolInvocations=self._log.calls(),
        )
        yield Run(trace=trace, warned=self._log.warned())


def _outcome(output: Node) -> Outcome:
    """What an output says of its call."""
    value = output.value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _metadata(value, output.path) or value
    if isinstance(value, dict):
        node = Node(value, output.path)
        stated, metadata = node.member("success"), node.member("metadata")
        code, seconds = metadata.member("exit_code").value, metadata.member("duration_seconds").value
        given = node.member("output", "content")
        return _ended(
            result_of(given) if given else value,
            code if type(code) is int else None,
            seconds,
            success=stated.flag() if stated else None,
        )
    text = result_of(output)
    head, ends, _ = text[:_HEAD].partition(_OUTPUT) if isinstance(text, str) else ("", "", "")
    if not ends:
        return Outcome(result=text)
    exit_code, wall_time = _EXIT.search(head), _WALL_TIME.search(head)
    return _ended(text, int(exit_code[1]) if exit_code else None, wall_time[1] if wall_time else None)


def _metadata(text: str, at: str) -> dict[str, Any] | None:
    """An output that early versions wrote as an object inside a text, with its metadata."""
    try:
        value = decode(text.encode(), ANY, Repairs(), at)
    except Refused:
        return None
    known = isinstance(value, dict) and "output" in value and isinstance(value.get("metadata"), dict)
    return dict(value) if known else None


def _ended(result: Any, code: int | None, seconds: Any, *, success: bool | None = None) -> Outcome:
    if code is not None:
        success = code == 0
    error = None
    if success is False:
        error = f"exit code {code}" if code is not None else result or "failed"
    nanoseconds = scaled_ns(seconds, SECOND)
    return Outcome(
        result=result,
        success=success,
        error=error,
        duration_ms=None if nanoseconds is None else nanoseconds / _MILLISECOND,
    )


FORMAT = Format(
    name="codex",
    summary="Codex: rollout files with one event per line, and the events of codex exec --json",
    recognises=recognises,
    read=read,
    recognised_by=(
        "an object with a `payload` and a `type` of session_meta, turn_context, response_item or event_msg; "
        "or `thread.started` with a `thread_id`"
    ),
    fields={
        "traceId": "session_meta.payload.id",
        "question": "the first event_msg[type=user_message].message",
        "finalAnswer": "the last event_msg[type=task_complete].last_agent_message, else the last assistant message",
        "startedAt": "the first timestamp",
        "finishedAt": "the last timestamp",
        "durationMs": "from the first timestamp to the last",
        "model": "turn_context.payload.model",
        "usage.inputTokens": "the last event_msg[type=token_count].info.total_token_usage.input_tokens",
        "usage.outputTokens": "the last event_msg[type=token_count].info.total_token_usage.output_tokens",
        "usage.totalTokens": "the last event_msg[type=token_count].info.total_token_usage.total_tokens",
        "toolInvocations[].toolName": "response_item[type=function_call].name",
        "toolInvocations[].arguments": "response_item[type=function_call].arguments",
        "toolInvocations[].resultSummary": "response_item[type=function_call_output].output, by call_id",
        "toolInvocations[].success": "whether the exit code in the output is 0, where there is one",
        "toolInvocations[].durationMs": "the wall time in the output",
        "toolInvocations[].error": "the exit code, where it is not 0",
    },
)
