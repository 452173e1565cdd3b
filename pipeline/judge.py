"""Stage 5, judge: all checks over one batch of traces, as expressions.

Outcomes are computed for all rows in one lazy plan. The sentences of a failure are written in a second plan, over the
failing rows only: most rows pass most checks, and writing sentences for them would be most of the work.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

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


_NOTHING_SAID: Final = schemas.empty(schemas.Results).select("row", "expected", "observed", "message")


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
    outcomes = (
        wide.lazy()
        .select(_outcome(judgement).alias(check.name) for check, judgement in zip(checks, judgements, strict=True))
        .collect(engine=schemas.ENGINE)
    )
    names = pl.Series(values=[check.name for check in checks])
    # Row by row, and within a row check by check.
    results = (
        outcomes.lazy()
        .select(row=rows["row"], outcome=pl.concat_list(pl.all()))
        .explode("outcome")
        .with_columns(check=pl.lit(names).gather(pl.int_range(pl.len(), dtype=pl.UInt32) % len(checks)))
        .collect(engine=schemas.ENGINE)
    )
    failed = [outcomes[check.name] == "fail" for check in checks]
    failing = [
        _sentences(judgement, wide.lazy().filter(fails), wide["row"].filter(fails), redact)
        for judgement, fails in zip(judgements, failed, strict=True)
        if fails.any()
    ]
    places = [fails.arg_true() * len(checks) + number for number, fails in enumerate(failed)]
    said = pl.concat([_NOTHING_SAID, *pl.collect_all(failing, engine=schemas.ENGINE)])
    results = results.with_columns(_scattered(said.drop("row"), pl.concat(places), results.height))
    return Judged(rows=rows, results=schemas.checked(schemas.Results, results), facts=facts)


def _with_facts(rows: pl.DataFrame, judgements: list[Judgement]) -> pl.DataFrame:
    """The rows with the facts of all checks beside them."""
    wide = rows.lazy()
    for facts in pl.collect_all([one.facts for one in judgements if one.facts is not None], engine=schemas.ENGINE):
        clash = set(facts.columns).intersection(wide.collect_schema().names()) - {"row"}
        assert not clash, f"two checks name a fact {clash}"  # noqa: S101 - a defect of a check
        wide = wide.join(facts.lazy(), on="row", how="left", maintain_order="left")
    return wide.collect(engine=schemas.ENGINE)


def _sentences(judgement: Judgement, failing: pl.LazyFrame, rows: pl.Series, redact: Sequence[str]) -> pl.LazyFrame:
    """What is said of the rows that fail a check, in their order."""
    if judgement.details is not None:
        failing = failing.join(judgement.details(rows), on="row", how="left", maintain_order="left")
    return redact_frame(failing, redact).select(
        "row", expected=judgement.expected, observed=judgement.observed, message=judgement.message
    )


def _scattered(said: pl.DataFrame, places: pl.Series, height: int) -> list[pl.Series]:
    """Columns of that height, with what is said at its places and null elsewhere."""
    return [
        pl.Series(column.name, [None], dtype=pl.String).new_from_index(0, height).scatter(places, column)
        for column in said
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
