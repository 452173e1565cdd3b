"""A run from files to report: what the report says, what is selected, what is written (R07-R13, contract section 5)."""

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import pipeline
from pipeline.errors import CaseFileError, InputError, UsageError
from pipeline.report.base import all_writers
from pipeline.sources.read import read_batches

Json = Any
Evaluate = Callable[..., pipeline.Run]

BASE: Json = {"question": "Why?", "rootCauseKeywords": [], "requiredEvidenceTools": [], "requireVerdict": False}


def trace(verdict: str | None = None, **fields: Json) -> Json:
    verifier = {} if verdict is None else {"selfEvaluation": {"verifier_evaluation": {"verdict": verdict}}}
    return {"finalAnswer": "an answer", **verifier, **fields}


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    def run(cases: list[Json], files: dict[str, Json], suite: Json | None = None, **options: Any) -> pipeline.Run:
        """Evaluates cases (the id alone will do) over files (a list is written as lines)."""
        entries = [{**BASE, **({"id": case} if isinstance(case, str) else case)} for case in cases]
        document = {"schemaVersion": 1, "suite": "s", **(suite or {}), "cases": entries}
        (tmp_path / "cases.json").write_text(json.dumps(document))
        for name, content in files.items():
            path = tmp_path / "traces" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = "".join(json.dumps(one) + "\n" for one in content) if isinstance(content, list) else None
            path.write_text(
                content if isinstance(content, str) else lines if lines is not None else json.dumps(content)
            )
        (tmp_path / "traces").mkdir(exist_ok=True)
        return pipeline.evaluate(tmp_path / "cases.json", tmp_path / "traces", **options)

    return run


def as_json(run: pipeline.Run) -> Json:
    return msgspec.to_builtins(run.report)


def entry(run: pipeline.Run, case_id: str = "a") -> Json:
    return next(case for case in as_json(run)["cases"] if case["caseId"] == case_id)


# R07, R34: every field of a case.


def test_a_judged_case_says_everything(evaluate: Evaluate) -> None:
    case = {
        "id": "a",
        "rootCauseKeywords": [["pool", {"word": "OOM"}], {"regex": "x+"}, "absent"],
        "minKeywordCoverage": 0.5,
        "requiredEvidenceTools": ["searchLogs", ["redisInfo", "redisHotKeys"], "explainSql"],
        "allowedVerdicts": ["PASS"],
    }
    verifier = {
        "verdict": "PASS",
        "gatekeeper_result": {"status": " Pass "},
        "claim_checks": [{"claim_id": "c1"}],
        "composer_output": {"fallback_used": True},
    }
    calls = [{"toolName": "searchLogs"}, {"toolName": "redisHotKeys"}, {"toolName": "searchLogs"}]
    given = trace(
        traceId="t-1",
        finalAnswer="the pool, xx",
        toolInvocations=calls,
        durationMs=1.23456789,
        selfEvaluation={"verifier_evaluation": verifier},
    )
    called = "searchLogs (2), redisHotKeys (1)"
    assert entry(evaluate([case], {"a.json": given})) == {
        "caseId": "a",
        "traceId": "t-1",
        "status": "failed",
        "reason": None,
        "failedChecks": [
            {
                "check": "evidence-coverage",
                "message": f"required tool explainSql was neither called nor summarised; called: {called}",
                "expected": "explainSql",
                "observed": f"called: {called}",
            },
        ],
        "knownFailure": False,
        "verdict": "PASS",
        "evidenceCoverage": {
            "required": ["searchLogs", "redisInfo | redisHotKeys", "explainSql"],
            "covered": ["searchLogs", "redisInfo | redisHotKeys"],
            "missing": ["explainSql"],
            "ratio": 0.666667,
        },
        "keywordCoverage": {"matched": ["pool | word:OOM", "/x+/"], "missing": ["absent"], "ratio": 0.666667},
        "toolCallCount": 3,
        "durationMs": 1.234568,
        "gatekeeperStatus": "pass",
        "composerStatus": "fallback",
        "claimCheckCount": 1,
        "trials": 1,
        "passedTrials": 0,
    }


