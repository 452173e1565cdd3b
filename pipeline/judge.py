"""Stage 5, judge: all checks over one batch of traces, as expressions.

Outcomes are computed for all rows in one lazy plan. The sentences of a failure are written in a second plan, over the
failing rows only: most rows pass most checks, and writing sentences for them would be most of the work.
"""

from collections.abc import Sequence
from functools import cache

import msgspec
import polars as pl

import pipeline.checks
from pipeline import schemas
from pipeline.assign import Assigned
from pipeline.checks.base import CHECKS, Check, Facts, Judgement
from pipeline.flatten.suite import SuiteFrames
from pipeline.flatten.traces import TraceFrames
from pipeline.redact import redact_frame
from pipeline.registry import Registry


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, judged.

    Attributes:
        rows: one line per pair of trace and case, with the columns of Traces, Audit and Cases.
        results: see `schemas.Results`; sorted by row and by the order of the checks.
        facts: what the checks looked at.
    """

    rows: pl.DataFrame
    results: pl.DataFrame
    facts: Facts


@cache
def all_checks() -> Registry[Check]:
    """The checks, in the order in which reports list them: by module, then as written there."""
    CHECKS.discover(pipeline.checks)
    ordered: Registry[Check] = Registry(CHECKS.kind)
    # Whoever imported a module of checks before has registered it out of turn.
    for one in sorted(CHECKS, key=lambda check: check.judge.__module__):
        ordered.register(one.name, one)
    ordered.freeze()
    return ordered


def judge(
    assigned: Assigned,
    traces: TraceFrames,
    suite: SuiteFrames,
    *,
    redact: Sequence[str] = (),
    with_text: bool = True,
) -> Judged:
    """Judge one batch.

    Args:
        assigned: which trace belongs to which case.
        traces: the batch's frames.
        suite: the cases' frames.
        redact: regexes whose matches the sentences of a failure must not show.
        with_text: False keeps free text of the traces out of them as well.
    """
    rows = (
        assigned.rows.lazy()
        .join(traces.traces.lazy(), on="trace", how="left", maintain_order="left")
        .join(traces.audit.lazy(), on="trace", how="left", maintain_order="left")
        .join(suite.cases.lazy(), on="case_id", how="left", maintain_order="left")
        .collect(engine=schemas.ENGINE)
    )
    facts = Facts(rows, traces, suite, redact, with_text=with_text)
    checks = list(all_checks())
    judgements = [check.judge(facts) for check in checks]
    wide = _with_facts(rows, judgements)
    outcomes = pl.collect_all(
        [
            frame.select("row", pl.lit(check.name).alias("check"), outcome=_outcome(judgement))
            for check, judgement, frame in zip(checks, judgements, wide, strict=True)
        ],
        engine=schemas.ENGINE,
    )
    failing = [
        redact_frame(
            frame.join(outcome.lazy().filter(pl.col("outcome") == "fail"), on="row", maintain_order="left"),
            redact,
            keep=("check",),
        ).select(
            "row",
            "check",
            expected=judgement.expected,
            observed=judgement.observed,
            message=judgement.message,
        )
        for judgement, frame, outcome in zip(judgements, wide, outcomes, strict=True)
        if (outcome["outcome"] == "fail").any()
    ]
    order = pl.Enum([check.name for check in checks])
    results = pl.concat(outcomes)
    details = (
        pl.concat(pl.collect_all(failing, engine=schemas.ENGINE))
        if failing
        else schemas.empty(schemas.Results).drop("outcome")
    )
    results = (
        results.join(details, on=["row", "check"], how="left", maintain_order="left")
        .sort("row", pl.col("check").cast(order))
        .select(schemas.Results.column_names())
    )
    return Judged(rows=rows, results=schemas.checked(schemas.Results, results), facts=facts)


def _with_facts(rows: pl.DataFrame, judgements: list[Judgement]) -> list[pl.LazyFrame]:
    """The rows for each check, with its own facts beside them."""
    own = iter(pl.collect_all([one.facts for one in judgements if one.facts is not None], engine=schemas.ENGINE))
    return [
        rows.lazy()
        if judgement.facts is None
        else rows.lazy().join(next(own).lazy(), on="row", how="left", maintain_order="left")
        for judgement in judgements
    ]


def _outcome(judgement: Judgement) -> pl.Expr:
    return (
        pl.when(~judgement.asked.fill_null(value=False))
        .then(pl.lit("skip"))
        .when(judgement.holds.fill_null(value=False))
        .then(pl.lit("pass"))
        .otherwise(pl.lit("fail"))
        .cast(schemas.Outcome)
    )
