"""A run as Polars frames, for analysts: every figure of the report, every row behind it, ready to be sliced.

Each function takes a snapshot (`evaluate(…).snapshot`, or `read_snapshot(REF)`) and gives an eager frame, its rows in a
fixed order. Every column has its description in a schema. `case_id` and `trial` join the frames to each other. Figures
that a trace lacks are null, never zero.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import polars as pl

from pipeline import schemas
from pipeline.aggregate import Summary, case_results, summarise
from pipeline.diff import SEVERITIES, Diff
from pipeline.schemas import TEXTS, Column, Errors, Outcome, Schema, SnapshotRows, Status, Warnings
from pipeline.snapshot.files import Snapshot, reading

# The verdict by which a Verifier lets an answer through, in the default contract.
PASSING: Final = "PASS"

_DISTRIBUTIONS: Final = ("verdict", "gatekeeper", "composer", "claim-verification", "check-failure")
_ROWS: Final = SnapshotRows.columns()


class CaseResults(Schema):
    """`frames.cases`: one row per selected case, as `report.json` has it.

    With several traces the single-trace columns are those of the first that did not pass, else of the first.
    """

    case_id = Column(pl.String, "id of the case", key=True)
    status = Column(Status, "result of the case, by its pass policy")
    known_failure = Column(pl.Boolean, "whether all its failures are known ones")
    known_reason = Column(pl.String, "why a failure of this case is known", nullable=True)
    trials = Column(pl.UInt32, "traces of the case, unreadable ones included")
    passed_trials = Column(pl.UInt32, "those that passed")
    tags = Column(TEXTS, "the case's tags")
    question = Column(pl.String, "the case's question", nullable=True)
    reason = Column(pl.String, "why it is in error or was not run", nullable=True)
    shown_trial = Column(
        pl.UInt32, "the trial that the columns from here on are of; null without a trace", nullable=True
    )
    trace_id = Column(pl.String, "the trace's own id", nullable=True)
    file = Column(pl.String, "file relative to its root", nullable=True)
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    failed_checks = Column(TEXTS, "ids of the checks that failed, in the order of the checks")
    verdict = _ROWS["verdict"]
    evidence_covered = _ROWS["evidence_covered"]
    evidence_missing = _ROWS["evidence_missing"]
    evidence_ratio = Column(pl.Float64, "share of the required evidence that is covered, 0 to 1", nullable=True)
    keywords_matched = _ROWS["keywords_matched"]
    keywords_missing = _ROWS["keywords_missing"]
    keyword_ratio = Column(pl.Float64, "share of the root-cause keywords that were found, 0 to 1", nullable=True)
    tool_call_count = _ROWS["tool_call_count"]
    duration_ms = _ROWS["duration_ms"]
    gatekeeper_status = _ROWS["gatekeeper_status"]
    composer_status = _ROWS["composer_status"]
    claim_check_count = _ROWS["claim_check_count"]
    definition = _ROWS["definition"]


class TraceResults(Schema):
    """`frames.traces`: one row per trace of a case, unreadable ones (status `error`) included."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    trace_id = _ROWS["trace_id"]
    file = _ROWS["file"]
    line = _ROWS["line"]
    status = Column(Status, "passed, failed or error (unreadable)")
    reason = Column(pl.String, "why the trace is in error", nullable=True)
    failed_checks = Column(TEXTS, "ids of the checks that failed, in the order of the checks")
    verdict = _ROWS["verdict"]
    score = _ROWS["score"]
    evidence_ratio = Column(pl.Float64, "share of the required evidence that is covered, 0 to 1", nullable=True)
    keyword_ratio = Column(pl.Float64, "share of the root-cause keywords that were found, 0 to 1", nullable=True)
    tool_call_count = _ROWS["tool_call_count"]
    duration_ms = _ROWS["duration_ms"]
    input_tokens = _ROWS["input_tokens"]
    output_tokens = _ROWS["output_tokens"]
    total_tokens = _ROWS["total_tokens"]
    cost_usd = _ROWS["cost_usd"]
    gatekeeper_status = _ROWS["gatekeeper_status"]
    gatekeeper_violations = _ROWS["gatekeeper_violations"]
    composer_status = _ROWS["composer_status"]
    claim_check_count = _ROWS["claim_check_count"]
    model = _ROWS["model"]
    run_status = _ROWS["run_status"]
    tags = _ROWS["tags"]
    question = _ROWS["question"]
    answer = _ROWS["answer"]
    executor_answer = _ROWS["executor_answer"]
    summary_tools = _ROWS["summary_tools"]


