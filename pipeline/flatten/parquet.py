"""Frames to Parquet and back: traces that were read once and need no decoding again (`diagnosis-eval import`).

A row is a record of the input, under the name and the line that it was read from: so the cases that fixtures name, and
every place that a report names, are what they would be without the import. Records that could not be read are rows too,
or the import would let a run forget them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import polars as pl

from pipeline import schemas, text
from pipeline.errors import NOT_SHOWN, OutputError, is_hiding
from pipeline.flatten.traces import TraceFrames, errors_frame
from pipeline.sources.files import InputFile
from pipeline.sources.lines import is_whole
from pipeline.sources.row_groups import VERSION, VERSION_KEY, opened
from pipeline.sources.wording import Refused

# The bytes that one row group may unfold to: those that we write hold some 16 MB, or one record.
_GROUP_LIMIT: Final = 1 << 30
_LISTS: Final = {
    "calls": ("tool_invocations", schemas.CALL),
    "claim_checks": ("claim_checks", schemas.CLAIM_CHECK),
    "executor_claims": ("executor_claims", schemas.EXECUTOR_CLAIM),
}
_OF_TRACE: Final = tuple(name for name in schemas.Traces.column_names() if name not in {"trace", "answer_text"})


class TraceWriter:
    """Writes frames to one file, a row group for each batch; nothing stands under its name until all is written.

    Args:
        path: where to.

    Raises:
        OutputError: the place cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.writing")
        self._writer: Any = None

    def __enter__(self) -> Self:
        """Begin."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no annotations

        schema = schemas.empty(schemas.TraceRows).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        with self._told():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._beside, schema, compression="zstd")
        return self

    def add(self, frames: TraceFrames) -> None:
        """Write one batch."""
        rows = trace_rows(frames)
        with self._told():
            self._writer.write_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()), row_group_size=rows.height)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place, or leave nothing of it after an error."""
        try:
            with self._told():
                if kind is None:
                    self._writer.add_key_value_metadata({VERSION_KEY: str(VERSION)})
                self._writer.close()
                if kind is None:
                    os.replace(self._beside, self._path)  # noqa: PTH105 - the name says that it replaces
        finally:
            with suppress(OSError):
                self._beside.unlink(missing_ok=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise cannot_write(self._path, error) from error


def cannot_write(path: Path, error: Exception) -> OutputError:
    """The error of a place that cannot be written to."""
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return OutputError(
        f"cannot write {path}: {reason}",
        hint="name another file with --out, or make room and give permission there",
    )


def trace_rows(frames: TraceFrames) -> pl.DataFrame:
    """A batch as rows of `schemas.TraceRows`: its traces in order, then what could not be read."""
    rows = frames.traces.lazy().join(
        frames.audit.lazy().select("trace", audit=pl.struct(list(schemas.AUDIT))), on="trace", maintain_order="left"
    )
    for column, (name, fields) in _LISTS.items():
        inner: pl.DataFrame = getattr(frames, name)
        rows = rows.join(
            inner.lazy()
            .sort("trace", "position")
            .group_by("trace", maintain_order=True)
            .agg(pl.struct(list(fields)).alias(column)),
            on="trace",
            how="left",
            maintain_order="left",
        )
    # Several traces of one record share its place: the first takes what was noticed there.
    first = frames.traces.lazy().group_by("file", "line").agg(pl.col("trace").min())
    noticed = (
        frames.warnings.lazy()
        .join(first, on=["file", "line"], nulls_equal=True, maintain_order="left")
        .group_by("trace", maintain_order=True)
        .agg(pl.struct(list(schemas.WARNING)).alias("warnings"))
    )
    traces = rows.join(noticed, on="trace", how="left", maintain_order="left").sort("trace")
    errors = frames.errors.lazy().select("file", "line", error=pl.struct(list(schemas.ERROR)))
    every = pl.concat([_conform(traces), _conform(errors)]).collect()
    return schemas.checked(schemas.TraceRows, every)


def _conform(rows: pl.LazyFrame) -> pl.LazyFrame:
    """All columns of the rows in order: absent ones null, absent lists empty where the schema has no null."""
    present = set(rows.collect_schema().names())
    columns = []
    for name, column in schemas.TraceRows.columns().items():
        value = (pl.col(name) if name in present else pl.lit(None)).cast(column.dtype)
        if isinstance(column.dtype, pl.List) and not column.nullable:
            value = value.fill_null(pl.lit([], dtype=column.dtype))
        columns.append(value.alias(name))
    return rows.select(columns)


class RowGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One row group, read.

    Attributes:
        frames: what stands in it.
        size: its bytes in the file.
    """

    frames: TraceFrames
    size: int


def read_rows(file: InputFile) -> Iterator[RowGroup]:
    """Read a file, or a slice of its row groups; one that cannot be read is an unreadable record.

    Args:
        file: the file.
    """
    import pyarrow as pa

    try:
        with opened(file) as source:
            for index in range(file.start, source.num_row_groups if file.end is None else file.end):
                group = source.metadata.row_group(index)
                if group.total_byte_size > _GROUP_LIMIT:
                    raise _damaged(f"a row group of {group.total_byte_size} bytes")
                rows = pl.from_arrow(source.read_row_group(index))
                assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a table is a frame
                size = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
                yield RowGroup(frames=frames_of(rows), size=size)
    except Refused as refused:
        yield RowGroup(frames=_only(refused, file), size=0)
    except (OSError, pa.ArrowException) as error:
        yield RowGroup(frames=_only(_damaged(str(error).partition("\n")[0]), file), size=0)


def frames_of(rows: pl.DataFrame) -> TraceFrames:
    """Rows of `schemas.TraceRows` as the frames that they were made of.

    Args:
        rows: the rows.

    Raises:
        Refused: they do not keep their schema.
    """
    try:
        rows = schemas.checked(schemas.TraceRows, rows)
        traces = rows.filter(pl.col("error").is_null()).with_row_index("trace")
        frames = TraceFrames(
            traces=schemas.checked(
                schemas.Traces, traces.select("trace", *_OF_TRACE, answer_text=text.normalise(pl.col("answer")))
            ),
            audit=schemas.checked(schemas.Audit, traces.select("trace", "audit").unnest("audit")),
            tool_invocations=schemas.checked(schemas.ToolInvocations, _with_json(_exploded(traces, "calls"))),
            claim_checks=schemas.checked(schemas.ClaimChecks, _exploded(traces, "claim_checks")),
            executor_claims=schemas.checked(schemas.ExecutorClaims, _exploded(traces, "executor_claims")),
            errors=schemas.checked(
                schemas.Errors,
                rows.filter(pl.col("error").is_not_null()).select("file", "line", "error").unnest("error"),
            ),
            warnings=schemas.checked(
                schemas.Warnings,
                rows.select("file", "line", "warnings")
                .filter(pl.col("warnings").list.len() > 0)
                .explode("warnings")
                .unnest("warnings"),
            ),
        )
    except schemas.SchemaError as error:
        raise _damaged(str(error)) from None
    return _hidden(frames) if is_hiding() else frames


def _exploded(traces: pl.DataFrame, column: str) -> pl.DataFrame:
    return (
        traces.select("trace", column)
        .filter(pl.col(column).list.len() > 0)
        .explode(column)
        .with_columns(position=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("trace"))
        .unnest(column)
    )


def _with_json(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls, whose arguments are what they are said to be."""
    for arguments in calls.filter("arguments_parsed")["arguments"].unique():
        if not is_whole(arguments.encode()):
            raise _damaged("arguments that are no JSON")
    return calls


def _hidden(frames: TraceFrames) -> TraceFrames:
    """The frames without what was quoted from records at the import, when nobody hid anything yet.

    What a suite redacts is sought before a quotation is cut; in one that is cut already it could not be found.
    """
    errors = frames.errors.with_columns(
        path=pl.lit("$"),
        found=pl.lit(NOT_SHOWN),
        message=pl.lit("this record could not be read when it was imported: judge the file that it is from to see why"),
    )
    warnings = frames.warnings.with_columns(
        path=pl.lit("$"),
        message=pl.format("{}, noticed at the import: judge the file that it is from to see more", pl.col("kind")),
    )
    return msgspec.structs.replace(frames, errors=errors, warnings=warnings)


def _damaged(detail: str) -> Refused:
    return Refused(
        f"this file of imported traces is damaged ({detail}): write it again with diagnosis-eval import",
        expected="rows as diagnosis-eval import writes them",
        found=detail,
    )


def _only(refused: Refused, file: InputFile) -> TraceFrames:
    """The frames of a file that could not be read."""
    nothing = frames_of(schemas.empty(schemas.TraceRows))
    return msgspec.structs.replace(nothing, errors=errors_frame([refused.fault(file.name, None)]))
