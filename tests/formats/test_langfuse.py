"""Langfuse traces and observations."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import langfuse
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def observed(own_id: str, kind: str = "SPAN", parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": own_id, "traceId": "t-1", "type": kind, "name": own_id, "parentObservationId": parent, "level": "DEFAULT",
        "startTime": "2026-03-02T09:10:00.000Z", "endTime": "2026-03-02T09:10:01.000Z", **more,
    }  # fmt: skip


def traced(*observations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "t-1",
        "projectId": "p",
        "timestamp": "2026-03-02T09:10:00Z",
        "observations": list(observations),
        **more,
    }


def read_all(*documents: Any) -> list[ReadTrace | Unreadable]:
    lines = enumerate(documents, start=1)
    return list(langfuse.read([Document(json.dumps(value).encode(), "t.jsonl", line, 0) for line, value in lines]))


def read_one(*documents: Any) -> ReadTrace:
    [record] = read_all(*documents)
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


# Read from the files by eye: trace id, question, answer's head and tail, tools with arguments, tokens in, out and in
# all, cost, milliseconds.
PREFIX = "langfuse__langfuse__"
REAL: dict[str, tuple[Any, ...]] = {
    "johnnyzhoujz__Refinery__langfuse_trace.json": (
        "trace-123", "test query", ("success", "success"), [("Tool Call", {"tool": "search", "query": "test"})],
        (15, 8, 23), None, 12000.0,
    ),
    f"{PREFIX}agno-2025-06-11.trace.json": (
        "080130871f53145aecf7c29d5dfb6e4c", "What is currently trending on Twitter?",
        ("To find out what's currently trending on Twitter", "most up-to-date trending topics!"),
        [("duckduckgo_search", {"query": "currently trending on Twitter"})],
        (163 + 663, 20 + 225, 183 + 888), 3.645e-05 + 0.000234449999, 6991.0,
    ),
    f"{PREFIX}autogen-2025-06-06.trace.json": (
        "1b72c51fabed12ae7df83bfd4a09f545", "Say 'Hello World!'", ("Hello World!", "Hello World!"), [], (41, 3, 44),
        2.5e-05, 645.0,
    ),
    f"{PREFIX}claude-agent-2025-12-22.trace.json": (
        "097f1d8982fa909b8cffb14a166ec272", "What's the weather like in Berlin and New York?",
        ("Great! Here's the current weather for both cities:", "about these destinations?"),
        [("mcp__weather__get_weather", {"city": "Berlin"}), ("mcp__weather__get_weather", {"city": "New York"})],
        (5 + 5 + 5 + 19, 94 + 56 + 53 + 29, 99 + 61 + 58 + 48), 0.001425 + 0.000855 + 0.00081 + 0.000492, 7360.0,
    ),
    f"{PREFIX}google-adk-2025-08-28.trace.json": (
        "b82a0bdc1994fc5d1c8576ca032543f7", "hi", ("Hello Langfuse 👋!", "Hello Langfuse 👋!\n"), [("say_hello", {})],
        (39 + 28, 6 + 3, 45 + 31), 6.3e-06 + 4e-06, 1848.0,
    ),
    f"{PREFIX}google-gemini-2025-08-01.trace.json": (
        "9f2f0fe0228fd81a9fe75882934b384a", "What is Langfuse?",
        ("**Langfuse** is an **open-source", "LLM-powered applications in production."), [], (6, 2055, 2061),
        0.005139299999, 12032.0,
    ),
    f"{PREFIX}langgraph-python-2025-08-22.trace.json": (
        "e1fde3efec57ce8a69bafd3fb928a7eb", "Search the web for 'example' and summarize.",
        ('The search for "example" primarily leads', "how a website might look or function."),
        [("Web-Search", {"query": "example"})], (60 + 108, 15 + 51, 75 + 159), 7.5e-05 + 0.000159, 2610.0,
    ),
    f"{PREFIX}llamaindex-2025-06-05.trace.json": (
        "12ea412956f99347b0503c1144acd0ec", "What is Langfuse?",
        ("Langfuse is a tool designed to help developers", "into applications is smooth and effective."), [],
        (13, 81, 94), 0.000842499999, 2779.0,
    ),
    f"{PREFIX}openai-agents-2025-09-30.trace.json": (
        "fee618f96dc31e0ca38b2f7b26eb8b29", "What's the weather in Tokyo?",
        ("The weather in Tokyo is currently sunny.", "just let me know!"), [("get_weather", {"city": "Tokyo"})],
        (85 + 55, 29 + 15, 114 + 70), 0.000402 + 0.00023, 2190.0,
    ),
    f"{PREFIX}pydantic-ai-2025-06-06.trace.json": (
        "25f4bdeebaab60e6e1bee7e8469554bc", "What is Langfuse?",
        ("Langfuse is a tool designed for observability", "and cloud-based solutions."), [], (31, 96, 127), 0.0010375,
        4795.0,
    ),
    f"{PREFIX}pydantic-ai-tools-2025-12-04.trace.json": (
        "7a38edd8123db47ad8dcb8aa4c5e3926", "programming",
        ("Why do programmers hate nature?", "It has too many bugs!"),
        [
            ("get_pun_suggestion", {"topic": "programming"}), ("get_dad_joke_suggestion", {"topic": "programming"}),
            ("get_one_liner_suggestion", {"topic": "programming"}),
        ],
        (417 + 131 + 502 + 265, 53 + 69 + 14 + 73, 470 + 200 + 516 + 338),
        9.435e-05 + 6.1049999e-05 + 8.37e-05 + 8.355e-05, 7424.0,
    ),
    f"{PREFIX}pydantic-ai-with-gemini-2025-12-24.trace.json": (
        "f68601af42c4a35e1d5e4699de569c1f", "what is 1+1?\nOutput format:",
        ('{"answer": "2"', 'results in the integer 2."}'), [], (40, 159, 199), 0.0004095, 1820.0,
    ),
    f"{PREFIX}vertex-ai-2025-08-01.trace.json": (
        "0298935e31d66d7de9487cac935d7d99", "What is Langfuse?",
        ("**Langfuse** is an **open-source", "and continuously improving."), [], (5, 845, 2023), 0.00085, 10722.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_a_real_trace(read_shared: Read, name: str) -> None:
    trace_id, question, (head, tail), tools, usage, cost, elapsed = REAL[name]
    [record], faults = read_shared(f"langfuse/{name}")
    trace = record.trace
    assert (faults, record.warned) == ([], ())
    assert (trace.traceId, trace.durationMs) == (trace_id, elapsed)
    assert (trace.question or "").startswith(question)
    assert (trace.finalAnswer or "").startswith(head)
    assert (trace.finalAnswer or "").endswith(tail)
    assert [(each.toolName, each.arguments) for each in calls_of(trace)] == tools
    assert trace.usage
    assert (trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens) == usage
    assert trace.usage.costUsd == (cost if cost is None else pytest.approx(cost, rel=1e-12))


def test_the_results_of_real_calls(read_shared: Read) -> None:
    read = {}
    for framework in ("google-adk-2025-08-28", "langgraph-python-2025-08-22", "openai-agents-2025-09-30"):
        [record], _ = read_shared(f"langfuse/{PREFIX}{framework}.trace.json")
        read[framework] = [(each.resultSummary, each.success, each.durationMs) for each in calls_of(record.trace)]
    found = '[{"url": "https://example.com", "title": "Example Result", "q": "example"}]'
    assert read == {
        "google-adk-2025-08-28": [({"greeting": "Hello Langfuse 👋"}, True, 1.0)],
        "langgraph-python-2025-08-22": [(found, True, 1.0)],
        "openai-agents-2025-09-30": [("The weather in Tokyo is sunny.", True, 0.0)],
    }


@pytest.mark.parametrize(
    "framework",
    ["claude-agent-2025-12-22", "google-adk-2025-08-28", "openai-agents-2025-09-30", "pydantic-ai-tools-2025-12-04"],
)
def test_real_observations_as_chatml_are_refused_and_say_why(read_shared: Read, framework: str) -> None:
    records, [fault] = read_shared(f"langfuse/{PREFIX}{framework}.chatml.json")
    assert records == []
    assert "export the trace" in fault.message


ROOT = observed("a", input={"question": "why?"}, output="The pool.")


@pytest.mark.parametrize(
    "documents",
    [
        [traced(ROOT, observed("b", "TOOL", "a"))],
        [{"trace": traced({**ROOT, "input": None}), "observations": [ROOT, observed("b", "TOOL", "a")]}],
        [{"data": [traced(ROOT, observed("b", "TOOL", "a"))], "meta": {"page": 1}}],
        [{"data": [observed("b", "TOOL", "a"), ROOT]}],
        [[ROOT, observed("b", "TOOL", "a")]],
        [ROOT, observed("b", "TOOL", "a")],
        [observed("b", "TOOL", "a"), traced(timestamp="x", latency=1, input=None), ROOT],
    ],
    ids=["trace", "pair", "page of traces", "page", "list", "lines", "lines with the trace"],
)
def test_the_encodings_of_a_trace_read_the_same(documents: list[Any]) -> None:
    trace = read_one(*documents).trace
    assert (trace.traceId, trace.question, trace.finalAnswer, trace.durationMs) == ("t-1", "why?", "The pool.", 1000.0)
    assert [each.toolName for each in calls_of(trace)] == ["b"]


def test_exported_lines_are_recognised_though_they_have_a_trace_id(read: Read) -> None:
    lines = "\n".join(json.dumps(each) for each in (ROOT, observed("b", "TOOL", "a")))
    [record], faults = read(lines, "t.jsonl")
    assert faults == []
    assert record.trace.finalAnswer == "The pool."


def test_the_keys_of_the_blob_storage_export_are_read() -> None:
    row = {
        "id": "a", "trace_id": "t-9", "type": "GENERATION", "parent_observation_id": None, "level": "DEFAULT",
        "start_time": "2026-03-02 09:10:00.000000", "end_time": "2026-03-02 09:10:02.000000",
        "provided_model_name": "m", "usage_details": {"input": 3, "output": 1, "total": 4},
        "cost_details": {"total": 0.5},
        "input": '[{"role":"user","content":"why?"}]', "output": "The pool.",
    }  # fmt: skip
    trace = read_one(row).trace
    assert (trace.traceId, trace.question, trace.model, trace.durationMs) == ("t-9", "why?", "m", 2000.0)
    assert trace.usage
    assert (trace.usage.totalTokens, trace.usage.costUsd) == (4, 0.5)


def test_a_trace_alone_says_nothing_about_calls() -> None:
    row = traced("o1", "o2", input='"why?"', output='"The pool."', latency=2.5, totalCost=0.25, sessionId="s")  # type: ignore[arg-type]  # ids stand where observations do
    trace = read_one(row).trace
    assert (trace.question, trace.finalAnswer, trace.durationMs, trace.toolInvocations) == (
        "why?",
        "The pool.",
        2500.0,
        None,
    )
    assert trace.usage
    assert trace.usage.costUsd == 0.25


@pytest.mark.parametrize(
    "more",
    [
        {"name": "execute_tool ping"},
        {"name": "running tool: ping"},
        {"name": "ping", "metadata": {"attributes": {"openinference.span.kind": "TOOL"}}},
        {
            "name": "x",
            "metadata": '{"attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ping"}}',
        },
        {"name": "ping", "output": '{"type": "tool", "content": "pong", "tool_call_id": "c"}'},
    ],
)
def test_a_span_that_says_that_it_is_a_tool_is_a_call(more: dict[str, Any]) -> None:
    assert [each.toolName for each in calls_of(read_one(traced(ROOT, observed("b", "SPAN", "a", **more))).trace)] == [
        "ping"
    ]


def test_success_is_what_the_level_says() -> None:
    calls = [
        observed("b", "TOOL", "a", startTime="2026-03-02T09:10:00.1Z", level="ERROR", statusMessage="no answer"),
        observed("c", "TOOL", "a", startTime="2026-03-02T09:10:00.2Z"),
        observed("d", "TOOL", "a", startTime="2026-03-02T09:10:00.3Z", endTime=None),
        observed("e", "TOOL", "a", startTime="2026-03-02T09:10:00.4Z", level=None),
    ]
    record = read_one(traced(ROOT, *calls))
    assert [(each.success, each.error) for each in calls_of(record.trace)] == [
        (False, "no answer"), (True, None), (None, None), (None, None),
    ]  # fmt: skip
    assert [each.kind for each in record.warned] == ["unfinished-span"]


def test_where_no_tool_is_observed_the_generations_tell_the_calls() -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}
    replied = [asked, {"role": "tool", "tool_call_id": "c1", "content": "3 lines"}]
    first = observed("b", "GENERATION", "a", output=asked)
    second = observed("c", "GENERATION", "a", input=replied, startTime="2026-03-02T09:10:00.5Z")
    calls = calls_of(read_one(traced(ROOT, second, first)).trace)
    assert [(each.toolName, each.arguments, each.resultSummary) for each in calls] == [("f", {"a": 1}, "3 lines")]


@pytest.mark.parametrize(
    "stated, expected",
    [
        ({"usageDetails": {"input": 5, "input_cache_read": 7, "output": 2, "total": 14}}, (12, 2, 14, None)),
        ({"usageDetails": {"input": 5, "prompt_details.cache_read": 4, "output": 2}}, (5, 2, 7, None)),
        ({"usage": {"promptTokens": 5, "completionTokens": 2}}, (5, 2, 7, None)),
        ({"usage": {"input": 5, "output": 2, "total": 7, "unit": "TOKENS"}}, (5, 2, 7, None)),
        ({"inputUsage": 5, "outputUsage": 2, "totalUsage": 7, "totalCost": 0.5}, (5, 2, 7, 0.5)),
        ({"inputUsage": 0, "outputUsage": 0, "totalUsage": 0, "totalCost": 0}, None),
        ({"usageDetails": {}, "costDetails": {}}, None),
        ({"costDetails": {"input": 0.1, "total": 0.25}, "totalCost": 0.25}, (None, None, None, 0.25)),
    ],
)
def test_the_tokens_and_the_cost_of_a_generation(stated: dict[str, Any], expected: Any) -> None:
    usage = read_one(traced(ROOT, observed("b", "GENERATION", "a", **stated))).trace.usage
    assert (usage and (usage.inputTokens, usage.outputTokens, usage.totalTokens, usage.costUsd)) == expected


def test_generations_around_each_other_count_once() -> None:
    outer = observed("b", "GENERATION", "a", usageDetails={"input": 50, "output": 5, "total": 55})
    inner = observed("c", "GENERATION", "b", usageDetails={"input": 40, "output": 4, "total": 44})
    usage = read_one(traced(ROOT, outer, inner)).trace.usage
    assert usage
    assert (usage.inputTokens, usage.outputTokens, usage.totalTokens) == (40, 4, 44)


def test_a_root_that_failed_or_has_not_ended_is_not_answered_for_by_a_generation() -> None:
    answering = observed("b", "GENERATION", "a", output="The pool.")
    silent = {**ROOT, "output": None}
    assert read_one(traced(silent, answering)).trace.finalAnswer == "The pool."
    failed = read_one(traced({**silent, "level": "ERROR", "statusMessage": "boom"}, answering)).trace
    assert (failed.finalAnswer, failed.status) == (None, "ERROR")
    running = read_one(traced({**silent, "endTime": None}, answering)).trace
    assert (running.finalAnswer, running.durationMs) == (None, None)


def test_an_answer_that_is_data_is_given_as_json() -> None:
    assert read_one(traced(ROOT, output={"cause": "pool"})).trace.finalAnswer == "The pool."
    data = read_one(traced({**ROOT, "output": None}, output={"cause": "pool"})).trace
    assert data.finalAnswer == '{"cause":"pool"}'


def test_the_observation_beside_the_trace_adds_to_the_outline_inside_it() -> None:
    outline = {**ROOT, "input": None, "output": None, "model": "m"}
    record = read_one({"trace": traced(outline), "observations": [{**ROOT, "model": None}]})
    assert (record.trace.question, record.warned) == ("why?", ())


def test_a_broken_observation_says_where_and_costs_no_other_trace() -> None:
    bad, good = read_all(observed("a", name=7), observed("b", traceId="t-2"))
    assert isinstance(bad, Unreadable)
    assert (bad.fault.line, bad.fault.path) == (1, "$.name")
    assert isinstance(good, ReadTrace)


MANY = [
    ROOT,
    *(observed(f"t{n}", "TOOL", "a", startTime=f"2026-03-02T09:10:00.{n}Z", input={"n": n}) for n in range(1, 6)),
    observed("m", "GENERATION", "t3", startTime="2026-03-02T09:10:00.35Z", usageDetails={"input": 1, "output": 2}),
]


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_shuffled_observations_always_give_the_same_trace(order: random.Random) -> None:
    shuffled = [*MANY]
    order.shuffle(shuffled)
    assert read_one(*shuffled).trace == read_one(*MANY).trace


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        7,
        {"traceId": "t", "question": "q"},
        {"id": "a", "timestamp": "x", "input": "i"},
        {"trace": {"id": "a"}},
        {"data": []},
        {"a": {"input": {}}},
        {"id": "a", "traceId": "t", "type": "tool", "startTime": "x"},
    ],
)
def test_what_is_not_of_langfuse_is_not_recognised(document: Any) -> None:
    assert langfuse.recognises(document) is None
