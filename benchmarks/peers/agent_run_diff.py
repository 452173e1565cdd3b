"""agent-run-diff: two files of runs with their outcomes."""

import json
from typing import Any, Final

from benchmarks.comparison import Command, Comparison
from benchmarks.peers.two_runs import lost_and_gained, our_diff, two_runs
from benchmarks.workspace import Workspace

PACKAGE: Final = "agent-run-diff"
CHECKS: Final = "diff of two runs"


def comparison(place: Workspace, size: int) -> Comparison:
    """We compare two snapshots, it compares two files; both find the cases lost and gained."""
    evaluated, runs = two_runs(place, size, PACKAGE, _run)
    return Comparison(
        ours=our_diff(place, evaluated, lost_and_gained, "agent-run-diff"),
        theirs=Command(
            label=PACKAGE,
            argv=[place.peer("agent-run-diff"), "baseline.jsonl", "current.jsonl", "--format", "json"],
            answer=_lost_and_gained,
            cwd=runs,
            # 1: something got worse.
            codes=frozenset({0, 1}),
        ),
    )


def _lost_and_gained(printed: str) -> tuple[int, int]:
    found = json.loads(printed)
    return len(found["success_losses"]), len(found["success_gains"])


def _run(trace: dict[str, Any], passed: bool) -> dict[str, Any]:  # noqa: FBT001 - one of two facts of a run
    return {
        "run_id": trace["traceId"],
        "case_id": trace["caseId"],
        "status": "success" if passed else "failed",
        "final_output": trace["finalAnswer"],
        "total_latency_ms": trace["durationMs"],
        "steps": [
            {
                "type": "tool_call",
                "tool_name": call["toolName"],
                "tool_args": call["arguments"],
                "tool_result": call["resultSummary"],
                "latency_ms": call["durationMs"],
            }
            for call in trace["toolInvocations"]
        ],
    }
