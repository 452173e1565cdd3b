"""Two commands that do the same work, in turn, equal answers first."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import Any, Final, Literal

import msgspec

from benchmarks.measure import Usage, measure

Group = Literal["peers", "limits", "start", "growth", "processes"]

# So much time goes into the timed rounds of one comparison: quick commands are run more often, slow ones once.
ROUNDS_SECONDS: Final = 8.0
MOST_ROUNDS: Final = 5


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison.

    Attributes:
        label: who it is.
        argv: the program and its arguments.
        answer: what it found, from what it printed; None where there is nothing to be found.
        cwd: folder to run it in.
        env: variables on top of this process's own.
        codes: exit codes that are no failure.
        makes: files and folders that it writes, removed before it runs, so that no answer is an earlier run's.
    """

    label: str
    argv: Sequence[str]
    answer: Callable[[str], Any] | None = None
    cwd: Path | None = None
    env: Mapping[str, str] = {}
    codes: frozenset[int] = frozenset({0})
    makes: tuple[Path, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What is run.

    Attributes:
        ours: our command.
        theirs: what it is measured against, or None where it stands for itself.
    """

    ours: Command
    theirs: Command | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one side cost.

    Attributes:
        label: who it is.
        wall_s: median of the timed rounds, in seconds.
        cpu_s: median of the processor seconds.
        memory_mb: peak memory of all its processes together, in MB of 1,000,000 bytes.
        walls_s: the single rounds.
    """

    label: str
    wall_s: float
    cpu_s: float
    memory_mb: float
    walls_s: list[float]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finished measurement.

    Attributes:
        key: names it across runs: group, name and size.
        group: which table it belongs to.
        title: what was measured, for people.
        size: how many traces or rows; 0 where that says nothing.
        ours: our cost.
        theirs: the cost of what it was measured against.
        answer: what both found.
        target: the ratio of wall times that we want to stay within, if there is one.
    """

    key: str
    group: Group
    title: str
    size: int
    ours: Side
    theirs: Side | None = None
    answer: str = ""
    target: float | None = None

    @property
    def ratio(self) -> float | None:
        """Our wall time / theirs: below 1 we are faster."""
        return None if self.theirs is None else self.ours.wall_s / self.theirs.wall_s

    @property
    def memory_ratio(self) -> float | None:
        """Our peak memory / theirs."""
        return None if self.theirs is None else self.ours.memory_mb / self.theirs.memory_mb


class UnavailableError(Exception):
    """A measurement cannot be made on this machine; the message says why."""


class AnswersDifferError(Exception):
    """The two sides did not find the same, so their times must not be compared."""


def compare(comparison: Comparison) -> tuple[Side, Side | None, str]:
    """Run both sides, in turn.

    The first round is not timed: it asserts that both find the same, looks at the memory of all processes, and warms
    the caches for both. Every further answer is held against the first one too.

    Returns:
        Our cost, theirs, and what both found.

    Raises:
        AnswersDifferError: the sides differ, or one of them from one run to the next.
        CommandFailedError: a command failed.
    """
    commands = [comparison.ours] if comparison.theirs is None else [comparison.ours, comparison.theirs]
    looked: list[Usage] = []
    answers: list[Any] = []
    for command in commands:
        usage, answer = _run(command, look=True)
        looked.append(usage)
        answers.append(answer)
    for command, answer in zip(commands, answers, strict=True):
        _expect(command, answer, answers[0])
    timed: list[list[Usage]] = [[] for _ in commands]
    for _ in range(rounds(sum(usage.wall_s for usage in looked))):
        for command, usages in zip(commands, timed, strict=True):
            usage, answer = _run(command)
            _expect(command, answer, answers[0])
            usages.append(usage)
    sides = [_side(*one) for one in zip(commands, looked, timed, strict=True)]
    return sides[0], sides[1] if comparison.theirs is not None else None, "" if answers[0] is None else str(answers[0])


def rounds(seconds: float) -> int:
    """How many timed rounds fit where one takes so many seconds: one at least.

    >>> [rounds(seconds) for seconds in (0.3, 2.5, 60.0)]
    [5, 3, 1]
    """
    return max(1, min(MOST_ROUNDS, int(ROUNDS_SECONDS / max(seconds, 0.001))))


def _run(command: Command, *, look: bool = False) -> tuple[Usage, Any]:
    for path in command.makes:
        if path.is_dir():
            rmtree(path)
        else:
            path.unlink(missing_ok=True)
    usage = measure(command.argv, cwd=command.cwd, env=command.env, codes=command.codes, look=look)
    return usage, None if command.answer is None else command.answer(usage.stdout)


def _expect(command: Command, answer: Any, expected: Any) -> None:
    if answer != expected:
        raise AnswersDifferError(f"{command.label} found {answer}, but {expected} was found before")


def _side(command: Command, looked: Usage, timed: Sequence[Usage]) -> Side:
    return Side(
        label=command.label,
        wall_s=round(median(usage.wall_s for usage in timed), 4),
        cpu_s=round(median(usage.cpu_s for usage in timed), 4),
        memory_mb=round(max(looked.memory_mb, *(usage.rss_mb for usage in timed)), 1),
        walls_s=[round(usage.wall_s, 4) for usage in timed],
    )
