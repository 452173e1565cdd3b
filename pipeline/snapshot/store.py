"""Where the rows of the batches wait until all are known: in memory while they are few, else in files.

Two passes over the files put them in order, whatever their number: one cuts every batch into the output parts its
rows belong to, one puts each part together and sorts it. Between the two, pieces of parts wait in memory until there
are many, so that what is written is a few large pieces and not one small one for each batch and part.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from pipeline import schemas
from pipeline.snapshot.merge import KEY_COLUMNS

# Rows of one output part. A part is held in memory as a whole: at some 6 KB a row this is some 100 MB.
PART_ROWS: Final = 16_384

# Above this many bytes of rows in memory, batches go to files.
MEMORY_LIMIT: Final = 96 << 20


class RowStore:
    """Rows of shards, put in any order and taken out in the final one.

    Args:
        folder: an existing folder for files, should they be needed; the caller removes it.
        memory_limit: bytes to hold in memory at most.
    """

    def __init__(self, folder: Path, *, memory_limit: int = MEMORY_LIMIT) -> None:
        self._folder = folder
        self._memory_limit = memory_limit
        self._in_memory = 0
        self._batches: list[_Batch] = []
        self._written = 0

    def add(self, rows: pl.DataFrame, shard: int = 0) -> None:
        """Take the rows of one batch of a shard; the batches of a shard come in order."""
        if rows.is_empty():
            return
        size = int(rows.estimated_size())
        if self._in_memory + size > self._memory_limit:
            self.add_file(self._write(rows, "batch"), shard, rows.select(KEY_COLUMNS))
        else:
            self._in_memory += size
            self._batches.append(_Batch(shard=shard, rows=rows, keys=rows.select(KEY_COLUMNS)))

    def add_file(self, path: Path, shard: int, keys: pl.DataFrame | None = None) -> None:
        """Take the rows of a shard that stand in a file.

        Args:
            path: the file, written by `write_rows`; it stays where it is.
            shard: the shard.
            keys: the key columns of its rows, if they are at hand.
        """
        if keys is None:
            keys = _read(path).select(KEY_COLUMNS).collect(engine=schemas.ENGINE)
        self._batches.append(_Batch(shard=shard, rows=path, keys=keys))

    def drop(self, shard: int) -> None:
        """Forget the rows of a shard, which is read again otherwise."""
        self._batches = [batch for batch in self._batches if batch.shard != shard]

    def keys(self, line_offsets: Mapping[int, int] | None = None) -> pl.DataFrame:
        """`part`, `index` and the key columns of all rows, whatever the order in which the shards came.

        They are given once, and kept no longer: of many rows the keys alone are much.

        Args:
            line_offsets: for shards that are slices of a file, the lines of the file before them.
        """
        offsets = line_offsets or {}
        self._batches.sort(key=lambda batch: batch.shard)
        for batch in self._batches:
            batch.line_offset = offsets.get(batch.shard, 0)
        empty = _numbered(schemas.empty(schemas.SnapshotRows).lazy(), 0)
        batches = (_numbered(_moved(one.keys.lazy(), one), part) for part, one in enumerate(self._batches))
        keys = pl.concat([empty, *batches]).collect(engine=schemas.ENGINE)
        for batch in self._batches:
            batch.keys = _NOTHING
        return keys

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
        buckets = self._distributed(order.with_columns(bucket=pl.col("position") // part_rows))
        for bucket in sorted(buckets):
            yield _whole(buckets.pop(bucket))

    def _distributed(self, order: pl.DataFrame) -> dict[int, list[pl.DataFrame | Path]]:
        """The pieces of each part, in memory or in files."""
        placed = order.partition_by("part", as_dict=True, include_key=False)
        buckets: dict[int, list[pl.DataFrame | Path]] = {}
        waiting: dict[int, list[pl.DataFrame]] = {}
        size = 0
        for number, batch in enumerate(self._batches):
            places = placed.get((number,))
            if places is None:
                continue
            rows = _moved(_read(batch.rows), batch).with_row_index("index").drop("trial")
            chosen = rows.join(places.lazy(), on="index", maintain_order="left").drop("index")
            batch.rows = _NOTHING
            pieces = chosen.collect(engine=schemas.ENGINE).partition_by("bucket", as_dict=True, include_key=False)
            for (bucket,), piece in pieces.items():
                waiting.setdefault(bucket, []).append(piece)
                size += int(piece.estimated_size())
            if size > self._memory_limit:
                for bucket, some in waiting.items():
                    buckets.setdefault(bucket, []).append(self._write(pl.concat(some), "part"))
                waiting, size = {}, 0
        for bucket, some in waiting.items():
            buckets.setdefault(bucket, []).extend(some)
        return buckets

    def _write(self, rows: pl.DataFrame, name: str) -> Path:
        self._written += 1
        path = self._folder / f"{name}-{self._written:07}.arrow"
        write_rows(path, rows)
        return path


def _whole(pieces: list[pl.DataFrame | Path]) -> pl.DataFrame:
    """A part of its pieces, whose files are removed."""
    part = pl.concat([_read(piece) for piece in pieces]).sort("position")
    # The columns in the order of their documentation; the join put the trial last.
    rows = part.select(schemas.SnapshotRows.column_names()).collect(engine=schemas.ENGINE)
    for piece in pieces:
        if isinstance(piece, Path):
            piece.unlink()
    return rows


def write_rows(path: Path, rows: pl.DataFrame) -> None:
    """Write rows to a file for later: as Arrow, which is written and read several times as fast as Parquet."""
    rows.write_ipc(path, compression="lz4")


class _Batch(msgspec.Struct):
    """Some rows of one shard, in memory or in a file."""

    shard: int
    rows: pl.DataFrame | Path
    keys: pl.DataFrame
    line_offset: int = 0


_NOTHING: Final = pl.DataFrame()


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
