"""What was asked and answered, out of the inputs and outputs that tracing tools record as they found them.

A tracing tool stores whatever a framework passed around: messages of several APIs, objects around them, JSON inside
strings, Python's own notation, plain text. Here is known how they are told apart. Everything is best effort in one
direction only: what is not understood is None, never a guess.
"""

import ast
import math
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from pipeline.sources.base import ToolInvocation
from pipeline.sources.canonical import canonical_json
from pipeline.sources.json_text import ANY, MAX_LEVELS, decode
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

Role = Literal["user", "assistant", "tool", "system"]

_ROLES: Final[dict[str, Role]] = {
    "user": "user", "human": "user", "HumanMessage": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool", "function": "tool", "ToolMessage": "tool", "FunctionMessage": "tool",
    "function_call_output": "tool",
    "system": "system", "developer": "system", "SystemMessage": "system",
}  # fmt: skip
# A tuple: what is looked up in it may be of any type, also one that has no hash.
_TEXT_PARTS: Final = (None, "text", "output_text", "input_text")
_ASKED: Final = (
    "messages", "input", "question", "query", "prompt", "user_input", "new_message", "contents", "content", "parts",
    "text", "message", "args", "kwargs", "inputs",
)  # fmt: skip
# Names of an application's own that end so hold what was asked too, such as customer_query.
_ASKED_ENDINGS: Final = ("question", "query", "prompt", "input")
_ANSWERED: Final = (
    "output", "answer", "response", "final_answer", "final_output", "output_text", "completion", "content", "text",
    "parts", "message", "messages", "choices", "generations", "candidates", "result", "return_values", "outputs",
)  # fmt: skip
# Members that list alternatives, of which the first is the one that was used.
_ALTERNATIVES: Final = frozenset({"choices", "generations", "candidates"})
# How deep the objects around a text may be nested before it counts as not understood.
_LEVELS: Final = 12
_LITERAL_LIMIT: Final = 1 << 16
_LITERAL_DEPTH: Final = 40
# A transcript as text, as some instrumentations flatten messages: each begins with its role on a new line.
_TRANSCRIPT: Final = re.compile(r"(?:^|\n)(system|developer|user|assistant|tool): ")


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation.

    Attributes:
        role: who speaks.
        text: what is said, None for nothing.
        calls: the calls that it asks for: id, name, arguments.
        reply_to: the id of the call that it replies to.
        failed: whether it says that this call failed.
    """

    role: Role
    text: str | None
    calls: tuple[tuple[str | None, str | None, Any], ...] = ()
    reply_to: str | None = None
    failed: bool = False


def decoded(value: Any) -> Any:
    """An object, list or text out of the strings that hold it as JSON; other text stays as it is.

    >>> decoded('{"a": 1}'), decoded('"in quotes"'), decoded("42"), decoded("{no JSON")
    ({'a': 1}, 'in quotes', '42', '{no JSON')
    """
    for _ in range(MAX_LEVELS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = decode(value.encode(), ANY, Repairs())
        except Refused:
            return value
    return value


def arguments_of(value: Any) -> Any:
    """The arguments of a call: an object or list, also in JSON or Python's notation inside a string, else as it is.

    >>> arguments_of("{'city': 'Berlin'}"), arguments_of('{"a": 1}'), arguments_of("SHOW TABLES")
    ({'city': 'Berlin'}, {'a': 1}, 'SHOW TABLES')
    """
    inner = decoded(value)
    if isinstance(inner, dict | list):
        return inner
    if isinstance(inner, str):
        literal = _python_literal(inner)
        if literal is not None:
            return literal
    return value if not isinstance(value, str) or value.strip() else None


def question_of(value: Any) -> str | None:
    """What was asked, out of an input: the last message of the user, or the text; None where it is not understood."""
    return _asked(decoded(value), _LEVELS)


def answer_of(value: Any) -> str | None:
    """What was answered, out of an output: the last message of the assistant with text, or the text; else None."""
    return _answered(decoded(value), _LEVELS)


def json_text(value: Any) -> str | None:
    """A structured value as text, for answers that are data; None for nothing at all."""
    inner = decoded(value)
    if inner is None or inner in ("", {}, []):
        return None
    return inner if isinstance(inner, str) else canonical_json(inner)


def messages_in(value: Any) -> list[Message]:
    """The messages that an input or output consists of, in order."""
    found: list[Message] = []
    waiting = [(value, _LEVELS)]
    while waiting:
        here, left = waiting.pop()
        here = decoded(here)
        if isinstance(here, list):
            pair = _pair(here)
            if pair is not None:
                found.append(pair)
            elif left:
                waiting.extend((each, left - 1) for each in reversed(here))
        elif isinstance(here, dict):
            message = _message(here)
            if message is not None:
                found.append(message)
            elif left:
                waiting.extend((each, left - 1) for each in reversed(list(_inside(here))))
    return found


def requested_calls(exchanges: list[tuple[Any, Any]]) -> list[ToolInvocation | None]:
    """The calls that models asked for, for traces that record no call by itself.

    Args:
        exchanges: input and output of each call of a model, by time.

    Returns:
        Each call once, in order, with the reply that a later input holds.
    """
    replies: dict[str, Message] = {}
    for asked, _ in exchanges:
        for message in messages_in(asked):
            if message.role == "tool" and message.reply_to is not None:
                replies[message.reply_to] = message
    calls: list[ToolInvocation | None] = []
    seen: set[str] = set()
    for _, given in exchanges:
        for message in messages_in(given):
            for own_id, name, arguments in message.calls if message.role == "assistant" else ():
                if own_id is not None and own_id in seen:
                    continue
                seen.add(own_id or "")
                reply = replies.get(own_id or "")
                calls.append(
                    ToolInvocation(
                        toolName=name,
                        arguments=arguments_of(arguments),
                        resultSummary=reply.text if reply else None,
                        success=False if reply and reply.failed else None,
                        error=reply.text if reply and reply.failed else None,
                    )
                )
    return calls


def tool_result(value: Any) -> tuple[Any, bool]:
    """What a tool gave back, out of the output that was recorded, and whether that says that it failed."""
    inner = decoded(value)
    if isinstance(inner, dict):
        message = _message(inner)
        if message is not None and message.role == "tool":
            return message.text, message.failed
    return inner, False


def is_tool_message(value: Any) -> bool:
    """Whether a recorded output is the reply of a tool to a call."""
    inner = decoded(value)
    message = _message(inner) if isinstance(inner, dict) else None
    return message is not None and message.role == "tool" and message.reply_to is not None


def _asked(value: Any, left: int) -> str | None:
    if isinstance(value, str):
        return _of_transcript(value, "user")
    if left == 0 or not value or not isinstance(value, list | dict):
        return None
    messages = _direct_messages(value)
    if messages:
        return next((each.text for each in reversed(messages) if each.role == "user" and each.text), None)
    if isinstance(value, list):
        return _text(value) or next(filter(None, (_asked(each, left - 1) for each in value)), None)
    for key in _ASKED:
        found = _asked(value.get(key), left - 1)
        if found:
            return found
    own = (each for key, each in value.items() if key.lower().endswith(_ASKED_ENDINGS) and isinstance(each, str))
    return next((each for each in own if each.strip()), None)


def _answered(value: Any, left: int) -> str | None:
    if isinstance(value, str):
        return _of_transcript(value, "assistant")
    if left == 0 or not value or not isinstance(value, list | dict):
        return canonical_json(value) if isinstance(value, int | float) else None
    messages = _direct_messages(value)
    if messages:
        return _last_answer(messages)
    if isinstance(value, list):
        return _text(value) or (_answered(value[0], left - 1) if len(value) == 1 else None)
    inner = (_used(value, key) for key in _ANSWERED)
    return next(filter(None, (_answered(each, left - 1) for each in inner)), None)


def _used(value: dict[str, Any], key: str) -> Any:
    """A member, or the first of the alternatives that it lists."""
    inner = value.get(key)
    if key in _ALTERNATIVES and isinstance(inner, list):
        return inner[0] if inner else None
    return inner


def _last_answer(messages: list[Message]) -> str | None:
    """The last text of the assistant after the last of the user."""
    answer = None
    for each in messages:
        if each.role == "user" and each.text:
            answer = None
        elif each.role == "assistant" and each.text:
            answer = each.text
    return answer


def _of_transcript(text: str, role: str) -> str | None:
    """A text, or of one that begins with a role the last that this role says."""
    if not text.strip():
        return None
    turns = list(_TRANSCRIPT.finditer(text))
    if not turns or turns[0].start():
        return text
    ends = [turn.start() for turn in turns[1:]] + [len(text)]
    said = [text[turn.end() : end].strip() for turn, end in zip(turns, ends, strict=True) if turn[1] == role]
    return (said[-1] or None) if said else None


def _direct_messages(value: Any) -> list[Message]:
    """The messages that a list or object is made of, without looking further into it."""
    if isinstance(value, dict):
        message = _message(value)
        return [message] if message else []
    pair = _pair(value)
    if pair:
        return [pair]
    found: list[Message] = []
    for each in value:
        inner = decoded(each)
        # A batch of one conversation, as LangChain records the prompts of a model.
        message = _message(inner) if isinstance(inner, dict) else _pair(inner) if isinstance(inner, list) else None
        if message:
            found.append(message)
    return found


def _pair(value: list[Any]) -> Message | None:
    """A message written as role and text."""
    if len(value) == 2 and all(isinstance(each, str) for each in value) and value[0] in _ROLES:  # noqa: PLR2004
        return Message(_ROLES[value[0]], value[1] if value[1].strip() else None)
    return None


def _message(value: dict[str, Any]) -> Message | None:
    """A message of any of the usual APIs, None where the object is something else."""
    inner, kind = value, value.get("role")
    if isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list) and value["id"]:
        inner, kind = value["kwargs"], value["id"][-1]
    elif kind is None:
        kind = value.get("type")
        if isinstance(value.get("data"), dict):
            inner = value["data"]
    if kind in ("function_call", "custom_tool_call") and "name" in inner:
        call = (_id(inner, "call_id", "id"), _name(inner.get("name")), inner.get("arguments", inner.get("input")))
        return Message("assistant", None, calls=(call,))
    role = _ROLES.get(kind) if isinstance(kind, str) else None
    if role is None or not any(
        key in inner for key in ("content", "parts", "text", "tool_calls", "output", "refusal", "function_call")
    ):
        return None
    content = next((inner[key] for key in ("content", "parts", "text", "output") if inner.get(key) is not None), None)
    return Message(
        role,
        _text(content),
        calls=tuple(_calls(inner, content)),
        reply_to=_id(inner, "tool_call_id", "call_id"),
        failed=inner.get("status") == "error" and role == "tool",
    )


def _text(content: Any) -> str | None:
    """The text of a content: text, or the texts among its parts, each on a line of its own."""
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, dict):
        content = content["parts"] if isinstance(content.get("parts"), list) else [content]
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and not part.get("thought") and part.get("type") in _TEXT_PARTS:
            text = part.get("text") if "text" in part else part.get("content")
            # A part of type text says so; an object without a type is one only by its text alone.
            if isinstance(text, str):
                texts.append(text)
    return "\n".join(text for text in texts if text.strip()) or None


def _calls(inner: dict[str, Any], content: Any) -> Iterator[tuple[str | None, str | None, Any]]:
    extra = inner.get("additional_kwargs")
    listed = inner.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, dict):
            function = call["function"] if isinstance(call.get("function"), dict) else call
            arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
            yield _id(call, "id"), _name(function.get("name")), arguments
    for part in content if isinstance(content, list) and not listed else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") in ("tool_use", "tool_call"):
            arguments = next((part[key] for key in ("input", "arguments", "args") if key in part), None)
            yield _id(part, "id"), _name(part.get("name")), arguments
        else:
            function = part.get("function_call") or part.get("functionCall")
            if isinstance(function, dict):
                yield _id(function, "id"), _name(function.get("name")), function.get("args")


def _id(value: dict[str, Any], *names: str) -> str | None:
    found = next((value[name] for name in names if value.get(name)), None)
    return found if isinstance(found, str) else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _inside(value: dict[str, Any]) -> Iterator[Any]:
    """The members of an object that may hold messages."""
    for key in dict.fromkeys((*_ANSWERED, *_ASKED)):
        inner = value.get(key)
        if key in _ALTERNATIVES and isinstance(inner, list):
            yield from inner[:1]
        elif isinstance(inner, dict | list):
            yield inner


def _python_literal(text: str) -> Any:
    """The object or list that a text writes in Python's notation, None where it writes none that JSON could hold."""
    bare = text.strip()
    if bare[:1] not in ("{", "[") or len(bare) > _LITERAL_LIMIT:
        return None
    if max(bare.count("["), bare.count("{"), bare.count("(")) > _LITERAL_DEPTH and _deep(bare):
        return None
    try:
        with warnings.catch_warnings():
            # An unknown escape such as \d is no more than itself here.
            warnings.simplefilter("ignore")
            value = ast.literal_eval(bare)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and _is_json(value) else None


def _deep(text: str) -> bool:
    level = deepest = 0
    for character in text:
        if character in "[{(":
            level += 1
            deepest = max(deepest, level)
        elif character in ")}]":
            level -= 1
    return deepest > _LITERAL_DEPTH


def _is_json(value: Any) -> bool:
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if not all(isinstance(key, str) for key in here):
                return False
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, float):
            if not math.isfinite(here):
                return False
        elif here is not None and not isinstance(here, str | int):
            return False
    return True
