"""What was said to a model and by it, in whatever notation a span has recorded it.

Instrumentations write down chat messages in a dozen ways: lists of parts, provider payloads, attributes numbered one
by one. Here each becomes a `Said`: who spoke, the text that a reader sees, the calls asked for, the replies of tools.
Nothing is refused: what is no message says nothing.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from pipeline.sources.json_text import ANY, decode
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

_ROLES: Final = {
    "human": "user", "humanmessage": "user", "ai": "assistant", "aimessage": "assistant", "model": "assistant",
    "chatbot": "assistant", "toolmessage": "tool", "function": "tool", "systemmessage": "system",
}  # fmt: skip
_THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
_CALLS: Final = frozenset({"tool_call", "tool-call", "tool_use", "function_call"})
_REPLIES: Final = frozenset({"tool_call_response", "tool-result", "tool_result", "function_call_output"})
_QUESTION_KEYS: Final = (
    "question", "query", "task", "input", "prompt", "user_input", "user_prompt", "user_query", "message", "text",
    "content",
)  # fmt: skip
_ANSWER_KEYS: Final = (
    "answer", "final_answer", "finalAnswer", "output", "result", "response", "text", "content", "message",
)  # fmt: skip
_MOST_STEPS: Final = 12
"""How many steps of a dotted key count; a hostile one has thousands."""
_INDEX: Final = re.compile(r"\d{1,9}", re.ASCII)


class Call(msgspec.Struct, gc=False):
    """A call that a model asks for."""

    id: str | None
    name: str | None
    arguments: Any


class Reply(msgspec.Struct, gc=False):
    """What a tool gave back, as the model was told."""

    id: str | None
    content: Any


class Said(msgspec.Struct, gc=False):
    """One message.

    Attributes:
        role: `user`, `assistant`, `tool`, `system`, or what else stands there; empty where nothing does.
        text: its visible text, parts on lines of their own; None where there is none but white space.
        calls: the calls that it asks for.
        replies: the replies of tools that it brings.
    """

    role: str
    text: str | None = None
    calls: list[Call] = msgspec.field(default_factory=list)
    replies: list[Reply] = msgspec.field(default_factory=list)


def parsed(value: Any) -> Any:
    """The object, list or text that a text holds as JSON, else the value as it stands."""
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = decode(value.encode(), ANY, Repairs())
        except Refused:
            return value
    return value


def written(value: Any) -> str | None:
    """A value as text: text as it stands, all else as JSON; None where it is absent or blank."""
    if value is None:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if text and not text.isspace() else None


def unflattened(attributes: dict[str, Any], prefix: str) -> Any:
    """What stands under a prefix in attributes with dotted keys, as nested objects; None where nothing does.

    >>> unflattened({"m.10.role": "user", "m.9.role": "system", "n": 1}, "m")
    {'10': {'role': 'user'}, '9': {'role': 'system'}}
    """
    if prefix in attributes:
        return attributes[prefix]
    found: dict[str, Any] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        *way, last = key[len(start) :].split(".", _MOST_STEPS)
        place = found
        for step in way:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value
    return found or None


def listed(value: Any) -> list[Any]:
    """A list, or the values of an object whose keys are indexes, by number: 10 comes after 9."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value and all(_INDEX.fullmatch(key) for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return []


def messages(value: Any) -> list[Said]:
    """The messages in a value: a list of them, an object around one, one alone; also as JSON inside a text."""
    value = parsed(value)
    if isinstance(value, dict):
        for key in ("messages", "contents"):
            if key in value:
                return messages(value[key]) if not isinstance(value[key], dict) or listed(value[key]) else []
    found = listed(value)
    if len(found) == 1 and isinstance(found[0], list):
        # A batch of one, as LangChain records its model calls.
        found = found[0]
    if not found and _is_message(value):
        found = [value]
    return [message(item) for item in found if _is_message(item)]


def message(value: dict[str, Any]) -> Said:
    """One message."""
    value = _inside(value)
    role = value.get("role") or value.get("type")
    said = Said(_role(role) if isinstance(role, str) else _role_of_class(value))
    texts: list[str] = []
    call_id = _text(value.get("tool_call_id")) or _text(value.get("toolCallId"))
    if said.role == "tool" and call_id is not None:
        said.replies.append(Reply(call_id, value.get("content")))
    for key in ("parts", "contents", "content"):
        content = value.get(key)
        if isinstance(content, str):
            content = _parts_in_text(content)
        if isinstance(content, dict) and "parts" in content:
            content = content["parts"]
        if isinstance(content, str):
            texts.append(content)
        else:
            for part in listed(content) or ([content] if isinstance(content, dict) else []):
                _take_part(part, said, texts)
        if texts or said.calls or said.replies:
            break
    for call in listed(parsed(value.get("tool_calls") or value.get("toolCalls"))):
        _take_call(call, said)
    function = value.get("function_call")
    if isinstance(function, dict) and not said.calls:
        _take_call(function, said)
    text = "\n".join(text for text in texts if text)
    said.text = text if text and not text.isspace() else None
    return said


def asked(value: Any) -> str | None:
    """The question in what a run was given: its last user message, a field that is called so, else all of it."""
    whole = parsed(value)
    said = messages(whole)
    if said:
        return last_of_user(said)
    if isinstance(whole, dict):
        whole = _unwrapped(whole)
        for key in _QUESTION_KEYS:
            if isinstance(whole.get(key), str) and whole[key].strip():
                return str(whole[key])
            if isinstance(whole.get(key), list | dict) and (said := messages(whole[key])):
                return last_of_user(said)
    return written(whole) if isinstance(whole, str) or not isinstance(value, str) else written(value)


