"""kalibra: `compare` of two files of runs with their outcomes."""

import json
from typing import Any, Final

from benchmarks.comparison import Command, Comparison
from benchmarks.peers.two_runs import lost_and_gained, our_diff, two_runs
from benchmarks.workspace import Workspace

PACKAGE: Final = "kalibra"
CHECKS: Final = "diff of two runs"


def comparison(place: Workspace, size: int) -> Comparison:
    """We compare two snapshots, it compares two files; both find the cases lost and gained."""
    evaluated, runs = two_runs(place, size, PACKAGE, _run)
    return Comparison(
        ours=our_diff(place, evaluated, lost_and_gained, "kalibra"),
        theirs=Command(
            label=PACKAGE,
            argv=[
                *(place.peer("kalibra"), "compare", "baseline.jsonl", "current.jsonl"),
                *("--format", "json", "--quiet", "--trace-format", "flat"),
            ],
            answer=_lost_and_gained,
            cwd=runs,
        ),
    )


def _lost_and_gained(printed: str) -> tuple[int, int]:
    found = json.loads(printed)["metrics"]["trace_breakdown"]["metadata"]
    return found["n_regressions"], found["n_improvements"]


def _run(trace: dict[str, Any], passed: bool) -> dict[str, Any]:  # noqa: FBT001 - one of two facts of a run
    return {
        "trace_id": trace["caseId"],
        "outcome": "success" if passed else "failure",
        "model": trace["model"],
        "answer": trace["finalAnswer"],
        "spans": [
            {
                "span_id": f"s{number}",
                "name": call["toolName"],
                "duration_s": call["durationMs"] / 1000,
                "attributes": {"arguments": call["arguments"], "result": call["resultSummary"]},
            }
            for number, call in enumerate(trace["toolInvocations"])
        ],
    }
