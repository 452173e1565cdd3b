"""Chat recordings of Gemini CLI: session files with one record per line, and the one-object files of early versions.

The first line names the session; then come messages, each written again in full under its id when its calls or
tokens change, and patches: `{"$set": {…}}` changes fields of the session, `{"$rewindTo": id}` takes back the messages
from that one on. One session is one trace.

- Of a repeated message id the last record counts, so tokens count once and calls have their results.
- `$set` with `messages` puts the model's context in place at the beginning and after a compression: messages known
  already stay as they are, for what they did was done. So do the calls and tokens of messages that were taken back;
  their words count no more.
- The question is the first user message with text that is not the context put in by the program
  (`<session_context>`). The answer is the content of the last `gemini` message with text after the last thing asked.
- Calls are `toolCalls` of the messages, in the order of the messages' times. `status` success or error tells how they
  ended; the result is the output in their `functionResponse`.
- `tokens.output` leaves out thoughts; the total is the one that the model's API gave.

Stay null: cost, and the duration of a call: it has one time only. The duration of the session is that from the first
message (or the session's start) to the last one or the last call; where no message has a time, to `lastUpdated`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage, Warned
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.instants import SECOND
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run
from pipeline.sources.sessions import read_sessions

_MILLISECOND: Final = SECOND // 1000
_SPEAKERS: Final = ("user", "gemini")
_TYPES: Final = (*_SPEAKERS, "info", "error", "warning")
_PUT_IN: Final = re.compile(r"\s*<(?:session_context|state_snapshot|hook_context|system-reminder)")
_INT64: Final = 2**63 - 1


def recognises(document: Any) -> str | None:
    """The reason why a document is a recording of Gemini CLI, or a line of one, else None."""
    if not isinstance(document, dict):
        return None
    messages = document.get("messages")
    named = isinstance(document.get("sessionId"), str) and ("startTime" in document or "projectHash" in document)
    if named and "type" not in document and (messages is None or _all_messages(messages)):
        return "it has a `sessionId` and a `startTime` or `projectHash`"
    if _is_patch(document) or (_is_message(document) and document["type"] == "gemini"):
        return "it is a record of a Gemini CLI session"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read session files."""
    return read_sessions(documents, _Session, _session_of)


def _session_of(line: Node) -> str | None:
    return line.member("sessionId").name()


def _is_patch(value: dict[str, Any]) -> bool:
    patch = value.get("$set")
    return len(value) == 1 and (isinstance(patch, dict) or isinstance(value.get("$rewindTo"), str))


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "id" in value and value.get("type") in _TYPES and "content" in value


def _all_messages(messages: Any) -> bool:
    return isinstance(messages, list) and all(map(_is_message, messages))


