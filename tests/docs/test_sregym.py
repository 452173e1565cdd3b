"""Several agents on one incident, judged by the case file of the docs; what the page shows is real."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools.command import say

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/eval/one-incident-many-agents.md").read_text("utf-8")
CASES = ROOT / "docs/eval/examples/sregym.yaml"
SHARED = Path(os.environ.get("DIAGNOSIS_EVAL_SHARED") or ROOT.parent / "shared")
SESSIONS = SHARED / "traces/sregym"
CASE = "service_port_conflict_hotel_reservation"
AGENTS = {
    "stratus": f"*0704_1458_{CASE}_stratus_agent_trajectory.jsonl",
    "codex": "*rollout-2026-06-29T16-58-06-*.jsonl",
    "gemini-cli": "*session-fdaf509c.jsonl",
    "copilot": "*copilot-cli.jsonl",
    "stratus-short": f"*0705_1200_{CASE}_stratus_agent_trajectory.jsonl",
}

sessions_are_here = pytest.mark.skipif(
    not SESSIONS.is_dir(),
    reason="the saved sessions are not here; DIAGNOSIS_EVAL_SHARED names the folder that holds traces/sregym",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of the page, and a run of each agent."""
    made = tmp_path_factory.mktemp("incident")
    for agent, pattern in AGENTS.items():
        (found,) = SESSIONS.glob(pattern)
        (made / "agents" / agent).mkdir(parents=True)
        shutil.copy(found, made / "agents" / agent / f"{CASE}.jsonl")
        say(f"run --cases {CASES} --traces agents/{agent} --out runs/{agent}", folder=made)
    return made


def report(folder: Path, agent: str) -> Any:
    return msgspec.json.decode((folder / f"runs/{agent}/report.json").read_bytes())


def rows_of_page(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")]


@sessions_are_here
@pytest.mark.parametrize(
    "agent, row",
    [
        pytest.param("stratus", ["Stratus", "passed", "3 of 3", "30", "unknown"], id="stratus"),
        pytest.param("codex", ["Codex", "passed", "3 of 3", "33", "182,643 ms"], id="codex"),
        pytest.param("gemini-cli", ["Gemini CLI", "passed", "3 of 3", "34", "437,090 ms"], id="gemini-cli"),
        pytest.param("copilot", ["Copilot CLI (excerpt)", "passed", "3 of 3", "2", "6,000 ms"], id="copilot"),
        pytest.param("stratus-short", ["Stratus (excerpt)", "failed", "2 of 3", "5", "unknown"], id="stratus-short"),
    ],
)
def test_each_agent_is_judged_as_the_page_says(folder: Path, agent: str, row: list[str]) -> None:
    (entry,) = report(folder, agent)["cases"]
    coverage, duration = entry["keywordCoverage"], entry["durationMs"]
    found, missing = len(coverage["matched"]), len(coverage["missing"])

    assert row[1:] == [
        entry["status"],
        f"{found} of {found + missing}",
        str(entry["toolCallCount"]),
        "unknown" if duration is None else f"{duration:,.0f} ms",
    ]
    assert row in rows_of_page("Judge each")


@sessions_are_here
def test_no_agent_has_a_verdict_and_each_has_looked(folder: Path) -> None:
    entries = {agent: report(folder, agent)["cases"][0] for agent in AGENTS}

    assert {entry["verdict"] for entry in entries.values()} == {None}
    assert {entry["evidenceCoverage"]["ratio"] for entry in entries.values()} == {1.0}


@sessions_are_here
def test_only_the_line_of_plain_text_is_warned_of(folder: Path) -> None:
    warned = {agent: [one["kind"] for one in report(folder, agent)["inputWarnings"]] for agent in AGENTS}

    assert warned == {agent: ["text-line"] if agent == "copilot" else [] for agent in AGENTS}


@sessions_are_here
def test_what_the_command_says_is_on_the_page(folder: Path) -> None:
    said = say(f"run --cases {CASES} --traces agents/codex --out runs/again", folder=folder)
    lines = [line for line in said.stdout.splitlines() if "report" not in line and line.strip()]

    assert said.exit_code == 0
    assert "\n".join(lines) in PAGE


@sessions_are_here
def test_the_short_answer_fails_with_the_message_of_the_page(folder: Path) -> None:
    (failed,) = report(folder, "stratus-short")["cases"][0]["failedChecks"]

    assert f"\n{failed['check']}: {failed['message']}\n" in PAGE


@sessions_are_here
@pytest.mark.parametrize("other, exit_code", [("gemini-cli", 0), ("stratus-short", 1)])
def test_the_diffs_are_real(folder: Path, other: str, exit_code: int) -> None:
    command = f"diff runs/codex runs/{other}"
    said = say(command, folder=folder)
    shown = PAGE.partition(f"diagnosis-eval {command}\n```\n")[2].lstrip("\n").partition("\n\n")[0].splitlines()

    assert said.exit_code == exit_code
    assert len(shown) >= 4
    assert [line for line in shown if line not in said.stdout.splitlines()] == []


@sessions_are_here
def test_a_limit_makes_a_regression_of_the_longer_run(folder: Path) -> None:
    assert "--max-duration-increase 50%" in PAGE
    assert say("diff runs/codex runs/gemini-cli --max-duration-increase 50%", folder=folder).exit_code == 1


@sessions_are_here
def test_the_cause_stands_in_what_the_tools_gave_back() -> None:
    whole = [*AGENTS][:3]
    texts = [next(SESSIONS.glob(AGENTS[agent])).read_text("utf-8") for agent in whole]

    assert [("have free ports for the requested pod ports" in text, "9100" in text) for text in texts] == [
        (True, True)
    ] * 3


@sessions_are_here
def test_results_without_a_session_are_refused(folder: Path) -> None:
    (folder / "results").mkdir()
    for file in SESSIONS.glob("*_results_*.json"):
        shutil.copy(file, folder / "results" / file.name)
    said = say(f"run --cases {CASES} --traces results --out runs/results", folder=folder)

    assert said.exit_code == 2
    assert report(folder, "results")["summary"]["unreadableRecords"] == 3


def test_the_case_on_the_page_is_the_case_of_the_file() -> None:
    (shown,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)

    assert CASES.read_text("utf-8").endswith(shown)
