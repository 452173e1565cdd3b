"""The fixed cases and their fixtures: every one is there, passes, and fails as soon as anything it guards is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import pipeline
from pipeline.run import Options
from pipeline.sources.base import ReadTrace
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches
from pipeline.validate import validate

ROOT = Path(__file__).parents[1]
CASES, FIXTURES = ROOT / "cases", ROOT / "fixtures" / "traces"
VERDICTS = ("PASS", "REVISE", "REJECT")
# Reads as an answer, and as a degraded one, but names no cause.
EMPTY_WORDS = "Insufficient evidence: nothing can be said about it at this time."

Json = Any


def shipped_cases() -> list[Json]:
    files = sorted(CASES.glob("*.yaml"))
    documents = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    # What follows copies cases without what their file sets for all of them.
    assert all(set(document) == {"schemaVersion", "suite", "cases"} for document in documents)
    return [case for document in documents for case in document["cases"]]


SHIPPED = shipped_cases()


def by_id(case: Json) -> str:
    return str(case["id"])


# R12, R13: fixture coverage.


@pytest.mark.parametrize("case", SHIPPED, ids=by_id)
def test_every_case_names_a_fixture_that_exists(case: Json) -> None:
    """R12."""
    assert (FIXTURES / case["traceFixture"]).is_file()


@pytest.mark.parametrize("case", SHIPPED, ids=by_id)
def test_every_fixture_decodes_into_one_trace(case: Json) -> None:
    """R13."""
    records = [
        record
        for batch in read_batches(find_inputs([str(FIXTURES / case["traceFixture"])]))
        for record in (*batch.traces, *batch.unreadable)
    ]
    assert [(type(record), record.warned if isinstance(record, ReadTrace) else ()) for record in records] == [
        (ReadTrace, ()),
    ]


def test_every_fixture_belongs_to_a_case() -> None:
    files = {path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.is_file()}
    assert files == {case["traceFixture"] for case in SHIPPED}


def test_validate_finds_nothing() -> None:
    found = validate(Options(cases=(str(CASES),), traces=(str(FIXTURES),)))
    assert (found.cases, found.traces, found.faults, found.warnings) == (len(SHIPPED), len(SHIPPED), (), ())


def test_every_case_passes_but_the_known_failure() -> None:
    run = pipeline.evaluate(CASES, FIXTURES, strict=True)
    known = {case["id"]: sorted(case["knownFailure"]["checks"]) for case in SHIPPED if case.get("knownFailure")}
    failed = {
        case.case_id: sorted(one.check for one in case.failed_checks)
        for case in run.report.cases
        if case.status != "passed"
    }
    assert len(known) == 1
    assert (failed, run.view.holds, run.strict_faults) == (known, True, ())


def test_the_suite_shows_what_it_is_about() -> None:
    """Every verdict, both ways of rendering, both Gatekeeper results, cases with and without the V2 audit."""
    summary = pipeline.evaluate(CASES, FIXTURES).report.summary
    assert set(summary.verdict_distribution) == set(VERDICTS)
    assert set(summary.gatekeeper_distribution) == {"pass", "fail", "(none)"}
    assert set(summary.composer_distribution) == {"parsed", "fallback", "(none)"}
    audited = [bool(case.get("audit", {}).get("required")) for case in SHIPPED]
    assert {True, False} == set(audited)


# Sabotage: take away one thing at a time.


def evaluation_of(trace: Json) -> Json:
    """The Verifier's part of a trace, taken out of a string if it stands in one."""
    if isinstance(trace["selfEvaluation"], str):
        trace["selfEvaluation"] = json.loads(trace["selfEvaluation"])
    evaluation = trace["selfEvaluation"]
    return evaluation.get("verifier_evaluation") or evaluation["verifierEvaluation"]


def name_of(mention: Json) -> Json:
    if not isinstance(mention, dict):
        return mention
    return next((mention[key] for key in ("toolName", "tool_name", "name", "tool") if mention.get(key)), None)


def without_tools(trace: Json, tools: list[str]) -> Json:
    trace["toolInvocations"] = [call for call in trace["toolInvocations"] if name_of(call) not in tools]
    evaluation = evaluation_of(trace)
    if "trace_summary" in evaluation:
        evaluation["trace_summary"] = [one for one in evaluation["trace_summary"] if name_of(one) not in tools]
    return trace


def with_verdict(trace: Json, verdict: str | None) -> Json:
    evaluation_of(trace)["verdict"] = verdict
    return trace


def fixture_of(case: Json) -> Json:
    return json.loads((FIXTURES / case["traceFixture"]).read_text(encoding="utf-8"))


# A sabotage: its name, the check that must notice, the trace.
Sabotage = tuple[str, str, Json]


def sabotaged(case: Json) -> Iterator[Sabotage]:
    """Every sabotage of a case."""
    yield from what_is_lost(case)
    yield from what_must_not_be_said(case)
    yield from what_must_not_be_done(case)
    if case.get("audit", {}).get("required"):
        yield from what_is_not_audited(case)


