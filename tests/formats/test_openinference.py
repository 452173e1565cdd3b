"""OpenInference spans as traces."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import openinference, otel
from pipeline.sources.base import ReadTrace, ToolInvocation, Trace, Usage
from pipeline.sources.openinference import flat

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]
One = Callable[..., Trace]
SF = "What's the weather in San Francisco?"

REAL = {
    "openinference/derived__inspect_scout_mocks__phoenix_spans.json": [
        Trace(
            traceId="trace-tools",
            question=SF,
            finalAnswer="The weather in San Francisco is sunny with a temperature of 72F.",
            status="OK",
            durationMs=5000.0,
            model="gpt-4o-mini",
            usage=Usage(inputTokens=100, outputTokens=50, totalTokens=150),
            toolInvocations=[
                ToolInvocation(
                    toolName="get_weather",
                    arguments={"city": "San Francisco"},
                    success=True,
                    durationMs=1000.0,
                    resultSummary="Sunny, 72F",
                )
            ],
        ),
        Trace(
            traceId="trace-multiturn",
            question="What is 2 + 2?",
            finalAnswer="5 + 5 equals 10.",
            status="OK",
            durationMs=3000.0,
            model="gpt-4o-mini",
            usage=Usage(inputTokens=150, outputTokens=30, totalTokens=180),
            toolInvocations=[],
        ),
    ],
    "openinference/Arize-ai__openinference__openinference_client_span_tool_calls.json": [
        Trace(
            question="Weather in Paris?",
            finalAnswer="The weather in Paris is currently rainy with a temperature of 57°F.",
            model="gpt-4-0613",
            usage=Usage(inputTokens=97, outputTokens=52, totalTokens=149),
            toolInvocations=[
                ToolInvocation(toolName="get_weather", arguments={"location": "Paris"}, resultSummary="rainy, 57°F")
            ],
        )
    ],
    "synthetic/trail_nested_child_spans.json": [
        Trace(
            traceId="0123456789abcdef0123456789abcdef",
            question="why is checkout slow",
            finalAnswer="db pool exhausted",
            durationMs=84635.189,
            usage=Usage(inputTokens=436, outputTokens=57, totalTokens=493),
            toolInvocations=[
                ToolInvocation(
                    toolName="get_logs",
                    arguments={"service": "checkout"},
                    success=False,
                    durationMs=420.0,
                    resultSummary="timeout",
                    error="TimeoutError",
                )
            ],
        )
    ],
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_is_read_as_a_person_reads_it(read_shared: Read, name: str) -> None:
    records, faults = read_shared(name)
    assert faults == []
    assert [record.trace for record in records] == REAL[name]
    assert [record.warned for record in records] == [()] * len(records)


def test_the_labels_of_trail_are_no_json_and_say_so(read_shared: Read) -> None:
    records, [fault] = read_shared("synthetic/trail_labels_trailing_comma.json")
    assert (records, fault.expected) == ([], "JSON")


def span(number: int, parent: int | None, kind: str, /, start: int = 0, end: int = 1, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": "step",
        "context": {"trace_id": "t-1", "span_id": f"s{number}"},
        "span_kind": kind,
        "parent_id": None if parent is None else f"s{parent}",
        "start_time": f"2026-01-01T00:00:{start:02}Z",
        "end_time": f"2026-01-01T00:00:{end:02}Z",
        "status_code": "UNSET",
        "status_message": "",
        "attributes": {},
        "events": [],
    }
    return made | more


def values(given: Any = None, gave: Any = None, **more: Any) -> dict[str, Any]:
    return {"input.value": given, "output.value": gave, **more}


@pytest.fixture
def one(read: Read) -> One:
    def read_one(*spans: dict[str, Any]) -> Trace:
        [record], faults = read(json.dumps({"data": list(spans), "next_cursor": None}))
        assert faults == []
        return record.trace

    return read_one


ROOT = span(1, None, "AGENT", 0, 9, attributes=values("why 503?", "The pool is exhausted."))
SHAPES = {
    "the REST API": {"data": [ROOT], "next_cursor": None},
    "traces with their spans": {"data": [{"id": "x", "trace_id": "t-1", "spans": [ROOT]}]},
    "a list": [ROOT],
    "one span": ROOT,
    "attributes as JSON in a text": {**ROOT, "attributes": json.dumps(ROOT["attributes"])},
    "a row of the dataframe": {
        "context.trace_id": "t-1",
        "context.span_id": "s1",
        "span_kind": "AGENT",
        "start_time": 1_767_225_600_000,
        "end_time": 1_767_225_609_000,
        "attributes.input.value": "why 503?",
        "attributes.output.value": "The pool is exhausted.",
        "attributes.llm.model_name": None,
    },
    "nested attributes": {
        **ROOT,
        "attributes": {"input": {"value": "why 503?"}, "output": {"value": "The pool is exhausted."}},
    },
}


@pytest.mark.parametrize("document", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same_trace(read: Read, document: Any) -> None:
    [record], faults = read(json.dumps(document))
    assert faults == []
    assert record.trace == Trace(
        traceId="t-1",
        question="why 503?",
        finalAnswer="The pool is exhausted.",
        durationMs=9000.0,
        toolInvocations=[],
    )


def test_a_trace_may_be_spread_over_lines(read: Read) -> None:
    lines = [span(2, 1, "TOOL", 1, 2, attributes=values("{}")), ROOT]
    [record], _ = read("\n".join(map(json.dumps, lines)), "t.jsonl")
    assert record.trace.finalAnswer == "The pool is exhausted."
    assert record.trace.toolInvocations == [
        ToolInvocation(toolName="step", arguments={}, success=True, durationMs=1000.0)
    ]


def test_a_root_of_messages_is_asked_and_answers_by_them(one: One) -> None:
    given = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "why 503?"}]}
    gave = {"messages": [*given["messages"], {"type": "ai", "content": "The pool is exhausted."}]}
    trace = one(span(1, None, "CHAIN", attributes=values(json.dumps(given), json.dumps(gave))))
    assert (trace.question, trace.finalAnswer) == ("why 503?", "The pool is exhausted.")


def test_what_was_said_within_a_run_that_broke_off_is_no_answer(one: One) -> None:
    trace = one(
        span(1, None, "AGENT", 0, 9, status_code="ERROR", attributes=values("why 503?")),
        span(2, 1, "LLM", 1, 2, attributes=values("why 503?", "I shall look at the logs.")),
    )
    assert (trace.question, trace.finalAnswer, trace.status) == ("why 503?", None, "ERROR")


@pytest.mark.parametrize("kind", ["RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT"])
def test_what_stands_beside_the_conversation_neither_asks_nor_answers(one: One, kind: str) -> None:
    trace = one(
        span(1, None, kind, 0, 1, attributes=values("a query", "a document")),
        span(2, None, "LLM", 2, 3, attributes=values("why 503?", "The pool is exhausted.")),
        span(3, None, kind, 4, 5, attributes=values("The pool is exhausted.", "correct")),
    )
    assert (trace.question, trace.finalAnswer) == ("why 503?", "The pool is exhausted.")


def test_numbered_messages_stand_in_the_order_of_their_numbers(one: One) -> None:
    attributes: dict[str, Any] = {}
    for number in range(11):
        attributes[f"llm.input_messages.{number}.message.role"] = "user"
        attributes[f"llm.input_messages.{number}.message.content"] = f"turn {number}"
    assert one(span(1, None, "LLM", attributes=attributes)).question == "turn 10"


ARGUMENTS = {
    "what went in": (values('{"q": 1}'), {"q": 1}),
    "before the parameters, which may be a schema": (
        values('{"q": 1}', **{"tool.parameters": '{"type": "object"}'}),
        {"q": 1},
    ),
    "the parameters, where nothing went in": ({"tool.parameters": '{"q": 1}'}, {"q": 1}),
    "by name": (values('{"args": [], "kwargs": {"q": 1}, "sanitize_inputs_outputs": true}'), {"q": 1}),
    "by place and by name": (values('{"args": [1], "kwargs": {"q": 1}}'), {"args": [1], "kwargs": {"q": 1}}),
    "of LangChain": (values('{"input_str": "{\'q\': 1}", "inputs": {"q": 1}}'), {"q": 1}),
    "Python's own notation stays text": (values("{'q': 1}"), "{'q': 1}"),
    "none": ({}, None),
}


@pytest.mark.parametrize("attributes, arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_the_arguments_of_a_call(one: One, attributes: dict[str, Any], arguments: Any) -> None:
    calls = one(span(1, None, "TOOL", attributes=attributes)).toolInvocations
    assert isinstance(calls, list)
    assert [call.arguments for call in calls if call is not None] == [arguments]


FAILURES: dict[str, tuple[dict[str, Any], bool, str | None]] = {
    "ok": ({"status_code": "OK"}, True, None),
    "not set": ({}, True, None),
    "an error": ({"status_code": "ERROR", "status_message": "gone"}, False, "gone"),
    "an error in TRAIL's writing": ({"status_code": "Error"}, False, None),
    "an exception": (
        {"events": [{"name": "exception", "attributes": {"exception.type": "E", "exception.message": "m"}}]},
        False,
        "E: m",
    ),
}


@pytest.mark.parametrize("more, success, error", FAILURES.values(), ids=FAILURES)
def test_whether_a_call_failed(one: One, more: dict[str, Any], success: bool, error: str | None) -> None:
    calls = one(span(1, None, "TOOL", **more)).toolInvocations
    assert isinstance(calls, list)
    assert [(call.success, call.error) for call in calls if call is not None] == [(success, error)]


def test_cost_and_counts_of_several_calls_add_up_and_sums_above_them_do_not(one: One) -> None:
    def counts(prompt: int, completion: int, cost: float) -> dict[str, Any]:
        return {"llm.token_count.prompt": prompt, "llm.token_count.completion": str(completion), "llm.cost.total": cost}

    trace = one(
        span(1, None, "CHAIN", attributes=counts(30, 6, 0.3)),
        span(2, 1, "LLM", attributes=counts(10, 2, 0.1)),
        span(3, 1, "LLM", attributes=counts(20, 4, 0.2)),
    )
    assert trace.usage == Usage(inputTokens=30, outputTokens=6, totalTokens=36, costUsd=0.3)


def test_usage_may_stand_in_the_response_only(one: One) -> None:
    gave = {
        "choices": [{"message": {"role": "assistant", "content": "a"}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    trace = one(span(1, None, "LLM", attributes=values("why?", json.dumps(gave))))
    assert (trace.finalAnswer, trace.usage) == ("a", Usage(inputTokens=5, outputTokens=2, totalTokens=7))


def test_nested_attributes_become_flat_but_values_stay_whole() -> None:
    assert flat(
        {
            "llm": {
                "input_messages": [{"message": {"role": "user", "content": "a"}}, {"message.role": "tool"}],
                "invocation_parameters": {"temperature": 0},
            },
            "tool": {"parameters": {"q": 1}},
            "tag.tags": ["x"],
            "empty": {},
            "nothing": None,
        }
    ) == {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "a",
        "llm.input_messages.1.message.role": "tool",
        "llm.invocation_parameters": {"temperature": 0},
        "tool.parameters": {"q": 1},
        "tag.tags": ["x"],
        "empty": {},
    }


def test_spans_nested_in_each_other_are_read_as_deep_as_a_document_goes(read: Read) -> None:
    def nested(number: int) -> dict[str, Any]:
        return {
            "timestamp": f"2026-01-01T00:00:{number % 60:02}Z",
            "trace_id": "t-1",
            "span_id": f"s{number}",
            "parent_span_id": f"s{number - 1}" if number else None,
            "span_name": f"step {number}",
            "span_attributes": {"openinference.span.kind": "TOOL"},
            "duration": "PT1S",
            "child_spans": [],
        }

    spans = [nested(number) for number in range(90)]
    for outer, inner in pairwise(spans):
        outer["child_spans"].append(inner)
    [record], faults = read(json.dumps({"trace_id": "t-1", "spans": [spans[0]]}))
    assert isinstance(record.trace.toolInvocations, list)
    assert (len(record.trace.toolInvocations), faults) == (90, [])


REFUSED = {
    "a span that is none": ({"data": [ROOT, {"a": 1}]}, "$.data[1]"),
    "an id that is no text": ({"data": [{**ROOT, "parent_id": []}]}, "$.data[0].parent_id"),
    "attributes that are none": ({"data": [{**ROOT, "attributes": 7}]}, "$.data[0].attributes"),
    "a child that is no object": ([{"span_attributes": {}, "span_id": "a", "child_spans": [7]}], "$[0].child_spans[0]"),
}


@pytest.mark.parametrize("document, path", REFUSED.values(), ids=REFUSED)
def test_what_is_broken_is_refused_at_its_path(read: Read, document: Any, path: str) -> None:
    traces, [fault] = read(json.dumps(document))
    assert (traces, fault.path) == ([], path)


OTHERS: dict[str, Any] = {
    "a native trace": {"traceId": "t", "finalAnswer": "a"},
    "OTLP": {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "a"}]}]}]},
    "a span as the Python SDK prints it": {"context": {"trace_id": "0x1", "span_id": "0x2"}, "status": {}},
    "attributes of GenAI": {"gen_ai.operation.name": "chat"},
    "Jaeger": {"data": [{"traceID": "t", "spans": [{"traceID": "t", "spanID": "s"}]}]},
    "a list of something": {"data": [1]},
    "an empty list": {"data": []},
    "no list": {"data": {}},
    "a text": "data",
    "nothing": None,
}


@pytest.mark.parametrize("document", OTHERS.values(), ids=OTHERS)
def test_what_belongs_to_others_is_not_recognised(document: Any) -> None:
    assert openinference.recognises(document) is None


@pytest.mark.parametrize("document", SHAPES.values(), ids=SHAPES)
def test_what_belongs_here_is_not_recognised_as_opentelemetry(document: Any) -> None:
    assert otel.recognises(document) is None
    assert openinference.recognises(document) is not None
