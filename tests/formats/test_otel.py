"""OpenTelemetry spans of agents as traces."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import otel
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]
TRACE = "0af7651916cd43dd8448eb211c80319c"
CHECKOUT = "checkout 服务 5xx 激增，根因是什么？"
POOL = "根因：checkout 连接池耗尽（HikariPool-1 timeout）。"
TIMED_OUT = "TimeoutError: loki timed out after 10s"


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def figures(trace: Trace) -> tuple[Any, ...]:
    usage = trace.usage
    return (usage.inputTokens, usage.outputTokens, usage.totalTokens) if usage else ()


# Per file its traces: id, question, beginning and end of the answer, tools, usage, duration, model.
QWEN = "qwen-max-2025-01-25"
TOOLS = ["query_metrics", "get_logs"]
REAL: dict[str, list[tuple[Any, ...]]] = {
    "otel_genai/agentevals-dev__agentevals__helm.json": [
        (
            "3e289017fe03ffd7c4145316d2eb3d0d", "list all Helm releases", "There are two Helm releases installed",
            "any actions on these releases.", ["helm_list_releases"], (3776, 130, 3906), 4180.457,
            "gpt-4.1-mini-2025-04-14",
        ),
    ],
    "otel_genai/agentevals-dev__agentevals__helm_2.json": [
        (
            "bc07807133692d12e4268dc007ef9a19", "get me all the Helm releases", "To help you effectively, could you",
            "please let me know as well.", [], (1822, 43, 1865), 2004.35, "gpt-4.1-mini-2025-04-14",
        ),
    ],
    "otel_genai/agentevals-dev__agentevals__k8s.json": [
        (
            "d497c9dd55717f2c5ecb79bda3028993", "list all Helm releases", "To list all Helm releases, I would",
            "specify how you'd like to proceed.", [], (2203, 139, 2342), 2145.579, "gpt-4.1-mini-2025-04-14",
        ),
    ],
    "otel_genai/derived__inspect_scout_mocks__logfire_records.json": [
        (
            "trace-pydantic-agent", "Hello!", "Hello! How can I help you?", "", [], (50, 25, 75), 2000.0, "gpt-4o-mini",
        ),
    ],
    "otel_genai/generated__otel-sdk-1.45__console_exporter.jsonl": [
        ("c9f4e6cefdb31c9ea08e59962983a972", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 7.822, QWEN),
        ("72d9bc96723597a53fa4b6862a481bef", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 6.465, QWEN),
    ],
    "otel_genai/generated__otel-sdk-1.45__protobuf_json_base64.json": [
        ("c9f4e6cefdb31c9ea08e59962983a972", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 7.8213, QWEN),
        ("72d9bc96723597a53fa4b6862a481bef", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 6.464979, QWEN),
    ],
    "otel_genai/generated__otel-sdk-1.45__spec_otlp.jsonl": [
        ("c9f4e6cefdb31c9ea08e59962983a972", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 7.8213, QWEN),
        ("72d9bc96723597a53fa4b6862a481bef", CHECKOUT, POOL, "", TOOLS, (630, 89, 719), 6.464979, QWEN),
    ],
    "otel_genai/johnnyzhoujz__Refinery__otlp_trace_full_spec.json": [
        (
            "fullspec123", "Explain how to implement a distributed cache using Redis.\nInclude code examples.",
            "Here's a comprehensive guide", "using Redis...", ["redis_query"], (150, 500, 650), 5000.0, "gpt-4",
        ),
    ],
    "otel_genai/johnnyzhoujz__Refinery__otlp_trace_honeycomb.json": [
        ("def456", None, "I'm ready to help!", "", [], (), 10000.0, "gpt-4"),
    ],
    "otel_genai/johnnyzhoujz__Refinery__otlp_trace_tempo.json": [
        ("abc123", "Hello", "Hi there!", "", ["calculator"], (10, 5, 15), 5000.0, "claude-3"),
    ],
    "otel_genai/open-telemetry__opentelemetry-proto__trace.json": [
        ("5b8efff798038103d269b633813fc60c", None, None, "", None, (), 1000.0, None),
    ],
    "openinference/Arize-ai__openinference__ai-generateText-doGenerate.json": [
        (
            "b3e700af9eab81e19f72f964d62a35af", "Write a haiku about programming.", "Lines of code align,",
            "Dreams in data flow.", [], (14, 20, 34), 1779.415667, "gpt-4o-mini-2024-07-18",
        ),
        (
            "edff2fc5854be6170e8cccccec0c82cf", "And what is 3 + 3?", "3 + 3 equals 6.", "", [], (50, 9, 59),
            3034.285833, "gpt-4o-mini-2024-07-18",
        ),
    ],
    "openinference/Arize-ai__openinference__otel_genai_client_span_tool_calls.json": [
        (
            None, "Weather in Paris?", "The weather in Paris is", "temperature of 57°F.", ["get_weather"],
            (97, 52, 149), None, "gpt-4-0613",
        ),
    ],
    "openinference/Arize-ai__openinference__otel_genai_deprecated_client_span_tool_calls.json": [
        (
            None, "Weather in Paris?", "The weather in Paris is", "temperature of 57°F.", ["get_weather"],
            (97, 52, 149), None, "gpt-4-0613",
        ),
    ],
    "openinference/Arize-ai__openinference__otel_genai_tool_execution_span.json": [
        (None, None, None, "", ["get_weather"], (), None, None),
    ],
    "edge/b11_rollup_tokens.json": [(TRACE, None, None, "", [], (300, 30, 330), 10.0, None)],
    "edge/b19_deep_spans_1500.jsonl": [("t", None, None, "", None, (), 1000.0, None)],
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_is_read_as_a_person_reads_it(read_shared: Read, name: str) -> None:
    records, faults = read_shared(name)
    assert faults == []
    read = []
    for record, (_, _, head, tail, *_) in zip(records, REAL[name], strict=True):
        trace = record.trace
        answer = trace.finalAnswer
        if answer is not None:
            assert answer.startswith(head)
            assert answer.endswith(tail)
        tools = None if trace.toolInvocations is None else [call.toolName for call in calls_of(trace)]
        shown = head if answer is not None else None
        read.append((trace.traceId, trace.question, shown, tail, tools, figures(trace), trace.durationMs, trace.model))
    assert read == REAL[name]


def test_the_traces_of_the_ai_sdk_are_told_apart(read_shared: Read) -> None:
    records, faults = read_shared("openinference/Arize-ai__openinference__all-spans.json")
    assert faults == []
    assert [(row.trace.question, figures(row.trace)) for row in records] == [
        ("Write a haiku about programming.", (14, 20, 34)),
        ("Write a haiku about programming.", (14, 20, 34)),
        ("And what is 3 + 3?", (50, 9, 59)),
        ("And what is 3 + 3?", (50, 9, 59)),
        ("Generate a simple recipe for scrambled eggs.", (63, 156, 219)),
        ("Generate a simple recipe for scrambled eggs.", (63, 156, 219)),
        ("Write a short poem about TypeScript.", (15, 112, 127)),
        ("Write a short poem about TypeScript.", (15, 112, 127)),
        (None, (None, None, 10)),
        (None, (None, None, 10)),
    ]
    assert (records[4].trace.finalAnswer or "")[:25] == '{"name":"Scrambled Eggs",'


def test_the_calls_of_a_real_run_have_all_that_the_spans_say(read_shared: Read) -> None:
    [record, _], _ = read_shared("otel_genai/generated__otel-sdk-1.45__spec_otlp.jsonl")
    metrics, logs = calls_of(record.trace)
    assert metrics == ToolInvocation(
        toolName="query_metrics",
        arguments={"promql": "rate(http_5xx[5m])", "step": 30},
        success=True,
        durationMs=1.107865,
        resultSummary='{"value": 0.42, "unit": "ratio"}',
    )
    assert logs == ToolInvocation(
        toolName="get_logs", arguments={"service": "checkout"}, success=False, durationMs=1.1258, error=TIMED_OUT
    )
    assert record.warned == ()


def test_spans_printed_one_after_the_other_are_read_though_no_line_is_json(read: Read) -> None:
    [begun], _ = read((json.dumps(printed("a", end=None), indent=4) + "\n\n") * 2, "t.jsonl")
    assert (begun.trace.durationMs, [each.kind for each in begun.warned]) == (
        None,
        ["duplicate-span", "unfinished-span"],
    )


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(each) for each in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(each)} for key, each in value.items()]}}
    return {"stringValue": value}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def otlp_span(
    number: int, parent: int | None = None, start: int = 0, end: int | None = 1_000_000, /, name: str = "", **more: Any
) -> dict[str, Any]:
    span = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(1_767_225_600_000_000_000 + start),
        "attributes": pairs(more.pop("attributes", {})),
    }
    if parent is not None:
        span["parentSpanId"] = f"{parent:016x}"
    if end is not None:
        span["endTimeUnixNano"] = str(1_767_225_600_000_000_000 + end)
    return span | more


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}]}


def printed(name: str, end: str | None = "2026-01-01T00:00:01Z", **attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "context": {"trace_id": "0x" + TRACE, "span_id": "0x00000000000000a1", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": end,
        "status": {"status_code": "UNSET"},
        "attributes": {"gen_ai.operation.name": "invoke_agent", **attributes},
        "events": [],
        "links": [],
    }


def chat(*said: dict[str, Any], answer: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said), **more}
    if answer is not None:
        attributes["gen_ai.output.messages"] = json.dumps([answer])
    return attributes


def says(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def tool(name: str = "searchLogs", **more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **more}


@pytest.fixture
def one(read: Read) -> Callable[..., Trace]:
    def read_one(*spans: dict[str, Any]) -> Trace:
        [record], faults = read(json.dumps(otlp(*spans)))
        assert faults == []
        return record.trace

    return read_one


One = Callable[..., Trace]
USER, ANSWER = says("user", "why 503?"), says("assistant", "The pool is exhausted.")
ASKS = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "searchLogs", "arguments": {"q": 1}}]}
REMARK = {"role": "assistant", "parts": [{"type": "text", "content": "let me see"}, *ASKS["parts"]]}

ANSWERS = {
    "what the last call of a model said": (
        [
            otlp_span(1, None, 0, 9, attributes=chat(USER, answer=ASKS)),
            otlp_span(2, None, 9, 20, attributes=chat(USER, answer=ANSWER)),
        ],
        "The pool is exhausted.",
    ),
    "what the agent said, not the calls within it": (
        [
            otlp_span(
                1,
                None,
                0,
                30,
                attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": json.dumps([ANSWER])},
            ),
            otlp_span(2, 1, 9, 40, attributes=chat(USER, answer=says("assistant", "draft"))),
        ],
        "The pool is exhausted.",
    ),
    "not what an agent within a tool said": (
        [
            otlp_span(1, None, 0, 9, attributes=chat(USER, answer=ANSWER)),
            otlp_span(2, None, 10, 90, attributes=tool()),
            otlp_span(3, 2, 20, 80, attributes=chat(USER, answer=says("assistant", "sub-answer"))),
        ],
        "The pool is exhausted.",
    ),
    "not a remark beside calls of tools": ([otlp_span(1, attributes=chat(USER, answer=REMARK))], None),
    "not an earlier text, where the run ended in calls": (
        [
            otlp_span(1, None, 0, 9, attributes=chat(USER, answer=says("assistant", "a plan"))),
            otlp_span(2, None, 9, 20, attributes=chat(USER, answer=ASKS)),
        ],
        None,
    ),
    "not the thoughts before it": (
        [
            otlp_span(
                1,
                attributes=chat(
                    USER,
                    answer={"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, *ANSWER["parts"]]},
                ),
            )
        ],
        "The pool is exhausted.",
    ),
    "nothing, where nothing was captured": ([otlp_span(1, attributes={"gen_ai.operation.name": "chat"})], None),
}


@pytest.mark.parametrize("spans, answer", ANSWERS.values(), ids=ANSWERS)
def test_the_answer(one: One, spans: list[dict[str, Any]], answer: str | None) -> None:
    assert one(*spans).finalAnswer == answer


QUESTIONS: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "the last message of the user": (
        [otlp_span(1, attributes=chat(says("user", "hi"), says("assistant", "hello"), USER))],
        "why 503?",
    ),
    "of the first call of a model": (
        [
            otlp_span(2, None, 5, 9, attributes=chat(USER, ASKS, says("user", "[injected]"))),
            otlp_span(1, None, 0, 4, attributes=chat(USER)),
        ],
        "why 503?",
    ),
    "of the agent before its calls": (
        [
            otlp_span(
                1, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([USER])}
            ),
            otlp_span(2, 1, attributes=chat(says("user", "rewritten"))),
        ],
        "why 503?",
    ),
    "not what a tool was asked": (
        [
            otlp_span(1, None, 0, 1, attributes=tool(**{"input.value": "rm -rf"})),
            otlp_span(2, 1, 0, 1, attributes=chat(says("user", "inner"))),
            otlp_span(3, None, 5, 6, attributes=chat(USER)),
        ],
        "why 503?",
    ),
    "not the system's words": ([otlp_span(1, attributes=chat(says("system", "be brief")))], None),
}


@pytest.mark.parametrize("spans, question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_question(one: One, spans: list[dict[str, Any]], question: str | None) -> None:
    assert one(*spans).question == question


VOCABULARIES = {
    "GenAI": chat(USER, answer=ANSWER),
    "GenAI, structured": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [USER],
        "gen_ai.output.messages": [ANSWER],
    },
    "GenAI, numbered": {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "be brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "why 503?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "The pool is exhausted.",
    },
    "GenAI, deprecated": {
        "gen_ai.prompt": json.dumps([{"role": "user", "content": "why 503?"}]),
        "gen_ai.completion": json.dumps({"text": "The pool is exhausted."}),
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "why 503?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": "The pool is exhausted.",
    },
    "OpenInference, by value": {
        "openinference.span.kind": "CHAIN",
        "input.value": "why 503?",
        "output.value": "The pool is exhausted.",
    },
    "the AI SDK": {
        "ai.operationId": "ai.streamText",
        "ai.prompt": '{"prompt": "why 503?"}',
        "ai.response.text": "The pool is exhausted.",
    },
    "ADK": {
        "gen_ai.request.model": "m",
        "gcp.vertex.agent.llm_request": json.dumps({"contents": [{"role": "user", "parts": [{"text": "why 503?"}]}]}),
        "gcp.vertex.agent.llm_response": json.dumps(
            {"content": {"role": "model", "parts": [{"text": "The pool is exhausted."}]}}
        ),
    },
    "OpenLLMetry": {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": '{"inputs": {"question": "why 503?"}}',
        "traceloop.entity.output": '{"outputs": "The pool is exhausted."}',
    },
    "Pydantic AI": {
        "pydantic_ai.all_messages": json.dumps([USER, ASKS, ANSWER]),
        "final_result": "The pool is exhausted.",
    },
    "promptflow": {
        "framework": "promptflow",
        "span_type": "Flow",
        "inputs": '{"question": "why 503?"}',
        "output": '"The pool is exhausted."',
    },
}


@pytest.mark.parametrize("attributes", VOCABULARIES.values(), ids=VOCABULARIES)
def test_every_vocabulary_says_question_and_answer(one: One, attributes: dict[str, Any]) -> None:
    trace = one(otlp_span(1, attributes=attributes))
    assert (trace.question, trace.finalAnswer) == ("why 503?", "The pool is exhausted.")


EVENTS = {
    "with content": [
        {"name": "gen_ai.user.message", "attributes": pairs({"content": "why 503?"})},
        {
            "name": "gen_ai.choice",
            "attributes": pairs({"index": 0, "message": '{"content": "The pool is exhausted."}'}),
        },
    ],
    "with parts of Bedrock": [
        {"name": "gen_ai.user.message", "attributes": pairs({"content": '[{"text": "why 503?"}]'})},
        {"name": "gen_ai.choice", "attributes": pairs({"message": '[{"text": "The pool is exhausted."}]'})},
    ],
    "with all of it in one attribute": [
        {
            "name": "gen_ai.user.message",
            "attributes": pairs({"gen_ai.event.content": '{"role": "user", "content": "why 503?"}'}),
        },
        {
            "name": "gen_ai.choice",
            "attributes": pairs({"gen_ai.event.content": '{"message": {"content": "The pool is exhausted."}}'}),
        },
    ],
    "of the prompt and the completion": [
        {
            "name": "gen_ai.content.prompt",
            "attributes": pairs({"gen_ai.prompt": '[{"role": "user", "content": "why 503?"}]'}),
        },
        {
            "name": "gen_ai.content.completion",
            "attributes": pairs({"gen_ai.completion": '[{"role": "assistant", "content": "The pool is exhausted."}]'}),
        },
    ],
    "of the operation": [
        {
            "name": "gen_ai.client.inference.operation.details",
            "attributes": pairs(
                {"gen_ai.input.messages": json.dumps([USER]), "gen_ai.output.messages": json.dumps([ANSWER])}
            ),
        },
    ],
}


@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS)
def test_messages_may_be_events_of_the_span(one: One, events: list[dict[str, Any]]) -> None:
    trace = one(otlp_span(1, attributes={"gen_ai.operation.name": "chat"}, events=events))
    assert (trace.question, trace.finalAnswer) == ("why 503?", "The pool is exhausted.")


def test_messages_may_be_log_records_beside_the_spans(read: Read) -> None:
    def record(name: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"traceId": TRACE, "spanId": f"{1:016x}", "eventName": name, "body": any_value(body)}

    said = {"content": {"role": "model", "parts": [{"text": "The pool is exhausted."}]}, "index": 0}
    logs = [record("gen_ai.user.message", {"content": "why 503?"}), record("gen_ai.choice", said)]
    beside = {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
    spans = otlp(otlp_span(1, attributes={"gen_ai.operation.name": "chat"}))
    [together], _ = read(json.dumps(spans | beside))
    [apart], faults = read(json.dumps(beside) + "\n" + json.dumps(spans), "t.jsonl")
    assert (together.trace.question, together.trace.finalAnswer) == ("why 503?", "The pool is exhausted.")
    assert apart.trace == together.trace
    assert faults == []


def test_metrics_between_the_spans_are_passed_over(read: Read) -> None:
    lines = [{"resourceMetrics": []}, otlp(otlp_span(1, attributes=chat(USER, answer=ANSWER)))]
    [record], faults = read("\n".join(map(json.dumps, lines)), "t.jsonl")
    assert (record.trace.finalAnswer, record.line, faults) == ("The pool is exhausted.", 2, [])


FAILURES: dict[str, tuple[dict[str, Any], bool | None, str | None]] = {
    "a status not set is no failure": ({}, True, None),
    "an error by number": ({"status": {"code": 2, "message": "gone"}}, False, "gone"),
    "an error by name": ({"status": {"code": "STATUS_CODE_ERROR"}}, False, None),
    "an error type": ({"attributes": tool(**{"error.type": "Timeout"})}, False, "Timeout"),
    "an exception": (
        {"events": [{"name": "exception", "attributes": pairs({"exception.type": "E", "exception.message": "m"})}]},
        False,
        "E: m",
    ),
    "an exception that was dealt with": (
        {"status": {"code": 1}, "events": [{"name": "exception", "attributes": pairs({"exception.type": "E"})}]},
        True,
        None,
    ),
    "a reply of MCP that says so": (
        {"attributes": tool(**{"gen_ai.tool.call.result": '{"isError": true}'})},
        False,
        "the reply says isError",
    ),
}


@pytest.mark.parametrize("more, success, error", FAILURES.values(), ids=FAILURES)
def test_whether_a_call_failed(one: One, more: dict[str, Any], success: bool | None, error: str | None) -> None:
    [call] = calls_of(one(otlp_span(1, **{"attributes": tool(), **more})))
    assert (call.success, call.error) == (success, error)


def test_a_call_that_never_ended_has_no_success_and_no_duration(one: One) -> None:
    [call] = calls_of(one(otlp_span(1, None, 0, None, attributes=tool())))
    assert (call.success, call.durationMs) == (None, None)


def test_a_failed_request_within_a_call_is_no_failure_of_the_call(one: One) -> None:
    [call] = calls_of(one(otlp_span(1, attributes=tool()), otlp_span(2, 1, name="GET", status={"code": 2})))
    assert call.success is True


def test_arguments_and_result_may_stand_with_the_model_only(one: One) -> None:
    reply = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 lines"}]}
    [call] = calls_of(
        one(
            otlp_span(1, None, 0, 1, attributes=chat(USER, answer=ASKS)),
            otlp_span(2, None, 2, 3, attributes=tool(**{"gen_ai.tool.call.id": "c1"})),
            otlp_span(3, None, 4, 5, attributes=chat(USER, ASKS, reply, answer=ANSWER)),
        )
    )
    assert (call.arguments, call.resultSummary, call.success) == ({"q": 1}, "3 lines", True)


def test_without_spans_of_tools_the_calls_that_the_model_asked_for_are_taken_once(one: One) -> None:
    reply = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 lines"}]}
    earlier = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c0", "name": "old", "arguments": {}}]}
    said = [says("user", "hi"), earlier, USER]
    trace = one(
        otlp_span(1, None, 0, 1, attributes=chat(*said, answer=ASKS)),
        otlp_span(2, None, 4, 5, attributes=chat(*said, ASKS, reply, answer=ANSWER)),
    )
    assert calls_of(trace) == [ToolInvocation(toolName="searchLogs", arguments={"q": 1}, resultSummary="3 lines")]


def test_calls_without_ids_are_not_repeated_by_the_conversation(one: One) -> None:
    nameless = {"role": "assistant", "parts": [{"type": "tool_call", "name": "ping", "arguments": {}}]}
    trace = one(
        otlp_span(1, None, 0, 1, attributes=chat(USER, answer=nameless)),
        otlp_span(2, None, 2, 3, attributes=chat(USER, nameless, answer=nameless)),
        otlp_span(3, None, 4, 5, attributes=chat(USER, nameless, nameless, answer=ANSWER)),
    )
    assert [call.toolName for call in calls_of(trace)] == ["ping", "ping"]


def test_a_call_recorded_by_client_and_server_counts_once(one: One) -> None:
    trace = one(
        otlp_span(1, attributes=tool(**{"gen_ai.tool.call.id": "c1"})),
        otlp_span(2, 1, name="POST"),
        otlp_span(3, 2, attributes=tool()),
        otlp_span(4, 1, attributes=tool("other")),
        otlp_span(5, 1, attributes=tool(**{"gen_ai.tool.call.id": "c2"})),
    )
    assert [call.toolName for call in calls_of(trace)] == ["searchLogs", "other", "searchLogs"]


def test_arguments_that_are_no_json_stay_text(one: One) -> None:
    [call] = calls_of(one(otlp_span(1, attributes=tool(**{"gen_ai.tool.call.arguments": "{'q': 1}"}))))
    assert call.arguments == "{'q': 1}"


IDS = {
    "hexadecimal": ("0AF7651916CD43DD8448EB211C80319C", TRACE),
    "0x": (f"0x{TRACE}", TRACE),
    "base64": (base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE),
    "base64 for URLs": (base64.urlsafe_b64encode(b"\xff" * 16).decode(), "ff" * 16),
    "anything else": ("Trace-1", "Trace-1"),
    "zeros": ("0" * 32, None),
}


@pytest.mark.parametrize("written, expected", IDS.values(), ids=IDS)
def test_an_id_is_the_same_however_it_is_written(one: One, written: str, expected: str | None) -> None:
    assert one(otlp_span(1, attributes=tool(), traceId=written)).traceId == expected


def test_links_between_spans_hold_across_notations(one: One) -> None:
    parent = base64.b64encode(bytes.fromhex("00000000000000ab")).decode()
    trace = one(
        otlp_span(0xAB, attributes=chat(USER, answer=ANSWER)),
        {**otlp_span(2, attributes=tool()), "parentSpanId": parent},
    )
    assert trace.durationMs == 1.0


def test_a_time_of_zero_was_never_set(one: One) -> None:
    assert one(otlp_span(1, attributes=tool(), endTimeUnixNano="0")).durationMs is None


def test_a_duration_is_that_of_the_agents_root_not_of_what_polls_beside_it(one: One) -> None:
    trace = one(
        otlp_span(1, None, 0, 900_000_000, name="GET /health"), otlp_span(2, None, 0, 2_000_000, attributes=tool())
    )
    assert trace.durationMs == 2.0


REFUSED = {
    "spans that are no list": (
        {"resourceSpans": [{"scopeSpans": [{"spans": 7}]}]},
        "$.resourceSpans[0].scopeSpans[0].spans",
    ),
    "a span that is no object": (
        {"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]},
        "$.resourceSpans[0].scopeSpans[0].spans[0]",
    ),
    "an id that is no text": (otlp({"spanId": []}), "$.resourceSpans[0].scopeSpans[0].spans[0].spanId"),
    "attributes that are none": (otlp({"attributes": "a"}), "$.resourceSpans[0].scopeSpans[0].spans[0].attributes"),
    "Jaeger's tags that are none": ({"data": [{"traceID": "a", "spans": [{"tags": 7}]}]}, "$.data[0].spans[0].tags"),
    "an object that is no span": ([printed("a"), {"a": 1}], "$[1]"),
}


@pytest.mark.parametrize("document, path", REFUSED.values(), ids=REFUSED)
def test_what_is_broken_is_refused_at_its_path(read: Read, document: Any, path: str) -> None:
    traces, [fault] = read(json.dumps(document))
    assert (traces, fault.path) == ([], path)


OTHERS: dict[str, Any] = {
    "a native trace": {"traceId": "t", "finalAnswer": "a"},
    "a Langfuse trace": {"id": "t", "traceId": "t", "startTime": "2026-01-01T00:00:00Z", "type": "SPAN"},
    "a LangSmith run": {"id": "t", "trace_id": "t", "run_type": "llm", "start_time": "2026-01-01T00:00:00"},
    "a span of the Agents SDK": {"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {}},
    "a span of Phoenix": {"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "status_code": "OK"},
    "a span of TRAIL": {"trace_id": "t", "span_id": "s", "timestamp": "", "span_attributes": {}, "child_spans": []},
    "an MLflow trace": {"info": {"trace_id": "tr-1"}, "data": {"spans": []}},
    "an empty list": [],
    "a list of lists": [[]],
    "a text": "resourceSpans",
    "nothing": None,
}


@pytest.mark.parametrize("document", OTHERS.values(), ids=OTHERS)
def test_what_belongs_to_others_is_not_recognised(document: Any) -> None:
    assert otel.recognises(document) is None


RUN = [
    otlp_span(
        1, None, 0, 90_000_000, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 30}
    ),
    otlp_span(2, 1, 1_000_000, 9_000_000, attributes=chat(USER, answer=ASKS, **{"gen_ai.usage.input_tokens": 10})),
    otlp_span(3, 1, 10_000_000, 20_000_000, attributes=tool(**{"gen_ai.tool.call.arguments": '{"q": 1}'})),
    otlp_span(
        4, 1, 30_000_000, 60_000_000, attributes=chat(USER, ASKS, answer=ANSWER, **{"gen_ai.usage.input_tokens": 20})
    ),
    otlp_span(
        5, 4, 31_000_000, 59_000_000, attributes={"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 20}
    ),
]


@given(st.permutations(RUN), st.integers(1, len(RUN)))
@settings(suppress_health_check=[HealthCheck.differing_executors])
def test_spans_in_any_order_over_any_lines_give_the_same_trace(spans: list[dict[str, Any]], cut: int) -> None:
    lines = [spans[start : start + cut] for start in range(0, len(spans), cut)]
    documents = [Document(json.dumps(otlp(*line)).encode(), "f.jsonl", number, 0) for number, line in enumerate(lines)]
    [record] = otel.read(documents)
    assert isinstance(record, ReadTrace)
    assert record.trace == Trace(
        traceId=TRACE,
        question="why 503?",
        finalAnswer="The pool is exhausted.",
        durationMs=90.0,
        usage=record.trace.usage,
        toolInvocations=[ToolInvocation(toolName="searchLogs", arguments={"q": 1}, success=True, durationMs=10.0)],
    )
    assert figures(record.trace) == (30, None, None)
    assert record.warned == ()


def test_a_chain_of_any_depth_is_read(read: Read) -> None:
    depth = 15_000
    spans = [otlp_span(n + 1, n or None, n, n + 1) for n in range(depth - 1)]
    spans.append(otlp_span(depth, depth - 1, depth, depth + 1, attributes=chat(USER, answer=ANSWER)))
    [record], faults = read(json.dumps(otlp(*reversed(spans))))
    assert (record.trace.finalAnswer, record.warned, faults) == ("The pool is exhausted.", (), [])


def snake(value: Any) -> Any:
    """The same with keys as protobuf's Python classes have them."""
    names = {"resourceSpans": "resource_spans", "scopeSpans": "scope_spans", "traceId": "trace_id", "spanId": "span_id",
             "startTimeUnixNano": "start_time_unix_nano", "endTimeUnixNano": "end_time_unix_nano",
             "stringValue": "string_value"}  # fmt: skip
    if isinstance(value, dict):
        return {names.get(key, key): snake(inner) for key, inner in value.items()}
    return [snake(inner) for inner in value] if isinstance(value, list) else value


SPAN = otlp_span(1, attributes=chat(USER, answer=ANSWER), name="chat")
ENVELOPES = {
    "OTLP": otlp(SPAN),
    "within a trace, as Tempo's API has it": {"trace": otlp(SPAN)},
    "by batches": {"batches": [{"instrumentationLibrarySpans": [{"spans": [SPAN]}]}]},
    "in snake_case": snake(otlp(SPAN)),
    "several exports in a list": [otlp(), otlp(SPAN)],
    "spans under data, as Phoenix's OTLP endpoint has them": {"data": [snake(SPAN)]},
    "a span alone": SPAN,
}


@pytest.mark.parametrize("document", ENVELOPES.values(), ids=ENVELOPES)
def test_every_envelope_gives_the_same_trace(read: Read, document: Any) -> None:
    [record], faults = read(json.dumps(document))
    assert faults == []
    assert record.trace == Trace(
        traceId=TRACE, question="why 503?", finalAnswer="The pool is exhausted.", durationMs=1.0, toolInvocations=[]
    )
