"""MLflow traces."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import mlflow
from pipeline.sources.base import ReadTrace, ToolInvocation, Trace, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]
One = Callable[..., Trace]


def test_a_real_file_is_read_as_a_person_reads_it(read_shared: Read) -> None:
    [first, second], faults = read_shared("mlflow/generated__mlflow-tracing-3.17.2__traces.jsonl")
    assert faults == []
    assert first.trace == Trace(
        traceId="tr-a0b6066acdb0ea7210b7bbe166464e35",
        question="api-1 为什么一直重启？",
        finalAnswer="OOMKilled 导致重启",
        status="OK",
        durationMs=16.747937,
        usage=Usage(inputTokens=10, outputTokens=5, totalTokens=15),
        toolInvocations=[
            ToolInvocation(
                toolName="query_prometheus",
                arguments={"promql": "up"},
                success=True,
                durationMs=0.40582,
                resultSummary={"value": None, "series": [1, 2.5, None]},
            ),
            ToolInvocation(
                toolName="get_logs",
                arguments={"pod": "api-1"},
                success=False,
                durationMs=5.890412,
                error="TimeoutError: read timed out",
            ),
        ],
    )
    assert [(row.kind, row.path) for row in first.warned] == [
        ("non-finite-number", "$.data.spans[1].attributes.mlflow.spanOutputs.value")
    ]
    assert second.trace == Trace(
        traceId="tr-0a627e20e8b0e09a4ca62f43c3b7d846", status="ERROR", durationMs=0.730886, toolInvocations=[]
    )


def span(
    number: int, parent: int | None, kind: str, /, start: int = 0, end: int | None = 9, **more: Any
) -> dict[str, Any]:
    attributes = {"mlflow.spanType": kind, **more.pop("attributes", {})}
    made: dict[str, Any] = {
        "trace_id": base64.b64encode(b"t" * 16).decode(),
        "span_id": base64.b64encode(number.to_bytes(8, "big")).decode(),
        "parent_span_id": None if parent is None else base64.b64encode(parent.to_bytes(8, "big")).decode(),
        "name": "step",
        "start_time_unix_nano": 1_767_225_600_000_000_000 + start * 1_000_000,
        "end_time_unix_nano": None if end is None else 1_767_225_600_000_000_000 + end * 1_000_000,
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in attributes.items()},
        "events": [],
    }
    return made | more


def values(given: Any = None, gave: Any = None, **more: Any) -> dict[str, Any]:
    return {"mlflow.spanInputs": given, "mlflow.spanOutputs": gave, **more}


def document(*spans: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"trace_id": "tr-1", "state": "OK", **info}, "data": {"spans": list(spans)}}


@pytest.fixture
def one(read: Read) -> One:
    def read_one(trace: Any) -> Trace:
        [record], faults = read(json.dumps(trace))
        assert faults == []
        return record.trace

    return read_one


ROOT = span(1, None, "AGENT", 0, 9, attributes=values({"question": "why 503?"}, "The pool is exhausted."))
SHAPES = {
    "version 3": document(ROOT, execution_duration_ms=8),
    "in a list": [document(ROOT)],
    "version 2": {
        "info": {"request_id": "tr-1", "timestamp_ms": 0, "execution_time_ms": 8, "status": "OK"},
        "data": {
            "request": '{"question": "why 5…',
            "spans": [
                {
                    "name": "step",
                    "context": {"span_id": "0x00000000000000a1", "trace_id": "0x" + "1" * 32},
                    "parent_id": None,
                    "start_time": 1_767_225_600_000_000_000,
                    "end_time": 1_767_225_600_009_000_000,
                    "status_code": "OK",
                    "status_message": "",
                    "attributes": ROOT["attributes"],
                    "events": [],
                }
            ],
        },
    },
    "a row of traces": {"trace_id": "tr-1", "state": "OK", "trace_metadata": {}, "spans": [ROOT]},
    "a row with the trace as text": {
        "trace_id": "tr-1",
        "trace": json.dumps(document(ROOT)),
        "trace_metadata": {},
        "spans": [],
    },
    "the shape of the REST API": {"trace_info": {"trace_id": "tr-1", "state": "OK"}, "spans": [ROOT]},
}


@pytest.mark.parametrize("trace", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same_trace(one: One, trace: Any) -> None:
    assert one(trace) == Trace(
        traceId="tr-1",
        question="why 503?",
        finalAnswer="The pool is exhausted.",
        status="OK",
        durationMs=9.0,
        toolInvocations=[],
    )


def test_several_traces_in_one_list_are_several_and_a_broken_one_costs_no_other(read: Read) -> None:
    records, [fault] = read(json.dumps([document(ROOT), {"info": {"trace_id": 7.5}}, document(ROOT, trace_id="tr-2")]))
    assert [record.trace.traceId for record in records] == ["tr-1", "tr-2"]
    assert fault.path == "$[1].info.trace_id"


def test_what_mlflow_has_shortened_is_read_only_where_nothing_is_whole(one: One) -> None:
    shortened = {
        "trace_metadata": {"mlflow.traceInputs": '{"question": "why 5', "mlflow.traceOutputs": '"The pool"'},
        "execution_duration": "1.5s",
    }
    whole, short = one(document(ROOT, **shortened)), one(document(**shortened))
    assert (whole.question, whole.finalAnswer, whole.durationMs) == ("why 503?", "The pool is exhausted.", 9.0)
    assert (short.question, short.finalAnswer, short.durationMs) == ('{"question": "why 5', "The pool", 1500.0)
    assert short.toolInvocations is None


DURATIONS = {
    "milliseconds": ({"execution_duration_ms": 16}, 16.0),
    "of version 2": ({"execution_time_ms": 16}, 16.0),
    "seconds as text": ({"execution_duration": "0.016s"}, 16.0),
    "text that is none": ({"execution_duration_ms": "16"}, None),
    "absent": ({}, None),
}


@pytest.mark.parametrize("info, duration", DURATIONS.values(), ids=DURATIONS)
def test_the_duration_of_a_trace_without_spans(one: One, info: dict[str, Any], duration: float | None) -> None:
    assert one(document(**info)).durationMs == duration


def test_a_trace_in_progress_has_no_duration(read: Read) -> None:
    [record], _ = read(
        json.dumps(document(span(1, None, "AGENT", 0, None), state="IN_PROGRESS", execution_duration_ms=5))
    )
    assert (record.trace.durationMs, record.trace.status) == (None, "IN_PROGRESS")
    assert [row.kind for row in record.warned] == ["unfinished-span"]


def tokens(given: int, gave: int) -> dict[str, int]:
    return {"input_tokens": given, "output_tokens": gave, "total_tokens": given + gave}


USAGES = {
    "the trace's own sum": (
        document(
            span(1, None, "LLM", attributes={"mlflow.chat.tokenUsage": tokens(1, 1)}),
            trace_metadata={
                "mlflow.trace.tokenUsage": json.dumps(tokens(30, 12)),
                "mlflow.trace.cost": '{"total_cost": 0.5}',
            },
        ),
        Usage(inputTokens=30, outputTokens=12, totalTokens=42, costUsd=0.5),
    ),
    "else the innermost calls of a model": (
        document(
            span(1, None, "CHAIN", attributes={"mlflow.chat.tokenUsage": tokens(30, 12)}),
            span(
                2,
                1,
                "CHAT_MODEL",
                attributes={"mlflow.chat.tokenUsage": tokens(10, 4), "mlflow.llm.cost": {"total_cost": 0.25}},
            ),
            span(
                3,
                1,
                "CHAT_MODEL",
                attributes={"mlflow.chat.tokenUsage": tokens(20, 8), "mlflow.llm.cost": {"total_cost": 0.5}},
            ),
        ),
        Usage(inputTokens=30, outputTokens=12, totalTokens=42, costUsd=0.75),
    ),
    "else what the response says": (
        document(
            span(1, None, "CHAT_MODEL", attributes=values("q", {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}))
        ),
        Usage(inputTokens=1, outputTokens=2, totalTokens=3),
    ),
    "else nothing": (document(ROOT), None),
}


@pytest.mark.parametrize("trace, usage", USAGES.values(), ids=USAGES)
def test_the_usage(one: One, trace: Any, usage: Usage | None) -> None:
    assert one(trace).usage == usage


def test_a_call_of_a_tool_has_all_that_its_span_says(one: One) -> None:
    trace = one(
        document(
            ROOT,
            span(2, 1, "TOOL", 3, 5, name="later", attributes=values({"q": 2}, 42)),
            span(
                3,
                1,
                "TOOL",
                1,
                2,
                name="sooner",
                attributes=values({"q": 1}),
                status={"code": "STATUS_CODE_ERROR", "message": "gone"},
            ),
        )
    )
    assert trace.toolInvocations == [
        ToolInvocation(toolName="sooner", arguments={"q": 1}, success=False, durationMs=1.0, error="gone"),
        ToolInvocation(toolName="later", arguments={"q": 2}, success=True, durationMs=2.0, resultSummary=42),
    ]


def test_an_attribute_that_is_no_json_is_text(one: One) -> None:
    root = {
        **ROOT,
        "attributes": {"mlflow.spanType": '"AGENT"', "mlflow.spanInputs": "[why 503?", "mlflow.spanOutputs": "so"},
    }
    trace = one(document(root))
    assert (trace.question, trace.finalAnswer) == ("[why 503?", "so")


def test_an_exception_event_in_microseconds_harms_nothing(one: One) -> None:
    event = {"name": "exception", "time_unix_nano": 1_766_004_344_000_273, "attributes": {"exception.type": "E"}}
    assert one(document({**ROOT, "events": [event]})).durationMs == 9.0


REFUSED = {
    "spans that are no list": ({"info": {"trace_id": "a"}, "data": {"spans": 7}}, "$.data.spans"),
    "attributes that are none": (document({**ROOT, "attributes": []}), "$.data.spans[0].attributes"),
    "metadata that are none": (document(ROOT, trace_metadata=[]), "$.info.trace_metadata"),
    "a state that is no text": (document(ROOT, state=1), "$.info.state"),
    "neither info nor spans": ([document(ROOT), {"a": 1}], "$[1]"),
}


@pytest.mark.parametrize("trace, path", REFUSED.values(), ids=REFUSED)
def test_what_is_broken_is_refused_at_its_path(read: Read, trace: Any, path: str) -> None:
    _, [fault] = read(json.dumps(trace))
    assert fault.path == path


OTHERS: dict[str, Any] = {
    "a native trace": {"traceId": "t", "finalAnswer": "a"},
    "an OpenCode session": {"info": {"id": "s"}, "messages": []},
    "spans of Phoenix": {"data": [{"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM"}]},
    "info that is none": {"info": "tr-1", "data": {}},
    "an empty list": [],
    "a list of texts": ["info"],
    "nothing": None,
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_what_belongs_to_others_is_not_recognised(value: Any) -> None:
    assert mlflow.recognises(value) is None
