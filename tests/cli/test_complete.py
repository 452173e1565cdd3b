"""What shells complete, asked as bash asks; and suggestions for commands and options that are none."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline

Command = Callable[..., int]
ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from pipeline.cli import main; main()"]

SUITE = """\
schemaVersion: 1
suite: s
defaults: {tags: [by-default], question: q, rootCauseKeywords: [], requiredEvidenceTools: [], requireVerdict: false}
cases:
  - {id: pool-exhausted, tags: [mysql, v2]}
  - {id: pool-empty}
  - {id: disk-full, tags: [disk]}
"""


def completed(words: str, folder: Path, shell: str = "bash") -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_DIAGNOSIS_EVAL_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
    }
    done = subprocess.run(PROGRAM, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/c.yaml").write_text(SUITE)
    (tmp_path / "cases/broken.yaml").write_text("cases: [")
    (tmp_path / "cases/notes.txt").write_text("no case file")
    (tmp_path / "other.json").write_text('{"cases": [{"id": "other-one", "tags": "no list"}, 7, {"id": 3}]}')
    pipeline.evaluate(tmp_path / "cases/c.yaml", tmp_path / "other.json", out=tmp_path / "data/runs/latest")
    return tmp_path


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param("diagnosis-eval run --case pool", ["pool-empty", "pool-exhausted"], id="case ids"),
        pytest.param("diagnosis-eval run --case nothing", [], id="no such case"),
        pytest.param("diagnosis-eval run --tag ", ["by-default", "disk", "mysql", "v2"], id="tags"),
        pytest.param("diagnosis-eval run --cases other.json --case ", ["other-one"], id="of another file"),
        pytest.param("diagnosis-eval run --cases other.json --tag ", ["no list"], id="a tag that is no list"),
        pytest.param("diagnosis-eval run --cases nowhere --case ", [], id="of no file"),
        pytest.param("diagnosis-eval run --format j", ["json", "junit"], id="report formats"),
        pytest.param("diagnosis-eval report x --format j", ["json", "junit"], id="report formats of a snapshot"),
        pytest.param(
            "diagnosis-eval run --from openai-", ["openai-agents", "openai-chat", "openai-responses"], id="from"
        ),
        pytest.param("diagnosis-eval validate --from au", ["auto"], id="auto"),
        pytest.param("diagnosis-eval formats openr", ["openrca"], id="a trace format"),
        pytest.param("diagnosis-eval explain-check evid", ["evidence-coverage"], id="checks"),
        pytest.param("diagnosis-eval explain-", ["explain-check"], id="commands"),
        pytest.param("diagnosis-eval explain pool", ["pool-empty", "pool-exhausted"], id="judged case ids"),
        pytest.param("diagnosis-eval explain --run nowhere pool", [], id="case ids of no run"),
    ],
)
def test_bash_completes(suite: Path, words: str, expected: list[str]) -> None:
    assert completed(words, suite).split("\n")[:-1] == (expected or [""])


def test_zsh_shows_what_they_are(suite: Path) -> None:
    shown = completed("diagnosis-eval run --format junit", suite, "zsh")
    assert '"junit":"a test report, one test per case, for CI services and dashboards"' in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    assert command("--show-completion") == 0
    assert "_DIAGNOSIS_EVAL_COMPLETE=" in capsys.readouterr().out


def test_completion_can_be_installed(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    assert command("--install-completion") == 0
    assert "bash completion installed in" in capsys.readouterr().out
    assert "diagnosis-eval" in (tmp_path / ".bash_completions/diagnosis-eval.sh").read_text()


@pytest.mark.parametrize(
    "arguments, said",
    [
        pytest.param(["rn"], "No such command 'rn'. Did you mean 'run'?", id="a command"),
        pytest.param(["run", "--traes", "x"], "No such option: --traes", id="an option"),
        pytest.param(["run", "--traes", "x"], "--traces", id="the option that was meant"),
        pytest.param(["report"], "Missing argument", id="a missing argument"),
    ],
)
def test_what_is_misspelt_is_suggested(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert command(*arguments) == 2
    printed, complaints = capsys.readouterr()
    assert (printed, said in complaints) == ("", True)


def test_nothing_heavy_is_loaded_to_start() -> None:
    script = "import sys, pipeline.cli; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    heavy = {"junitparser", "pyarrow", "great_tables", "altair", "dask", "distributed", "pipeline.sources.otel"}
    assert sorted(heavy.intersection(loaded)) == []
