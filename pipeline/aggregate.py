"""Stage 6, aggregate: rows to case results, distributions and averages (contract section 5).

Everything here reads the columns of `schemas.SnapshotRows`, whether they come from the judge or from Parquet. Sums are
integers or `math.fsum`, and what is shown is rounded to 6 decimals: the same figures on any machine.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec
import polars as pl

from pipeline import schemas

DECIMALS: Final = 6
ABSENT: Final = "(none)"


class CasePolicy(msgspec.Struct, rename="camel"):
    """What the aggregation needs to know of a case, read from its definition."""

    pass_policy: "str | MinPassRate" = "all"
    known_failure: "KnownFailure | None" = None


class MinPassRate(msgspec.Struct, rename="camel"):
    """See `cases.model.MinPassRate`."""

    min_pass_rate: float


class KnownFailure(msgspec.Struct, rename="camel"):
    """See `cases.model.KnownFailure`."""

    checks: list[str]
    reason: str


class Summary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures over the whole run; averages, percentiles and distributions are over the readable traces.

    Attributes:
        total_cases: every selected case, those not run and in error too.
        passed: cases that passed.
        failed: cases that failed, known failures included.
        not_run: cases without a trace.
        errors: cases with an unreadable trace.
        known_failures: failed cases all of whose failed checks are known to fail.
        pass_rate: passed / total_cases.
        traces: readable traces judged.
        unmatched_traces: traces that belong to no case of the suite.
        unreadable_records: records that could not be read.
        input_warnings: records repaired or odd.
        verdict_distribution: traces per verdict.
        gatekeeper_distribution: traces per Gatekeeper status.
        composer_distribution: traces per Composer status.
        claim_verification_distribution: claim checks per verification.
        average_tool_calls: over the traces that say.
        traces_with_tool_calls: how many do.
        average_duration_ms: over the traces whose duration is known.
        duration_ms_p50: median by nearest rank.
        duration_ms_p95: 95th percentile by nearest rank.
        traces_with_duration: how many have one.
        check_failures: traces per failed check.
    """

    total_cases: int
    passed: int
    failed: int
    not_run: int
    errors: int
    known_failures: int
    pass_rate: float | None
    traces: int
    unmatched_traces: int
    unreadable_records: int
    input_warnings: int
    verdict_distribution: dict[str, int]
    gatekeeper_distribution: dict[str, int]
    composer_distribution: dict[str, int]
    claim_verification_distribution: dict[str, int]
    average_tool_calls: float | None
    traces_with_tool_calls: int
    average_duration_ms: float | None
    duration_ms_p50: float | None
    duration_ms_p95: float | None
    traces_with_duration: int
    check_failures: dict[str, int]


def case_results(rows: pl.LazyFrame) -> pl.DataFrame:
    """The result of every case, from its traces and its pass policy.

    Texts and definitions are read of the cases that did not pass outright alone: they are most of a snapshot's bytes,
    and no policy fails a case whose traces all passed.

    Args:
        rows: columns of `schemas.SnapshotRows`, in any order.

    Returns:
        One row per case, sorted by id: `case_id`, `status`, `known_failure`, `known_reason` (of a known failure),
        `trials`, `passed_trials`, `shown_trial` (the first trace that did not pass, else the first; null without a
        trace) and `error_reason` (of the first trace in error).
    """
    status, trial = pl.col("status"), pl.col("trial")
    counts, failures, errors = _collected(
        [
            rows.group_by("case_id").agg(
                trials=(status != "not_run").sum().cast(pl.UInt32),
                passed_trials=(status == "passed").sum().cast(pl.UInt32),
                error_trials=(status == "error").sum().cast(pl.UInt32),
                shown_trial=pl.coalesce(trial.filter(status.is_in(["failed", "error"])).min(), trial.min()),
            ),
            rows.filter(status == "failed")
            .group_by("case_id")
            .agg(
                failed_checks=pl.col("failed_checks").explode(empty_as_null=False).struct.field("check").unique(),
                definition=pl.col("definition").sort_by("trial").first(),
            ),
            rows.filter(status == "error")
            .group_by("case_id")
            .agg(error_reason=pl.col("reason").sort_by("trial").first()),
        ],
    )
    return (
        counts.lazy()
        .join(_with_policies(failures).lazy(), on="case_id", how="left")
        .join(errors.lazy(), on="case_id", how="left")
        .with_columns(
            status=pl.when(pl.col("trials") == 0)
            .then(pl.lit("not_run"))
            .when(pl.col("error_trials") > 0)
            .then(pl.lit("error"))
            .when(_enough())
            .then(pl.lit("passed"))
            .otherwise(pl.lit("failed"))
            .cast(schemas.Status),
        )
        .with_columns(
            known_failure=(
                (pl.col("status") == "failed")
                & (pl.col("failed_checks").list.set_difference(pl.col("known_checks")).list.len() == 0)
            ).fill_null(value=False),
        )
        .with_columns(known_reason=pl.when("known_failure").then("known_reason"))
        .select(
            "case_id",
            "status",
            "known_failure",
            "known_reason",
            "trials",
            "passed_trials",
            "shown_trial",
            "error_reason",
        )
        .sort("case_id")
        .collect()
    )


