"""OpenAI's Agents SDK: trace exports and run states."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import openai_agents
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

EXPORT = "openai/generated__openai-agents-0.24.0__trace_export.jsonl"
STATES = {
    "openai/openai__openai-agents-python__v1_9_custom_tool_call_and_tool_origin.json": (["custom_lookup"], []),
    # A result without its call: nobody can tell the tool.
    "openai/openai__openai-agents-python__v1_11_tool_output_custom_data.json": ([], ["orphan-tool-result"]),
}


def read_all(*values: Any) -> list[ReadTrace | Unreadable]:
    documents = (Document(json.dumps(value).encode(), "t.jsonl", line, 0) for line, value in enumerate(values, 1))
    return list(openai_agents.read(documents))


def read_one(*values: Any) -> ReadTrace:
    [record] = read_all(*values)
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def time(millisecond: int) -> str:
    return f"2026-03-02T09:50:{millisecond // 1000:02}.{millisecond % 1000:03}000+00:00"


def span(
    span_id: str, start: int, end: int | None, data: dict[str, Any], parent: str | None = None, *, error: Any = None
) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": span_id,
        "trace_id": "trace_1",
        "parent_id": parent,
        "started_at": time(start),
        "ended_at": None if end is None else time(end),
        "span_data": data,
        "error": error,
    }


def generation(question: str, answer: str | None, tokens: int) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]}
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}
    return {
        "type": "generation",
        "input": [{"role": "user", "content": question}],
        "output": [call if answer is None else said],
        "model": "m",
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "input": "{}", "output": "done", **more}


def test_a_real_export_holds_two_traces(read_shared: Read) -> None:
    [first, second], faults = read_shared(EXPORT)
    assert faults == []
    assert first.trace == Trace(
        traceId="trace_66f0b871d9b1425a85ca89dc21924044",
        question="...",
        finalAnswer="根因：mysql:3306 连接被拒绝",
        startedAt="2026-11-30T15:52:56.633266+00:00",
        finishedAt="2026-11-30T15:52:56.662493+00:00",
        durationMs=29.227,
        model="fake-model",
        usage=Usage(inputTokens=200, outputTokens=24, totalTokens=224),
        toolInvocations=[
            ToolInvocation(
                toolName="get_pod_logs",
                arguments={"namespace": "pay", "pod": "api-1"},
                success=True,
                durationMs=14.667,
                resultSummary="ERROR connection refused to mysql:3306",
            ),
            ToolInvocation(
                toolName="list_events",
                arguments={"namespace": "pay"},
                success=False,
                durationMs=14.273,
                resultSummary="An error occurred while running the tool. Please try again.",
                error="Tool execution failed. Error details are redacted.",
            ),
        ],
    )
    assert (first.line, second.line) == (1, 10)
    assert second.trace.finalAnswer is None, "it called a tool that failed, and said nothing"
    assert second.trace.usage == Usage(inputTokens=100, outputTokens=12, totalTokens=112)
    assert second.trace.durationMs == 21.534
    [call] = calls_of(second.trace)
    assert (call.toolName, call.success, call.error) == ("restart_pod", False, "forbidden: user cannot delete pods")


@pytest.mark.parametrize("name", STATES)
def test_a_real_run_state(name: str, read_shared: Read) -> None:
    tools, kinds = STATES[name]
    [record], faults = read_shared(name)
    assert faults == []
    assert record.trace.question == "historical input"
    assert record.trace.finalAnswer is None
    assert record.trace.usage is None, "no request was made, which is not zero tokens"
    assert [call.toolName for call in calls_of(record.trace)] == tools
    assert [warned.kind for warned in record.warned] == kinds


def test_arguments_that_are_no_json_stay_text(read_shared: Read) -> None:
    [record], _ = read_shared("openai/openai__openai-agents-python__v1_9_custom_tool_call_and_tool_origin.json")
    assert [(call.arguments, call.resultSummary) for call in calls_of(record.trace)] == [("account-1", "custom result")]


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda records: records, id="one per line"),
        pytest.param(lambda records: [records], id="a list"),
        pytest.param(lambda records: [{"data": records}], id="the body that the SDK sends"),
    ],
)
def test_the_ways_in_which_records_are_kept(wrap: Callable[[list[Any]], list[Any]]) -> None:
    records = [
        {"object": "trace", "id": "trace_1", "workflow_name": "w"},
        span("s1", 0, 100, generation("why?", "because", 5)),
    ]
    values = wrap(records)
    assert all(openai_agents.recognises(value) is not None for value in values)
    assert read_one(*values).trace.finalAnswer == "because"


def test_an_agent_used_as_a_tool_has_no_say_in_question_and_answer() -> None:
    trace = read_one(
        span("g1", 0, 10, generation("why?", None, 10), "root"),
        span("f1", 10, 60, function("ask_expert"), "root"),
        span("g2", 20, 50, generation("what about pods?", "inner answer", 20), "f1"),
        span("g3", 70, 90, generation("why?", "outer answer", 30), "root"),
        span("f2", 30, 40, function("get_pods"), "g2"),
        span("root", 0, 100, {"type": "agent", "name": "a"}),
    ).trace
    assert (trace.question, trace.finalAnswer) == ("why?", "outer answer")
    assert [call.toolName for call in calls_of(trace)] == ["ask_expert", "get_pods"]
    assert trace.usage == Usage(inputTokens=60, outputTokens=3, totalTokens=63)


def test_a_trace_without_spans_is_still_a_trace() -> None:
    assert read_one({"object": "trace", "id": "trace_9", "workflow_name": "w"}).trace.traceId == "trace_9"


def test_a_run_that_has_not_ended_has_no_duration() -> None:
    record = read_one(span("root", 0, None, {"type": "agent", "name": "a"}), span("f", 5, None, function("f"), "root"))
    [call] = calls_of(record.trace)
    assert (record.trace.durationMs, record.trace.finishedAt, call.durationMs, call.success) == (None, None, None, None)
    assert [warned.kind for warned in record.warned] == ["unfinished-span"]


def test_a_span_exported_twice_counts_once_and_the_finished_one_counts() -> None:
    record = read_one(span("f", 0, None, function("f", output=None)), span("f", 0, 30, function("f")))
    assert [(call.toolName, call.durationMs) for call in calls_of(record.trace)] == [("f", 30.0)]
    assert [warned.kind for warned in record.warned] == ["duplicate-span"]


def test_a_broken_record_costs_itself_alone() -> None:
    broken = {**span("s2", 0, 1, {}), "span_data": "text"}
    fault, record = read_all(broken, span("s1", 0, 1, generation("why?", "because", 1)))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.line, fault.fault.path, fault.fault.expected) == (1, "$.span_data", "object")
    assert isinstance(record, ReadTrace)


def test_a_chain_of_fifteen_thousand_spans_is_read() -> None:
    depth = 15_000
    agent = {"type": "agent", "name": "a"}
    chain = [span(f"s{n}", 0, 9, agent, f"s{n - 1}" if n else None) for n in range(depth)]
    last = span("last", 1, 2, generation("why?", "because", 7), f"s{depth - 1}")
    trace = read_one([*chain, last]).trace
    assert (trace.finalAnswer, trace.usage) == ("because", Usage(inputTokens=7, outputTokens=1, totalTokens=8))


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_the_lines_never_matters(order: list[int]) -> None:
    spans = [
        span("root", 0, 100, {"type": "agent", "name": "a"}),
        span("g1", 1, 10, generation("why?", None, 10), "root"),
        span("f1", 11, 60, function("one"), "root"),
        span("f2", 12, 20, function("two"), "root"),
        span("g2", 70, 90, generation("why?", "because", 30), "root"),
        span("x", 5, 6, function("lost"), "gone"),
    ]
    shuffled = read_one(*(spans[index] for index in order))
    straight = read_one(*spans)
    assert shuffled.trace == straight.trace
    assert shuffled.warned == straight.warned
