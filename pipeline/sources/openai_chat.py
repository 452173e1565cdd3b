"""OpenAI chat messages: one conversation per document, as agents save what they sent and got.

A list of messages, or an object with `messages`. The question is the first user message, the answer the last
assistant message with text; calls stand in document order, each joined to its tool reply by id.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable
from pipeline.sources.json_text import decode_document
from pipeline.sources.native import OWN_KEYS, has_ai_sdk_calls
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.openrca_steps import are_openrca
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

# Content blocks of another API, whose calls and results this format would lose without a word.
_FOREIGN_PARTS: Final = frozenset({"tool_use", "tool_result", "server_tool_use"})


class Part(msgspec.Struct, kw_only=True):
    """One part of a message's content; only `text` is read."""

    type: str | None = None
    text: str | None = None


class Function(msgspec.Struct, kw_only=True):
    """A function with the arguments that the model wrote, as JSON inside a string."""

    name: str | None = None
    arguments: Any = None


class ToolCall(msgspec.Struct, kw_only=True):
    """A call that an assistant message asks for."""

    id: str | None = None
    function: Function | None = None


class Message(msgspec.Struct, kw_only=True):
    """One message; `function_call` and the role `function` are the older form of a call and its reply."""

    role: str | None = None
    content: str | list[str | Part | None] | None = None
    tool_calls: list[ToolCall | None] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    function_call: Function | None = None


class Conversation(msgspec.Struct, kw_only=True):
    """An object around the messages."""

    id: str | None = None
    model: str | None = None
    messages: list[Message] | None = None


_DECODER: Final = msgspec.json.Decoder(list[Message] | Conversation | str)


def recognises(document: Any) -> str | None:
    """The reason why a document is a conversation, else None."""
    around = isinstance(document, dict)
    if around and any(key in document for key in OWN_KEYS):
        return None
    messages = document.get("messages") if around else document
    if isinstance(messages, list) and messages and all(map(_is_message, messages)) and not are_openrca(messages):
        return f"{'its `messages`' if around else 'its elements'} are chat messages with role and content"
    return None


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or has_ai_sdk_calls(message):
        return False
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in ROLES:
        return False
    parts = content if isinstance(content, list) else ()
    return not any(isinstance(part, dict) and part.get("type") in _FOREIGN_PARTS for part in parts)


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read conversations, one per document."""
    for document in documents:
        repairs = Repairs()
        try:
            trace = _trace(decode_document(document.data, _DECODER, repairs), repairs)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        else:
            yield ReadTrace(
                trace=trace,
                file=document.file,
                line=document.line,
                root=document.root,
                warned=repairs.warned(),
            )


def _trace(chat: list[Message] | Conversation, repairs: Repairs) -> Trace:
    if isinstance(chat, Conversation):
        if chat.messages is None:
            raise Refused(
                "this object has no `messages`: a chat is a list of messages, or an object with one",
                path="$.messages",
                expected="list",
                found="nothing",
            )
        trace, messages, at = Trace(traceId=chat.id, model=chat.model), chat.messages, "$.messages"
    else:
        trace, messages, at = Trace(), chat, "$"
    if not messages:
        raise Refused("a chat without messages: leave it out", path=at, expected="messages", found="empty list")
    texts = [_text(message, f"{at}[{index}].content") for index, message in enumerate(messages)]
    said = list(zip((message.role for message in messages), texts, strict=True))
    trace.question = next((text for role, text in said if role == "user"), None)
    trace.finalAnswer = next((text for role, text in reversed(said) if role == "assistant" and text), None)
    trace.toolInvocations = _calls(messages, texts, at, repairs)
    return trace


def _text(message: Message, at: str) -> str | None:
    """The text of a message, its parts on lines of their own; None where there is none but white space."""
    content = message.content
    if isinstance(content, list):
        texts = []
        for index, part in enumerate(content):
            if isinstance(part, Part):
                if part.type in _FOREIGN_PARTS:
                    raise Refused(
                        f"a part of type {part.type} is of another API, and its call would be lost",
                        path=f"{at}[{index}].type",
                        expected="text",
                        found=f'text "{part.type}"',
                    )
                texts.append(part.text)
            else:
                texts.append(part)
        content = "\n".join(text for text in texts if text)
    return content if content and not content.isspace() else None


def _calls(messages: list[Message], texts: list[str | None], at: str, repairs: Repairs) -> list[ToolInvocation | None]:
    replies: defaultdict[tuple[str, str | None], deque[str | None]] = defaultdict(deque)
    for message, text in zip(messages, texts, strict=True):
        if message.role == "tool":
            replies["tool", message.tool_call_id].append(text)
        elif message.role == "function":
            replies["function", message.name].append(text)

    calls: list[ToolInvocation | None] = []

    def add(function: Function, reply: tuple[str, str | None], path: str) -> None:
        waiting = replies[reply] if reply[1] is not None else None
        arguments = function.arguments
        if isinstance(arguments, str):
            arguments = parsed_arguments(arguments, repairs, f"{path}.arguments")
        calls.append(
            ToolInvocation(
                toolName=function.name,
                arguments=arguments,
                resultSummary=waiting.popleft() if waiting else None,
            )
        )

    for index, message in enumerate(messages):
        for place, call in enumerate(message.tool_calls or ()):
            if call is not None:
                path = f"{at}[{index}].tool_calls[{place}].function"
                add(call.function or Function(), ("tool", call.id), path)
        if message.function_call is not None:
            name = message.function_call.name
            add(message.function_call, ("function", name), f"{at}[{index}].function_call")
    return calls


FORMAT = Format(
    name="openai-chat",
    summary="OpenAI chat messages: a list of messages, or an object with messages, one conversation per document",
    recognises=recognises,
    read=read,
    by_record=True,
    recognised_by="a list of messages with role and content, or an object with such `messages`",
    fields={
        "traceId": "id, where an object stands around the messages",
        "question": "content of the first message with role user",
        "finalAnswer": "content of the last message with role assistant that has text",
        "model": "model, where an object stands around the messages",
        "toolInvocations[].toolName": "messages[].tool_calls[].function.name",
        "toolInvocations[].arguments": "messages[].tool_calls[].function.arguments, JSON inside a string",
        "toolInvocations[].resultSummary": "content of the message with role tool and the same tool_call_id",
    },
)
