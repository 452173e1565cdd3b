"""Stage 8, diff: two snapshots to what changed, by joins (contract section 7, R17-R23)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, Literal

import msgspec
import polars as pl

from pipeline.aggregate import DECIMALS, ExactAverages, Summary, case_results, exact_averages, summarise
from pipeline.errors import UsageError
from pipeline.figures import figure
from pipeline.limits import Limit, Limits
from pipeline.snapshot.files import Snapshot, reading

DIFF_SCHEMA_VERSION: Final = 1

Kind = Literal[
    "pass-rate",
    "tool-calls",
    "duration",
    "verdict-distribution",
    "case-status",
    "evidence-coverage",
    "missing-case",
    "new-case",
    "check",
    "case-definition",
]
Severity = Literal["regression", "improvement", "change"]
SEVERITIES: Final[tuple[Severity, ...]] = ("regression", "improvement", "change")


class DiffStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parts of the diff: immutable, camelCase in JSON."""


class Side(DiffStruct, frozen=True, kw_only=True):
    """One of the two runs."""

    source: str
    suite: str
    tool_version: str
    cases_digest: str
    traces_digest: str


class Change(DiffStruct, frozen=True, kw_only=True):
    """A figure before and after; the delta of an unknown figure is null."""

    baseline: float | None
    current: float | None
    delta: float | None


class CountChange(DiffStruct, frozen=True, kw_only=True):
    """A count before and after."""

    baseline: int
    current: int
    delta: int


class DiffSummary(DiffStruct, frozen=True, kw_only=True):
    """The headline figures.

    Attributes:
        regressions: number of regression items.
        improvements: number of improvement items.
        changes: number of items that are neither.
        new_cases: cases absent from the baseline.
        missing_cases: cases of the baseline absent now.
        definition_changed_cases: cases whose definition differs.
        pass_rate: passed cases / all cases.
        average_tool_calls: over the traces that say.
        average_duration_ms: over the traces whose duration is known.
        verdict_distribution: traces per verdict; every verdict of either run.
    """

    regressions: int
    improvements: int
    changes: int
    new_cases: int
    missing_cases: int
    definition_changed_cases: int
    pass_rate: Change
    average_tool_calls: Change
    average_duration_ms: Change
    verdict_distribution: dict[str, CountChange]


