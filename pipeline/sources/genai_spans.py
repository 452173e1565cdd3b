"""What the attributes of a span say of an agent's run, and a trace out of a tree of such spans.

One vocabulary would be nice. In the wild a file mixes several, often on one span: the GenAI conventions of
OpenTelemetry, now and as they were (numbered attributes, messages as events), OpenInference, the Vercel AI SDK,
Google's ADK, OpenLLMetry, Pydantic AI, promptflow. So every field is looked up under all its names, the most exact
first, whichever way the spans were exported.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import ToolInvocation, Trace, Usage, Warned
from pipeline.sources.genai_messages import (
    Call,
    Reply,
    Said,
    asked,
    message,
    messages,
    parsed,
    told,
    unflattened,
    written,
)
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import Kind, Span, Tree, amount, count

OPENINFERENCE_KIND: Final = "openinference.span.kind"

_OPERATIONS: Final[dict[str, Kind]] = {
    "chat": "llm", "text_completion": "llm", "generate_content": "llm", "completion": "llm",
    "execute_tool": "tool", "invoke_agent": "agent", "invoke_workflow": "agent",
}  # fmt: skip
_OPENINFERENCE: Final[dict[str, Kind]] = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
_TRACELOOP: Final[dict[str, Kind]] = {"tool": "tool", "agent": "agent", "workflow": "agent"}
_PROMPTFLOW: Final[dict[str, Kind]] = {"LLM": "llm", "Tool": "tool"}
_STATED_KINDS: Final = {
    "gen_ai.operation.name": _OPERATIONS, OPENINFERENCE_KIND: _OPENINFERENCE, "traceloop.span.kind": _TRACELOOP,
}  # fmt: skip
_OF_A_MODEL: Final = (
    "llm.request.type", "gen_ai.request.model", "gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.",
)  # fmt: skip
# Steps beside the conversation: what goes in and out of them is nobody's question or answer.
_ASIDE: Final = frozenset({"RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT"})

_OF_AN_AGENT: Final = (OPENINFERENCE_KIND, "gen_ai.operation.name", "traceloop.span.kind", "ai.operationId")

_TOOL_NAME: Final = ("gen_ai.tool.name", "tool.name", "tool_name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_PREFIXES: Final = ("execute_tool ", "running tool: ", "tool: ", "tool.", "tools/call ")
_CALL_ID: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.call.id", "ai.toolCall.id", "tool.id")
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "ai.toolCall.args", "tool_arguments", "tool.input",
    "traceloop.entity.input", "input.value", "input", "inputs", "tool.parameters",
)  # fmt: skip
_RESULT: Final = (
    "gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "ai.toolCall.result", "tool_response", "tool.output",
    "traceloop.entity.output", "output.value", "output",
)  # fmt: skip
_INPUT_TOKENS: Final = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
    "ai.usage.promptTokens", "llm.usage.prompt_tokens",
)  # fmt: skip
_OUTPUT_TOKENS: Final = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
    "ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens",
)  # fmt: skip
_TOTAL_TOKENS: Final = (
    "gen_ai.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens", "ai.usage.tokens",
    "llm.usage.total_tokens",
)  # fmt: skip
_COST: Final = ("gen_ai.usage.cost", "gen_ai.usage.total_cost", "llm.cost.total", "operation.cost")
_ANSWERING_MODEL: Final = ("gen_ai.response.model", "llm.response.model", "ai.response.model", "llm.model_name")
_ASKED_MODEL: Final = ("gen_ai.request.model", "ai.model.id", "model_name")

_CONVERSATION: Final = ("pydantic_ai.all_messages", "all_messages_events")
_HEARD: Final = (
    "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages",
    "gcp.vertex.agent.llm_request", *_CONVERSATION,
)  # fmt: skip
_GIVEN: Final = ("ai.prompt", "traceloop.entity.input", "input.value")
_SAID: Final = (
    "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "gcp.vertex.agent.llm_response",
    "final_result", "llm.generated_message", "traceloop.entity.output", "output.value",
)  # fmt: skip
_AI_SDK_SAID: Final = ("ai.response.text", "ai.response.object", "ai.response.toolCalls")
_EVENT_ROLES: Final = ("system", "user", "assistant", "tool")
_PLACEHOLDERS: Final = ("async_generator object", "is not JSON serializable")


def kind_of(name: str, attributes: dict[str, Any]) -> Kind:
    """What a span is a step of, by its attributes, and by its name where those say nothing."""
    for key, kinds in _STATED_KINDS.items():
        value = attributes.get(key)
        if isinstance(value, str) and value:
            return kinds.get(value.upper() if kinds is _OPENINFERENCE else value, "other")
    operation = attributes.get("ai.operationId")
    if isinstance(operation, str):
        return _ai_sdk_kind(operation)
    if attributes.get("framework") == "promptflow":
        return _PROMPTFLOW.get(str(attributes.get("span_type")), "other")
    return _apparent_kind(name, attributes)


def _apparent_kind(name: str, attributes: dict[str, Any]) -> Kind:
    if any(key in attributes for key in (*_CONVERSATION, "final_result")):
        return "agent"
    if _first(attributes, _TOOL_NAME[:3]) is not None or name.startswith("execute_tool "):
        return "tool"
    if any(key.startswith(_OF_A_MODEL) for key in attributes):
        return "llm"
    return "agent" if name.startswith("invoke_agent ") else "other"


def _ai_sdk_kind(operation: str) -> Kind:
    if operation == "ai.toolCall":
        return "tool"
    if operation.endswith((".doGenerate", ".doStream")):
        return "llm"
    return "agent" if operation.startswith(("ai.generate", "ai.stream")) else "other"


def is_of_an_agent(span: Span) -> bool:
    """Whether a span is a step of an agent's run, not of the plumbing around it."""
    attributes = span.attributes
    return (
        span.kind != "other"
        or any(key in attributes for key in _OF_AN_AGENT)
        or attributes.get("framework") == "promptflow"
    )


