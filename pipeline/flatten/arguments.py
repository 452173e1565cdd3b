"""Tool arguments as flat lines, so that frames can compare nested values by set operations.

Every value becomes lines `path` + separator + value, where the path is the canonical JSON list of its keys. An object
gives a line for itself and those of its members; everything else, lists included, gives one line with its canonical
JSON. So an object has at least the members of another one, recursively, exactly when it has all of the other's lines.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import msgspec
import polars as pl

from pipeline.sources.canonical import canonical_json

# Control characters: canonical JSON escapes them, so neither stands inside a line.
SEPARATOR: Final = "\x1f"
_LINE_END: Final = "\x1e"
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


def lines_of(texts: Sequence[str]) -> pl.DataFrame:
    """The lines of several values: `arguments` (the texts), `leaves` (list); null where a text is no JSON.

    Args:
        texts: canonical JSON, each text once: agents repeat themselves.
    """
    known = [_joined_leaves(text) for text in texts]
    frame = pl.DataFrame({"arguments": texts, "leaves": known}, schema={"arguments": pl.String, "leaves": pl.String})
    return frame.with_columns(pl.col("leaves").str.split(_LINE_END))


def _joined_leaves(text: str) -> str | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return _LINE_END.join(leaves(value))
