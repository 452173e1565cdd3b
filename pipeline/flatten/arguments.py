"""Tool arguments as flat lines, so that frames can compare nested values by set operations.

Every value becomes lines `path` + separator + value, where the path is the canonical JSON list of its keys. An object
gives a line for itself and those of its members; everything else, lists included, gives one line with its canonical
JSON. So an object has at least the members of another one, recursively, exactly when it has all of the other's lines.
"""

from typing import Any

from pipeline.sources.canonical import canonical_json

SEPARATOR = "\x1f"


def leaves(value: Any) -> list[str]:
    """The lines of one value.

    Args:
        value: JSON-like data, nested at most as deep as the reader allows.

    >>> [line.replace(SEPARATOR, " = ") for line in leaves({"a": {"b": 2.0}, "c": [1]})]
    ['[] = {}', '["a"] = {}', '["a","b"] = 2', '["c"] = [1]']
    """
    lines: list[str] = []
    pending: list[tuple[list[str], Any]] = [([], value)]
    while pending:
        path, here = pending.pop(0)
        prefix = canonical_json(path) + SEPARATOR
        if isinstance(here, dict):
            lines.append(prefix + "{}")
            pending.extend(([*path, key], here[key]) for key in sorted(here))
        else:
            lines.append(prefix + canonical_json(here))
    return lines
