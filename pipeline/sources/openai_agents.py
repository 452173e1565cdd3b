"""OpenAI's Agents SDK: trace exports (`trace` and `trace.span` objects), and saved run states (`RunState`).

Exports come one object per line, as a list, or as the body that the SDK sends (`data`); spans come in the order of
their ends, children before parents. All spans of one `trace_id` in a file are one trace; a run state is one, too.

- The question is the last user message in the input of the first `generation` span; the answer is the text of the
  last one that gave a message. Those within a tool (an agent used as one) are not asked. A `response` span names its
  answer by id only, so a run made of these alone has neither.
- Calls are `function` spans by their start; `error` means that the call failed, also where the run went on with an
  apology as the output. Handoffs, guardrails and other spans are no calls.
- Tokens are those of the innermost spans that state any: agent turns and tasks repeat the sums of their generations.
- The duration is that of the root span.
- A run state has items instead of spans: its question is the last user message of `original_input`, calls and the
  last message stand in `generated_items`, tokens in `context.usage`. It has no times.

Stay null: cost; the duration of a call in a run state and whether it succeeded.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.nodes import Node
from pipeline.sources.records import iso_text
from pipeline.sources.responses_items import log_item, text_of, usage_of
from pipeline.sources.span_tree import Kind, Span, Tree, read_spans

_TRACE: Final = "trace"
_SPAN: Final = "trace.span"
_STATE: Final = "RunState"
_KINDS: Final[dict[Any, Kind]] = {"generation": "llm", "response": "llm", "function": "tool", "agent": "agent"}


def recognises(document: Any) -> str | None:
    """The reason why a document is an export or a run state of the Agents SDK, else None."""
    if _is_state(document):
        return "it is a RunState with `$schemaVersion`"
    if _is_record(document):
        return f"it is a `{document['object']}` object"
    records = document.get("data") if isinstance(document, dict) else document
    if isinstance(records, list) and records and all(map(_is_record, records)):
        return "it holds `trace` and `trace.span` objects"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read exports and run states."""
    return read_spans(documents, _spans, _trace)


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("object")
    return (kind == _TRACE and "workflow_name" in value) or (kind == _SPAN and "span_data" in value)


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and "$schemaVersion" in value and isinstance(value.get("generated_items"), list)


def _spans(value: Any) -> Iterator[Span]:
    document = Node(value)
    if _is_state(value):
        yield Span(name=_STATE, data=document)
    elif isinstance(value, list):
        yield from map(_span, document.items())
    elif isinstance(value, dict) and "object" not in value and "data" in value:
        yield from map(_span, document.member("data").items())
    else:
        yield _span(document)


def _span(record: Node) -> Span:
    kind = record.member("object").text()
    if kind == _TRACE:
        # Not a span, but it tells of a trace whose spans may all be elsewhere.
        return Span(trace=record.member("id").name(), name=_TRACE, data=record)
    if kind != _SPAN:
        raise record.member("object").refusal("trace or trace.span")
    data, error = record.member("span_data"), record.member("error")
    reason = error.member("data").member("error").value if isinstance(error.member("data").value, dict) else None
    ended = record.member("ended_at").instant()
    return Span(
        id=record.member("id").name(),
        parent=record.member("parent_id").name(),
        trace=record.member("trace_id").name(),
        name=data.member("name").text() or "",
        kind=_KINDS.get(data.member("type").text(), "other"),
        start_ns=record.member("started_at").instant(),
        end_ns=ended,
        failed=bool(error) if error or ended is not None else None,
        error=(reason if isinstance(reason, str) and reason.strip() else error.member("message").text()),
        data=data,
    )


