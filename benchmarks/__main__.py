"""Measures, tells the change against the last run of the same machine, and writes the page: `make bench`."""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import history, page
from benchmarks.comparison import AnswersDifferError, Outcome, UnavailableError, compare
from benchmarks.history import Record
from benchmarks.machine import load_per_processor, this_machine, versions
from benchmarks.measure import CommandFailedError
from benchmarks.suite import Planned, parse_sizes, plan
from benchmarks.workspace import REPOSITORY, Workspace

BUSY: Final = 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 where a measurement failed or answers differed."""
    given = _parser().parse_args(arguments)
    place = Workspace(root=given.work.resolve(), python=given.python.absolute(), peers=given.peers.absolute())
    place.clear()
    load = load_per_processor()
    if load > BUSY:
        say(f"The machine is busy ({load:.1f} waiting per processor): the times will say little.")
    planned = [one for one in plan(given.sizes) if given.only in one.key]
    outcomes: list[Outcome] = []
    skipped: dict[str, str] = {}
    failed: list[str] = []
    started = time.monotonic()
    for number, one in enumerate(planned, 1):
        say(f"[{number:2}/{len(planned)}] {time.monotonic() - started:5.0f} s  {one.key:44} ", end="")
        try:
            outcomes.append(outcome := measured(one, place))
            say(words(outcome))
        except UnavailableError as error:
            skipped[one.key] = str(error)
            say(f"skipped: {error}")
        except (AnswersDifferError, CommandFailedError) as error:
            failed.append(one.key)
            say(f"FAILED: {error}")
    say(f"{time.monotonic() - started:.0f} s in all")
    record = Record(
        commit=commit(REPOSITORY),
        date=datetime.now(UTC).date().isoformat(),
        machine=this_machine(),
        load=round(load, 2),
        versions=versions(place),
        outcomes=outcomes,
        skipped=skipped,
    )
    tell_changes(history.read(given.history), record)
    if failed:
        say(f"Nothing is recorded, as {len(failed)} of {len(planned)} measurements failed: {', '.join(failed)}")
        return 1
    if given.record:
        history.append(given.history, record)
        page.main(given.page, given.history)
        say(f"Recorded in {given.history.name}, and written to {given.page.name}.")
    return 0


def measured(one: Planned, place: Workspace) -> Outcome:
    """Make one measurement.

    Raises:
        UnavailableError: it cannot be made here.
        AnswersDifferError: the two sides did not find the same.
        CommandFailedError: a command failed.
    """
    ours, theirs, answer = compare(one.prepare(place, one.size))
    return Outcome(
        key=one.key,
        group=one.group,
        title=one.title,
        size=one.size,
        ours=ours,
        theirs=theirs,
        answer=answer,
        target=one.target,
    )


def words(outcome: Outcome) -> str:
    """A finished measurement in one line."""
    ours, theirs, ratio = outcome.ours, outcome.theirs, outcome.ratio
    if theirs is None or ratio is None:
        return f"{ours.wall_s:7.2f} s, {ours.memory_mb:6.0f} MB"
    missed = (
        "" if outcome.target is None else f"  target {outcome.target:g}{' MISSED' if ratio > outcome.target else ''}"
    )
    return (
        f"{ours.wall_s:7.2f} s : {theirs.wall_s:7.2f} s = {ratio:6.3f}, "
        f"{ours.memory_mb:5.0f} MB : {theirs.memory_mb:5.0f} MB{missed}"
    )


def tell_changes(earlier: Sequence[Record], record: Record) -> None:
    """Print how the figures moved since the last run on the same machine."""
    before = history.last_of(earlier, record.machine)
    if before is None:
        say("No earlier run on such a machine to compare with.")
        return
    say(f"Against {before.commit} of {before.date}:")
    found = list(history.shifts(before, record))
    for shift in found:
        mark = "  WORSE" if shift.worse else ""
        say(f"  {shift.key:44} {shift.figure:7} {shift.before:9.3f} to {shift.now:9.3f} {shift.change:+7.1%}{mark}")
    if not found:
        say("  no measurement in common")


def commit(repository: Path) -> str:
    """The short hash of what is checked out, with a `+` where files differ from it; `unknown` outside a repository."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=True)  # noqa: S603, S607 - git, wherever the machine has it
        return done.stdout.strip()

    try:
        # What a run writes makes no difference to what was measured.
        ours = (":!benchmarks/history.jsonl", ":!docs/eval/benchmarks.md")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "--", ".", *ours) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def say(text: str, end: str = "\n") -> None:
    """A line of progress."""
    sys.stderr.write(text + end)
    sys.stderr.flush()


def _sizes(text: str) -> list[int]:
    try:
        return parse_sizes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=[1_000, 10_000], help="numbers of traces, such as 1k,10k")
    parser.add_argument("--only", default="", help="only the measurements whose key contains this")
    parser.add_argument("--record", action="store_true", help="add the run to the history and write the page")
    parser.add_argument(
        "--work", type=Path, default=REPOSITORY / "build/bench", help="folder for inputs; emptied first"
    )
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter with diagnosis-eval")
    parser.add_argument("--peers", type=Path, default=REPOSITORY / ".venv-bench", help="environment of the peers")
    parser.add_argument("--history", type=Path, default=page.HISTORY, help="file of the runs")
    parser.add_argument("--page", type=Path, default=page.PAGE, help="the page to write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
