"""OpenTelemetry spans of a generative-AI agent, in every encoding that exporters and trace stores write.

OTLP/JSON as the Collector's file exporter writes it (a trace may be spread over lines), the same by way of
protobuf's JSON mapping (ids in base64, enums by name) and in snake_case; what the Tempo API gives (`batches`, or
`trace` around it all; numbers for times); what the Jaeger UI and API give (`data[].spans[]`, microseconds); spans as
the Python SDK prints them (`span.to_json()`, also printed over many lines, one object after the other) and as the
JavaScript SDK holds them; Logfire's records; and the bare attributes of one span. Messages that stand as log records
(`resourceLogs`) are read as events of their spans; metrics are passed over.

All documents of a file are read before the first trace comes out, and spans belong together by their trace id. Of a
trace only the steps of an agent, a model or a tool matter, under whichever conventions they were recorded (GenAI's,
now and before, OpenInference, the AI SDK, ADK, OpenLLMetry, Pydantic AI, promptflow); the plumbing around them
(HTTP, message queues) does not. Traces without any such step are left out where the file has others.

The question is the last message of the user that the outermost step was given, the answer what the outermost step
said last, unless it still asked for tools. One call of a model recorded by several spans counts once, and sums on
spans around them not at all. A status that is not set counts as success. Where no span records a call of a tool, the
calls that the model's messages show are taken, whose success and duration nobody knows. Case, trial, and verdict have
no place in these conventions, and what the agent's developer chose not to capture stays null.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Unreadable
from pipeline.sources.genai_messages import parsed
from pipeline.sources.genai_spans import OPENINFERENCE_KIND, is_of_an_agent, kind_of, trace_of
from pipeline.sources.instants import SECOND, iso_ns, scaled_ns, whole_ns
from pipeline.sources.nodes import Node
from pipeline.sources.span_tree import Span, hexadecimal, outcome, read_spans
from pipeline.sources.wording import Refused, describe

_RESOURCES: Final = ("resourceSpans", "resource_spans", "batches")
_LOGS: Final = ("resourceLogs", "resource_logs")
_OTHER_SIGNALS: Final = ("resourceMetrics", "resource_metrics")
_SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_MICROSECOND: Final = 1_000
_ERROR_LEVEL: Final = 17
_SCALARS: Final = ("stringValue", "boolValue", "bytesValue")


def recognises(document: Any) -> str | None:
    """The reason why a document is OpenTelemetry spans, else None."""
    if isinstance(document, list):
        return _one(document[0]) if document and all(isinstance(item, dict) for item in document) else None
    return _one(document) if isinstance(document, dict) else None


def _one(value: dict[str, Any]) -> str | None:
    inner = value.get("trace")
    around = inner if isinstance(inner, dict) else value
    for key in (*_RESOURCES, *_LOGS, *_OTHER_SIGNALS):
        if isinstance(around.get(key), list):
            return f"it has `{key}`, as OTLP and Tempo have"
    if _is_jaeger(value):
        return "it has Jaeger traces with `traceID` and `spans`"
    reason = _one_span(value)
    if reason is not None:
        return reason
    data = value.get("data")
    if isinstance(data, list) and data and isinstance(data[0], dict) and "start_time_unix_nano" in data[0]:
        return "its `data` are OTLP spans"
    return None


def _one_span(value: dict[str, Any]) -> str | None:
    context = value.get("context")
    if isinstance(context, dict) and "trace_id" in context and not ("status_code" in value or "span_kind" in value):
        return "it is a span as the Python SDK prints it"
    if isinstance(value.get("spanContext"), dict) and "traceId" in value["spanContext"]:
        return "it is a span as the JavaScript SDK holds it"
    times = ("start_time", "start_timestamp", "start_time_unix_nano", "startTimeUnixNano")
    foreign = ("span_kind", "span_data", "run_type", "span_attributes", "child_spans")
    identified = ("span_id" in value or "spanId" in value) and ("trace_id" in value or "traceId" in value)
    named = "name" in value or "span_name" in value
    if identified and named and any(key in value for key in times):
        return None if any(key in value for key in foreign) else "it is a span with `span_id`, a name and a start"
    if OPENINFERENCE_KIND not in value and any(key.startswith("gen_ai.") for key in value):
        return "it has `gen_ai.` attributes"
    return None


def _is_jaeger(value: dict[str, Any]) -> bool:
    data = value.get("data")
    first = data[0] if isinstance(data, list) and data else value
    return isinstance(first, dict) and "traceID" in first and isinstance(first.get("spans"), list)


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read all traces of a file of spans."""
    return read_spans(documents, _spans, trace_of, is_of_an_agent)


def _spans(value: Any) -> Iterator[Span]:
    root = Node(value)
    for node in root.items() if isinstance(value, list) else (root,):
        yield from _spans_of(node)


