"""The page for a stranger with a log of their own works: its commands run, and say what the page says they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.mapping_file import load_mapping
from pipeline.sources.mapping import CallFields, ClaimCheckFields, ClaimFields, MappedFields, Mapping, UsageFields
from tools.command import plain_environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/eval/your-own-traces.md").read_text("utf-8")
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")


def blocks(language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(PAGE) if found == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, with this project's command on the path as `diagnosis-eval`."""
    folder = tmp_path_factory.mktemp("stranger")
    command = folder / "bin/diagnosis-eval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from pipeline.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def ran(folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Every shell block, run in order."""
    environment = {
        **plain_environment(),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    return [
        subprocess.run(
            ["sh", "-eu", "-c", body], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        for body in blocks("sh")
    ]


def test_the_commands_run(ran: list[subprocess.CompletedProcess[str]]) -> None:
    assert len(ran) == 5
    assert [done.stdout + done.stderr for done in ran if done.returncode] == []


def test_validate_shows_what_the_page_shows(ran: list[subprocess.CompletedProcess[str]]) -> None:
    [shown] = blocks("text")
    assert ran[2].stdout.startswith(shown)
    # Every expression of the page finds its value in every record or call.
    rows = re.findall(r"(?m)^  \S+ +\S.*?  (\d+) of (\d+)  ", ran[2].stdout)
    assert len(rows) == 15
    assert [row for row in rows if row[0] != row[1]] == []


def test_the_report_says_what_the_page_says(folder: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    [shown] = blocks("markdown")
    report = (folder / "data/runs/latest/report.md").read_text("utf-8")
    assert "1 of 2 cases passed" in report
    assert [line for line in shown.splitlines() if line not in report] == []


def test_the_rows_give_the_same_report_and_snapshot(folder: Path, ran: list[subprocess.CompletedProcess[str]]) -> None:
    for name in ("report.json", "report.md", "snapshot.parquet"):
        first, again = folder / "data/runs/latest" / name, folder / "results/again" / name
        assert again.read_bytes() == first.read_bytes()


def test_every_mapping_of_the_page_is_one(tmp_path: Path) -> None:
    names = []
    for body in blocks("yaml"):
        (tmp_path / "m.yaml").write_text(body, "utf-8")
        names.append(load_mapping(str(tmp_path / "m.yaml")).base)
    assert names == ["langfuse", "inspect"]


def test_every_key_is_on_the_page() -> None:
    structs = (Mapping, MappedFields, UsageFields, CallFields, ClaimCheckFields, ClaimFields)
    keys = {name for struct in structs for name in struct.__struct_encode_fields__}
    assert [key for key in sorted(keys) if f"`{key}`" not in PAGE] == []
