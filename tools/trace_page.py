"""The tables of the trace format, from the structs that decode it."""

from collections.abc import Mapping
from typing import Final

from pipeline.sources.base import Trace
from tools.structs import section, structs_below

# Keys that their structs leave undescribed, by struct and key.
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "Usage": {
        "inputTokens": "tokens read",
        "outputTokens": "tokens written",
        "totalTokens": "all tokens; else input plus output, where both are known",
        "costUsd": "US dollars",
    },
    "ExecutorOutput": {
        "answer_version": "the version of the Executor's protocol; no check reads it",
        "answer": "the answer before it was verified; under REJECT no sentence of it may reach the user",
        "claims": "what the answer rests on, claim by claim",
    },
    "ExecutorClaim": {
        "claim_id": "which claim; claim checks name it",
        "text": "what is claimed",
        "evidence_bindings": "the tools whose results show it",
    },
    "SelfEvaluation": {"verifier_evaluation": "what the Verifier found, and the audit chain"},
    "VerifierEvaluation": {
        "verdict": "the Verifier's verdict, compared exactly",
        "score": "the Verifier's score; shown, judged by no check",
        "trace_summary": "the tools whose results the Verifier looked at; `trace_summaries` is read too",
        "gatekeeper_result": "what the Gatekeeper found",
        "claim_checks": "the Executor's claims, checked one by one",
        "composer_output": "how the Composer rendered the answer; a text is its `mode`",
    },
    "NamedTool": {
        "toolName": "the tool's name; `tool_name`, `name` and `tool` are read too, in this order",
        "summary": "free text; no check reads it",
    },
    "ToolList": {"tools": "the tools mentioned"},
}


def trace_tables() -> str:
    """One section per object of a trace, the trace itself first."""
    return "\n\n".join(section(one, MEANINGS.get(one.cls.__name__, {})) for one in structs_below(Trace))
