"""Traces as frames: what a spelling, a blank, a flag or a word means (contract section 2)."""

from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import schemas
from pipeline.errors import Fault
from pipeline.flatten.audit import composer_status, tool_name
from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.sources.base import (
    ComposerOutput,
    NamedTool,
    ReadTrace,
    Trace,
    Unreadable,
    Warned,
)


def flattened(*traces: dict[str, Any]) -> TraceFrames:
    records = [
        ReadTrace(trace=msgspec.convert(trace, Trace), file="x.jsonl", line=line, root=0)
        for line, trace in enumerate(traces, start=1)
    ]
    return flatten_traces(records)


def verified(**fields: Any) -> dict[str, Any]:
    return {"selfEvaluation": {"verifier_evaluation": fields}}


def only(frame: pl.DataFrame, column: str) -> Any:
    value = frame[column].item()
    return value.to_list() if isinstance(value, pl.Series) else value


# name, trace, column of the traces frame, its value
TRACES: list[tuple[str, dict[str, Any], str, Any]] = [
    ("an answer as it was given", {"finalAnswer": " **Pool** full "}, "answer", " **Pool** full "),
    ("an answer as it is compared", {"finalAnswer": " **Pool** full "}, "answer_text", "pool full"),
    ("a blank answer is none", {"finalAnswer": " \u3000\n"}, "answer", None),
    ("none is compared as none", {"finalAnswer": " \u3000\n"}, "answer_text", None),
    ("a blank id is none", {"traceId": ""}, "trace_id", None),
    ("a blank case id is none", {"caseId": "\t"}, "own_case_id", None),
    ("a trial", {"trial": 3}, "own_trial", 3),
    ("a blank status is none", {"status": " "}, "run_status", None),
    ("a model", {"model": "m-1"}, "model", "m-1"),
    ("a question", {"question": "Why?"}, "own_question", "Why?"),
    ("a verdict as it was given", verified(verdict="PASS "), "verdict", "PASS "),
    ("a blank verdict is none", verified(verdict=" "), "verdict", None),
    ("a verdict in camel case", {"selfEvaluation": {"verifierEvaluation": {"verdict": "PASS"}}}, "verdict", "PASS"),
    (
        "snake case wins",
        {"selfEvaluation": {"verifier_evaluation": {"verdict": "A"}, "verifierEvaluation": {"verdict": "B"}}},
        "verdict",
        "A",
    ),
    ("an empty self-evaluation", {"selfEvaluation": {}}, "verdict", None),
    ("a score", verified(score=0.9), "score", 0.9),
    ("no calls recorded", {}, "tool_call_count", None),
    ("an empty list of calls", {"toolInvocations": []}, "tool_call_count", 0),
    ("null calls do not count", {"toolInvocations": [None, {}, None]}, "tool_call_count", 1),
    ("a duration", {"durationMs": 12.5, "startedAt": "2026-01-01", "finishedAt": "2026-01-02"}, "duration_ms", 12.5),
    ("a duration of nothing", {"durationMs": 0}, "duration_ms", 0.0),
    (
        "a duration from two times",
        {"startedAt": "2026-11-03T20:17:55.301+08:00", "finishedAt": " 2026-11-03T12:18:24.741Z "},
        "duration_ms",
        29440.0,
    ),
    (
        "a duration over a day",
        {"startedAt": "2026-11-03T00:00:00Z", "finishedAt": "2026-11-04T00:00:00.000001Z"},
        "duration_ms",
        86_400_000.001,
    ),
    (
        "nine digits of a second",
        {"startedAt": "2026-11-03T00:00:00.000000000Z", "finishedAt": "2026-11-03T00:00:00.123456789Z"},
        "duration_ms",
        123.456,
    ),
    (
        "two times without a zone",
        {"startedAt": "2026-11-03T00:00:00", "finishedAt": "2026-11-03T00:00:01"},
        "duration_ms",
        1000.0,
    ),
    (
        "one time with a zone, one without",
        {"startedAt": "2026-11-03T00:00:00Z", "finishedAt": "2026-11-03T00:00:01"},
        "duration_ms",
        None,
    ),
    ("one time that is none", {"startedAt": "2026-11-03T00:00:00Z", "finishedAt": "soon"}, "duration_ms", None),
    ("one time only", {"startedAt": "2026-11-03T00:00:00Z"}, "duration_ms", None),
    (
        "the far ends of time",
        {"startedAt": "0001-01-01T00:00:00+23:59", "finishedAt": "9999-12-31T23:59:59-23:59"},
        "duration_ms",
        315_538_070_279_000.0,
    ),
    ("a total of tokens", {"usage": {"totalTokens": 5, "inputTokens": 1, "outputTokens": 1}}, "total_tokens", 5),
    ("a sum of tokens", {"usage": {"inputTokens": 3, "outputTokens": 4}}, "total_tokens", 7),
    ("half a sum is none", {"usage": {"outputTokens": 4}}, "total_tokens", None),
    ("input tokens", {"usage": {"inputTokens": 3}}, "input_tokens", 3),
    ("a cost", {"usage": {"costUsd": 0.5}}, "cost_usd", 0.5),
    ("no summary", verified(), "summary_tools", None),
    ("an empty summary is there", verified(trace_summary=[]), "summary_tools", []),
    ("a summary of names", verified(trace_summary=["a", " ", None, "b"]), "summary_tools", ["a", "b"]),
    (
        "a summary of objects",
        verified(trace_summary=[{"toolName": "a"}, {"tool_name": "b"}, {"name": "c"}, {"tool": "d"}, {"summary": "e"}]),
        "summary_tools",
        ["a", "b", "c", "d"],
    ),
    (
        "an object with a list of tools",
        verified(trace_summary={"tools": ["a", {"name": "b"}]}),
        "summary_tools",
        ["a", "b"],
    ),
    ("an object without a list of tools", verified(trace_summary={}), "summary_tools", None),
    ("summaries in the plural", verified(trace_summaries=["a"]), "summary_tools", ["a"]),
    ("in camel case", verified(traceSummary=["a"]), "summary_tools", ["a"]),
    ("in camel case and the plural", verified(traceSummaries=["a"]), "summary_tools", ["a"]),
    (
        "of two summaries the first spelling",
        verified(traceSummary=["b"], trace_summaries=["a"]),
        "summary_tools",
        ["a"],
    ),
]


