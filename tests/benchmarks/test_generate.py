import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generate import FAILURES, Shape, traces, write
from benchmarks.peers.shared_checks import SHARED_FAILURES, case_number, keywords_of, tools_of, write_cases
from benchmarks.workspace import passed_traces
from pipeline import evaluate


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(tmp_path / name, 40, cases=7)

    assert (tmp_path / "one/traces.jsonl").read_bytes() == (tmp_path / "other/traces.jsonl").read_bytes()
    assert (tmp_path / "one/cases.json").read_bytes() == (tmp_path / "other/cases.json").read_bytes()


def test_another_seed_gives_other_traces() -> None:
    assert list(traces(5, Shape(seed=1))) != list(traces(5, Shape(seed=2)))


def test_fewer_traces_are_the_beginning_of_more() -> None:
    assert list(traces(9))[:4] == list(traces(4))


def test_files_hold_the_same_traces_as_lines(tmp_path: Path) -> None:
    write(tmp_path / "lines", 12, cases=5)
    write(tmp_path / "files", 12, cases=5, files=True)

    lines = [json.loads(line) for line in (tmp_path / "lines/traces.jsonl").read_bytes().splitlines()]
    files = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "files/traces").iterdir())]
    assert files == lines


@pytest.mark.parametrize("cases", [1, 3, 50])
def test_every_case_has_its_traces_in_turn(cases: int) -> None:
    assert [case_number(trace) for trace in traces(101, Shape(cases=cases))] == [n % cases for n in range(101)]


@pytest.mark.parametrize("calls", [2, 5, 12])
def test_a_trace_has_as_many_calls_as_asked(calls: int) -> None:
    assert {len(trace["toolInvocations"]) for trace in traces(20, Shape(calls=calls))} == {calls}


@pytest.mark.parametrize(
    "failure, failed",
    [
        ("tool", {"evidence-coverage", "tool-arguments"}),
        ("verdict", {"verdict-allowed"}),
        ("cause", {"root-cause-keywords"}),
        ("leak", {"raw-protocol-leak"}),
        ("gatekeeper", {"gatekeeper-verdict-conflict"}),
    ],
)
def test_a_planted_failure_fails_the_checks_it_is_meant_for(failure: str, failed: set[str], tmp_path: Path) -> None:
    write(tmp_path, 30, cases=10, failing=1.0, failures=(failure,))

    summary = evaluate(tmp_path / "cases.json", tmp_path / "traces.jsonl").report.summary

    assert {check for check, count in summary.check_failures.items() if count} == failed
    assert summary.check_failures[next(iter(failed))] == 30


def test_the_table_above_has_every_failure() -> None:
    assert FAILURES == ("tool", "verdict", "cause", "leak", "gatekeeper")


def test_nothing_fails_where_no_failure_is_planted(tmp_path: Path) -> None:
    write(tmp_path, 100, cases=10, failing=0.0)

    summary = evaluate(tmp_path / "cases.json", tmp_path / "traces.jsonl").report.summary

    assert (summary.passed, summary.total_cases, summary.check_failures) == (10, 10, {})


def test_the_share_of_failures_is_the_one_asked_for() -> None:
    flipped = [
        trace["selfEvaluation"]["verifier_evaluation"]["verdict"] == "REVISE"
        for trace in traces(2_000, Shape(failing=0.25, failures=("verdict",)))
    ]

    # The seed is fixed, so this is one number; within three standard deviations of what was asked for.
    assert 442 <= sum(flipped) <= 558


def as_a_peer_reads(trace: dict[str, Any]) -> bool:
    case = case_number(trace)
    answer = trace["finalAnswer"].lower()
    called = {call["toolName"] for call in trace["toolInvocations"]}
    return called.issuperset(tools_of(case)) and all(
        any(keyword.lower() in answer for keyword in group) for group in keywords_of(case)
    )


def only_tools(trace: dict[str, Any]) -> bool:
    return {call["toolName"] for call in trace["toolInvocations"]}.issuperset(tools_of(case_number(trace)))


@pytest.mark.parametrize(
    "keywords, passes", [(True, as_a_peer_reads), (False, only_tools)], ids=["keywords and tools", "tools"]
)
def test_the_checks_shared_with_peers_find_what_a_plain_reading_finds(
    keywords: bool, passes: Callable[[dict[str, Any]], bool], tmp_path: Path
) -> None:
    looks: dict[str, Any] = {"cases": 20, "failing": 0.5, "failures": SHARED_FAILURES}
    write(tmp_path / "traces", 300, **looks)
    write_cases(tmp_path, 20, keywords=keywords)

    evaluate(tmp_path / "cases.json", tmp_path / "traces/traces.jsonl", out=tmp_path / "out")

    expected = sum(passes(trace) for trace in traces(300, Shape(**looks)))
    assert passed_traces(tmp_path / "out") == expected
    assert 0 < expected < 300