class ToolCalls(Schema):
    """`frames.tool_calls`: one row per tool call."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    position = Column(pl.UInt32, "order of the call in its trace, from 1", key=True)
    tool = schemas.CALL["tool"]
    arguments = schemas.CALL["arguments"]
    arguments_parsed = schemas.CALL["arguments_parsed"]
    result = schemas.CALL["result"]
    success = schemas.CALL["success"]
    failed = schemas.CALL["failed"]
    error = schemas.CALL["error"]
    duration_ms = schemas.CALL["duration_ms"]


class VerifierChecks(Schema):
    """`frames.claim_checks`: one row per claim check of the Verifier, with the claim that it is about."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    position = Column(pl.UInt32, "order of the claim check in its trace, from 1", key=True)
    claim_id = schemas.CLAIM_CHECK["claim_id"]
    verification = schemas.CLAIM_CHECK["verification"]
    detail = schemas.CLAIM_CHECK["detail"]
    claim_text = Column(pl.String, "what the Executor claimed; null where no claim has that id", nullable=True)
    claim_tools = Column(TEXTS, "tools whose evidence that claim binds; null where no claim has that id", nullable=True)


class ExecutorClaimRows(Schema):
    """`frames.executor_claims`: one row per claim of the Executor."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    position = Column(pl.UInt32, "order of the claim in its trace, from 1", key=True)
    claim_id = schemas.EXECUTOR_CLAIM["claim_id"]
    text = schemas.EXECUTOR_CLAIM["text"]
    tools = schemas.EXECUTOR_CLAIM["tools"]


class CheckOutcomes(Schema):
    """`frames.checks`: one row per readable trace and check; sorted by case, trial and check."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    check = Column(pl.String, "id of the check", key=True)
    outcome = Column(Outcome, "pass, fail, or skip: the case does not ask for it")
    message = Column(pl.String, "a sentence that a person can act on; null unless the check failed", nullable=True)
    expected = Column(pl.String, "what the case asks for; null unless the check failed", nullable=True)
    observed = Column(pl.String, "what the trace shows; null unless the check failed", nullable=True)


class EvidenceEntryResults(Schema):
    """`frames.evidence`: one row per readable trace and required evidence entry."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    position = Column(pl.UInt32, "order of the entry in the case, from 1", key=True)
    tool = Column(pl.String, "the entry as reports write it: a tool, or several of which any one will do")
    covered = Column(pl.Boolean, "whether the trace has it")


class KeywordResults(Schema):
    """`frames.keywords`: one row per readable trace and root-cause keyword entry; those found stand first."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    position = Column(pl.UInt32, "order of the row in its trace, from 1", key=True)
    keyword = Column(pl.String, "the entry as reports write it")
    matched = Column(pl.Boolean, "whether the answer has it")


class SummaryFigures(Schema):
    """`frames.summary`: one row, the figures over the whole run, as `report.json` has them."""

    suite = Column(pl.String, "name of the suite")
    total_cases = Column(pl.UInt64, "every selected case, those not run and in error too")
    passed = Column(pl.UInt64, "cases that passed")
    failed = Column(pl.UInt64, "cases that failed, known failures included")
    not_run = Column(pl.UInt64, "cases without a trace")
    errors = Column(pl.UInt64, "cases with an unreadable trace")
    known_failures = Column(pl.UInt64, "failed cases all of whose failed checks are known to fail")
    pass_rate = Column(pl.Float64, "passed / total_cases, 0 to 1", nullable=True)
    traces = Column(pl.UInt64, "readable traces judged")
    unmatched_traces = Column(pl.UInt64, "traces that belong to no case of the suite")
    unreadable_records = Column(pl.UInt64, "records that could not be read")
    input_warnings = Column(pl.UInt64, "records repaired or odd")
    average_tool_calls = Column(pl.Float64, "tool calls per trace that says", nullable=True)
    traces_with_tool_calls = Column(pl.UInt64, "how many say")
    average_duration_ms = Column(pl.Float64, "milliseconds per trace whose duration is known", nullable=True)
    duration_ms_p50 = Column(pl.Float64, "median in milliseconds, by nearest rank", nullable=True)
    duration_ms_p95 = Column(pl.Float64, "95th percentile in milliseconds, by nearest rank", nullable=True)
    traces_with_duration = Column(pl.UInt64, "traces whose duration is known")