def what_is_lost(case: Json) -> Iterator[Sabotage]:
    for entry in case["requiredEvidenceTools"]:
        tools = entry if isinstance(entry, list) else [entry]
        yield f"without-{'-'.join(tools)}", "evidence-coverage", without_tools(fixture_of(case), tools)
    original = evaluation_of(fixture_of(case))["verdict"]
    for verdict in (*VERDICTS, original.lower()):
        if verdict != original:
            yield f"verdict-{verdict}", "verdict-allowed", with_verdict(fixture_of(case), verdict)
    yield "no-verdict", "verdict-present", with_verdict(fixture_of(case), None)
    yield "no-answer", "answer-present", {**fixture_of(case), "finalAnswer": " "}
    yield "no-keywords", "root-cause-keywords", {**fixture_of(case), "finalAnswer": EMPTY_WORDS}


def what_must_not_be_said(case: Json) -> Iterator[Sabotage]:
    for key, check in (
        ("forbiddenAnswerKeywords", "forbidden-answer-keywords"),
        ("forbiddenConfirmedClaims", "forbidden-confirmed-claims"),
    ):
        for entry in case.get(key, []):
            for keyword in entry if isinstance(entry, list) else [entry]:
                text = keyword.get("word") if isinstance(keyword, dict) else keyword
                # A regex says no text that it matches.
                if text:
                    trace = fixture_of(case)
                    yield f"says-{text}", check, {**trace, "finalAnswer": f"{trace['finalAnswer']}\n\n{text}"}


def what_must_not_be_done(case: Json) -> Iterator[Sabotage]:
    for tool in case.get("forbiddenTools", []):
        trace = fixture_of(case)
        trace["toolInvocations"].append({"toolName": tool})
        yield f"calls-{tool}", "forbidden-tools", trace
    overruled = fixture_of(case)
    if evaluation_of(overruled)["verdict"] == "PASS":
        evaluation_of(overruled)["gatekeeper_result"] = {"status": "fail"}
        yield "gatekeeper-overruled", "gatekeeper-verdict-conflict", overruled


def what_is_not_audited(case: Json) -> Iterator[Sabotage]:
    for fields in (("gatekeeper_result", "gatekeeperResult"), ("claim_checks", "claimChecks")):
        yield f"no-{fields[0]}", "audit-fields-present", without_fields(fixture_of(case), fields)
    bare = without_fields(fixture_of(case), ("composer_output", "composerOutput"))
    yield "no-composer_output", "audit-fields-present", bare
    trace = fixture_of(case)
    yield "leaks-protocol", "raw-protocol-leak", {**trace, "finalAnswer": f"{trace['finalAnswer']} claim_id: c1"}


def without_fields(trace: Json, fields: tuple[str, ...]) -> Json:
    for field in fields:
        evaluation_of(trace).pop(field, None)
    return trace


@pytest.fixture(scope="module")
def sabotage(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, str, set[str]]]]:
    """All sabotages of all cases, judged in one run: per case the name, the check due, and the checks that failed."""
    folder = tmp_path_factory.mktemp("sabotage")
    (folder / "traces").mkdir()
    cases, due = [], {}
    for number, case in enumerate(SHIPPED):
        for index, (name, check, trace) in enumerate(sabotaged(case)):
            variant = f"{number}.{index}"
            cases.append({**case, "id": variant, "traceFixture": f"{variant}.json"})
            trace.pop("caseId", None)
            (folder / "traces" / f"{variant}.json").write_text(json.dumps(trace))
            due[variant] = (case["id"], name, check)
    (folder / "cases.json").write_text(json.dumps({"schemaVersion": 1, "suite": "sabotage", "cases": cases}))
    run = pipeline.evaluate(folder / "cases.json", folder / "traces")
    found: dict[str, list[tuple[str, str, set[str]]]] = {case["id"]: [] for case in SHIPPED}
    for entry in run.report.cases:
        case_id, name, check = due[entry.case_id]
        assert entry.status in {"passed", "failed"}, (case_id, name, entry.reason)
        found[case_id].append((name, check, {one.check for one in entry.failed_checks}))
    return found


@pytest.mark.parametrize("case", SHIPPED, ids=by_id)
def test_whatever_is_lost_is_noticed(case: Json, sabotage: dict[str, list[tuple[str, str, set[str]]]]) -> None:
    tried = sabotage[case["id"]]
    # Tools, two other verdicts, a misspelt one, none, no answer, no keywords.
    assert len(tried) >= len(case["requiredEvidenceTools"]) + 6
    assert [(name, check, failed) for name, check, failed in tried if check not in failed] == []


@pytest.mark.parametrize("case", SHIPPED, ids=by_id)
def test_no_known_failure_hides_what_is_lost(case: Json, sabotage: dict[str, list[tuple[str, str, set[str]]]]) -> None:
    known = set((case.get("knownFailure") or {"checks": []})["checks"])
    assert [name for name, _, failed in sabotage[case["id"]] if not failed - known] == []
