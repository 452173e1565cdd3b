"""What is counted while reading, with the first entries of each list (contract section 5).

The lists hold the first entries by place, so that they are the same however the input was cut.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
import polars as pl

from pipeline import schemas
from pipeline.redact import redact_texts
from pipeline.snapshot.info import LIST_LIMIT, InputFault, InputWarning, Unmatched
from pipeline.sources.files import Inputs

Entry = TypeVar("Entry", Unmatched, InputFault, InputWarning)


class Noted(msgspec.Struct, kw_only=True):
    """Counts and first entries of what was noticed.

    Attributes:
        unmatched: traces that belong to no case.
        errors: records that could not be read.
        warnings: records repaired or odd.
        unmatched_count: how many there are in all; likewise the other two.
        error_count: see `unmatched_count`.
        warning_count: see `unmatched_count`.
        cases_seen: ids of the cases that have a trace, readable or not.
    """

    unmatched: list[Unmatched] = []
    errors: list[InputFault] = []
    warnings: list[InputWarning] = []
    unmatched_count: int = 0
    error_count: int = 0
    warning_count: int = 0
    cases_seen: set[str] = set()

    def add_warnings(self, frame: pl.DataFrame) -> None:
        """Take rows of `schemas.Warnings`."""
        self.warning_count += frame.height
        self.warnings = _first([*self.warnings, *(InputWarning(**row) for row in _first_rows(frame))])

    def add_input_warnings(self, inputs: Inputs) -> None:
        """Take what was noticed among the files themselves."""
        found = inputs.warnings
        columns = {
            "file": [one.file for one in found],
            "line": [None] * len(found),
            "path": ["$"] * len(found),
            "kind": [one.kind for one in found],
            "message": [one.message for one in found],
        }
        self.add_warnings(schemas.frame(schemas.Warnings, columns))

    def add_errors(self, frame: pl.DataFrame) -> None:
        """Take rows of `schemas.Errors` with their `case_id`."""
        # A record of two cases is one record; two records that read alike are two.
        alike = pl.int_range(pl.len()).over(frame.columns).alias("alike")
        frame = frame.with_columns(alike).drop("case_id").unique().drop("alike")
        self.error_count += frame.height
        self.errors = _first([*self.errors, *(InputFault(**row) for row in _first_rows(frame))])

    def add_unmatched(self, frame: pl.DataFrame) -> None:
        """Take `file`, `line`, `trace_id` and `own_case_id` of traces."""
        self.unmatched_count += frame.height
        rows = _first_rows(frame.rename({"own_case_id": "case_id"}))
        self.unmatched = _first([*self.unmatched, *(Unmatched(**row) for row in rows)])

    def merge(self, other: "Noted", line_offset: int = 0) -> None:
        """Take all of another one, its lines counted from further down the file."""
        self.unmatched = _first([*self.unmatched, *_moved(other.unmatched, line_offset)])
        self.errors = _first([*self.errors, *_moved(other.errors, line_offset)])
        self.warnings = _first([*self.warnings, *_moved(other.warnings, line_offset)])
        self.unmatched_count += other.unmatched_count
        self.error_count += other.error_count
        self.warning_count += other.warning_count
        self.cases_seen |= other.cases_seen


def redacted_entries(entries: Sequence[Entry], patterns: Sequence[str]) -> tuple[Entry, ...]:
    """The entries with every text redacted."""
    if not patterns:
        return tuple(entries)
    fields = [msgspec.structs.asdict(entry) for entry in entries]
    texts = [value for entry in fields for value in entry.values() if isinstance(value, str)]
    hidden = iter(redact_texts(texts, patterns))
    return tuple(
        msgspec.structs.replace(
            entry, **{name: next(hidden) for name, value in shown.items() if isinstance(value, str)}
        )
        for entry, shown in zip(entries, fields, strict=True)
    )


def _first(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=_place)[:LIST_LIMIT]


def _moved(entries: Sequence[Entry], offset: int) -> Iterable[Entry]:
    return (
        entry if entry.line is None or not offset else msgspec.structs.replace(entry, line=entry.line + offset)
        for entry in entries
    )


def _place(entry: Unmatched | InputFault | InputWarning) -> list[tuple[bool, str | int]]:
    # Every entry begins with its file and line; what is absent comes first.
    return [(False, 0) if value is None else (True, value) for value in msgspec.structs.astuple(entry)]


def _first_rows(frame: pl.DataFrame) -> Iterable[dict[str, Any]]:
    """The first rows by place, in the order of `_first`."""
    return frame.sort(frame.columns, nulls_last=False).head(LIST_LIMIT).iter_rows(named=True)
