import re
from pathlib import Path

import msgspec
import pytest

from benchmarks import history
from benchmarks.history import Shift
from tests.benchmarks.records import MACHINE, outcome, record


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [
        record(outcome("growth/run/1k", (1.0, 90.0), size=1_000)),
        record(outcome("peers/x/1k", (1.0, 90.0), (2.0, 80.0)), commit="fedcba9876+", skipped={"peers/y": "no npm"}),
    ]

    for run in runs:
        history.append(tmp_path / "history.jsonl", run)

    assert history.read(tmp_path / "history.jsonl") == runs


def test_a_run_is_one_line(tmp_path: Path) -> None:
    history.append(tmp_path / "history.jsonl", record(skipped={"peers/y": "two\nlines"}))

    assert (tmp_path / "history.jsonl").read_bytes().count(b"\n") == 1


def test_no_file_is_no_history(tmp_path: Path) -> None:
    assert history.read(tmp_path / "absent.jsonl") == []


def test_a_damaged_history_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(b'{"commit": "0123456789"\n')

    with pytest.raises(msgspec.DecodeError):
        history.read(tmp_path / "history.jsonl")


def test_the_last_run_of_the_same_machine_is_compared_with() -> None:
    other = msgspec.structs.replace(MACHINE, processors=64)
    runs = [record(commit="a"), record(commit="b"), record(commit="c", machine=other)]

    assert history.last_of(runs, MACHINE) == runs[1]
    assert history.last_of(runs, msgspec.structs.replace(MACHINE, python="3.13.0")) is None


def test_a_figure_with_another_side_moves_by_its_ratio_and_one_alone_by_its_time() -> None:
    before = record(
        outcome("peers/x", (1.0, 100.0), (2.0, 50.0)),
        outcome("growth/y", (4.0, 10.0)),
        outcome("gone", (1.0, 1.0), group="peers"),
    )
    # The machine was half as fast, for both sides.
    now = record(
        outcome("new", (1.0, 1.0), group="peers"),
        outcome("peers/x", (2.0, 80.0), (4.0, 50.0)),
        outcome("growth/y", (5.0, 10.0)),
    )

    assert list(history.shifts(before, now)) == [
        Shift(key="peers/x", figure="ratio", before=0.5, now=0.5),
        Shift(key="peers/x", figure="memory", before=100.0, now=80.0),
        Shift(key="growth/y", figure="time", before=4.0, now=5.0),
        Shift(key="growth/y", figure="memory", before=10.0, now=10.0),
    ]


@pytest.mark.parametrize(
    "now, change, worse",
    [(0.5, -0.5, False), (1.0, 0.0, False), (1.0625, 0.0625, False), (1.25, 0.25, True)],
    ids=["half", "the same", "a little more", "a quarter more"],
)
def test_a_rise_beyond_noise_is_worse(now: float, change: float, worse: bool) -> None:
    shift = Shift(key="growth/y", figure="time", before=1.0, now=now)

    assert (shift.change, shift.worse) == (change, worse)


def test_the_history_of_the_repository_holds_no_name_of_a_machine_and_no_path() -> None:
    path = Path(__file__).parents[2] / "benchmarks/history.jsonl"
    text = path.read_text("utf-8") if path.exists() else ""

    assert re.findall(r'"(?:/|[A-Za-z]:\\)[^"]*"', text) == []
