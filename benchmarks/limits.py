"""What the machine allows: the same bytes read by the fastest readers there are, the same join done bare."""

import json
from typing import Final

from benchmarks.comparison import Command, Comparison
from benchmarks.peers.two_runs import SIDES, copied, our_diff, regressions_and_improvements, snapshots
from benchmarks.workspace import Workspace, processors, traces_and_calls

# Of each run so many traces are evaluated; copies of their rows make a larger snapshot.
EVALUATED: Final = 1_000
# One case in a hundred gets worse, as in a release that is not fit to ship; a diff of every row is no diff.
FAILING: Final = 0.01


def duckdb_read(place: Workspace, size: int) -> Comparison:
    """DuckDB reads all fields that we know, typed, into a table, on as many processors; both count traces and calls."""
    return _read(place, size, "DuckDB, typed read", "duckdb_read.py", str(processors()))


def simdjson_parse(place: Workspace, size: int) -> Comparison:
    """Bare simdjson parses every line and builds nothing, on one processor; both count traces and calls."""
    return _read(place, size, "simdjson, bare parse", "simdjson_parse.py")


def _read(place: Workspace, size: int, label: str, driver: str, *arguments: str) -> Comparison:
    made = place.traces(size)
    traces = made / "traces.jsonl"
    return Comparison(
        ours=place.run(driver, made / "cases.json", traces, answer=lambda out: list(traces_and_calls(out))),
        theirs=Command(
            label=label, argv=place.driver(place.peers_python, driver, traces, *arguments), answer=json.loads
        ),
    )


def bare_join(place: Workspace, rows: int) -> Comparison:
    """Polars reads two snapshots and joins cases, evidence and checks; both count what got worse and better."""
    small = snapshots(place, EVALUATED, "--no-text", failing=FAILING)
    folder = copied(place, small, max(1, rows // EVALUATED))
    sides = [folder / side / "snapshot.parquet" for side in SIDES]
    return Comparison(
        ours=our_diff(place, folder, regressions_and_improvements, "bare-join"),
        theirs=Command(
            label="Polars, bare read and join",
            argv=place.driver(place.python, "polars_join.py", *sides),
            answer=json.loads,
        ),
    )
