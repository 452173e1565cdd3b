"""How commands end: the exit codes of the contract, in processes of their own where a process matters."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., int]
ROOT = Path(__file__).parents[2]
CASE = {"question": "Why?", "rootCauseKeywords": ["pool"], "requiredEvidenceTools": [], "requireVerdict": False}
WARNING = (
    "warning: cases/c.json:1: $.cases[0].requireVerdict: Case a: a lost verdict passes; "
    "set requireVerdict to false for agents without a Verifier only.\n    expected: true\n    found:    false\n"
)
ALLOCATOR = "_RJEM_MALLOC_CONF"
PROGRAM = [sys.executable, "-c", "from pipeline.cli import main; main()"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder with one case `a` and its trace, both where `run` looks for them."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "fixtures/traces").mkdir(parents=True)
    case = {**CASE, "id": "a", "traceFixture": "a.json"}
    (tmp_path / "cases/c.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": [case]}))
    (tmp_path / "fixtures/traces/a.json").write_text('{"finalAnswer": "the pool"}')
    return tmp_path


def process(suite: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    "arguments, code",
    [
        pytest.param(["run"], 0, id="the gate holds"),
        pytest.param(["run", "--case", "a"], 0, id="a selected case"),
        pytest.param(["run", "--traces", "fixtures/traces/*.json"], 0, id="a pattern"),
        pytest.param(["run", "--traces", "fixtures/**/*.json"], 0, id="a pattern across folders"),
        pytest.param(["run", "--traces", "nowhere/*.json"], 2, id="a pattern without a match"),
        pytest.param(["run", "--traces", "nowhere"], 2, id="a missing folder"),
        pytest.param(["run", "--cases", "nowhere"], 2, id="missing cases"),
        pytest.param(["run", "--case", "b"], 2, id="an empty selection"),
        pytest.param(["run", "--tag", "none"], 2, id="an unknown tag"),
        pytest.param(["run", "--format", "none"], 2, id="an unknown format"),
        pytest.param(["run", "--from", "none"], 2, id="an unknown trace format"),
        pytest.param(["run", "--baseline", "nowhere"], 2, id="a missing baseline"),
        pytest.param(["run", "--fail-on", "regression"], 2, id="regression without a baseline"),
        pytest.param(["run", "--fail-on", "nothing"], 2, id="an unknown gate"),
        pytest.param(["run", "--min-pass-rate", "2"], 2, id="no share"),
        pytest.param(["run", "--no-such-option"], 2, id="an unknown option"),
        pytest.param(["run", "--out", "cases/c.json/below"], 2, id="a folder below a file"),
        pytest.param(["run", "--out", "cases/c.json"], 2, id="a file for a folder"),
        pytest.param(["no-such-command"], 2, id="an unknown command"),
        pytest.param(["report", "nowhere"], 2, id="a missing snapshot"),
        pytest.param(["schema", "none"], 2, id="an unknown schema"),
        pytest.param(["schema", "report"], 0, id="a schema"),
        pytest.param(["validate"], 0, id="a valid suite"),
        pytest.param(["--version"], 0, id="the version"),
    ],
)
def test_exit_codes(
    arguments: list[str], code: int, suite: Path, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*arguments) == code
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    # A mistake is told on standard error.
    assert bool(printed.err.replace(WARNING, "")) == (code == 2)


@pytest.mark.parametrize("place", ["report.json", "report.md", "snapshot.parquet", "run.json", "diff.md"])
def test_an_output_that_cannot_be_replaced(
    place: str, suite: Path, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    (suite / "out" / place / "in the way").mkdir(parents=True)
    code = command("run", "--out", "out")
    said = capsys.readouterr().err
    # A snapshot may be a folder, so one in its place is replaced.
    assert (code, said.startswith("diagnosis-eval: cannot ")) == ((0, False) if "snapshot" in place else (2, True))
    assert [path.name for path in (suite / "out").iterdir() if path.name.startswith(".")] == []


def test_standard_input(suite: Path) -> None:
    (suite / "fixtures/traces/a.json").unlink()
    lines = b'{"caseId": "a", "finalAnswer": "the pool"}\n'
    case = {**CASE, "id": "a"}
    (suite / "cases/c.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": [case]}))
    done = process(suite, "run", "--traces", "-", input=lines)
    assert (done.returncode, done.stderr) == (0, b"")
    report = json.loads((suite / "data/runs/latest/report.json").read_text())
    assert (report["summary"]["passed"], report["cases"][0]["trials"]) == (1, 1)


def test_a_reader_that_went_away_is_no_reason_for_a_traceback(suite: Path) -> None:
    process(suite, "run")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "report", "data/runs/latest"],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupted_run_replaces_nothing(suite: Path) -> None:
    process(suite, "run")
    before = {path.name: path.read_bytes() for path in (suite / "data/runs/latest").iterdir()}
    # It waits for traces that never come.
    running = subprocess.Popen(
        [*PROGRAM, "run", "--traces", "-"],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    # More than one buffer: once this is written, it is reading.
    running.stdin.write(b'{"caseId": "a", "finalAnswer": "no"}\n' * 100_000)
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    printed, said = running.communicate()
    assert (running.returncode, printed) == (130, b"")
    assert said == b"diagnosis-eval: interrupted; what was not written yet stands as before\n"
    assert {path.name: path.read_bytes() for path in (suite / "data/runs/latest").iterdir()} == before


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_output_is_utf_8_whatever_the_locale(suite: Path, locale: str) -> None:
    (suite / "fixtures/traces/a.json").write_text('{"finalAnswer": "连接"}')
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LC_ALL": locale,
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    done = subprocess.run([*PROGRAM, "run"], cwd=suite, env=environment, capture_output=True, check=False)
    assert (done.returncode, "  ✗ a\n" in done.stdout.decode()) == (1, True)


@pytest.mark.parametrize("users", [None, "narenas:3,muzzy_decay_ms:9"])
def test_the_allocator_gives_memory_back_at_once_unless_the_user_has_set_it(users: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != ALLOCATOR}
    program = f"import pipeline.cli, polars, os; print(os.environ[{ALLOCATOR!r}])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": str(ROOT)} | ({} if users is None else {ALLOCATOR: users}),
        capture_output=True,
        text=True,
        check=True,
    )
    # Polars' own settings, ours, the user's: of two for the same thing the later one counts.
    expected = "muzzy_decay_ms:0" if users is None else f"muzzy_decay_ms:0,{users}"
    assert done.stdout.strip().endswith(f",{expected}")
    assert done.stderr == ""
