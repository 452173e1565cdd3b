"""Digests tell what a case asks for, not how it is written."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.cases.digest import case_definition, case_digest, cases_digest
from pipeline.cases.model import Case, Pattern, Suite, ToolArguments

Load = Callable[..., Suite]

CASE = Case(
    id="a",
    question="为什么?",
    root_cause_keywords=(("pool", Pattern(word="OOM")),),
    min_keyword_coverage=1.0,
    max_duration_ms=2.5,
    tool_arguments=(ToolArguments(tool="t", arguments={"z": 1.0, "a": [None, True, {"n": -0.0}]}),),
)
DEFINITION: dict[str, Any] = {
    "allowedVerdicts": [],
    "audit": {
        "claimBindings": False,
        "claimChecks": False,
        "composer": False,
        "maxUnsupportedClaims": None,
        "minClaimChecks": None,
        "noUnsupportedClaimText": False,
        "required": False,
    },
    "degradedOutput": {
        "forbidden": [],
        "requiredAnyOf": ["unable to confirm", "insufficient evidence", "无法确认", "证据不足"],
    },
    "evidencePolicy": "invoked",
    "forbiddenAnswerKeywords": [],
    "forbiddenConfirmedClaims": [],
    "forbiddenTools": [],
    "forbiddenVerdicts": [],
    "id": "a",
    "knownFailure": None,
    "maxCostUsd": None,
    "maxDurationMs": 2.5,
    "maxToolCalls": None,
    "maxTotalTokens": None,
    "minKeywordCoverage": 1,
    "passPolicy": "all",
    "protocolMarkers": ["executor_evidence_v2", "answer_version", "evidence_bindings", "claim_id"],
    "question": "为什么?",
    "requireVerdict": True,
    "requiredEvidenceTools": [],
    "rootCauseKeywords": [["pool", {"word": "OOM"}]],
    "tags": [],
    "toolArguments": [{"arguments": {"a": [None, True, {"n": 0}], "z": 1}, "mode": "subset", "tool": "t"}],
    "toolOrder": [],
    "traceFixture": None,
    "verifierContract": {
        "claimVerifications": [
            "supported",
            "partially_supported",
            "unsupported",
            "contradicted",
            "unverifiable",
        ],
        "verdicts": ["PASS", "REVISE", "REJECT"],
    },
}


def test_definition_is_canonical_json() -> None:
    assert json.dumps(DEFINITION, ensure_ascii=False, separators=(",", ":")) == case_definition(CASE)


def test_digests_are_sha256_of_definitions() -> None:
    other = Case(id="b", question="q")
    one, both = case_definition(CASE), f"[{case_definition(CASE)},{case_definition(other)}]"
    assert f"sha256:{hashlib.sha256(one.encode()).hexdigest()}" == case_digest(CASE)
    assert f"sha256:{hashlib.sha256(both.encode()).hexdigest()}" == cases_digest([other, CASE])


HEAD = "schemaVersion: 1\nsuite: s\n"
WRITTEN = f"""{HEAD}cases:
  - id: a
    question: q
    tags: [x]
    rootCauseKeywords: [pool]
    minKeywordCoverage: 1.0
    requiredEvidenceTools: []
    allowedVerdicts: [PASS]
    audit: {{required: true}}
    toolArguments: [{{tool: t, arguments: {{a: 1, b: 2}}}}]
  - id: b
    question: q
    tags: [x]
    rootCauseKeywords: [pool]
    requiredEvidenceTools: []
    allowedVerdicts: [PASS]
"""
OTHERWISE = {
    "a.yaml": f"""{HEAD}defaults:
  {{allowedVerdicts: [PASS], question: q, rootCauseKeywords: [pool], audit: {{composer: true}}}}
cases:
  - toolArguments: [{{arguments: {{b: 2.0, a: 1.0}}, tool: t, mode: subset}}]
    audit: {{composer: null, required: true, minClaimChecks: null}}
    requiredEvidenceTools: []
    minKeywordCoverage: 1
    tags: [x]
    maxToolCalls: null
    id: a
""",
    "b.yaml": WRITTEN[: WRITTEN.index("  - id: a")] + WRITTEN[WRITTEN.index("  - id: b") :],
}


def test_the_digest_knows_nothing_of_key_order_files_or_defaults(load: Load) -> None:
    assert cases_digest(load({"all.yaml": WRITTEN}).cases) == cases_digest(load(OTHERWISE, *OTHERWISE).cases)


@pytest.mark.parametrize(
    "before, after",
    [
        ("question: q", "question: r"),
        ("tags: [x]", "tags: [x, x]"),
        ("[pool]", "[[pool]]"),
        ("[pool]", "[{word: pool}]"),
        ("a: 1", "a: '1'"),
        ("a: 1,", ""),
        ("required: true", "required: false"),
        ("[PASS]", "[PASS, REVISE]"),
        ("suite: s", "suite: s\nprotocolMarkers: [x]"),
        ("suite: s", "suite: s\nverifierContract: {claimVerifications: [x]}"),
    ],
)
def test_the_digest_knows_every_change_of_what_is_asked(load: Load, before: str, after: str) -> None:
    unchanged = cases_digest(load({"a.yaml": WRITTEN}).cases)
    assert unchanged != cases_digest(load({"a.yaml": WRITTEN.replace(before, after, 1)}).cases)
