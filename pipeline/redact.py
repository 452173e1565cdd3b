"""Redaction: what a suite's `redact` regexes match is written as `[redacted]` in every output.

Outputs are all rendered from the snapshot, so redaction is applied where snapshot rows and metadata are made, never
in the evaluation. It comes before any cutting, as half a secret would no longer match.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import polars as pl
from polars._typing import PolarsDataType

MARK: Final = "[redacted]"


def redact_frame(frame: pl.LazyFrame, patterns: Sequence[str], *, keep: Sequence[str] = ()) -> pl.LazyFrame:
    """Redact every text of a frame, those in lists and structs included.

    Args:
        frame: any frame.
        patterns: regexes in Polars' syntax, validated.
        keep: columns, and fields of structs, that hold identifiers of ours and stay as they are.
    """
    if not patterns:
        return frame
    columns = []
    for name, dtype in frame.collect_schema().items():
        value = None if name in keep else _redacted(pl.col(name), dtype, patterns, keep)
        if value is not None:
            columns.append(value.alias(name))
    return frame.with_columns(columns)


def _redacted(value: pl.Expr, dtype: pl.DataType, patterns: Sequence[str], keep: Sequence[str]) -> pl.Expr | None:
    """The redacted value, or None where a type holds no text."""
    if isinstance(dtype, pl.String):
        for pattern in patterns:
            value = value.str.replace_all(pattern, MARK)
        return value
    if isinstance(dtype, pl.List):
        inner = _redacted(pl.element(), _dtype(dtype.inner), patterns, keep)
        return None if inner is None else value.list.eval(inner)
    if isinstance(dtype, pl.Struct):
        fields = [
            inner.alias(field.name)
            for field in dtype.fields
            if field.name not in keep
            and (inner := _redacted(pl.field(field.name), _dtype(field.dtype), patterns, keep)) is not None
        ]
        return value.struct.with_fields(fields) if fields else None
    return None


def _dtype(dtype: PolarsDataType) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def redact_texts(texts: Sequence[str], patterns: Sequence[str]) -> list[str]:
    r"""Redact a few texts.

    >>> redact_texts(["token=abc123 ok"], ["token=\\w+"])
    ['[redacted] ok']
    """
    frame = pl.LazyFrame({"text": texts}, schema={"text": pl.String})
    return redact_frame(frame, patterns).collect()["text"].to_list()


def redact_json(document: str, patterns: Sequence[str], *, keep: Sequence[str] = ()) -> str:
    """Redact the text values of a JSON document, so that it stays one.

    Args:
        document: JSON text.
        patterns: regexes in Polars' syntax, validated.
        keep: keys whose values hold identifiers of ours and stay as they are.
    """
    if not patterns:
        return document
    data = msgspec.json.decode(document)
    places: list[tuple[Any, Any]] = []
    pending: list[Any] = [data]
    while pending:
        here = pending.pop()
        items = here.items() if isinstance(here, dict) else enumerate(here)
        for key, value in items:
            if isinstance(value, str) and key not in keep:
                places.append((here, key))
            elif isinstance(value, dict | list) and key not in keep:
                pending.append(value)
    redacted = redact_texts([container[key] for container, key in places], patterns)
    for (container, key), value in zip(places, redacted, strict=True):
        container[key] = value
    return msgspec.json.encode(data, order="sorted").decode()
