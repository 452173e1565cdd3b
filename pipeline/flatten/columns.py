"""Values of any kind to columns: text that exists, free-form values as text, lists of texts."""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any, Final

import msgspec
import polars as pl

from pipeline import schemas
from pipeline.sources.canonical import canonical_json

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_TEXT: Final = frozenset({str, type(None)})
# Python counts the separators U+001C to U+001F as white space, Unicode's property and so Rust do not.
_VISIBLE: Final = r"[^\s\x1C-\x1F]"
# What canonical JSON holds where a float may be written in a second way; elsewhere it only costs the slower way.
_MAYBE_FLOAT: Final = r"\.0|\de\d"


def present(column: str) -> pl.Expr:
    """Texts that exist: those that hold more than white space; all others are null.

    >>> frame = pl.DataFrame({"text": ["a ", " ", "", None]})
    >>> frame.select(present("text"))["text"].to_list()
    ['a ', None, None, None]
    """
    return pl.when(pl.col(column).str.contains(_VISIBLE)).then(pl.col(column))


def first_present(*columns: str) -> pl.Expr:
    """Of several spellings of a field, each a column of texts, the first that exists."""
    return pl.coalesce(present(column) for column in columns)


def texts(values: Sequence[str | None]) -> pl.Series:
    """Texts as a column."""
    return pl.Series(values=values, dtype=pl.String)


def free_texts(values: Sequence[Any]) -> pl.Series:
    """Free-form values as text: text as it is, anything else as canonical JSON; null stays null.

    >>> free_texts(["as it is", {"b": 2.0, "a": 1}, None]).to_list()
    ['as it is', '{"a":1,"b":2}', None]
    """
    if not _TEXT.issuperset(map(type, values)):
        values = [value if value is None or isinstance(value, str) else canonical_json(value) for value in values]
    return texts(values)


def canonical_texts(values: Sequence[Any]) -> pl.Series:
    """The canonical JSON of each value, null for None; as `canonical_json`, but of all in one go.

    >>> canonical_texts([{"n": 2.0}, [], None]).to_list()
    ['{"n":2}', '[]', None]
    """
    lines = _lines(values)
    again = lines.str.contains(_MAYBE_FLOAT).arg_true().to_list()
    if again:
        lines = lines.scatter(again, [canonical_json(values[index]) for index in again])
    return pl.select(pl.when(lines != "null").then(lines)).to_series()


def text_lists(values: Sequence[Sequence[str | None] | None]) -> pl.Series:
    """Lists of texts as a column; through JSON, which is ten times as fast as Python lists are."""
    if not any(values):
        # None, or empty: there is nothing to decode.
        return pl.Series(values=list(values), dtype=schemas.TEXTS)
    return _lines(values).str.json_decode(schemas.TEXTS)


def _lines(values: Sequence[Any]) -> pl.Series:
    """Each value as JSON."""
    # JSON escapes a line end, so that each value is a line.
    text = _ENCODER.encode_lines(values).decode()
    return pl.Series(values=text.split("\n")[:-1], dtype=pl.String)


def places(listed: Sequence[Sequence[Any]]) -> dict[str, pl.Series]:
    """Where each member of the traces' lists is from: `trace`, the number of its list, and `position` in it, from 1.

    >>> {name: column.to_list() for name, column in places(["ab", "", "c"]).items()}
    {'trace': [0, 0, 2], 'position': [1, 2, 1]}
    """
    counts = list(map(len, listed))
    traces = chain.from_iterable(map(repeat, range(len(counts)), counts))
    positions = chain.from_iterable(range(1, count + 1) for count in counts)
    return {
        "trace": pl.Series(values=list(traces), dtype=pl.UInt32),
        "position": pl.Series(values=list(positions), dtype=pl.UInt32),
    }
