"""Redaction: what a suite's `redact` regexes match is written as `[redacted]` in every output.

The evaluation sees everything; outputs are all rendered from the snapshot, whose rows and metadata are redacted where
they are made. Half a secret matches no regex, so redaction comes before a text is cut, and before its characters are
escaped: what faults quote from inputs is redacted inside `redacting`, what checks quote by `Facts.redacted`.

A regex is searched in every text as a whole, and in every value, key and number of a text that is JSON: a secret that
JSON writes with escapes is found all the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import polars as pl
from polars._typing import PolarsDataType

from pipeline.errors import hiding

MARK: Final = "[redacted]"

# JSON inside strings is searched as deep as the reader takes it out of them.
_LEVELS: Final = 3


@contextmanager
def redacting(patterns: Sequence[str], *, with_text: bool = True) -> Iterator[None]:
    """Redact all that faults quote from inputs meanwhile, before it is cut.

    Args:
        patterns: regexes in Polars' syntax, validated.
        with_text: False also leaves out pieces from the middle of a text.
    """
    if not patterns and with_text:
        yield
        return
    with hiding(lambda text: redact_texts([text], patterns)[0]):
        yield


def redacted_part(part: pl.Expr, whole: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """A piece of a text, redacted; all of it where only a part of a match stands in it.

    Args:
        part: the piece as it stands in the text.
        whole: the text.
        patterns: regexes in Polars' syntax, validated.
    """
    if not patterns:
        return part
    part, whole = _redacted_text(part, patterns), _redacted_text(whole, patterns)
    # What stands in the redacted text too is no part of a match.
    return pl.when(whole.str.contains(part, literal=True)).then(part).otherwise(pl.lit(MARK))


def redact_frame(
    frame: pl.LazyFrame,
    patterns: Sequence[str],
    *,
    keep: Sequence[str] = (),
    any_case: Sequence[str] = (),
) -> pl.LazyFrame:
    """Redact every text of a frame, those in lists and structs included.

    Args:
        frame: any frame.
        patterns: regexes in Polars' syntax, validated.
        keep: columns, and fields of structs, that hold identifiers of ours and stay as they are.
        any_case: columns whose text is no longer in the case in which it was written.
    """
    if not patterns:
        return frame
    loose = [f"(?i){pattern}" for pattern in patterns]
    columns = []
    for name, dtype in frame.collect_schema().items():
        wanted = loose if name in any_case else patterns
        value = None if name in keep else _redacted(pl.col(name), dtype, wanted, keep)
        if value is not None:
            columns.append(value.alias(name))
    return frame.with_columns(columns)


def _redacted(value: pl.Expr, dtype: pl.DataType, patterns: Sequence[str], keep: Sequence[str]) -> pl.Expr | None:
    """The redacted value, or None where a type holds no text."""
    if isinstance(dtype, pl.String):
        return _redacted_text(value, patterns)
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


def _redacted_text(value: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    return value.map_batches(lambda texts: _hidden(texts, patterns), return_dtype=pl.String, is_elementwise=True)


def redact_texts(texts: Sequence[str], patterns: Sequence[str]) -> list[str]:
    r"""Redact a few texts.

    >>> redact_texts(["token=abc123 ok", '{"key": "a\\tb"}'], ["token=\\w+", "a\\tb"])
    ['[redacted] ok', '{"key":"[redacted]"}']
    """
    return _hidden(pl.Series(texts, dtype=pl.String), patterns).to_list() if patterns else list(texts)


def _hidden(texts: pl.Series, patterns: Sequence[str], levels: int = _LEVELS) -> pl.Series:
    if levels:
        texts = _hidden_in_json(texts, patterns, levels)
    for pattern in patterns:
        texts = texts.str.replace_all(pattern, MARK)
    return texts


def _hidden_in_json(texts: pl.Series, patterns: Sequence[str], levels: int) -> pl.Series:
    """The texts that are JSON with their values redacted; of those without a match, not a character changes."""
    documents: dict[str, Any] = {}
    for text in texts.filter(texts.str.contains(r'^\s*[\[{"]')).unique().to_list():
        try:
            documents[text] = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError):
            continue
        except RecursionError:
            # Nested too deep to be looked through, so nothing of it is shown.
            documents[text] = MARK
    if not documents:
        return texts
    leaves = pl.Series(sorted({leaf for document in documents.values() for leaf in _leaves(document)}), dtype=pl.String)
    hidden = _hidden(leaves, patterns, levels - 1)
    changes = {old: new for old, new in zip(leaves, hidden, strict=True) if old != new}
    rewritten = {
        text: _encoded(_changed(document, changes, ()))
        for text, document in documents.items()
        if document is MARK or any(leaf in changes for leaf in _leaves(document))
    }
    return texts.replace(rewritten) if rewritten else texts


def redact_json(document: str, patterns: Sequence[str], *, keep: Sequence[tuple[str, ...]] = ()) -> str:
    """Redact the values, keys and numbers of a JSON document, so that it stays one.

    Args:
        document: JSON text, nested as deep as the reader allows.
        patterns: regexes in Polars' syntax, validated.
        keep: paths of values that hold identifiers of ours and stay as they are; `*` stands for any place in a list.

    >>> redact_json('{"id":"a1","text":"a1","n":[41]}', ["a1", "41"], keep=[("id",)])
    '{"id":"a1","n":["[redacted]"],"text":"[redacted]"}'
    """
    if not patterns:
        return document
    data = msgspec.json.decode(document)
    leaves = sorted(_leaves(data))
    changes = dict(zip(leaves, redact_texts(leaves, patterns), strict=True))
    return _encoded(_changed(data, changes, keep))


def _leaves(document: Any) -> set[str]:
    """All texts, keys and numbers of a document, as texts."""
    found: set[str] = set()
    pending = [document]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            found.update(here)
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
        elif here is not None and not isinstance(here, bool):
            found.add(str(here))
    return found


def _changed(document: Any, changes: dict[str, str], keep: Sequence[tuple[str, ...]]) -> Any:
    """The document with its leaves exchanged, in place; without recursion, as it may be nested deep."""
    top = {"": document}
    pending: list[tuple[Any, tuple[str, ...]]] = [(top, ())]
    while pending:
        here, path = pending.pop()
        entries = [(key, (*path, key)) for key in here] if isinstance(here, dict) else []
        entries += [(index, (*path, "*")) for index in range(len(here))] if isinstance(here, list) else []
        for key, place in entries:
            value = here[key]
            if place[1:] in keep:
                continue
            if isinstance(value, dict | list):
                pending.append((value, place))
            elif value is not None and not isinstance(value, bool) and str(value) in changes:
                new = changes[str(value)]
                here[key] = new if isinstance(value, str) or new != str(value) else value
        if isinstance(here, dict):
            renamed = {changes.get(key, key): value for key, value in here.items()}
            here.clear()
            here.update(renamed)
    return top[changes.get("", "")]


def _encoded(document: Any) -> str:
    try:
        return msgspec.json.encode(document, order="sorted").decode()
    except RecursionError:
        return MARK
