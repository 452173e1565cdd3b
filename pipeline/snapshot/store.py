"""Where the rows of the batches wait until all are known: in memory while they are few, else in files.

Two passes over the files put them in order, whatever their number: one cuts every batch into the output parts its
rows belong to, one reads each part back and sorts it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import schemas
from pipeline.snapshot.merge import KEY_COLUMNS

# Rows of one output part. A part is held in memory as a whole: at some 6 KB a row this is some 100 MB.
PART_ROWS: Final = 16_384

# Above this many bytes of rows in memory, batches go to files.
MEMORY_LIMIT: Final = 96 << 20


class RowStore:
    """Rows of batches, put in any order and taken out in the final one.

    Args:
        folder: an existing folder for files, should they be needed; the caller removes it.
        memory_limit: bytes to hold in memory at most.
    """

    def __init__(self, folder: Path, *, memory_limit: int = MEMORY_LIMIT) -> None:
        self._folder = folder
        self._memory_limit = memory_limit
        self._in_memory = 0
        self._batches: list[pl.DataFrame | Path] = []
        self._keys: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Take the rows of one batch."""
        if rows.is_empty():
            return
        number = len(self._batches)
        self._keys.append(_keys(rows, number))
        size = rows.estimated_size()
        if self._in_memory + int(size) > self._memory_limit:
            self._batches.append(self._write(rows, f"batch-{number:06}"))
        else:
            self._in_memory += int(size)
            self._batches.append(rows)

    def keys(self) -> pl.DataFrame:
        """`part`, `index` and the key columns of all rows."""
        return pl.concat([_keys(schemas.empty(schemas.SnapshotRows), 0), *self._keys])

    def in_order(self, order: pl.DataFrame, *, part_rows: int = PART_ROWS) -> Iterator[pl.DataFrame]:
        """The rows in their final order, cut into parts.

        Args:
            order: `part`, `index`, `trial` and `position` of every row to keep.
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
            rows = _read(batch).with_row_index("index").drop("trial")
            chosen = rows.join(places.drop("part"), on="index", maintain_order="left").drop("index")
            for (bucket,), piece in chosen.partition_by("bucket", as_dict=True, include_key=False).items():
                spilled = isinstance(batch, Path) and order.height > part_rows
                entry = self._write(piece, f"part-{bucket:06}-{number:06}") if spilled else piece
                buckets.setdefault(int(bucket), []).append(entry)
            self._batches[number] = _NOTHING
            if isinstance(batch, Path):
                batch.unlink()
        if not buckets:
            yield schemas.empty(schemas.SnapshotRows)
        for bucket in sorted(buckets):
            pieces = [_read(piece) for piece in buckets.pop(bucket)]
            # The columns in the order of their documentation; the join above put the trial last.
            yield pl.concat(pieces).sort("position").select(schemas.SnapshotRows.column_names())

    def _write(self, rows: pl.DataFrame, name: str) -> Path:
        path = self._folder / f"{name}.parquet"
        rows.write_parquet(path, compression="lz4", statistics=False)
        return path


_NOTHING = pl.DataFrame()


def _keys(rows: pl.DataFrame, part: int) -> pl.DataFrame:
    return rows.select(
        pl.lit(part, dtype=pl.UInt32).alias("part"),
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("index"),
        *KEY_COLUMNS,
    )


def _read(batch: pl.DataFrame | Path) -> pl.DataFrame:
    return pl.read_parquet(batch) if isinstance(batch, Path) else batch