class Distributions(Schema):
    """`frames.distributions`: one row per value of each distribution of the report."""

    distribution = Column(pl.Enum(_DISTRIBUTIONS), "what is counted", key=True)
    value = Column(pl.String, "the value; `(none)` for an absent one", key=True)
    count = Column(pl.UInt64, "readable traces that have it; claim checks, for claim-verification")


class TagResults(Schema):
    """`frames.tags`: one row per tag, sorted by tag; cases without one stand under null. A case counts under each."""

    tag = Column(pl.String, "the tag", nullable=True, key=True)
    cases = Column(pl.UInt32, "cases that have it")
    passed = Column(pl.UInt32, "those that passed")
    known_failures = Column(pl.UInt32, "those whose failure is a known one")
    pass_rate = Column(pl.Float64, "passed / cases, 0 to 1")


class ToolUsage(Schema):
    """`frames.tool_usage`: one row per tool, sorted by name; calls without a name stand under null."""

    tool = Column(pl.String, "name of the tool", nullable=True, key=True)
    calls = Column(pl.UInt32, "calls of it")
    failed_calls = Column(pl.UInt32, "those known to have failed")
    traces = Column(pl.UInt32, "traces that called it")


class ClaimsByTool(Schema):
    """`frames.claims_by_tool`: one row per tool and verification; a claim counts under each tool that it binds.

    Claim checks of claims that bind no tool, or that nobody knows, stand under null.
    """

    tool = Column(pl.String, "tool whose evidence the claims bind", nullable=True, key=True)
    verification = Column(pl.String, "the Verifier's word", nullable=True, key=True)
    claims = Column(pl.UInt32, "claim checks that say so")


class VerdictOutcomes(Schema):
    """`frames.verdict_outcomes`: one row per verdict and outcome of the readable traces."""

    verdict = Column(pl.String, "the Verifier's verdict", nullable=True, key=True)
    status = Column(Status, "passed or failed, by the checks", key=True)
    traces = Column(pl.UInt32, "how many")


class VerifierMisses(Schema):
    """`frames.verifier_misses`: one row per failed check of a trace that the Verifier let through."""

    case_id = Column(pl.String, "id of the case", key=True)
    trial = Column(pl.UInt32, "number of the trace within its case", key=True)
    check = Column(pl.String, "id of the check", key=True)
    trace_id = _ROWS["trace_id"]
    verdict = Column(pl.String, "the Verifier's verdict")
    score = _ROWS["score"]
    message = Column(pl.String, "what the check found")


class UnmatchedTraces(Schema):
    """`frames.unmatched`: one row per trace that belongs to no case, the first 1,000."""

    file = Column(pl.String, "file relative to its root")
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    trace_id = Column(pl.String, "the trace's own id", nullable=True)
    case_id = Column(pl.String, "the case the trace says it belongs to", nullable=True)


class DiffItems(Schema):
    """`frames.diff_items`: one row per difference, as `diff.json` has them: regressions first."""

    severity = Column(pl.Enum(SEVERITIES), "whether that is worse, better, or neither")
    kind = Column(pl.String, "what differs: pass-rate, case-status, evidence-coverage, check, …")
    case_id = Column(pl.String, "the case, for items of one case", nullable=True)
    tool = Column(pl.String, "the required evidence entry, for evidence-coverage", nullable=True)
    check = Column(pl.String, "id of the check, for check items", nullable=True)
    baseline = Column(pl.String, "value before, figures as text; null where there is none", nullable=True)
    current = Column(pl.String, "value now", nullable=True)
    delta = Column(pl.Float64, "current - baseline, for figures", nullable=True)
    message = Column(pl.String, "one sentence for a person, saying what to look at")


