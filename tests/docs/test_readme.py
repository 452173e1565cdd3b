"""What the README shows works: its commands, its Python, and its excerpt of a report."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tools.command import plain_environment

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
FIRST_SCREEN: Final = 60


def blocks(language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(README) if found == language]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the suite, with this project's command on the path as `diagnosis-eval`."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "cases", folder / "cases")
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    shutil.copytree(ROOT / "data/baseline", folder / "data/baseline")
    command = folder / "bin/diagnosis-eval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from pipeline.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    return folder


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **plain_environment(),
        "PATH": f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def ran(checkout: Path) -> list[subprocess.CompletedProcess[str]]:
    """Every shell block, run in order; what `make` does is not the README's to prove."""
    return [run(checkout, "sh", "-eu", "-c", body) for body in blocks("sh") if not body.startswith("make ")]


def test_the_commands_run(ran: list[subprocess.CompletedProcess[str]]) -> None:
    assert len(ran) == 5
    assert [(done.returncode, done.stdout + done.stderr) for done in ran if done.returncode] == []


def test_the_excerpt_is_real(checkout: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    (excerpt,) = blocks("markdown")
    report = (checkout / "results/broken/report.md").read_text("utf-8").splitlines()

    assert [line for line in excerpt.splitlines() if line and line not in report] == []
    assert "gate: 1 case failed" in ran[0].stderr


def test_the_own_case_passes(checkout: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    assert "PASS  payment: 1 of 1 case passed (pass rate 100 %)" in ran[1].stdout.splitlines()


def test_the_conversation_passes(checkout: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    assert ran[2].stdout.startswith("PASS  chats: 1 of 1 case passed (pass rate 100 %)")


def test_the_diff_is_as_large_as_it_says(checkout: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    assert ran[4].returncode == 0
    diff = (checkout / "results/regressed/diff.md").read_text("utf-8")
    said = re.search(r"(\d+) regressions, (\d+) improvements and (\d+) other changes", README)
    assert said is not None
    assert f"**{said[1]} regressions**" in diff
    assert f"{said[2]} improvements, {said[3]} other changes" in diff


def test_the_python_runs(checkout: Path) -> None:
    (code,) = blocks("python")
    done = run(checkout, sys.executable, "-c", code)

    assert (done.returncode, done.stderr) == (0, "")
    assert "network-partition-tool-budget tool-call-budget" in done.stdout


def test_the_first_screen_says_what_to_type() -> None:
    screen = README.splitlines()[:FIRST_SCREEN]

    assert [any(line.startswith(command) for line in screen) for command in ("make run", "make test")] == [True, True]
    assert any("evidence-coverage" in line for line in screen)


def test_all_pages_are_linked() -> None:
    pages = {
        *(ROOT / "docs/eval").glob("*.md"),
        *(ROOT / "docs/reference").glob("*.md"),
    }
    assert [page.name for page in sorted(pages) if f"({page.relative_to(ROOT).as_posix()})" not in README] == []
