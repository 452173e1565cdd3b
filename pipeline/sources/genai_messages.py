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
_LISTENERS: Final = ("user", "system", "developer", "tool")
_THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
_CALLS: Final = frozenset({"tool_call", "tool-call", "tool_use", "function_call"})
_REPLIES: Final = frozenset({"tool_call_response", "tool-result", "tool_result", "function_call_output"})
_CALL_PARTS: Final = ("toolUse", "function_call", "functionCall")
_REPLY_PARTS: Final = ("toolResult", "function_response", "functionResponse")
_PART_KEYS: Final = ("text", "type", *_CALL_PARTS, *_REPLY_PARTS)
_ID_KEYS: Final = ("id", "call_id", "toolCallId", "toolUseId", "tool_use_id", "tool_call_id")
_QUESTION_KEYS: Final = (
    "question", "query", "task", "input", "prompt", "user_input", "user_prompt", "user_query", "message", "text",
    "content",
)  # fmt: skip
_ANSWER_KEYS: Final = (
    "answer", "final_answer", "finalAnswer", "output", "outputs", "result", "response", "text", "content", "message",
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
    """The object, list or text that a text holds as JSON, else the value as it stands.

    >>> parsed('{"a": 1}'), parsed('"text"'), parsed("{'a': 1}"), parsed("42")
    ({'a': 1}, 'text', "{'a': 1}", '42')
    """
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = decode(value.encode(), ANY, Repairs())
        except Refused:
            return value
    return value


def written(value: Any) -> str | None:
    """A value as text: text as it stands, all else as JSON; None where it is absent, blank or empty."""
    if value is None or value in ({}, []):
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
        around = next((value[key] for key in ("messages", "contents") if listed(parsed(value.get(key)))), None)
        value = value if around is None else parsed(around)
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
    said = Said(_role(role) if isinstance(role, str) else "")
    texts: list[str] = []
    call_id = _first_text(value, "tool_call_id", "toolCallId")
    if said.role == "tool" and call_id is not None:
        said.replies.append(Reply(call_id, value.get("content")))
        return said
    for key in ("parts", "contents", "content"):
        _take_content(value.get(key), said, texts)
        if texts or said.calls or said.replies:
            break
    _take_calls(value, said)
    function = value.get("function_call")
    if isinstance(function, dict) and not said.calls:
        _take_call(function, said)
    text = "\n".join(text for text in texts if text)
    said.text = text if text and not text.isspace() else None
    return said


def asked(value: Any) -> str | None:
    """The question in what a run was given: its last message of a user, a field that is called so, else all of it.

    >>> asked('{"task": "why 503?", "verbose": true}'), asked("why 503?"), asked({"pod": "api-1"})
    ('why 503?', 'why 503?', '{"pod":"api-1"}')
    """
    whole = parsed(value)
    said = messages(whole)
    if said:
        return last_of_user(said)
    if isinstance(whole, dict):
        inner = _by_name(whole)
        for key in _QUESTION_KEYS:
            if isinstance(inner.get(key), str) and inner[key].strip():
                return str(inner[key])
            if isinstance(inner.get(key), list | dict) and (said := messages(inner[key])):
                return last_of_user(said)
        places = whole.get("args")
        if isinstance(places, list) and len(places) == 1 and isinstance(places[0], str) and not whole.get("kwargs"):
            return written(places[0])
    return _whole(whole, value)


def told(value: Any) -> Said | None:
    """The answer in what a run gave: its last message, a field that is called so, else all of it; None for nothing.

    >>> told({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "OOM"}]}).text
    'OOM'
    >>> told("OOM").text, told('{"answer": "OOM"}').text, told({"pods": 3}).text
    ('OOM', 'OOM', '{"pods":3}')
    """
    whole = parsed(value)
    inner = _of_response(whole)
    said = messages(inner)
    if said:
        spoken = [each for each in said if each.role not in _LISTENERS]
        return spoken[-1] if spoken else None
    if isinstance(inner, list) and inner and all(isinstance(item, str) for item in inner):
        return _says("".join(inner))
    if isinstance(inner, dict) and (found := _in_field(inner)) is not None:
        return found
    return _says(_whole(whole, value))


def last_of_user(said: Iterable[Said]) -> str | None:
    """The text of the last message of a user that has some."""
    text = None
    for each in said:
        if each.role == "user" and each.text is not None:
            text = each.text
    return text


def _of_response(value: Any) -> Any:
    """What a model's response holds, without the provider's wrapping."""
    for _ in range(_MOST_STEPS):
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
            value = value[0]
            continue
        if not isinstance(value, dict):
            break
        several = next((listed(value.get(key)) for key in ("choices", "generations") if listed(value.get(key))), None)
        if several is not None:
            # LangChain has a list of generations for each prompt of a batch.
            value = several[0][0] if isinstance(several[0], list) and several[0] else several[0]
        elif isinstance(value.get("message"), dict):
            value = value["message"]
        else:
            break
    return value


def _in_field(value: dict[str, Any]) -> Said | None:
    """The answer in a field that is called so, and the calls asked for beside it."""
    said = Said("assistant")
    _take_calls(value, said)
    for key in _ANSWER_KEYS:
        inner = parsed(value.get(key))
        if isinstance(inner, str) and inner.strip():
            said.text = inner
            return said
        if isinstance(inner, list | dict) and (found := messages(inner)):
            return found[-1]
    return said if said.calls else None


def _whole(inner: Any, value: Any) -> str | None:
    """All of a value as text: what its string holds where that is text or nothing, else the string as it stands."""
    return written(inner if isinstance(inner, str) or inner in ({}, []) else value)


def _says(text: str | None) -> Said | None:
    return None if text is None or not text.strip() else Said("assistant", text)


def _role(name: str) -> str:
    lower = name.lower().removesuffix("chunk")
    return _ROLES.get(lower, lower)


def _inside(value: dict[str, Any]) -> dict[str, Any]:
    """A message without what stands around it."""
    inner = value.get("message")
    if isinstance(inner, dict) and "content" not in value and "role" not in value:
        return inner
    kwargs, path = value.get("kwargs"), value.get("id")
    if isinstance(kwargs, dict) and isinstance(path, list) and path and isinstance(path[-1], str):
        # A LangChain object, serialised by the path of its class.
        return {**kwargs, "role": path[-1]}
    return value


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    value = _inside(value)
    says = any(key in value for key in ("content", "contents", "parts", "tool_calls", "function_call"))
    return says and (isinstance(value.get("role"), str) or _role(str(value.get("type"))) in ("user", "assistant"))


def _take_content(content: Any, said: Said, texts: list[str]) -> None:
    if isinstance(content, str):
        content = _parts_in_text(content)
    if isinstance(content, dict) and "parts" in content:
        content = content["parts"]
    if isinstance(content, str):
        texts.append(content)
        return
    for part in listed(content) or ([content] if isinstance(content, dict) else []):
        _take_part(part, said, texts)


def _parts_in_text(content: str) -> Any:
    """The parts that a text holds as JSON, else the text: an answer in JSON is text."""
    if not content.lstrip().startswith("["):
        return content
    parts = parsed(content)
    if not isinstance(parts, list) or not parts:
        return content
    return (
        parts if all(isinstance(part, dict) and any(key in part for key in _PART_KEYS) for part in parts) else content
    )


def _take_part(part: Any, said: Said, texts: list[str]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        return
    inner = part.get("message_content")
    part = inner if isinstance(inner, dict) else part
    kind = _first_text(part, "type", "kind")
    if kind in _THOUGHTS or part.get("thought") is True:
        return
    call = next((part[key] for key in _CALL_PARTS if isinstance(part.get(key), dict)), None)
    reply = next((part[key] for key in _REPLY_PARTS if isinstance(part.get(key), dict)), None)
    if call is not None or kind in _CALLS:
        _take_call(part if call is None else call, said)
    elif reply is not None or kind in _REPLIES:
        _take_reply(part if reply is None else reply, said)
    else:
        text = part.get("text") if isinstance(part.get("text"), str) else part.get("content")
        if isinstance(text, str):
            texts.append(text)


def _take_calls(value: dict[str, Any], said: Said) -> None:
    for call in listed(parsed(value.get("tool_calls") or value.get("toolCalls"))):
        _take_call(call, said)


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
            _first_text(call, *_ID_KEYS),
            _first_text(call, "name", "toolName", "tool_name"),
            next((call[key] for key in ("arguments", "args", "input") if key in call), None),
        )
    )


def _take_reply(reply: dict[str, Any], said: Said) -> None:
    keys = ("response", "result", "output", "content")
    content = next((reply[key] for key in keys if reply.get(key) is not None), None)
    said.replies.append(Reply(_first_text(reply, *_ID_KEYS), content))


def _first_text(value: dict[str, Any], *keys: str) -> str | None:
    return next((text for key in keys if isinstance(text := value.get(key), str) and text.strip()), None)


def _by_name(value: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, where those of a function were recorded as such."""
    for key in ("inputs", "kwargs", "request"):
        if isinstance(value.get(key), dict) and value[key]:
            return dict(value[key])
    return value
