"""Snapshots as Parquet files: written beside and renamed, in fixed row groups; read with every fault named."""

import os
import shutil
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from pipeline import schemas
from pipeline.errors import OutputError, SnapshotError
from pipeline.snapshot.info import SCHEMA_VERSION, SnapshotInfo

ROW_GROUP_ROWS: Final = 8_192


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A run's results.

    Attributes:
        info: what holds for the run as a whole.
        rows: lazy frame with the columns of `schemas.SnapshotRows`, in key order.
        source: where it was read from, as the user named it; empty for one in memory.
    """

    info: SnapshotInfo
    rows: pl.LazyFrame
    source: str = ""


def write_snapshot(path: Path, parts: Iterable[pl.DataFrame], info: SnapshotInfo) -> None:
    """Write a snapshot: one file, or a folder of parts where there is more than one part.

    Nothing stands under `path` until all of it is written; what stood there before stays until then.

    Args:
        path: where to.
        parts: frames with the columns of `schemas.SnapshotRows`, in order; an empty run has one empty frame.
        info: the metadata, repeated in every part.

    Raises:
        OutputError: the place cannot be written to.
    """
    metadata = info.to_metadata()
    beside = path.with_name(f".{path.name}.writing")
    try:
        _remove(beside)
        beside.mkdir(parents=True)
        written: list[Path] = []
        for number, part in enumerate(parts):
            file = beside / f"part-{number:05}.parquet"
            # One chunk per column: the bytes would otherwise follow the chunks, and so the number of threads.
            part.rechunk().write_parquet(
                file,
                compression="zstd",
                compression_level=3,
                row_group_size=ROW_GROUP_ROWS,
                metadata=metadata,
            )
            written.append(file)
        _put(written[0] if len(written) == 1 else beside, path)
        _remove(beside)
    except OSError as error:
        raise OutputError(f"cannot write the snapshot {path.name}: {error.strerror or error}") from error


def _put(new: Path, path: Path) -> None:
    if path.is_dir() or new.is_dir():
        # A folder cannot be replaced by a rename: the old one steps aside first.
        old = path.with_name(f".{path.name}.old")
        _remove(old)
        if path.exists():
            path.rename(old)
        new.rename(path)
        _remove(old)
    else:
        os.replace(new, path)  # noqa: PTH105 - the name says that it replaces


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_snapshot(path: Path, *, source: str = "") -> Snapshot:
    """Open a snapshot file or folder of parts; rows are read when asked for.

    Args:
        path: the file or folder.
        source: how the user named it, for messages; the path by default.

    Raises:
        SnapshotError: it is missing, no snapshot, torn, or of another schema version.
    """
    name = source or str(path)
    if not path.exists():
        raise SnapshotError(f"there is no snapshot at {name}", hint="write one with: diagnosis-eval run")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise SnapshotError(f"the folder {name} holds no Parquet files, so it is no snapshot")
    return open_parts(files, name)


def open_parts(files: Sequence[Path | bytes], name: str) -> Snapshot:
    """Open the parts of a snapshot, in order.

    Args:
        files: paths, or the bytes of files; at least one.
        name: what messages call the snapshot.

    Raises:
        SnapshotError: a part is no snapshot, torn, or of another schema version, or the parts do not belong together.
    """
    infos = [_info(file, name) for file in files]
    if any(info != infos[0] for info in infos):
        raise SnapshotError(f"the parts in {name} are of different runs", hint="write the snapshot again")
    frames = [pl.scan_parquet(_source(file), glob=False) for file in files]
    for frame in frames:
        _expect_columns(frame, name)
    return Snapshot(info=infos[0], rows=pl.concat(frames), source=name)


def _source(file: Path | bytes) -> Path | BytesIO:
    return BytesIO(file) if isinstance(file, bytes) else file


def _info(file: Path | bytes, name: str) -> SnapshotInfo:
    hint = "write it again with: diagnosis-eval run"
    try:
        metadata = pl.read_parquet_metadata(_source(file))
    except (PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise SnapshotError(f"{name} cannot be read as Parquet: {reason}", hint=hint) from error
    if "schemaVersion" not in metadata:
        raise SnapshotError(f"{name} is a Parquet file, but no snapshot of diagnosis-eval", hint=hint)
    if metadata["schemaVersion"] != str(SCHEMA_VERSION):
        version = metadata["schemaVersion"]
        raise SnapshotError(
            f"{name} has snapshot schema version {version}, this program reads version {SCHEMA_VERSION}",
            hint="write it again with this version of diagnosis-eval, or read it with the one that wrote it",
        )
    try:
        return SnapshotInfo.from_metadata(metadata)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise SnapshotError(f"the metadata of {name} are damaged: {error}", hint=hint) from error


def _expect_columns(frame: pl.LazyFrame, name: str) -> None:
    found = frame.collect_schema()
    for column, dtype in schemas.dtypes_of(schemas.SnapshotRows).items():
        if column not in found:
            raise SnapshotError(f"{name} lacks the column {column}", hint="write it again with: diagnosis-eval run")
        if found[column] != dtype:
            raise SnapshotError(
                f"the column {column} of {name} is {found[column]}, not {dtype}",
                hint="write it again with: diagnosis-eval run",
            )