@pytest.mark.parametrize("trace, column, expected", [row[1:] for row in TRACES], ids=[row[0] for row in TRACES])
def test_a_trace_is_a_row(trace: dict[str, Any], column: str, expected: Any) -> None:
    assert expected == only(flattened(trace).traces, column)


# name, trace, column of the audit frame, its value
AUDITS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("no gatekeeper", {}, "gatekeeper_present", False),
    ("an empty gatekeeper is there", verified(gatekeeper_result={}), "gatekeeper_present", True),
    ("a blank gatekeeper is not", verified(gatekeeper_result=" "), "gatekeeper_present", False),
    ("a gatekeeper in camel case", verified(gatekeeperResult={"status": "x"}), "gatekeeper_status", "x"),
    (
        "snake case wins",
        verified(gatekeeper_result={"status": "a"}, gatekeeperResult={"status": "b"}),
        "gatekeeper_status",
        "a",
    ),
    (
        "a blank snake case field does not exist",
        verified(gatekeeper_result="", gatekeeperResult={"status": "b"}),
        "gatekeeper_status",
        "b",
    ),
    (
        "a status trimmed and in lower case",
        verified(gatekeeper_result={"status": " FAIL\n"}),
        "gatekeeper_status",
        "fail",
    ),
    ("a blank status is none", verified(gatekeeper_result={"status": " "}), "gatekeeper_status", None),
    (
        "violations as JSON",
        verified(gatekeeper_result={"violations": [{"b": 1, "a": 2.0}]}),
        "gatekeeper_violations",
        '[{"a":2,"b":1}]',
    ),
    ("no violations", verified(gatekeeper_result={"status": "pass"}), "gatekeeper_violations", None),
    ("no claim checks", {}, "claim_check_count", None),
    ("an empty list of them", verified(claim_checks=[]), "claim_check_count", 0),
    ("an empty list is there", verified(claim_checks=[]), "claim_checks_present", True),
    ("claim checks in camel case", verified(claimChecks=[{}, {}]), "claim_check_count", 2),
    ("no composer", {}, "composer_present", False),
    ("an empty composer is there", verified(composer_output={}), "composer_present", True),
    ("a composer in camel case", verified(composerOutput={"mode": "parsed"}), "composer_status", "parsed"),
    ("a composer of text", verified(composer_output="Fallback "), "composer_status", "fallback"),
    ("no executor", {}, "executor_claims_present", False),
    ("an executor without claims", {"executorOutput": {"answer": "x"}}, "executor_claims_present", False),
    ("an executor with an empty list", {"executorOutput": {"claims": []}}, "executor_claims_present", True),
    ("an executor's answer", {"executorOutput": {"answer": "x"}}, "executor_answer", "x"),
    ("an executor that is text", {"executorOutput": "x"}, "executor_answer", "x"),
    ("a blank executor is none", {"executorOutput": {"answer": " "}}, "executor_answer", None),
]