NOTHING: Json = {
    "traceId": None,
    "failedChecks": [],
    "knownFailure": False,
    "verdict": None,
    "evidenceCoverage": {"required": [], "covered": [], "missing": [], "ratio": None},
    "keywordCoverage": {"matched": [], "missing": [], "ratio": None},
    "toolCallCount": None,
    "durationMs": None,
    "gatekeeperStatus": None,
    "composerStatus": None,
    "claimCheckCount": None,
}


def test_what_a_trace_does_not_say_is_null_and_never_zero(evaluate: Evaluate) -> None:
    run = evaluate(["a"], {"a.json": trace()})
    assert entry(run) == {
        **NOTHING, "caseId": "a", "status": "passed", "reason": None, "trials": 1, "passedTrials": 1,
    }  # fmt: skip


def test_no_calls_are_zero_calls(evaluate: Evaluate) -> None:
    given = trace(toolInvocations=[], selfEvaluation={"verifier_evaluation": {"claim_checks": []}})
    case = entry(evaluate(["a"], {"a.json": given}))
    assert (case["toolCallCount"], case["claimCheckCount"]) == (0, 0)


def test_an_unreadable_trace_is_an_error_of_its_case(evaluate: Evaluate) -> None:
    run = evaluate(
        [{"id": "a", "requiredEvidenceTools": ["t"]}, "b"], {"a.json": {"finalAnswer": 7}, "b.json": trace()}
    )
    # Nothing was observed: neither covered nor missing.
    coverage = {**NOTHING["evidenceCoverage"], "required": ["t"]}
    assert entry(run) == {
        **NOTHING,
        "evidenceCoverage": coverage,
        "caseId": "a",
        "status": "error",
        "reason": "$.finalAnswer: text is due here, not number 7: correct what writes it",
        "trials": 1,
        "passedTrials": 0,
    }
    assert as_json(run)["inputErrors"] == [
        {
            "file": "a.json",
            "line": None,
            "path": "$.finalAnswer",
            "expected": "text",
            "found": "number 7",
            "message": "text is due here, not number 7: correct what writes it",
        },
    ]


@pytest.mark.parametrize(
    "case, files, reason",
    [
        pytest.param(
            {"id": "a"},
            {},
            "no trace is of this case: it names no traceFixture, no trace has caseId a, and no file is named a.json; "
            "one of the three is needed",
            id="no fixture named",
        ),
        pytest.param(
            {"id": "a", "traceFixture": "x.json"},
            {},
            "its trace fixture x.json was not found in the traces given; save it there, or correct traceFixture",
            id="no such fixture",
        ),
        pytest.param(
            {"id": "a", "traceFixture": "x.jsonl"},
            {"x.jsonl": ""},
            "its trace fixture x.jsonl holds no trace; save one there",
            id="an empty fixture",
        ),
    ],
)
def test_a_case_without_a_trace_is_not_run_and_says_why(
    case: Json, files: dict[str, str], reason: str, evaluate: Evaluate
) -> None:
    """R11."""
    run = evaluate([case], files)
    expected = {**NOTHING, "caseId": "a", "status": "not_run", "reason": reason, "trials": 0, "passedTrials": 0}
    assert (entry(run), run.evaluated_nothing) == (expected, True)


# R09: aggregates.