class _Session:
    """One session, record by record."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._started: Node | None = None
        self._updated: Node | None = None
        self._messages: dict[str, Node] = {}
        # Ids of the messages that the conversation still holds, and of those that were taken back: what these did
        # they did, but they say nothing any more.
        self._held: list[str] = []
        self._taken_back: set[str] = set()
        self._numbered = 0

    def take(self, line: Node) -> None:
        """Take the next record."""
        patch = line.member("$set")
        if patch:
            self._about(patch)
        elif line.member("$rewindTo"):
            self._rewind(line.member("$rewindTo").text())
        elif "type" in line.fields():
            self._message(line)
        else:
            self._id = self._id or _session_of(line)
            self._about(line)

    def _about(self, session: Node) -> None:
        start = session.member("startTime")
        if self._started is None and start.instant() is not None:
            self._started = start
        if session.member("lastUpdated").instant() is not None:
            self._updated = session.member("lastUpdated")
        for message in session.member("messages").items():
            if message.member("id").name() not in self._messages:
                self._message(message)

    def _message(self, message: Node) -> None:
        # Looked at now, so that a broken record costs itself alone.
        _log_calls(message, CallLog())
        _text(message)
        message.member("tokens").fields()
        message.member("model").text()
        own = message.member("id").name()
        if own is None:
            self._numbered += 1
            own = f"\0{self._numbered}"
        if own not in self._messages or own in self._taken_back:
            self._held.append(own)
            self._taken_back.discard(own)
        self._messages[own] = message

    def _rewind(self, target: str | None) -> None:
        """Take back a message and what came after it; one that is not there takes back all, as in the program."""
        while self._held:
            own = self._held.pop()
            self._taken_back.add(own)
            if own == target:
                return

    def runs(self) -> Iterator[Run]:
        """The session."""
        messages = sorted(self._messages.items(), key=lambda pair: pair[1].member("timestamp").instant() or 0)
        if any(message.member("timestamp").instant() is None for message in self._messages.values()):
            messages = list(self._messages.items())
        log = CallLog()
        question = answer = model = None
        times = [(self._started.instant(), self._started.value)] if self._started else []
        for own, message in messages:
            kind = message.member("type").value
            if kind in _SPEAKERS:
                times += _times(message)
            _log_calls(message, log)
            model = model or message.member("model").text()
            text = _text(message) if own not in self._taken_back else None
            if kind == "user" and text and not _PUT_IN.match(text):
                question, answer = question or text, None
            elif kind == "gemini":
                answer = text or answer
        known = sorted((instant, text) for instant, text in times if instant is not None)
        if len(known) == 1 and self._started and self._updated:
            known = sorted([*known, (self._updated.instant() or 0, self._updated.value)])
        first, last = (known[0], known[-1]) if known else (None, None)
        trace = Trace(
            traceId=self._id,
            question=question,
            finalAnswer=answer,
            startedAt=first[1] if first else None,
            finishedAt=last[1] if last else None,
            durationMs=(last[0] - first[0]) / _MILLISECOND if first and last and last > first else None,
            model=model,
            usage=_usage([message.member("tokens") for _, message in messages]),
            toolInvocations=log.calls(),
        )
        yield Run(trace=trace, warned=log.warned() + self._warned())

    def _warned(self) -> tuple[Warned, ...]:
        count = len(self._taken_back)
        if not count:
            return ()
        message = (
            f"{count} message{'s' * (count != 1)} taken back by a rewind: "
            "what they say does not count, their calls and tokens do"
        )
        return (Warned(path="$", kind="rewound", message=message),)


def _times(message: Node) -> list[tuple[int | None, Any]]:
    nodes = [message.member("timestamp")]
    nodes += (call.member("timestamp") for call in message.member("toolCalls").items())
    return [(node.instant(), node.value) for node in nodes]


def _text(message: Node) -> str | None:
    """What a message says; parts that are no text, such as the replies of tools, say nothing."""
    content = message.member("content")
    if isinstance(content.value, str):
        return content.text()
    parts = [content] if isinstance(content.value, dict) else list(content.items())
    texts = [
        part.text() if isinstance(part.value, str) else part.member("text").text()
        for part in parts
        if isinstance(part.value, str) or not part.member("thought").flag()
    ]
    return "\n".join(filter(None, texts)) or None


def _log_calls(message: Node, log: CallLog) -> None:
    for call in message.member("toolCalls").items():
        own = call.member("id").name()
        added = log.add(own, call.member("name").text(), arguments_of(call.member("args")))
        status = call.member("status").text()
        success = None if status not in ("success", "error", "cancelled") else status == "success"
        result, error = _given(call)
        shown = call.member("resultDisplay").value
        Outcome(
            result=result,
            success=success,
            error=(error or shown or result or status) if success is False else None,
        ).fill(added)


def _given(call: Node) -> tuple[Any, Any]:
    """What a call gave back, and its error."""
    result = call.member("result")
    parts = [result] if isinstance(result.value, dict) else list(result.items()) if not _is_text(result) else []
    for part in parts:
        response = part.member("functionResponse").member("response") if isinstance(part.value, dict) else Node(None)
        if isinstance(response.value, dict):
            output, error = response.member("output").value, response.member("error").value
            return (response.value if output is None and error is None else output), error
    return result.value, None


def _is_text(node: Node) -> bool:
    return isinstance(node.value, str)


def _usage(tokens: list[Node]) -> Usage | None:
    sums = {
        field: sum(known)
        for field, name in (("inputTokens", "input"), ("outputTokens", "output"), ("totalTokens", "total"))
        if (known := [count for node in tokens if (count := node.member(name).count()) is not None])
    }
    return Usage(**{name: total for name, total in sums.items() if total <= _INT64}) if sums else None


FORMAT = Format(
    name="gemini-cli",
    summary="Gemini CLI: chat recordings, one record per line with patches, or one object",
    recognises=recognises,
    read=read,
    recognised_by=(
        "an object with `sessionId` and `startTime` or `projectHash`, a `$set` or `$rewindTo` patch, "
        "or a message of type gemini"
    ),
    fields={
        "traceId": "sessionId",
        "question": "the first message[type=user].content that the user typed",
        "finalAnswer": "the last message[type=gemini].content",
        "startedAt": "startTime",
        "finishedAt": "the last timestamp of a message or a call",
        "durationMs": "from startTime to the last timestamp",
        "model": "the first message.model",
        "usage.inputTokens": "message.tokens.input, once per message id",
        "usage.outputTokens": "message.tokens.output, once per message id",
        "usage.totalTokens": "message.tokens.total, once per message id",
        "toolInvocations[].toolName": "message.toolCalls[].name",
        "toolInvocations[].arguments": "message.toolCalls[].args",
        "toolInvocations[].resultSummary": "message.toolCalls[].result[].functionResponse.response.output",
        "toolInvocations[].success": "whether message.toolCalls[].status is success",
        "toolInvocations[].error": "functionResponse.response.error or resultDisplay, where status is no success",
    },
)
