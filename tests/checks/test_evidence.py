"""The checks of the evidence: tools that must have been used, and tools that must not."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


def used(*calls: str | dict[str, Any] | None, summary: Any = None) -> Trace:
    """A trace with these calls (a text is a tool's name) and this trace summary."""
    trace: Trace = {
        "finalAnswer": "The pool is full.",
        "toolInvocations": [{"toolName": call} if isinstance(call, str) else call for call in calls],
    }
    if summary is not None:
        trace["selfEvaluation"] = {"verifier_evaluation": {"trace_summary": summary}}
    return trace


def failed(tool: str, **how: Any) -> dict[str, Any]:
    return {"toolName": tool, **(how or {"success": False})}


NO_CALLS: Trace = {"finalAnswer": "The pool is full."}
LOGS: Case = {"requiredEvidenceTools": ["searchLogs"]}
LOGS_DONE: Case = {"requiredEvidenceTools": ["searchLogs"], "evidencePolicy": "succeeded"}
GROUP: Case = {"requiredEvidenceTools": [["queryMysqlStatus", "queryInnodbStatus"]]}
MANY = ", ".join(f"{number:03}{'x' * 117}… (1)" for number in range(20)) + " and 10 more"
HANDS_OFF: Case = {"forbiddenTools": ["restartService", "killMysqlSession"]}

# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "evidence-coverage",
        "one tool is missing",
        LOGS,
        used("redisInfo", "redisInfo", "queryMetrics"),
        "searchLogs",
        "called: redisInfo (2), queryMetrics (1)",
        "required tool searchLogs was neither called nor summarised; called: redisInfo (2), queryMetrics (1)",
    ),
    (
        "evidence-coverage",
        "several are missing, in the order of the case",
        {"requiredEvidenceTools": ["searchLogs", "redisInfo", "explainSql"]},
        used("redisInfo"),
        "searchLogs, explainSql",
        "called: redisInfo (1)",
        "required tools searchLogs, explainSql were neither called nor summarised; called: redisInfo (1)",
    ),
    (
        "evidence-coverage",
        "none of a group",
        GROUP,
        used("searchLogs"),
        "queryMysqlStatus | queryInnodbStatus",
        "called: searchLogs (1)",
        "required tool queryMysqlStatus | queryInnodbStatus was neither called nor summarised; called: searchLogs (1)",
    ),
    (
        "evidence-coverage",
        "no call at all",
        LOGS,
        used(),
        "searchLogs",
        "called: nothing",
        "required tool searchLogs was neither called nor summarised; called: nothing",
    ),
    (
        "evidence-coverage",
        "the calls are not recorded",
        LOGS,
        NO_CALLS,
        "searchLogs",
        "toolInvocations is absent",
        "required tool searchLogs was neither called nor summarised; toolInvocations is absent",
    ),
    (
        "evidence-coverage",
        "called without success where success is asked for",
        LOGS_DONE,
        used("redisInfo", failed("searchLogs"), failed("searchLogs", success=True, error="timeout")),
        "searchLogs",
        "called: searchLogs (2, 2 failed), redisInfo (1)",
        "required tool searchLogs was never called with success; called: searchLogs (2, 2 failed), redisInfo (1)",
    ),
    (
        "evidence-coverage",
        "a mention in the summary is no call that went well",
        LOGS_DONE,
        used("redisInfo", summary=["searchLogs"]),
        "searchLogs",
        "called: redisInfo (1)",
        "required tool searchLogs was never called with success; called: redisInfo (1)",
    ),
    (
        "evidence-coverage",
        "a call without a name",
        LOGS,
        used({"arguments": {}}),
        "searchLogs",
        "called: a call without a name (1)",
        "required tool searchLogs was neither called nor summarised; called: a call without a name (1)",
    ),
    (
        "evidence-coverage",
        "a hostile number of tools with hostile names",
        LOGS,
        used(*(f"{number:03}" + "x" * 500 for number in range(30))),
        "searchLogs",
        f"called: {MANY}",
        f"required tool searchLogs was neither called nor summarised; called: {MANY}",
    ),
    (
        "forbidden-tools",
        "one was called",
        HANDS_OFF,
        used("searchLogs", "restartService", "restartService"),
        "none of: restartService, killMysqlSession",
        "used: restartService",
        "a forbidden tool was used: restartService",
    ),
    (
        "forbidden-tools",
        "one was called in vain, another is in the summary",
        HANDS_OFF,
        used(failed("restartService"), summary=[{"toolName": "killMysqlSession", "summary": "done"}]),
        "none of: restartService, killMysqlSession",
        "used: killMysqlSession, restartService",
        "forbidden tools were used: killMysqlSession, restartService",
    ),
    (
        "forbidden-tools",
        "nothing to judge by",
        HANDS_OFF,
        NO_CALLS,
        "none of: restartService, killMysqlSession",
        "neither toolInvocations nor a trace summary",
        "forbidden tools cannot be ruled out: the trace has neither toolInvocations nor a trace summary",
    ),
    (
        "forbidden-tools",
        "a summary that lists no tools is nothing to judge by",
        HANDS_OFF,
        {"selfEvaluation": {"verifier_evaluation": {"trace_summary": {}}}},
        "none of: restartService, killMysqlSession",
        "neither toolInvocations nor a trace summary",
        "forbidden tools cannot be ruled out: the trace has neither toolInvocations nor a trace summary",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("evidence-coverage", "nothing is required", {"requiredEvidenceTools": []}, NO_CALLS, "skip"),
    ("evidence-coverage", "called", LOGS, used("searchLogs"), "pass"),
    ("evidence-coverage", "in the summary only", LOGS, used(summary=["searchLogs"]), "pass"),
    (
        "evidence-coverage",
        "in the summary, no calls recorded",
        LOGS,
        {**used(summary=["searchLogs"]), "toolInvocations": None},
        "pass",
    ),
    (
        "evidence-coverage",
        "in the summary as an object",
        LOGS,
        used(summary={"tools": [{"name": "searchLogs"}]}),
        "pass",
    ),
    ("evidence-coverage", "called in vain where a call will do", LOGS, used(failed("searchLogs")), "pass"),
    (
        "evidence-coverage",
        "called in vain, then with success",
        LOGS_DONE,
        used(failed("searchLogs"), "searchLogs"),
        "pass",
    ),
    (
        "evidence-coverage",
        "a status that says it failed",
        LOGS_DONE,
        used(failed("searchLogs", status="TIMEOUT")),
        "fail",
    ),
    (
        "evidence-coverage",
        "a status that says it went well",
        LOGS_DONE,
        used(failed("searchLogs", status="ok")),
        "pass",
    ),
    (
        "evidence-coverage",
        "success does not outweigh an error",
        LOGS_DONE,
        used(failed("searchLogs", success=True, error={"code": 500})),
        "fail",
    ),
    (
        "evidence-coverage",
        "nothing is known of its success",
        LOGS_DONE,
        used(failed("searchLogs", success=None)),
        "pass",
    ),
    ("evidence-coverage", "names are compared exactly", LOGS, used("searchlogs", "searchLogs "), "fail"),
    ("evidence-coverage", "any tool of a group", GROUP, used("queryInnodbStatus"), "pass"),
    ("evidence-coverage", "any tool of a group in the summary", GROUP, used(summary=["queryInnodbStatus"]), "pass"),
    (
        "evidence-coverage",
        "of a group one failed and the other went well",
        {**GROUP, "evidencePolicy": "succeeded"},
        used(failed("queryMysqlStatus"), "queryInnodbStatus"),
        "pass",
    ),
    (
        "evidence-coverage",
        "every entry counts, a group is but one of them",
        {"requiredEvidenceTools": ["searchLogs", ["queryMysqlStatus", "queryInnodbStatus"]]},
        used("queryMysqlStatus", "queryInnodbStatus"),
        "fail",
    ),
    ("evidence-coverage", "a null call is none", LOGS, used(None), "fail"),
    ("forbidden-tools", "nothing is forbidden", {"forbiddenTools": []}, NO_CALLS, "skip"),
    ("forbidden-tools", "other tools only", HANDS_OFF, used("searchLogs", summary=["searchLogs"]), "pass"),
    ("forbidden-tools", "no calls", HANDS_OFF, used(), "pass"),
    (
        "forbidden-tools",
        "an empty summary alone",
        HANDS_OFF,
        {"selfEvaluation": {"verifier_evaluation": {"trace_summary": []}}},
        "pass",
    ),
    ("forbidden-tools", "a call without a name is no forbidden one", HANDS_OFF, used({}), "pass"),
    ("forbidden-tools", "in the summary only", HANDS_OFF, used(summary=["restartService"]), "fail"),
    ("forbidden-tools", "names are compared exactly", HANDS_OFF, used("RestartService"), "pass"),
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


def test_names_are_redacted_before_they_are_cut(judged_now: Judged) -> None:
    secret = "q" * 110 + "token-1234567890123456789"
    [results] = judged_now([("", "", LOGS, used(secret))], redact=[r"token-\d{19}"])
    assert results["evidence-coverage"]["observed"] == f"called: {'q' * 110}[redacted] (1)"


TOOLS = st.sampled_from(["a", "b", "c"])
REQUIRED = st.lists(TOOLS | st.lists(TOOLS, min_size=1, max_size=2), min_size=1, max_size=3)
CALLS = st.lists(st.fixed_dictionaries({"toolName": TOOLS, "success": st.booleans()}), max_size=3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(REQUIRED, st.sampled_from(["invoked", "succeeded"]), CALLS, TOOLS), min_size=1, max_size=10),
)
def test_one_more_call_that_went_well_never_uncovers_evidence(
    judged_now: Judged, examples: list[tuple[list[Any], str, list[dict[str, Any]], str]]
) -> None:
    rows = [
        ("", "", {"requiredEvidenceTools": required, "evidencePolicy": policy}, used(*calls))
        for required, policy, before, extra in examples
        for calls in (before, [*before, {"toolName": extra, "success": True}])
    ]
    outcomes = [result["evidence-coverage"]["outcome"] for result in judged_now(rows)]
    lost = [
        example
        for example, before, after in zip(examples, outcomes[::2], outcomes[1::2], strict=True)
        if before == "pass" and after != "pass"
    ]
    assert lost == []