def test_figures_are_over_the_traces_that_tell(evaluate: Evaluate) -> None:
    verifier = {
        "verdict": "REVISE",
        "gatekeeper_result": {"status": "FAIL"},
        "claim_checks": [{"verification": "supported"}, {"verification": "odd"}, {}],
        "composer_output": "parsed",
    }
    cases = ["a", "b", "c", {"id": "d", "maxToolCalls": 1}, "e", "f"]
    files = {
        "a.json": trace("PASS", durationMs=10, toolInvocations=[{}, {}]),
        "b.json": trace("PASS", durationMs=20.5, toolInvocations=[]),
        "c.json": trace(durationMs=-1),
        "d.json": trace(toolInvocations=[{}, {}], selfEvaluation={"verifier_evaluation": verifier}, durationMs=30),
        "e.json": "{",
    }
    assert as_json(evaluate(cases, files))["summary"] == {
        "totalCases": 6,
        "passed": 3,
        "failed": 1,
        "notRun": 1,
        "errors": 1,
        "knownFailures": 0,
        "passRate": 0.5,
        "traces": 4,
        "unmatchedTraces": 0,
        "unreadableRecords": 1,
        "inputWarnings": 1,
        "verdictDistribution": {"(none)": 1, "PASS": 2, "REVISE": 1},
        "gatekeeperDistribution": {"(none)": 3, "fail": 1},
        "composerDistribution": {"(none)": 3, "parsed": 1},
        "claimVerificationDistribution": {"(none)": 1, "odd": 1, "supported": 1},
        "averageToolCalls": 1.333333,
        "tracesWithToolCalls": 3,
        "averageDurationMs": 20.166667,
        "durationMsP50": 20.5,
        "durationMsP95": 30.0,
        "tracesWithDuration": 3,
        "checkFailures": {"tool-call-budget": 1},
    }


def test_without_traces_there_is_no_average(evaluate: Evaluate) -> None:
    summary = as_json(evaluate(["a"], {}))["summary"]
    unknown = ("averageToolCalls", "averageDurationMs", "durationMsP50", "durationMsP95")
    assert {key: summary[key] for key in (*unknown, "passRate", "traces")} == {
        **dict.fromkeys(unknown), "passRate": 0.0, "traces": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "durations, p50, p95",
    [
        ([5], 5.0, 5.0),
        ([1, 2], 1.0, 2.0),
        ([4, 1, 3, 2], 2.0, 4.0),
        (list(range(1, 21)), 10.0, 19.0),
        (list(range(1, 101)), 50.0, 95.0),
        (list(range(1, 102)), 51.0, 96.0),
    ],
    ids=lambda value: f"{len(value)} traces" if isinstance(value, list) else "",
)
def test_percentiles_are_values_that_occurred(durations: list[int], p50: float, p95: float, evaluate: Evaluate) -> None:
    lines = [trace(caseId="a", durationMs=value) for value in durations]
    summary = evaluate(["a"], {"t.jsonl": lines}).report.summary
    assert (summary.duration_ms_p50, summary.duration_ms_p95) == (p50, p95)


def test_sums_are_exact(evaluate: Evaluate) -> None:
    lines = [trace(caseId="a", durationMs=value) for value in (1e16, 1.0, 1.0, 0.1)]
    summary = evaluate(["a"], {"t.jsonl": lines}).report.summary
    assert summary.average_duration_ms == (10**16 + 2) / 4


def test_a_known_failure_is_counted_as_failed_too(evaluate: Evaluate) -> None:
    known = {"checks": ["tool-call-budget"], "reason": "r"}
    cases = [
        {"id": "a", "maxToolCalls": 0, "knownFailure": known},
        {"id": "b", "maxToolCalls": 0, "maxDurationMs": 0, "knownFailure": known},
        {"id": "c", "knownFailure": known},
    ]
    given = trace(toolInvocations=[{}], durationMs=1)
    run = evaluate(cases, {f"{name}.json": given for name in "abc"})
    summary = run.report.summary
    assert (summary.failed, summary.known_failures, summary.pass_rate) == (2, 1, 0.333333)
    assert [(case.case_id, case.known_failure) for case in run.report.cases] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_of_several_trials_the_first_that_failed_is_shown(evaluate: Evaluate) -> None:
    lines = [
        trace(traceId=name, caseId="a", trial=number, durationMs=duration)
        for name, number, duration in (("x", 3, 9), ("y", 1, 1), ("z", 2, 8))
    ]
    case = entry(evaluate([{"id": "a", "maxDurationMs": 5, "passPolicy": "any"}], {"t.jsonl": lines}))
    assert {key: case[key] for key in ("status", "traceId", "durationMs", "trials", "passedTrials")} == {
        "status": "passed",
        "traceId": "z",
        "durationMs": 8.0,
        "trials": 3,
        "passedTrials": 1,
    }


# Lists.


