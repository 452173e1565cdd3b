"""Gemini CLI: chat recordings."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import gemini_cli
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

HEAD = {"sessionId": "g", "projectHash": "h", "startTime": "2026-03-02T09:50:00.000Z"}


def read_all(*lines: Any) -> list[ReadTrace | Unreadable]:
    return list(
        gemini_cli.read(Document(json.dumps(line).encode(), "t.jsonl", n, 0) for n, line in enumerate(lines, 1))
    )


def record_of(*lines: Any) -> ReadTrace:
    [record] = read_all(HEAD, *lines)
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def said(own: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": own, "type": kind, "content": content, **more}


def tokens(given: int, made: int) -> dict[str, int]:
    return {"input": given, "output": made, "total": given + made}


def called(name: str, status: str = "success", **response: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": name, "name": name, "response": response}}]
    return {"id": name, "name": name, "args": {}, "status": status, "result": result}


def test_a_real_recording(read_shared: Read) -> None:
    [record], faults = read_shared("sregym/SREGym__SREGym__session-fdaf509c.jsonl")
    trace, answer = record.trace, record.trace.finalAnswer or ""
    shell = "run_shell_command"
    assert faults == []
    assert trace.traceId == "fdaf509c-201f-40e3-96ab-1dc3816c36ed"
    assert (trace.question or "").startswith("You are an SRE agent tasked with diagnosing")
    assert answer.startswith("I have successfully diagnosed and resolved the issue")
    assert answer.endswith("Submitted the final empty string to the submission endpoint to trigger validation.")
    assert [call.toolName for call in calls_of(trace)] == [
        "update_topic", *[shell] * 26, "update_topic", *[shell] * 4, "update_topic", shell,
    ]  # fmt: skip
    assert all(call.success for call in calls_of(trace))
    # Each message is written twice: 69 records state tokens, 35 messages do.
    assert trace.usage == Usage(inputTokens=975207, outputTokens=2717, totalTokens=984672)
    assert (trace.durationMs, trace.model) == (437090.0, "gemini-3.5-flash")


def test_patches_and_repeated_ids(read_shared: Read) -> None:
    [record], faults = read_shared("edge/b21_patch_lines.jsonl")
    assert faults == []
    assert record.trace == Trace(
        traceId="g1",
        question="q",
        finalAnswer="a final",
        startedAt="2026-07-04T21:07:50Z",
        finishedAt="2026-07-04T21:07:51Z",
        durationMs=1000.0,
        usage=Usage(inputTokens=10, outputTokens=5),
        toolInvocations=[],
    )


def test_the_context_that_the_program_puts_in_is_no_question() -> None:
    context = said("s", "user", [{"text": "<session_context>\nx"}])
    trace = record_of({"$set": {"messages": [context]}}, said("u", "user", "Why?")).trace
    assert trace.question == "Why?"


def test_a_compression_takes_nothing_away_that_was_done() -> None:
    trace = record_of(
        said("u", "user", "Why?"),
        said("a", "gemini", "I look.", tokens=tokens(5, 1), toolCalls=[called("f", output="x")]),
        {"$set": {"messages": [said("n", "user", "<state_snapshot>so far</state_snapshot>")]}},
        said("b", "gemini", "Because.", tokens=tokens(7, 1)),
    ).trace
    assert (trace.question, trace.finalAnswer) == ("Why?", "Because.")
    assert [call.toolName for call in calls_of(trace)] == ["f"]
    assert trace.usage == Usage(inputTokens=12, outputTokens=2, totalTokens=14)


def test_what_was_taken_back_counts_and_says_nothing() -> None:
    record = record_of(
        said("u", "user", "Why?"),
        said("a", "gemini", "Wrong.", tokens=tokens(5, 1), toolCalls=[called("f", output="x")]),
        {"$rewindTo": "a"},
        said("b", "gemini", "Right.", tokens=tokens(7, 1)),
    )
    assert record.trace.finalAnswer == "Right."
    assert len(calls_of(record.trace)) == 1
    assert record.trace.usage == Usage(inputTokens=12, outputTokens=2, totalTokens=14)
    assert [warned.kind for warned in record.warned] == ["rewound"]


def test_after_a_rewind_an_old_answer_is_none() -> None:
    trace = record_of(said("u", "user", "Why?"), said("a", "gemini", "Wrong."), {"$rewindTo": "a"}).trace
    assert trace.finalAnswer is None


@pytest.mark.parametrize(
    "call, success, result, error",
    [
        pytest.param(called("f", output="x"), True, "x", None, id="output"),
        pytest.param(called("f", "error", error="denied"), False, None, "denied", id="error"),
        pytest.param(called("f", "cancelled"), False, {}, "cancelled", id="cancelled without a word"),
        pytest.param(called("f", "executing"), None, {}, None, id="still running"),
        pytest.param({"id": "f", "name": "f", "args": {}, "status": "success"}, True, None, None, id="no result"),
    ],
)
def test_how_a_call_ended(call: dict[str, Any], success: bool | None, result: Any, error: Any) -> None:
    [each] = calls_of(record_of(said("a", "gemini", "", toolCalls=[call])).trace)
    assert (each.success, each.resultSummary, each.error) == (success, result, error)


def test_a_broken_record_is_told_and_costs_itself_alone() -> None:
    broken = said("a", "gemini", "", toolCalls=[{"name": 7}])
    fault, record = read_all(HEAD, broken, said("b", "gemini", "Because."))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.line, fault.fault.path, fault.fault.expected) == (2, "$.toolCalls[0].name", "text")
    assert isinstance(record, ReadTrace)
    assert record.trace.finalAnswer == "Because."


@pytest.mark.parametrize(
    "document, recognised",
    [
        pytest.param(HEAD, True, id="the first line"),
        pytest.param({**HEAD, "messages": [said("u", "user", "x")]}, True, id="one object"),
        pytest.param({"$set": {"lastUpdated": "t"}}, True, id="a patch"),
        pytest.param({**HEAD, "messages": [{"role": "user", "content": "x"}]}, False, id="chat messages"),
        pytest.param({**HEAD, "type": "user"}, False, id="a line of another agent"),
    ],
)
def test_what_is_recognised(document: Any, recognised: bool) -> None:
    assert (gemini_cli.recognises(document) is not None) == recognised