class DiffFigures(Schema):
    """`frames.diff_figures`: one row per figure of the diff's summary, changed or not."""

    figure = Column(pl.Enum(("pass-rate", "tool-calls", "duration", "verdict")), "what is compared", key=True)
    value = Column(pl.String, "the verdict that is counted; null for the other figures", nullable=True, key=True)
    baseline = Column(pl.Float64, "before; durations in milliseconds, the pass rate from 0 to 1", nullable=True)
    current = Column(pl.Float64, "now", nullable=True)
    delta = Column(pl.Float64, "current - baseline", nullable=True)


def cases(snapshot: Snapshot) -> pl.DataFrame:
    """The result of every case, see `CaseResults`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """

    def made() -> pl.DataFrame:
        results = case_results(snapshot.rows).rename({"status": "case_status"})
        return (
            snapshot.rows.join(results.lazy(), on="case_id")
            .filter(pl.col("trial").eq_missing(pl.col("shown_trial")))
            .with_columns(
                reason=pl.when(pl.col("case_status") == "error").then("error_reason").otherwise("reason"),
                status="case_status",
                failed_checks=_failed_ids(),
                **_ratios(),
            )
            .sort("case_id")
            .collect()
        )

    return _checked(snapshot, CaseResults, made)


def traces(snapshot: Snapshot) -> pl.DataFrame:
    """Every trace with its outcome, see `TraceResults`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        snapshot.rows.drop_nulls("trial")
        .with_columns(failed_checks=_failed_ids(), **_ratios())
        .sort("case_id", "trial")
    )
    return _checked(snapshot, TraceResults, rows.collect)


def tool_calls(snapshot: Snapshot) -> pl.DataFrame:
    """Every tool call, see `ToolCalls`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    return _checked(snapshot, ToolCalls, _exploded(snapshot.rows, "calls").collect)


def claim_checks(snapshot: Snapshot) -> pl.DataFrame:
    """Every claim check of the Verifier with the claim that it is about, see `VerifierChecks`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    # An id that two claims have is the first one's, so that no check is counted twice.
    claims = (
        _exploded(snapshot.rows, "executor_claims")
        .unique(["case_id", "trial", "claim_id"], keep="first", maintain_order=True)
        .select("case_id", "trial", "claim_id", claim_text="text", claim_tools="tools")
    )
    rows = (
        _exploded(snapshot.rows, "claim_checks")
        .join(claims, on=["case_id", "trial", "claim_id"], how="left")
        .sort("case_id", "trial", "position")
    )
    return _checked(snapshot, VerifierChecks, rows.collect)


def executor_claims(snapshot: Snapshot) -> pl.DataFrame:
    """Every claim of the Executor, see `ExecutorClaimRows`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    return _checked(snapshot, ExecutorClaimRows, _exploded(snapshot.rows, "executor_claims").collect)


def checks(snapshot: Snapshot) -> pl.DataFrame:
    """The outcome of every check of every readable trace, see `CheckOutcomes`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    judged = _judged(snapshot)

    def of(column: str, outcome: str) -> pl.LazyFrame:
        return (
            judged.select("case_id", "trial", check=column)
            .explode("check", empty_as_null=False)
            .with_columns(outcome=pl.lit(outcome).cast(Outcome))
        )

    failed = (
        judged.select("case_id", "trial", failed="failed_checks")
        .explode("failed", empty_as_null=False)
        .unnest("failed")
        .with_columns(outcome=pl.lit("fail").cast(Outcome))
    )
    rows = pl.concat([failed, of("passed_checks", "pass"), of("skipped_checks", "skip")], how="diagonal")
    return _checked(snapshot, CheckOutcomes, rows.sort("case_id", "trial", "check").collect)


def evidence(snapshot: Snapshot) -> pl.DataFrame:
    """Which required evidence every readable trace has, see `EvidenceEntryResults`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        _judged(snapshot)
        .select("case_id", "trial", "evidence_covered", _positions("evidence_required"), tool="evidence_required")
        .explode("position", "tool", empty_as_null=False)
        .with_columns(covered=pl.col("tool").is_in(pl.col("evidence_covered")))
        .sort("case_id", "trial", "position")
    )
    return _checked(snapshot, EvidenceEntryResults, rows.collect)


