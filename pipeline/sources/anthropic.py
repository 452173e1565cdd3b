"""Messages of Anthropic's API with tool calls: conversations, single answers, and recorded HTTP answers.

Read are objects with `messages` (a request as it was sent), lists of messages, single messages as the API answers
them (`type: message`), and recorded HTTP answers (`status`, `headers`, `body`) whose body is such a message or the
stream of events that makes one up. One document is one trace. A conversation without any tool block reads the same
as OpenAI's and is left to `openai-chat`.

- The question is the first user message with text; the answer is the text of the last assistant message that has
  some, after the last user message with text. Several text blocks stand on lines of their own; thinking is no text.
- Calls stand in document order, each joined to its `tool_result` by id. `is_error: true` means that the call failed;
  only an explicit false says that it did not.
- Tokens are counted once for each message id. `input_tokens` leaves out what the cache gave and took; the total
  counts it.
- The pieces of a stream are put together before arguments are parsed; arguments of a stream that broke off are kept
  as text, with a warning.

Stay null: times, durations and cost, which the API does not state; the question of a recorded answer, whose request
is not in the file.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Warned
from pipeline.sources.call_log import CallLog
from pipeline.sources.content_blocks import CALLS, MessageUsage, is_block, log_calls, text_of
from pipeline.sources.json_text import ANY, decode
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run, read_runs
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused, describe

_ROLES: Final = ("system", "user", "assistant")
_START: Final = "message_start"
# Anything longer in a recorded body is no first event of a stream.
_HEAD: Final = 1000
_UNFINISHED: Final = "unfinished-stream"


def recognises(document: Any) -> str | None:
    """The reason why a document holds messages of Anthropic's API, else None."""
    if isinstance(document, dict):
        if _is_answer(document):
            return "it is an assistant message with content blocks and a stop reason"
        if _is_recording(document) and _body_of(document["body"]) is not None:
            return "its `body` is an answer of Anthropic's API"
        messages = document.get("messages")
    else:
        messages = document
    if isinstance(messages, list) and messages and all(map(_is_message, messages)) and _has_blocks(messages):
        return "its messages hold `tool_use` or `tool_result` blocks"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read conversations and answers, one per document."""
    return read_runs(documents, _runs)


def _is_answer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "message"
        and value.get("role") == "assistant"
        and isinstance(value.get("content"), list)
        and "stop_reason" in value
    )


def _is_recording(value: dict[str, Any]) -> bool:
    return isinstance(value.get("body"), str) and "status" in value


def _is_message(value: Any) -> bool:
    # What a request leaves out a saved answer may have: a whole message in the place of role and content.
    return isinstance(value, dict) and value.get("role") in _ROLES and "content" in value


def _has_blocks(messages: list[Any]) -> bool:
    return any(
        is_block(block)
        for message in messages
        for block in (message["content"] if isinstance(message["content"], list) else ())
    )


def _body_of(body: str) -> str | None:
    """Which of the two a recorded body is, `json` or `events`; None for neither."""
    head = body.lstrip()[:_HEAD]
    if head.startswith(("event: message_start", "event:message_start")) or (
        head.startswith("data:") and f'"{_START}"' in head
    ):
        return "events"
    if head.startswith("{"):
        try:
            value = decode(body.encode(), ANY, Repairs())
        except Refused:
            return None
        failed = isinstance(value, dict) and value.get("type") == "error" and isinstance(value.get("error"), dict)
        return "json" if failed or _is_answer(value) else None
    return None


def _runs(document: Node) -> Iterator[Run]:
    value = document.value
    if isinstance(value, dict) and _is_recording(value):
        document, warned = _recorded(document.member("body"))
        yield _conversation([document], document, warned)
    elif isinstance(value, dict) and "messages" not in value:
        yield _conversation([document], document, ())
    else:
        messages = document if isinstance(value, list) else document.member("messages")
        yield _conversation(list(messages.items()), document, ())


def _conversation(messages: list[Node], around: Node, warned: tuple[Warned, ...]) -> Run:
    if not messages:
        raise Refused("a conversation without messages: leave it out", expected="messages", found="nothing")
    log, usage = CallLog(), MessageUsage()
    question = answer = model = None
    own = around.value if isinstance(around.value, dict) else {}
    for message in messages:
        role, content = message.member("role").text(), message.member("content")
        log_calls(content, log)
        text = text_of(content)
        if role == "user" and text:
            question, answer = question or text, None
        elif role == "assistant":
            answer = text or answer
            model = message.member("model").text() or model
            usage.add(message.member("id").name(), message.member("usage"))
    total = usage.total()
    if total is None and "usage" in own:
        usage.add(None, around.member("usage"))
        total = usage.total()
    trace = Trace(
        traceId=around.member("id").name() if own else None,
        question=question,
        finalAnswer=answer,
        model=model or (around.member("model").text() if own else None),
        usage=total,
        toolInvocations=log.calls(),
    )
    return Run(trace=trace, warned=warned + log.warned())


def _recorded(body: Node) -> tuple[Node, tuple[Warned, ...]]:
    """The message in a recorded body."""
    text = body.text() or ""
    if _body_of(text) == "events":
        return _streamed(text, body.path)
    message = Node(decode(text.encode(), ANY, Repairs(), body.path), body.path)
    if not _is_answer(message.value):
        error = message.member("error")
        found = error.member("message").text() or describe(message.value)
        raise Refused(
            "the recorded answer holds no message, so nothing was said: leave it out",
            path=body.path,
            expected="a message",
            found=found,
        )
    return message, ()


def _streamed(body: str, at: str) -> tuple[Node, tuple[Warned, ...]]:
    """The message that the events of a stream make up."""
    message: dict[str, Any] = {}
    parts: dict[int, dict[str, Any]] = {}
    pieces: dict[int, list[str]] = {}
    ended = False
    for event in _events(body, at):
        kind = event.member("type").value
        index = event.member("index").count() or 0
        if kind == _START:
            message = dict(event.member("message").fields())
        elif kind == "content_block_start":
            parts[index] = dict(event.member("content_block").fields())
            pieces[index] = []
        elif kind == "content_block_delta" and index in parts:
            piece = event.member("delta").member("text", "partial_json").value
            pieces[index].append(piece if isinstance(piece, str) else "")
        elif kind == "message_delta":
            message |= event.member("delta").fields()
            # Cumulative: the last figures are those of the whole message.
            message["usage"] = dict(message.get("usage") or {}) | event.member("usage").fields()
        ended = ended or kind == "message_stop"
    broken = not ended
    for index, part in parts.items():
        joined = "".join(pieces[index])
        if part.get("type") == "text":
            part["text"] = (part.get("text") or "") + joined
        elif part.get("type") in CALLS and joined.strip():
            part["input"] = parsed_arguments(joined, Repairs(), at)
            broken = broken or isinstance(part["input"], str)
    message["content"] = [parts[index] for index in sorted(parts)]
    text = "the recorded stream broke off before its end: what came until then is read"
    return Node(message, at), (Warned(path=at, kind=_UNFINISHED, message=text),) if broken else ()


def _events(body: str, at: str) -> Iterator[Node]:
    # Events end at a blank line; of their fields only `data` matters, and it names the event once more.
    for line in body.split("\n"):
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not data.startswith("{"):
            continue
        try:
            yield Node(decode(data.encode(), ANY, Repairs(), at), at)
        except Refused as refused:
            if refused.malformed:
                # Cut off in the middle: the stream has no end then, which is told once.
                return
            raise


FORMAT = Format(
    name="anthropic",
    summary="messages of Anthropic's API with tool calls: a conversation, an answer, or a recorded HTTP answer each",
    recognises=recognises,
    read=read,
    recognised_by=(
        "messages with `tool_use` or `tool_result` blocks; an assistant message with a `stop_reason`; "
        "or an object with `status` and a `body` that is such a message or its stream of events"
    ),
    fields={
        "traceId": "id",
        "question": "messages[role=user].content, the first text",
        "finalAnswer": "messages[role=assistant].content[type=text].text, the last",
        "model": "model",
        "usage.inputTokens": "usage.input_tokens, once per message id",
        "usage.outputTokens": "usage.output_tokens, once per message id",
        "usage.totalTokens": "input_tokens, output_tokens, cache_creation_input_tokens and cache_read_input_tokens",
        "toolInvocations[].toolName": "content[type=tool_use].name",
        "toolInvocations[].arguments": "content[type=tool_use].input",
        "toolInvocations[].resultSummary": "content[type=tool_result].content, by tool_use_id",
        "toolInvocations[].success": "not content[type=tool_result].is_error, where it is there",
        "toolInvocations[].error": "content[type=tool_result].content where is_error is true",
    },
    by_record=True,
)
