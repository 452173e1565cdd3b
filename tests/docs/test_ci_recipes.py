"""The recipes of docs/eval/ci.md work: their shell steps are taken from the page and run in a scratch repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tools.command import say

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/eval/ci.md").read_text("utf-8")
GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE))
RESULTS = "results/diagnosis-eval"

SUITE: dict[str, Any] = {
    "schemaVersion": 1,
    "suite": "demo",
    "defaults": {"question": "Why?", "rootCauseKeywords": ["pool"], "requiredEvidenceTools": ["searchLogs"]},
    "cases": [{"id": name, "traceFixture": f"{name}.json", "requireVerdict": False} for name in ("first", "second")],
}
GOOD = {"finalAnswer": "The pool is exhausted.", "toolInvocations": [{"toolName": "searchLogs"}]}
WORSE = {"finalAnswer": "The pool is exhausted.", "toolInvocations": []}


class Job(NamedTuple):
    """What came of a job.

    Attributes:
        exit_code: of the first step that failed, else 0.
        failed: the name of that step.
        log: what all steps said.
        summary: what a reviewer is shown.
    """

    exit_code: int
    failed: str
    log: str
    summary: str


class Shell:
    """Runs the steps of a job like a runner does: each in a shell that stops at its first failing command."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.exit_code, self.failed, self.log = 0, "", ""

    def run(self, name: str, script: str, *, always: bool = False) -> str:
        """Run one step, unless one before it failed; gives what it printed."""
        if self.exit_code and not always:
            return ""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        self.log += done.stdout + done.stderr
        if done.returncode and not self.exit_code:
            self.exit_code, self.failed = done.returncode, name
        return done.stdout


def on_github(folder: Path, target: str, labels: Sequence[str]) -> Job:
    job = GITHUB["jobs"]["gate"]
    summary = folder.parent / f"{folder.name}-summary.md"
    values = {
        "${{ github.base_ref }}": target,
        "${{ join(github.event.pull_request.labels.*.name, ',') }}": ",".join(labels),
    }
    environment = {name: values.get(value, value) for name, value in job["env"].items()}
    shell = Shell(folder, {**environment, "GITHUB_STEP_SUMMARY": str(summary)})
    for step in job["steps"]:
        if "run" in step and not step["name"].startswith("Install"):
            shell.run(step["name"], step["run"], always=step.get("if") == "always()")
    return Job(shell.exit_code, shell.failed, shell.log, summary.read_text("utf-8") if summary.exists() else "")


def on_gitlab(folder: Path, target: str, labels: Sequence[str]) -> Job:
    job = GITLAB["diagnosis-eval"]
    given = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": target, "CI_MERGE_REQUEST_LABELS": ",".join(labels)}
    shell = Shell(folder, {**job["variables"], **given})
    # All lines of a script share one shell; what comes after it has its own.
    shell.run("script", "\n".join(job["script"]))
    summary = shell.run("after_script", "\n".join(job["after_script"]), always=True)
    return Job(shell.exit_code, shell.failed, shell.log, summary)


Runner = Callable[[Path, str, Sequence[str]], Job]
RUNNERS: dict[str, Runner] = {"GitHub Actions": on_github, "GitLab CI": on_gitlab}


class Team:
    """A team with a repository: a clone to work in, and what its CI makes of a branch."""

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.folder, self.runner, self.jobs = folder, runner, 0
        self.work = folder / "work"
        (folder / "server.git").mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", at=folder / "server.git")
        self.git("clone", "--quiet", str(folder / "server.git"), str(self.work), at=folder)
        self.git("checkout", "--quiet", "-B", "main")

    def git(self, *arguments: str, at: Path | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=at or self.work, check=True, capture_output=True, text=True)
        return done.stdout

    def write(self, suite: dict[str, Any], **traces: object) -> None:
        for name, content in {
            "cases/demo.json": suite,
            **{f"fixtures/traces/{k}.json": v for k, v in traces.items()},
        }.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content), "utf-8")

    def save_baseline(self) -> None:
        for command in ("run --fail-on never", "baseline save"):
            said = say(command, folder=self.work)
            assert said.exit_code == 0, said.stderr
        shutil.rmtree(self.work / "data/runs")

    def push(self, branch: str) -> None:
        self.git("checkout", "--quiet", "-B", branch)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", branch)
        self.git("push", "--quiet", "--force", "origin", branch)

    def ci(self, branch: str, *labels: str, target: str = "main") -> Job:
        """What CI says about merging that branch: in a clone of one commit, as both services make it."""
        self.jobs += 1
        clone = self.folder / f"job-{self.jobs}"
        server = f"file://{self.folder / 'server.git'}"
        self.git("clone", "--quiet", "--depth=1", "--branch", branch, server, str(clone), at=self.folder)
        return self.runner(clone, target, labels)

    def kept(self) -> list[str]:
        """The files that the last job kept."""
        folder = self.folder / f"job-{self.jobs}" / RESULTS
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# What the services' own lines do differently is tried on both; the rest of the gate is the same command.
on_both = pytest.mark.parametrize("runner", list(RUNNERS.values()), ids=list(RUNNERS))


@pytest.fixture
def runner() -> Runner:
    return on_github


