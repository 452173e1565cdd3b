"""OpenInference spans as Arize Phoenix gives them.

The REST API's `{"data": [span, …]}`, lists and lines of such spans, traces with their `spans`, rows of the dataframe
(`context.span_id`, `attributes.llm.model_name`), the nested `child_spans` of the TRAIL benchmark (a `timestamp` and an
ISO 8601 duration, counts as text), and the bare attributes of one span. Attributes may be flat or nested; numbered
keys are put in the order of their numbers. The same attributes on spans exported as OTLP are read by `otel`.

All documents of a file are read before the first trace comes out, and spans belong together by their trace id.

Question and answer are what went into and came out of the outermost step, as its messages or as `input.value` and
`output.value`; retrievers, guardrails, evaluators and the like are passed over, and so is a text said beside calls of
tools. One call of a model recorded by several spans counts once. A status that is not set counts as success. Calls
that only the model's messages show have no success and no duration. Annotations are somebody's judgement of the run
and fill nothing; case, trial and verdict stay null.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Unreadable
from pipeline.sources.genai_messages import parsed
from pipeline.sources.genai_spans import OPENINFERENCE_KIND, is_of_an_agent, kind_of, trace_of
from pipeline.sources.instants import iso_ns, period_ns, scaled_ns
from pipeline.sources.nodes import Node
from pipeline.sources.span_tree import Span, hexadecimal, outcome, read_spans
from pipeline.sources.wording import Refused, describe

_MILLISECOND: Final = 1_000_000
_ROW_KEYS: Final = ("context.span_id", "context.trace_id")
_ATTRIBUTES: Final = "attributes."
# Values that are whole, whatever stands in them.
_WHOLE: Final = (
    ".value", ".parameters", ".arguments", ".json_schema", ".invocation_parameters", ".content", ".metadata", ".result",
)  # fmt: skip


def recognises(document: Any) -> str | None:
    """The reason why a document is OpenInference spans, else None."""
    if isinstance(document, list):
        return _one(document[0]) if document and all(isinstance(item, dict) for item in document) else None
    if not isinstance(document, dict):
        return None
    for key in ("data", "spans"):
        inner = document.get(key)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            spans = inner[0].get("spans")
            first = spans[0] if isinstance(spans, list) and spans else inner[0]
            return _one(first) if isinstance(first, dict) else None
    return _one(document)


def _one(value: dict[str, Any]) -> str | None:
    if OPENINFERENCE_KIND in value:
        return f"it has the attribute `{OPENINFERENCE_KIND}`"
    context = value.get("context")
    if isinstance(context, dict) and "span_id" in context and ("span_kind" in value or "status_code" in value):
        return "it is a span with `context.span_id` and `span_kind` or `status_code`, as Phoenix has them"
    if "span_attributes" in value and "child_spans" in value:
        return "it is a span with `span_attributes` and `child_spans`, as TRAIL has them"
    if any(key in value for key in _ROW_KEYS) or f"{_ATTRIBUTES}{OPENINFERENCE_KIND}" in value:
        return "it is a row of Phoenix's dataframe, with `context.span_id` or `attributes.`"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read all traces of a file of spans."""
    return read_spans(documents, _spans, trace_of, is_of_an_agent)


def _spans(value: Any) -> Iterator[Span]:
    root = Node(value)
    waiting = [*root.items()] if isinstance(value, list) else [root]
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        fields = node.fields()
        around = node.member("data", "spans")
        if around and not (OPENINFERENCE_KIND in fields or "context" in fields):
            waiting.extend(reversed([*around.items()]))
            continue
        yield _span(node)
        waiting.extend(reversed([*node.member("child_spans").items()]))


