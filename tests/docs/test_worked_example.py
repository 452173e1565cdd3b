"""The worked example of CONTRIBUTING.md works: one new file is a check, with its section in the docs."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tools.command import plain_environment

ROOT = Path(__file__).parents[2]
# What the copy needs to judge, and to write its docs.
PARTS = ("pipeline", "tools", "tests/docs/messages.yaml", "fixtures/checks")

CASE = """\
schemaVersion: 1
suite: loops
defaults: {rootCauseKeywords: [], requiredEvidenceTools: [], requireVerdict: false, question: Why?}
cases:
  - {id: twice, tags: [no-loops]}
  - {id: three-times, tags: [no-loops]}
  - {id: no-calls-known, tags: [no-loops]}
  - {id: not-asked}
"""
ASK = {"toolName": "searchLogs", "arguments": {"service": "checkout", "limit": 50}}
SAME = {"toolName": "searchLogs", "arguments": {"limit": 50.0, "service": "checkout"}}
OTHER = {"toolName": "searchLogs", "arguments": {"service": "payment", "limit": 50}}
CALLS: dict[str, Sequence[object] | None] = {
    "twice": [ASK, OTHER, SAME],
    "three-times": [ASK, OTHER, SAME, ASK],
    "no-calls-known": None,
    "not-asked": [ASK, ASK, ASK],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the example's file in it."""
    folder = tmp_path_factory.mktemp("project")
    for part in PARTS:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, target)
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition("\n## Adding a check\n")[2].partition("\n## ")[0]
    (place,) = re.findall(r"Put this into `([^`]+)`", section)
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", section)
    (folder / place).write_text(code, "utf-8")
    (folder / "cases").mkdir()
    (folder / "cases/loops.yaml").write_text(CASE, "utf-8")
    (folder / "fixtures/traces").mkdir(parents=True)
    for case_id, calls in CALLS.items():
        trace = {"finalAnswer": "The pool is exhausted.", "toolInvocations": calls}
        (folder / f"fixtures/traces/{case_id}.json").write_text(json.dumps(trace), "utf-8")
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**plain_environment(), "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_check_runs_and_fails_where_it_should(copy: Path) -> None:
    done = python(copy, "-c", "from pipeline.cli import main; main(['run'])")

    assert (done.returncode, done.stderr) == (1, "gate: 2 cases failed\n")
    report: dict[str, Any] = json.loads((copy / "data/runs/latest/report.json").read_bytes())
    assert {case["caseId"]: case["failedChecks"] for case in report["cases"]} == {
        "no-calls-known": [
            {
                "check": "no-repeated-calls",
                "message": "repeated calls cannot be ruled out: the trace has no toolInvocations",
                "expected": "at most 2 calls of a tool with the same arguments",
                "observed": "toolInvocations is absent",
            }
        ],
        "not-asked": [],
        "three-times": [
            {
                "check": "no-repeated-calls",
                "message": "called more than twice with the same arguments: searchLogs",
                "expected": "at most 2 calls of a tool with the same arguments",
                "observed": "more of: searchLogs",
            }
        ],
        "twice": [],
    }


def test_its_section_appears_in_the_docs(copy: Path) -> None:
    done = python(copy, "-m", "tools.docs")

    assert (done.returncode, done.stderr) == (0, "")
    page = (copy / "docs/eval/checks.md").read_text("utf-8")
    row = (
        "| [`no-repeated-calls`](#no-repeated-calls) | No tool was called with the same arguments more than twice. "
        "| beyond the sources |"
    )
    assert row in page.splitlines()
    assert "\n## no-repeated-calls\n\nServes beyond the sources.\n" in page
    assert "\n- Fails: three calls of `searchLogs` with" in page


def test_its_code_is_as_tidy_as_the_rest(copy: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", copy)
    for command in (("format", "--check"), ("check",)):
        done = python(copy, "-m", "ruff", *command, "--no-cache", "pipeline/checks/loops.py")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
