"""Judges a file of traces with pydantic-evals, as its documentation says, and prints how many passed."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_evals import Case, Dataset  # type: ignore[import-not-found] # stands in the peers' environment alone
from pydantic_evals.evaluators import (  # type: ignore[import-not-found] # the same
    Evaluator,
    EvaluatorContext,
)


@dataclass
class Keywords(Evaluator):  # type: ignore[misc] # the base class is Any here
    """Of every group of keywords one stands in the answer."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Judge one trace."""
        answer = ctx.output["finalAnswer"].lower()
        groups = ctx.metadata["rootCauseKeywords"]
        return all(any(keyword.lower() in answer for keyword in group) for group in groups)


@dataclass
class Tools(Evaluator):  # type: ignore[misc] # the base class is Any here
    """Every required tool was called."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Judge one trace."""
        called = {call["toolName"] for call in ctx.output["toolInvocations"]}
        return called.issuperset(ctx.metadata["requiredEvidenceTools"])


def saved(trace: dict[str, Any]) -> dict[str, Any]:
    """The task: the trace is there already."""
    return trace


def main(cases_file: str, traces_file: str) -> None:
    """Judge and print."""
    cases = {case["id"]: case for case in json.loads(Path(cases_file).read_bytes())["cases"]}
    with Path(traces_file).open(encoding="utf-8") as lines:
        traces = [json.loads(line) for line in lines]
    dataset = Dataset(
        name="synthetic",
        cases=[Case(name=trace["traceId"], inputs=trace, metadata=cases[trace["caseId"]]) for trace in traces],
        evaluators=[Keywords(), Tools()],
    )
    report = dataset.evaluate_sync(saved, progress=False)
    if len(report.cases) != len(traces):
        sys.exit(f"{len(report.failures)} of {len(traces)} traces could not be judged")
    passed = sum(all(one.value for one in case.assertions.values()) for case in report.cases)
    sys.stdout.write(f"{passed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