def _spans_of(node: Node) -> Iterator[Span]:
    around = node.member("trace") if isinstance(node.fields().get("trace"), dict) else node
    data = node.member("data")
    if any(key in around.fields() for key in (*_RESOURCES, *_LOGS, *_OTHER_SIGNALS)):
        for resource in around.member(*_RESOURCES).items():
            for scope in resource.member(*_SCOPES).items():
                for span in scope.member("spans").items():
                    yield _otlp(span)
        yield from _logs(around)
    elif _is_jaeger(node.fields()):
        for trace in data.items() if data else (node,):
            for span in trace.member("spans").items():
                yield _jaeger(span)
    elif data:
        for span in data.items():
            yield _otlp(span)
    else:
        yield _span(node)


def _logs(around: Node) -> Iterator[Span]:
    """The events that stand as log records beside the spans, as newer instrumentations write messages."""
    for resource in around.member(*_LOGS).items():
        for scope in resource.member("scopeLogs", "scope_logs").items():
            for record in scope.member("logRecords", "log_records").items():
                attributes = otlp_attributes(record.member("attributes"))
                body = _any_value(record.member("body").value)
                yield Span(
                    id=_id(record.member("spanId", "span_id")),
                    trace=_id(record.member("traceId", "trace_id")),
                    events=[
                        {
                            "name": record.member("eventName", "event_name").value or attributes.get("event.name"),
                            "attributes": attributes | (body if isinstance(body, dict) else {"content": body}),
                        }
                    ],
                    addition=True,
                )


def _span(node: Node) -> Span:
    fields = node.fields()
    if "startTimeUnixNano" in fields or "start_time_unix_nano" in fields:
        return _otlp(node)
    if "context" in fields or "spanContext" in fields or "span_id" in fields:
        return _printed(node)
    if any(key.startswith("gen_ai.") for key in fields):
        return Span(kind=kind_of("", fields), attributes=fields)
    raise Refused(
        "this is no span: leave it out",
        path=node.path,
        expected="an OTLP export, a Jaeger trace or a span",
        found=describe(node.value),
    )


def _otlp(node: Node) -> Span:
    """A span as OTLP has it."""
    attributes = otlp_attributes(node.member("attributes"))
    name = node.member("name").text() or ""
    status = node.member("status")
    failed, word = outcome(status.member("code", "status_code").value)
    return Span(
        id=_id(node.member("spanId", "span_id")),
        parent=_id(node.member("parentSpanId", "parent_span_id")),
        trace=_id(node.member("traceId", "trace_id")),
        name=name,
        kind=kind_of(name, attributes),
        start_ns=_set(whole_ns(node.member("startTimeUnixNano", "start_time_unix_nano").value)),
        end_ns=_set(whole_ns(node.member("endTimeUnixNano", "end_time_unix_nano").value)),
        failed=failed,
        error=status.member("message").text() if failed else None,
        status=word,
        attributes=attributes,
        events=[
            {"name": event.member("name").value, "attributes": otlp_attributes(event.member("attributes"))}
            for event in node.member("events").items()
        ],
    )


def otlp_attributes(node: Node) -> dict[str, Any]:
    """Attributes as OTLP has them: a list of keys with typed values; a plain object is taken as it is.

    Raises:
        Refused: neither.
    """
    if isinstance(node.value, dict):
        return dict(node.value)
    found: dict[str, Any] = {}
    for item in node.items():
        key = item.member("key").text()
        if key is not None:
            found[key] = _any_value(item.member("value").value)
    return found


def _any_value(value: Any) -> Any:
    """The value inside OTLP's typed one; as deep as the document is, which is bounded."""
    if not isinstance(value, dict):
        return value
    kind, inner = next(iter(value.items()), ("", None))
    kind = kind.replace("_v", "V")
    if kind == "intValue":
        whole = whole_ns(inner)
        return inner if whole is None else whole
    if kind == "doubleValue":
        # "NaN" and "Infinity" are texts in protobuf's JSON.
        return None if isinstance(inner, str) else inner
    if kind in ("arrayValue", "kvlistValue"):
        values = inner.get("values") if isinstance(inner, dict) else None
        values = values if isinstance(values, list) else []
        if kind == "arrayValue":
            return [_any_value(each) for each in values]
        pairs = [pair for pair in values if isinstance(pair, dict)]
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs}
    return inner if kind in _SCALARS else None


def _jaeger(node: Node) -> Span:
    """A span as Jaeger has it."""
    attributes = _tags(node.member("tags"))
    name = node.member("operationName").text() or ""
    start = scaled_ns(node.member("startTime").value, _MICROSECOND)
    length = scaled_ns(node.member("duration").value, _MICROSECOND)
    failed, word = outcome(attributes.get("otel.status_code"))
    if attributes.get("error") in (True, "true"):
        failed, word = True, "ERROR"
    reason = attributes.get("otel.status_description")
    parent = next(
        (
            _id(to.member("spanID"))
            for to in node.member("references").items()
            if to.member("refType").value == "CHILD_OF"
        ),
        None,
    )
    return Span(
        id=_id(node.member("spanID")),
        parent=parent or _id(node.member("parentSpanID")),
        trace=_id(node.member("traceID")),
        name=name,
        kind=kind_of(name, attributes),
        start_ns=start,
        end_ns=None if start is None or length is None else start + length,
        failed=failed,
        error=reason if failed and isinstance(reason, str) else None,
        status=word,
        attributes=attributes,
        events=[_log(_tags(log.member("fields"))) for log in node.member("logs").items()],
    )


