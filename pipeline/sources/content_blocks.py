"""Messages of Anthropic's API, whatever wrote them down: content blocks, tool results, usage by message id."""

from collections.abc import Iterator
from typing import Any, Final

from pipeline.sources.base import Usage
from pipeline.sources.call_log import CallLog, Outcome
from pipeline.sources.nodes import Node

# A tuple, not a set: a type is looked up as it stands in the file, be it a list.
CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT: Final = "tool_result"
_FIGURES: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_INT64: Final = 2**63 - 1


def is_block(value: Any) -> bool:
    """Whether a value is a block that only this API has: a call of a tool, or what it gave back."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in CALLS:
        return "name" in value and "input" in value
    return isinstance(kind, str) and kind.endswith(_RESULT) and "tool_use_id" in value


def blocks(content: Node) -> Iterator[Node]:
    """The blocks of a content; a plain text has none.

    Raises:
        Refused: it is neither text nor a list.
    """
    if not isinstance(content.value, str):
        yield from content.items()


def text_of(content: Node) -> str | None:
    """The text of a content, its blocks on lines of their own; None where there is none but white space.

    Raises:
        Refused: see `blocks`.
    """
    if isinstance(content.value, str):
        return content.text()
    return "\n".join(texts_of(content)) or None


def texts_of(content: Node) -> list[str]:
    """The texts of a content, block by block.

    Raises:
        Refused: see `blocks`.
    """
    if isinstance(content.value, str):
        return [content.value] if content.value.strip() else []
    texts = (
        block.text() if isinstance(block.value, str) else block.member("text").text()
        for block in content.items()
        if isinstance(block.value, str) or block.member("type").value == "text"
    )
    return [text for text in texts if text]


def log_calls(content: Node, log: CallLog) -> None:
    """Add the calls and the results among the blocks of a message.

    Raises:
        Refused: see `blocks`.
    """
    for block in blocks(content):
        kind = block.member("type").value
        if kind in CALLS:
            log.add(block.member("id").name(), block.member("name").text(), block.member("input").value)
        elif isinstance(kind, str) and kind.endswith(_RESULT):
            log.settle(block.member("tool_use_id").name(), outcome_of(block))


def outcome_of(block: Node) -> Outcome:
    """What a `tool_result` says of its call.

    Raises:
        Refused: a field is of the wrong type.
    """
    content, failed = block.member("content"), block.member("is_error")
    result = content.value
    if isinstance(result, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in result):
        result = text_of(content)
    if isinstance(result, dict) and str(result.get("type")).endswith("_error"):
        # The results of server tools carry their errors as content of its own type.
        return Outcome(result=result, success=False, error=result.get("error_code") or "error")
    if not failed:
        return Outcome(result=result)
    if failed.flag():
        return Outcome(result=result, success=False, error=result or None)
    return Outcome(result=result, success=True)


class MessageUsage:
    """Usage of messages that are written down more than once, each time with the figures so far."""

    def __init__(self) -> None:
        self._by_message: dict[str, dict[str, int]] = {}

    def add(self, message_id: str | None, usage: Node) -> None:
        """Take the usage of a message; the highest of a figure counts, once for each id.

        Raises:
            Refused: the usage is no object.
        """
        stated = {name: count for name in _FIGURES if (count := usage.member(name).count()) is not None}
        if stated:
            # Not a key that an id could be.
            kept = self._by_message.setdefault(message_id or f"\0{len(self._by_message)}", {})
            for name, count in stated.items():
                kept[name] = max(count, kept.get(name, 0))

    def total(self) -> Usage | None:
        """The sum over all messages, None where none states any.

        What was read from and written to the cache is no part of `input_tokens`, and is counted in the total.
        """
        sums = {
            name: sum(figures[name] for figures in self._by_message.values() if name in figures)
            for name in _FIGURES
            if any(name in figures for figures in self._by_message.values())
        }
        if not sums:
            return None
        whole = sum(sums.values()) if "input_tokens" in sums and "output_tokens" in sums else None
        return Usage(
            inputTokens=_bounded(sums.get("input_tokens")),
            outputTokens=_bounded(sums.get("output_tokens")),
            totalTokens=_bounded(whole),
        )


def _bounded(total: int | None) -> int | None:
    return total if total is not None and total <= _INT64 else None
