"""Whatever the report shows can be had as a frame, with the same figures."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pipeline as de
from pipeline.report.model import Report, build

ROOT = Path(__file__).parents[2]
Json = Any


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("cases", "fixtures/traces"), id="the fixed suite"),
        pytest.param(("cases", "fixtures/regressed"), id="the regressed traces"),
        pytest.param(("tests/report/golden/cases.yaml", "tests/report/golden/traces"), id="the golden run"),
    ],
)
def snapshot(request: pytest.FixtureRequest) -> de.Snapshot:
    cases, traces = request.param
    return de.evaluate(ROOT / cases, ROOT / traces).snapshot


@pytest.fixture(scope="module")
def report(snapshot: de.Snapshot) -> Report:
    return build(snapshot).report


DISTRIBUTIONS = {
    "verdict": "verdict_distribution",
    "gatekeeper": "gatekeeper_distribution",
    "composer": "composer_distribution",
    "claim-verification": "claim_verification_distribution",
    "check-failure": "check_failures",
}


def test_every_figure_of_the_summary(snapshot: de.Snapshot, report: Report) -> None:
    (figures,) = de.frames.summary(snapshot).iter_rows(named=True)
    counts: Json = {name: {} for name in DISTRIBUTIONS.values()}
    for name, value, count in de.frames.distributions(snapshot).iter_rows():
        counts[DISTRIBUTIONS[name]][value] = count

    assert {**figures, **counts} == {"suite": report.suite, **msgspec.structs.asdict(report.summary)}


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def test_every_case(snapshot: de.Snapshot, report: Report) -> None:
    required: dict[str, list[str]] = {}
    for row in snapshot.rows.select("case_id", "evidence_required").collect().iter_rows(named=True):
        required[row["case_id"]] = row["evidence_required"]
    failed = {
        (row["case_id"], row["trial"], row["check"]): row for row in de.frames.checks(snapshot).iter_rows(named=True)
    }
    entries = [
        {
            "caseId": row["case_id"],
            "traceId": row["trace_id"],
            "status": row["status"],
            "reason": row["reason"],
            "failedChecks": [
                {
                    "check": check,
                    **{
                        name: failed[row["case_id"], row["shown_trial"], check][name]
                        for name in ("message", "expected", "observed")
                    },
                }
                for check in row["failed_checks"]
            ],
            "knownFailure": row["known_failure"],
            "verdict": row["verdict"],
            "evidenceCoverage": {
                "required": required[row["case_id"]],
                "covered": row["evidence_covered"],
                "missing": row["evidence_missing"],
                "ratio": rounded(row["evidence_ratio"]),
            },
            "keywordCoverage": {
                "matched": row["keywords_matched"],
                "missing": row["keywords_missing"],
                "ratio": rounded(row["keyword_ratio"]),
            },
            "toolCallCount": row["tool_call_count"],
            "durationMs": rounded(row["duration_ms"]),
            "gatekeeperStatus": row["gatekeeper_status"],
            "composerStatus": row["composer_status"],
            "claimCheckCount": row["claim_check_count"],
            "trials": row["trials"],
            "passedTrials": row["passed_trials"],
        }
        for row in de.frames.cases(snapshot).iter_rows(named=True)
    ]

    assert entries == json.loads(msgspec.json.encode(report.cases))


def test_every_list(snapshot: de.Snapshot, report: Report) -> None:
    assert de.frames.unmatched(snapshot).rows() == [msgspec.structs.astuple(one) for one in report.unmatched]
    assert de.frames.input_errors(snapshot).rows() == [msgspec.structs.astuple(one) for one in report.input_errors]
    assert de.frames.input_warnings(snapshot).rows() == [msgspec.structs.astuple(one) for one in report.input_warnings]


def test_frames_agree_with_each_other(snapshot: de.Snapshot, report: Report) -> None:
    """Counted over the rows, the figures are those of the summary."""
    summary = report.summary
    outcomes = de.frames.verdict_outcomes(snapshot)
    checks = de.frames.checks(snapshot)

    assert outcomes["traces"].sum() == summary.traces
    assert checks.filter(outcome="fail").height == sum(summary.check_failures.values())
    assert de.frames.claim_checks(snapshot).height == sum(summary.claim_verification_distribution.values())
    assert de.frames.tool_usage(snapshot)["calls"].sum() == de.frames.tool_calls(snapshot).height
    assert de.frames.cases(snapshot).height == summary.total_cases