class DiffItem(DiffStruct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        kind: what differs.
        severity: whether that is worse, better, or neither.
        case_id: the case, for items of one case.
        tool: the required evidence entry, for evidence-coverage.
        check: the check, for check items.
        baseline: value before, null where there is none.
        current: value now.
        delta: current - baseline for figures, else null.
        message: one sentence for a person, saying what to look at.
    """

    kind: Kind
    severity: Severity
    case_id: str | None = None
    tool: str | None = None
    check: str | None = None
    baseline: str | int | float | None = None
    current: str | int | float | None = None
    delta: int | float | None = None
    message: str


class Diff(DiffStruct, frozen=True, kw_only=True):
    """The whole of `diff.json`."""

    schema_version: int
    baseline: Side
    current: Side
    summary: DiffSummary
    items: list[DiffItem]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A diff, and what of it may trip a gate.

    Attributes:
        diff: the diff.
        tripping: the regressions, but for those that the current run's known failures explain.
    """

    diff: Diff
    tripping: tuple[DiffItem, ...]


def diff(baseline: Snapshot, current: Snapshot, *, limits: Limits | None = None) -> Diff:
    """Compare two runs; see `compare`."""
    return compare(baseline, current, limits=limits).diff


def compare(baseline: Snapshot, current: Snapshot, *, limits: Limits | None = None) -> Comparison:
    """Compare two runs.

    Args:
        baseline: the run to compare with.
        current: the run to judge.
        limits: what rises of tool calls and duration count as regressions.

    Returns:
        The diff, its items sorted by severity, kind, case, tool and check; and the regressions that no known
        failure explains.

    Raises:
        UsageError: the two have no case in common, or one of them judged no trace.
        SnapshotError: the rows of one of them are damaged.
    """
    limits = limits or Limits()
    before, now = _sums(baseline), _sums(current)
    for snapshot, sums in ((baseline, before), (current, now)):
        if not sums.summary.traces:
            raise UsageError(
                f"{snapshot.source or 'the run'} judged no trace, so it proves nothing",
                hint="a diff needs two runs that evaluated something",
            )
    both = _both(before.cases, now.cases)
    if both.filter(pl.col("status").is_not_null() & pl.col("status_now").is_not_null()).is_empty():
        raise UsageError(
            "the two runs have no case in common, so nothing can be compared",
            hint="compare runs of the same suite, or save a new baseline with: diagnosis-eval baseline save",
        )
    old, new = before.summary, now.summary
    with reading(baseline), reading(current):
        definitions = _definitions(baseline.rows, current.rows, both)
        items = [
            *_pass_rate(old, new),
            *_cost("tool-calls", before, now, limits.tool_calls),
            *_cost("duration", before, now, limits.duration),
            *_verdicts(old, new),
            *_statuses(both),
            *_definition_items(definitions),
            *_evidence(baseline.rows, current.rows, both),
            *_checks(baseline.rows, current.rows, both),
        ]
    items.sort(key=_order)
    severities = [item.severity for item in items]
    kinds = [item.kind for item in items]
    found = Diff(
        schema_version=DIFF_SCHEMA_VERSION,
        baseline=_side(baseline),
        current=_side(current),
        summary=DiffSummary(
            regressions=severities.count("regression"),
            improvements=severities.count("improvement"),
            changes=severities.count("change"),
            new_cases=kinds.count("new-case"),
            missing_cases=kinds.count("missing-case"),
            definition_changed_cases=len(definitions),
            pass_rate=_change(old.pass_rate, new.pass_rate),
            average_tool_calls=_change(old.average_tool_calls, new.average_tool_calls),
            average_duration_ms=_change(old.average_duration_ms, new.average_duration_ms),
            verdict_distribution=_counts(old.verdict_distribution, new.verdict_distribution),
        ),
        items=items,
    )
    return Comparison(diff=found, tripping=tuple(_tripping(items, now.cases, old, new)))


class _Sums(msgspec.Struct, frozen=True):
    """One run summed up: its cases, its figures as shown, and its averages without rounding."""

    cases: pl.DataFrame
    summary: Summary
    exact: ExactAverages

    def cost(self, kind: Literal["tool-calls", "duration"]) -> "_Average":
        """The average of that kind."""
        if kind == "tool-calls":
            return _Average(self.summary.average_tool_calls, self.exact.tool_calls)
        return _Average(self.summary.average_duration_ms, self.exact.duration_ms)


class _Average(msgspec.Struct, frozen=True):
    """An average as it is shown, rounded, and as it is held against a limit; None where no trace says."""

    shown: float | None
    exact: Fraction | None


def _sums(snapshot: Snapshot) -> _Sums:
    with reading(snapshot):
        cases = case_results(snapshot.rows)
        return _Sums(cases, summarise(snapshot.rows, cases), exact_averages(snapshot.rows))


def _tripping(items: Iterable[DiffItem], cases: pl.DataFrame, old: Summary, new: Summary) -> Iterable[DiffItem]:
    """A known failure is reported but trips no gate, neither by itself nor through the pass rate."""
    known = set(cases.filter("known_failure")["case_id"])
    # Whole numbers, crosswise: the shares of good cases, known failures counted as good, without rounding.
    good_before, good_now = old.passed + old.known_failures, new.passed + new.known_failures
    rate_explained = bool(known) and good_now * old.total_cases >= good_before * new.total_cases
    for item in items:
        excused = (item.kind in {"case-status", "check", "evidence-coverage"} and item.case_id in known) or (
            item.kind == "pass-rate" and rate_explained
        )
        if item.severity == "regression" and not excused:
            yield item


def _side(snapshot: Snapshot) -> Side:
    info = snapshot.info
    return Side(
        source=snapshot.source,
        suite=info.suite,
        tool_version=info.tool_version,
        cases_digest=info.cases_digest,
        traces_digest=info.traces_digest,
    )


def _order(item: DiffItem) -> tuple[int, str, str, str, str]:
    return (
        SEVERITIES.index(item.severity),
        item.kind,
        item.case_id or "",
        item.tool or "",
        item.check or "",
    )


def _change(old: float | None, new: float | None) -> Change:
    return Change(baseline=old, current=new, delta=_delta(old, new))


def _delta(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else round(new - old, DECIMALS)


def _counts(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, CountChange]:
    return {
        value: CountChange(
            baseline=old.get(value, 0),
            current=new.get(value, 0),
            delta=new.get(value, 0) - old.get(value, 0),
        )
        for value in sorted({*old, *new})
    }


def _pass_rate(old: Summary, new: Summary) -> Iterable[DiffItem]:
    # Whole numbers, crosswise: a rate that fell by less than the report's decimals fell all the same.
    rise = new.passed * old.total_cases - old.passed * new.total_cases
    if rise:
        yield DiffItem(
            kind="pass-rate",
            severity="regression" if rise < 0 else "improvement",
            baseline=old.pass_rate,
            current=new.pass_rate,
            delta=_delta(old.pass_rate, new.pass_rate),
            message=(
                f"the pass rate {'fell' if rise < 0 else 'rose'} from {old.passed} of {old.total_cases} "
                f"to {new.passed} of {new.total_cases} cases"
            ),
        )


def _cost(
    kind: Literal["tool-calls", "duration"], before: _Sums, now: _Sums, limit: Limit | None
) -> Iterable[DiffItem]:
    old, new = before.cost(kind), now.cost(kind)
    if old.exact is None or new.exact is None:
        # A figure that cannot be compared is never within a limit.
        over, note = limit is not None, "; the limit cannot be checked"
    else:
        over, note = limit is not None and limit.exceeded(old.exact, new.exact), ", over the limit"
    if old.shown == new.shown and not over:
        return
    words = "tool calls per trace" if kind == "tool-calls" else "duration per trace in ms"
    yield DiffItem(
        kind=kind,
        severity="regression" if over else "change",
        baseline=old.shown,
        current=new.shown,
        delta=_delta(old.shown, new.shown),
        message=f"the average of {words} went from {_known(old.shown)} to {_known(new.shown)}{note if over else ''}",
    )


def _known(value: float | None) -> str:
    return "unknown" if value is None else figure(value)


def _verdicts(old: Summary, new: Summary) -> Iterable[DiffItem]:
    for verdict, change in _counts(old.verdict_distribution, new.verdict_distribution).items():
        if change.delta:
            yield DiffItem(
                kind="verdict-distribution",
                severity="change",
                baseline=change.baseline,
                current=change.current,
                delta=change.delta,
                message=f"traces with verdict {verdict} went from {change.baseline} to {change.current}",
            )


def _both(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The cases of either run: `case_id`, `status`, `known_failure`, and the same with `_now`."""
    columns = ("case_id", "status", "known_failure", "known_reason", "error_reason")
    return (
        old.select(columns)
        .join(
            new.select(columns),
            on="case_id",
            how="full",
            coalesce=True,
            suffix="_now",
            maintain_order="none",
        )
        .sort("case_id")
    )


def _statuses(both: pl.DataFrame) -> Iterable[DiffItem]:
    changed = both.filter(
        pl.col("status").ne_missing(pl.col("status_now"))
        | (pl.col("known_failure").ne_missing(pl.col("known_failure_now"))),
    )
    for row in changed.iter_rows(named=True):
        case, old, new = row["case_id"], row["status"], row["status_now"]
        if new is None:
            yield DiffItem(
                kind="missing-case",
                severity="regression",
                case_id=case,
                baseline=old,
                message=f"the case {case} is in the baseline and absent now: it is no longer guarded",
            )
        elif old is None:
            yield DiffItem(
                kind="new-case",
                severity="change",
                case_id=case,
                current=new,
                message=f"the case {case} is new and {_words(new)}",
            )
        elif old != new:
            severity: Severity = "regression" if old == "passed" else "improvement" if new == "passed" else "change"
            yield DiffItem(
                kind="case-status",
                severity=severity,
                case_id=case,
                baseline=old,
                current=new,
                message=_status_message(row),
            )


def _status_message(row: dict[str, Any]) -> str:
    case, old, new = row["case_id"], row["status"], row["status_now"]
    message = f"the case {case} {_words(old)} before and {_words(new)} now"
    if new == "failed" and row["known_failure_now"]:
        message += f" (a known failure: {row['known_reason_now']})"
    elif new == "error" and row["error_reason_now"]:
        message += f": {row['error_reason_now']}"
    elif new == "passed" and row["known_failure"]:
        message += "; it was a known failure, so its knownFailure mark can go"
    return message


def _words(status: str) -> str:
    return {"passed": "passed", "failed": "failed", "error": "was in error", "not_run": "was not run"}[status]


def _definitions(old: pl.LazyFrame, new: pl.LazyFrame, both: pl.DataFrame) -> list[str]:
    """The cases judged in both runs whose definition differs."""
    pair = ["case_id", "definition_digest"]
    sides = [rows.select(pair) for rows in (old, new)]
    changed = (
        pl.concat([one.join(other, on=pair, how="anti") for one, other in (sides, reversed(sides))])
        .select(pl.col("case_id").unique())
        .join(_judged(both), on="case_id", how="semi")
        .sort("case_id")
        .collect()
    )
    return changed["case_id"].to_list()


def _definition_items(changed: Iterable[str]) -> Iterable[DiffItem]:
    for case in changed:
        yield DiffItem(
            kind="case-definition",
            severity="change",
            case_id=case,
            message=(
                f"the definition of case {case} changed: what differs in its results may be the case, not the agent"
            ),
        )


def _judged(both: pl.DataFrame) -> pl.LazyFrame:
    """The cases that have evidence and checks to compare: judged in both runs."""
    judged = ["passed", "failed"]
    return both.lazy().filter(pl.col("status").is_in(judged) & pl.col("status_now").is_in(judged)).select("case_id")


def _evidence(old: pl.LazyFrame, new: pl.LazyFrame, both: pl.DataFrame) -> Iterable[DiffItem]:
    """Required evidence per case and tool; with several trials it is covered where every trial covers it."""

    def of(rows: pl.LazyFrame) -> pl.LazyFrame:
        covered = rows.select("case_id", tool="evidence_covered").explode("tool", empty_as_null=False)
        missing = rows.select("case_id", tool="evidence_missing").explode("tool", empty_as_null=False)
        return (
            pl.concat(
                [
                    covered.with_columns(covered=pl.lit(value=True)),
                    missing.with_columns(covered=pl.lit(value=False)),
                ],
            )
            .group_by("case_id", "tool")
            .agg(pl.col("covered").all())
        )

    # Only a case that lacks evidence in either run can differ.
    lacking = (
        pl.concat(rows.filter(pl.col("evidence_missing").list.len() > 0).select("case_id") for rows in (old, new))
        .unique()
        .join(_judged(both), on="case_id", how="semi")
        .collect()
        .lazy()
    )
    changed = (
        of(old.join(lacking, on="case_id", how="semi"))
        .join(of(new.join(lacking, on="case_id", how="semi")), on=["case_id", "tool"], suffix="_now")
        .filter(pl.col("covered") != pl.col("covered_now"))
        .sort("case_id", "tool")
        .collect()
    )
    for case, tool, covered, covered_now in changed.iter_rows():
        yield DiffItem(
            kind="evidence-coverage",
            severity="improvement" if covered_now else "regression",
            case_id=case,
            tool=tool,
            baseline="covered" if covered else "uncovered",
            current="covered" if covered_now else "uncovered",
            message=(
                f"the required tool {tool} is covered again in case {case}"
                if covered_now
                else f"the required tool {tool} is no longer covered in case {case}: look at its tool calls"
            ),
        )


def _checks(old: pl.LazyFrame, new: pl.LazyFrame, both: pl.DataFrame) -> Iterable[DiffItem]:
    """Checks per case that begin or cease to fail; with several trials one holds where every trial holds it."""

    def failing(rows: pl.LazyFrame) -> pl.LazyFrame:
        failures = rows.select("case_id", "trial", failed="failed_checks").explode("failed", empty_as_null=False)
        return (
            failures.select(
                "case_id",
                "trial",
                check=pl.col("failed").struct.field("check"),
                message=pl.col("failed").struct.field("message"),
            )
            .sort("case_id", "trial")
            .group_by("case_id", "check", maintain_order=True)
            .agg(pl.col("message").first())
        )

    judged = _judged(both)
    changed = (
        failing(old.join(judged, on="case_id", how="semi"))
        .join(
            failing(new.join(judged, on="case_id", how="semi")),
            on=["case_id", "check"],
            how="full",
            coalesce=True,
            suffix="_now",
        )
        .filter(pl.col("message").is_null() != pl.col("message_now").is_null())
        .sort("case_id", "check")
        .collect()
    )
    for case, check, before, now in changed.iter_rows():
        begins = before is None
        yield DiffItem(
            kind="check",
            severity="regression" if begins else "improvement",
            case_id=case,
            check=check,
            baseline="holds" if begins else "fails",
            current="fails" if begins else "holds",
            message=now if begins else f"{check} no longer fails in case {case}; before: {before}",
        )
