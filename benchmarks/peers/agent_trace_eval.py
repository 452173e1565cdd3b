"""agent-trace-eval: one file of events per trace, and an expectation of required tools for each."""

import json
import re
from pathlib import Path
from typing import Any, Final

from benchmarks.comparison import Command, Comparison
from benchmarks.generate import Shape, traces
from benchmarks.peers.shared_checks import SHARED_FAILURES, case_number, tools_of, write_cases
from benchmarks.workspace import Workspace, passed_traces

PACKAGE: Final = "agent-trace-eval"
CHECKS: Final = "tools; one file per trace"


def comparison(place: Workspace, size: int) -> Comparison:
    """Each side reads the same traces in its own form, one file each; the pass count is of traces."""
    ours = place.traces(size, files=True, failures=SHARED_FAILURES) / "traces"
    cases = place.made("cases-tools", lambda folder: write_cases(folder, 50, keywords=False)) / "cases.json"
    theirs = place.made(f"agent-trace-eval-{size}", lambda folder: _write(folder, size))
    return Comparison(
        ours=place.run("agent-trace-eval", cases, ours, answer=passed_traces),
        theirs=Command(
            label=PACKAGE,
            argv=[
                place.peer("agent-trace-eval"),
                *("--cases", str(theirs / "cases.json"), "--traces-dir", str(theirs / "traces")),
            ],
            answer=_passed,
            # 1: some trace failed.
            codes=frozenset({0, 1}),
        ),
    )


def _passed(printed: str) -> int:
    found = re.search(r"^- Passed: (\d+)$", printed, re.MULTILINE)
    return -1 if found is None else int(found[1])


def _write(folder: Path, size: int) -> None:
    (folder / "traces").mkdir()
    cases = []
    for trace in traces(size, Shape(failures=SHARED_FAILURES)):
        name = trace["traceId"]
        (folder / "traces" / f"{name}.json").write_text(json.dumps(_events(trace), ensure_ascii=False), "utf-8")
        cases.append({"id": name, "expect": {"tools": {"required": tools_of(case_number(trace))}}})
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")


def _events(trace: dict[str, Any]) -> dict[str, Any]:
    return {
        "case_id": trace["caseId"],
        "run_id": trace["traceId"],
        "input": trace["question"],
        "events": [
            *(
                {
                    "type": "tool_call",
                    "name": call["toolName"],
                    "arguments": call["arguments"],
                    "result": {"status": "ok", "text": call["resultSummary"]},
                }
                for call in trace["toolInvocations"]
            ),
            {"type": "final_answer", "text": trace["finalAnswer"]},
        ],
        "executorOutput": trace["executorOutput"],
        "selfEvaluation": trace["selfEvaluation"],
    }
