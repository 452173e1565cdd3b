"""Snapshots as Parquet files: written beside and renamed, in fixed row groups; read with every fault named."""

import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from pipeline import schemas
from pipeline.errors import OutputError, SnapshotError, quote
from pipeline.snapshot.info import SCHEMA_VERSION, SnapshotInfo

ROW_GROUP_ROWS: Final = 8_192

# Further metadata of the parts of a folder, so that a part that went missing is noticed: its number from 0, and
# whether it is the last one. A snapshot of one file has neither.
PART_NUMBER: Final = "part"
LAST_PART: Final = "lastPart"

# Snapshots up to so many bytes are held in memory as they are, compressed: what happens to the files afterwards (a run
# that writes to where its baseline is) cannot change what was opened. Larger ones are watched instead.
HELD_BYTES: Final = 32 << 20

_WRITE_AGAIN: Final = "write it again with: diagnosis-eval run"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A run's results.

    Attributes:
        info: what holds for the run as a whole.
        rows: lazy frame with the columns of `schemas.SnapshotRows`, in key order.
        source: where it was read from, as the user named it; empty for one in memory.
        watched: files that the rows are still read from, each with what tells whether it is still the same.
    """

    info: SnapshotInfo
    rows: pl.LazyFrame
    source: str = ""
    watched: tuple[tuple[Path, tuple[int, ...]], ...] = ()


def write_snapshot(path: Path, parts: Iterable[pl.DataFrame], info: SnapshotInfo, *, count: int | None = None) -> None:
    """Write a snapshot: one file, or a folder of parts where there is more than one part.

    Nothing stands under `path` until all of it is written; what stood there before stays until then.

    Args:
        path: where to.
        parts: frames with the columns of `schemas.SnapshotRows`, in order; none is a run without rows.
        info: the metadata, repeated in every part.
        count: how many parts there are, if that is known: else each is held until the next one is made.

    Raises:
        OutputError: the place cannot be written to.
    """
    beside = path.with_name(f".{path.name}.writing")
    try:
        try:
            _remove(beside)
            beside.mkdir(parents=True)
            # A map, as loops and comprehensions hold on to a part while the next one is made.
            written = list(map(partial(_write_part, beside, info), itertools.count(), _with_last(parts, count)))
            _put(written[0] if len(written) == 1 else beside, path)
        finally:
            _remove(beside)
    except (OSError, PolarsError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise OutputError(
            f"cannot write the snapshot {path.name}: {reason or _first_line(error)}",
            hint="name another folder with --out, or make room and give permission there",
        ) from error


def _with_last(parts: Iterable[pl.DataFrame], count: int | None) -> Iterator[tuple[pl.DataFrame, bool]]:
    """Every part with whether it is the last."""
    if count is None:
        return _looking_ahead(parts)
    return map(lambda part, number: (part, number == count), parts, itertools.count(1))


def _looking_ahead(parts: Iterable[pl.DataFrame]) -> Iterator[tuple[pl.DataFrame, bool]]:
    rest = iter(parts)
    held = next(rest, schemas.empty(schemas.SnapshotRows))
    for part in rest:
        yield held, False
        held = part
    yield held, True


def _write_part(folder: Path, info: SnapshotInfo, number: int, with_last: tuple[pl.DataFrame, bool]) -> Path:
    part, last = with_last
    file = folder / f"part-{number:05}.parquet"
    metadata = info.to_metadata()
    if number or not last:
        metadata |= {PART_NUMBER: str(number), LAST_PART: msgspec.json.encode(last).decode()}
    # One chunk per column: the bytes would otherwise follow the chunks, and so the number of threads.
    part.rechunk().write_parquet(
        file,
        compression="zstd",
        compression_level=1,
        row_group_size=ROW_GROUP_ROWS,
        metadata=metadata,
    )
    return file


def _put(new: Path, path: Path) -> None:
    if not path.is_dir() and not new.is_dir():
        os.replace(new, path)  # noqa: PTH105 - the name says that it replaces
        return
    # A folder cannot be replaced by a rename: the old one steps aside first, and comes back if that fails.
    old = path.with_name(f".{path.name}.old")
    _remove(old)
    stood_there = path.exists()
    if stood_there:
        path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        if stood_there:
            old.rename(path)
        raise
    _remove(old)


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
        SnapshotError: it is missing, no snapshot, torn, incomplete, or of another schema version.
    """
    name = source or str(path)
    if not path.exists():
        raise SnapshotError(f"there is no snapshot at {quote(name)}", hint="write one with: diagnosis-eval run")
    files = snapshot_files(path)
    if not files:
        raise SnapshotError(
            f"the folder {quote(name)} holds no Parquet files, so it is no snapshot",
            hint="name a snapshot, or the folder of a run",
        )
    try:
        watched = tuple((file, _stamp(file)) for file in files)
        if sum(file.stat().st_size for file in files) <= HELD_BYTES:
            return open_parts([file.read_bytes() for file in files], name)
    except OSError as error:
        raise SnapshotError(
            f"{quote(name)} cannot be read: {error.strerror or error}", hint="give permission to read its files"
        ) from error
    return msgspec.structs.replace(open_parts(files, name), watched=watched)