def keywords(snapshot: Snapshot) -> pl.DataFrame:
    """Which root-cause keywords the answer of every readable trace names, see `KeywordResults`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    listed = pl.concat_list("keywords_matched", "keywords_missing")
    rows = (
        _judged(snapshot)
        .select("case_id", "trial", keyword=listed, found=pl.col("keywords_matched").list.len())
        .with_columns(_positions("keyword"))
        .explode("position", "keyword", empty_as_null=False)
        .with_columns(matched=pl.col("position") <= pl.col("found"))
        .sort("case_id", "trial", "position")
    )
    return _checked(snapshot, KeywordResults, rows.collect)


def summary(snapshot: Snapshot) -> pl.DataFrame:
    """The figures over the whole run in one row, see `SummaryFigures`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    figures: dict[str, Any] = {"suite": snapshot.info.suite, **msgspec.structs.asdict(_summed(snapshot))}
    return schemas.frame(SummaryFigures, {name: [figures[name]] for name in SummaryFigures.columns()})


def distributions(snapshot: Snapshot) -> pl.DataFrame:
    """The distributions of the report, one below the other, see `Distributions`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    summed = _summed(snapshot)
    counts = (
        summed.verdict_distribution,
        summed.gatekeeper_distribution,
        summed.composer_distribution,
        summed.claim_verification_distribution,
        summed.check_failures,
    )
    rows = [(name, *item) for name, one in zip(_DISTRIBUTIONS, counts, strict=True) for item in one.items()]
    return _of_rows(Distributions, rows)


def tags(snapshot: Snapshot) -> pl.DataFrame:
    """The pass rate by tag, see `TagResults`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    tagged = (
        cases(snapshot)
        .select("status", "known_failure", tag=pl.col("tags").list.unique())
        .explode("tag", empty_as_null=True)
    )
    rows = (
        tagged.group_by("tag")
        .agg(
            cases=pl.len().cast(pl.UInt32),
            passed=(pl.col("status") == "passed").sum().cast(pl.UInt32),
            known_failures=pl.col("known_failure").sum().cast(pl.UInt32),
        )
        .with_columns(pass_rate=pl.col("passed") / pl.col("cases"))
        .sort("tag", nulls_last=True)
    )
    return schemas.checked(TagResults, rows)


def tool_usage(snapshot: Snapshot) -> pl.DataFrame:
    """How often each tool was called, see `ToolUsage`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        tool_calls(snapshot)
        .group_by("tool")
        .agg(
            calls=pl.len().cast(pl.UInt32),
            failed_calls=pl.col("failed").sum().cast(pl.UInt32),
            traces=pl.struct("case_id", "trial").n_unique().cast(pl.UInt32),
        )
        .sort("tool", nulls_last=True)
    )
    return schemas.checked(ToolUsage, rows)


def claims_by_tool(snapshot: Snapshot) -> pl.DataFrame:
    """How the claims that rest on each tool were verified, see `ClaimsByTool`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        claim_checks(snapshot)
        .select("verification", tool=pl.col("claim_tools").list.drop_nulls().list.unique())
        .explode("tool", empty_as_null=True)
        .group_by("tool", "verification")
        .agg(claims=pl.len().cast(pl.UInt32))
        .sort("tool", "verification", nulls_last=True)
    )
    return schemas.checked(ClaimsByTool, rows)


