"""`--format github` on a runner of GitHub Actions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.report.as_github import SUMMARY_BYTES

Command = Callable[..., int]
CASE = {"question": "Why?", "rootCauseKeywords": ["pool"], "requiredEvidenceTools": [], "requireVerdict": False}
NOTICE = "::notice title=diagnosis-eval%3A s::0 of 1 case passed, 1 failed\n"
WHY = "root-cause-keywords: the answer names 0 of 1 root-cause keyword, under the minimum coverage of 1; missing: pool"


@pytest.fixture(autouse=True)
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with one case that fails, and no runner."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "cases").mkdir()
    (tmp_path / "fixtures/traces").mkdir(parents=True)
    cases = [{**CASE, "id": "a", "traceFixture": "a.json"}]
    (tmp_path / "cases/c.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": cases}))
    (tmp_path / "fixtures/traces/a.json").write_text('{"finalAnswer": "no"}')


def commands(said: str) -> str:
    return "".join(f"{line}\n" for line in said.splitlines() if line.startswith("::"))


def test_away_from_github_there_is_a_file_only(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("run", "--format", "github")
    assert commands("".join(capsys.readouterr())) == ""
    written = (tmp_path / "data/runs/latest/annotations.txt").read_text()
    assert written == f"::error file=a.json,title=a%3A failed::{WHY}\n{NOTICE}"


@pytest.mark.parametrize("traces", [[], ["--traces", "fixtures/traces/a.json"], ["--traces", "fixtures"]])
def test_on_a_runner_annotations_name_files_of_the_repository(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, traces: list[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    if traces == ["--traces", "fixtures"]:
        Path("fixtures/traces/a.json").rename("fixtures/a.json")
    command("run", "--format", "github", *traces)
    printed, said = capsys.readouterr()
    file = "fixtures/a.json" if traces == ["--traces", "fixtures"] else "fixtures/traces/a.json"
    assert commands(said) == f"::error file={file},title=a%3A failed::{WHY}\n{NOTICE}"
    assert commands(printed) == ""


def test_the_top_of_the_repository_may_be_above(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    command("run", "--format", "github")
    assert f"::error file={tmp_path.name}/fixtures/traces/a.json," in capsys.readouterr().err


def test_a_file_out_of_the_repository_keeps_its_short_name(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "cases"))
    command("run", "--format", "github")
    assert "::error file=a.json," in capsys.readouterr().err


def test_unless_asked_for_nothing_is_told(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    command("run")
    assert commands("".join(capsys.readouterr())) == ""
    assert not (tmp_path / "summary").exists()


def test_the_summary_is_appended(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    command("run", "--format", "github")
    report = (tmp_path / "data/runs/latest/report.md").read_text()
    assert summary.read_text() == f"# Before\n{report}"
    command("report", "data/runs/latest", "--format", "github")
    assert summary.read_text() == f"# Before\n{report}{report}"


def test_a_diff_comes_before_the_report(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command("run", "--out", "before")
    (tmp_path / "fixtures/traces/a.json").write_text('{"finalAnswer": "the pool"}')
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert command("run", "--format", "github", "--baseline", "before", "--out", "after") == 0
    both = [(tmp_path / "after" / name).read_text() for name in ("diff.md", "report.md")]
    assert (tmp_path / "summary").read_text() == "\n".join(both)


def test_a_report_made_again_against_a_baseline_is_that_of_the_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("run", "--out", "before")
    (tmp_path / "fixtures/traces/a.json").write_text('{"finalAnswer": "the pool"}')
    command("run", "--format", "html", "--baseline", "before", "--out", "after")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    again = ("report", "after", "--format", "html", "--format", "github", "--out", "again")
    assert command(*again, "--baseline", "before") == 0
    assert (tmp_path / "again/report.html").read_bytes() == (tmp_path / "after/report.html").read_bytes()
    assert (tmp_path / "summary").read_text().startswith((tmp_path / "after/diff.md").read_text())
    assert command(*again) == 0
    assert (tmp_path / "again/report.html").read_bytes() != (tmp_path / "after/report.html").read_bytes()
    assert command(*again, "--baseline", "nowhere") == 2


def test_a_summary_grows_no_larger_than_github_takes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary"
    summary.write_text("x" * (SUMMARY_BYTES - 300))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    command("run", "--format", "github")
    added = summary.read_text().lstrip("x")
    assert summary.stat().st_size <= SUMMARY_BYTES
    assert (added.startswith("# Evaluation of s\n"), "… cut to what GitHub takes" in added) == (True, True)


def test_a_summary_that_cannot_be_written(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert command("run", "--format", "github") == 2
    assert "diagnosis-eval: cannot append to the step summary: Is a directory\n" in capsys.readouterr().err
