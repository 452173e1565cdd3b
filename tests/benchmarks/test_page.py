from pathlib import Path

import msgspec
import pytest

from benchmarks import history, page
from benchmarks.history import Record
from benchmarks.page import exponent, growth_points, render
from tests.benchmarks.records import MACHINE, outcome, record

GOLDEN = Path(__file__).parent / "golden/page.md"

FULL = record(
    outcome("start/suite", (0.6, 120.0), (0.2, 50.0), title="the shipped suite", target=3.0),
    outcome("limits/duckdb/10k", (2.0, 300.0), (1.0, 100.0), title="run against a read", size=10_000),
    outcome("limits/join/1M", (13.0, 900.0), (5.0, 800.0), title="diff against a join", size=1_000_000, target=2.0),
    outcome("peers/pydantic-evals/1k", (0.6, 150.0), (1.5, 100.0), title="pydantic-evals (tools)", size=1_000),
    outcome("peers/pydantic-evals/10k", (1.5, 300.0), (9.0, 348.0), title="pydantic-evals (tools)", size=10_000),
    outcome("growth/run/1k", (1.6, 150.0), title="run", size=1_000),
    outcome("growth/run/10k", (10.6, 300.0), title="run", size=10_000),
    outcome("growth/run/100k", (100.6, 600.0), title="run", size=100_000),
    outcome("processes/jobs/10k", (0.05, 400.0), (10.0, 250.0), title="two processes against one", size=10_000),
    skipped={"peers/promptfoo/10k": "npm is not\ninstalled", "processes/dask/10k": "the extra is not installed"},
)


def test_the_page_of_a_run() -> None:
    earlier = record(outcome("start/suite", (0.5, 120.0), (0.2, 50.0)), commit="aaaaaaaaaa", date="2026-01-02")
    elsewhere = record(machine=msgspec.structs.replace(MACHINE, memory_gb=8), commit="not this one")

    assert render([earlier, elsewhere, FULL]) == GOLDEN.read_text("utf-8")


def test_starts_are_left_out_by_what_further_traces_cost() -> None:
    outcomes = [
        outcome("peers/a/1k", (1.0, 1.0), (2.0, 1.0), title="a", size=1_000),
        outcome("peers/a/10k", (2.0, 1.0), (12.0, 1.0), title="a", size=10_000),
        outcome("peers/a/100k", (1.5, 1.0), (112.0, 1.0), title="a", size=100_000),
        outcome("peers/b/10k", (2.0, 1.0), (12.0, 1.0), title="b", size=10_000),
    ]
    # No ratio without a smaller size, nor where more traces took less time.
    assert [page.without_starts(one, outcomes) for one in outcomes] == [None, pytest.approx(0.1), None, None]


def test_the_page_of_the_repository_is_that_of_its_history() -> None:
    assert page.PAGE.read_text("utf-8") == render(history.read(page.HISTORY))


def test_a_page_without_any_run_says_so() -> None:
    assert render([]).endswith("\n\nNo run is recorded yet.\n")


def test_a_group_without_figures_has_no_heading() -> None:
    text = render([record(outcome("start/suite", (0.6, 120.0), (0.2, 50.0)))])

    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## How it is measured",
        "## The run",
        "## Start",
        "## Runs on this machine",
    ]


@pytest.mark.parametrize(
    "load, words", [(0.05, ""), (1.25, "The machine was busy: 1.2 per processor.")], ids=["quiet", "busy"]
)
def test_a_busy_machine_is_told(load: float, words: str) -> None:
    text = render([msgspec.structs.replace(FULL, load=load)])

    assert ("The machine was busy" in text, words in text) == (bool(words), True)


@pytest.mark.parametrize(
    "points, expected",
    [
        ([(1_000, 2.0), (10_000, 20.0), (100_000, 200.0)], 1.0),
        ([(10, 5.0), (1_000, 5.0)], 0.0),
        ([(2, 4.0), (8, 64.0)], 2.0),
        ([(1, 1.0), (10, 10.0), (100, -0.2)], 1.0),
        ([(1, 1.0)], None),
        ([(7, 1.0), (7, 2.0)], None),
        ([], None),
    ],
    ids=["in step", "flat", "quadratic", "a cost below the start's is left out", "one point", "one size", "none"],
)
def test_the_exponent_of_growth(points: list[tuple[float, float]], expected: float | None) -> None:
    assert exponent(points) == expected


@pytest.mark.parametrize(
    "run, expected",
    [
        (FULL, [(1_000, 1.0), (10_000, 10.0), (100_000, 100.0)]),
        (record(outcome("growth/run/1k", (1.6, 150.0), size=1_000)), [(1_000, 1.6)]),
    ],
    ids=["less the start", "no start was measured"],
)
def test_growth_is_counted_without_the_start(run: Record, expected: list[tuple[float, float]]) -> None:
    found = growth_points(run, lambda side: side.wall_s)

    # The seconds are differences of floats.
    assert [(size, round(seconds, 9)) for size, seconds in found] == expected
