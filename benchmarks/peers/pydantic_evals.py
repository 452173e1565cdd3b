"""pydantic-evals: `Dataset.evaluate_sync` with an evaluator of keywords and one of tools, on the same two files."""

from typing import Final

from benchmarks.comparison import Command, Comparison
from benchmarks.peers.shared_checks import SHARED_FAILURES, write_cases
from benchmarks.workspace import Workspace, passed_traces

PACKAGE: Final = "pydantic-evals"
CHECKS: Final = "keywords, tools"


def comparison(place: Workspace, size: int) -> Comparison:
    """Both read the same line file; the pass count is of traces."""
    traces = place.traces(size, failures=SHARED_FAILURES) / "traces.jsonl"
    cases = place.made("cases-keywords-tools", lambda folder: write_cases(folder, 50, keywords=True)) / "cases.json"
    return Comparison(
        ours=place.run("pydantic-evals", cases, traces, answer=passed_traces),
        theirs=Command(
            label=PACKAGE,
            argv=place.driver(place.peers_python, "pydantic_evals_run.py", cases, traces),
            answer=int,
            # It looks for a place to send its spans to.
            env={"LOGFIRE_SEND_TO_LOGFIRE": "false", "OTEL_SDK_DISABLED": "true"},
        ),
    )
