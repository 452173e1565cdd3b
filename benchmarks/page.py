"""Writes `docs/eval/benchmarks.md` from the history: `python -m benchmarks.page`."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks import history
from benchmarks.comparison import Group, Outcome, Side
from benchmarks.history import Record
from benchmarks.suite import label
from benchmarks.workspace import REPOSITORY

HISTORY: Final = REPOSITORY / "benchmarks/history.jsonl"
PAGE: Final = REPOSITORY / "docs/eval/benchmarks.md"

RUNS_SHOWN: Final = 10
# A line needs two points.
POINTS: Final = 2

_HEAD: Final = """<!-- Written by `make bench` from benchmarks/history.jsonl. -->

# Benchmarks

How fast diagnosis-eval is and how much memory it takes: against tools that do a part of the same work, against what the
machine allows, and against itself as the input grows. `make bench` measures again and writes this page;
`make bench SIZES=1k` takes a few minutes and writes nothing.

## How it is measured

- **Equal answers first.** Both sides judge the same traces, each in its own form, by the same checks, and must find
  the same number of passed traces; for a diff, the same cases lost and gained. Otherwise there is no figure.
- **In turn.** Ours, theirs, ours, theirs, after a first round that is not timed. A figure is the median of up to five
  rounds; what takes long is timed once.
- **Whole processes.** Time is from the start of the command to its end, imports, reading and writing included. Memory
  is the peak of the resident set; where there are several processes, the peak of their sum, pages that they share
  counted once.
- **The ratio is the figure.** It is our time divided by theirs: 0.1 is ten times faster, 2 is twice as slow. Seconds
  depend on the machine, the ratio much less.

The traces are synthetic and always the same (`benchmarks/generate.py`): 12 tool calls and some 6.5 KB each, a third of
them in Chinese, one in ten with a planted failure. Our side always writes its reports and a snapshot; a peer writes
what it writes.
"""

_PEERS: Final = """## Against other tools

The checks are those that the peer has too, named in brackets; the rest of ours is off. Where the peer compares two
runs, it reads the traces of both with their outcomes, and we read two snapshots. The ratio without starts is that of
what further traces cost each side, from the next smaller size to this one.
"""

_LIMITS: Final = """## Against the machine's limit

`run` decodes every field strictly, judges with all checks and writes its outputs. DuckDB only reads the same fields
into a typed table, on all processors; simdjson only parses, on one. `diff` compares two snapshots and writes every
item; bare Polars reads the same columns, joins cases, evidence and checks, and counts.
"""

_START: Final = """## Start

The shipped suite is judged within milliseconds, so this is what a start costs, held against the import of Polars.
"""

_GROWTH: Final = """## Growth

`run` with all checks on one line file. The exponent is that of the line through the points on logarithmic scales, the
time less the start: 1 is in step with the input.
"""

_PROCESSES: Final = """## More processes

Both sides are ours, and their outputs are the same bytes. Memory is that of all processes together.
"""

_NO_RUN: Final = "No run is recorded yet."


def render(records: Sequence[Record]) -> str:
    """The page of the last run, with the runs before it on the same machine."""
    if not records:
        return f"{_HEAD}\n{_NO_RUN}\n"
    last = records[-1]
    sections = [
        _HEAD,
        _run_facts(last),
        _section(_PEERS, last, "peers", _against("tool", "traces", starts=True)),
        _section(_LIMITS, last, "limits", _against("limit", "traces or rows")),
        _section(_START, last, "start", _against("measured", "")),
        _section(_GROWTH, last, "growth", _growth_table(last)),
        _section(_PROCESSES, last, "processes", _against("measured", "traces")),
        _skipped(last),
        _earlier([record for record in records if record.machine == last.machine]),
    ]
    return "\n".join(section for section in sections if section)


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the line through points on logarithmic scales, by least squares; None where there is no line.

    >>> exponent([(1, 3), (10, 30), (100, 300)])
    1.0
    """
    logs = [(math.log(size), math.log(value)) for size, value in points if size > 0 and value > 0]
    if len(logs) < POINTS:
        return None
    middle = [sum(column) / len(logs) for column in zip(*logs, strict=True)]
    spread = sum((x - middle[0]) ** 2 for x, _ in logs)
    if not spread:
        return None
    slope: float = sum((x - middle[0]) * (y - middle[1]) for x, y in logs) / spread
    return round(slope, 3)


def growth_points(record: Record, cost: Callable[[Side], float]) -> list[tuple[float, float]]:
    """Size and cost of the growth measurements, less the cost of a start where it was measured."""
    start = next((cost(one.ours) for one in record.outcomes if one.group == "start"), 0.0)
    return [(float(one.size), cost(one.ours) - start) for one in record.outcomes if one.group == "growth"]


def _run_facts(record: Record) -> str:
    names = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
    busy = "" if record.load <= history.NOTEWORTHY else f" The machine was busy: {record.load:.1f} per processor."
    where = record.machine.in_words()
    return f"## The run\n\nCommit `{record.commit}`, {record.date}, on {where}.{busy}\n\nVersions: {names}.\n"


