"""The summary in the terminal, letter by letter.

After a change that is meant, write the files again and review them: `GOLDEN=write python -m pytest tests/cli`.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from pipeline.cli.terminal import printable

Command = Callable[..., int]
HERE = Path(__file__).parent
INPUTS = HERE.parent / "report" / "golden"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
CASE = {"question": "Why?", "rootCauseKeywords": ["pool"], "requiredEvidenceTools": [], "requireVerdict": False}


def golden(name: str, printed: str) -> None:
    path = HERE / "golden" / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(printed, encoding="utf-8")
    assert path.is_file(), f"{path} is missing: write it with GOLDEN=write, and review it"
    assert printed == path.read_text(encoding="utf-8")


def write_suite(folder: Path, answers: dict[str, str | None], **fields: Any) -> None:
    """One case per answer in `cases/`, its trace in `fixtures/traces/`; None is a case without a trace."""
    for name in ("cases", "fixtures/traces"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    cases = [{**CASE, "id": name, "traceFixture": f"{name}.json", **fields} for name in answers]
    (folder / "cases" / "cases.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": cases}))
    for name, answer in answers.items():
        if answer is not None:
            (folder / "fixtures/traces" / f"{name}.json").write_text(json.dumps({"finalAnswer": answer}))


VARIANTS = {
    "80.txt": {"COLUMNS": "80"},
    "160.txt": {"COLUMNS": "160"},
    "80-colour.txt": {"COLUMNS": "80", "FORCE_COLOR": "1"},
    "160-colour.txt": {"COLUMNS": "160", "FORCE_COLOR": "1"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_of_everything(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in VARIANTS[name].items():
        monkeypatch.setenv(variable, value)
    code = command("run", "--cases", INPUTS / "cases.yaml", "--traces", INPUTS / "traces", "--out", "out")
    printed, complaints = capsys.readouterr()
    golden(name, printed)
    assert (code, ESCAPE.sub("", complaints)) == (
        1,
        "gate: 4 cases failed\ngate: 1 case in error\ngate: 1 case not run\ngate: 2 unreadable records\n",
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_no_line_is_too_long_or_ends_in_a_space(name: str) -> None:
    lines = [ESCAPE.sub("", line) for line in (HERE / "golden" / name).read_text(encoding="utf-8").split("\n")]
    width = int(VARIANTS[name]["COLUMNS"])
    assert [line for line in lines if cell_len(line) > width or line != line.rstrip()] == []


@pytest.mark.parametrize("width", ["80", "160"])
def test_colour_changes_colours_only(width: str) -> None:
    plain, colour = ((HERE / "golden" / f"{width}{kind}.txt").read_text(encoding="utf-8") for kind in ("", "-colour"))
    assert plain != colour
    assert plain == ESCAPE.sub("", colour)


def test_no_color_is_heeded(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_suite(tmp_path, {"a": "no"})
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    command("run")
    assert re.findall(r"\x1b\[[0-9;]*3[0-9]", capsys.readouterr().out) == []


@pytest.mark.parametrize("columns", ["1", "19", "40", "not a number"])
def test_odd_widths_lose_nothing(
    columns: str, command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_suite(tmp_path, {"a-case-with-a-rather-long-name": "支付接口"})
    command("run")
    expected = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", columns)
    command("run")
    narrow = capsys.readouterr().out
    assert ["".join(text.split()) for text in (narrow, expected)] == ["".join(expected.split())] * 2


def test_a_good_run_is_short(command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_suite(tmp_path, {"a": "the pool", "b": "the pool"}, maxToolCalls=None)
    assert (command("run"), *capsys.readouterr()) == (
        0,
        ("PASS  s: 2 of 2 cases passed (pass rate 100 %)\nreport: data/runs/latest/report.md\n"),
        "",
    )


def test_an_empty_run_is_not_trusted(command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_suite(tmp_path, {"a": None})
    (tmp_path / "fixtures/traces/notes.txt").write_text("no trace")
    assert (command("run"), *capsys.readouterr()) == (
        2,
        (
            "FAIL  s: nothing was judged: 0 of 1 case passed, 1 not run (pass rate 0 %)\n"
            "  - a  not run\n"
            "      its trace fixture a.json was not found in the traces given; save it there,\n"
            "        or correct traceFixture\n"
            "report: data/runs/latest/report.md\n"
            "skipped: 1 file that is no trace\n"
        ),
        (
            "not trusted: nothing was evaluated: no trace of any selected case was found;\n"
            "      check --traces, and traceFixture and caseId\n"
        ),
    )


def test_at_most_20_cases_are_shown(command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_suite(tmp_path, {f"case-{number:02}": "no" for number in range(22)})
    command("run")
    printed = capsys.readouterr().out
    assert printed.count("  ✗ ") == 20
    assert "\n  … and 2 more cases, see the report\n" in printed


def test_at_most_20_known_failures_are_shown(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    known = {"checks": ["root-cause-keywords"], "reason": "for now"}
    write_suite(tmp_path, {f"case-{number:02}": "no" for number in range(21)}, knownFailure=known)
    assert command("run") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PASS  s: 0 of 21 cases passed, 21 known failures (pass rate 0 %)\n")
    assert printed.count("  ~ ") == 20
    assert "\n  … and 1 more known failure, see the report\n" in printed


def test_failures_come_before_what_could_not_be_judged(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_suite(tmp_path, {"a": None, "b": "x", "c": "no"})
    (tmp_path / "fixtures/traces/b.json").write_text("{")
    command("run")
    marks = re.findall(r"^  (\S) (\S)", capsys.readouterr().out, re.MULTILINE)
    assert marks == [("✗", "c"), ("!", "b"), ("-", "a")]


def test_an_unreadable_record_is_told_once(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_suite(tmp_path, {"a": "the pool", "b": "the pool"})
    (tmp_path / "fixtures/traces/b.json").write_text('{"finalAnswer": 7}')
    (tmp_path / "fixtures/traces/stray.jsonl").write_text('{"trial": "one"}\n')
    command("run")
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("b.json: $.finalAnswer") == 1
    assert printed.count("stray.jsonl:") == 1


def test_unreadable_records_beyond_10_are_counted(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_suite(tmp_path, {"a": "the pool"})
    (tmp_path / "fixtures/traces/stray.jsonl").write_text('{"finalAnswer": 7}\n' * 12)
    command("run")
    printed = capsys.readouterr().out
    assert printed.count("  ! stray.jsonl:") == 10
    assert "\n  … and 2 more unreadable records, see the report\n" in printed


def test_regressions_are_told(command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_suite(tmp_path, {"a": "the pool", "b": "the pool"})
    command("run", "--out", "before")
    write_suite(tmp_path, {"a": "no", "b": "the pool"})
    capsys.readouterr()
    code = command("run", "--out", "now", "--baseline", "before")
    printed, complaints = capsys.readouterr()
    assert code == 1
    assert printed.partition("3 regressions")[1:] == (
        "3 regressions",
        (
            ", 0 improvements, 0 other changes against before\n"
            "      case-status a: the case a passed before and failed now\n"
            "      check a: the answer names 0 of 1 root-cause keyword, under the minimum\n"
            "        coverage of 1; missing: pool\n"
            "      pass-rate: the pass rate fell from 2 of 2 to 1 of 2 cases\n"
            "diff: now/diff.md\n"
            "report: now/report.md\n"
        ),
    )
    assert complaints == "gate: 1 case failed\ngate: 3 regressions against before\n"


@pytest.mark.parametrize(
    "arguments, first, complaints",
    [
        pytest.param(["--min-pass-rate", "0.5"], "PASS", "", id="enough cases passed"),
        pytest.param(
            ["--min-pass-rate", "0.6"],
            "FAIL",
            "gate: the pass rate 1 / 2 is under the minimum of 0.6\n",
            id="not enough",
        ),
        pytest.param(["--fail-on", "never"], "FAIL", "gate is off: 1 case failed\n", id="gate is off"),
    ],
)
def test_the_first_word_is_what_the_gate_says(
    command: Command,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    *,
    arguments: list[str],
    first: str,
    complaints: str,
) -> None:
    write_suite(tmp_path, {"a": "the pool", "b": "no"})
    code = command("run", *arguments)
    printed, said = capsys.readouterr()
    assert (code, printed[:4], said) == (int("gate:" in complaints), first, complaints)


@settings(deadline=None)
@given(st.text())
def test_printable_text_is_one_line_without_escapes(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain", "plain"),
        ("two\r\nlines\tand  spaces", "two lines and spaces"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("over\u202eride\u200b", "over\\u202eride\\u200b"),
        ("half \ud83d", "half \\ud83d"),
        ("x" * 600, "x" * 500 + "…"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_on_a_github_runner_nothing_printed_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::" not in printable("::error::stop")
    assert "##[" not in printable("##[error]stop")
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert printable("::error::stop") == "::error::stop"
