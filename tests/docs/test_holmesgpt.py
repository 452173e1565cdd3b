"""Real conversations of HolmesGPT, judged by the cases of docs/eval/examples, with figures counted by eye."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import pipeline
from pipeline.report.model import CaseEntry

ROOT = Path(__file__).parents[2]
CASES = ROOT / "docs/eval/examples/holmesgpt.yaml"
SHARED = Path(os.environ.get("DIAGNOSIS_EVAL_SHARED") or ROOT.parent / "shared")
CONVERSATIONS = SHARED / "traces/holmesgpt"

CLUSTER, POOL, REDIS = "cluster-wide-pod-health", "connection-pool-of-ten", "redis-client-connection-leak"

pytestmark = pytest.mark.skipif(
    not CONVERSATIONS.is_dir(),
    reason="the saved conversations are not here; DIAGNOSIS_EVAL_SHARED names the folder that holds traces/holmesgpt",
)

Vary = Callable[[dict[str, Any]], None]


def judged(cases: Path) -> dict[str, CaseEntry]:
    run = pipeline.evaluate(cases, CONVERSATIONS / "*conversation_history.json", from_format="openai-chat")
    assert (run.report.summary.input_warnings, run.report.input_errors, run.report.unmatched) == (0, [], [])
    return {entry.case_id: entry for entry in run.report.cases}


@pytest.fixture(scope="module")
def entries() -> dict[str, CaseEntry]:
    return judged(CASES)


@pytest.fixture
def varied(tmp_path: Path) -> Callable[[str, Vary], CaseEntry]:
    """The entry of a case after its definition was changed."""

    def judge_variant(case_id: str, vary: Vary) -> CaseEntry:
        written = yaml.safe_load(CASES.read_text("utf-8"))
        vary(next(case for case in written["cases"] if case["id"] == case_id))
        (tmp_path / "cases.yaml").write_text(yaml.safe_dump(written), "utf-8")
        return judged(tmp_path / "cases.yaml")[case_id]

    return judge_variant


def test_all_three_pass(entries: dict[str, CaseEntry]) -> None:
    assert {case_id: entry.status for case_id, entry in entries.items()} == {
        CLUSTER: "passed",
        POOL: "passed",
        REDIS: "passed",
    }


def test_calls_are_counted(entries: dict[str, CaseEntry]) -> None:
    # 26 run_bash_command and 15 TodoWrite; 6 and 5; 37 kubectl and 16 TodoWrite.
    assert {case_id: entry.tool_call_count for case_id, entry in entries.items()} == {CLUSTER: 41, POOL: 11, REDIS: 53}


def test_a_conversation_has_no_verdict_and_no_duration(entries: dict[str, CaseEntry]) -> None:
    seen = {(entry.verdict, entry.duration_ms, entry.gatekeeper_status, entry.trials) for entry in entries.values()}
    assert seen == {(None, None, None, 1)}


def test_keywords_are_found_in_the_last_answer(entries: dict[str, CaseEntry]) -> None:
    found = {case_id: len(entry.keyword_coverage.matched) for case_id, entry in entries.items()}
    assert found == {CLUSTER: 5, POOL: 3, REDIS: 4}
    assert {entry.keyword_coverage.ratio for entry in entries.values()} == {1.0}


def test_the_tool_was_really_called(entries: dict[str, CaseEntry]) -> None:
    assert {case_id: entry.evidence_coverage.covered for case_id, entry in entries.items()} == {
        CLUSTER: ["run_bash_command"],
        POOL: ["run_bash_command"],
        REDIS: ["kubectl"],
    }


def test_auto_sees_that_they_are_conversations() -> None:
    run = pipeline.evaluate(CASES, CONVERSATIONS / "*conversation_history.json")

    assert [entry.status for entry in run.report.cases] == ["passed"] * 3


def test_a_wrong_cause_fails(varied: Callable[[str, Vary], CaseEntry]) -> None:
    entry = varied(POOL, lambda case: case.update(rootCauseKeywords=["memory leak", "connection pool exhausted"]))

    assert entry.status == "failed"
    assert [(one.check, one.observed) for one in entry.failed_checks] == [
        ("root-cause-keywords", "1 of 2 found; missing: memory leak")
    ]


def test_a_pool_of_another_size_fails(varied: Callable[[str, Vary], CaseEntry]) -> None:
    entry = varied(POOL, lambda case: case.update(rootCauseKeywords=["max pool size of 1"]))

    assert [one.check for one in entry.failed_checks] == ["root-cause-keywords"]


def test_a_tool_that_was_not_called_fails(varied: Callable[[str, Vary], CaseEntry]) -> None:
    entry = varied(REDIS, lambda case: case.update(requiredEvidenceTools=["kubectl", "execute_prometheus_range_query"]))

    assert [one.check for one in entry.failed_checks] == ["evidence-coverage"]
    assert entry.evidence_coverage.missing == ["execute_prometheus_range_query"]
    assert entry.evidence_coverage.ratio == 0.5


def test_a_claim_that_stands_in_the_answer_fails(varied: Callable[[str, Vary], CaseEntry]) -> None:
    entry = varied(REDIS, lambda case: case.update(forbiddenConfirmedClaims=["known issue with a proven fix"]))

    assert [one.check for one in entry.failed_checks] == ["forbidden-confirmed-claims"]


def test_arguments_of_another_pod_fail(varied: Callable[[str, Vary], CaseEntry]) -> None:
    arguments = {"command": "kubectl logs payment-service-7d9f8c4b-zm4k7 -n production"}
    entry = varied(POOL, lambda case: case.update(toolArguments=[{"tool": "run_bash_command", "arguments": arguments}]))

    assert [one.check for one in entry.failed_checks] == ["tool-arguments"]


def test_without_a_verdict_the_default_fails(varied: Callable[[str, Vary], CaseEntry]) -> None:
    entry = varied(POOL, lambda case: case.update(requireVerdict=True, allowedVerdicts=["PASS"]))

    assert [one.check for one in entry.failed_checks] == ["verdict-present"]