def _collected(queries: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
    """The results of queries over one snapshot, one after the other.

    Together, Polars reads what they share only once and holds it: of a million rows, 500 MB more in the same time.
    """
    return [query.collect() for query in queries]


def _with_policies(cases: pl.DataFrame) -> pl.DataFrame:
    """Cases with what their definition says of their failures, in place of the definition."""
    policies = [msgspec.json.decode(text, type=CasePolicy) for text in cases["definition"]]
    passes = [policy.pass_policy for policy in policies]
    known = [policy.known_failure for policy in policies]
    return cases.drop("definition").with_columns(
        wants_any=pl.Series([one == "any" for one in passes], dtype=pl.Boolean),
        share=pl.Series(
            [one.min_pass_rate if isinstance(one, MinPassRate) else None for one in passes], dtype=pl.Float64
        ),
        known_checks=pl.Series([one.checks if one else None for one in known], dtype=pl.List(pl.String)),
        known_reason=pl.Series([one.reason if one else None for one in known], dtype=pl.String),
    )


def _enough() -> pl.Expr:
    """Whether enough traces of a case passed; a case without a failure has no policy here and needs none."""
    passed, trials = pl.col("passed_trials"), pl.col("trials")
    return (
        pl.when("wants_any")
        .then(passed > 0)
        .when(pl.col("share").is_not_null())
        .then(passed / trials >= pl.col("share"))
        .otherwise(passed == trials)
    )


def summarise(
    rows: pl.LazyFrame,
    cases: pl.DataFrame,
    *,
    unmatched_traces: int = 0,
    unreadable_records: int = 0,
    input_warnings: int = 0,
) -> Summary:
    """Aggregate a run.

    Args:
        rows: columns of `schemas.SnapshotRows`.
        cases: from `case_results`.
        unmatched_traces: counted while reading.
        unreadable_records: counted while reading.
        input_warnings: counted while reading.
    """
    readable = rows.filter(pl.col("status").is_in(["passed", "failed"]))
    verifications = (
        readable.select(value=pl.col("claim_checks"))
        .explode("value", empty_as_null=False)
        .select(pl.col("value").struct.field("verification"))
    )
    failures = (
        readable.select(check="failed_checks")
        .explode("check", empty_as_null=False)
        .select(pl.col("check").struct.field("check"))
    )
    verdicts, gatekeeper, composer, claims, checks, figures = _collected(
        [
            _counts(readable.select("verdict")),
            _counts(readable.select("gatekeeper_status")),
            _counts(readable.select("composer_status")),
            _counts(verifications),
            _counts(failures),
            readable.select("tool_call_count", "duration_ms"),
        ],
    )
    statuses = cases["status"].cast(pl.String).to_list()
    calls = figures["tool_call_count"].drop_nulls()
    durations = figures["duration_ms"].drop_nulls().sort().to_list()
    passed = statuses.count("passed")
    return Summary(
        total_cases=len(statuses),
        passed=passed,
        failed=statuses.count("failed"),
        not_run=statuses.count("not_run"),
        errors=statuses.count("error"),
        known_failures=int(cases["known_failure"].sum()),
        pass_rate=ratio(passed, len(statuses)),
        traces=figures.height,
        unmatched_traces=unmatched_traces,
        unreadable_records=unreadable_records,
        input_warnings=input_warnings,
        verdict_distribution=_as_dict(verdicts),
        gatekeeper_distribution=_as_dict(gatekeeper),
        composer_distribution=_as_dict(composer),
        claim_verification_distribution=_as_dict(claims),
        average_tool_calls=ratio(int(calls.cast(pl.UInt64).sum()), calls.len()),
        traces_with_tool_calls=calls.len(),
        average_duration_ms=_average(durations),
        duration_ms_p50=nearest_rank(durations, 50),
        duration_ms_p95=nearest_rank(durations, 95),
        traces_with_duration=len(durations),
        check_failures=_as_dict(checks),
    )


class ExactAverages(msgspec.Struct, frozen=True, kw_only=True):
    """Averages without the rounding of those that are shown; None where no trace says.

    Attributes:
        tool_calls: per trace.
        duration_ms: per trace, in milliseconds.
    """

    tool_calls: Fraction | None
    duration_ms: Fraction | None


def exact_averages(rows: pl.LazyFrame) -> ExactAverages:
    """Averages to hold against a limit: exactly at the limit must come out as exactly at the limit.

    Args:
        rows: columns of `schemas.SnapshotRows`.
    """
    readable = rows.filter(pl.col("status").is_in(["passed", "failed"]))
    figures = readable.select("tool_call_count", "duration_ms").collect()
    calls = figures["tool_call_count"].drop_nulls()
    durations = figures["duration_ms"].drop_nulls().to_list()
    return ExactAverages(
        tool_calls=Fraction(int(calls.cast(pl.UInt64).sum()), calls.len()) if calls.len() else None,
        # The sum in decimals, as people write durations: in binary 0.1 + 0.2 is not 0.3.
        duration_ms=Fraction(str(round(_sum(durations), DECIMALS))) / len(durations) if durations else None,
    )


def _sum(values: Sequence[float]) -> float | Fraction:
    """The sum, correctly rounded; exact where it is too large for a float."""
    try:
        return math.fsum(values)
    except OverflowError:
        return sum(map(Fraction, values), Fraction())


def _average(values: Sequence[float]) -> float | None:
    # An average of floats is never too large for a float, even where their sum is.
    return round(float(_sum(values) / len(values)), DECIMALS) if values else None


def ratio(part: float, whole: int) -> float | None:
    """A ratio or average rounded to 6 decimals; that of nothing is None.

    >>> ratio(2, 3), ratio(0, 0)
    (0.666667, None)
    """
    return round(part / whole, DECIMALS) if whole else None


def nearest_rank(ordered: Sequence[float], percent: int) -> float | None:
    """The percentile by nearest rank: the smallest value that at least so many percent do not exceed.

    >>> nearest_rank([10.0, 20.0, 30.0, 40.0], 50), nearest_rank([], 50)
    (20.0, None)
    """
    if not ordered:
        return None
    # Whole numbers: 0.95 * 20 is 19.000000000000004 in floats, and its ceiling the wrong rank.
    return round(ordered[-(-percent * len(ordered) // 100) - 1], DECIMALS)


def _counts(values: pl.LazyFrame) -> pl.LazyFrame:
    (name,) = values.collect_schema().names()
    return (
        values.with_columns(pl.col(name).fill_null(ABSENT))
        .group_by(name)
        .agg(times=pl.len())
        .sort(name)
        .select(value=name, times="times")
    )


def _as_dict(counts: pl.DataFrame) -> dict[str, int]:
    return dict(zip(counts["value"].to_list(), counts["times"].to_list(), strict=True))