@pytest.mark.parametrize("trace, column, expected", [row[1:] for row in AUDITS], ids=[row[0] for row in AUDITS])
def test_an_audit_chain_is_a_row(trace: dict[str, Any], column: str, expected: Any) -> None:
    assert expected == only(flattened(trace).audit, column)


# Spellings and the name they give.
NAMES: list[tuple[dict[str, str | None], str | None]] = [
    ({"toolName": "a", "tool_name": "b", "name": "c", "tool": "d"}, "a"),
    ({"tool_name": "b", "name": "c", "tool": "d"}, "b"),
    ({"name": "c", "tool": "d"}, "c"),
    ({"tool": "d"}, "d"),
    ({"toolName": " ", "tool": "d"}, "d"),
    ({"toolName": None, "name": " c "}, " c "),
    ({}, None),
]


@pytest.mark.parametrize("named, expected", NAMES)
def test_a_call_goes_by_its_first_spelling(named: dict[str, str | None], expected: str | None) -> None:
    assert expected == only(flattened({"toolInvocations": [named]}).tool_invocations, "tool")


@pytest.mark.parametrize(
    "named, expected",
    [*((NamedTool(**named), expected) for named, expected in NAMES), ("a", "a"), ("", None), (None, None)],
)
def test_so_does_a_mention_of_a_tool(named: NamedTool | str | None, expected: str | None) -> None:
    assert expected == tool_name(named)


@pytest.mark.parametrize(
    "call, expected",
    [
        ({}, False),
        ({"success": True}, False),
        ({"success": None, "error": None, "status": None}, False),
        ({"success": False}, True),
        ({"success": True, "error": "timeout"}, True),
        ({"error": " "}, False),
        ({"error": "false"}, True),
        ({"error": True}, True),
        ({"error": False}, False),
        ({"error": 0}, False),
        ({"error": 0.0}, False),
        ({"error": -1}, True),
        ({"error": []}, False),
        ({"error": [None]}, True),
        ({"error": {}}, False),
        ({"error": {"code": None}}, True),
        ({"status": "SUCCESS"}, False),
        ({"status": " succeeded "}, False),
        ({"status": "Ok"}, False),
        ({"status": "completed"}, False),
        ({"status": "COMPLETED_WITH_ERRORS"}, True),
        ({"status": "failed"}, True),
        ({"status": " "}, False),
        ({"status": 500}, False),
        ({"status": "OK", "success": False}, True),
    ],
)
def test_a_call_has_failed_where_something_says_so(call: dict[str, Any], expected: bool) -> None:
    assert expected == only(flattened({"toolInvocations": [call]}).tool_invocations, "failed")


