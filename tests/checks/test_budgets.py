"""The checks of what a run may cost: a figure within its limit passes, an unknown one never does."""

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


def trace(**fields: Any) -> Trace:
    return {"finalAnswer": "The pool is full.", **fields}


def calls(number: int) -> list[dict[str, str]]:
    return [{"toolName": "searchLogs"}] * number


# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "tool-call-budget",
        "too many",
        {"maxToolCalls": 5},
        trace(toolInvocations=calls(9)),
        "at most 5 tool calls",
        "9 tool calls",
        "the run made 9 tool calls, over the limit of 5",
    ),
    (
        "tool-call-budget",
        "one where none is allowed",
        {"maxToolCalls": 0},
        trace(toolInvocations=calls(1)),
        "at most 0 tool calls",
        "1 tool call",
        "the run made 1 tool call, over the limit of 0",
    ),
    (
        "tool-call-budget",
        "unknown",
        {"maxToolCalls": 1},
        trace(),
        "at most 1 tool call",
        "unknown",
        "the number of tool calls is unknown: toolInvocations is absent; the limit is 1 tool call",
    ),
    (
        "duration-budget",
        "too long",
        {"maxDurationMs": 60000},
        trace(durationMs=184000.25),
        "at most 60000 ms",
        "184000.25 ms",
        "the run took 184000.25 ms, over the limit of 60000",
    ),
    (
        "duration-budget",
        "unknown",
        {"maxDurationMs": 0.5},
        trace(startedAt="2026-11-03T10:08:00Z", finishedAt="soon"),
        "at most 0.5 ms",
        "unknown",
        "the duration is unknown: neither durationMs nor startedAt and finishedAt tell it; the limit is 0.5 ms",
    ),
    (
        "token-budget",
        "too many",
        {"maxTotalTokens": 20000},
        trace(usage={"totalTokens": 41000}),
        "at most 20000 tokens",
        "41000 tokens",
        "the run used 41000 tokens, over the limit of 20000",
    ),
    (
        "token-budget",
        "unknown",
        {"maxTotalTokens": 20000},
        trace(usage={"inputTokens": 5}),
        "at most 20000 tokens",
        "unknown",
        (
            "the number of tokens is unknown: usage tells neither totalTokens nor inputTokens and outputTokens; "
            "the limit is 20000 tokens"
        ),
    ),
    (
        "cost-budget",
        "too dear",
        {"maxCostUsd": 0.1},
        trace(usage={"costUsd": 0.31}),
        "at most 0.1 US dollars",
        "0.31 US dollars",
        "the run cost 0.31 US dollars, over the limit of 0.1",
    ),
    (
        "cost-budget",
        "unknown",
        {"maxCostUsd": 1},
        trace(usage={"totalTokens": 5}),
        "at most 1 US dollar",
        "unknown",
        "the cost is unknown: usage.costUsd does not tell it; the limit is 1 US dollar",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("tool-call-budget", "no limit", {}, trace(toolInvocations=calls(99)), "skip"),
    ("tool-call-budget", "at the limit", {"maxToolCalls": 5}, trace(toolInvocations=calls(5)), "pass"),
    ("tool-call-budget", "one over it", {"maxToolCalls": 5}, trace(toolInvocations=calls(6)), "fail"),
    ("tool-call-budget", "no calls where none is allowed", {"maxToolCalls": 0}, trace(toolInvocations=[]), "pass"),
    ("tool-call-budget", "null calls do not count", {"maxToolCalls": 0}, trace(toolInvocations=[None]), "pass"),
    ("tool-call-budget", "calls without a name count", {"maxToolCalls": 0}, trace(toolInvocations=[{}]), "fail"),
    ("duration-budget", "no limit", {}, trace(), "skip"),
    ("duration-budget", "at the limit", {"maxDurationMs": 60000}, trace(durationMs=60000), "pass"),
    ("duration-budget", "just over it", {"maxDurationMs": 60000}, trace(durationMs=60000.0001), "fail"),
    ("duration-budget", "a limit of nothing", {"maxDurationMs": 0}, trace(durationMs=0), "pass"),
    (
        "duration-budget",
        "from start and end",
        {"maxDurationMs": 1500},
        trace(startedAt="2026-11-03T10:08:00Z", finishedAt="2026-11-03T18:08:01.5+08:00"),
        "pass",
    ),
    (
        "duration-budget",
        "from start and end, over it",
        {"maxDurationMs": 1499.999},
        trace(startedAt="2026-11-03T10:08:00Z", finishedAt="2026-11-03T18:08:01.5+08:00"),
        "fail",
    ),
    ("duration-budget", "a negative one is unknown", {"maxDurationMs": 60000}, trace(durationMs=-1), "fail"),
    ("token-budget", "no limit", {}, trace(), "skip"),
    ("token-budget", "at the limit", {"maxTotalTokens": 20}, trace(usage={"totalTokens": 20}), "pass"),
    ("token-budget", "one over it", {"maxTotalTokens": 20}, trace(usage={"totalTokens": 21}), "fail"),
    ("token-budget", "the sum", {"maxTotalTokens": 20}, trace(usage={"inputTokens": 15, "outputTokens": 5}), "pass"),
    (
        "token-budget",
        "the sum over it",
        {"maxTotalTokens": 20},
        trace(usage={"inputTokens": 15, "outputTokens": 6}),
        "fail",
    ),
    (
        "token-budget",
        "the total goes before the sum",
        {"maxTotalTokens": 20},
        trace(usage={"totalTokens": 21, "inputTokens": 1, "outputTokens": 1}),
        "fail",
    ),
    ("token-budget", "a negative one is unknown", {"maxTotalTokens": 20}, trace(usage={"totalTokens": -1}), "fail"),
    (
        "token-budget",
        "beyond what a float holds",
        {"maxTotalTokens": 2**53},
        trace(usage={"totalTokens": 2**53 + 1}),
        "fail",
    ),
    ("cost-budget", "no limit", {}, trace(), "skip"),
    ("cost-budget", "at the limit", {"maxCostUsd": 0.1}, trace(usage={"costUsd": 0.1}), "pass"),
    ("cost-budget", "just over it", {"maxCostUsd": 0.1}, trace(usage={"costUsd": 0.10000001}), "fail"),
    (
        "cost-budget",
        "free of charge where nothing may be spent",
        {"maxCostUsd": 0},
        trace(usage={"costUsd": 0.0}),
        "pass",
    ),
    ("cost-budget", "a negative one is unknown", {"maxCostUsd": 0.1}, trace(usage={"costUsd": -0.1}), "fail"),
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
