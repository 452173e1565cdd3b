"""The diff of two snapshots by bare Polars: the columns that it needs read, joined, counted, and nothing else."""

import json
import sys
from pathlib import Path

import polars as pl


def scan(snapshot: str) -> pl.LazyFrame:
    """The rows of a snapshot, one file or a folder of parts."""
    path = Path(snapshot)
    return pl.scan_parquet(sorted(path.glob("*.parquet")) if path.is_dir() else path)


def counted(kind: str, joined: pl.LazyFrame, good: pl.Expr, good_now: pl.Expr) -> pl.LazyFrame:
    """How many went from good to bad, and how many the other way."""
    return joined.select(
        kind=pl.lit(kind),
        regression=(good & ~good_now).sum(),
        improvement=(~good & good_now).sum(),
    )


def statuses(old: pl.LazyFrame, new: pl.LazyFrame) -> pl.LazyFrame:
    """Cases that passed and no longer do, and the other way round."""
    cases = [rows.select("case_id", passed=pl.col("status").cast(pl.String) == "passed") for rows in (old, new)]
    joined = cases[0].join(cases[1], on="case_id", suffix="_now")
    return counted("case-status", joined, pl.col("passed"), pl.col("passed_now"))


def entries(rows: pl.LazyFrame, good: pl.Expr, bad: pl.Expr) -> pl.LazyFrame:
    """One row per case and entry of the two lists, with whether it is of the good one."""
    return pl.concat(
        rows.select("case_id", entry=column).explode("entry").drop_nulls().with_columns(good=pl.lit(value))
        for column, value in ((good, True), (bad, False))
    )


def exploded(kind: str, old: pl.LazyFrame, new: pl.LazyFrame, good: pl.Expr, bad: pl.Expr) -> pl.LazyFrame:
    """Entries of a list that moved from the good one to the bad one, and the other way round."""
    sides = [entries(rows, good, bad) for rows in (old, new)]
    joined = sides[0].join(sides[1], on=["case_id", "entry"], suffix="_now")
    return counted(kind, joined, pl.col("good"), pl.col("good_now"))


def main(baseline: str, current: str) -> None:
    """Join and print."""
    old, new = scan(baseline), scan(current)
    failed = pl.col("failed_checks").list.eval(pl.element().struct.field("check"))
    found = pl.collect_all(
        [
            statuses(old, new),
            exploded("evidence-coverage", old, new, pl.col("evidence_covered"), pl.col("evidence_missing")),
            exploded("check", old, new, pl.col("passed_checks"), failed),
            # What the averages and distributions of a diff need.
            *(rows.select(pl.col("tool_call_count").sum(), pl.col("duration_ms").sum()) for rows in (old, new)),
            *(rows.group_by("verdict").len() for rows in (old, new)),
        ]
    )
    counts = {
        f"{row['kind']} {severity}": row[severity]
        for frame in found[:3]
        for row in frame.to_dicts()
        for severity in ("regression", "improvement")
        if row[severity]
    }
    sys.stdout.write(json.dumps(dict(sorted(counts.items()))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
