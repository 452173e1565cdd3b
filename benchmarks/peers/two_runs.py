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
from benchmarks.workspace import Workspace

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


def write_runs(folder: Path, evaluated: Path, size: int, convert: Convert) -> None:
    """Write `baseline.jsonl` and `current.jsonl` in a peer's form.

    Args:
        folder: where to.
        evaluated: the folder of `snapshots`, for the outcomes.
        size: traces of each run.
        convert: a trace and whether it passed, in the peer's form.
    """
    for side, seed in SIDES.items():
        report = json.loads((evaluated / side / "report.json").read_bytes())
        passed = {case["caseId"]: case["status"] == "passed" for case in report["cases"]}
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as lines:
            for trace in traces(size, Shape(cases=size, seed=seed)):
                lines.write(json.dumps(convert(trace, passed[trace["caseId"]]), ensure_ascii=False) + "\n")
