import sys
from pathlib import Path

import pytest

from benchmarks.comparison import MOST_ROUNDS, AnswersDifferError, Command, Comparison, Outcome, compare
from benchmarks.measure import CommandFailedError
from tests.benchmarks.records import outcome


def noting(label: str, log: Path, printed: str = "7") -> Command:
    """A command that leaves its label in a file and prints an answer."""
    code = f"open({str(log)!r}, 'a').write({label!r}); print({printed!r})"
    return Command(label=label, argv=[sys.executable, "-I", "-S", "-c", code], answer=int)


def test_both_sides_run_in_turn_after_a_first_round(tmp_path: Path) -> None:
    log = tmp_path / "log"

    ours, theirs, answer = compare(Comparison(ours=noting("a", log), theirs=noting("b", log)))

    rounds = len(ours.walls_s)
    assert log.read_text("utf-8") == "ab" * (1 + rounds)
    assert (ours.label, theirs.label if theirs else None, answer) == ("a", "b", "7")
    assert 1 <= rounds <= MOST_ROUNDS


def test_one_side_alone_is_measured_too(tmp_path: Path) -> None:
    ours, theirs, answer = compare(Comparison(ours=noting("a", tmp_path / "log")))

    assert (ours.label, theirs, answer) == ("a", None, "7")


def test_different_answers_are_no_comparison_and_nothing_is_timed(tmp_path: Path) -> None:
    log = tmp_path / "log"

    with pytest.raises(AnswersDifferError, match=r"^b found 8, but 7 was found before$"):
        compare(Comparison(ours=noting("a", log), theirs=noting("b", log, "8")))

    assert log.read_text("utf-8") == "ab"


def test_an_answer_that_changes_from_run_to_run_is_no_comparison(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"log = open({str(log)!r}, 'a+'); log.write('x'); print(log.tell())"
    counting = Command(label="a", argv=[sys.executable, "-I", "-S", "-c", code], answer=int)

    with pytest.raises(AnswersDifferError, match=r"^a found 2, but 1 was found before$"):
        compare(Comparison(ours=counting))


def test_a_side_that_fails_is_no_comparison(tmp_path: Path) -> None:
    failing = Command(label="b", argv=[sys.executable, "-c", "raise SystemExit(4)"])

    with pytest.raises(CommandFailedError, match=r"ended with code 4"):
        compare(Comparison(ours=noting("a", tmp_path / "log"), theirs=failing))


def test_what_a_run_makes_is_removed_before_the_next(tmp_path: Path) -> None:
    made = tmp_path / "made"
    code = f"import os; os.mkdir({str(made)!r}); open({str(made / 'file')!r}, 'x'); print(1)"
    making = Command(label="a", argv=[sys.executable, "-I", "-S", "-c", code], answer=int, makes=(made,))

    assert compare(Comparison(ours=making))[2] == "1"


@pytest.mark.parametrize(
    "measured, ratio, memory_ratio",
    [
        (outcome("peers/x", (1.0, 50.0), (4.0, 100.0)), 0.25, 0.5),
        (outcome("growth/x", (1.0, 50.0)), None, None),
    ],
    ids=["against another", "alone"],
)
def test_the_ratio_is_ours_by_theirs(measured: Outcome, ratio: float | None, memory_ratio: float | None) -> None:
    assert (measured.ratio, measured.memory_ratio) == (ratio, memory_ratio)
