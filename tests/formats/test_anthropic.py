"""Messages of Anthropic's API: conversations, answers, recorded HTTP answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import anthropic, openai_chat
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

WEATHER = ToolInvocation(toolName="get_weather", arguments={"location": "San Francisco"})
REAL = {
    "reasoning-tool-use-non-streaming.json": ("Sure! Let me check", "San Francisco for you!", [WEATHER], 596, 99),
    "reasoning-tool-use-streaming.json": ("Sure! Let me check", "San Francisco for you!", [WEATHER], 596, 99),
    "thinking-multi-turn-1.json": ("## Dividing 12,231 by 9", "**12,231 ÷ 9 = 1,359**", [], 286, 539),
}
USE = {"type": "tool_use", "id": "t1", "name": "get_pods", "input": {"ns": "a"}}


def read_one(value: Any) -> ReadTrace | Unreadable:
    [record] = anthropic.read([Document(json.dumps(value).encode(), "t.json", None, 0)])
    return record


def trace_of(value: Any) -> Any:
    record = read_one(value)
    assert isinstance(record, ReadTrace), record
    return record.trace


def conversation(*blocks: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": content} for n, content in enumerate(blocks)]}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", **more}


def stream(*events: dict[str, Any]) -> dict[str, Any]:
    return {"status": 200, "body": "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)}


START = {"type": "message_start", "message": {"id": "m1", "role": "assistant", "usage": {"input_tokens": 5}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {**USE, "input": {}}}


def delta(piece: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}


@pytest.mark.parametrize("name", REAL)
def test_a_real_recorded_answer(name: str, read_shared: Read) -> None:
    head, tail, calls, given, made = REAL[name]
    [record], faults = read_shared(f"anthropic/Arize-ai__openinference__{name}")
    assert faults == []
    answer = record.trace.finalAnswer or ""
    assert (answer[: len(head)], answer[-len(tail) :]) == (head, tail)
    assert record.trace.question is None, "the request is not in the file"
    assert record.trace.toolInvocations == calls
    assert record.trace.usage == Usage(inputTokens=given, outputTokens=made, totalTokens=given + made)
    assert (record.trace.model, record.warned) == ("claude-sonnet-4-6", ())


@pytest.mark.parametrize(
    "document, name",
    [
        pytest.param(conversation("why?", [USE], [result(content="x")]), "anthropic", id="tool blocks"),
        pytest.param(conversation("why?", [USE])["messages"], "anthropic", id="a list of messages"),
        pytest.param(conversation("why?", [{"type": "text", "text": "x"}]), "openai-chat", id="text blocks alone"),
        pytest.param(conversation("why?", [{"type": "thinking", "thinking": "x"}]), "openai-chat", id="thinking alone"),
        pytest.param({"status": 200, "body": '{"choices": []}'}, None, id="a recording of another API"),
        pytest.param({"status": 200, "body": '{"type": "mess'}, None, id="a recording of broken JSON"),
        pytest.param({"status": "ok", "body": "text"}, None, id="some other document"),
    ],
)
def test_what_is_recognised(document: Any, name: str | None) -> None:
    formats = (anthropic.FORMAT, openai_chat.FORMAT)
    assert [each.name for each in formats if each.recognises(document) is not None] == ([name] if name else [])


@pytest.mark.parametrize(
    "given, call",
    [
        pytest.param({"content": "x"}, ToolInvocation(resultSummary="x"), id="nothing said of success"),
        pytest.param(
            {"content": "x", "is_error": False}, ToolInvocation(resultSummary="x", success=True), id="success"
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "no"}], "is_error": True},
            ToolInvocation(resultSummary="no", success=False, error="no"),
            id="failure",
        ),
        pytest.param({"is_error": True}, ToolInvocation(success=False), id="failure without a word"),
    ],
)
def test_how_a_call_ended(given: dict[str, Any], call: ToolInvocation) -> None:
    call.toolName, call.arguments = "get_pods", {"ns": "a"}
    assert trace_of(conversation("why?", [USE], [result(**given)])).toolInvocations == [call]


def test_usage_counts_once_for_each_message_id_and_the_total_counts_the_cache() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 3}
    said = {"role": "assistant", "id": "m1", "content": [USE], "usage": usage}
    trace = trace_of({"messages": [{"role": "user", "content": "why?"}, said, said]})
    assert trace.usage == Usage(inputTokens=10, outputTokens=3, totalTokens=120)
    assert len(trace.toolInvocations) == 1


def test_a_stream_that_broke_off_keeps_what_came_and_says_so() -> None:
    record = read_one(stream(START, BLOCK, delta('{"ns": "a')))
    assert isinstance(record, ReadTrace)
    assert record.trace.toolInvocations == [ToolInvocation(toolName="get_pods", arguments='{"ns": "a')]
    assert [warned.kind for warned in record.warned] == ["unfinished-stream"]


def test_a_recorded_error_is_no_trace() -> None:
    body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    record = read_one({"status": 529, "body": body})
    assert anthropic.recognises({"status": 529, "body": body}) is not None
    assert isinstance(record, Unreadable)
    assert (record.fault.path, record.fault.found) == ("$.body", "Overloaded")


def test_a_conversation_whose_last_word_is_the_users_has_no_answer() -> None:
    trace = trace_of(conversation("why?", [USE, {"type": "text", "text": "because"}], "and then?"))
    assert (trace.question, trace.finalAnswer) == ("why?", None)


def test_a_broken_block_is_refused_with_its_place() -> None:
    record = read_one(conversation("why?", [{**USE, "name": 7}]))
    assert isinstance(record, Unreadable)
    assert (record.fault.path, record.fault.expected) == ("$.messages[1].content[0].name", "text")