def trace_of(tree: Tree) -> tuple[Trace, list[Warned]]:
    """The run that a tree of spans records, and what was odd about it."""
    repairs = Repairs()
    top = tree.top(is_of_an_agent)
    known = any(map(is_of_an_agent, tree.spans))
    trace = Trace(
        traceId=next((span.trace for span in tree.spans if span.trace), None),
        question=_question(tree),
        finalAnswer=_answer(tree),
        status=next((span.status for span in top if span.status), None),
        durationMs=tree.duration_ms(is_of_an_agent),
        model=_model(tree),
        usage=tree.usage(usage_of),
        toolInvocations=list(_invocations(tree, repairs)) if known else None,
    )
    warned = [*repairs.warned()]
    if not known:
        sentence = "no span here is known as a step of an agent, a model or a tool: question and answer are unknown"
        warned.append(Warned(path="$", kind="no-agent-span", message=sentence))
    return trace, warned


def usage_of(span: Span) -> Usage | None:
    """The usage that a span states."""
    if span.kind == "tool":
        return None
    found = span.attributes
    usage = Usage(
        inputTokens=_first_count(found, _INPUT_TOKENS),
        outputTokens=_first_count(found, _OUTPUT_TOKENS),
        totalTokens=_first_count(found, _TOTAL_TOKENS),
        costUsd=next((cost for key in _COST if (cost := amount(found.get(key))) is not None), None),
    )
    if usage.inputTokens is None and usage.outputTokens is None and span.kind == "llm":
        # Not among the attributes, but in the provider's response, where that was recorded whole.
        response = parsed(found.get("output.value"))
        stated = response.get("usage") if isinstance(response, dict) else None
        if isinstance(stated, dict):
            usage.inputTokens = _first_count(stated, ("input_tokens", "prompt_tokens"))
            usage.outputTokens = _first_count(stated, ("output_tokens", "completion_tokens"))
            usage.totalTokens = _first_count(stated, ("total_tokens",))
    return None if usage == Usage() else usage


