"""A small run, made by hand: two cases that say much, one with two trials, one unreadable, one without a trace."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pipeline as de

Json = Any

# What a case file may hold, and what a trace may.
MARKUP = '<script>alert("1")</script> | **a**'
HOSTILE = '<script>alert("1")</script>\n| **a** | \u202eb \x1b[31m'

CASES: Json = {
    "schemaVersion": 1,
    "suite": "small",
    "defaults": {"rootCauseKeywords": [], "requiredEvidenceTools": [], "allowedVerdicts": ["PASS"]},
    "cases": [
        {
            "id": "pool",
            "question": "Why is checkout slow?",
            "tags": ["db", "v2"],
            "rootCauseKeywords": ["exhausted", ["pool", "池"]],
            "requiredEvidenceTools": ["searchLogs", ["queryMetrics", "queryTraces"]],
            "maxToolCalls": 3,
        },
        {
            "id": "leak",
            "question": "Why do sessions vanish?",
            "tags": ["db"],
            "rootCauseKeywords": ["eviction", "memory"],
            "requiredEvidenceTools": ["redisInfo", "searchLogs"],
        },
        {
            "id": "trials",
            "question": "Does it hold twice?",
            "maxDurationMs": 10,
            "knownFailure": {"checks": ["duration-budget"], "reason": "the sandbox is slow"},
        },
        {"id": "broken", "question": "Can it be read?", "tags": ["v2"]},
        {"id": "missing", "question": "Is there a trace?"},
    ],
}

POOL: Json = {
    "traceId": "t-pool",
    "finalAnswer": "The pool is exhausted.",
    "durationMs": 4000,
    "model": "m-1",
    "usage": {"inputTokens": 10, "outputTokens": 5, "costUsd": 0.25},
    "toolInvocations": [
        {"toolName": "searchLogs", "arguments": {"q": "pool"}, "success": True, "durationMs": 7, "resultSummary": "10"},
        {"toolName": "queryTraces", "arguments": {}, "success": False, "error": "timeout"},
        {"arguments": "not json"},
    ],
    "executorOutput": {
        "answer": "maybe the pool",
        "claims": [
            {"claim_id": "c1", "text": "pool full", "evidence_bindings": ["searchLogs", "searchLogs", "queryTraces"]},
            {"claim_id": "c1", "text": "the same id again", "evidence_bindings": ["listRunbooks"]},
            {"claim_id": "c2", "text": "no evidence", "evidence_bindings": []},
        ],
    },
    "selfEvaluation": {
        "verifier_evaluation": {
            "verdict": "PASS",
            "score": 0.9,
            "gatekeeper_result": {"status": "pass", "violations": []},
            "claim_checks": [
                {"claim_id": "c1", "verification": "supported", "detail": "in the log"},
                {"claim_id": "c2", "verification": "unsupported", "detail": "no source"},
                {"claim_id": "c9", "verification": "supported", "detail": "of no claim"},
            ],
            "composer_output": {"mode": "parsed"},
        }
    },
}
LEAK: Json = {
    "traceId": "t-leak",
    "finalAnswer": "It is the memory.",
    "toolInvocations": [{"toolName": "redisInfo", "success": True}],
    "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS", "score": 0.8}},
}


def trial(number: int, milliseconds: float, verdict: str) -> Json:
    return {
        "traceId": f"t-{number}",
        "caseId": "trials",
        "trial": number,
        "finalAnswer": "Yes.",
        "durationMs": milliseconds,
        "selfEvaluation": {"verifier_evaluation": {"verdict": verdict}},
    }


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case file and the traces of the small run."""
    made = tmp_path_factory.mktemp("api")
    (made / "cases.json").write_text(json.dumps(CASES))
    traces = made / "traces"
    traces.mkdir()
    (traces / "pool.json").write_text(json.dumps(POOL))
    (traces / "leak.json").write_text(json.dumps(LEAK))
    (traces / "broken.json").write_text('{"finalAnswer": 7}')
    lines: Sequence[Json] = (trial(1, 10, "PASS"), trial(2, 20, "PASS"))
    (traces / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (traces / "stray.json").write_text(json.dumps({"traceId": "t-stray", "caseId": "nobody", "finalAnswer": "\ud800"}))
    return made


@pytest.fixture(scope="session")
def run(folder: Path) -> de.Run:
    return de.evaluate(folder / "cases.json", folder / "traces")


@pytest.fixture(scope="session")
def snapshot(run: de.Run) -> de.Snapshot:
    return run.snapshot


@pytest.fixture(scope="session")
def without_text(folder: Path) -> de.Snapshot:
    return de.evaluate(folder / "cases.json", folder / "traces", with_text=False).snapshot


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> de.Snapshot:
    """A run in which every text that a trace may bring is hostile."""
    made = tmp_path_factory.mktemp("hostile")
    suite = {
        "schemaVersion": 1,
        "suite": MARKUP,
        "cases": [
            {
                "id": "a",
                "question": MARKUP,
                "tags": [MARKUP],
                "rootCauseKeywords": [MARKUP],
                "requiredEvidenceTools": [MARKUP],
                "allowedVerdicts": ["REJECT"],
            }
        ],
    }
    (made / "cases.json").write_text(json.dumps(suite))
    verifier = {
        "verdict": HOSTILE,
        "gatekeeper_result": {"status": HOSTILE},
        "claim_checks": [{"claim_id": "c", "verification": HOSTILE, "detail": HOSTILE}],
    }
    trace = {
        "traceId": HOSTILE,
        "finalAnswer": "x",
        "durationMs": 5,
        "toolInvocations": [{"toolName": HOSTILE, "success": False}],
        "executorOutput": {"claims": [{"claim_id": "c", "text": HOSTILE, "evidence_bindings": [HOSTILE]}]},
        "selfEvaluation": {"verifier_evaluation": verifier},
    }
    (made / "traces").mkdir()
    (made / "traces/a.json").write_text(json.dumps(trace))
    return de.evaluate(made / "cases.json", made / "traces").snapshot
