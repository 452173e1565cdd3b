"""MLflow traces, of version 3 and of version 2, one per document or several in a list.

An object with `info` and `data.spans`, as `Trace.to_json` writes it, and rows of `search_traces`. Every attribute of
a span is JSON inside a string; ids are hexadecimal or base64. What MLflow shortens (`request_preview`, the inputs and
outputs among the metadata) is read only where the root span does not have it whole.

Usage is what the trace's own metadata sum up, else what the innermost calls of a model state. The duration is that of
the root span in nanoseconds, else `execution_duration_ms`. A trace without spans has no known calls of tools.
Assessments are somebody's judgement of the run and fill nothing; case, trial and verdict stay null.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage
from pipeline.sources.genai_messages import asked, parsed, told
from pipeline.sources.genai_spans import OPENINFERENCE_KIND, kind_of, trace_of
from pipeline.sources.instants import iso_ns, whole_ns
from pipeline.sources.json_text import ANY, decode
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, Run, read_runs
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import Span, amount, count, grow, hexadecimal, outcome
from pipeline.sources.wording import Refused

_KINDS: Final = {"CHAT_MODEL": "LLM", "LLM": "LLM", "PARSER": "CHAIN", "MEMORY": "CHAIN", "UNKNOWN": "CHAIN"}
_SECONDS: Final = re.compile(r"\d{1,12}(?:\.\d{1,9})?s", re.ASCII)
_WHOLE_JSON: Final = re.compile(r'\s*[\[{"]|\s*(?:-?\d{1,18}(?:\.\d{1,18})?|true|false|null)\s*$', re.ASCII)


def recognises(document: Any) -> str | None:
    """The reason why a document is an MLflow trace, else None."""
    if isinstance(document, list):
        document = document[0] if document and all(isinstance(item, dict) for item in document) else None
    if not isinstance(document, dict):
        return None
    info = document.get("info", document.get("trace_info"))
    if isinstance(info, dict) and ("trace_id" in info or "request_id" in info):
        return "its `info` has a `trace_id` or `request_id`"
    if "spans" in document and "trace_metadata" in document:
        return "it is a row of traces with `trace_metadata` and `spans`"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read traces, one or several per document."""
    return read_runs(documents, _runs)


def _runs(root: Node) -> Iterator[Found]:
    for node in root.items() if isinstance(root.value, list) else (root,):
        try:
            yield _run(node)
        except Refused as refused:
            yield refused


def _run(node: Node) -> Run:
    if isinstance(node.member("trace").value, str):
        # A row has the trace whole, as text, beside its parts.
        whole = parsed(node.member("trace").value)
        node = Node(whole, f"{node.path}.trace") if isinstance(whole, dict) and "info" in whole else node
    info = node.member("info", "trace_info") or node
    data = node.member("data") or node
    if not info.member("trace_id", "request_id") and not data.member("spans"):
        raise Refused(
            "this is no MLflow trace: leave it out",
            path=node.path,
            expected="an object with info and data",
            found="an object with neither",
        )
    repairs = Repairs()
    tree = grow(_span(span, repairs) for span in data.member("spans").items())
    trace, warned = trace_of(tree) if tree.spans else (Trace(), [])
    metadata = info.member("trace_metadata", "request_metadata")
    trace.traceId = info.member("trace_id", "request_id").name()
    trace.status = info.member("state", "status").text() or trace.status
    if trace.question is None:
        given = data.member("request") or metadata.member("mlflow.traceInputs") or info.member("request_preview")
        trace.question = asked(given.value) if given else None
    if trace.finalAnswer is None and not tree.spans:
        given = data.member("response") or metadata.member("mlflow.traceOutputs") or info.member("response_preview")
        said = told(given.value) if given else None
        trace.finalAnswer = None if said is None or said.calls else said.text
    if trace.durationMs is None and not tree.spans:
        trace.durationMs = _duration_ms(info)
    trace.usage = _usage(metadata) or trace.usage
    return Run(trace=trace, warned=(*repairs.warned(), *tree.warned, *warned))


