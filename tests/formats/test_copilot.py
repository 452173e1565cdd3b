"""Copilot CLI: event files, and flat lines."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import copilot
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def read_all(*lines: Any) -> list[ReadTrace | Unreadable]:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return list(copilot.read(Document(text.encode(), "t.jsonl", n, 0) for n, text in enumerate(texts, 1)))


def trace_of(*lines: Any) -> Trace:
    [record] = read_all(*lines)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def event(second: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"e{second}", "timestamp": f"2026-03-02T09:50:{second:02}.000Z", "data": data}


def test_a_real_session_with_a_line_of_standard_error(read_shared: Read) -> None:
    [record], faults = read_shared("sregym/SREGym__SREGym__copilot-cli.jsonl")
    trace = record.trace
    assert faults == []
    assert [warned.kind for warned in record.warned] == ["text-line"]
    assert trace.question == "Diagnose why the recommendation pod is Pending."
    assert trace.finalAnswer == "Root cause: hostPort 9100 conflict with prometheus-node-exporter."
    assert [(call.toolName, call.success) for call in calls_of(trace)] == [("bash", True), ("bash", True)]
    assert trace.usage == Usage(inputTokens=4300, outputTokens=95)
    assert (trace.durationMs, trace.model) == (6000.0, "claude-sonnet-4-6")


def test_a_call_asked_for_in_a_message_and_executed_is_one_call() -> None:
    [call] = calls_of(
        trace_of(
            event(0, "assistant.message", toolRequests=[{"toolCallId": "t", "name": "bash", "arguments": {"a": 1}}]),
            event(1, "tool.execution_start", toolCallId="t", toolName="bash", arguments={"a": 1}),
            event(3, "tool.execution_complete", toolCallId="t", success=True, result={"content": "x"}),
        )
    )
    assert call == ToolInvocation(
        toolName="bash", arguments={"a": 1}, success=True, durationMs=2000.0, resultSummary="x"
    )


def test_a_call_that_failed() -> None:
    [call] = calls_of(
        trace_of(
            event(1, "tool.execution_start", toolCallId="t", toolName="bash", arguments="{}"),
            event(2, "tool.execution_complete", toolCallId="t", success=False, error={"message": "denied"}),
        )
    )
    assert (call.success, call.error) == (False, "denied")


def test_the_end_of_a_call_that_stands_before_its_start_is_joined() -> None:
    complete = event(2, "tool.execution_complete", toolCallId="t", success=True, result={"content": "x"})
    start = event(1, "tool.execution_start", toolCallId="t", toolName="bash")
    assert trace_of(complete, start) == trace_of(start, complete)


def test_pieces_and_sub_agents_say_nothing() -> None:
    trace = trace_of(
        event(0, "user.message", content="Why?"),
        event(1, "assistant.message_delta", deltaContent="Bec"),
        event(2, "assistant.message", content="Because."),
        event(3, "assistant.message", content="Inner.", parentToolCallId="t"),
    )
    assert (trace.question, trace.finalAnswer) == ("Why?", "Because.")


@pytest.mark.parametrize(
    "lines, usage",
    [
        pytest.param(
            [
                event(1, "assistant.usage", inputTokens=5, outputTokens=2),
                event(2, "assistant.usage", inputTokens=7, outputTokens=1),
            ],
            Usage(inputTokens=12, outputTokens=3),
            id="events are summed",
        ),
        pytest.param(
            [event(1, "assistant.usage", inputTokens=5, outputTokens=2)] * 2,
            Usage(inputTokens=5, outputTokens=2),
            id="an event written twice counts once",
        ),
        pytest.param(
            [
                event(1, "assistant.message", messageId="m", content="x", outputTokens=4),
                event(2, "session.shutdown", modelMetrics={"a": {"usage": {"inputTokens": 9, "outputTokens": 4}}}),
            ],
            Usage(inputTokens=9, outputTokens=4),
            id="the end of the session states them",
        ),
        pytest.param(
            [event(1, "assistant.message", messageId="m", content="x", outputTokens=4)],
            Usage(outputTokens=4),
            id="input tokens nobody stated stay unknown",
        ),
        pytest.param([event(1, "user.message", content="x")], None, id="none"),
    ],
)
def test_usage(lines: list[Any], usage: Usage | None) -> None:
    assert trace_of(*lines).usage == usage


def test_broken_json_between_the_records_is_no_printed_line() -> None:
    fault, record = read_all(event(0, "user.message", content="Why?"), '{"type": "tool_use", "id"', "npm WARN x")
    assert isinstance(fault, Unreadable)
    assert fault.fault.line == 2
    assert isinstance(record, ReadTrace)
    assert [warned.kind for warned in record.warned] == ["text-line"]


@pytest.mark.parametrize(
    "document, recognised",
    [
        pytest.param(event(0, "session.start", sessionId="s"), True, id="an event"),
        pytest.param({"type": "message", "role": "user", "timestamp": "t", "content": "x"}, True, id="a flat line"),
        pytest.param({"type": "message", "role": "user", "content": "x"}, False, id="no time: an item of another API"),
        pytest.param({"type": "message", "role": "user", "timestamp": "t", "content": []}, False, id="content parts"),
        pytest.param({"type": "span.start", "timestamp": "t", "data": {}}, False, id="events of another kind"),
    ],
)
def test_what_is_recognised(document: Any, recognised: bool) -> None:
    assert (copilot.recognises(document) is not None) == recognised