def _stamp(file: Path) -> tuple[int, ...]:
    """What tells one file from another that took its place; nothing where there is none any more."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def snapshot_files(path: Path) -> list[Path]:
    """The files of a snapshot, in order: itself, or the parts of a folder."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.glob("*.parquet") if not file.name.startswith("."))


def open_parts(files: Sequence[Path | bytes], name: str) -> Snapshot:
    """Open the parts of a snapshot, in order.

    Args:
        files: paths, or the bytes of files; at least one.
        name: what messages call the snapshot.

    Raises:
        SnapshotError: a part is no snapshot, torn, or of another schema version, or the parts do not belong together.
    """
    shown = quote(name)
    opened = [_open(file, shown) for file in files]
    infos = [info for info, _ in opened]
    if any(info != infos[0] for info in infos):
        raise SnapshotError(f"the parts in {shown} are of different runs", hint=_WRITE_AGAIN)
    _expect_all_parts([place for _, place in opened], shown)
    return Snapshot(info=infos[0], rows=pl.concat([_scan(file, shown) for file in files]), source=name)


@contextmanager
def reading(snapshot: Snapshot) -> Iterator[None]:
    """Around whatever reads the rows of a snapshot: damage that only shows then is named as such.

    Raises:
        SnapshotError: the rows cannot be decoded, or the files are others than those that were opened.
    """
    name = quote(snapshot.source or "the snapshot")
    failed: Exception | None = None
    try:
        yield
    except (PolarsError, OSError, msgspec.DecodeError) as error:
        failed = error
    if any(_stamp(file) != stamp for file, stamp in snapshot.watched):
        raise SnapshotError(
            f"{name} was replaced after it was opened, so it cannot be read to its end",
            hint="keep a baseline elsewhere than in the folder that --out names",
        ) from failed
    if failed is not None:
        raise SnapshotError(f"the rows of {name} are damaged: {_first_line(failed)}", hint=_WRITE_AGAIN) from failed


def _source(file: Path | bytes) -> Path | BytesIO:
    return BytesIO(file) if isinstance(file, bytes) else file


def _first_line(error: Exception) -> str:
    return quote(str(error).partition("\n")[0])


class _Part(msgspec.Struct, frozen=True):
    """Which part of a folder a file is."""

    number: int
    last: bool


def _open(file: Path | bytes, name: str) -> tuple[SnapshotInfo, _Part | None]:
    try:
        metadata = pl.read_parquet_metadata(_source(file))
    except (PolarsError, OSError) as error:
        raise SnapshotError(f"{name} cannot be read as Parquet: {_first_line(error)}", hint=_WRITE_AGAIN) from error
    version = metadata.get("schemaVersion")
    if version is None:
        raise SnapshotError(f"{name} is a Parquet file, but no snapshot of diagnosis-eval", hint=_WRITE_AGAIN)
    if version != str(SCHEMA_VERSION):
        raise SnapshotError(
            f"{name} has snapshot schema version {quote(version)}, this program reads version {SCHEMA_VERSION}",
            hint="write it again with this version of diagnosis-eval, or read it with the one that wrote it",
        )
    try:
        part = None
        if PART_NUMBER in metadata:
            part = _Part(
                msgspec.json.decode(metadata[PART_NUMBER], type=int),
                msgspec.json.decode(metadata.get(LAST_PART, ""), type=bool),
            )
        return SnapshotInfo.from_metadata(metadata), part
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError(f"the metadata of {name} are damaged: {_first_line(error)}", hint=_WRITE_AGAIN) from error


def _expect_all_parts(parts: Sequence[_Part | None], name: str) -> None:
    """A part that went missing would take its cases along, and a baseline without a case guards it no more."""
    if parts == [None]:
        return
    expected = [_Part(number, number == len(parts) - 1) for number in range(len(parts))]
    if None in parts:
        raise SnapshotError(f"{name} holds several snapshots, not the parts of one", hint="name one of its files")
    if parts != expected:
        raise SnapshotError(
            f"{name} lacks parts of its snapshot, or holds some twice",
            hint=f"name the whole folder of parts, or {_WRITE_AGAIN}",
        )


def _scan(file: Path | bytes, name: str) -> pl.LazyFrame:
    """The columns of a snapshot in order; whatever else a file holds is left alone."""
    frame = pl.scan_parquet(_source(file), glob=False)
    try:
        found = frame.collect_schema()
    except (PolarsError, OSError) as error:
        raise SnapshotError(f"{name} cannot be read as Parquet: {_first_line(error)}", hint=_WRITE_AGAIN) from error
    columns = schemas.dtypes_of(schemas.SnapshotRows)
    for column, dtype in columns.items():
        if column not in found:
            raise SnapshotError(f"{name} lacks the column {column}", hint=_WRITE_AGAIN)
        if found[column] != dtype:
            raise SnapshotError(
                f"the column {column} of {name} is {quote(str(found[column]))}, not {quote(str(dtype))}",
                hint=_WRITE_AGAIN,
            )
    return frame.select(list(columns))