def test_traces_of_no_case_are_listed(evaluate: Evaluate) -> None:
    files = {"in/t.jsonl": [trace(traceId="x", caseId="zz"), trace(caseId="a")], "other.json": trace()}
    report = as_json(evaluate(["a"], files))
    assert report["unmatched"] == [
        {"file": "in/t.jsonl", "line": 1, "traceId": "x", "caseId": "zz"},
        {"file": "other.json", "line": None, "traceId": None, "caseId": None},
    ]
    assert report["summary"]["unmatchedTraces"] == 2


def test_traces_of_cases_left_out_are_not_listed(evaluate: Evaluate) -> None:
    run = evaluate(["a", "b"], {"a.json": trace(), "b.json": "{"}, case_globs=["a"])
    assert (run.report.unmatched, run.report.input_errors, run.report.summary.total_cases) == ([], [], 1)


@pytest.mark.parametrize("batch_bytes", [1, 1 << 30])
def test_lists_are_cut_at_1000_entries_and_counted_in_full(
    batch_bytes: int, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    if batch_bytes == 1:
        monkeypatch.setattr("pipeline.flatten.batches.read_batches", partial(read_batches, batch_bytes=40_000))
    unknown, broken, odd = trace(caseId="zz"), {"finalAnswer": 7}, trace(caseId="a", toolInvocations=[None])
    files = {"b.jsonl": [unknown, broken, odd] * 701, "a.jsonl": [odd, unknown, broken] * 301}
    report = evaluate(["a"], files).report
    counts = report.summary.unmatched_traces, report.summary.unreadable_records, report.summary.input_warnings
    assert counts == (1002, 1002, 1002)
    for entries, offset in ((report.unmatched, 0), (report.input_errors, 1), (report.input_warnings, 2)):
        first = [("a.jsonl", number * 3 + (offset + 1) % 3 + 1) for number in range(301)]
        second = [("b.jsonl", number * 3 + offset + 1) for number in range(699)]
        assert [(one.file, one.line) for one in entries] == [*first, *second]


def test_records_that_read_alike_are_counted_apart(tmp_path: Path, evaluate: Evaluate) -> None:
    evaluate(["a"], {"a.json": trace()})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text("{")
    traces = [tmp_path / "traces", tmp_path / "one", tmp_path / "two"]
    assert pipeline.evaluate(tmp_path / "cases.json", traces).report.summary.unreadable_records == 2


def test_a_record_of_two_cases_is_one_unreadable_record(evaluate: Evaluate) -> None:
    cases = [{"id": name, "traceFixture": "x.json"} for name in "ab"]
    run = evaluate(cases, {"x.json": "{"})
    assert ([case.status for case in run.report.cases], run.report.summary.unreadable_records) == (["error"] * 2, 1)


# --strict.


@pytest.mark.parametrize(
    "files, faults",
    [
        ({"a.json": trace()}, ()),
        ({"a.json": trace(durationMs=-1)}, ("1 input warning, see inputWarnings in report.json",)),
        ({"a.json": trace(), "x.json": trace()}, ("1 trace of no case, see unmatched in report.json",)),
        (
            {"a.json": trace(), "x.jsonl": "7\n8\n"},
            ("2 unreadable records, see inputErrors in report.json",),
        ),
    ],
    ids=["clean", "warning", "unmatched", "unreadable"],
)
def test_strict_faults(files: dict[str, Json], faults: tuple[str, ...], evaluate: Evaluate) -> None:
    assert evaluate(["a"], files, strict=True).strict_faults == faults
    assert evaluate(["a"], files).strict_faults == ()


# --case and --tag.

TAGGED = [{"id": "ab", "tags": ["x"]}, {"id": "ac", "tags": ["x", "y"]}, {"id": "bc", "tags": ["y"]}]


@pytest.mark.parametrize(
    "globs, tags, selected",
    [
        pytest.param([], [], ["ab", "ac", "bc"], id="all"),
        pytest.param(["a*"], [], ["ab", "ac"], id="a pattern"),
        pytest.param(["ab", "b?"], [], ["ab", "bc"], id="any of two patterns"),
        pytest.param([], ["y"], ["ac", "bc"], id="a tag"),
        pytest.param([], ["x", "y"], ["ab", "ac", "bc"], id="any of two tags"),
        pytest.param(["a*"], ["y"], ["ac"], id="a pattern and a tag"),
    ],
)
def test_selected_cases(globs: list[str], tags: list[str], selected: list[str], evaluate: Evaluate) -> None:
    run = evaluate(TAGGED, {"ab.json": trace()}, case_globs=globs, tags=tags)
    assert [case.case_id for case in run.report.cases] == selected


@pytest.mark.parametrize("globs, tags", [(["A*"], []), ([], ["z"]), (["ab"], ["y"]), (["ab", "zz"], [])])
def test_a_selection_that_selects_nothing_is_refused(globs: list[str], tags: list[str], evaluate: Evaluate) -> None:
    with pytest.raises(UsageError):
        evaluate(TAGGED, {}, case_globs=globs, tags=tags)


# The API.


def test_a_broken_case_file_is_refused_before_anything_is_written(evaluate: Evaluate, tmp_path: Path) -> None:
    with pytest.raises(CaseFileError):
        evaluate([{"id": "a", "unknown": 1}, {"id": "a"}], {"a.json": trace()}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_fixture_under_two_roots_is_refused(evaluate: Evaluate, tmp_path: Path) -> None:
    evaluate([{"id": "a", "traceFixture": "x.json"}], {"x.json": trace()})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.json").write_text(json.dumps(trace()))
    with pytest.raises(InputError, match=r"the traceFixture x\.json of case a stands under 2 of the trace folders"):
        pipeline.evaluate(tmp_path / "cases.json", [tmp_path / "traces", tmp_path / "other"])


def test_a_fixture_that_leads_out_of_its_root_is_refused(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "elsewhere.json").write_text("{}")
    (tmp_path / "traces/x.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(CaseFileError, match="symbolic link"):
        evaluate([{"id": "a", "traceFixture": "x.json"}], {})


def test_paths_may_be_of_any_kind(evaluate: Evaluate, tmp_path: Path) -> None:
    one = evaluate(["a"], {"a.json": trace()})
    two = pipeline.evaluate([str(tmp_path / "cases.json")], (tmp_path / "traces", str(tmp_path / "traces" / "a.json")))
    assert one.report == two.report


def test_nothing_is_written_without_a_folder(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = evaluate(["a"], {"a.json": trace()})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.json", "traces"]
    assert run.snapshot.rows.collect().height == 1


def test_the_rows_in_memory_are_those_of_the_file(evaluate: Evaluate, tmp_path: Path) -> None:
    files = {"a.json": trace("PASS"), "b.json": "{"}
    inside, written = evaluate(["a", "b", "c"], files), evaluate(["a", "b", "c"], files, out=tmp_path / "out")
    assert inside.snapshot.rows.collect().equals(written.snapshot.rows.collect())
    assert inside.snapshot.info == written.snapshot.info
    assert (inside.report, inside.view.details) == (written.report, written.view.details)


def test_files_that_are_no_traces_are_counted(evaluate: Evaluate) -> None:
    run = evaluate(["a"], {"a.json": trace(), "notes.md": "x", ".hidden.json": "x"})
    assert (run.skipped_files, run.report.summary.traces) == (2, 1)


def test_an_unknown_output_format_is_refused(evaluate: Evaluate) -> None:
    with pytest.raises(UsageError, match=r"'jsn'.*\ndid you mean json\?"):
        evaluate(["a"], {}, formats=["jsn"])


def test_compressed_traces_are_traces(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/a.json.gz").write_bytes(gzip.compress(json.dumps(trace()).encode()))
    assert evaluate(["a"], {}).report.summary.passed == 1


# What is written.


def test_what_a_run_writes(evaluate: Evaluate, tmp_path: Path) -> None:
    run = evaluate(["a"], {"a.json": trace()}, out=tmp_path / "out" / "deep")
    names = sorted(path.name for path in (tmp_path / "out/deep").iterdir())
    assert names == ["report.json", "report.md", "run.json", "snapshot.parquet"]
    assert json.loads((tmp_path / "out/deep/report.json").read_text()) == json.loads(msgspec.json.encode(run.report))


def test_the_report_holds_no_time_host_or_path(evaluate: Evaluate, tmp_path: Path) -> None:
    evaluate(["a", "b"], {"in/a.json": trace(), "b.json": "{", "x.json": trace()}, out=tmp_path / "out")
    for name in ("report.json", "report.md"):
        text = (tmp_path / "out" / name).read_text()
        assert str(tmp_path) not in text
        assert re.findall(r"\b20\d\d-\d\d|\d\d:\d\d:\d\d", text) == []
    metadata = json.dumps(pl.read_parquet_metadata(tmp_path / "out/snapshot.parquet"))
    assert str(tmp_path) not in metadata


def test_the_facts_of_this_one_run_stand_in_run_json(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q", "-b", "topic"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    evaluate(["a"], {"a.json": trace(), "notes.txt": ""}, out=tmp_path / "out")
    facts = json.loads((tmp_path / "out/run.json").read_text())
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", facts.pop("startedAt"))
    assert facts.pop("durationSeconds") >= 0
    assert facts == {"schemaVersion": 1, "commit": head, "branch": "topic", "skippedFiles": 1}


def test_outside_a_repository_there_is_no_commit(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    evaluate(["a"], {"a.json": trace()}, out=tmp_path / "out")
    facts = json.loads((tmp_path / "out/run.json").read_text())
    assert (facts["commit"], facts["branch"]) == (None, None)


WORD = "Wistaria"


def test_without_text_no_free_text_of_a_trace_is_written(evaluate: Evaluate, tmp_path: Path) -> None:
    """--no-text: answers, arguments, results, details and claims; not the names of tools and verdicts."""
    sentence = f"{WORD} was restarted at ten o'clock by the operator on call."
    verifier = {
        "verdict": "REJECT",
        "gatekeeper_result": {"status": "fail", "violations": [WORD]},
        "claim_checks": [{"claim_id": "c1", "verification": "contradicted", "detail": WORD}],
        "trace_summary": [{"toolName": "t", "summary": WORD}],
    }
    given = {
        "question": WORD,
        "finalAnswer": f"We know it. {sentence}",
        "executorOutput": {"answer": sentence, "claims": [{"claim_id": "c1", "text": sentence}]},
        "toolInvocations": [{"toolName": "t", "arguments": {"k": WORD}, "resultSummary": WORD, "error": WORD}],
        "selfEvaluation": {"verifier_evaluation": verifier},
    }
    case = {
        "id": "a",
        "toolArguments": [{"tool": "t", "arguments": {"k": "v"}}],
        "audit": {"noUnsupportedClaimText": True},
    }
    files = {"a.json": given, "x.jsonl": f'{{"caseId": "{WORD}\n'}
    formats = [writer.name for writer in all_writers()]
    run = evaluate([case], files, with_text=False, out=tmp_path / "out", formats=formats)
    failed = {one["check"]: one["message"] for one in entry(run)["failedChecks"]}
    assert set(failed) == {"degraded-output", "tool-arguments", "unsupported-claim-text"}
    assert all("(text left out)" in message for message in failed.values())
    for writer in all_writers():
        assert WORD not in (tmp_path / "out" / writer.file).read_text(), writer.name
    rows = pl.read_parquet(tmp_path / "out/snapshot.parquet")
    assert WORD not in json.dumps(rows.to_dicts(), default=str)
    assert WORD not in json.dumps(pl.read_parquet_metadata(tmp_path / "out/snapshot.parquet"))


def test_leaving_text_out_changes_no_result(evaluate: Evaluate) -> None:
    files = {"a.json": trace("REJECT", executorOutput="an answer, as it was before"), "b.json": trace("PASS")}
    full, bare = (evaluate(["a", "b"], files, with_text=kept).report for kept in (True, False))
    assert full.summary == bare.summary
    assert [case.status for case in full.cases] == [case.status for case in bare.cases] == ["failed", "passed"]
