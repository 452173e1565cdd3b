"""`diagnosis-eval init`: a suite that is green at once, and nothing lost for it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from pipeline.cli.init import FILES

Command = Callable[..., int]
ROOT = Path(__file__).parents[2]


def content(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_an_empty_folder_is_green_at_once(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("init") == 0
    assert set(content(tmp_path)) == set(FILES)
    assert capsys.readouterr() == ("", "".join(f"{name}\n" for name in FILES) + "now run: diagnosis-eval run\n")

    assert command("validate", "--strict") == 0
    assert capsys.readouterr() == ("3 cases, 3 traces: 0 faults, 0 warnings\n", "")
    assert command("run", "--strict") == 0
    assert capsys.readouterr().out.startswith("PASS  example: 3 of 3 cases passed (pass rate 100 %)\n")


def test_the_example_shows_what_the_tool_is_for(command: Command, tmp_path: Path) -> None:
    command("init")
    command("run")
    report = json.loads((tmp_path / "data/runs/latest/report.json").read_text())
    assert [(case["caseId"], case["verdict"], case["claimCheckCount"]) for case in report["cases"]] == [
        ("cache-eviction", "PASS", 2),
        ("no-evidence", "REJECT", None),
        ("pool-exhausted", "PASS", None),
    ]


@pytest.mark.parametrize(
    "trace, old, new, check",
    [
        ("pool-exhausted", "searchLogs", "searchDocs", "evidence-coverage"),
        ("pool-exhausted", "connection pool", "network", "root-cause-keywords"),
        ("no-evidence", "I am unable to confirm a root cause", "It was the batch job", "degraded-output"),
        ("cache-eviction", '"composer_output": {"mode": "parsed"}', '"score": 1', "composer-auditable"),
        ("cache-eviction", '"status": "pass"', '"status": "fail"', "gatekeeper-verdict-conflict"),
        ("cache-eviction", '"supported", "detail": "redis', '"contradicted", "detail": "redis', "unsupported-claims"),
    ],
)
def test_a_broken_copy_fails(command: Command, tmp_path: Path, *, trace: str, old: str, new: str, check: str) -> None:
    command("init")
    file = tmp_path / f"fixtures/traces/{trace}.json"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))

    assert command("run") == 1
    report = json.loads((tmp_path / "data/runs/latest/report.json").read_text())
    failed = {case["caseId"]: [one["check"] for one in case["failedChecks"]] for case in report["cases"]}
    assert check in failed.pop(trace)
    assert list(failed.values()) == [[], []]


def test_a_named_folder_is_made(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("init", "new/my suite") == 0
    assert set(content(tmp_path / "new/my suite")) == set(FILES)
    assert capsys.readouterr().err.splitlines()[-1] == "now run: cd 'new/my suite' && diagnosis-eval run"


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_written_where_one_of_the_files_is(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    assert command("init") == 2
    assert content(tmp_path) == {name: b"mine"}
    assert capsys.readouterr().err == (
        f"diagnosis-eval: nothing was written, because there already is: {name}\n"
        "name an empty folder, as in: diagnosis-eval init my-suite\n"
    )


@pytest.mark.parametrize(
    "there, told",
    [
        pytest.param(["cases/other.yaml"], "cases/other.yaml", id="other cases"),
        pytest.param(["fixtures/traces/b.json", "README.md"], "README.md, fixtures/traces/b.json", id="several"),
        pytest.param(["cases"], "cases", id="a file for a folder"),
        pytest.param(["fixtures"], "fixtures", id="a file for the folder above"),
    ],
)
def test_all_that_is_in_the_way_is_told(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], there: list[str], told: str
) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    assert command("init") == 2
    assert set(content(tmp_path)) == set(there)
    assert capsys.readouterr().err.splitlines()[0].endswith(f"there already is: {told}")


def test_a_link_that_leads_nowhere_is_in_the_way(command: Command, tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to("elsewhere.md")
    assert command("init") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_file_is_no_folder(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "here").write_text("mine")
    assert command("init", "here") == 2
    assert "there already is: here\n" in capsys.readouterr().err


def test_what_cannot_be_written_leaves_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = Path.open

    def full(path: Path, *arguments: str, **options: object) -> object:
        if path.name == ".gitignore":
            raise OSError(28, "No space left on device", str(path))
        return original(path, *arguments, **options)  # type: ignore[call-overload] # the mode is what init gives

    monkeypatch.setattr(Path, "open", full)
    assert command("init") == 2
    assert content(tmp_path) == {}
    assert capsys.readouterr().err.startswith("diagnosis-eval: cannot write .gitignore: No space left on device\n")


def test_every_file_of_the_example_is_used() -> None:
    example = Path(str(files("pipeline"))) / "example"
    assert set(content(example)) == set(FILES.values())
    # A packager may leave hidden files out.
    assert [name for name in content(example) if "/." in f"/{name}"] == []


def test_the_workflow_judges(command: Command, tmp_path: Path) -> None:
    command("init")
    workflow = yaml.safe_load((tmp_path / ".github/workflows/diagnosis-eval.yml").read_text())
    steps = [step for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    (install,) = [step["run"] for step in steps if step["name"].startswith("Install")]
    locked = re.findall(r"-r \.diagnosis-eval/(\S+)", install)
    assert locked == ["requirements/build.txt", "requirements/runtime.txt"]
    assert [name for name in locked if not (ROOT / name).is_file()] == []

    program = tmp_path / "bin/diagnosis-eval"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from pipeline.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for step in steps:
        if step["run"] != install:
            subprocess.run(["sh", "-ec", step["run"]], cwd=tmp_path, env=environment, check=True, capture_output=True)
    (keep,) = [step for step in workflow["jobs"]["gate"]["steps"] if "upload-artifact" in step.get("uses", "")]
    kept = {path.name for path in (tmp_path / keep["with"]["path"]).iterdir()}
    assert kept >= {"report.md", "junit.xml", "annotations.txt"}