def heard(span: Span) -> list[Said]:
    """The messages that a model or an agent was given."""
    for key in _HEARD:
        value = unflattened(span.attributes, key)
        if value is not None and (said := messages(value)):
            return said
    said = [each for name, each in _event_messages(span) if name != "gen_ai.choice"]
    if said:
        return said
    for value in _given(span):
        if found := messages(value):
            return found
    return []


def spoken(span: Span) -> Said | None:
    """What a model or an agent gave back, None where the span does not say."""
    found = span.attributes
    for key in _SAID:
        value = unflattened(found, key)
        if value is not None and not _is_placeholder(value) and (said := told(value)) is not None:
            return said
    for key in _CONVERSATION:
        if said := told(found.get(key)):
            return said
    if any(key in found for key in _AI_SDK_SAID):
        text = next((text for key in _AI_SDK_SAID[:2] if (text := written(found.get(key)))), None)
        return message({"role": "assistant", "content": text, "tool_calls": found.get("ai.response.toolCalls")})
    events = list(_event_messages(span))
    if events and (events[-1][0] == "gen_ai.choice" or events[-1][1].role == "assistant"):
        return events[-1][1]
    if span.kind != "other" or found.get("framework") == "promptflow":
        value = found.get("output")
        return None if value is None or _is_placeholder(value) else told(value)
    return None


def _question(tree: Tree) -> str | None:
    """What the outermost and earliest step was asked."""
    for span, inside in zip(tree.by_time(), _inside_tool(tree), strict=True):
        if inside or span.kind == "tool" or _is_aside(span):
            continue
        said = heard(span)
        texts = [each.text for each in said if each.role == "user" and each.text]
        if texts:
            return texts[-1]
        for value in _given(span):
            text = None if said else asked(value)
            if text is not None:
                return text
    return None


def _inside_tool(tree: Tree) -> list[bool]:
    """For each span by time, whether it is a step within a tool."""
    within = {id(span): inside for span, inside in zip(tree.spans, tree.has_ancestor(_is_tool), strict=True)}
    return [within[id(span)] for span in tree.by_time()]


def _answer(tree: Tree) -> str | None:
    """What the outermost step that says something said last; a text beside calls is no answer, but a remark."""
    last: tuple[int, Said] | None = None
    covered = [False] * len(tree.spans)
    for index, span in enumerate(tree.spans):
        above = tree.above[index]
        if above >= 0 and (covered[above] or tree.spans[above].kind == "tool"):
            covered[index] = True
            continue
        said = None if span.kind == "tool" or _is_aside(span) else spoken(span)
        if (said is None or said.text is None) and _broke_off(span):
            said = Said("assistant")
        elif said is None or (said.text is None and not said.calls):
            continue
        covered[index] = True
        when = span.end_ns if span.end_ns is not None else span.start_ns
        at = -(2**63) if when is None else when
        if last is None or at >= last[0]:
            last = at, said
    return None if last is None or last[1].calls else last[1].text


def _broke_off(span: Span) -> bool:
    """Whether a step failed that says what it was given and would say what it gave: what it did inside is no answer."""
    return span.failed is True and span.kind != "tool" and next(_given(span), None) is not None


def _model(tree: Tree) -> str | None:
    """The model that was called last, by the name it answered with."""
    for keys in (_ANSWERING_MODEL, _ASKED_MODEL):
        for span in reversed(tree.by_time()):
            model = _first(span.attributes, keys) if span.kind in ("llm", "agent") else None
            if isinstance(model, str):
                return model
    return None


