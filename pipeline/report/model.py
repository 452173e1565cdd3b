"""The report as typed data: what `report.json` holds, and what every writer renders (contract section 5).

The JSON Schema of `diagnosis-eval schema report` is made from these structs. Writers compute nothing: whatever they
show stands here.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec
import polars as pl

from pipeline.aggregate import ABSENT, Summary, case_results, ratio, summarise
from pipeline.diff import Diff
from pipeline.snapshot.files import Snapshot
from pipeline.snapshot.info import InputFault, InputWarning, Unmatched

REPORT_SCHEMA_VERSION: Final = 1

Status = Literal["passed", "failed", "error", "not_run"]


class ReportStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parts of the report: immutable, camelCase in JSON."""


class Provenance(ReportStruct, frozen=True, kw_only=True):
    """What the report was made from."""

    tool: str
    tool_version: str
    cases_digest: str
    traces_digest: str


class FailedCheck(ReportStruct, frozen=True, kw_only=True):
    """One failed check of a trace."""

    check: str
    message: str
    expected: str
    observed: str


class EvidenceCoverage(ReportStruct, frozen=True, kw_only=True):
    """Required evidence entries as written, covered or not; the ratio of none is null."""

    required: list[str]
    covered: list[str]
    missing: list[str]
    ratio: float | None


class KeywordCoverage(ReportStruct, frozen=True, kw_only=True):
    """Root-cause keyword entries as written, found or not; the ratio of none is null."""

    matched: list[str]
    missing: list[str]
    ratio: float | None


class CaseEntry(ReportStruct, frozen=True, kw_only=True):
    """The result of one case; with several traces the single-trace fields are those of the first that did not pass.

    Attributes:
        case_id: id of the case.
        trace_id: id of the trace shown.
        status: result of the case, by its pass policy.
        reason: why it is in error or was not run.
        failed_checks: the failed checks of the trace shown.
        known_failure: whether all its failures are known ones.
        verdict: the Verifier's verdict.
        evidence_coverage: required evidence.
        keyword_coverage: root-cause keywords.
        tool_call_count: number of calls, null where unknown.
        duration_ms: milliseconds, null where unknown.
        gatekeeper_status: null where there is none.
        composer_status: parsed, fallback, contradictory, or null.
        claim_check_count: null where there is no such field.
        trials: traces of the case.
        passed_trials: those that passed.
    """

    case_id: str
    trace_id: str | None
    status: Status
    reason: str | None
    failed_checks: list[FailedCheck]
    known_failure: bool
    verdict: str | None
    evidence_coverage: EvidenceCoverage
    keyword_coverage: KeywordCoverage
    tool_call_count: int | None
    duration_ms: float | None
    gatekeeper_status: str | None
    composer_status: str | None
    claim_check_count: int | None
    trials: int
    passed_trials: int


class Report(ReportStruct, frozen=True, kw_only=True):
    """The whole of `report.json`."""

    schema_version: int
    suite: str
    provenance: Provenance
    summary: Summary
    cases: list[CaseEntry]
    unmatched: list[Unmatched]
    input_errors: list[InputFault]
    input_warnings: list[InputWarning]


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """What people want to see beside a case's entry.

    Attributes:
        question: the case's question.
        answer: the final answer of the trace shown; None where there is none or it was left out.
        file: file of the trace shown.
        line: line in it.
        trial: which trial is shown.
        known_reason: why a failure of this case is known.
        tags: the case's tags.
    """

    question: str
    answer: str | None
    file: str | None
    line: int | None
    trial: int | None
    known_reason: str | None
    tags: tuple[str, ...]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that a writer sees.

    Attributes:
        report: the report.
        details: by case id.
        text: whether the free text of the traces was kept.
        diff: what changed since the baseline; None where there is none.
        snapshot: the run itself, for writers that explain single results; None for a report without one.
    """

    report: Report
    details: dict[str, Detail]
    text: bool
    diff: Diff | None = None
    snapshot: Snapshot | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing stands against this run but known failures."""
        summary = self.report.summary
        return (
            summary.total_cases > 0
            and summary.passed + summary.known_failures == summary.total_cases
            and summary.unreadable_records == 0
        )

    def cases(self, *statuses: Status, known: bool | None = None) -> Iterator[CaseEntry]:
        """The cases of these statuses, in order; `known` picks known failures or leaves them out."""
        for case in self.report.cases:
            if case.status in statuses and (known is None or case.known_failure is known):
                yield case


