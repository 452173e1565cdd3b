"""Where the rows of the batches wait until all are known: in memory while they are few, else in files.

Two passes over the files put them in order, whatever their number: one cuts every batch into the output parts its
rows belong to, one reads each part back and sorts it.
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
        """Take the rows of a shard that stand in a Parquet file.

        Args:
            path: the file; it stays where it is.
            shard: the shard.
            keys: the key columns of its rows, if they are at hand.
        """
        if keys is None:
            keys = pl.read_parquet(path, columns=list(KEY_COLUMNS))
        self._batches.append(_Batch(shard=shard, rows=path, keys=keys))

    def drop(self, shard: int) -> None:
        """Forget the rows of a shard, which is read again otherwise."""
        self._batches = [batch for batch in self._batches if batch.shard != shard]

    def keys(self, line_offsets: Mapping[int, int] | None = None) -> pl.DataFrame:
        """`part`, `index` and the key columns of all rows, whatever the order in which the shards came.

        Args:
            line_offsets: for shards that are slices of a file, the lines of the file before them.
        """
        offsets = line_offsets or {}
        self._batches.sort(key=lambda batch: batch.shard)
        for batch in self._batches:
            batch.line_offset = offsets.get(batch.shard, 0)
        empty = _numbered(schemas.empty(schemas.SnapshotRows).select(KEY_COLUMNS), 0)
        return pl.concat([empty, *(_numbered(_moved(one.keys, one), part) for part, one in enumerate(self._batches))])

    def in_order(self, order: pl.DataFrame, *, part_rows: int = PART_ROWS) -> Iterator[pl.DataFrame]:
        """The rows in their final order, cut into parts.

        Args:
            order: `part`, `index`, `trial` and `position` of every row to keep; parts as of the last `keys`.
            part_rows: rows of one part.

        Yields:
            Frames of `part_rows` rows (the last one shorter), with the trial filled in; one empty frame for no rows.
        """
        placed = order.with_columns(bucket=pl.col("position") // part_rows).partition_by("part", as_dict=True)
        buckets: dict[int, list[pl.DataFrame | Path]] = {}
        for number, batch in enumerate(self._batches):
            places = placed.get((number,))
            if places is None:
                continue
            rows = _moved(_read(batch.rows), batch).with_row_index("index").drop("trial")
            chosen = rows.join(places.drop("part"), on="index", maintain_order="left").drop("index")
            for (bucket,), piece in chosen.partition_by("bucket", as_dict=True, include_key=False).items():
                spilled = isinstance(batch.rows, Path) and order.height > part_rows
                entry = self._write(piece, f"part-{bucket:06}") if spilled else piece
                buckets.setdefault(int(bucket), []).append(entry)
            batch.rows = _NOTHING
        if not buckets:
            yield schemas.empty(schemas.SnapshotRows)
        for bucket in sorted(buckets):
            pieces = buckets.pop(bucket)
            part = pl.concat([_read(piece) for piece in pieces])
            for written in pieces:
                if isinstance(written, Path):
                    written.unlink()
            # The columns in the order of their documentation; the join above put the trial last.
            yield part.sort("position").select(schemas.SnapshotRows.column_names())

    def _write(self, rows: pl.DataFrame, name: str) -> Path:
        self._written += 1
        path = self._folder / f"{name}-{self._written:07}.parquet"
        rows.write_parquet(path, compression="lz4", statistics=False)
        return path


class _Batch(msgspec.Struct):
    """Some rows of one shard, in memory or in a file."""

    shard: int
    rows: pl.DataFrame | Path
    keys: pl.DataFrame
    line_offset: int = 0


_NOTHING = pl.DataFrame()


def _moved(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Rows of a slice with the lines of the whole file."""
    return rows.with_columns(pl.col("line") + batch.line_offset) if batch.line_offset else rows


def _numbered(keys: pl.DataFrame, part: int) -> pl.DataFrame:
    return keys.select(
        pl.lit(part, dtype=pl.UInt32).alias("part"),
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("index"),
        *KEY_COLUMNS,
    )


def _read(batch: pl.DataFrame | Path) -> pl.DataFrame:
    return pl.read_parquet(batch) if isinstance(batch, Path) else batch
