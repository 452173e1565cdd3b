"""Items of OpenAI's Responses API, whatever wrote them down: what was said, the calls and what they gave back.

The API's own answers are made of them, and so are the sessions of the Agents SDK and of Codex.
"""

from typing import Any, Final

from pipeline.sources.base import Usage
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.nodes import Node

_OUTPUT: Final = "_output"
# Calls whose name and arguments the model chose; the others are named after their type.
# Tuples, not sets: a type is looked up as it stands in the file, be it a list.
_NAMED: Final = ("function_call", "custom_tool_call", "mcp_call")
# Where the calls of the tools that the API hosts keep what they were asked.
_ASKED: Final = {
    "web_search_call": ("action",),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "image_generation_call": (),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
}
_GIVEN: Final = {"code_interpreter_call": "outputs", "file_search_call": "results", "image_generation_call": "result"}
_HOSTED: Final = tuple(_ASKED)
CALLS: Final = (*_NAMED, *_HOSTED)
_RESULTS: Final = tuple(f"{kind}{_OUTPUT}" for kind in CALLS if kind != "mcp_call")
_PARTS: Final = ("output_text", "input_text", "text", "summary_text")
_FAILED: Final = ("failed", "incomplete")


def is_call_or_result(value: Any) -> bool:
    """Whether a value is a call or a result, which no chat message is."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in _NAMED:
        return "name" in value and ("arguments" in value or "input" in value)
    return (kind in _RESULTS and "call_id" in value and "output" in value) or (kind in _HOSTED and "id" in value)


def is_item(value: Any) -> bool:
    """Whether a value may stand in a list of items."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in (None, "message"):
        return isinstance(value.get("role"), str) and "content" in value
    return is_call_or_result(value) or (isinstance(kind, str) and (kind == "reasoning" or kind.startswith("mcp_")))


def is_spoken(value: Any) -> bool:
    """Whether a value is a message whose parts are those of this API."""
    parts = value.get("content") if isinstance(value, dict) and value.get("type") == "message" else None
    return isinstance(parts, list) and any(isinstance(part, dict) and part.get("type") in _PARTS for part in parts)


def text_of(item: Node) -> str | None:
    """The text of a message, its parts on lines of their own; None where there is none but white space.

    Raises:
        Refused: a field is of the wrong type.
    """
    content = item.member("content")
    if isinstance(content.value, str):
        return content.text()
    texts = []
    for part in content.items():
        if isinstance(part.value, str):
            texts.append(part.text())
        elif part.member("type").value in _PARTS:
            texts.append(part.member("text").text())
        elif part.member("type").value == "refusal":
            texts.append(part.member("refusal").text())
    return "\n".join(filter(None, texts)) or None


def log_item(item: Node, log: CallLog) -> None:
    """Add a call or a result; other items do nothing.

    Raises:
        Refused: a field is of the wrong type.
    """
    kind = item.member("type").value
    if kind in _NAMED:
        arguments = arguments_of(item.member("arguments", "input"))
        call = log.add(item.member("call_id", "id").name(), item.member("name").text(), arguments)
        if kind == "mcp_call":
            _own_outcome(item, "output").fill(call)
    elif kind in _HOSTED:
        asked = _asked(item, _ASKED[kind])
        call = log.add(item.member("call_id", "id").name(), str(kind).removesuffix("_call"), asked)
        _own_outcome(item, _GIVEN.get(kind)).fill(call)
    elif kind in _RESULTS:
        log.settle(item.member("call_id", "id").name(), Outcome(result=result_of(item.member("output"))))


def result_of(output: Node) -> Any:
    """What a call gave back: the text of its parts where they are all text, else what stands there."""
    parts = output.value
    if isinstance(parts, list) and all(isinstance(part, dict) and part.get("type") in _PARTS for part in parts):
        return "\n".join(filter(None, (part.member("text").text() for part in output.items()))) or None
    return parts


def usage_of(usage: Node) -> Usage | None:
    """The usage of an answer, in the words of either API of OpenAI; None where none is stated.

    Raises:
        Refused: it is no object.
    """
    found = Usage(
        inputTokens=usage.member("input_tokens", "prompt_tokens").count(),
        outputTokens=usage.member("output_tokens", "completion_tokens").count(),
        totalTokens=usage.member("total_tokens").count(),
    )
    return found if found != Usage() else None


def _asked(item: Node, fields: tuple[str, ...]) -> Any:
    value = item.member(*fields).value if fields else None
    return {fields[0]: value} if value is not None and not isinstance(value, dict) else value


def _own_outcome(item: Node, field: str | None) -> Outcome:
    """How a call ended that the API has run itself."""
    error = item.member("error").value
    failed = item.member("status").value in _FAILED or bool(error)
    return Outcome(
        result=item.member(field).value if field else None, success=False if failed else None, error=error or None
    )