# The columns of the one trace per case that the report shows.
_SHOWN: Final = (
    "case_id",
    "trial",
    "trace_id",
    "file",
    "line",
    "reason",
    "failed_checks",
    "verdict",
    "evidence_required",
    "evidence_covered",
    "evidence_missing",
    "keywords_matched",
    "keywords_missing",
    "tool_call_count",
    "duration_ms",
    "gatekeeper_status",
    "composer_status",
    "claim_check_count",
    "question",
    "answer",
    "tags",
)


def build(snapshot: Snapshot, diff: Diff | None = None) -> View:
    """Make the report of a snapshot; all it needs stands there.

    Args:
        snapshot: the run.
        diff: what changed since a baseline, for the writers that show it.
    """
    info = snapshot.info
    cases = case_results(snapshot.rows)
    shown = (
        snapshot.rows.select(_SHOWN)
        .join(cases.lazy(), on="case_id")
        .filter(pl.col("trial").eq_missing(pl.col("shown_trial")))
        .sort("case_id")
        .collect()
    )
    rows = list(shown.iter_rows(named=True))
    report = Report(
        schema_version=REPORT_SCHEMA_VERSION,
        suite=info.suite,
        provenance=Provenance(
            tool="diagnosis-eval",
            tool_version=info.tool_version,
            cases_digest=info.cases_digest,
            traces_digest=info.traces_digest,
        ),
        summary=summarise(
            snapshot.rows,
            cases,
            unmatched_traces=info.unmatched_traces,
            unreadable_records=info.unreadable_records,
            input_warnings=info.input_warnings_count,
        ),
        cases=[_entry(row) for row in rows],
        unmatched=list(info.unmatched),
        input_errors=list(info.input_errors),
        input_warnings=list(info.input_warnings),
    )
    return View(
        report=report,
        details={row["case_id"]: _detail(row) for row in rows},
        text=info.text,
        diff=diff,
        snapshot=snapshot,
    )


def _entry(row: dict[str, Any]) -> CaseEntry:
    covered, uncovered = row["evidence_covered"], row["evidence_missing"]
    matched, missing = row["keywords_matched"], row["keywords_missing"]
    return CaseEntry(
        case_id=row["case_id"],
        trace_id=row["trace_id"],
        status=row["status"],
        reason=row["error_reason"] if row["status"] == "error" else row["reason"],
        failed_checks=[FailedCheck(**failed) for failed in row["failed_checks"]],
        known_failure=row["known_failure"],
        verdict=row["verdict"],
        evidence_coverage=EvidenceCoverage(
            required=row["evidence_required"],
            covered=covered,
            missing=uncovered,
            # Of an unreadable trace neither list has an entry: nothing was observed, and the ratio is null.
            ratio=ratio(len(covered), len(covered) + len(uncovered)),
        ),
        keyword_coverage=KeywordCoverage(
            matched=matched,
            missing=missing,
            ratio=ratio(len(matched), len(matched) + len(missing)),
        ),
        tool_call_count=row["tool_call_count"],
        duration_ms=None if row["duration_ms"] is None else round(row["duration_ms"], 6),
        gatekeeper_status=row["gatekeeper_status"],
        composer_status=row["composer_status"],
        claim_check_count=row["claim_check_count"],
        trials=row["trials"],
        passed_trials=row["passed_trials"],
    )


def _detail(row: dict[str, Any]) -> Detail:
    return Detail(
        question=row["question"],
        answer=row["answer"],
        file=row["file"],
        line=row["line"],
        trial=row["trial"],
        known_reason=row["known_reason"],
        tags=tuple(row["tags"]),
    )


def distribution(counts: dict[str, int]) -> Iterable[tuple[str, int]]:
    """A distribution for people: the most frequent first, the absent value last."""
    return sorted(counts.items(), key=lambda item: (item[0] == ABSENT, -item[1], item[0]))