@pytest.mark.parametrize(
    "said, expected",
    [
        ({}, None),
        ({"parsed": True}, "parsed"),
        ({"parsed": False}, "fallback"),
        ({"fallback": True}, "fallback"),
        ({"fallback": False}, "parsed"),
        ({"fallback_used": True}, "fallback"),
        ({"fallbackUsed": False}, "parsed"),
        ({"fallback_used": True, "fallbackUsed": False}, "fallback"),
        ({"fallback": "true", "parsed": 1}, None),
        ({"mode": " Parsed "}, "parsed"),
        ({"status": "FALLBACK"}, "fallback"),
        ({"rendering": "parsed"}, "parsed"),
        ({"mode": "fallback mode", "status": ["parsed"]}, None),
        ({"mode": "parsed", "parsed": True, "fallback": False}, "parsed"),
        ({"parsed": True, "fallback": True}, "contradictory"),
        ({"mode": "parsed", "rendering": "fallback"}, "contradictory"),
        ({"mode": "parsed", "fallback_used": True}, "contradictory"),
    ],
)
def test_a_composer_says(said: dict[str, Any], expected: str | None) -> None:
    assert expected == composer_status(ComposerOutput(**said))


@pytest.mark.parametrize("text, expected", [("parsed", "parsed"), ("x", None), (None, None)])
def test_a_composer_of_text_is_its_mode(text: str | None, expected: str | None) -> None:
    assert expected == composer_status(text)


def test_calls_are_rows() -> None:
    frames = flattened(
        {
            "toolInvocations": [
                None,
                {"tool": "a", "arguments": {"n": 2.0}, "success": True, "durationMs": 3, "resultSummary": {"b": 1}},
                {"arguments": "n=2", "error": ["x"], "resultSummary": " ", "durationMs": -3},
                {"name": "b", "arguments": "  "},
            ],
        },
    )
    assert frames.tool_invocations.to_dicts() == [
        {
            "trace": 0,
            "position": 1,
            "tool": "a",
            "arguments": '{"n":2}',
            "arguments_parsed": True,
            "result": '{"b":1}',
            "success": True,
            "failed": False,
            "error": None,
            "duration_ms": 3.0,
        },
        {
            "trace": 0,
            "position": 2,
            "tool": None,
            "arguments": "n=2",
            "arguments_parsed": False,
            "result": None,
            "success": None,
            "failed": True,
            "error": '["x"]',
            "duration_ms": None,
        },
        {
            "trace": 0,
            "position": 3,
            "tool": "b",
            "arguments": None,
            "arguments_parsed": None,
            "result": None,
            "success": None,
            "failed": False,
            "error": None,
            "duration_ms": None,
        },
    ]


def test_claim_checks_are_rows() -> None:
    frames = flattened(
        {},
        verified(
            claim_checks=[
                {"claim_id": "c1", "claimId": "c2", "verification": " supported", "detail": "x"},
                {"claim_id": " ", "claimId": "c2", "verification": "", "detail": None},
            ],
        ),
    )
    assert frames.claim_checks.rows() == [(1, 1, "c1", " supported", "x"), (1, 2, "c2", None, None)]


def test_executor_claims_are_rows() -> None:
    frames = flattened(
        {"executorOutput": "text"},
        {
            "executorOutput": {
                "claims": [
                    {"claim_id": "c1", "text": "x", "evidence_bindings": ["a", {"name": "b"}, None, {"summary": "?"}]},
                    {"claimId": "c2", "text": " ", "evidenceBindings": ["a"]},
                    {"evidence_bindings": [], "evidenceBindings": ["a"]},
                    {},
                ],
            },
        },
    )
    assert frames.executor_claims.rows() == [
        (1, 1, "c1", "x", ["a", "b", None, None]),
        (1, 2, "c2", None, ["a"]),
        (1, 3, None, None, []),
        (1, 4, None, None, []),
    ]