def _section(text: str, record: Record, group: Group, table: Callable[[list[Outcome]], str]) -> str:
    outcomes = [outcome for outcome in record.outcomes if outcome.group == group]
    return f"{text}\n{table(outcomes)}\n" if outcomes else ""


def without_starts(outcome: Outcome, outcomes: Iterable[Outcome]) -> float | None:
    """The ratio of what further traces cost both sides, against the next smaller size; None where there is none."""
    smaller = [one for one in outcomes if one.title == outcome.title and one.size < outcome.size]
    before = max(smaller, key=lambda one: one.size, default=None)
    if before is None or before.theirs is None or outcome.theirs is None:
        return None
    ours, theirs = outcome.ours.wall_s - before.ours.wall_s, outcome.theirs.wall_s - before.theirs.wall_s
    return ours / theirs if ours > 0 and theirs > 0 else None


def _against(subject: str, unit: str, *, starts: bool = False) -> Callable[[list[Outcome]], str]:
    """A table of both sides, with the columns that these measurements need."""

    def table(outcomes: list[Outcome]) -> str:
        targets = any(outcome.target is not None for outcome in outcomes)
        head = [
            subject,
            *([unit] if unit else []),
            "ours s",
            "theirs s",
            "**ratio**",
            *(["without starts"] if starts else []),
            *(["target"] if targets else []),
        ]
        rows = [
            [
                outcome.title,
                *([label(outcome.size)] if unit else []),
                _seconds(outcome.ours.wall_s),
                _seconds(outcome.theirs.wall_s) if outcome.theirs else "",
                "" if outcome.ratio is None else f"**{_ratio(outcome.ratio)}**",
                *([_or_nothing(without_starts(outcome, outcomes))] if starts else []),
                *([_target(outcome)] if targets else []),
                _megabytes(outcome.ours.memory_mb),
                _megabytes(outcome.theirs.memory_mb) if outcome.theirs else "",
                "" if outcome.memory_ratio is None else _ratio(outcome.memory_ratio),
            ]
            for outcome in outcomes
        ]
        return _markdown([*head, "ours MB", "theirs MB", "ratio of memory"], rows, texts=1)

    return table


def _or_nothing(ratio: float | None) -> str:
    return "" if ratio is None else _ratio(ratio)


def _growth_table(record: Record) -> Callable[[list[Outcome]], str]:
    def table(outcomes: list[Outcome]) -> str:
        rows = [
            [
                label(outcome.size),
                _seconds(outcome.ours.wall_s),
                f"{outcome.size / outcome.ours.wall_s:,.0f}",
                _megabytes(outcome.ours.memory_mb),
            ]
            for outcome in outcomes
        ]
        found = {
            "time": exponent(growth_points(record, lambda side: side.wall_s)),
            "memory": exponent([(float(one.size), one.ours.memory_mb) for one in outcomes]),
        }
        words = " and ".join(f"{value:.2f} for {name}" for name, value in found.items() if value is not None)
        line = f"\n\nExponent: {words}." if words else ""
        return _markdown(["traces", "s", "traces per s", "MB"], rows, texts=0) + line

    return table


def _skipped(record: Record) -> str:
    if not record.skipped:
        return ""
    lines = "\n".join(f"- `{key}`: {_one_line(reason)}" for key, reason in sorted(record.skipped.items()))
    return f"## Not measured\n\n{lines}\n"


def _earlier(records: Sequence[Record]) -> str:
    """The last runs of one machine, by the figures that say most."""
    keys = ("start/suite", "limits/join/1M", "limits/duckdb/10k", "peers/pydantic-evals/10k")
    rows = []
    for record in reversed(records[-RUNS_SHOWN:]):
        found = {outcome.key: outcome for outcome in record.outcomes}
        grown = found.get("growth/run/10k")
        rows.append(
            [
                record.date,
                f"`{record.commit}`",
                *("" if (one := found.get(key)) is None or one.ratio is None else _ratio(one.ratio) for key in keys),
                _seconds(grown.ours.wall_s) if grown else "",
                _megabytes(grown.ours.memory_mb) if grown else "",
            ]
        )
    head = ["date", "commit", *(f"`{key}`" for key in keys), "run of 10k: s", "MB"]
    return f"## Runs on this machine\n\nRatios, the latest run first.\n\n{_markdown(head, rows, texts=2)}\n"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A table whose first columns are texts and whose others are figures."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _target(outcome: Outcome) -> str:
    if outcome.target is None or outcome.ratio is None:
        return ""
    return f"{outcome.target:g}" if outcome.ratio <= outcome.target else f"{outcome.target:g}, missed"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"  # noqa: PLR2004 - two digits that count


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"  # noqa: PLR2004 - three digits that count


def _megabytes(value: float) -> str:
    return f"{value:,.0f}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main(page: Path = PAGE, runs: Path = HISTORY) -> None:
    """Write the page again."""
    page.write_text(render(history.read(runs)), encoding="utf-8")


if __name__ == "__main__":
    main()
