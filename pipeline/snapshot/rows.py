"""One judged batch as snapshot rows: the results with everything that a report, a diff or a notebook may want."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipeline import schemas
from pipeline.assign import Assigned
from pipeline.flatten.traces import TraceFrames
from pipeline.judge import Judged
from pipeline.redact import redact_frame

# Arguments, results and errors of calls are cut here in the snapshot (never in the evaluation), with a mark.
CALL_TEXT_LIMIT: Final = 4096

# The columns that hold free text of the trace, left out by `--no-text`.
TEXT_COLUMNS: Final = ("answer", "executor_answer", "gatekeeper_violations")


def snapshot_rows(
    judged: Judged,
    traces: TraceFrames,
    *,
    redact: Sequence[str] = (),
    with_text: bool = True,
) -> pl.DataFrame:
    """The rows of one judged batch, with the columns of `schemas.SnapshotRows`; `trial` is still null.

    Args:
        judged: the batch with its results.
        traces: the batch's frames.
        redact: regexes whose matches must go before a text is cut.
        with_text: False leaves the free text out.
    """
    evidence = (
        judged.facts.evidence.lazy()
        .group_by("row", maintain_order=True)
        .agg(
            evidence_covered=pl.col("label").filter(pl.col("covered")),
            evidence_missing=pl.col("label").filter(~pl.col("covered")),
        )
    )
    nested = [
        *_outcomes(judged.results.lazy()),
        evidence,
        judged.facts.keywords("root-cause", "keywords"),
    ]
    children = [
        _calls(redact_frame(traces.tool_invocations.lazy(), redact), with_text=with_text),
        _nested(traces.claim_checks.lazy(), "claim_checks", schemas.CLAIM_CHECK, None if with_text else "detail"),
        _nested(
            traces.executor_claims.lazy(),
            "executor_claims",
            schemas.EXECUTOR_CLAIM,
            None if with_text else "text",
        ),
    ]
    rows = judged.rows.lazy()
    for frame in nested:
        rows = rows.join(frame, on="row", how="left", maintain_order="left")
    for frame in children:
        rows = rows.join(frame, on="trace", how="left", maintain_order="left")
    rows = rows.rename({"keywords_found": "keywords_matched"}).with_columns(
        status=pl.when(pl.col("failed_checks").list.len() > 0)
        .then(pl.lit("failed"))
        .otherwise(pl.lit("passed"))
        .cast(schemas.Status),
    )
    if not with_text:
        rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in TEXT_COLUMNS)
    return _conform(rows).collect(engine=schemas.ENGINE)


def error_rows(assigned: Assigned, cases: pl.DataFrame) -> pl.DataFrame:
    """The rows of records that could not be read but whose case is known."""
    errors = assigned.errors.lazy().drop_nulls("case_id")
    rows = errors.join(_of_case(cases.lazy()), on="case_id", maintain_order="left").with_columns(
        status=pl.lit("error").cast(schemas.Status),
        reason=pl.format("{}: {}", "path", "message"),
    )
    return _conform(rows).collect(engine=schemas.ENGINE)


def not_run_rows(reasons: dict[str, str], cases: pl.DataFrame) -> pl.DataFrame:
    """The rows of cases without any trace.

    Args:
        reasons: for each such case, why.
        cases: the cases' frame.
    """
    missing = pl.LazyFrame(
        {"case_id": list(reasons), "reason": list(reasons.values())},
        schema={"case_id": pl.String, "reason": pl.String},
    )
    rows = missing.join(_of_case(cases.lazy()), on="case_id", maintain_order="left").with_columns(
        status=pl.lit("not_run").cast(schemas.Status),
    )
    return _conform(rows).collect(engine=schemas.ENGINE)


def _of_case(cases: pl.LazyFrame) -> pl.LazyFrame:
    """What a row without a readable trace knows: its case."""
    return cases.select("case_id", "question", "tags", "evidence_required", "definition", "definition_digest")


def _conform(rows: pl.LazyFrame) -> pl.LazyFrame:
    """All columns of the snapshot in order: absent ones null, absent lists empty where the schema has no null."""
    present = set(rows.collect_schema().names())
    columns = []
    for name, column in schemas.SnapshotRows.columns().items():
        value = pl.col(name) if name in present else pl.lit(None)
        value = value.cast(column.dtype)
        if isinstance(column.dtype, pl.List) and not column.nullable:
            value = value.fill_null(pl.lit([], dtype=column.dtype))
        columns.append(value.alias(name))
    return rows.select(columns)


def _outcomes(results: pl.LazyFrame) -> list[pl.LazyFrame]:
    outcome = pl.col("outcome")
    return [
        results.group_by("row", maintain_order=True).agg(
            failed_checks=pl.struct("check", "message", "expected", "observed").filter(outcome == "fail"),
            passed_checks=pl.col("check").filter(outcome == "pass"),
            skipped_checks=pl.col("check").filter(outcome == "skip"),
        ),
    ]


def _calls(calls: pl.LazyFrame, *, with_text: bool) -> pl.LazyFrame:
    texts = ("arguments", "result", "error")
    calls = calls.with_columns(
        [cut(pl.col(name)) for name in texts]
        if with_text
        else [pl.lit(None, dtype=pl.String).alias(name) for name in texts],
    )
    return _nested(calls, "calls", schemas.CALL, None)


def _nested(frame: pl.LazyFrame, name: str, fields: dict[str, schemas.Column], left_out: str | None) -> pl.LazyFrame:
    if left_out is not None:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(left_out))
    return (
        frame.sort("trace", "position").group_by("trace", maintain_order=True).agg(pl.struct(list(fields)).alias(name))
    )


def cut(value: pl.Expr) -> pl.Expr:
    """A text of a call as the snapshot keeps it: cut after `CALL_TEXT_LIMIT` characters, with a mark."""
    length = value.str.len_chars()
    return (
        pl.when(length > CALL_TEXT_LIMIT)
        .then(pl.format("{}… [cut: {} characters in all]", value.str.head(CALL_TEXT_LIMIT), length))
        .otherwise(value)
        .alias(value.meta.output_name())
    )
