"""The checks that the peers have too: root-cause keywords in the answer, required tools among the calls."""

import json
from pathlib import Path
from typing import Any, Final

from benchmarks.generate import CAUSES, FAILURES, SERVICES, TOOLS

# A Gatekeeper conflict fails every case, by a rule that no peer has.
SHARED_FAILURES: Final = tuple(failure for failure in FAILURES if failure != "gatekeeper")


def keywords_of(case: int) -> list[list[str]]:
    """The root-cause keywords of a case: of every list one must stand in the answer, in any case of letters."""
    cause = CAUSES[case % len(CAUSES)]
    return [[cause[0], cause[2]], [cause[1], cause[3]], ["P99"]]


def tools_of(case: int) -> list[str]:
    """The tools that a case requires, all of them."""
    return [TOOLS[case % len(TOOLS)], TOOLS[(case + 1) % len(TOOLS)]]


def case_file(cases: int, *, keywords: bool) -> dict[str, Any]:
    """A case file that asks for the required tools, and for the keywords where wanted, and for nothing else."""
    return {
        "schemaVersion": 1,
        "suite": "synthetic",
        "defaults": {
            # Whatever the Verifier said is fine.
            "requireVerdict": False,
            "allowedVerdicts": ["PASS", "REVISE", "REJECT"],
        },
        "cases": [
            {
                "id": f"case-{number:04}",
                "question": f"Why is {SERVICES[number % len(SERVICES)]} slow (incident {number})?",
                "rootCauseKeywords": keywords_of(number) if keywords else [],
                "requiredEvidenceTools": tools_of(number),
            }
            for number in range(cases)
        ],
    }


def write_cases(folder: Path, cases: int, *, keywords: bool) -> None:
    """Write `cases.json`: see `case_file`."""
    (folder / "cases.json").write_text(json.dumps(case_file(cases, keywords=keywords), ensure_ascii=False), "utf-8")


def case_number(trace: dict[str, Any]) -> int:
    """The number of the case that a trace belongs to."""
    return int(trace["caseId"].removeprefix("case-"))
