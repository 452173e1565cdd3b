"""The history of runs, one JSON line each, and what has changed since the last one on the same machine."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.comparison import Outcome
from benchmarks.machine import Machine

# Medians of a quiet machine differ by less from one run to the next.
NOTEWORTHY: Final = 0.10


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One run of the benchmark.

    Attributes:
        commit: what was measured; ends in `+` where the files differed from it.
        date: day of the run, as 2026-01-31.
        machine: where it ran.
        load: how busy the machine was before it began, per processor; near 0 on a quiet one.
        versions: version of every package, by its name.
        outcomes: the figures.
        skipped: measurements that could not be made, by key, with the reason.
    """

    commit: str
    date: str
    machine: Machine
    load: float
    versions: dict[str, str]
    outcomes: list[Outcome]
    skipped: dict[str, str] = {}


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """How a figure moved.

    Attributes:
        key: which measurement.
        figure: what of it: `time`, `memory`, or `ratio` to what it was measured against.
        before: the figure of the earlier run.
        now: the figure of this one.
    """

    key: str
    figure: str
    before: float
    now: float

    @property
    def change(self) -> float:
        """By which share it rose."""
        return self.now / self.before - 1

    @property
    def worse(self) -> bool:
        """Whether it rose by more than noise."""
        return self.change > NOTEWORTHY


def read(path: Path) -> list[Record]:
    """All runs, the oldest first; none where there is no file.

    Raises:
        msgspec.DecodeError: a line is no record.
    """
    if not path.is_file():
        return []
    decoder = msgspec.json.Decoder(Record)
    return [decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip()]


def append(path: Path, record: Record) -> None:
    """Add a run as the last line."""
    with path.open("ab") as lines:
        lines.write(msgspec.json.encode(record) + b"\n")
        lines.flush()
        os.fsync(lines.fileno())


def last_of(records: Sequence[Record], machine: Machine) -> Record | None:
    """The latest run on such a machine."""
    return next((record for record in reversed(records) if record.machine == machine), None)


def shifts(before: Record, now: Record) -> Iterator[Shift]:
    """How every figure that both runs have moved, in the order of this run.

    The ratio says more than the time where there is one: what slows the machine down slows both sides.
    """
    earlier = {outcome.key: outcome for outcome in before.outcomes}
    for outcome in now.outcomes:
        old = earlier.get(outcome.key)
        if old is None:
            continue
        pairs = [("time", old.ours.wall_s, outcome.ours.wall_s)]
        if old.ratio is not None and outcome.ratio is not None:
            pairs = [("ratio", old.ratio, outcome.ratio)]
        for figure, was, becomes in (*pairs, ("memory", old.ours.memory_mb, outcome.ours.memory_mb)):
            if was > 0:
                yield Shift(key=outcome.key, figure=figure, before=was, now=becomes)