def test_what_was_noticed_becomes_warnings_in_order() -> None:
    warned = Warned(path="$", kind="lone-surrogate", message="repaired")
    trace = msgspec.convert(
        {
            "durationMs": -1,
            "usage": {"inputTokens": -1, "outputTokens": 2, "totalTokens": -3, "costUsd": -0.5},
            "toolInvocations": [{"durationMs": -4}, None],
        },
        Trace,
    )
    record = ReadTrace(trace=trace, file="x.json", line=None, root=0, warned=(warned,))
    warnings = flatten_traces([record]).warnings
    assert warnings.select("file", "line").unique().rows() == [("x.json", None)]
    assert warnings.select("path", "kind", "message").rows() == [
        ("$", "lone-surrogate", "repaired"),
        ("$.usage.inputTokens", "negative-figure", "$.usage.inputTokens is negative (-1) and counts as unknown"),
        ("$.usage.totalTokens", "negative-figure", "$.usage.totalTokens is negative (-3) and counts as unknown"),
        ("$.durationMs", "negative-figure", "$.durationMs is negative (-1.0) and counts as unknown"),
        ("$.usage.costUsd", "negative-figure", "$.usage.costUsd is negative (-0.5) and counts as unknown"),
        (
            "$.toolInvocations[0].durationMs",
            "negative-figure",
            "$.toolInvocations[0].durationMs is negative (-4.0) and counts as unknown",
        ),
        (
            "$.toolInvocations[1]",
            "null-tool-call",
            "$.toolInvocations[1] is null; it is no tool call and was dropped",
        ),
    ]


def test_an_end_before_the_start_is_unknown_with_a_warning() -> None:
    frames = flattened({"startedAt": "2026-11-03T00:00:01Z", "finishedAt": "2026-11-03T00:00:00Z"})
    assert only(frames.traces, "duration_ms") is None
    assert only(frames.warnings, "path") == "$.finishedAt"


def test_faults_become_rows_of_the_errors_frame() -> None:
    fault = Fault(file="x.jsonl", line=3, path="$.trial", expected="an integer", found="text", message="Correct it.")
    frames = flatten_traces([], [Unreadable(fault=fault, root=0)])
    assert frames.errors.rows() == [("x.jsonl", 3, "$.trial", "an integer", "text", "Correct it.")]


def test_a_digest_is_of_the_content_alone() -> None:
    one, same, other = (
        {"traceId": "t", "finalAnswer": "x", "toolInvocations": [{"arguments": {"a": 1, "b": 2}}]},
        {"toolInvocations": [{"arguments": {"b": 2, "a": 1}}], "finalAnswer": "x", "traceId": "t"},
        {"traceId": "t", "finalAnswer": "y", "toolInvocations": [{"arguments": {"a": 1, "b": 2}}]},
    )
    digests = flattened(one, same, other).traces["content_digest"]
    assert digests[0] == digests[1] != digests[2]


def test_no_traces_give_empty_frames_of_the_same_columns() -> None:
    frames = flatten_traces([])
    for name, schema in (
        ("traces", schemas.Traces),
        ("tool_invocations", schemas.ToolInvocations),
        ("claim_checks", schemas.ClaimChecks),
        ("executor_claims", schemas.ExecutorClaims),
        ("audit", schemas.Audit),
        ("errors", schemas.Errors),
        ("warnings", schemas.Warnings),
    ):
        frame: pl.DataFrame = getattr(frames, name)
        assert frame.is_empty()
        assert frame.schema == schemas.empty(schema).schema


# Any text that the reader lets through: lone surrogates are repaired before.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(st.none() | st.lists(st.none() | TEXTS, max_size=4), max_size=4))
def test_names_of_tools_come_through_as_they_are(lists: list[list[str | None] | None]) -> None:
    frames = flattened(
        *(
            {"executorOutput": {"claims": [{"evidence_bindings": names}]}, **verified(trace_summary=names)}
            for names in lists
        ),
    )
    assert frames.executor_claims["tools"].to_list() == [names or [] for names in lists]
    summaries = [None if names is None else [name for name in names if name is not None] for names in lists]
    assert summaries == frames.traces["summary_tools"].to_list()
