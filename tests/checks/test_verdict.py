"""The checks of the Verifier's verdict."""

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


def verdict(word: str | None) -> Trace:
    return {"finalAnswer": "The pool is full.", "selfEvaluation": {"verifier_evaluation": {"verdict": word}}}


# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "verdict-present",
        "no self-evaluation",
        {"requireVerdict": True, "allowedVerdicts": ["PASS"]},
        {"finalAnswer": "The pool is full."},
        "a verdict",
        "none",
        "there is no verdict: selfEvaluation.verifier_evaluation.verdict is absent or blank",
    ),
    (
        "verdict-present",
        "a blank verdict",
        {"requireVerdict": True, "allowedVerdicts": ["PASS"]},
        verdict(" \t"),
        "a verdict",
        "none",
        "there is no verdict: selfEvaluation.verifier_evaluation.verdict is absent or blank",
    ),
    (
        "verdict-allowed",
        "another verdict than the allowed ones",
        {"allowedVerdicts": ["PASS", "REVISE"]},
        verdict("REJECT"),
        "one of: PASS, REVISE",
        "REJECT",
        "the verdict REJECT is not allowed; allowed: PASS, REVISE",
    ),
    (
        "verdict-allowed",
        "a forbidden verdict",
        {"allowedVerdicts": ["PASS"], "forbiddenVerdicts": ["REVISE", "REJECT"]},
        verdict("REJECT"),
        "none of: REVISE, REJECT",
        "REJECT",
        "the verdict REJECT is forbidden for this case",
    ),
    (
        "verdict-allowed",
        "a forbidden verdict where none is named as allowed",
        {"forbiddenVerdicts": ["REJECT"]},
        verdict("REJECT"),
        "none of: REJECT",
        "REJECT",
        "the verdict REJECT is forbidden for this case",
    ),
    (
        "verdict-allowed",
        "the same word in lower case",
        {"allowedVerdicts": ["PASS"]},
        verdict("pass"),
        "one of: PASS",
        "pass",
        "the verdict pass is not allowed; allowed: PASS",
    ),
    (
        "verdict-allowed",
        "the same word with a space",
        {"allowedVerdicts": ["PASS"]},
        verdict("PASS "),
        "one of: PASS",
        "PASS ",
        "the verdict PASS  is not allowed; allowed: PASS",
    ),
    (
        "verdict-allowed",
        "a verdict that never ends is cut",
        {"allowedVerdicts": ["PASS"]},
        verdict("x" * 5000),
        "one of: PASS",
        "x" * 120 + "…",
        f"the verdict {'x' * 120}… is not allowed; allowed: PASS",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("verdict-present", "there is one", {"requireVerdict": True}, verdict("PASS"), "pass"),
    ("verdict-present", "one that no contract knows is there too", {"requireVerdict": True}, verdict("?"), "pass"),
    ("verdict-present", "an agent without a Verifier", {"requireVerdict": False}, verdict(None), "skip"),
    ("verdict-allowed", "an allowed one", {"allowedVerdicts": ["PASS", "REVISE"]}, verdict("REVISE"), "pass"),
    (
        "verdict-allowed",
        "none at all is judged by verdict-present",
        {"allowedVerdicts": ["PASS"]},
        verdict(None),
        "skip",
    ),
    ("verdict-allowed", "nothing allowed and nothing forbidden", {"allowedVerdicts": []}, verdict("PASS"), "skip"),
    ("verdict-allowed", "one that is not forbidden", {"forbiddenVerdicts": ["REJECT"]}, verdict("PASS"), "pass"),
    (
        "verdict-allowed",
        "one that is there although none is required",
        {"requireVerdict": False, "allowedVerdicts": ["PASS"]},
        verdict("REVISE"),
        "fail",
    ),
]


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=[f"{row[0]}: {row[1]}" for row in FAILURES])
def test_a_failure_tells_expected_observed_and_a_sentence(number: int, judged: Judged) -> None:
    check, _, _, _, expected, observed, message = FAILURES[number]
    said = {"outcome": "fail", "expected": expected, "observed": observed, "message": message}
    assert said == judged(FAILURES)[number][check]


@pytest.mark.parametrize("number", range(len(OUTCOMES)), ids=[f"{row[0]}: {row[1]}" for row in OUTCOMES])
def test_an_edge_has_its_outcome(number: int, judged: Judged) -> None:
    check, _, _, _, outcome = OUTCOMES[number]
    assert outcome == judged(OUTCOMES)[number][check]["outcome"]


def test_redaction_does_not_turn_a_verdict_into_a_forbidden_one(judged_now: Judged) -> None:
    case = {"allowedVerdicts": ["PASS"], "forbiddenVerdicts": ["REJECT-2"]}
    [results] = judged_now([("", "", case, verdict("REJECT-1"))], redact=[r"REJECT-\d"])
    assert results["verdict-allowed"] == {
        "outcome": "fail",
        "expected": "one of: PASS",
        "observed": "[redacted]",
        "message": "the verdict [redacted] is not allowed; allowed: PASS",
    }
