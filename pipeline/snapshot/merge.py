"""The rows of all batches as one run: order, duplicates, trial numbers (contract section 2, "Trials").

Only the keys of the rows are held in memory; their texts stay where the batches were put until the very end.
"""

from typing import Final

import msgspec
import polars as pl

from pipeline import schemas

# Rows are put in order by these, nulls last; the digest decides between records that two roots give the same name.
ORDER: Final = ("case_id", "own_trial", "trace_id", "file", "line", "content_digest")
KEY_COLUMNS: Final = (*ORDER, "status")

# Cases are put in order together while they have so few rows: to sort texts takes several times their memory.
ROWS_AT_ONCE: Final = 100_000


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of every row.

    Attributes:
        rows: `part`, `index` (where the row stands), `trial` and `position` (where it goes), in the final order.
        warnings: rows of `schemas.Warnings` on traces that were exported twice.
    """

    rows: pl.DataFrame
    warnings: pl.DataFrame


def merge(keys: pl.DataFrame, *, rows_at_once: int = ROWS_AT_ONCE) -> Merged:
    """Order the rows of all batches, drop repeated exports and number the trials of each case.

    Args:
        keys: `part`, `index` and the `KEY_COLUMNS` of every row.
        rows_at_once: rows to work on at one time; a case with more rows than these is taken whole.
    """
    if keys.height <= rows_at_once:
        return _merged(keys)
    rows_of = keys.lazy().group_by("case_id").len().sort("case_id", nulls_last=True)
    chunks = rows_of.select("case_id", chunk=(pl.col("len").cum_sum() - 1) // rows_at_once)
    numbered = keys.lazy().select("case_id").join(chunks, on="case_id", nulls_equal=True, maintain_order="left")
    chunk = numbered.select("chunk").collect(engine=schemas.ENGINE)["chunk"]
    merged = [_merged(keys.filter(chunk == number)) for number in chunk.unique().sort()]
    rows = pl.concat([one.rows for one in merged]).with_columns(position=pl.int_range(pl.len(), dtype=pl.UInt32))
    return Merged(rows=rows, warnings=pl.concat([one.warnings for one in merged]))


def _merged(keys: pl.DataFrame) -> Merged:
    """The rows of some cases, as if there were no others."""
    ordered = keys.lazy().sort(*ORDER, "part", "index", nulls_last=True)
    same_id = ["case_id", "trace_id"]
    has_id = pl.col("trace_id").is_not_null() & pl.col("content_digest").is_not_null()
    marked = ordered.with_columns(
        repeated=has_id & (pl.int_range(pl.len()).over([*same_id, "content_digest"]) > 0),
    ).with_columns(
        clashing=has_id & ~pl.col("repeated") & (pl.int_range(pl.len()).over([*same_id, "repeated"]) > 0),
    )
    traced = pl.col("status") != "not_run"
    rows, warnings = pl.collect_all(
        [
            marked.filter(~pl.col("repeated"))
            .with_columns(
                trial=pl.when(traced).then(pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("case_id")),
            )
            .with_row_index("position")
            .select("part", "index", "trial", "position"),
            marked.filter(pl.col("repeated") | pl.col("clashing")).select(
                "file",
                "line",
                path=pl.lit("$.traceId"),
                kind=pl.when("repeated").then(pl.lit("repeated-trace")).otherwise(pl.lit("trace-id-reused")),
                message=pl.when("repeated")
                .then(
                    pl.format(
                        "the trace {} of case {} was exported before with the same content; it counts once",
                        "trace_id",
                        "case_id",
                    ),
                )
                .otherwise(
                    pl.format(
                        "the trace id {} of case {} was seen before with other content; both count, as two trials",
                        "trace_id",
                        "case_id",
                    ),
                ),
            ),
        ],
    )
    return Merged(rows=rows, warnings=schemas.checked(schemas.Warnings, warnings))
