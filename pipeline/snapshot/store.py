"""Where the rows of the batches wait until all are known: in memory while they are few, else in files.

Each batch waits in the order of its keys, so that a part of the result is one slice of every batch: read once, when its
turn comes, while the part before is written. Where there are very many files the slices would be small, so neighbours
become one file first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from pipeline import schemas
from pipeline.errors import OutputError
from pipeline.snapshot.merge import KEY_COLUMNS, ORDER
from pipeline.writing import TEMPORARY_HINT

Item = TypeVar("Item")
Result = TypeVar("Result")
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

# Rows of one output part. Parts are held in memory as a whole, two at a time: at some 6 KB a row, some 50 MB each.
PART_ROWS: Final = 8_192

# Above this many bytes of rows in memory, batches go to files.
MEMORY_LIMIT: Final = 96 << 20

# A file is read in blocks of so many rows. Of 100,000 rows, a part needs some 200 of each shard.
BLOCK_ROWS: Final = 128

# More files than these are made fewer, of up to `PART_ROWS` rows: to read a slice takes some 2 ms, however small it is.
MANY_FILES: Final = 64


class RowStore:
    """Rows of shards, put in any order and taken out in the final one.

    Args:
        folder: an existing folder for files, should they be needed; the caller removes it.
        memory_limit: bytes to hold in memory at most.
        many_files: above so many files, neighbours become one.
    """

    def __init__(self, folder: Path, *, memory_limit: int = MEMORY_LIMIT, many_files: int = MANY_FILES) -> None:
        self._folder = folder
        self._memory_limit = memory_limit
        self._many_files = many_files
        self._in_memory = 0
        self._batches: list[_Batch] = []
        self._written = 0

    def add(self, rows: pl.DataFrame, shard: int = 0) -> None:
        """Take the rows of one batch of a shard; the batches of a shard come in order."""
        if rows.is_empty():
            return
        rows = _sorted(rows)
        size = int(rows.estimated_size())
        if self._in_memory + size > self._memory_limit:
            self.add_file(self._write(rows), shard)
        else:
            self._in_memory += size
            self._batches.append(_Batch(shard=shard, rows=rows, height=rows.height))

    def add_file(self, path: Path, shard: int) -> None:
        """Take the rows of a shard that stand in a file.

        Args:
            path: the file, written by `write_rows`; it stays where it is.
            shard: the shard.
        """
        height = int(_read(path).select(pl.len()).collect(engine=schemas.ENGINE).item())
        self._batches.append(_Batch(shard=shard, rows=path, height=height))

    def drop(self, shard: int) -> None:
        """Forget the rows of a shard, which is read again otherwise."""
        self._batches = [batch for batch in self._batches if batch.shard != shard]

    def keys(self, line_offsets: Mapping[int, int] | None = None) -> pl.DataFrame:
        """`part`, `index` and the key columns of all rows, whatever the order in which the shards came.

        To be asked for once, when all rows are there; of many rows the keys alone are much, so they are read only now.

        Args:
            line_offsets: for shards that are slices of a file, the lines of the file before them.
        """
        offsets = line_offsets or {}
        self._batches.sort(key=lambda batch: batch.shard)
        for batch in self._batches:
            batch.line_offset = offsets.get(batch.shard, 0)
        self._join_neighbours()
        empty = _numbered(schemas.empty(schemas.SnapshotRows).lazy(), 0)
        batches = (_numbered(_moved(_read(one.rows), one), part) for part, one in enumerate(self._batches))
        return pl.concat([empty, *batches]).collect(engine=schemas.ENGINE)

    @staticmethod
    def parts_of(order: pl.DataFrame, *, part_rows: int = PART_ROWS) -> int:
        """How many parts `in_order` gives."""
        return max(1, -(-order.height // part_rows))

    def in_order(self, order: pl.DataFrame, *, part_rows: int = PART_ROWS) -> Iterator[pl.DataFrame]:
        """The rows in their final order, cut into parts.

        Args:
            order: `part`, `index`, `trial` and `position` of every row to keep; parts as of the last `keys`.
            part_rows: rows of one part.

        Yields:
            Frames of `part_rows` rows (the last one shorter), with the trial filled in; one empty frame for no rows.
        """
        if order.is_empty():
            yield schemas.empty(schemas.SnapshotRows)
            return
        places = (order.slice(start, part_rows) for start in range(0, order.height, part_rows))
        yield from _ahead(self._part, places)
        self._batches.clear()

    def _part(self, places: pl.DataFrame) -> pl.DataFrame:
        """The rows of some places."""
        # The slices come batch by batch, so the places do too.
        places = places.sort("part", "index")
        by_batch = places.partition_by("part", as_dict=True, maintain_order=True)
        slices = [_slice(self._batches[number], of_batch["index"]) for (number,), of_batch in by_batch.items()]
        rows = pl.concat(slices).with_columns(places["trial", "position"]).sort("position").drop("position")
        return rows.collect(engine=schemas.ENGINE)

    def _join_neighbours(self) -> None:
        if sum(isinstance(batch.rows, Path) for batch in self._batches) <= self._many_files:
            return
        groups: list[list[_Batch]] = [[]]
        for batch in self._batches:
            if groups[-1] and sum(one.height for one in (*groups[-1], batch)) > PART_ROWS:
                groups.append([])
            groups[-1].append(batch)
        self._batches = [
            _Batch(shard=group[0].shard, rows=self._write(rows), height=rows.height)
            for group, rows in zip(groups, _ahead(_joined, groups), strict=True)
        ]

    def _write(self, rows: pl.DataFrame) -> Path:
        path = self._folder / f"batch-{self._written:07}.arrow"
        self._written += 1
        try:
            _write(path, rows)
        except (OSError, PolarsError) as error:
            raise OutputError(f"cannot keep rows in {self._folder}: {error}", hint=TEMPORARY_HINT) from error
        return path


def _ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The function's results; while one is used, the next is worked out."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        following: Future[Result] | None = None
        for item in items:
            ready, following = following, thread.submit(function, item)
            if ready is not None:
                yield ready.result()
        if following is not None:
            yield following.result()


def _joined(batches: list["_Batch"]) -> pl.DataFrame:
    """The rows of some batches, in the order of their keys."""
    return _sorted(pl.concat([_moved(_read(batch.rows), batch) for batch in batches])).collect(engine=schemas.ENGINE)


def _slice(batch: "_Batch", index: pl.Series) -> pl.LazyFrame:
    """Some rows of a batch, which stand close together: only those of repeated traces are left out."""
    first, count = int(index[0]), int(index[-1]) - int(index[0]) + 1
    rows = _moved(_read(batch.rows).slice(first, count), batch)
    return rows if count == index.len() else rows.select(pl.all().gather(index - first))


def write_rows(path: Path, rows: pl.DataFrame) -> None:
    """Write the rows of a shard to a file for a `RowStore`, in the order of their keys.

    Args:
        path: the file.
        rows: rows with the columns of `schemas.SnapshotRows`, in the order in which they were read.
    """
    _write(path, _sorted(rows))


def _sorted(rows: Frame) -> Frame:
    return rows.sort(ORDER, nulls_last=True, maintain_order=True)


def _write(path: Path, rows: pl.DataFrame) -> None:
    # Arrow is written and read several times as fast as Parquet, and block by block.
    rows.write_ipc(path, compression="lz4", record_batch_size=BLOCK_ROWS)


class _Batch(msgspec.Struct):
    """Some rows of one shard, in memory or in a file."""

    shard: int
    rows: pl.DataFrame | Path
    height: int
    line_offset: int = 0


def _moved(rows: pl.LazyFrame, batch: _Batch) -> pl.LazyFrame:
    """Rows of a slice with the lines of the whole file."""
    return rows.with_columns(pl.col("line") + batch.line_offset) if batch.line_offset else rows


def _numbered(keys: pl.LazyFrame, part: int) -> pl.LazyFrame:
    return keys.select(
        pl.lit(part, dtype=pl.UInt32).alias("part"),
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("index"),
        *KEY_COLUMNS,
    )


def _read(rows: pl.DataFrame | Path) -> pl.LazyFrame:
    return pl.scan_ipc(rows, glob=False) if isinstance(rows, Path) else rows.lazy()
