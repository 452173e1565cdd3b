"""Traces of any format to one file: native lines, or Parquet rows that `run` reads without decoding them again."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from pipeline.cases.model import CASE_ID_PATTERN
from pipeline.errors import Fault, InputError, UsageError, quote
from pipeline.flatten.parquet import TraceWriter, cannot_write
from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.mapping_file import format_of, wanted_mapping
from pipeline.sources.base import ReadTrace, Trace
from pipeline.sources.files import Inputs, find_inputs
from pipeline.sources.read import Batch, read_batches

LINES: Final = (".jsonl", ".ndjson")
PARQUET: Final = ".parquet"
# Faults and warnings are told one by one up to so many; all are counted.
TOLD: Final = 1_000

_ENCODER: Final = msgspec.json.Encoder()
_STEM: Final = re.compile(r"([^/]+)(?i:\.json(?:\.gz|\.zst)?)$")
_CASE_ID: Final = re.compile(CASE_ID_PATTERN)

Write = Callable[[Batch, TraceFrames], None]


class Imported(msgspec.Struct, kw_only=True):
    """What was imported.

    Attributes:
        traces: how many traces were written; nothing is written where there is none.
        unreadable: how many records could not be read.
        warned: how many warnings there were.
        skipped: files in the folders given that are no traces.
        faults: the first of the unreadable records.
        warnings: the first of the warnings.
    """

    traces: int = 0
    unreadable: int = 0
    warned: int = 0
    skipped: int = 0
    faults: list[Fault] = []
    warnings: list[Fault] = []

    def count(self, frames: TraceFrames) -> None:
        """Take one batch."""
        self.traces += frames.traces.height
        self.unreadable += frames.errors.height
        self.warned += frames.warnings.height
        self.faults += _first(frames.errors, TOLD - len(self.faults))
        self.warnings += _first(frames.warnings.drop("kind"), TOLD - len(self.warnings))


def _first(rows: pl.DataFrame, count: int) -> list[Fault]:
    return [Fault(**row) for row in rows.head(count).iter_rows(named=True)]


class _NothingRead(Exception):  # noqa: N818 - only takes the way out that errors take
    """There is no trace, so no file is to be written."""


def import_traces(
    paths: Sequence[str], out: Path, *, from_format: str = "auto", mapping: str | None = None
) -> Imported:
    """Read traces and write them to one file, whole or not at all.

    Args:
        paths: files, folders, patterns, or `-`.
        out: the file; its ending says how: `.jsonl` and `.ndjson` native lines, `.parquet` rows.
        from_format: name of the trace format, or `auto`.
        mapping: a mapping file, in place of a format.

    Raises:
        UsageError: a path is missing, `out` has another ending, or there is no such format.
        MappingFileError: the mapping file is broken.
        InputError: two files would go by one name.
        OutputError: the file cannot be written.
    """
    ending = out.suffix.lower()
    if ending not in {*LINES, PARQUET}:
        raise UsageError(
            f"--out {quote(str(out))} does not say what to write",
            hint=f"name a file that ends in {', '.join(LINES)} (native lines) or {PARQUET} (rows)",
        )
    inputs = find_inputs(paths)
    mapped = wanted_mapping(mapping, from_format, inputs)
    _refuse_imported(inputs)
    if ending == PARQUET:
        _refuse_namesakes(inputs)
    imported = Imported(skipped=inputs.skipped, warned=len(inputs.warnings))
    imported.warnings += [Fault(file=one.file, message=one.message) for one in inputs.warnings[:TOLD]]
    batches = read_batches(inputs, from_format if mapped is None else format_of(mapped))
    with suppress(_NothingRead), _rows(out) if ending == PARQUET else _lines(out) as write:
        for batch in batches:
            frames = flatten_traces(batch.traces, batch.unreadable)
            imported.count(frames)
            write(batch, frames)
        if not imported.traces:
            raise _NothingRead
    return imported


@contextmanager
def _rows(out: Path) -> Iterator[Write]:
    with TraceWriter(out) as writer:
        yield lambda _, frames: writer.add(frames)


@contextmanager
def _lines(out: Path) -> Iterator[Write]:
    """A line file, written beside its place and then renamed."""
    beside = out.with_name(f".{out.name}.writing")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as stream:
            yield lambda batch, _: _write(stream.write, batch)
        os.replace(beside, out)  # noqa: PTH105 - the name says that it replaces
    except OSError as error:
        raise cannot_write(out, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _write(write: Callable[[bytes], object], batch: Batch) -> None:
    for record in batch.traces:
        write(_ENCODER.encode(native_line(record)) + b"\n")


def native_line(record: ReadTrace) -> Trace:
    """A trace as a line of its own, whose file will not say its case any more.

    A `.json` file's name without its ending is taken for the case, as it is where it is judged: a case of another name
    gets such a trace neither way.
    """
    trace = record.trace
    stem = _STEM.search(record.file)
    if stem is not None and not (trace.caseId and trace.caseId.strip()) and _CASE_ID.fullmatch(stem[1]):
        return msgspec.structs.replace(trace, caseId=stem[1])
    return trace


def _refuse_imported(inputs: Inputs) -> None:
    for file in inputs.files:
        if file.kind == "parquet":
            raise UsageError(
                f"{file.name} holds imported traces already",
                hint="give the files that they were imported from",
            )


def _refuse_namesakes(inputs: Inputs) -> None:
    """Rows keep the names of their files, and two files of one name would be one."""
    roots: dict[str, int] = {}
    for file in inputs.files:
        if roots.setdefault(file.name, file.root) != file.root:
            raise InputError(
                f"{file.name} stands under two of the folders, and rows of both would go by that name",
                hint="give one folder above both, or import them one by one",
            )
