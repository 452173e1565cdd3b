"""agent-reliability-harness: one file of steps per trace, and one policy of required tools for all."""

import json
from pathlib import Path
from typing import Any, Final

from benchmarks.comparison import Command, Comparison
from benchmarks.generate import Shape, traces
from benchmarks.peers.shared_checks import SHARED_FAILURES, tools_of, write_cases
from benchmarks.workspace import Workspace, passed_traces

PACKAGE: Final = "agent-reliability-harness"
CHECKS: Final = "tools; one file per trace"


def comparison(place: Workspace, size: int) -> Comparison:
    """Each side reads the same traces in its own form, one file each, all of one case, as it has one policy for all."""
    ours = place.traces(size, files=True, cases=1, failures=SHARED_FAILURES) / "traces"
    cases = place.made("cases-tools-one", lambda folder: write_cases(folder, 1, keywords=False)) / "cases.json"
    theirs = place.made(f"agent-reliability-harness-{size}", lambda folder: _write(folder, size))
    report = place.root / "out/agent-reliability-harness.json"
    return Comparison(
        ours=place.run("agent-reliability-harness", cases, ours, answer=passed_traces),
        theirs=Command(
            label=PACKAGE,
            argv=[
                *(place.peer("arh"), "validate", "--policy", "policy.json", "--quiet", "--json-out", str(report)),
                # Relative paths: as many names as this must fit into one command line.
                *sorted(path.relative_to(theirs).as_posix() for path in (theirs / "t").iterdir()),
            ],
            answer=lambda _: json.loads(report.read_bytes())["summary"]["passed_traces"],
            cwd=theirs,
            # 1: some trace failed.
            codes=frozenset({0, 1}),
            makes=(report,),
        ),
    )


def _write(folder: Path, size: int) -> None:
    (folder / "t").mkdir()
    policy = {"policy_id": "synthetic", "allow_unlisted_tools": True, "sequence": {"required_tools": tools_of(0)}}
    (folder / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
    for trace in traces(size, Shape(cases=1, failures=SHARED_FAILURES)):
        text = json.dumps(_steps(trace), ensure_ascii=False)
        (folder / "t" / f"{trace['traceId']}.json").write_text(text, encoding="utf-8")


def _steps(trace: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "step_id": f"s{number}",
            "type": "tool_call",
            "tool_name": call["toolName"],
            "arguments": call["arguments"],
            "output": call["resultSummary"],
            "latency_ms": call["durationMs"],
        }
        for number, call in enumerate(trace["toolInvocations"], 1)
    ]
    return {
        "schema_version": "1",
        "trace_id": trace["traceId"],
        "agent_name": "synthetic",
        "workflow": trace["caseId"],
        "steps": [*calls, {"step_id": "answer", "type": "model_response", "text": trace["finalAnswer"]}],
        "metadata": {"executorOutput": trace["executorOutput"], "selfEvaluation": trace["selfEvaluation"]},
    }
