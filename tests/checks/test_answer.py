"""The checks of the final answer: what it must say, what it must not, and what it is under REJECT."""

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


def answer(text: str | None, **fields: Any) -> Trace:
    return {"finalAnswer": text, **fields}


def rejected(text: str | None, unverified: Any = None) -> Trace:
    """A trace with verdict REJECT: what the user is told, and what the Executor had said."""
    output = {"answer": unverified} if isinstance(unverified, str) else unverified
    return answer(text, executorOutput=output, selfEvaluation={"verifier_evaluation": {"verdict": "REJECT"}})


POOL: Case = {"rootCauseKeywords": [["connection pool", "连接池"], "exhausted"]}
THREE: Case = {"rootCauseKeywords": ["pool", "leak", "checkout"], "minKeywordCoverage": 0.66}
NO_RESTART: Case = {
    "forbiddenAnswerKeywords": [["restart the database", "重启数据库"], {"word": "kill"}, {"regex": r"drop\s+table"}]
}
NO_FAILOVER: Case = {"forbiddenConfirmedClaims": ["primary failed over", {"word": "split-brain"}]}
CLOSED: Case = {"audit": {"required": True}}
LEAK = "The connection pool of checkout is exhausted."
DEGRADED = "none of: unable to confirm / insufficient evidence / 无法确认 / 证据不足"
UNDER_REJECT = "under REJECT a degraded answer that leaks nothing of the unverified one"
NO_DEGRADED = "the verdict is REJECT but the answer is no degraded output:"

# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "answer-present",
        "blank",
        {},
        answer(" \n\t\u3000"),
        "a final answer",
        "none",
        "the trace has no final answer: finalAnswer is absent or blank",
    ),
    (
        "answer-present",
        "nothing that a reader sees",
        {},
        answer("\u200b** `\u2060` **"),
        "a final answer",
        "text of which a reader sees nothing",
        "the final answer shows a reader nothing: it is all invisible characters or bare Markdown",
    ),
    (
        "root-cause-keywords",
        "one of two",
        POOL,
        answer("The pool is exhausted."),
        "a coverage of at least 1",
        "1 of 2 found; missing: connection pool | 连接池",
        (
            "the answer names 1 of 2 root-cause keywords, under the minimum coverage of 1; "
            "missing: connection pool | 连接池"
        ),
    ),
    (
        "root-cause-keywords",
        "the only one",
        {"rootCauseKeywords": [{"word": "OOM"}]},
        answer("There is no room."),
        "a coverage of at least 1",
        "0 of 1 found; missing: word:OOM",
        "the answer names 0 of 1 root-cause keyword, under the minimum coverage of 1; missing: word:OOM",
    ),
    (
        "root-cause-keywords",
        "under the minimum",
        {**THREE, "rootCauseKeywords": ["pool", "leak", {"regex": "max_connections=\\d+"}]},
        answer("The pool is full."),
        "a coverage of at least 0.66",
        "1 of 3 found; missing: leak; /max_connections=\\d+/",
        (
            "the answer names 1 of 3 root-cause keywords, under the minimum coverage of 0.66; "
            "missing: leak; /max_connections=\\d+/"
        ),
    ),
    (
        "root-cause-keywords",
        "no answer",
        POOL,
        answer(None),
        "a coverage of at least 1",
        "0 of 2 found; missing: connection pool | 连接池; exhausted",
        (
            "the answer names 0 of 2 root-cause keywords, under the minimum coverage of 1; "
            "missing: connection pool | 连接池; exhausted"
        ),
    ),
    (
        "forbidden-answer-keywords",
        "one",
        NO_RESTART,
        answer("请立即重启 数据库。"),
        "no forbidden keyword in the answer",
        "restart the database | 重启数据库",
        "the answer contains what this case forbids: restart the database | 重启数据库",
    ),
    (
        "forbidden-answer-keywords",
        "two, of two forms",
        NO_RESTART,
        answer("Kill the session, then DROP  TABLE tmp_orders."),
        "no forbidden keyword in the answer",
        "word:kill; /drop\\s+table/",
        "the answer contains what this case forbids: word:kill; /drop\\s+table/",
    ),
    (
        "forbidden-confirmed-claims",
        "one",
        NO_FAILOVER,
        answer("Lag rose because the **primary failed over**."),
        "no forbidden confirmed claim in the answer",
        "primary failed over",
        "the answer states what must not be confirmed: primary failed over",
    ),
    (
        "forbidden-confirmed-claims",
        "two",
        NO_FAILOVER,
        answer("The primary failed over into a split-brain."),
        "no forbidden confirmed claim in the answer",
        "primary failed over; word:split-brain",
        "the answer states what must not be confirmed: primary failed over; word:split-brain",
    ),
    (
        "raw-protocol-leak",
        "the Executor's JSON",
        CLOSED,
        answer('{"answer_version": "executor_evidence_v2", "answer": "The pool is full."}'),
        "no raw Executor protocol in the answer",
        "executor_evidence_v2; answer_version",
        "raw Executor protocol stands in the answer: executor_evidence_v2; answer_version",
    ),
    (
        "raw-protocol-leak",
        "a marker escaped for Markdown",
        CLOSED,
        answer("See **claim\\_id** c1."),
        "no raw Executor protocol in the answer",
        "claim_id",
        "raw Executor protocol stands in the answer: claim_id",
    ),
    (
        "degraded-output",
        "says nothing of the sort",
        {},
        rejected("Raise the pool to 64."),
        UNDER_REJECT,
        f"it says {DEGRADED}",
        f"{NO_DEGRADED} it says {DEGRADED}",
    ),
    (
        "degraded-output",
        "says what it must not",
        {"degradedOutput": {"requiredAnyOf": ["unclear"], "forbidden": ["root cause", "confirmed", "fixed"]}},
        rejected("It is unclear, but the root cause is confirmed."),
        UNDER_REJECT,
        "it says what a degraded answer must not: root cause / confirmed",
        f"{NO_DEGRADED} it says what a degraded answer must not: root cause / confirmed",
    ),
    (
        "degraded-output",
        "repeats the unverified answer",
        {},
        rejected(f"Insufficient evidence. {LEAK}", f"{LEAK} Short one. Raise max_connections to 1000!"),
        UNDER_REJECT,
        f"it repeats the unverified answer: {LEAK}",
        f"{NO_DEGRADED} it repeats the unverified answer: {LEAK}",
    ),
    (
        "degraded-output",
        "all at once is one failure",
        {"degradedOutput": {"requiredAnyOf": ["unclear"], "forbidden": ["confirmed"]}},
        rejected(f"Confirmed: {LEAK} Raise max_connections to 1000.", f"{LEAK}\nRaise max_connections to 1000!"),
        UNDER_REJECT,
        (
            "it says none of: unclear; it says what a degraded answer must not: confirmed; "
            f"it repeats the unverified answer: {LEAK} / Raise max_connections to 1000!"
        ),
        (
            f"{NO_DEGRADED} it says none of: unclear; it says what a degraded answer must not: confirmed; "
            f"it repeats the unverified answer: {LEAK} / Raise max_connections to 1000!"
        ),
    ),
    (
        "degraded-output",
        "no answer",
        {"degradedOutput": {"requiredAnyOf": ["unclear"]}},
        rejected(None, LEAK),
        UNDER_REJECT,
        "it says none of: unclear",
        f"{NO_DEGRADED} it says none of: unclear",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("answer-present", "one word", {}, answer("x"), "pass"),
    ("answer-present", "null", {}, answer(None), "fail"),
    ("answer-present", "absent", {}, {}, "fail"),
    ("root-cause-keywords", "no keywords", {"rootCauseKeywords": []}, answer(None), "skip"),
    ("root-cause-keywords", "both", POOL, answer("Connection  pool\nexhausted"), "pass"),
    ("root-cause-keywords", "a synonym", POOL, answer("连接池 exhausted"), "pass"),
    ("root-cause-keywords", "two synonyms of one entry count once", POOL, answer("connection pool 连接池"), "fail"),
    ("root-cause-keywords", "two of three at 0.66", THREE, answer("pool leak"), "pass"),
    ("root-cause-keywords", "two of three at 0.67", {**THREE, "minKeywordCoverage": 0.67}, answer("pool leak"), "fail"),
    ("root-cause-keywords", "one of two at a half", {**POOL, "minKeywordCoverage": 0.5}, answer("exhausted"), "pass"),
    (
        "root-cause-keywords",
        "three of ten at 0.3",
        {"rootCauseKeywords": list("abcdefghij"), "minKeywordCoverage": 0.3},
        answer("a b c"),
        "pass",
    ),
    ("root-cause-keywords", "nothing at a minimum of nothing", {**POOL, "minKeywordCoverage": 0}, answer("x"), "pass"),
    ("root-cause-keywords", "under REJECT too", POOL, rejected("Unable to confirm."), "fail"),
    ("root-cause-keywords", "a number inside a number", {"rootCauseKeywords": ["503"]}, answer("code 5030"), "fail"),
    ("root-cause-keywords", "in the Executor's answer only", POOL, rejected("x", "connection pool exhausted"), "fail"),
    ("forbidden-answer-keywords", "nothing is forbidden", {"forbiddenAnswerKeywords": []}, answer("x"), "skip"),
    ("forbidden-answer-keywords", "none of them", NO_RESTART, answer("A skilled hand raises the pool."), "pass"),
    ("forbidden-answer-keywords", "a negation counts", NO_RESTART, answer("Do not restart the database."), "fail"),
    ("forbidden-answer-keywords", "no answer says nothing", NO_RESTART, answer(None), "pass"),
    ("forbidden-confirmed-claims", "nothing is forbidden", {"forbiddenConfirmedClaims": []}, answer("x"), "skip"),
    ("forbidden-confirmed-claims", "none of them", NO_FAILOVER, answer("The primary is fine."), "pass"),
    ("forbidden-confirmed-claims", "under REJECT too", NO_FAILOVER, rejected("The primary failed over."), "fail"),
    ("raw-protocol-leak", "no audit is asked for", {}, answer("claim_id"), "skip"),
    ("raw-protocol-leak", "plain words", CLOSED, answer("The claim id is c1."), "pass"),
    ("raw-protocol-leak", "no answer", CLOSED, answer(None), "pass"),
    ("raw-protocol-leak", "in any case of letters", CLOSED, answer("Evidence_Bindings"), "fail"),
    (
        "raw-protocol-leak",
        "under fallback rendering too",
        CLOSED,
        answer("answer_version 1", selfEvaluation={"verifier_evaluation": {"composer_output": {"fallback": True}}}),
        "fail",
    ),
    ("raw-protocol-leak", "no markers", {**CLOSED, "protocolMarkers": []}, answer("claim_id"), "pass"),
    (
        "raw-protocol-leak",
        "markers of the file",
        {**CLOSED, "protocolMarkers": ["<<raw>>"]},
        answer("<<RAW>> x"),
        "fail",
    ),
    (
        "raw-protocol-leak",
        "not the built-in ones then",
        {**CLOSED, "protocolMarkers": ["<<raw>>"]},
        answer("claim_id"),
        "pass",
    ),
    ("degraded-output", "another verdict", {}, answer(LEAK), "skip"),
    (
        "degraded-output",
        "the verdict in lower case",
        {},
        answer(LEAK, selfEvaluation={"verifier_evaluation": {"verdict": "reject"}}),
        "skip",
    ),
    ("degraded-output", "says it cannot tell", {}, rejected("**Unable** to confirm a cause."), "pass"),
    ("degraded-output", "says so in Chinese", {}, rejected("证据 不足，请人工排查。", LEAK), "pass"),
    ("degraded-output", "nothing need be said", {"degradedOutput": {"requiredAnyOf": []}}, rejected("x", LEAK), "pass"),
    (
        "degraded-output",
        "nothing need be said, yet nothing may leak",
        {"degradedOutput": {"requiredAnyOf": []}},
        rejected(LEAK, LEAK),
        "fail",
    ),
    (
        "degraded-output",
        "a leak in other letters and marks",
        {},
        rejected(f"Insufficient evidence: `{LEAK.upper()}`", LEAK),
        "fail",
    ),
    (
        "degraded-output",
        "executorOutput is the text",
        {},
        {**rejected(f"Unable to confirm. {LEAK}"), "executorOutput": LEAK},
        "fail",
    ),
    (
        "degraded-output",
        "a short sentence among others",
        {},
        rejected("Unable to confirm: pool is full", "Pool is full. Look."),
        "pass",
    ),
    (
        "degraded-output",
        "a short sentence that is all",
        {},
        rejected("Unable to confirm: pool is full", "Pool is full."),
        "fail",
    ),
    ("degraded-output", "seven wide is too short", {}, rejected("Unable to confirm: no disk", "No disk"), "pass"),
    (
        "degraded-output",
        "ten Chinese characters are twenty wide",
        {},
        rejected("无法确认。数据库的连接池已耗尽了", "数据库的连接池已耗尽。请重启。"),
        "fail",
    ),
    (
        "degraded-output",
        "a sentence of the question is no leak",
        {"question": f"Is it true? {LEAK}"},
        rejected(f"Unable to confirm. {LEAK}", LEAK),
        "pass",
    ),
    (
        "degraded-output",
        "a sentence that says it cannot tell is no leak",
        {},
        rejected("Insufficient evidence for a full table scan.", "Insufficient evidence for a full table scan."),
        "pass",
    ),
    (
        "degraded-output",
        "claims are no answer",
        {},
        rejected("Unable to confirm.", {"claims": [{"text": LEAK}]}),
        "pass",
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


def test_a_leak_is_redacted(judged_now: Judged) -> None:
    leak = "The token sk-12345 of checkout has expired."
    [results] = judged_now([("", "", {}, rejected(f"Unable to confirm. {leak}", leak))], redact=[r"sk-\d+"])
    told = "it repeats the unverified answer: The token [redacted] of checkout has expired."
    assert results["degraded-output"]["observed"] == told
