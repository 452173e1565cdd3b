"""Reports on standard output, and how much else is printed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.report.base import all_writers

Command = Callable[..., int]
INPUTS = Path(__file__).parents[1] / "report" / "golden"
SUITE = ("--cases", INPUTS / "cases.yaml", "--traces", INPUTS / "traces")
REASONS = "gate: 4 cases failed\ngate: 1 case in error\ngate: 1 case not run\ngate: 2 unreadable records\n"
FORMATS = all_writers().names


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The folder of a run with all formats."""
    pipeline.evaluate(INPUTS / "cases.yaml", INPUTS / "traces", out=tmp_path / "out", formats=FORMATS)
    return tmp_path / "out"


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_prints_the_one_format(
    command: Command, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, name: str
) -> None:
    command("run", *SUITE, "--out", "out", "--format", name)
    capsysbinary.readouterr()
    assert command("run", *SUITE, "--out", "-", "--format", name) == 1
    printed, said = capsysbinary.readouterr()
    assert printed == (tmp_path / "out" / all_writers().get(name).file).read_bytes()
    assert said.decode() == REASONS
    # And nothing is written, not even a folder of that name.
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("to", [["--out", "-"], []])
def test_a_report_prints_the_one_format(
    command: Command, written: Path, capsysbinary: pytest.CaptureFixture[bytes], name: str, to: list[str]
) -> None:
    assert command("report", "out", "--format", name, *to) == 0
    assert capsysbinary.readouterr() == ((written / all_writers().get(name).file).read_bytes(), b"")


def test_a_report_is_markdown_unless_another_is_asked_for(
    command: Command, written: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command("report", "out") == 0
    assert capsysbinary.readouterr() == ((written / "report.md").read_bytes(), b"")


def test_a_report_into_a_folder_prints_no_report(
    command: Command, written: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("report", written, "--out", "again", "--format", "csv") == 0
    assert capsys.readouterr() == ("", "again/cases.csv\nagain/report.json\nagain/report.md\n")
    assert (tmp_path / "again/cases.csv").read_bytes() == (written / "cases.csv").read_bytes()


@pytest.mark.parametrize(
    "arguments, said",
    [
        pytest.param(["run", "--out", "-"], "0", id="run without a format"),
        pytest.param(["run", "--out", "-", "--format", "csv", "--format", "junit"], "2: csv, junit", id="two"),
        pytest.param(["run", "--out", "-", "--format", "csv", "--json"], "2: csv, json", id="and json"),
        pytest.param(["report", "none", "--out", "-"], "0", id="report without a format"),
        pytest.param(["report", "none", "--format", "csv", "--format", "junit"], "2: csv, junit", id="two reports"),
    ],
)
def test_standard_output_takes_one_format(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert command(*arguments) == 2
    assert capsys.readouterr() == (
        "",
        (
            f"diagnosis-eval: standard output takes one format, not {said}\n"
            "ask for one, as in: --out - --format json; or name a folder with --out\n"
        ),
    )


def test_a_format_given_twice_is_one(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", *SUITE, "--out", "-", "--format", "json", "--json") == 1
    assert json.loads(capsys.readouterr().out)["suite"].startswith("golden")


def test_json_takes_the_place_of_the_summary(
    command: Command, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    assert command("run", *SUITE, "--json") == 1
    printed, said = capsysbinary.readouterr()
    assert (printed, said.decode()) == ((tmp_path / "data/runs/latest/report.json").read_bytes(), REASONS)


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        pytest.param([], 1, REASONS, id="the gate trips"),
        pytest.param(["--fail-on", "never"], 0, "", id="the gate is off"),
        pytest.param(["--case", "passes"], 1, "gate: 1 unreadable record\n", id="unreadable records"),
        pytest.param(["--case", "missing"], 2, None, id="nothing was evaluated"),
    ],
)
def test_quiet_prints_errors_only(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str | None
) -> None:
    assert command("run", *SUITE, "--quiet", *arguments) == code
    printed, complaints = capsys.readouterr()
    assert printed == ""
    if said is None:
        assert complaints.startswith("not trusted: nothing was evaluated: ")
    else:
        assert complaints == said


def test_quiet_still_prints_what_is_asked_for(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", *SUITE, "--quiet", "--json", "--fail-on", "never") == 0
    printed, said = capsys.readouterr()
    assert (json.loads(printed)["summary"]["totalCases"], said) == (9, "")


# What stands first in the terminal.

CASE = {"id": "a", "question": "Why?", "rootCauseKeywords": [], "requiredEvidenceTools": [], "requireVerdict": False}
# More tool calls than before are a regression of a run in which every case passes.
LIMIT = ["--baseline", "before", "--max-tool-calls-increase", "10%"]
GATES = [
    [*(argument for word in words for argument in ("--fail-on", word)), *more]
    for words in ([], ["fail"], ["regression"], ["fail", "regression"], ["never"])
    for more in ([], ["--min-pass-rate", "0.9"], ["--strict"])
]


def write_runs(folder: Path) -> None:
    """One case; its traces as they were before, with more calls, with an answer lost, and none."""
    (folder / "cases.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": [CASE]}))
    runs: dict[str, list[dict[str, Any]]] = {
        "good": [{"finalAnswer": "the pool", "toolInvocations": [{"toolName": "t"}]}],
        "worse": [{"finalAnswer": "the pool", "toolInvocations": [{"toolName": "t"}, {"toolName": "t"}]}],
        "failed": [{"toolInvocations": [{"toolName": "t"}]}],
        "none": [],
    }
    for name, traces in runs.items():
        (folder / name).mkdir()
        for trace in traces:
            (folder / name / "a.json").write_text(json.dumps(trace))
    pipeline.evaluate(folder / "cases.json", folder / "good", out=folder / "before")


@pytest.mark.parametrize("traces", ["good", "worse", "failed", "none"])
def test_the_first_line_never_says_pass_where_the_exit_code_is_not_0(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], traces: str
) -> None:
    write_runs(tmp_path)
    found = []
    for gate in GATES:
        code = command("run", "--cases", "cases.json", "--traces", traces, *gate, *LIMIT)
        found.append((gate, code, capsys.readouterr().out.split()[0]))
    assert {word for _, _, word in found} <= {"PASS", "FAIL"}
    assert [one for one in found if one[1] != 0 and one[2] != "FAIL"] == []


def test_a_run_to_standard_output_is_compared_with_a_baseline_too(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(tmp_path)
    assert command("run", "--cases", "cases.json", "--traces", "worse", "--out", "-", "--json", *LIMIT) == 1
    printed, said = capsys.readouterr()
    assert (json.loads(printed)["summary"]["passed"], said) == (1, "gate: 1 regression against before\n")


def test_a_regression_of_cost_alone_is_no_pass(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(tmp_path)
    assert command("run", "--cases", "cases.json", "--traces", "worse", "--fail-on", "regression", *LIMIT) == 1
    assert capsys.readouterr().out.splitlines()[0] == "FAIL  s: 1 of 1 case passed (pass rate 100 %)"
