"""What trips a gate, from the library and through the command line: contract section 8."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from pipeline import evaluate
from pipeline.diff import Comparison, compare
from pipeline.errors import UsageError
from pipeline.gate import DIFF_FAIL_ON, Decision, Gate, check_gate, decide, decide_diff
from pipeline.report.model import build
from pipeline.run import Run
from pipeline.snapshot.files import read_snapshot, write_snapshot
from tests.snapshot.made import Row, frame, info, judged, not_run, snapshot, unreadable
from tools.command import Said, say

KNOWN = judged("a", failed=["token-budget"], known=["token-budget"])
FAILED = judged("a", failed=["token-budget"])


def finished(*rows: Row, strict_faults: Sequence[str] = (), **fields: Any) -> Run:
    made = snapshot(*rows, **fields)
    return Run(view=build(made), snapshot=made, skipped_files=0, strict_faults=tuple(strict_faults))


def against(before: Sequence[Row], now: Sequence[Row]) -> Comparison:
    return compare(snapshot(*before, source="git:main"), snapshot(*now))


def held(*reasons: str) -> Decision:
    return Decision(exit_code=0, reasons=reasons)


def tripped(*reasons: str) -> Decision:
    return Decision(exit_code=1, reasons=reasons)


FAIL = {
    "all passed": ([judged("a")], {}, held()),
    "one failed": ([FAILED], {}, tripped("1 case failed")),
    "two failed": ([FAILED, judged("b", failed=["cost-budget"])], {}, tripped("2 cases failed")),
    "a known failure": ([KNOWN], {}, held()),
    "a known failure and another": ([KNOWN, judged("b", failed=["cost-budget"])], {}, tripped("1 case failed")),
    "one in error": ([judged("a"), unreadable("b")], {}, tripped("1 case in error")),
    "one not run": ([judged("a"), not_run("b")], {}, tripped("1 case not run")),
    "an unreadable record of no case": (
        [judged("a")],
        {"unreadable_records": 1},
        tripped("1 unreadable record"),
    ),
    "all at once": (
        [FAILED, unreadable("b"), not_run("c"), judged("d")],
        {"unreadable_records": 2},
        tripped("1 case failed", "1 case in error", "1 case not run", "2 unreadable records"),
    ),
    "traces of no case": ([judged("a")], {"unmatched_traces": 3}, held()),
}


@pytest.mark.parametrize("rows, fields, expected", FAIL.values(), ids=FAIL)
@pytest.mark.parametrize("gate", [Gate(), Gate(fail_on=("fail",))], ids=["by default", "asked for"])
def test_a_run_fails(gate: Gate, rows: list[Row], fields: dict[str, Any], expected: Decision) -> None:
    assert expected == decide(finished(*rows, **fields), gate)


def test_never_says_the_reasons_and_holds() -> None:
    run = finished(FAILED)
    gate = Gate(fail_on=("never",))

    assert held("1 case failed") == decide(run, gate)
    assert held("1 case failed", "3 regressions against git:main") == decide(
        run, gate, against([judged("a")], [FAILED])
    )


RATES = {
    "reached": (0.5, [judged("a"), FAILED | {"case_id": "b"}], held()),
    "missed": (
        0.51,
        [judged("a"), FAILED | {"case_id": "b"}],
        tripped("the pass rate 1 / 2 is under the minimum of 0.51"),
    ),
    "two thirds are not 0.666667": (
        0.666667,
        [judged("a"), judged("b"), not_run("c")],
        tripped("the pass rate 2 / 3 is under the minimum of 0.666667"),
    ),
    "all": (1.0, [judged("a")], held()),
    "all, but for a known failure": (1.0, [KNOWN], tripped("the pass rate 0 / 1 is under the minimum of 1")),
    "none": (0.0, [FAILED], held()),
    "cases in error and not run lower it": (
        0.5,
        [judged("a"), unreadable("b"), not_run("c")],
        tripped("the pass rate 1 / 3 is under the minimum of 0.5"),
    ),
}


@pytest.mark.parametrize("rate, rows, expected", RATES.values(), ids=RATES)
def test_a_minimum_pass_rate_takes_the_place_of_fail(rate: float, rows: list[Row], expected: Decision) -> None:
    assert expected == decide(finished(*rows), Gate(min_pass_rate=rate))


def test_a_minimum_pass_rate_and_fail_may_both_be_asked_for() -> None:
    assert tripped("1 case failed") == decide(
        finished(judged("a"), FAILED | {"case_id": "b"}), Gate(fail_on=("fail",), min_pass_rate=0.5)
    )


WITH_BASELINE = {
    "a regression, by default": (
        Gate(),
        [judged("a")],
        [FAILED],
        tripped("1 case failed", "3 regressions against git:main"),
    ),
    "a regression, asked for alone": (
        Gate(fail_on=("regression",)),
        [judged("a")],
        [FAILED],
        tripped("3 regressions against git:main"),
    ),
    "a regression with a minimum pass rate": (
        Gate(min_pass_rate=0.0),
        [judged("a")],
        [FAILED],
        tripped("3 regressions against git:main"),
    ),
    "a regression, but only failures asked for": (
        Gate(fail_on=("fail",)),
        [judged("a"), judged("b")],
        [judged("a")],
        held(),
    ),
    "one missing case": (Gate(), [judged("a"), judged("b")], [judged("a")], tripped("1 regression against git:main")),
    "an old failure is no regression": (Gate(fail_on=("regression",)), [FAILED], [FAILED], held()),
    "an old failure fails all the same": (Gate(), [FAILED], [FAILED], tripped("1 case failed")),
    "a new known failure": (Gate(), [judged("a")], [KNOWN], held()),
    "an improvement": (Gate(), [FAILED], [judged("a")], held()),
}


@pytest.mark.parametrize("gate, before, now, expected", WITH_BASELINE.values(), ids=WITH_BASELINE)
def test_a_run_against_its_baseline(gate: Gate, before: list[Row], now: list[Row], expected: Decision) -> None:
    assert expected == decide(finished(*now), gate, against(before, now))


def test_a_baseline_without_a_name_is_called_the_baseline() -> None:
    comparison = compare(snapshot(judged("a")), snapshot(FAILED))

    assert tripped("3 regressions against the baseline") == decide_diff(comparison, Gate())


@pytest.mark.parametrize("words", [(), ("regression",), ("regression", "never"), ("never",)])
def test_a_diff_alone(words: tuple[str, ...]) -> None:
    decision = decide_diff(against([judged("a")], [FAILED]), Gate(fail_on=words))

    assert Decision(exit_code=0 if "never" in words else 1, reasons=("3 regressions against git:main",)) == decision


UNTRUSTED = {
    "no trace at all": ([not_run("a")], {}, ["no trace of any selected case was found"]),
    "all in error": ([unreadable("a")], {"unreadable_records": 1}, ["every record is in error"]),
}


@pytest.mark.parametrize("rows, fields, words", UNTRUSTED.values(), ids=UNTRUSTED)
@pytest.mark.parametrize("gate", [Gate(), Gate(fail_on=("never",)), Gate(min_pass_rate=0.0)])
def test_a_run_that_evaluated_nothing_is_never_trusted(
    gate: Gate, rows: list[Row], fields: dict[str, Any], words: list[str]
) -> None:
    decision = decide(finished(*rows, **fields), gate)

    assert decision.exit_code == 2
    assert [word in reason for word, reason in zip(words, decision.reasons, strict=True)] == [True]


def test_a_strict_fault_is_never_trusted() -> None:
    run = finished(judged("a"), strict_faults=["1 input warning"])

    assert Decision(exit_code=2, reasons=("--strict: 1 input warning",)) == decide(run, Gate(fail_on=("never",)))


# What makes no sense is refused before anything is done


@pytest.mark.parametrize("rate", [math.nan, -0.01, 1.01, math.inf, -math.inf, 95.0])
def test_a_pass_rate_that_is_no_share_is_refused(rate: float) -> None:
    with pytest.raises(UsageError, match=r"is no share\ngive a number from 0 to 1"):
        check_gate(Gate(min_pass_rate=rate), with_baseline=False)


@pytest.mark.parametrize("rate", [0.0, 0.95, 1.0])
def test_a_share_is_accepted(rate: float) -> None:
    check_gate(Gate(min_pass_rate=rate), with_baseline=False)


def test_regression_without_a_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match="--fail-on regression needs a baseline"):
        check_gate(Gate(fail_on=("fail", "regression")), with_baseline=False)
    check_gate(Gate(fail_on=("fail", "regression")), with_baseline=True)


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(UsageError, match="--fail-on does not take 'failure'\nit takes: fail, regression, never"):
        check_gate(Gate(fail_on=("failure",)), with_baseline=True)
    with pytest.raises(UsageError, match="--fail-on does not take 'fail'\nit takes: regression, never"):
        check_gate(Gate(fail_on=("fail",)), with_baseline=True, takes=DIFF_FAIL_ON)


# Through the command line

SUITE = {
    "schemaVersion": 1,
    "suite": "demo",
    "defaults": {
        "question": "Why?",
        "rootCauseKeywords": ["pool"],
        "requiredEvidenceTools": [],
        "requireVerdict": False,
    },
    "cases": [{"id": name} for name in "abcd"],
}
GOOD, BAD = {"finalAnswer": "The pool is empty."}, {"finalAnswer": "Who knows?"}


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """A project with these traces by case, and a baseline in which all four cases passed."""

    def make(**traces: object) -> Path:
        (tmp_path / "cases").mkdir(exist_ok=True)
        (tmp_path / "cases/demo.json").write_text(json.dumps(SUITE), "utf-8")
        for folder, content in (("good", dict.fromkeys("abcd", GOOD)), ("fixtures/traces", traces)):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            for case, trace in content.items():
                text = trace if isinstance(trace, str) else json.dumps(trace)
                (tmp_path / folder / f"{case}.json").write_text(text, "utf-8")
        baseline = evaluate(tmp_path / "cases", tmp_path / "good").snapshot
        write_snapshot(tmp_path / "base.parquet", [baseline.rows.collect()], baseline.info)
        return tmp_path

    return make


ALL_GOOD = dict.fromkeys("abcd", GOOD)
HALF = dict.fromkeys("ab", GOOD)
ONE_BAD = {**ALL_GOOD, "b": BAD}
COMMANDS = {
    "nothing changed": (ALL_GOOD, "run --baseline base.parquet", 0, ""),
    "one case fails": (ONE_BAD, "run --baseline base.parquet", 1, "gate: 1 case failed\ngate: 3 regressions against"),
    "one case fails, the gate is off": (
        ONE_BAD,
        "run --baseline base.parquet --fail-on never",
        0,
        "gate is off: 1 case",
    ),
    "one case fails, within the minimum pass rate": (ONE_BAD, "run --min-pass-rate 0.75", 0, ""),
    "one case fails, under the minimum pass rate": (
        ONE_BAD,
        "run --min-pass-rate 0.8",
        1,
        "3 / 4 is under the minimum",
    ),
    "half of the cases are missing": (
        HALF,
        "run --baseline base.parquet",
        1,
        "gate: 2 cases not run\ngate: 3 regressions",
    ),
    "half of the cases are missing, only failures count": (HALF, "run --fail-on fail", 1, "gate: 2 cases not run"),
    "half of the cases are left out": (
        HALF,
        "run --case a --case b --baseline base.parquet",
        1,
        "gate: 2 regressions against base.parquet",
    ),
    "a minimum pass rate that is no number": (
        ALL_GOOD,
        "run --min-pass-rate nan",
        2,
        "--min-pass-rate nan is no share",
    ),
    "a minimum pass rate in percent": (ALL_GOOD, "run --min-pass-rate 95", 2, "--min-pass-rate 95.0 is no share"),
    "a negative minimum pass rate": (ALL_GOOD, "run --min-pass-rate -0.5", 2, "--min-pass-rate -0.5 is no share"),
    "regression without a baseline": (ALL_GOOD, "run --fail-on regression", 2, "--fail-on regression needs a baseline"),
    "no baseline there": (ALL_GOOD, "run --baseline none.parquet", 2, "there is no baseline at none.parquet"),
    "an empty folder as the baseline": (ALL_GOOD, "run --baseline cases", 2, "the folder cases holds no Parquet files"),
    "a limit that is no limit": (
        ALL_GOOD,
        "run --baseline base.parquet --max-duration-increase -5%",
        2,
        "--max-duration-increase does not take '-5%'",
    ),
    "a limit that cannot be checked": (
        ALL_GOOD,
        "run --baseline base.parquet --max-duration-increase 5%",
        1,
        "gate: 1 regression against base.parquet",
    ),
    "no trace at all": ({}, "run --baseline base.parquet --fail-on never", 2, "nothing was evaluated: no trace"),
    "all in error": ({"a": "{"}, "run --case a --baseline base.parquet --fail-on never", 2, "every record is in error"),
    "no case selected": (ALL_GOOD, "run --case z --baseline base.parquet", 2, ""),
    "diff with itself": (ALL_GOOD, "diff base.parquet base.parquet", 0, ""),
    "diff does not know fail": (
        ALL_GOOD,
        "diff base.parquet base.parquet --fail-on fail",
        2,
        "it takes: regression, never",
    ),
    "diff without a baseline": (ALL_GOOD, "diff none.parquet base.parquet", 2, "there is no baseline at none.parquet"),
    "diff without a current run": (
        ALL_GOOD,
        "diff base.parquet none.parquet",
        2,
        "there is no snapshot at none.parquet",
    ),
}


@pytest.mark.parametrize("traces, command, exit_code, words", COMMANDS.values(), ids=COMMANDS)
def test_the_exit_code(
    project: Callable[..., Path], traces: dict[str, object], command: str, exit_code: int, words: str
) -> None:
    said = say(command, folder=project(**traces))

    assert exit_code == said.exit_code
    assert words in said.stderr
    assert "Traceback" not in said.stderr


def diff_of(folder: Path, before: Sequence[Row], now: Sequence[Row], *options: str) -> Said:
    for name, rows in (("before", before), ("now", now)):
        write_snapshot(folder / name, [frame(rows)], info())
    return say(" ".join(["diff before now", *options]), folder=folder)


def test_diff_prints_the_markdown_and_writes_nothing(tmp_path: Path) -> None:
    said = diff_of(tmp_path, [judged("a")], [FAILED])

    assert said.exit_code == 1
    assert said.stdout.startswith("# Diff of demo\n\n❌ **3 regressions** against the baseline `before`\n")
    assert said.stderr == "gate: 3 regressions against before\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "now"]


def test_diff_writes_both_files_where_it_is_told_to(tmp_path: Path) -> None:
    said = diff_of(tmp_path, [judged("a")], [FAILED], "--out", "out", "--fail-on", "never")

    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr == "gate is off: 3 regressions against before\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["diff.json", "diff.md"]
    assert msgspec.json.decode((tmp_path / "out/diff.json").read_bytes())["summary"]["regressions"] == 3


@pytest.mark.parametrize("sides", [(0, 1), (1, 0)], ids=["the baseline", "the current run"])
@pytest.mark.parametrize("rows", [[], [not_run("a")], [unreadable("a")]], ids=["no row", "not run", "in error"])
def test_diff_refuses_a_side_that_judged_nothing(tmp_path: Path, rows: list[Row], sides: tuple[int, int]) -> None:
    both = [rows, [judged("a")]]
    said = diff_of(tmp_path, both[sides[0]], both[sides[1]], "--fail-on never")

    assert said.exit_code == 2
    assert "judged no trace, so it proves nothing" in said.stderr


def test_diff_refuses_runs_without_a_common_case(tmp_path: Path) -> None:
    said = diff_of(tmp_path, [judged("a")], [judged("b")], "--fail-on never")

    assert said.exit_code == 2
    assert "the two runs have no case in common" in said.stderr


def test_a_run_without_a_case_in_common_is_written_all_the_same(project: Callable[..., Path]) -> None:
    folder = project(**ALL_GOOD)
    write_snapshot(folder / "other", [frame([judged("elsewhere")])], info())

    said = say("run --baseline other --fail-on never --out out", folder=folder)

    assert said.exit_code == 2
    assert "no case in common" in said.stderr
    assert {"report.json", "report.md", "snapshot.parquet"} <= {path.name for path in (folder / "out").iterdir()}


def test_the_run_before_may_be_the_baseline_of_the_one_that_takes_its_place(project: Callable[..., Path]) -> None:
    folder = project(**ALL_GOOD)
    say("run", folder=folder)
    project(**ONE_BAD)

    said = say("run --baseline data/runs/latest", folder=folder)

    assert said.exit_code == 1
    assert "gate: 3 regressions against data/runs/latest" in said.stderr


def test_a_damaged_baseline_stops_a_run_whatever_the_gate_says(project: Callable[..., Path]) -> None:
    folder = project(**ALL_GOOD)
    data = (folder / "base.parquet").read_bytes()
    damages = {
        "empty": b"",
        "text": b"not a snapshot",
        "truncated": data[: len(data) // 2],
        "torn": data[:4] + bytes(byte ^ 0xFF for byte in data[4:400]) + data[400:],
    }
    for name, damaged in damages.items():
        (folder / name).write_bytes(damaged)
    pl.DataFrame({"a": [1]}).write_parquet(folder / "foreign")

    for name in (*damages, "foreign"):
        said = say(f"run --baseline {name} --fail-on never", folder=folder)
        assert (said.exit_code, name in said.stderr) == (2, True), said.stderr
        assert "Traceback" not in said.stderr


def test_report_renders_the_same_bytes_again(project: Callable[..., Path]) -> None:
    folder = project(**ONE_BAD)
    say("run --out out", folder=folder)

    said = say("report out --out again", folder=folder)

    assert said.exit_code == 0
    for name in ("report.json", "report.md"):
        assert (folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes()
    assert (folder / "out/report.md").read_text("utf-8").rstrip() == say("report out", folder=folder).stdout.rstrip()


def test_report_of_damaged_rows_is_refused(project: Callable[..., Path]) -> None:
    folder = project()
    data = (folder / "base.parquet").read_bytes()
    (folder / "torn").write_bytes(data[:4] + bytes(byte ^ 0xFF for byte in data[4:400]) + data[400:])

    for command in ("report torn", "baseline show torn", "baseline save torn"):
        said = say(command, folder=folder)
        assert said.exit_code == 2
        assert "the rows of torn are damaged" in said.stderr


def test_a_baseline_is_read_back_as_it_was(project: Callable[..., Path]) -> None:
    folder = project()

    assert sorted("abcd") == read_snapshot(folder / "base.parquet").rows.collect()["case_id"].to_list()
