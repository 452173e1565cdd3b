"""Tool arguments as flat lines, so that frames can compare nested values by set operations.

Every value becomes lines `path` + separator + value, where the path is the canonical JSON list of its keys. An object
gives a line for itself and those of its members; everything else, lists included, gives one line with its canonical
JSON. So an object has at least the members of another one, recursively, exactly when it has all of the other's lines.
"""

from hashlib import blake2b
from typing import Any, Final

from pipeline.sources.canonical import canonical_json

# Control characters: canonical JSON escapes them, so neither stands inside a line.
SEPARATOR: Final = "\x1f"
LINE_END: Final = "\x1e"
# A path stands in every line below it: one long key over many members would cost its length times their number.
PATH_LIMIT: Final = 256


def leaves(value: Any) -> list[str]:
    """The lines of one value.

    Args:
        value: JSON-like data, nested at most as deep as the reader allows.

    >>> [line.replace(SEPARATOR, " = ") for line in leaves({"a": {"b": 2.0}, "c": [1]})]
    ['[] = {}', '["a"] = {}', '["a","b"] = 2', '["c"] = [1]']
    """
    lines: list[str] = []
    # A path is kept as the open text of its list, and closed where it is written.
    pending: list[tuple[str, Any]] = [("[", value)]
    while pending:
        path, here = pending.pop()
        if isinstance(here, dict):
            lines.append(f"{path}]{SEPARATOR}{{}}")
            head = path if path == "[" else path + ","
            pending.extend((_bounded(head + canonical_json(key)), here[key]) for key in sorted(here, reverse=True))
        else:
            lines.append(f"{path}]{SEPARATOR}{canonical_json(here)}")
    return lines


def _bounded(path: str) -> str:
    """A path, from a certain length on as a digest, which begins as no list does."""
    return path if len(path) <= PATH_LIMIT else "#" + blake2b(path.encode(), digest_size=32).hexdigest()


class ArgumentLines:
    """The lines of one batch's arguments, each distinct text worked out once: agents repeat themselves.

    Args:
        tools: the tools whose arguments some case asks for; lines of others are not wanted.
    """

    def __init__(self, tools: frozenset[str]) -> None:
        self.tools = tools
        self._known: dict[str, str] = {}

    def of(self, text: str, value: Any) -> str:
        """The lines of a value, joined by `LINE_END`.

        Args:
            text: its canonical JSON.
            value: the value.
        """
        lines = self._known.get(text)
        if lines is None:
            lines = self._known[text] = LINE_END.join(leaves(value))
        return lines