def _span(node: Node, repairs: Repairs) -> Span:
    stated = node.member("attributes")
    attributes = {key: _decoded(value, repairs, f"{stated.path}.{key}") for key, value in stated.fields().items()}
    name = node.member("name").text() or ""
    kind = attributes.get("mlflow.spanType")
    if isinstance(kind, str):
        attributes[OPENINFERENCE_KIND] = _KINDS.get(kind, kind)
    for own, known in (("mlflow.spanInputs", "input.value"), ("mlflow.spanOutputs", "output.value")):
        if own in attributes:
            attributes[known] = attributes[own]
    usage = attributes.get("mlflow.chat.tokenUsage")
    if isinstance(usage, dict):
        for each in ("input_tokens", "output_tokens", "total_tokens"):
            attributes[f"gen_ai.usage.{each}"] = usage.get(each)
    cost = attributes.get("mlflow.llm.cost")
    if isinstance(cost, dict):
        attributes["llm.cost.total"] = cost.get("total_cost")
    if isinstance(attributes.get("mlflow.llm.model"), str):
        attributes["llm.model_name"] = attributes["mlflow.llm.model"]
    status, context = node.member("status"), node.member("context") or node
    version_2 = node.member("status_code")
    failed, word = outcome(version_2.value if version_2 else status.member("code").value)
    reason = node.member("status_message") if version_2 else status.member("message")
    return Span(
        id=hexadecimal(context.member("span_id").name()),
        parent=hexadecimal(node.member("parent_span_id", "parent_id").name()),
        trace=hexadecimal(context.member("trace_id").name()),
        name=name,
        kind=kind_of(name, attributes),
        start_ns=_instant(node.member("start_time_unix_nano", "start_time_ns", "start_time").value),
        end_ns=_instant(node.member("end_time_unix_nano", "end_time_ns", "end_time").value),
        failed=failed,
        error=reason.text() if failed else None,
        status=word,
        attributes=attributes,
        events=[
            {"name": event.member("name").value, "attributes": event.member("attributes").fields()}
            for event in node.member("events").items()
        ],
    )


def _decoded(value: Any, repairs: Repairs, at: str) -> Any:
    """An attribute, taken out of its string."""
    if not isinstance(value, str) or not _WHOLE_JSON.match(value):
        return value
    try:
        return decode(value.encode(), ANY, repairs, at)
    except Refused:
        return value


def _usage(metadata: Node) -> Usage | None:
    """The usage that a trace sums up itself."""
    stated = parsed(metadata.fields().get("mlflow.trace.tokenUsage"))
    cost = parsed(metadata.fields().get("mlflow.trace.cost"))
    usage = Usage(costUsd=amount(cost.get("total_cost")) if isinstance(cost, dict) else None)
    if not isinstance(stated, dict):
        return None
    usage.inputTokens = count(stated.get("input_tokens"))
    usage.outputTokens = count(stated.get("output_tokens"))
    usage.totalTokens = count(stated.get("total_tokens"))
    return usage


def _duration_ms(info: Node) -> float | None:
    value = info.member("execution_duration_ms", "execution_time_ms", "execution_duration").value
    if isinstance(value, str) and _SECONDS.fullmatch(value):
        return float(value[:-1]) * 1000
    found = amount(value)
    return None if isinstance(value, str) else found


def _instant(value: Any) -> int | None:
    return iso_ns(value) if isinstance(value, str) and "-" in value else whole_ns(value)


FORMAT = Format(
    name="mlflow",
    summary="MLflow traces: info and data.spans, of version 3 and 2",
    recognises=recognises,
    read=read,
    recognised_by=(
        "an object whose `info` has a `trace_id` or `request_id`; a row with `trace_metadata` and `spans`; a list"
    ),
    fields={
        "traceId": "info.trace_id (info.request_id)",
        "question": "mlflow.spanInputs of the root, else data.request, mlflow.traceInputs, request_preview",
        "finalAnswer": "mlflow.spanOutputs of the root, else data.response, mlflow.traceOutputs, response_preview",
        "status": "info.state (info.status)",
        "durationMs": "start and end of the root span, else info.execution_duration_ms",
        "model": "mlflow.llm.model",
        "usage.inputTokens": "info.trace_metadata.mlflow.trace.tokenUsage, else mlflow.chat.tokenUsage of the spans",
        "usage.outputTokens": "info.trace_metadata.mlflow.trace.tokenUsage, else mlflow.chat.tokenUsage of the spans",
        "usage.totalTokens": "info.trace_metadata.mlflow.trace.tokenUsage, else mlflow.chat.tokenUsage of the spans",
        "usage.costUsd": "info.trace_metadata.mlflow.trace.cost, else mlflow.llm.cost of the spans",
        "toolInvocations[].toolName": "name of spans of mlflow.spanType TOOL",
        "toolInvocations[].arguments": "mlflow.spanInputs",
        "toolInvocations[].success": "status.code",
        "toolInvocations[].error": "status.message, else the exception event",
        "toolInvocations[].durationMs": "start_time_unix_nano and end_time_unix_nano",
        "toolInvocations[].resultSummary": "mlflow.spanOutputs",
    },
)
