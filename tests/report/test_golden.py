"""Every writer, byte for byte.

A writer without its golden file fails here. After a change that is meant, write the files again and review them:
`GOLDEN=write python -m pytest tests/report/test_golden.py`.
"""

import json
import os
from pathlib import Path

import pytest

import pipeline
from pipeline.diff import Diff, diff
from pipeline.report.base import Writer, all_writers
from pipeline.report.model import build

EXPECTED = Path(__file__).parent / "golden" / "expected"
WRITERS = list(all_writers())
DIFF_WRITERS = [writer for writer in WRITERS if writer.render_diff is not None]


@pytest.fixture(scope="module")
def golden_diff(golden_baseline: pipeline.Run, golden_run: pipeline.Run) -> Diff:
    return diff(golden_baseline.snapshot, golden_run.snapshot)


def expect(file: str, written: bytes) -> None:
    path = EXPECTED / file
    if os.environ.get("GOLDEN") == "write":
        path.write_bytes(written)
    assert path.is_file(), f"{path} is missing: write it with GOLDEN=write, and review it"
    assert written.decode() == path.read_bytes().decode()


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_a_report(writer: Writer, golden_run: pipeline.Run) -> None:
    expect(writer.file, writer.render(golden_run.view))


@pytest.mark.parametrize("writer", DIFF_WRITERS, ids=lambda writer: writer.name)
def test_a_diff(writer: Writer, golden_diff: Diff) -> None:
    assert writer.render_diff is not None
    expect(writer.diff_file, writer.render_diff(golden_diff))


def test_there_is_no_golden_file_without_its_writer() -> None:
    files = {writer.file for writer in WRITERS} | {writer.diff_file for writer in DIFF_WRITERS}
    assert {path.name for path in EXPECTED.iterdir()} == files


def test_the_golden_run_shows_every_status(golden_run: pipeline.Run) -> None:
    cases = {case.case_id: (case.status, case.known_failure, case.trials) for case in golden_run.report.cases}
    assert cases == {
        "broken": ("error", False, 1),
        "enough-trials": ("passed", False, 4),
        "fails": ("failed", False, 1),
        "hostile": ("failed", False, 1),
        "known-failure": ("failed", True, 1),
        "leaks": ("failed", False, 1),
        "missing": ("not_run", False, 0),
        "passes": ("passed", False, 1),
        "trials": ("failed", False, 3),
    }


def test_a_report_rendered_from_the_snapshot_is_the_same(tmp_path: Path) -> None:
    golden = EXPECTED.parent
    run = pipeline.evaluate(golden / "cases.yaml", golden / "traces", out=tmp_path, formats=[w.name for w in WRITERS])
    again = [writer.render(build(pipeline.read_snapshot(str(tmp_path)))) for writer in WRITERS]
    assert [(tmp_path / writer.file).read_bytes() for writer in WRITERS] == again
    assert [writer.render(run.view) for writer in WRITERS] == again


def test_the_json_report_has_the_keys_of_the_contract() -> None:
    report = json.loads((EXPECTED / "report.json").read_text(encoding="utf-8"))
    assert {key: sorted(report[key]) for key in ("provenance", "summary")} == {
        "provenance": ["casesDigest", "tool", "toolVersion", "tracesDigest"],
        "summary": sorted(
            [
                *("totalCases", "passed", "failed", "notRun", "errors", "knownFailures", "passRate"),
                *("traces", "unmatchedTraces", "unreadableRecords", "inputWarnings"),
                *("verdictDistribution", "gatekeeperDistribution", "composerDistribution"),
                *("claimVerificationDistribution", "averageToolCalls", "tracesWithToolCalls", "averageDurationMs"),
                *("durationMsP50", "durationMsP95", "tracesWithDuration", "checkFailures"),
            ],
        ),
    }
    case = [
        *("caseId", "traceId", "status", "reason", "failedChecks", "knownFailure", "verdict", "evidenceCoverage"),
        *("keywordCoverage", "toolCallCount", "durationMs", "gatekeeperStatus", "composerStatus", "claimCheckCount"),
        *("trials", "passedTrials"),
    ]
    assert [list(entry) for entry in report["cases"]] == [case] * 9
    assert {key: list(report[key][0]) for key in ("unmatched", "inputErrors", "inputWarnings")} == {
        "unmatched": ["file", "line", "traceId", "caseId"],
        "inputErrors": ["file", "line", "path", "expected", "found", "message"],
        "inputWarnings": ["file", "line", "path", "kind", "message"],
    }
    assert list(report) == [
        *("schemaVersion", "suite", "provenance", "summary", "cases"),
        *("unmatched", "inputErrors", "inputWarnings"),
    ]
