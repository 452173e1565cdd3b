"""The checks of the audit chain: Executor claims, Gatekeeper, claim checks, Composer."""

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


ABSENT = object()
SUPPORTED = {"claim_id": "c1", "verification": "supported", "detail": "500 of 500"}
FULL_CHAIN: dict[str, Any] = {
    "gatekeeper_result": {"status": "pass"},
    "claim_checks": [SUPPORTED],
    "composer_output": {"mode": "parsed"},
}
FAILOVER = "The primary of orders-db has failed over."


def chain(**fields: Any) -> Trace:
    """A trace with these fields under verifier_evaluation."""
    return {"finalAnswer": "The pool is full.", "selfEvaluation": {"verifier_evaluation": fields}}


def closed(**fields: Any) -> Trace:
    """A trace with the full audit chain but for these fields."""
    return chain(**{key: value for key, value in {**FULL_CHAIN, **fields}.items() if value is not ABSENT})


def check(claim_id: Any, verification: Any = "supported", detail: Any = "why") -> dict[str, Any]:
    return {"claim_id": claim_id, "verification": verification, "detail": detail}


def claim(claim_id: Any, *bound: Any, text: str | None = None) -> dict[str, Any]:
    return {"claim_id": claim_id, "text": text, "evidence_bindings": list(bound)}


def claims(*stated: dict[str, Any], checks: Any = ABSENT, calls: Any = ("searchLogs",), answer: str = "x") -> Trace:
    """A trace with these executor claims, claim checks and calls."""
    trace = chain() if checks is ABSENT else chain(claim_checks=checks)
    invocations = [{"toolName": tool} for tool in calls]
    return {**trace, "finalAnswer": answer, "executorOutput": {"claims": list(stated)}, "toolInvocations": invocations}


REQUIRED: Case = {"audit": {"required": True}}
CHECKS: Case = {"audit": {"claimChecks": True}}
TWO_CHECKS: Case = {"audit": {"minClaimChecks": 2}}
ANY_CHECKS: Case = {"audit": {"minClaimChecks": 0}}
COMPOSER: Case = {"audit": {"composer": True}}
BINDINGS: Case = {"audit": {"claimBindings": True}}
NONE_BAD: Case = {"audit": {"maxUnsupportedClaims": 0}}
NO_TEXT: Case = {"audit": {"noUnsupportedClaimText": True}}
CONTRACT = "supported, partially_supported, unsupported, contradicted, unverifiable"
ONE_DUE = f"at least 1 claim check, each with claim_id, detail and a verification of: {CONTRACT}"
TWO_DUE = f"at least 2 claim checks, each with claim_id, detail and a verification of: {CONTRACT}"
BOUND = "claims bound to tools that were called, and claim checks of those claims"
CLEAR = "no text of an unsupported or contradicted claim in the answer"

# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "audit-fields-present",
        "one is null",
        REQUIRED,
        closed(composer_output=None),
        "gatekeeper_result, claim_checks, composer_output",
        "absent: composer_output",
        "absent under selfEvaluation.verifier_evaluation: composer_output",
    ),
    (
        "audit-fields-present",
        "no self-evaluation",
        REQUIRED,
        {"finalAnswer": "x"},
        "gatekeeper_result, claim_checks, composer_output",
        "absent: gatekeeper_result, claim_checks, composer_output",
        "absent under selfEvaluation.verifier_evaluation: gatekeeper_result, claim_checks, composer_output",
    ),
    (
        "gatekeeper-verdict-conflict",
        "failed and passed",
        {},
        chain(verdict="PASS", gatekeeper_result={"status": " FAIL "}),
        "no verdict PASS where the Gatekeeper failed the trace",
        "gatekeeper_result.status is fail, the verdict is PASS",
        "the Gatekeeper failed this trace, yet the verdict is PASS: the audit chain contradicts itself",
    ),
    (
        "claim-checks-auditable",
        "absent",
        CHECKS,
        chain(),
        ONE_DUE,
        "claim_checks is absent",
        "the claim checks cannot be audited: claim_checks is absent",
    ),
    (
        "claim-checks-auditable",
        "absent where none need be there",
        ANY_CHECKS,
        chain(),
        ONE_DUE.replace("1 claim check,", "0 claim checks,"),
        "claim_checks is absent",
        "the claim checks cannot be audited: claim_checks is absent",
    ),
    (
        "claim-checks-auditable",
        "none",
        CHECKS,
        chain(claim_checks=[]),
        ONE_DUE,
        "too few of them: 0 of at least 1",
        "the claim checks cannot be audited: too few of them: 0 of at least 1",
    ),
    (
        "claim-checks-auditable",
        "too few, and a field is missing",
        TWO_CHECKS,
        chain(claim_checks=[check("c1", detail=" ")]),
        TWO_DUE,
        "too few of them: 1 of at least 2; claim_checks[0] lacks detail",
        "the claim checks cannot be audited: too few of them: 1 of at least 2; claim_checks[0] lacks detail",
    ),
    (
        "claim-checks-auditable",
        "everything is missing of one",
        CHECKS,
        chain(claim_checks=[SUPPORTED, {}]),
        ONE_DUE,
        "claim_checks[1] lacks claim_id, verification, detail",
        "the claim checks cannot be audited: claim_checks[1] lacks claim_id, verification, detail",
    ),
    (
        "claim-checks-auditable",
        "verifications outside the contract",
        CHECKS,
        chain(claim_checks=[check("c1", "Supported"), check(None, "looks fine")]),
        ONE_DUE,
        (
            'claim_checks[0] has the unknown verification "Supported"; claim_checks[1] lacks claim_id; '
            'claim_checks[1] has the unknown verification "looks fine"'
        ),
        (
            'the claim checks cannot be audited: claim_checks[0] has the unknown verification "Supported"; '
            'claim_checks[1] lacks claim_id; claim_checks[1] has the unknown verification "looks fine"'
        ),
    ),
    (
        "claim-checks-auditable",
        "very many faults",
        CHECKS,
        chain(claim_checks=[check(None)] * 25),
        ONE_DUE,
        "; ".join(f"claim_checks[{number}] lacks claim_id" for number in range(20)) + " and 5 more",
        "the claim checks cannot be audited: "
        + "; ".join(f"claim_checks[{number}] lacks claim_id" for number in range(20))
        + " and 5 more",
    ),
    (
        "composer-auditable",
        "absent",
        COMPOSER,
        chain(),
        "a composer_output that says parsed or fallback",
        "composer_output is absent",
        "the rendering cannot be audited: composer_output is absent",
    ),
    (
        "composer-auditable",
        "says neither",
        COMPOSER,
        chain(composer_output={"mode": "rendered"}),
        "a composer_output that says parsed or fallback",
        "composer_output says neither parsed nor fallback",
        "the rendering cannot be audited: composer_output says neither parsed nor fallback",
    ),
    (
        "composer-auditable",
        "says both",
        COMPOSER,
        chain(composer_output={"parsed": True, "fallback_used": True}),
        "a composer_output that says parsed or fallback",
        "composer_output says both parsed and fallback",
        "the rendering cannot be audited: composer_output says both parsed and fallback",
    ),
    (
        "claim-bindings",
        "nothing there",
        BINDINGS,
        {"finalAnswer": "x"},
        BOUND,
        "executorOutput.claims is absent; claim_checks is absent",
        "the claims are not bound to evidence: executorOutput.claims is absent; claim_checks is absent",
    ),
    (
        "claim-bindings",
        "tools that were never called",
        BINDINGS,
        claims(claim("c1", "searchLogs", "redisInfo", {"toolName": "explainSql"}), checks=[check("c1")]),
        BOUND,
        "claim c1 binds what was never called: explainSql, redisInfo",
        "the claims are not bound to evidence: claim c1 binds what was never called: explainSql, redisInfo",
    ),
    (
        "claim-bindings",
        "no evidence, no id, no tool name",
        BINDINGS,
        claims(claim("c1"), claim(None), claim("c3", {"summary": "?"}, "searchLogs"), claim(" ", None), checks=[]),
        BOUND,
        (
            "claim c1 binds no evidence; claims[1] has no claim_id; claims[1] binds no evidence; "
            "claim c3 has a binding without a tool name; claims[3] has no claim_id; "
            "claims[3] has a binding without a tool name"
        ),
        (
            "the claims are not bound to evidence: claim c1 binds no evidence; claims[1] has no claim_id; "
            "claims[1] binds no evidence; claim c3 has a binding without a tool name; claims[3] has no claim_id; "
            "claims[3] has a binding without a tool name"
        ),
    ),
    (
        "claim-bindings",
        "claim checks of nothing known",
        BINDINGS,
        claims(claim("c1", "searchLogs"), checks=[check("c9"), check("c1"), check(None)]),
        BOUND,
        "claim_checks[0] judges the unknown claim c9; claim_checks[2] judges no claim",
        (
            "the claims are not bound to evidence: claim_checks[0] judges the unknown claim c9; "
            "claim_checks[2] judges no claim"
        ),
    ),
    (
        "claim-bindings",
        "claim checks where there are no claims",
        BINDINGS,
        {**claims(checks=[check("c1")]), "executorOutput": "just text"},
        BOUND,
        "executorOutput.claims is absent; claim_checks[0] judges the unknown claim c1",
        (
            "the claims are not bound to evidence: executorOutput.claims is absent; "
            "claim_checks[0] judges the unknown claim c1"
        ),
    ),
    (
        "unsupported-claims",
        "one where none may be",
        NONE_BAD,
        chain(claim_checks=[check("c1"), check("c2", "contradicted")]),
        "at most 0 unsupported or contradicted claims",
        "1: c2 (contradicted)",
        "1 unsupported or contradicted claim, over the limit of 0: c2 (contradicted)",
    ),
    (
        "unsupported-claims",
        "two where one may be",
        {"audit": {"maxUnsupportedClaims": 1}},
        chain(claim_checks=[check("c2", "unsupported"), check(None, "contradicted")]),
        "at most 1 unsupported or contradicted claim",
        "2: c2 (unsupported), claim_checks[1] (contradicted)",
        "2 unsupported or contradicted claims, over the limit of 1: c2 (unsupported), claim_checks[1] (contradicted)",
    ),
    (
        "unsupported-claims",
        "unknown",
        {"audit": {"maxUnsupportedClaims": 9}},
        chain(),
        "at most 9 unsupported or contradicted claims",
        "claim_checks is absent",
        "the number of unsupported claims is unknown: claim_checks is absent",
    ),
    (
        "unsupported-claim-text",
        "a sentence of it is in the answer",
        NO_TEXT,
        claims(
            claim("c1", text="All 500 connections are in use."),
            claim("c2", text=f"{FAILOVER} It took 9 s."),
            checks=[check("c1"), check("c2", "contradicted")],
            answer=f"All 500 connections are in use. *{FAILOVER}*",
        ),
        CLEAR,
        f"it repeats: {FAILOVER}",
        f"the answer is not clear of unsupported claims: it repeats: {FAILOVER}",
    ),
    (
        "unsupported-claim-text",
        "texts that nobody knows",
        NO_TEXT,
        claims(
            claim("c2"),
            checks=[check("c2", "unsupported"), check("c9", "unsupported"), check(None, "contradicted")],
        ),
        CLEAR,
        "executorOutput.claims has no text for c2, c9, claim_checks[2]",
        "the answer is not clear of unsupported claims: executorOutput.claims has no text for c2, c9, claim_checks[2]",
    ),
    (
        "unsupported-claim-text",
        "one is told, the text of another is unknown",
        NO_TEXT,
        claims(
            claim("c1", text=FAILOVER),
            checks=[check("c1", "unsupported"), check("c2", "unsupported")],
            answer=FAILOVER,
        ),
        CLEAR,
        f"executorOutput.claims has no text for c2; it repeats: {FAILOVER}",
        (
            "the answer is not clear of unsupported claims: executorOutput.claims has no text for c2; "
            f"it repeats: {FAILOVER}"
        ),
    ),
    (
        "unsupported-claim-text",
        "no claim checks",
        NO_TEXT,
        claims(claim("c1", text=FAILOVER)),
        CLEAR,
        "claim_checks is absent",
        "the answer is not clear of unsupported claims: claim_checks is absent",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("audit-fields-present", "not asked", {}, chain(), "skip"),
    ("audit-fields-present", "all there", REQUIRED, closed(), "pass"),
    (
        "audit-fields-present",
        "empty ones are there",
        REQUIRED,
        chain(gatekeeper_result={}, claim_checks=[], composer_output={}),
        "pass",
    ),
    ("audit-fields-present", "a blank text is not", REQUIRED, closed(gatekeeper_result="  "), "fail"),
    ("audit-fields-present", "claim checks of blank text are not", REQUIRED, closed(claim_checks=""), "fail"),
    ("audit-fields-present", "one is absent", REQUIRED, closed(gatekeeper_result=ABSENT), "fail"),
    (
        "audit-fields-present",
        "in camel case",
        REQUIRED,
        chain(gatekeeperResult={"status": "pass"}, claimChecks=[SUPPORTED], composerOutput={"mode": "parsed"}),
        "pass",
    ),
    ("gatekeeper-verdict-conflict", "nothing there", {}, {}, "pass"),
    (
        "gatekeeper-verdict-conflict",
        "passed both",
        {},
        chain(verdict="PASS", gatekeeper_result={"status": "pass"}),
        "pass",
    ),
    (
        "gatekeeper-verdict-conflict",
        "failed both",
        {},
        chain(verdict="REJECT", gatekeeper_result={"status": "fail"}),
        "pass",
    ),
    ("gatekeeper-verdict-conflict", "failed, no verdict", {}, chain(gatekeeper_result={"status": "fail"}), "pass"),
    (
        "gatekeeper-verdict-conflict",
        "another status",
        {},
        chain(verdict="PASS", gatekeeper_result={"status": "failed"}),
        "pass",
    ),
    (
        "gatekeeper-verdict-conflict",
        "verdicts are compared exactly",
        {},
        chain(verdict="Pass", gatekeeper_result={"status": "fail"}),
        "pass",
    ),
    (
        "gatekeeper-verdict-conflict",
        "violations are no status",
        {},
        chain(verdict="PASS", gatekeeper_result={"violations": ["v"]}),
        "pass",
    ),
    ("claim-checks-auditable", "not asked", {}, chain(claim_checks=[{}]), "skip"),
    ("claim-checks-auditable", "one", CHECKS, chain(claim_checks=[SUPPORTED]), "pass"),
    (
        "claim-checks-auditable",
        "every verification of the contract",
        CHECKS,
        chain(claim_checks=[check("c", word) for word in CONTRACT.split(", ")]),
        "pass",
    ),
    ("claim-checks-auditable", "a minimum asks for it", TWO_CHECKS, chain(claim_checks=[SUPPORTED]), "fail"),
    (
        "claim-checks-auditable",
        "a minimum that is reached",
        TWO_CHECKS,
        chain(claim_checks=[SUPPORTED, SUPPORTED]),
        "pass",
    ),
    ("claim-checks-auditable", "none where none need be", ANY_CHECKS, chain(claim_checks=[]), "pass"),
    (
        "claim-checks-auditable",
        "asked for, none need be",
        {"audit": {"claimChecks": True, "minClaimChecks": 0}},
        chain(claim_checks=[]),
        "pass",
    ),
    ("claim-checks-auditable", "none need be, but one is bad", ANY_CHECKS, chain(claim_checks=[check(None)]), "fail"),
    (
        "claim-checks-auditable",
        "a verification with a space",
        CHECKS,
        chain(claim_checks=[check("c1", "supported ")]),
        "fail",
    ),
    (
        "claim-checks-auditable",
        "camel case",
        CHECKS,
        chain(claim_checks=[{"claimId": "c1", "verification": "supported", "detail": "x"}]),
        "pass",
    ),
    (
        "claim-checks-auditable",
        "a contract of one's own",
        {**CHECKS, "verifierContract": {"claimVerifications": ["ok"]}},
        chain(claim_checks=[check("c1", "ok")]),
        "pass",
    ),
    (
        "claim-checks-auditable",
        "the built-in one no longer holds then",
        {**CHECKS, "verifierContract": {"claimVerifications": ["ok"]}},
        chain(claim_checks=[SUPPORTED]),
        "fail",
    ),
    ("composer-auditable", "not asked", {}, chain(), "skip"),
    ("composer-auditable", "parsed", COMPOSER, chain(composer_output={"mode": "parsed"}), "pass"),
    ("composer-auditable", "fallback", COMPOSER, chain(composer_output="Fallback "), "pass"),
    ("composer-auditable", "an empty one", COMPOSER, chain(composer_output={}), "fail"),
    ("claim-bindings", "not asked", {}, {}, "skip"),
    ("claim-bindings", "bound", BINDINGS, claims(claim("c1", "searchLogs"), checks=[check("c1")]), "pass"),
    (
        "claim-bindings",
        "bound by an object in another spelling",
        BINDINGS,
        claims(claim("c1", {"tool_name": "searchLogs"}), checks=[]),
        "pass",
    ),
    (
        "claim-bindings",
        "in camel case",
        BINDINGS,
        claims({"claimId": "c1", "evidenceBindings": ["searchLogs"]}, checks=[]),
        "pass",
    ),
    (
        "claim-bindings",
        "a call in vain was called",
        BINDINGS,
        {**claims(claim("c1", "x"), checks=[]), "toolInvocations": [{"toolName": "x", "success": False}]},
        "pass",
    ),
    (
        "claim-bindings",
        "a mention in the summary was not",
        BINDINGS,
        claims(claim("c1", "searchLogs"), checks=[], calls=()),
        "fail",
    ),
    ("claim-bindings", "no claims and no checks of them", BINDINGS, claims(checks=[]), "pass"),
    ("claim-bindings", "no claim checks field", BINDINGS, claims(claim("c1", "searchLogs")), "fail"),
    (
        "claim-bindings",
        "ids are compared exactly",
        BINDINGS,
        claims(claim("c1", "searchLogs"), checks=[check("C1")]),
        "fail",
    ),
    ("claim-bindings", "names are compared exactly", BINDINGS, claims(claim("c1", "SearchLogs"), checks=[]), "fail"),
    (
        "claim-bindings",
        "no calls recorded",
        BINDINGS,
        {**claims(claim("c1", "searchLogs"), checks=[]), "toolInvocations": None},
        "fail",
    ),
    ("unsupported-claims", "not asked", {}, chain(), "skip"),
    ("unsupported-claims", "none", NONE_BAD, chain(claim_checks=[SUPPORTED]), "pass"),
    ("unsupported-claims", "no claim checks at all", NONE_BAD, chain(claim_checks=[]), "pass"),
    (
        "unsupported-claims",
        "partially supported and unverifiable are neither",
        NONE_BAD,
        chain(claim_checks=[check("c1", "partially_supported"), check("c2", "unverifiable")]),
        "pass",
    ),
    (
        "unsupported-claims",
        "at the limit",
        {"audit": {"maxUnsupportedClaims": 1}},
        chain(claim_checks=[check("c1", "unsupported")]),
        "pass",
    ),
    (
        "unsupported-claim-text",
        "not asked",
        {},
        claims(claim("c1", text=FAILOVER), checks=[check("c1", "unsupported")], answer=FAILOVER),
        "skip",
    ),
    (
        "unsupported-claim-text",
        "not told",
        NO_TEXT,
        claims(claim("c1", text=FAILOVER), checks=[check("c1", "unsupported")]),
        "pass",
    ),
    (
        "unsupported-claim-text",
        "told and supported",
        NO_TEXT,
        claims(claim("c1", text=FAILOVER), checks=[check("c1")], answer=FAILOVER),
        "pass",
    ),
    ("unsupported-claim-text", "no claim checks need be there", NO_TEXT, claims(checks=[]), "pass"),
    (
        "unsupported-claim-text",
        "too short to count",
        NO_TEXT,
        claims(claim("c1", text="No disk"), checks=[check("c1", "unsupported")], answer="No disk"),
        "pass",
    ),
    (
        "unsupported-claim-text",
        "short, but all of it",
        NO_TEXT,
        claims(claim("c1", text="Disk full"), checks=[check("c1", "unsupported")], answer="disk full"),
        "fail",
    ),
    (
        "unsupported-claim-text",
        "a sentence of the question",
        {**NO_TEXT, "question": f"Is it that {FAILOVER}"},
        claims(claim("c1", text=FAILOVER), checks=[check("c1", "unsupported")], answer=FAILOVER),
        "pass",
    ),
    (
        "unsupported-claim-text",
        "of two claims of one id one has no text",
        NO_TEXT,
        claims(claim("c1", text=FAILOVER), claim("c1"), checks=[check("c1", "unsupported")]),
        "fail",
    ),
    (
        "unsupported-claim-text",
        "of two claims of one id the second is told",
        NO_TEXT,
        claims(
            claim("c1", text="All is well with it."),
            claim("c1", text=FAILOVER),
            checks=[check("c1", "unsupported")],
            answer=FAILOVER,
        ),
        "fail",
    ),
    (
        "unsupported-claim-text",
        "no answer tells nothing",
        NO_TEXT,
        {**claims(claim("c1", text=FAILOVER), checks=[check("c1", "unsupported")]), "finalAnswer": None},
        "pass",
    ),
]


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=[f"{row[0]}: {row[1]}" for row in FAILURES])
def test_a_failure_tells_expected_observed_and_a_sentence(number: int, judged: Judged) -> None:
    name, _, _, _, expected, observed, message = FAILURES[number]
    said = {"outcome": "fail", "expected": expected, "observed": observed, "message": message}
    assert said == judged(FAILURES)[number][name]


@pytest.mark.parametrize("number", range(len(OUTCOMES)), ids=[f"{row[0]}: {row[1]}" for row in OUTCOMES])
def test_an_edge_has_its_outcome(number: int, judged: Judged) -> None:
    name, _, _, _, outcome = OUTCOMES[number]
    assert outcome == judged(OUTCOMES)[number][name]["outcome"]


def test_words_of_a_trace_are_redacted_before_they_are_cut(judged_now: Judged) -> None:
    secret = "q" * 113 + "sk-12345678901234567890"
    case = {
        "audit": {"claimChecks": True, "claimBindings": True, "maxUnsupportedClaims": 0, "noUnsupportedClaimText": True}
    }
    trace = claims(
        claim(secret, secret),
        checks=[check(secret, secret), check(f"{secret}x", "contradicted")],
    )
    [results] = judged_now([("", "", case, trace)], redact=[r"sk-\d{20}"])
    said = [words for result in results.values() for words in result.values() if words is not None]
    assert [words for words in said if "sk-" in words] == []
    assert len([words for words in said if "q" * 113 + "[redact…" in words]) == 8
