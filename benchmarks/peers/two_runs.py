"""Two runs of the same cases, one trace per case, for the tools that compare runs.

We compare two snapshots; a peer compares two files of runs with the outcome of each, ours. So both must find the same
cases that passed and no longer do, and the other way round.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.comparison import Command
from benchmarks.generate import Shape, traces
from benchmarks.measure import measure
from benchmarks.workspace import REPOSITORY, Workspace

# Of more cases copies are made: a case file of so many is more than anybody writes.
EVALUATED: Final = 10_000
SIDES: Final = {"baseline": 7, "current": 8}
Convert = Callable[[dict[str, Any], bool], dict[str, Any]]


def snapshots(place: Workspace, size: int, *options: str, failing: float = 0.1) -> Path:
    """A folder with the outputs of two runs in `baseline` and `current`, of so many cases each."""

    def evaluate(folder: Path) -> None:
        for side, seed in SIDES.items():
            made = place.traces(size, cases=size, seed=seed, failing=failing)
            arguments = ("--cases", made / "cases.json", "--traces", made / "traces.jsonl", "--out", folder / side)
            measure(place.command("run", *arguments, "--quiet", "--fail-on", "never", *options))

    return place.made(f"snapshots-{size}-{failing}{''.join(options)}", evaluate)


def copied(place: Workspace, small: Path, copies: int) -> Path:
    """A folder with the same two snapshots, their rows copied so many times under ids of their own."""

    def copy(folder: Path) -> None:
        for side in SIDES:
            source, target = small / side / "snapshot.parquet", folder / side / "snapshot.parquet"
            measure([*place.driver(place.python, "copy_rows.py", source, target, str(copies))], cwd=REPOSITORY)

    return place.made(f"{small.name}-{copies}-times", copy)


def our_diff(place: Workspace, folder: Path, answer: Callable[[Path], Any], name: str) -> Command:
    """Our `diff` of the two snapshots in a folder."""
    out = place.root / "out" / name
    sides = [folder / side / "snapshot.parquet" for side in SIDES]
    return Command(
        label="diagnosis-eval diff",
        argv=place.command("diff", *sides, "--out", out, "--fail-on", "never"),
        answer=lambda _: answer(out),
        makes=(out,),
    )


def lost_and_gained(out: Path) -> tuple[int, int]:
    """The cases that no longer pass, and those that now do, from the diff in a folder."""
    items = [item for item in _items(out) if item["kind"] == "case-status"]
    return sum(item["severity"] == "regression" for item in items), sum(
        item["severity"] == "improvement" for item in items
    )


def regressions_and_improvements(out: Path) -> dict[str, int]:
    """How many items of cases, evidence and checks a diff has, by kind and severity."""
    counts: dict[str, int] = {}
    for item in _items(out):
        if item["kind"] in {"case-status", "evidence-coverage", "check"}:
            name = f"{item['kind']} {item['severity']}"
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _items(out: Path) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((out / "diff.json").read_bytes())["items"]
    return items


def two_runs(place: Workspace, size: int, name: str, convert: Convert) -> tuple[Path, Path]:
    """The same two runs in our form and in a peer's.

    Args:
        place: where they are made.
        size: traces of each run.
        name: of the peer.
        convert: a trace and whether it passed, in the peer's form.

    Returns:
        The folder of our snapshots, and that of the peer's `baseline.jsonl` and `current.jsonl`.
    """
    cases = min(size, EVALUATED)
    small = snapshots(place, cases)
    copies = size // cases
    theirs = place.made(f"{name}-{size}", lambda folder: _write_runs(folder, small, cases, copies, convert))
    return small if copies == 1 else copied(place, small, copies), theirs


def _write_runs(folder: Path, evaluated: Path, size: int, copies: int, convert: Convert) -> None:
    for side, seed in SIDES.items():
        report = json.loads((evaluated / side / "report.json").read_bytes())
        passed = {case["caseId"]: case["status"] == "passed" for case in report["cases"]}
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as lines:
            for trace in traces(size, Shape(cases=size, seed=seed)):
                for number in range(copies):
                    # As `copy_rows.py` names them.
                    prefix = "" if copies == 1 else f"copy-{number:06}-"
                    copy = trace | {key: prefix + trace[key] for key in ("caseId", "traceId")}
                    lines.write(json.dumps(convert(copy, passed[trace["caseId"]]), ensure_ascii=False) + "\n")
