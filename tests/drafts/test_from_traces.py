"""Cases drafted from good traces."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.drafts.from_traces import FromTraces, draft_cases
from pipeline.report.model import CaseEntry
from tests.drafts.conftest import cases_of, comments_of

FIXTURES = Path(__file__).parents[2] / "fixtures/traces"
Draft = Callable[..., FromTraces]

POOL = {
    "question": "Why is checkout slow?",
    "finalAnswer": "The HikariCP pool is exhausted: 10 of 10 connections are in use.",
    "toolInvocations": [{"toolName": "searchLogs"}, {"toolName": "ping"}, {"toolName": "searchLogs"}],
    "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"}},
}
DISK = {"question": "Why?", "finalAnswer": "The disk of gw-node-07 is full of debug logs.", "toolInvocations": []}


@pytest.fixture
def drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draft:
    """Write traces, each to a file of its own, and draft from the folder."""
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()

    def write_and_draft(**traces: Any) -> FromTraces:
        for name, trace in traces.items():
            lines = trace if isinstance(trace, list) else [trace]
            ending = "jsonl" if isinstance(trace, list) else "json"
            Path(f"traces/{name}.{ending}").write_text("\n".join(map(json.dumps, lines)), "utf-8")
        return draft_cases(["traces"], "drafted")

    return write_and_draft


@pytest.fixture(scope="module")
def shipped() -> FromTraces:
    return draft_cases([str(FIXTURES)], "drafted")


@pytest.fixture(scope="module")
def on_their_own(shipped: FromTraces, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseEntry]:
    """The shipped fixtures, judged by the cases drafted from them."""
    cases = tmp_path_factory.mktemp("drafts") / "cases.yaml"
    cases.write_bytes(shipped.data)
    return {entry.case_id: entry for entry in pipeline.evaluate(cases, FIXTURES).report.cases}


def test_every_fixture_gets_a_case(shipped: FromTraces) -> None:
    assert (sorted(cases_of(shipped.data)), shipped.told, shipped.faults) == (
        sorted(path.stem for path in FIXTURES.glob("*.json")),
        (),
        (),
    )


def test_every_case_passes_on_its_own_trace(on_their_own: dict[str, CaseEntry]) -> None:
    assert {name: entry.failed_checks for name, entry in on_their_own.items() if entry.status != "passed"} == {}


def test_no_case_passes_on_the_trace_of_another(shipped: FromTraces, tmp_path: Path) -> None:
    cases = cases_of(shipped.data)
    with_keywords = [name for name, case in cases.items() if case["rootCauseKeywords"]]
    (tmp_path / "cases.yaml").write_bytes(shipped.data)
    with (tmp_path / "shifted.jsonl").open("w", encoding="utf-8") as file:
        for name, other in zip(with_keywords, with_keywords[1:] + with_keywords[:1], strict=True):
            trace = json.loads((FIXTURES / f"{other}.json").read_bytes())
            file.write(json.dumps({**trace, "caseId": name}) + "\n")
    entries = pipeline.evaluate(tmp_path / "cases.yaml", tmp_path / "shifted.jsonl").report.cases

    found = [entry.case_id for entry in entries if "root-cause-keywords" in [one.check for one in entry.failed_checks]]
    assert found == sorted(with_keywords)


def test_a_case_asks_for_what_its_trace_has(drafted: Draft) -> None:
    cases = cases_of(drafted(pool=POOL, disk=DISK).data)

    assert cases["pool"]["requiredEvidenceTools"] == ["searchLogs", "ping"]
    assert cases["pool"]["allowedVerdicts"] == ["PASS"]
    assert cases["pool"]["question"] == "Why is checkout slow?"
    assert (cases["disk"]["requiredEvidenceTools"], cases["disk"]["requireVerdict"]) == ([], False)
    assert "disk of gw-node-07" in cases["disk"]["rootCauseKeywords"]
    assert "audit" not in cases["pool"]


def test_the_audit_chain_that_is_there_is_asked_for(shipped: FromTraces) -> None:
    assert cases_of(shipped.data)["mysql-replication-lag"]["allowedVerdicts"] == ["REVISE"]
    assert cases_of(shipped.data)["pod-oom-killed"]["audit"] == {
        "required": True,
        "claimChecks": True,
        "minClaimChecks": 3,
        "composer": True,
        "claimBindings": True,
        "maxUnsupportedClaims": 0,
        "noUnsupportedClaimText": True,
    }


def test_what_does_not_hold_is_not_asked_for_and_told(shipped: FromTraces) -> None:
    audit = cases_of(shipped.data)["file-descriptors-exhausted"]["audit"]

    assert ("maxUnsupportedClaims" in audit, audit["claimChecks"]) == (False, True)
    assert any(
        line.startswith("not carried over: audit.maxUnsupportedClaims (its own trace fails it: 1 unsupported")
        for line in comments_of(shipped.data)
    )


def test_a_degraded_answer_gives_no_keywords(shipped: FromTraces) -> None:
    case = cases_of(shipped.data)["insufficient-evidence-degraded"]

    assert (case["allowedVerdicts"], case["rootCauseKeywords"]) == (["REJECT"], [])


def conflict() -> dict[str, Any]:
    evaluation = {"verdict": "PASS", "gatekeeper_result": {"status": "fail"}}
    return {**POOL, "selfEvaluation": {"verifier_evaluation": evaluation}}


@pytest.mark.parametrize(
    "trace, told",
    [
        pytest.param({**POOL, "finalAnswer": " "}, "not drafted: it has no final answer", id="no-answer"),
        pytest.param(conflict(), "not drafted: it is no good trace; gatekeeper-verdict-conflict: the ", id="conflict"),
        pytest.param(
            {**POOL, "selfEvaluation": {"verifier_evaluation": {"verdict": "REJECT"}}},
            "not drafted: it is no good trace; degraded-output: ",
            id="a-rejected-answer-that-is-given-all-the-same",
        ),
    ],
)
def test_a_trace_that_is_not_good_gets_no_case(drafted: Draft, trace: dict[str, Any], told: str) -> None:
    found = drafted(bad=trace, disk=DISK)

    assert list(cases_of(found.data)) == ["disk"]
    assert [line.startswith(f"bad.json: {told}") for line in found.told] == [True]


def test_nothing_good_gives_no_file(drafted: Draft) -> None:
    assert drafted(bad=conflict()).data == b""


def test_further_trials_of_a_case_are_told(drafted: Draft) -> None:
    found = drafted(trials=[{**POOL, "caseId": "pool"}, {**POOL, "caseId": "pool", "trial": 2}])

    assert list(cases_of(found.data)) == ["pool"]
    assert found.told == ("trials.jsonl:2: not drafted: it is a further trial of case pool",)


@pytest.mark.parametrize(
    "traces, fixture, told",
    [
        pytest.param({"pool": POOL}, None, [], id="the-stem-is-the-case"),
        pytest.param({"a b": POOL}, "a b.json", [], id="a-stem-that-is-no-case-id"),
        pytest.param({"a b": {**POOL, "caseId": "c"}}, None, [], id="the-trace-says-it"),
        pytest.param({"one": [POOL]}, "one.jsonl", [], id="a-line-file-of-one"),
        pytest.param(
            {"two": [POOL, {**DISK, "caseId": "disk"}]},
            None,
            ["two.jsonl:1: give the trace the caseId two, or it belongs to no case"],
            id="one-of-several",
        ),
        pytest.param(
            {"a": {**POOL, "caseId": "x/y"}},
            None,
            ["a.json: give the trace the caseId x-y, or it belongs to no case"],
            id="a-case-id-that-is-none",
        ),
    ],
)
def test_how_a_case_finds_its_trace(
    drafted: Draft, traces: dict[str, Any], fixture: str | None, told: list[str]
) -> None:
    found = drafted(**traces)
    case = next(iter(cases_of(found.data).values()))

    assert (case.get("traceFixture"), list(found.told)) == (fixture, told)
    Path("cases.yaml").write_bytes(found.data)
    statuses = [entry.status for entry in pipeline.evaluate("cases.yaml", "traces").report.cases]
    assert statuses.count("not_run") == len(told)


def test_a_verdict_of_another_verifier_is_declared(drafted: Draft) -> None:
    trace = {**POOL, "selfEvaluation": {"verifier_evaluation": {"verdict": "APPROVED"}}}

    assert cases_of(drafted(a=trace).data)["a"]["allowedVerdicts"] == ["APPROVED"]


def test_a_question_that_is_not_there_is_told(drafted: Draft) -> None:
    found = drafted(disk={**DISK, "question": None})

    assert cases_of(found.data)["disk"]["question"] == "disk"
    assert "the trace does not say what was asked: write it here" in comments_of(found.data)


def test_names_that_no_case_may_hold_are_told(drafted: Draft) -> None:
    trace = {**POOL, "toolInvocations": [{"toolName": "a\u202eb"}, {"toolName": "ping"}]}
    trace["selfEvaluation"] = {"verifier_evaluation": {"verdict": "OK\u200b"}}
    found = drafted(a=trace)

    assert cases_of(found.data)["a"]["requiredEvidenceTools"] == ["ping"]
    assert cases_of(found.data)["a"]["requireVerdict"] is False
    assert sum(line.startswith("not carried over: ") for line in comments_of(found.data)) == 2


def test_tools_of_the_summary_stand_in_for_calls_that_are_not_recorded(drafted: Draft) -> None:
    evaluation = {"verdict": "PASS", "trace_summary": ["searchLogs", "searchLogs"]}
    trace = {**POOL, "toolInvocations": None, "selfEvaluation": {"verifier_evaluation": evaluation}}

    assert cases_of(drafted(a=trace).data)["a"]["requiredEvidenceTools"] == ["searchLogs"]


def test_an_unreadable_record_costs_no_other(drafted: Draft) -> None:
    Path("traces/broken.json").write_text("{")
    found = drafted(pool=POOL)

    assert list(cases_of(found.data)) == ["pool"]
    assert [fault.file for fault in found.faults] == ["broken.json"]


def test_the_same_traces_give_the_same_bytes(drafted: Draft) -> None:
    first = drafted(pool=POOL, disk=DISK).data

    assert draft_cases(["traces"], "drafted").data == first
