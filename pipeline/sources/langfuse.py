"""Langfuse traces and observations: what the API, the exports of the interface and the blob storage export write.

Read are a trace with its observations (inside it, beside it, or both: of each observation what says more), lists and
pages (`data`) of those, and observations or traces alone, one per line or in a list, which are put together by their
trace ids within a file. Keys may be in camelCase or snake_case. Inputs and outputs may be JSON inside strings, twice
where an SDK encoded it before.

- The question and the answer are `input` and `output` of the trace, where they are null or hold nothing known those of
  the root observation, then of the first and the last generation: the last message of the user, the last text of the
  assistant after it, or the text itself. An answer that is data is given as JSON. A root that failed or has not ended
  is not answered for by a generation.
- Calls are the observations of type TOOL, and those that older instrumentations write as SPAN though their name
  (`execute_tool x`, `running tool: x`), their attributes or their output say that they are a tool's. Arguments and
  results that stand in the attributes alone, as with Google ADK, are taken from there. Where there are none, the
  calls that generations ask for, with the replies that later ones hold. A trace alone says nothing about calls.
- A call of level ERROR failed, with `statusMessage` as its error; one with another level that ended has succeeded.
- Tokens are `usageDetails` (all keys that begin with input, or with output, in which Langfuse keeps cached and other
  tokens apart; keys with dots repeat a part and do not count), older `usage`, else `inputUsage` and so on; cost is
  `costDetails.total`, else a total that is not 0. In each branch the innermost observation that states a figure counts.
- The duration is from the first start to the last end of all observations, unknown while the root has not ended; of a
  trace alone its `latency`, in seconds. (Some exports write the latency of observations in milliseconds.)

Stay null: case and trial; the verdict, for scores are the judgement of others. Observations rewritten as ChatML, as
Langfuse's own tests keep them, have neither ids nor times and are refused.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.nodes import Node
from pipeline.sources.records import iso_text, total
from pipeline.sources.span_tree import NANOSECONDS_PER_MS, Kind, Span, Tree, amount, count, grow, read_spans
from pipeline.sources.spoken import (
    answer_of,
    arguments_of,
    decoded,
    is_tool_message,
    json_text,
    question_of,
    requested_calls,
    tool_result,
)
from pipeline.sources.wording import Refused

_TYPES: Final[dict[str, Kind]] = {
    "GENERATION": "llm", "TOOL": "tool", "AGENT": "agent", "SPAN": "other", "EVENT": "other", "CHAIN": "other",
    "RETRIEVER": "other", "EVALUATOR": "other", "EMBEDDING": "other", "GUARDRAIL": "other",
}  # fmt: skip
_TRACE_KEYS: Final = (
    "projectId", "project_id", "sessionId", "session_id", "htmlPath", "latency", "bookmarked", "public", "scores",
)  # fmt: skip
_TOOL_NAMES: Final = ("execute_tool ", "running tool: ")
# What instrumentations say in the attributes of a span that is a tool's.
_TOOL_SIGNS: Final = {
    "openinference.span.kind": "TOOL",
    "gen_ai.operation.name": "execute_tool",
    "traceloop.span.kind": "tool",
    "langsmith.span.kind": "tool",
    "langfuse.observation.type": "tool",
}
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "tool_arguments", "input.value", "tool.parameters",
)  # fmt: skip
_RESULTS: Final = ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "tool_response", "output.value")
_ERROR: Final = "ERROR"
# Input, output and total, in what was written before `usageDetails`.
_OLDER_USAGE: Final = (
    ("promptTokens", "prompt_tokens", "inputUsage", "input_usage", "inputTokens", "input_tokens"),
    ("completionTokens", "completion_tokens", "outputUsage", "output_usage", "outputTokens", "output_tokens"),
    ("totalTokens", "total_tokens", "totalUsage", "total_usage"),
)


class _Observed(msgspec.Struct, gc=False):
    """What a span keeps of its observation, or of its trace where it stands for one.

    Attributes:
        node: the observation or the trace.
        attributes: the attributes of OpenTelemetry in its metadata.
        is_trace: whether this stands for a trace that has no observations in its document.
    """

    node: Node
    attributes: dict[str, Any]
    is_trace: bool = False


def recognises(document: Any) -> str | None:
    """The reason why a document holds Langfuse traces or observations, else None."""
    if isinstance(document, list):
        return _recognised_list(document, "elements")
    if not isinstance(document, dict):
        return None
    for is_one, reason in (
        (_is_observation, "it is an observation with type, start and trace id"),
        (_is_pair, "it has a trace and observations"),
        (_is_trace, "it is a trace with observations or a trace's own keys"),
        (_is_chatml, "its members are observations as ChatML"),
    ):
        if is_one(document):
            return reason
    return _recognised_list(document.get("data"), "`data`")


def _recognised_list(listed: Any, what: str) -> str | None:
    if not isinstance(listed, list) or not listed:
        return None
    if all(map(_is_observation, listed)):
        return f"its {what} are observations with type, start and trace id"
    return f"its {what} are traces" if all(map(_is_trace, listed)) else None


def _either(value: dict[str, Any], camel: str, snake: str) -> Any:
    found = value.get(camel)
    return value.get(snake) if found is None else found


def _is_observation(value: Any, *, inside: bool = False) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and _either(value, "startTime", "start_time") is not None
        and "id" in value
        and (inside or _either(value, "traceId", "trace_id") is not None)
    )


def _is_trace(value: Any) -> bool:
    """A trace with observations inside it, or with enough of a trace's own keys."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or "type" in value:
        return False
    observations = value.get("observations")
    if isinstance(observations, list) and observations:
        return all(isinstance(each, str) or _is_observation(each, inside=True) for each in observations)
    own = sum(key in value for key in _TRACE_KEYS)
    return "timestamp" in value and own > 1 and any(key in value for key in ("input", "output", "observations"))