def _invocations(tree: Tree, repairs: Repairs) -> Iterator[ToolInvocation]:
    """The calls of tools in order; where no span records one, those that the model was seen to ask for."""
    again = _recorded_again(tree)
    spans = [span for span in tree.calls() if id(span) not in again]
    asked_for, replies = _exchange(tree, spans)
    if not spans:
        for index, call in enumerate(asked_for.values()):
            path = f"$.toolInvocations[{index}].arguments"
            yield ToolInvocation(
                toolName=call.name,
                arguments=_as_arguments(call.arguments, repairs, path),
                resultSummary=replies[call.id].content if call.id in replies else None,
            )
    for index, span in enumerate(spans):
        call_id = _call_id(span)
        arguments, result = _arguments(span), _result(span)
        if call_id is not None:
            if arguments is None and call_id in asked_for:
                arguments = asked_for[call_id].arguments
            if result is None and call_id in replies:
                result = replies[call_id].content
        failed, error = _failure(span, result)
        yield ToolInvocation(
            toolName=_tool_name(span),
            arguments=_as_arguments(arguments, repairs, f"$.toolInvocations[{index}].arguments"),
            success=not failed if failed or span.end_ns is not None or span.status else None,
            durationMs=span.duration_ms,
            resultSummary=result,
            error=error,
        )


def _recorded_again(tree: Tree) -> set[int]:
    """Tool spans that record the call of a tool span around them once more, as a protocol's client and server do."""
    nearest: list[int] = []
    again: set[int] = set()
    for index, above in enumerate(tree.above):
        around = -1 if above < 0 else above if tree.spans[above].kind != "other" else nearest[above]
        nearest.append(around)
        span = tree.spans[index]
        if around < 0 or span.kind != "tool" or tree.spans[around].kind != "tool":
            continue
        outer = tree.spans[around]
        ids = {call_id for each in (span, outer) if (call_id := _call_id(each)) is not None}
        if _tool_name(span) == _tool_name(outer) and len(ids) < 2:  # noqa: PLR2004  # two ids, two calls
            again.add(id(span))
    return again


def _exchange(tree: Tree, spans: list[Span]) -> tuple[dict[Any, Call], dict[str | None, Reply]]:
    """The calls that models asked for, each once, and the replies that they were given, by call id.

    Every call of a model repeats the conversation before it, so calls are told apart by their ids; without ids only
    what a model itself said counts, and what stands after the question in the first conversation.
    """
    calls: dict[Any, Call] = {}
    replies: dict[str | None, Reply] = {}
    if spans and all(_arguments(span) is not None and _result(span) is not None for span in spans):
        return calls, replies
    outer = tree.has_descendant(lambda span: span.kind == "llm")
    innermost = {id(span) for span, other in zip(tree.spans, outer, strict=True) if span.kind == "llm" and not other}
    first = True
    for span in tree.by_time():
        if span.kind not in ("llm", "agent"):
            continue
        said = heard(span)
        asked_at = max((place for place, each in enumerate(said) if each.role == "user" and each.text), default=-1)
        for place, each in enumerate(said):
            for reply in each.replies:
                if reply.id is not None:
                    replies.setdefault(reply.id, reply)
            if place > asked_at:
                _add(calls, each.calls, with_unnamed=first)
        first = first and not said
        answer = spoken(span)
        if answer is not None:
            _add(calls, answer.calls, with_unnamed=id(span) in innermost)
    return calls, replies


def _add(calls: dict[Any, Call], more: Iterable[Call], *, with_unnamed: bool) -> None:
    for call in more:
        if call.id is not None:
            calls.setdefault(call.id, call)
        elif with_unnamed:
            # A number is no id.
            calls[len(calls)] = call


def _call_id(span: Span) -> str | None:
    call_id = _first(span.attributes, _CALL_ID)
    return call_id if isinstance(call_id, str) else None


def _tool_name(span: Span) -> str | None:
    name = _first(span.attributes, _TOOL_NAME)
    if isinstance(name, str):
        return name
    return next(
        (span.name.removeprefix(prefix) for prefix in _TOOL_PREFIXES if span.name.startswith(prefix)), span.name or None
    )


def _arguments(span: Span) -> Any:
    value = _first(span.attributes, _ARGUMENTS)
    if value is not None:
        return _of_keywords(value)
    for event in span.events:
        if event.get("name") == "gen_ai.tool.message":
            return event["attributes"].get("content")
    return None