def verdict_outcomes(snapshot: Snapshot) -> pl.DataFrame:
    """The Verifier's verdicts against what the checks found, see `VerdictOutcomes`.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        _judged(snapshot)
        .group_by("verdict", "status")
        .agg(traces=pl.len().cast(pl.UInt32))
        .sort("verdict", "status", nulls_last=True)
    )
    return _checked(snapshot, VerdictOutcomes, rows.collect)


def verifier_misses(snapshot: Snapshot, *, passing: str = PASSING) -> pl.DataFrame:
    """What the checks found in traces that the Verifier let through, see `VerifierMisses`.

    A check that reads more than the Verifier does (a budget, a tool order) stands here too: filter by `check`.

    Args:
        snapshot: the run.
        passing: the verdict by which the Verifier lets an answer through.

    Raises:
        SnapshotError: the rows are damaged.
    """
    rows = (
        _judged(snapshot)
        .filter(pl.col("verdict") == passing)
        .select("case_id", "trial", "trace_id", "verdict", "score", failed="failed_checks")
        .explode("failed", empty_as_null=False)
        .unnest("failed")
        .sort("case_id", "trial", "check")
    )
    return _checked(snapshot, VerifierMisses, rows.collect)


def unmatched(snapshot: Snapshot) -> pl.DataFrame:
    """Traces that belong to no case, the first 1,000, see `UnmatchedTraces`.

    Args:
        snapshot: the run.
    """
    return _of_rows(UnmatchedTraces, [msgspec.structs.astuple(one) for one in snapshot.info.unmatched])


def input_errors(snapshot: Snapshot) -> pl.DataFrame:
    """Records that could not be read, the first 1,000, see `Errors`.

    Args:
        snapshot: the run.
    """
    return _of_rows(Errors, [msgspec.structs.astuple(one) for one in snapshot.info.input_errors])


def input_warnings(snapshot: Snapshot) -> pl.DataFrame:
    """Records that were repaired or odd, the first 1,000, see `Warnings`.

    Args:
        snapshot: the run.
    """
    return _of_rows(Warnings, [msgspec.structs.astuple(one) for one in snapshot.info.input_warnings])


def diff_items(diff: Diff) -> pl.DataFrame:
    """The items of a diff, see `DiffItems`.

    Args:
        diff: of two snapshots.
    """
    rows = [
        (
            item.severity,
            item.kind,
            item.case_id,
            item.tool,
            item.check,
            None if item.baseline is None else str(item.baseline),
            None if item.current is None else str(item.current),
            item.delta,
            item.message,
        )
        for item in diff.items
    ]
    return _of_rows(DiffItems, rows)


def diff_figures(diff: Diff) -> pl.DataFrame:
    """The headline figures of a diff, before and after, see `DiffFigures`.

    Args:
        diff: of two snapshots.
    """
    found = diff.summary
    figures = (
        ("pass-rate", found.pass_rate),
        ("tool-calls", found.average_tool_calls),
        ("duration", found.average_duration_ms),
    )
    rows = [
        *((name, None, one.baseline, one.current, one.delta) for name, one in figures),
        *(
            ("verdict", verdict, one.baseline, one.current, one.delta)
            for verdict, one in found.verdict_distribution.items()
        ),
    ]
    return _of_rows(DiffFigures, rows)


def _checked(snapshot: Snapshot, schema: type[Schema], made: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    with reading(snapshot):
        return schemas.checked(schema, made())


def _of_rows(schema: type[Schema], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return schemas.checked(schema, pl.DataFrame(rows, schema=schemas.dtypes_of(schema), orient="row"))


def _summed(snapshot: Snapshot) -> Summary:
    info = snapshot.info
    with reading(snapshot):
        return summarise(
            snapshot.rows,
            case_results(snapshot.rows),
            unmatched_traces=info.unmatched_traces,
            unreadable_records=info.unreadable_records,
            input_warnings=info.input_warnings_count,
        )


def _judged(snapshot: Snapshot) -> pl.LazyFrame:
    return snapshot.rows.filter(pl.col("status").is_in(["passed", "failed"]))


def _failed_ids() -> pl.Expr:
    return pl.col("failed_checks").list.eval(pl.element().struct.field("check"))


def _ratios() -> dict[str, pl.Expr]:
    def share(part: str, rest: str) -> pl.Expr:
        found, absent = pl.col(part).list.len(), pl.col(rest).list.len()
        # 0 / 0 is NaN in Polars; the share of nothing is unknown.
        return pl.when(found + absent > 0).then(found / (found + absent))

    return {
        "evidence_ratio": share("evidence_covered", "evidence_missing"),
        "keyword_ratio": share("keywords_matched", "keywords_missing"),
    }


def _positions(column: str) -> pl.Expr:
    return pl.int_ranges(1, pl.col(column).list.len() + 1, dtype=pl.UInt32).alias("position")


def _exploded(rows: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """One row per element of a column of lists of structs, in order."""
    return (
        rows.select("case_id", "trial", _positions(column), element=column)
        .explode("position", "element", empty_as_null=False)
        .unnest("element")
        .sort("case_id", "trial", "position")
    )