@pytest.fixture
def team(runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """Two good cases on main, with their baseline; the command under test stands in for the installed one."""
    command = tmp_path / "bin/diagnosis-eval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from pipeline.cli import main; main()" "$@"\n', "utf-8")
    command.chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("GIT_", "GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    settings = {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for who in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{who}_NAME": "A Tester", f"GIT_{who}_EMAIL": "tester@example.org"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    made = Team(tmp_path, runner)
    made.write(SUITE, first=GOOD, second=GOOD)
    made.save_baseline()
    made.push("main")
    return made


REPORTS = ["diff.json", "diff.md", "report.json", "report.md", "run.json", "snapshot.parquet"]


@on_both
def test_red_on_a_regression_and_green_after_the_fix(team: Team) -> None:
    team.write(SUITE, second=WORSE)
    team.push("change")

    red = team.ci("change")

    assert (red.exit_code, red.failed in {"Judge", "script"}) == (1, True), red.log
    assert "gate: 4 regressions against git:origin/main" in red.log
    assert "❌ **4 regressions** against the baseline `git:origin/main`" in red.summary
    assert "| evidence-coverage | `second` | `searchLogs` | covered | uncovered |" in red.summary
    assert set(REPORTS) <= set(team.kept())

    team.write(SUITE, second=GOOD)
    team.push("change")
    green = team.ci("change")

    assert green.exit_code == 0, green.log
    assert "✅ **No difference** against the baseline `git:origin/main`" in green.summary
    assert set(REPORTS) <= set(team.kept())


@on_both
def test_a_pull_request_cannot_lower_the_bar_for_itself_unnoticed(team: Team) -> None:
    fewer = {**SUITE, "cases": SUITE["cases"][:1]}
    (team.work / "fixtures/traces/second.json").unlink()
    team.write(fewer, first=GOOD)
    team.save_baseline()
    team.push("change")

    red = team.ci("change")
    labelled = team.ci("change", "documentation", "baseline-change")

    assert red.exit_code == 1, red.log
    assert labelled.exit_code == 0, labelled.log
    for job in (red, labelled):
        assert "| missing-case | `second` |  | passed | – |" in job.summary


def test_the_label_lets_no_failed_case_through(team: Team) -> None:
    team.write(SUITE, second=WORSE)
    team.save_baseline()
    team.push("change")

    job = team.ci("change", "baseline-change")

    assert job.exit_code == 1, job.log
    assert "gate: 1 case failed" in job.log


def test_an_accepted_failure_is_green_and_shown(team: Team) -> None:
    known = {"checks": ["evidence-coverage"], "reason": "the log store is being moved"}
    accepted = {**SUITE, "cases": [SUITE["cases"][0], {**SUITE["cases"][1], "knownFailure": known}]}
    team.write(accepted, second=WORSE)
    team.push("change")

    job = team.ci("change")

    assert job.exit_code == 0, job.log
    assert "a known failure: the log store is being moved" in job.summary


def test_a_target_without_a_baseline_is_no_pass(team: Team) -> None:
    team.git("rm", "--quiet", "-r", "data/baseline")
    team.push("old")
    team.git("checkout", "--quiet", "main")
    team.push("change")

    first = team.ci("change", target="old")
    labelled = team.ci("change", "baseline-change", target="old")

    assert first.exit_code == 2, first.log
    assert "the revision origin/old holds no snapshot at data/baseline/snapshot.parquet" in first.log
    # The gate holds against the baseline that the change brings along; nobody can be shown what changed.
    assert labelled.exit_code == 0, labelled.log
    assert labelled.summary.startswith("# Evaluation of demo\n")


def test_a_broken_case_file_stops_the_job_before_anything_is_judged(team: Team) -> None:
    team.write({**SUITE, "schemaVersion": 2}, first=GOOD)
    team.push("change")

    job = team.ci("change")

    assert (job.exit_code, job.failed in {"Check cases and fixtures", "script"}) == (2, True), job.log
    assert (job.summary, team.kept()) == ("", [])


@on_both
def test_the_name_of_a_branch_is_never_run(team: Team) -> None:
    target = "main;touch${IFS}pwned"
    team.git("push", "--quiet", "origin", f"main:refs/heads/{target}")
    team.push("change")

    job = team.ci("change", "$(touch pwned)", target=target)

    assert job.exit_code == 0, job.log
    assert list(team.folder.rglob("pwned")) == []


def test_reports_are_kept_whatever_happens() -> None:
    (keep,) = [step for step in GITHUB["jobs"]["gate"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert (keep["if"], keep["with"]["path"]) == ("always()", RESULTS)
    assert GITHUB["jobs"]["gate"]["env"]["RESULTS"] == RESULTS

    artifacts = GITLAB["diagnosis-eval"]["artifacts"]
    assert (artifacts["when"], artifacts["paths"]) == ("always", [f"{RESULTS}/"])
    assert GITLAB["diagnosis-eval"]["variables"]["RESULTS"] == RESULTS


def test_the_install_steps_name_files_of_this_repository() -> None:
    (install,) = [step["run"] for step in GITHUB["jobs"]["gate"]["steps"] if step["name"].startswith("Install")]

    assert install == GITLAB["diagnosis-eval"]["before_script"][1]
    assert "--require-hashes" in install
    named = re.findall(r"\.diagnosis-eval/(\S+)", install)
    assert named == ["requirements/build.txt", "requirements/runtime.txt"]
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_commands_for_ones_own_machine_are_real(tmp_path: Path) -> None:
    local, regressed = re.findall(r"(?ms)^```sh\ndiagnosis-eval (.*?)$", PAGE)

    assert local == "run --baseline git:origin/main"
    said = say(f"{regressed.partition(' --out ')[0]} --out {tmp_path}", folder=ROOT)
    assert said.exit_code == 1
    assert "regressions against data/baseline/snapshot.parquet" in said.stderr
    assert (tmp_path / "diff.md").read_text("utf-8").startswith("# Diff of mvp-diagnosis\n\n❌ **25 regressions**")