def _of_keywords(value: Any) -> Any:
    """The arguments by name, where a function's arguments were recorded by place and by name."""
    whole = parsed(value)
    if isinstance(whole, dict):
        if isinstance(whole.get("inputs"), dict) and "input_str" in whole:
            return whole["inputs"]
        named = whole.get("kwargs")
        if (
            isinstance(named, dict)
            and not whole.get("args")
            and set(whole) <= {"args", "kwargs", "sanitize_inputs_outputs"}
        ):
            return named
    return value


def _result(span: Span) -> Any:
    for key in _RESULT:
        if span.attributes.get(key) is not None:
            return span.attributes[key]
    for event in span.events:
        if event.get("name") == "gen_ai.choice":
            return event["attributes"].get("message")
    return None


def _failure(span: Span, result: Any) -> tuple[bool, str | None]:
    """Whether a call failed, and why: by the span's status, its error or exception, or a reply of MCP that says so."""
    exception = next((event["attributes"] for event in span.events if event.get("name") == "exception"), None)
    kind = span.attributes.get("error.type")
    reply = parsed(result) if isinstance(result, dict | str) else None
    refused = isinstance(reply, dict) and reply.get("isError") is True
    if not (span.failed or (span.failed is None and (exception is not None or kind)) or refused):
        return False, None
    error = span.error
    if error is None and exception is not None:
        parts = (exception.get("exception.type"), exception.get("exception.message"))
        error = ": ".join(part for part in parts if isinstance(part, str) and part) or None
    if error is None and isinstance(kind, str):
        error = kind
    return True, error or ("the reply says isError" if refused else None)


def _as_arguments(value: Any, repairs: Repairs, path: str) -> Any:
    return parsed_arguments(value, repairs, path) if isinstance(value, str) else value


def _given(span: Span) -> Iterator[Any]:
    """What a step was given as a whole."""
    for key in _GIVEN:
        value = unflattened(span.attributes, key)
        if value is not None and value != "":
            yield value
    if span.attributes.get("framework") == "promptflow" and span.attributes.get("inputs"):
        yield span.attributes["inputs"]


def _event_messages(span: Span) -> Iterator[tuple[str, Said]]:
    """The messages that stand as events, of the span or in an attribute of it."""
    recorded = parsed(span.attributes.get("events"))
    for event in [*span.events, *(recorded if isinstance(recorded, list) else ())]:
        if not isinstance(event, dict):
            continue
        fields = event.get("attributes", event)
        name = event.get("name") or event.get("event.name")
        if not isinstance(fields, dict) or not isinstance(name, str):
            continue
        if name in ("gen_ai.content.prompt", "gen_ai.content.completion", "gen_ai.client.inference.operation.details"):
            for key in ("gen_ai.prompt", "gen_ai.input.messages", "gen_ai.completion", "gen_ai.output.messages"):
                out = key in ("gen_ai.completion", "gen_ai.output.messages")
                for said in messages(fields.get(key)):
                    yield "gen_ai.choice" if out else name, said
            continue
        content = parsed(fields.get("gen_ai.event.content"))
        if isinstance(content, dict):
            fields = content
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if name == "gen_ai.choice" or role in _EVENT_ROLES:
            role = "assistant" if name == "gen_ai.choice" else role
            inner = parsed(fields.get("message"))
            body = inner if isinstance(inner, dict) else {"content": inner} if inner is not None else fields
            for said in messages([{**body, "role": body.get("role") or role, "content": body.get("content")}]):
                yield name, said


def _is_placeholder(value: Any) -> bool:
    """Whether a value is only the name of something that was not recorded."""
    return isinstance(value, str) and any(word in value for word in _PLACEHOLDERS)


def _is_tool(span: Span) -> bool:
    return span.kind == "tool"


def _is_aside(span: Span) -> bool:
    return str(span.attributes.get(OPENINFERENCE_KIND)).upper() in _ASIDE


def _first(attributes: dict[str, Any], keys: Iterable[str]) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) not in (None, "")), None)


def _first_count(attributes: dict[str, Any], keys: Iterable[str]) -> int | None:
    return next((found for key in keys if (found := count(attributes.get(key))) is not None), None)