def _tags(node: Node) -> dict[str, Any]:
    return {key: tag.member("value").value for tag in node.items() if (key := tag.member("key").text()) is not None}


def _log(fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": fields.get("event"), "attributes": fields}


def _printed(node: Node) -> Span:
    """A span as the SDKs print it, and as Logfire's records have it."""
    context = node.member("context", "spanContext") or node
    attributes = parsed(node.member("attributes").value) or {}
    if not isinstance(attributes, dict):
        raise node.member("attributes").refusal("object")
    name = node.member("name", "span_name").text() or ""
    status = node.member("status")
    code = status.member("code", "status_code") if isinstance(status.value, dict) else node.member("otel_status_code")
    failed, word = outcome(code.value)
    reason = status.member("message", "description") if isinstance(status.value, dict) else Node(None)
    if node.member("is_exception").value is True or _is_error_level(node.member("level").value):
        failed, word = True, "ERROR"
    reason = reason or node.member("otel_status_message", "exception_message")
    start = _instant(node.member("startTime", "start_time", "start_timestamp").value)
    end = _instant(node.member("endTime", "end_time", "end_timestamp").value)
    length = node.member("duration").value
    if end is None and start is not None and isinstance(length, int | float):
        seconds = scaled_ns(length, SECOND)
        end = None if seconds is None else start + seconds
    parent = node.member("parent_id", "parentSpanId", "parent_span_id") or node.member("parentSpanContext").member(
        "spanId"
    )
    return Span(
        id=_id(context.member("span_id", "spanId")),
        parent=_id(parent),
        trace=_id(context.member("trace_id", "traceId")),
        name=name,
        kind=kind_of(name, attributes),
        start_ns=start,
        end_ns=end,
        failed=failed,
        error=reason.text() if failed else None,
        status=word,
        attributes=attributes,
        events=list(_events(node)),
    )


def _events(node: Node) -> Iterator[dict[str, Any]]:
    events = node.member("events", "otel_events")
    found = parsed(events.value)
    for event in Node(found, events.path).items():
        attributes = event.member("attributes")
        yield {
            "name": event.member("name", "event_name", "event.name").value,
            "attributes": attributes.fields() if attributes else event.fields(),
        }


def _instant(value: Any) -> int | None:
    """Nanoseconds of a time as the SDKs write it: ISO 8601, or seconds and nanoseconds side by side."""
    if isinstance(value, list):
        parts = [whole_ns(part) for part in value]
        if len(parts) == 2 and parts[0] is not None and parts[1] is not None:  # noqa: PLR2004
            return parts[0] * SECOND + parts[1]
        return None
    return iso_ns(value)


def _is_error_level(value: Any) -> bool:
    return value in ("error", "fatal") or (type(value) is int and value >= _ERROR_LEVEL)


def _id(node: Node) -> str | None:
    return hexadecimal(node.name())


def _set(instant: int | None) -> int | None:
    """A time, where 0 says that it was never set."""
    return instant or None


FORMAT = Format(
    name="otel",
    summary="OpenTelemetry GenAI spans: OTLP/JSON, Tempo, Jaeger, spans as the SDKs print them, Logfire records",
    recognises=recognises,
    read=read,
    recognised_by=(
        "`resourceSpans`, `batches` or `trace` with one of them; Jaeger's `data[].traceID` and `spans`; a span with "
        "`context.trace_id`, `spanContext.traceId`, or `trace_id`, `span_id`, a name and a start; `gen_ai.` attributes"
    ),
    fields={
        "traceId": "traceId of the spans, in lower-case hexadecimal",
        "question": "gen_ai.input.messages (gen_ai.prompt.N, gen_ai.user.message, llm.input_messages, ai.prompt, …)",
        "finalAnswer": "gen_ai.output.messages (gen_ai.completion.N, gen_ai.choice, llm.output_messages, …)",
        "status": "status.code of the root",
        "durationMs": "startTimeUnixNano and endTimeUnixNano of the root",
        "model": "gen_ai.response.model, else gen_ai.request.model, of the last call of a model",
        "usage.inputTokens": "gen_ai.usage.input_tokens (prompt_tokens), the innermost of each call",
        "usage.outputTokens": "gen_ai.usage.output_tokens (completion_tokens), the innermost of each call",
        "usage.totalTokens": "gen_ai.usage.total_tokens, llm.usage.total_tokens, else input and output",
        "usage.costUsd": "gen_ai.usage.cost, llm.cost.total, operation.cost",
        "toolInvocations[].toolName": "gen_ai.tool.name of execute_tool spans",
        "toolInvocations[].arguments": "gen_ai.tool.call.arguments, else the model's tool call of the same id",
        "toolInvocations[].success": "status.code, error.type, an exception event, isError of an MCP reply",
        "toolInvocations[].error": "status.message, the exception event, error.type",
        "toolInvocations[].durationMs": "startTimeUnixNano and endTimeUnixNano of the span",
        "toolInvocations[].resultSummary": "gen_ai.tool.call.result, else the reply of the same id",
    },
)