def _trace(tree: Tree) -> tuple[Trace, Iterable[Warned]]:
    if tree.spans[0].name == _STATE and isinstance(tree.spans[0].data, Node) and tree.spans[0].trace is None:
        return _state(tree.spans[0].data)
    inside = dict(zip(map(id, tree.spans), tree.has_ancestor(lambda span: span.kind == "tool"), strict=True))
    question = answer = model = None
    for span in tree.by_time():
        if span.kind != "llm":
            continue
        model = model or span.data.member("model").text()
        if not inside[id(span)]:
            question = question or _last_text(span.data.member("input"), "user")
            answer = _last_text(span.data.member("output"), "assistant") or answer
    starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
    ends = [span.end_ns for span in tree.spans if span.end_ns is not None]
    timed = [span for span in tree.roots if span.name != _TRACE or span.id is not None]
    trace = Trace(
        traceId=tree.spans[0].trace,
        question=question,
        finalAnswer=answer,
        startedAt=iso_text(min(starts, default=None)),
        finishedAt=iso_text(max(ends, default=None)),
        durationMs=Tree(spans=tree.spans, above=tree.above, roots=timed).duration_ms(),
        model=model,
        usage=tree.usage(_usage),
        toolInvocations=[_call(span) for span in tree.calls()],
    )
    if trace.durationMs is None:
        # The last end that is known is not the end of the run.
        trace.finishedAt = None
    return trace, ()


def _usage(span: Span) -> Usage | None:
    if not isinstance(span.data, Node) or span.id is None:
        return None
    own = span.data.member("usage")
    inner = span.data.member("data")
    return usage_of(own or (inner.member("usage") if isinstance(inner.value, dict) else Node(None)))


def _call(span: Span) -> ToolInvocation:
    call = ToolInvocation(toolName=span.name or None, arguments=arguments_of(span.data.member("input")))
    Outcome(
        result=span.data.member("output").value,
        success=None if span.failed is None else not span.failed,
        error=span.error or ("error" if span.failed else None),
        duration_ms=span.duration_ms,
    ).fill(call)
    return call


def _last_text(items: Node, role: str) -> str | None:
    """The text of the last message of a role in what a model was given, or gave."""
    if isinstance(items.value, str):
        return items.text()
    found = None
    for item in items.items():
        if isinstance(item.value, dict) and item.member("role").value == role:
            found = text_of(item) or found
    return found


def _state(state: Node) -> tuple[Trace, Iterable[Warned]]:
    log = CallLog()
    answer = None
    for entry in state.member("generated_items").items():
        item = entry.member("raw_item")
        log_item(item, log)
        if item.member("type").value == "message":
            answer = text_of(item) or answer
    usage = usage_of(state.member("context").member("usage"))
    if usage == Usage(inputTokens=0, outputTokens=0, totalTokens=0):
        # What the SDK writes where it was not told of any.
        usage = None
    trace = Trace(
        traceId=state.member("trace").member("id", "trace_id").name(),
        question=_last_text(state.member("original_input"), "user"),
        finalAnswer=answer,
        usage=usage,
        toolInvocations=log.calls(),
    )
    return trace, log.warned()


FORMAT = Format(
    name="openai-agents",
    summary="OpenAI's Agents SDK: trace exports with one object per span, and saved run states",
    recognises=recognises,
    read=read,
    recognised_by=(
        "`object: trace` with a `workflow_name` or `object: trace.span` with `span_data`, by line, in a list or in "
        "`data`; or an object with `$schemaVersion` and `generated_items`"
    ),
    fields={
        "traceId": "trace.id",
        "question": "the first span_data[type=generation].input[role=user], the last there; original_input",
        "finalAnswer": "the last span_data[type=generation].output[type=message].content[].text; generated_items",
        "startedAt": "the first started_at",
        "finishedAt": "the last ended_at",
        "durationMs": "started_at to ended_at of the root span",
        "model": "span_data[type=generation].model",
        "usage.inputTokens": "span_data.usage.input_tokens; context.usage.input_tokens",
        "usage.outputTokens": "span_data.usage.output_tokens; context.usage.output_tokens",
        "usage.totalTokens": "span_data.usage.total_tokens, else the sum; context.usage.total_tokens",
        "toolInvocations[].toolName": "span_data[type=function].name; generated_items[].raw_item.name",
        "toolInvocations[].arguments": "span_data[type=function].input; generated_items[].raw_item.arguments",
        "toolInvocations[].resultSummary": "span_data[type=function].output; generated_items[].raw_item.output",
        "toolInvocations[].success": "whether the span has no `error`",
        "toolInvocations[].durationMs": "started_at to ended_at",
        "toolInvocations[].error": "error.data.error, else error.message",
    },
)