def _is_pair(value: dict[str, Any]) -> bool:
    trace, observations = value.get("trace"), value.get("observations")
    return (
        isinstance(trace, dict)
        and isinstance(trace.get("id"), str)
        and isinstance(observations, list)
        and all(_is_observation(each, inside=True) for each in observations)
    )


def _is_chatml(value: dict[str, Any]) -> bool:
    halves = [
        half
        for each in value.values()
        for half in (each.values() if isinstance(each, dict) and set(each) <= {"input", "output"} else (None,))
    ]
    return bool(halves) and all(isinstance(half, dict) and isinstance(half.get("success"), bool) for half in halves)


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read traces: a file as a whole, for the observations of a trace may stand far apart."""
    return read_spans(documents, _spans, _trace)


def _get(node: Node, camel: str, snake: str) -> Node:
    return node.member(camel, snake)


def _spans(document: Any) -> Iterator[Span]:
    root = Node(document)
    if isinstance(document, dict) and _is_chatml(document):
        raise Refused(
            "these are the messages of observations without trace ids, times or parents, as Langfuse's tests keep "
            "them: export the trace",
            expected="a trace or an observation",
            found="observations as ChatML",
        )
    if isinstance(document, list):
        listed = list(root.items())
    elif isinstance(document.get("data"), list) and not _is_pair(document):
        listed = list(root.member("data").items())
    else:
        listed = [root]
    for each in listed:
        if _is_observation(each.value):
            yield _span(each, None)
        else:
            yield from _spans_of_trace(each)


def _spans_of_trace(holder: Node) -> Iterator[Span]:
    trace = holder.member("trace") if isinstance(holder.fields().get("trace"), dict) else holder
    own_id = trace.member("id").name()
    observations: dict[Any, Node] = {}
    # Inside the trace stand outlines, beside it the whole observations.
    places = [trace.member("observations")]
    if trace is not holder:
        places.append(holder.member("observations"))
    for place in places:
        for number, observation in enumerate(place.items()):
            if isinstance(observation.value, str):
                # The list of traces that the API gives names their observations only.
                continue
            key = observation.member("id").name() or (place.path, number)
            known = observations.get(key)
            said = {name: value for name, value in observation.fields().items() if value is not None}
            observations[key] = Node({**known.fields(), **said}, observation.path) if known else observation
    # Without an id of its own, so that it is never taken for an observation of the same name.
    yield Span(trace=own_id, data=_Observed(trace, {}, is_trace=True))
    for observation in observations.values():
        yield _span(observation, own_id)


def _span(observation: Node, trace: str | None) -> Span:
    attributes = _attributes(observation)
    level = observation.member("level").text()
    message = _get(observation, "statusMessage", "status_message").text()
    end = _get(observation, "endTime", "end_time").instant()
    failed: bool | None = None
    if level is not None:
        failed = level.upper() == _ERROR
        if not failed and end is None:
            failed = None
    return Span(
        id=observation.member("id").name(),
        parent=_get(observation, "parentObservationId", "parent_observation_id").name(),
        trace=_get(observation, "traceId", "trace_id").name() or trace,
        name=observation.member("name").text() or "",
        kind=_kind(observation, attributes),
        start_ns=_get(observation, "startTime", "start_time").instant(),
        end_ns=end,
        failed=failed,
        error=message or (_ERROR if failed else None),
        attributes=observation.fields(),
        data=_Observed(observation, attributes),
    )


def _attributes(observation: Node) -> dict[str, Any]:
    metadata = decoded(observation.member("metadata").value)
    inner = decoded(metadata.get("attributes")) if isinstance(metadata, dict) else None
    return inner if isinstance(inner, dict) else {}


def _kind(observation: Node, attributes: dict[str, Any]) -> Kind:
    kind = _TYPES.get(observation.member("type").text() or "", "other")
    if observation.member("type").value == "SPAN":
        name = observation.member("name").text() or ""
        signs = any(str(attributes.get(key)).upper() == sign.upper() for key, sign in _TOOL_SIGNS.items())
        if signs or name.startswith(_TOOL_NAMES) or is_tool_message(observation.member("output").value):
            return "tool"
    return kind


def _trace(tree: Tree) -> tuple[Trace, tuple[Warned, ...]]:
    heads = [span.data.node for span in tree.spans if span.data.is_trace]
    if heads:
        tree = grow(span for span in tree.spans if not span.data.is_trace)
        own_id = heads[0].member("id").name()
    else:
        own_id = tree.spans[0].trace
    models = [span for span in tree.by_time() if span.kind == "llm"]
    roots = [span for span in tree.roots if span.parent is None] or tree.roots
    # An event is a moment of a run, never the run.
    roots = [span for span in roots if span.data.node.member("type").value != "EVENT"] or roots
    calls = [_call(span) for span in tree.calls()]
    exchanges = [(_input(span.data.node), _output(span.data.node)) for span in models]
    elapsed = _elapsed(heads, tree)
    starts = [span.start_ns for span in roots if span.start_ns is not None]
    listed = [head.member("timestamp").instant() for head in heads]
    return Trace(
        traceId=own_id,
        question=_question(heads, roots, models),
        finalAnswer=_answer(heads, roots, models),
        status=_ERROR if any(span.failed for span in roots) else None,
        startedAt=iso_text(min(starts, default=next(filter(None, listed), None))),
        durationMs=elapsed,
        model=next(filter(None, map(_model, models)), None),
        usage=tree.usage(_usage) or _cost_of(heads),
        toolInvocations=([*calls] or requested_calls(exchanges)) if tree.spans else None,
    ), ()


def _input(node: Node) -> Any:
    return node.member("input").value


def _output(node: Node) -> Any:
    return node.member("output").value


def _question(heads: list[Node], roots: list[Span], models: list[Span]) -> str | None:
    nodes = [*heads, *(span.data.node for span in roots), *(span.data.node for span in models)]
    asked = next(filter(None, (question_of(_input(node)) for node in nodes)), None)
    return asked or next(filter(None, (json_text(_input(node)) for node in nodes)), None)


def _answer(heads: list[Node], roots: list[Span], models: list[Span]) -> str | None:
    given = [output for node in heads if _said(output := _output(node))]
    given += [output for span in reversed(roots) if _said(output := _output(span.data.node))]
    answer = next(filter(None, map(answer_of, given)), None)
    if answer or any(span.failed or span.end_ns is None for span in roots):
        return answer
    if given:
        # Messages without an answer are none; other data that is not understood is itself the answer.
        return None if requested_calls([(None, given[0])]) else json_text(given[0])
    return answer_of(_output(models[-1].data.node)) if models else None


def _said(output: Any) -> bool:
    return decoded(output) not in (None, "", {}, [])


def _elapsed(heads: list[Node], tree: Tree) -> float | None:
    """Milliseconds over all observations; for a trace alone what it states, unless that is 0, as it is when unknown."""
    if tree.spans:
        starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
        ends = [span.end_ns for span in tree.spans if span.end_ns is not None]
        return None if tree.duration_ms() is None else (max(ends) - min(starts)) / NANOSECONDS_PER_MS
    stated = next((amount(latency.value) for head in heads if (latency := head.member("latency"))), None)
    elapsed = scaled_ns(stated, SECOND) if stated else None
    return None if elapsed is None else elapsed / NANOSECONDS_PER_MS


def _call(span: Span) -> ToolInvocation:
    node, attributes = span.data.node, span.data.attributes
    arguments = arguments_of(_input(node))
    if not arguments:
        stated = next((attributes[key] for key in _ARGUMENTS if attributes.get(key)), None)
        arguments = arguments if stated is None else arguments_of(stated)
    if isinstance(arguments, dict) and list(arguments) == ["input"] and isinstance(arguments["input"], dict):
        arguments = arguments["input"]
    output = _output(node)
    if not _said(output):
        output = next((attributes[key] for key in _RESULTS if attributes.get(key)), output)
    result, refused = tool_result(output)
    failed = True if refused else span.failed
    name = next((attributes[key] for key in ("gen_ai.tool.name", "tool.name") if attributes.get(key)), None)
    return ToolInvocation(
        toolName=name if isinstance(name, str) else _bare(span.name),
        arguments=arguments,
        success=None if failed is None else not failed,
        durationMs=span.duration_ms,
        resultSummary=result,
        error=span.error if span.failed else (result if refused else None),
    )


def _bare(name: str) -> str | None:
    for prefix in _TOOL_NAMES:
        name = name.removeprefix(prefix)
    return name or None


def _model(span: Span) -> str | None:
    node = span.data.node
    named = _get(node, "model", "provided_model_name") or node.member("providedModelName")
    return named.value if isinstance(named.value, str) and named.value.strip() else None


def _usage(span: Span) -> Usage | None:
    node: Node = span.data.node
    details = decoded(_get(node, "usageDetails", "usage_details").value)
    found = Usage(costUsd=_cost(node))
    if isinstance(details, dict) and details:
        found.inputTokens = _sum(details, "input")
        found.outputTokens = _sum(details, "output")
        found.totalTokens = count(details.get("total"))
    else:
        usage = decoded(node.member("usage").value)
        stated = {**node.fields(), **usage} if isinstance(usage, dict) else node.fields()
        figures = [
            next((number for name in names if (number := count(stated.get(name))) is not None), None)
            for names in _OLDER_USAGE
        ]
        if isinstance(usage, dict):
            own = [count(usage.get(name)) for name in ("input", "output", "total")]
            figures = [first if first is not None else second for first, second in zip(own, figures, strict=True)]
        # All zero is what a step without a model has.
        if any(figures):
            found.inputTokens, found.outputTokens, found.totalTokens = figures
    return None if found == Usage() else found


def _sum(details: dict[str, Any], prefix: str) -> int | None:
    """All tokens of one side: Langfuse keeps those with a price of their own beside the others."""
    stated = (count(value) for key, value in details.items() if key.startswith(prefix))
    return total(number for number in stated if number is not None)


def _cost(node: Node) -> float | None:
    details = decoded(_get(node, "costDetails", "cost_details").value)
    if isinstance(details, dict) and details:
        stated = amount(details.get("total"))
        if stated is not None:
            return stated
    others = ("calculatedTotalCost", "calculated_total_cost", "totalCost", "total_cost")
    return next(filter(None, (amount(node.member(name).value) for name in others)), None)


def _cost_of(heads: list[Node]) -> Usage | None:
    """The cost that a trace states by itself, where its observations state nothing or are not here."""
    cost = next(filter(None, (amount(_get(head, "totalCost", "total_cost").value) for head in heads)), None)
    return None if cost is None else Usage(costUsd=cost)


FORMAT = Format(
    name="langfuse",
    summary="Langfuse: traces with observations as the API gives them, and exported observations or traces",
    recognises=recognises,
    read=read,
    recognised_by="`trace` beside `observations`, a trace with observations or with several of a trace's own keys, "
    "observations with type, start and trace id; single, in a list or in `data`; ChatML is recognised and refused",
    fields={
        "traceId": "trace.id, else traceId of the observations",
        "question": "trace.input, else input of the root observation, else of the first generation",
        "finalAnswer": "trace.output, else output of the root observation, else of the last generation",
        "status": "ERROR where the root observation is of level ERROR",
        "startedAt": "startTime of the root observation",
        "durationMs": "from the first startTime to the last endTime; of a trace alone latency, in seconds",
        "model": "model of the first generation that names one",
        "usage.inputTokens": "usageDetails.input and input_*, else usage.promptTokens, of the innermost observations",
        "usage.outputTokens": "usageDetails.output and output_*, else usage.completionTokens, of the innermost",
        "usage.totalTokens": "usageDetails.total, of the innermost observations",
        "usage.costUsd": "costDetails.total, else calculatedTotalCost, else totalCost, of the innermost observations",
        "toolInvocations[].toolName": "name of an observation of type TOOL, without `execute_tool ` and the like",
        "toolInvocations[].arguments": "input of an observation of type TOOL",
        "toolInvocations[].resultSummary": "output of an observation of type TOOL",
        "toolInvocations[].success": "whether level is not ERROR",
        "toolInvocations[].error": "statusMessage where level is ERROR",
        "toolInvocations[].durationMs": "from startTime to endTime",
    },
)
