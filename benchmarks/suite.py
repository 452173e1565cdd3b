"""The table of measurements: what is measured at which size, in which order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from benchmarks import limits, ourselves
from benchmarks.comparison import Comparison, Group
from benchmarks.peers import (
    agent_reliability_harness,
    agent_run_diff,
    agent_trace_eval,
    kalibra,
    promptfoo,
    pydantic_evals,
)
from benchmarks.workspace import Workspace

PEERS: Final = (
    pydantic_evals,
    promptfoo,
    agent_trace_eval,
    agent_reliability_harness,
    kalibra,
    agent_run_diff,
)

# The others would take minutes, or write more files than tell anything.
PEERS_UP_TO: Final = 10_000
LASTING_PEERS: Final = (pydantic_evals, kalibra, agent_run_diff)
LASTING_PEERS_UP_TO: Final = 100_000
# A snapshot for the diff has so many rows for every trace of a size, up to the size that the target is about.
ROWS_PER_TRACE: Final = 100
ROWS_UP_TO: Final = 1_000_000

START_TARGET: Final = 3.0
DIFF_TARGET: Final = 2.0


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement that is yet to be made.

    Attributes:
        group: which table it belongs to.
        name: names it within the group.
        title: what is measured, for people.
        size: traces or rows; 0 where that says nothing.
        prepare: makes the inputs and gives the commands.
        target: the ratio of wall times that we want to stay within.
    """

    group: Group
    name: str
    title: str
    size: int
    prepare: Callable[[Workspace, int], Comparison]
    target: float | None = None

    @property
    def key(self) -> str:
        """Names it across runs."""
        return "/".join([self.group, self.name, *([label(self.size)] if self.size else [])])


def plan(sizes: Sequence[int]) -> Iterator[Planned]:
    """All measurements for these sizes, the quick ones first.

    Args:
        sizes: numbers of traces. Growth is measured up to ten times the largest, for a line through three points.
    """
    yield Planned(
        group="start",
        name="suite",
        title="the shipped suite",
        size=0,
        prepare=lambda place, _: ourselves.start(place),
        target=START_TARGET,
    )
    for size in sizes:
        yield from _reads(size)
    for rows in sorted({min(size * ROWS_PER_TRACE, ROWS_UP_TO) for size in sizes}):
        yield Planned(
            group="limits",
            name="join",
            title="diff of two snapshots against a bare read and join",
            size=rows,
            prepare=limits.bare_join,
            target=DIFF_TARGET,
        )
    for size in sizes:
        yield from _peers(size)
    yield from _processes(max(sizes))
    for size in sorted({*sizes, max(sizes) * 10}):
        yield Planned(group="growth", name="run", title="run, all checks", size=size, prepare=ourselves.growth)


def _peers(size: int) -> Iterable[Planned]:
    for peer in PEERS:
        if size > (LASTING_PEERS_UP_TO if peer in LASTING_PEERS else PEERS_UP_TO):
            continue
        title = f"{peer.PACKAGE} ({peer.CHECKS})"
        yield Planned(group="peers", name=peer.PACKAGE, title=title, size=size, prepare=peer.comparison)


def _reads(size: int) -> Iterable[Planned]:
    yield Planned(
        group="limits",
        name="duckdb",
        title="run against DuckDB's typed read of the same file",
        size=size,
        prepare=limits.duckdb_read,
    )
    yield Planned(
        group="limits",
        name="simdjson",
        title="run against simdjson's bare parse of the same file",
        size=size,
        prepare=limits.simdjson_parse,
    )


def _processes(size: int) -> Iterable[Planned]:
    yield Planned(
        group="processes",
        name="jobs",
        title="two processes against one",
        size=size,
        prepare=ourselves.two_processes,
    )
    yield Planned(
        group="processes",
        name="single-threaded-jobs",
        title="two processes against one, each with one Polars thread",
        size=size,
        prepare=ourselves.two_single_threaded_processes,
    )
    yield Planned(
        group="processes",
        name="dask",
        title="a Dask cluster against two processes",
        size=size,
        prepare=ourselves.dask,
    )


def label(size: int) -> str:
    """A size in short.

    >>> [label(size) for size in (500, 1_000, 100_000, 1_000_000)]
    ['500', '1k', '100k', '1M']
    """
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def parse_sizes(text: str) -> list[int]:
    """Read `1k,10k,1M`.

    Raises:
        ValueError: something else was given.

    >>> parse_sizes("10k, 500,1k")
    [500, 1000, 10000]
    """
    sizes = set()
    for part in text.lower().split(","):
        digits = part.strip().rstrip("km")
        letters = part.strip()[len(digits) :]
        if not digits.isdecimal() or letters not in {"", "k", "m"} or int(digits) == 0:
            raise ValueError(f"a size is a number such as 500, 10k or 1M, not {part.strip()!r}")
        sizes.add(int(digits) * {"": 1, "k": 1_000, "m": 1_000_000}[letters])
    return sorted(sizes)
