"""What a user can meet, word for word: every scenario of messages.yaml is run."""

from pathlib import Path

import pytest

from tools.command import Said
from tools.messages import Scenario, play, read_messages

MESSAGES = read_messages()
SCENARIOS = list(MESSAGES.all())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_the_command_says(scenario: Scenario, tmp_path: Path) -> None:
    said = play(scenario, MESSAGES.base, tmp_path)

    # If what is said now is better: python -m tools.messages
    assert _in_one(Said(scenario.exit, scenario.stdout, scenario.stderr)) == _in_one(said)


def _in_one(said: Said) -> list[str]:
    return [*said.stdout.split("\n"), *said.stderr.split("\n"), f"exit code {said.exit_code}"]


def test_no_message_is_a_traceback() -> None:
    assert [one.name for one in SCENARIOS if "Traceback" in one.stdout + one.stderr] == []


def test_exit_code_2_always_says_why() -> None:
    assert [one.name for one in SCENARIOS if one.exit == 2 and not one.stderr] == []


def test_a_scenario_must_change_what_is_there(tmp_path: Path) -> None:
    stray = Scenario(name="stray", change={"cases/suite.yaml": {"no such text": "x"}})

    with pytest.raises(LookupError, match=r"stray: cases/suite.yaml does not hold 'no such text'"):
        play(stray, MESSAGES.base, tmp_path)
