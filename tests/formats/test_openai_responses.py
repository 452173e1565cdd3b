"""OpenAI's Responses API: response objects, input and output, lists of items."""

import json
from typing import Any

import pytest

from pipeline.sources import openai_responses
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Unreadable, Usage

USER = {"role": "user", "content": "why?"}
CALL = {"type": "function_call", "call_id": "c1", "name": "get_pods", "arguments": '{"ns": "a"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "none"}


def read_one(value: Any) -> ReadTrace | Unreadable:
    [record] = openai_responses.read([Document(json.dumps(value).encode(), "t.json", None, 0)])
    return record


def trace_of(value: Any) -> Any:
    record = read_one(value)
    assert isinstance(record, ReadTrace), record
    return record.trace


def said(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize(
    "document, recognised",
    [
        pytest.param([USER, CALL, OUTPUT, said("x")], True, id="items"),
        pytest.param([USER, said("x")], False, id="messages only read the same as chat messages"),
        pytest.param([], False, id="an empty list"),
        pytest.param({"object": "response", "id": "r", "output": []}, True, id="a response"),
        pytest.param({"input": "why?", "output": [said("x")]}, True, id="input and output"),
        pytest.param({"model": "m", "input": [USER, CALL, OUTPUT]}, True, id="a request with calls"),
        pytest.param({"input": "why?", "output": "because"}, False, id="a span"),
        pytest.param({"trace_id": "t", "input": "why?", "output": [said("x")]}, False, id="an observation"),
        pytest.param({"input": [USER], "output": [{"role": "assistant", "content": "x"}]}, False, id="chat messages"),
    ],
)
def test_what_is_recognised(document: Any, recognised: bool) -> None:
    assert (openai_responses.recognises(document) is not None) == recognised


def test_a_conversation_of_items() -> None:
    trace = trace_of([USER, CALL, OUTPUT, said("because")])
    assert (trace.question, trace.finalAnswer) == ("why?", "because")
    assert trace.toolInvocations == [
        ToolInvocation(toolName="get_pods", arguments={"ns": "a"}, resultSummary="none"),
    ]


def test_a_conversation_that_ends_with_a_question_has_no_answer() -> None:
    trace = trace_of([USER, CALL, OUTPUT, said("because"), said("and then?", "user")])
    assert (trace.question, trace.finalAnswer) == ("why?", None)


def test_a_refusal_is_what_the_user_was_told() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    assert trace_of({"object": "response", "output": [message]}).finalAnswer == "I cannot."


def test_usage_and_times_of_a_response() -> None:
    trace = trace_of(
        {
            "object": "response", "id": "resp_1", "created_at": 1772444400, "status": "completed", "model": "m",
            "output": [said("x")], "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
        }
    )  # fmt: skip
    assert trace.usage == Usage(inputTokens=10, outputTokens=2, totalTokens=12)
    assert (trace.startedAt, trace.finishedAt) == ("2026-03-02T09:40:00.000000+00:00", None)


@pytest.mark.parametrize(
    "item, call",
    [
        pytest.param(
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
            ToolInvocation(toolName="sql", arguments="select 1"),
            id="free text",
        ),
        pytest.param(
            {"type": "mcp_call", "id": "m", "name": "logs", "arguments": "{}", "output": "x", "error": None},
            ToolInvocation(toolName="logs", arguments={}, resultSummary="x"),
            id="MCP",
        ),
        pytest.param(
            {"type": "mcp_call", "id": "m", "name": "logs", "arguments": "{}", "error": "refused"},
            ToolInvocation(toolName="logs", arguments={}, success=False, error="refused"),
            id="MCP with an error",
        ),
        pytest.param(
            {"type": "file_search_call", "id": "f", "status": "failed", "queries": ["a"]},
            ToolInvocation(toolName="file_search", arguments={"queries": ["a"]}, success=False),
            id="a hosted tool that failed",
        ),
        pytest.param(
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{'a': 1"},
            ToolInvocation(toolName="f", arguments="{'a': 1"),
            id="arguments that are no JSON",
        ),
    ],
)
def test_the_kinds_of_calls(item: dict[str, Any], call: ToolInvocation) -> None:
    assert trace_of([USER, item]).toolInvocations == [call]


def test_an_output_without_its_call_is_told() -> None:
    record = read_one([USER, OUTPUT])
    assert isinstance(record, ReadTrace)
    assert record.trace.toolInvocations == []
    assert [warned.kind for warned in record.warned] == ["orphan-tool-result"]


def test_a_broken_item_is_refused_with_its_place() -> None:
    record = read_one([USER, {**CALL, "name": 7}])
    assert isinstance(record, Unreadable)
    assert (record.fault.path, record.fault.expected, record.fault.found) == ("$[1].name", "text", "number 7")
