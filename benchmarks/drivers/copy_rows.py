"""Writes a larger snapshot out of a small one: copies of its rows, the copy's number before every case id."""

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

# The folder of this script is not on the path; the project's own package is installed, or stands where this runs.
from pipeline.snapshot.files import read_snapshot, write_snapshot
from pipeline.snapshot.store import PART_ROWS


def main(source: str, target: str, copies: str) -> None:
    """Copy."""
    small = read_snapshot(Path(source))
    rows = small.rows.collect()
    per_part = max(1, PART_ROWS // rows.height)

    def parts() -> Iterator[pl.DataFrame]:
        for first in range(0, int(copies), per_part):
            numbers = range(first, min(first + per_part, int(copies)))
            yield pl.concat(
                rows.with_columns(case_id=pl.format("copy-{}-{}", pl.lit(f"{number:06}"), "case_id"))
                for number in numbers
            )

    write_snapshot(Path(target), parts(), small.info)


if __name__ == "__main__":
    main(*sys.argv[1:])