def told(value: Any) -> Said | None:
    """The answer in what a run gave: its last message, a field that is called so, else all of it; None for nothing."""
    whole = parsed(value)
    inner: Any = whole
    for _ in range(_MOST_STEPS):
        if isinstance(inner, dict):
            if isinstance(inner.get("choices"), list | dict) and listed(inner["choices"]):
                inner = listed(inner["choices"])[0]
                continue
            if isinstance(inner.get("generations"), list) and inner["generations"]:
                inner = inner["generations"][0]
                continue
            if isinstance(inner.get("message"), dict):
                inner = inner["message"]
                continue
        elif isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], list):
            inner = inner[0]
            continue
        break
    said = messages(inner)
    if said:
        spoken = [each for each in said if each.role not in ("user", "system", "developer", "tool")]
        return spoken[-1] if spoken else None
    if isinstance(inner, list) and inner and all(isinstance(item, str) for item in inner):
        return _says("".join(inner))
    if isinstance(inner, dict):
        calls = Said("assistant")
        for call in listed(parsed(inner.get("tool_calls") or inner.get("toolCalls"))):
            _take_call(call, calls)
        for key in _ANSWER_KEYS:
            if isinstance(inner.get(key), str) and inner[key].strip():
                calls.text = inner[key]
                return calls
            if isinstance(inner.get(key), list | dict) and (said := messages(inner[key])):
                return said[-1]
        if calls.calls:
            return calls
    return _says(written(whole) if isinstance(whole, str) or not isinstance(value, str) else written(value))


def last_of_user(said: Iterable[Said]) -> str | None:
    """The text of the last message of a user that has some."""
    text = None
    for each in said:
        if each.role == "user" and each.text is not None:
            text = each.text
    return text


def _says(text: str | None) -> Said | None:
    return None if text is None else Said("assistant", text)


def _role(name: str) -> str:
    lower = name.lower()
    return _ROLES.get(lower, lower)


def _role_of_class(value: dict[str, Any]) -> str:
    """The role of a message that LangChain has serialised by its class."""
    path = value.get("class")
    return _role(path) if isinstance(path, str) else ""


def _inside(value: dict[str, Any]) -> dict[str, Any]:
    """A message without what stands around it."""
    inner = value.get("message")
    if isinstance(inner, dict) and "content" not in value and "role" not in value:
        return inner
    kwargs, path = value.get("kwargs"), value.get("id")
    if isinstance(kwargs, dict) and isinstance(path, list) and path and isinstance(path[-1], str):
        return {**kwargs, "role": path[-1].removesuffix("Chunk"), "type": None}
    return value


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    value = _inside(value)
    says = any(key in value for key in ("content", "contents", "parts", "tool_calls", "function_call"))
    return says and (isinstance(value.get("role"), str) or _role(str(value.get("type"))) in ("user", "assistant"))


def _parts_in_text(content: str) -> Any:
    """The parts that a text holds as JSON, else the text: an answer in JSON is text."""
    if not content.lstrip().startswith("["):
        return content
    parts = parsed(content)
    known = ("text", "toolUse", "toolResult", "type")
    whole = isinstance(parts, list) and parts and all(isinstance(p, dict) and any(k in p for k in known) for p in parts)
    return parts if whole else content


def _take_part(part: Any, said: Said, texts: list[str]) -> None:
    if isinstance(part, str):
        texts.append(part)
    if not isinstance(part, dict):
        return
    inner = part.get("message_content")
    if isinstance(inner, dict):
        part = inner
    kind = part.get("type") or part.get("kind")
    if kind in _THOUGHTS or part.get("thought") is True:
        return
    for key in ("toolUse", "function_call", "functionCall"):
        if isinstance(part.get(key), dict):
            _take_call(part[key], said)
            return
    for key in ("toolResult", "function_response", "functionResponse"):
        if isinstance(part.get(key), dict):
            _take_reply(part[key], said)
            return
    if kind in _CALLS:
        _take_call(part, said)
    elif kind in _REPLIES:
        _take_reply(part, said)
    else:
        text = part.get("text") if isinstance(part.get("text"), str) else part.get("content")
        if isinstance(text, str):
            texts.append(text)


def _take_call(call: Any, said: Said) -> None:
    if not isinstance(call, dict):
        return
    around = call.get("tool_call")
    call = around if isinstance(around, dict) else call
    function = call.get("function")
    if isinstance(function, dict):
        call = {"id": call.get("id"), **function}
    said.calls.append(
        Call(
            _first_text(call, "id", "call_id", "toolCallId", "toolUseId", "tool_call_id"),
            _first_text(call, "name", "toolName", "tool_name"),
            next((call[key] for key in ("arguments", "args", "input") if key in call), None),
        )
    )


def _take_reply(reply: dict[str, Any], said: Said) -> None:
    content = next(
        (reply[key] for key in ("response", "result", "output", "content") if reply.get(key) is not None), None
    )
    said.replies.append(
        Reply(_first_text(reply, "id", "call_id", "tool_use_id", "toolCallId", "toolUseId", "tool_call_id"), content)
    )


def _first_text(value: dict[str, Any], *keys: str) -> str | None:
    return next((text for key in keys if (text := _text(value.get(key))) is not None), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a call by keyword, where a function's arguments are written as such."""
    for key in ("inputs", "kwargs"):
        if isinstance(value.get(key), dict) and value[key]:
            return dict(value[key])
    return value