def _span(node: Node) -> Span:
    fields = node.fields()
    if OPENINFERENCE_KIND in fields:
        return Span(kind=kind_of("", fields), attributes=flat(fields))
    context = node.member("context")
    if not context:
        keys = (*_ROW_KEYS, "span_id", "trace_id")
        if not any(key in fields for key in keys):
            raise Refused(
                "this is no span: leave it out",
                path=node.path,
                expected="a span with `context.span_id` or `span_id`",
                found=describe(node.value),
            )
        context = node
    attributes = _attributes(node)
    name = node.member("name", "span_name").text() or ""
    said = node.member("span_kind").text()
    if said is not None and said.upper() not in ("INTERNAL", "UNSPECIFIED", "CLIENT", "SERVER"):
        attributes.setdefault(OPENINFERENCE_KIND, said)
    start = _instant(node.member("start_time", "timestamp").value)
    end = _instant(node.member("end_time").value)
    length = period_ns(node.member("duration").value)
    if end is None and start is not None and length is not None:
        end = start + length
    failed, word = outcome(node.member("status_code").value)
    return Span(
        id=hexadecimal(context.member("span_id", "context.span_id").name()),
        parent=hexadecimal(node.member("parent_id", "parent_span_id").name()),
        trace=hexadecimal(context.member("trace_id", "context.trace_id").name()),
        name=name,
        kind=kind_of(name, attributes),
        start_ns=start,
        end_ns=end,
        failed=failed,
        error=node.member("status_message").text() if failed else None,
        status=word,
        attributes=attributes,
        events=[
            {"name": event.member("name").value, "attributes": event.member("attributes").fields()}
            for event in Node(parsed(node.member("events").value), f"{node.path}.events").items()
        ],
    )


def _attributes(node: Node) -> dict[str, Any]:
    stated = node.member("attributes", "span_attributes")
    stated = Node(parsed(stated.value), stated.path)
    columns = {
        key.removeprefix(_ATTRIBUTES): value
        for key, value in node.fields().items()
        if key.startswith(_ATTRIBUTES) and value is not None
    }
    return flat(stated.fields() | columns)


def flat(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes by dotted keys, however deep they were nested; what is a value as a whole stays one.

    >>> flat({"llm": {"input_messages": [{"message": {"role": "user"}}]}, "input": {"value": {"q": 1}}})
    {'llm.input_messages.0.message.role': 'user', 'input.value': {'q': 1}}
    """
    found: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = list(reversed(attributes.items()))
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict) and value and not key.endswith(_WHOLE):
            waiting.extend((f"{key}.{step}", inner) for step, inner in reversed(value.items()))
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value) and "llm." in key:
            waiting.extend((f"{key}.{index}", value[index]) for index in range(len(value) - 1, -1, -1))
        elif value is not None:
            found[key] = value
    return found


def _instant(value: Any) -> int | None:
    """Nanoseconds of an ISO 8601 time, or of milliseconds, as a dataframe written as JSON has them."""
    return iso_ns(value) if isinstance(value, str) else scaled_ns(value, _MILLISECOND)


FORMAT = Format(
    name="openinference",
    summary="OpenInference spans: Arize Phoenix's REST API and dataframe, TRAIL",
    recognises=recognises,
    read=read,
    recognised_by=(
        "spans, bare or under `data` or `spans`, with `context.span_id` and `span_kind` or `status_code`; with "
        "`span_attributes` and `child_spans`; rows with `context.span_id`; attributes with `openinference.span.kind`"
    ),
    fields={
        "traceId": "context.trace_id (trace_id)",
        "question": "llm.input_messages, input.value of the outermost step",
        "finalAnswer": "llm.output_messages, output.value of the outermost step",
        "status": "status_code of the root",
        "durationMs": "start_time and end_time of the root (timestamp and duration)",
        "model": "llm.model_name of the last call of a model",
        "usage.inputTokens": "llm.token_count.prompt",
        "usage.outputTokens": "llm.token_count.completion",
        "usage.totalTokens": "llm.token_count.total, else prompt and completion",
        "usage.costUsd": "llm.cost.total",
        "toolInvocations[].toolName": "tool.name of spans of kind TOOL, else their name",
        "toolInvocations[].arguments": "input.value, else tool.parameters",
        "toolInvocations[].success": "status_code, an exception event",
        "toolInvocations[].error": "status_message, the exception event",
        "toolInvocations[].durationMs": "start_time and end_time of the span",
        "toolInvocations[].resultSummary": "output.value",
    },
)
