"""Google ADK: saved sessions, results of evaluations, and eval sets that hold recorded runs; trpc-agent too.

Read are, in snake_case and in camelCase:

- sessions (`id`, `events`), the older ones with `event_logs` too, and bare lists of events as the web server answers;
- results of an evaluation (`eval_case_results`), each case result being a trace of its own; also where the whole
  document stands inside a JSON string, as ADK wrote it up to 1.21, and as trpc-agent writes it (status words instead
  of numbers, contents as plain text, calls under `tools`);
- eval sets of trpc-agent whose cases record a run (`actual_conversation`).

An eval set without recorded runs says what should happen, not what did: its conversations, the older lists of `query`
and `reference`, and files of criteria or metrics are refused, never taken for runs.

- The question is the first text of the user; the answer is the last text of an agent that comes with no call, after
  the last text of the user: a session that ends unanswered has none. Of a result, they are those of the first and the
  last actual invocation, never of the expected ones. Thoughts and the pieces of a stream (`partial`) are no texts.
- Calls stand in the order of the events; a reply belongs to the call of its id, where there are none to the first
  unanswered call of its name. A reply with an `error` member failed. A call's duration is the time from its event to
  the event of its reply, where that event answers this call alone.
- A result that keeps its session (`session_details`) gives calls, tokens and times from there.
- A recorded run that speaks of no calls at all says nothing about them: they stay null, where a result has none.
- Tokens are summed over the events, thoughts counting as output; where no event states any, over `event_logs`.
- An event that stands twice counts once.
- The start and end are those of the first and the last event with content, so that a session of several turns includes
  the time the user took.

Stay null: cost; the trial in what ADK itself writes; the verdict, for `final_eval_status` is the judgement of another
evaluation. Code that the model ran by itself (`executable_code`) has no name and is no call.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, Run, iso_text, read_runs, total
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import NANOSECONDS_PER_MS
from pipeline.sources.wording import Refused

_USER: Final = "user"
# Names of metrics that a file of criteria may ask for; rubrics of the user's own have names of their own.
_CRITERIA: Final = frozenset({
    "tool_trajectory_avg_score", "response_match_score", "response_evaluation_score", "final_response_match_v2",
    "rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1", "hallucinations_v1", "safety_v1",
    "per_turn_user_simulator_quality_v1", "multi_turn_task_success_v1", "final_response_avg_score",
})  # fmt: skip


def recognises(document: Any) -> str | None:
    """The reason why a document is of ADK, else None."""
    if isinstance(document, dict):
        return _recognised_object(document)
    if not isinstance(document, list) or not document or not all(isinstance(each, dict) for each in document):
        return None
    if all(map(_is_event, document)):
        return "its elements are events with author and invocation id"
    if all(map(_is_expectation, document)) or all(map(_is_old_set, document)):
        return "its elements have query and reference"
    if all(_has(each, "metric_name") and "threshold" in each for each in document):
        return "its elements have a metric name and a threshold"
    return None


def _recognised_object(document: dict[str, Any]) -> str | None:
    results, cases = _of(document, "eval_case_results"), _of(document, "eval_cases")
    identified = _has(document, "eval_set_id") or _has(document, "eval_set_result_id")
    if identified and isinstance(results, list):
        return "it has an eval set's id and case results"
    if identified and isinstance(cases, list):
        return "it has an eval set's id and cases"
    events = document.get("events")
    if isinstance(events, list) and isinstance(document.get("id"), str):
        if events and all(map(_is_event, events)):
            return "it has an id and events with author and invocation id"
        if not events and _has(document, "app_name") and _has(document, "user_id"):
            return "it has an app name, a user id and events"
    criteria = document.get("criteria")
    if isinstance(criteria, dict) and not _CRITERIA.isdisjoint(criteria):
        return "it has criteria with names of ADK's metrics"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read sessions, results and recorded runs."""
    return read_runs(documents, _runs)


def _spellings(name: str) -> tuple[str, str]:
    """A name in snake_case, and the same in camelCase.

    >>> _spellings("eval_set_id")
    ('eval_set_id', 'evalSetId')
    """
    head, *rest = name.split("_")
    return name, head + "".join(word.capitalize() for word in rest)


def _has(document: Any, name: str) -> bool:
    return isinstance(document, dict) and any(key in document for key in _spellings(name))


def _of(document: dict[str, Any], name: str) -> Any:
    return next((document[key] for key in _spellings(name) if key in document), None)


def _get(node: Node, name: str) -> Node:
    return node.member(*_spellings(name))


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("author"), str) and _has(value, "invocation_id")


def _is_expectation(value: Any) -> bool:
    wanted = ("reference", "expected_tool_use", "expected_intermediate_agent_responses")
    return isinstance(value, dict) and "query" in value and any(key in value for key in wanted)


def _is_old_set(value: Any) -> bool:
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, list) and bool(data) and all(map(_is_expectation, data))


def _runs(document: Node) -> Iterator[Found]:
    value = document.value
    if isinstance(value, list) and all(map(_is_event, value)):
        yield _session(document, Node(None))
    elif isinstance(value, list):
        raise _no_run(document, "this holds expectations or metrics")
    elif _get(document, "eval_case_results"):
        for case in _get(document, "eval_case_results").items():
            yield from _found(case, _result)
    elif _get(document, "eval_cases"):
        yield from _recorded(_get(document, "eval_cases"))
    elif document.member("criteria"):
        raise _no_run(document, "this holds the criteria of an evaluation")
    else:
        yield _session(document.member("events"), document)


def _no_run(node: Node, what: str) -> Refused:
    return Refused(
        f"{what} and no run: use `import-cases` to make cases of an eval set, and give the evaluation's results or "
        "sessions as traces",
        path=node.path,
        expected="a session, an evaluation's results or recorded runs",
        found="what should happen, not what did",
    )


def _found(case: Node, run_of: Callable[[Node], Run]) -> Iterator[Found]:
    try:
        yield run_of(case)
    except Refused as refused:
        yield refused


# --- Results of evaluations, and eval sets with recorded runs ---


def _result(case: Node) -> Run:
    invocations = [
        actual
        for each in _get(case, "eval_metric_result_per_invocation").items()
        if (actual := _get(each, "actual_invocation"))
    ]
    session = _get(case, "session_details")
    run = _invocations(invocations)
    if any(event.member("content") for event in session.member("events").items()):
        kept = _session(session.member("events"), session)
        kept.trace.question = run.trace.question or kept.trace.question
        kept.trace.finalAnswer = run.trace.finalAnswer if invocations else kept.trace.finalAnswer
        run = kept
    trial = _get(case, "run_id")
    run.trace.traceId = _get(case, "session_id").name()
    run.trace.caseId = _get(case, "eval_id").name()
    run.trace.trial = trial.count()
    return run


def _recorded(cases: Node) -> Iterator[Found]:
    recorded = [case for case in cases.items() if _get(case, "actual_conversation")]
    if not recorded:
        raise _no_run(cases, "this eval set defines cases")
    for case in cases.items():
        if _get(case, "actual_conversation"):
            yield from _found(case, _recorded_run)
        else:
            yield _no_run(case, "this case of the eval set is a definition")


def _recorded_run(case: Node) -> Run:
    invocations = list(_get(case, "actual_conversation").items())
    run = _invocations(invocations)
    if not any(each.member("tools") or _get(each, "intermediate_data") for each in invocations):
        # Written by people, who may record answers alone: that is not the same as no calls.
        run.trace.toolInvocations = None
    run.trace.caseId = _get(case, "eval_id").name()
    return run


def _invocations(invocations: list[Node]) -> Run:
    """The actual turns of one case, in order."""
    calls: list[ToolInvocation | None] = []
    for invocation in invocations:
        inner = _get(invocation, "intermediate_data")
        events = _get(inner, "invocation_events")
        if events:
            calls += _Calls(list(events.items())).calls
            continue
        listed = invocation.member("tools") or _get(inner, "tool_uses") or _get(inner, "tool_calls")
        replies = _Replies()
        for reply in _get(inner, "tool_responses").items():
            replies.add(reply)
        for call in listed.items():
            own = replies.take(call) or (call if call.member("result", "error", "response") else None)
            calls.append(_call(call, own))
    return Run(
        trace=Trace(
            question=_text(_get(invocations[0], "user_content")) if invocations else None,
            finalAnswer=_text(_get(invocations[-1], "final_response")) if invocations else None,
            toolInvocations=calls if invocations else None,
        )
    )


# --- Sessions ---


def _session(listed: Node, session: Node) -> Run:
    events, twice = _once(listed)
    whole = [event for event in events if not _get(event, "partial").flag()]
    spoken = [event for event in whole if event.member("content")]
    question = answer = None
    for event in spoken:
        content = event.member("content")
        text = _text(content)
        if event.member("author").value == _USER:
            if text:
                question, answer = question or text, None
        elif text and not any(_get(part, "function_call") for part in content.member("parts").items()):
            answer = text
    times = [time for event in spoken if (time := _time(event)) is not None]
    logs = list(_get(session, "event_logs").items())
    models = [_get(event, "model_version").text() for event in whole]
    models += [_get(_get(log, "model_response"), "model_version").text() for log in logs]
    models += [_get(log, "model_request").member("model").text() for log in logs]
    last = _get(whole[-1], "error_code") if whole else Node(None)
    return Run(
        trace=Trace(
            traceId=session.member("id").name(),
            question=question,
            finalAnswer=answer,
            status=last.name(),
            startedAt=iso_text(min(times, default=None)),
            finishedAt=iso_text(max(times, default=None)),
            model=next(filter(None, models), None),
            usage=_usage([_get(event, "usage_metadata") for event in whole])
            or _usage([_get(_get(log, "model_response"), "usage_metadata") for log in logs]),
            toolInvocations=_Calls(spoken).calls,
        ),
        warned=twice,
    )


def _once(listed: Node) -> tuple[list[Node], tuple[Warned, ...]]:
    """The events by time where all state one, else as they stand; each once."""
    events: dict[Any, Node] = {}
    twice = 0
    for number, event in enumerate(listed.items()):
        own_id = event.member("id").name()
        key = number if own_id is None else own_id
        twice += key in events
        events[key] = event
    ordered = list(events.values())
    times = [_time(event) for event in ordered]
    if None not in times:
        ordered.sort(key=lambda event: _time(event) or 0)
    message = f"{twice} event{'s' * (twice != 1)} with an id that stood before: each counts once, as it stands last"
    return ordered, (Warned(path=listed.path, kind="duplicate-event", message=message),) if twice else ()


def _time(event: Node) -> int | None:
    return scaled_ns(event.member("timestamp").value, SECOND)


def _usage(stated: list[Node]) -> Usage | None:
    inputs: list[int] = []
    outputs: list[int] = []
    totals: list[int] = []
    for usage in filter(None, stated):
        tokens = {
            name: _get(usage, f"{name}_token_count").count()
            for name in ("prompt", "tool_use_prompt", "candidates", "thoughts", "total")
        }
        inputs.append((tokens["prompt"] or 0) + (tokens["tool_use_prompt"] or 0))
        outputs.append((tokens["candidates"] or 0) + (tokens["thoughts"] or 0))
        totals.append(inputs[-1] + outputs[-1] if tokens["total"] is None else tokens["total"])
    return Usage(inputTokens=total(inputs), outputTokens=total(outputs), totalTokens=total(totals)) if totals else None


class _Replies:
    """Replies waiting for their calls: by id, else in order of their names."""

    def __init__(self) -> None:
        self._by_id: dict[str, Node] = {}
        self._by_name: defaultdict[str, deque[Node]] = defaultdict(deque)

    def add(self, reply: Node) -> None:
        own_id = reply.member("id", "tool_id").name()
        if own_id is None:
            self._by_name[reply.member("name", "tool_name").text() or ""].append(reply)
        else:
            # A long-running tool replies again once it is done.
            self._by_id[own_id] = reply

    def take(self, call: Node) -> Node | None:
        own_id = call.member("id").name()
        if own_id is not None and own_id in self._by_id:
            return self._by_id[own_id]
        waiting = self._by_name[call.member("name").text() or ""]
        return waiting.popleft() if waiting else None


class _Calls:
    """The calls of a list of events, in order.

    Args:
        events: events with content.
    """

    def __init__(self, events: list[Node]) -> None:
        asked: list[tuple[Node, Node]] = []
        replies = _Replies()
        answered: dict[str, tuple[Node, bool]] = {}
        for event in events:
            parts = list(_parts(event))
            asked += [(call, event) for part in parts if (call := _get(part, "function_call"))]
            own = [reply for part in parts if (reply := _get(part, "function_response"))]
            for reply in own:
                replies.add(reply)
                answered[reply.path] = (event, len(own) == 1)
        self.calls: list[ToolInvocation | None] = []
        for call, event in asked:
            found = replies.take(call)
            made = _call(call, found)
            if found is not None:
                later, alone = answered[found.path]
                made.durationMs = _between(event, later) if alone else None
            self.calls.append(made)


def _parts(event: Node) -> Iterator[Node]:
    content = event.member("content")
    if isinstance(content.value, dict):
        yield from content.member("parts").items()


def _between(call: Node, reply: Node) -> float | None:
    start, end = _time(call), _time(reply)
    return None if start is None or end is None else (end - start) / NANOSECONDS_PER_MS


def _call(call: Node, reply: Node | None) -> ToolInvocation:
    function = call.member("function")
    arguments = call.member("args", "arguments") or function.member("arguments")
    value = arguments.value
    if isinstance(value, str):
        value = parsed_arguments(value, Repairs(), arguments.path)
    made = ToolInvocation(toolName=call.member("name").text() or function.member("name").text(), arguments=value)
    if reply is not None:
        result = reply.member("response", "result", "content")
        error = reply.member("error") or (result.member("error") if isinstance(result.value, dict) else Node(None))
        made.resultSummary = result.value
        if error.value not in (None, "", False):
            made.success, made.error = False, error.value
    return made


def _text(content: Node) -> str | None:
    """The text of a content: its parts but thoughts, or the plain text that trpc-agent writes."""
    if not isinstance(content.value, dict):
        return content.text()
    plain = content.member("content")
    if isinstance(plain.value, str):
        return plain.text()
    parts = [*content.member("parts").items(), *plain.items()]
    texts = [part.member("text").text() for part in parts if not part.member("thought").flag()]
    return "\n".join(filter(None, texts)) or None


FORMAT = Format(
    name="adk",
    summary="Google ADK and trpc-agent: sessions, results of evaluations, eval sets with recorded runs",
    recognises=recognises,
    read=read,
    recognised_by="`events` with author and invocation id, or an eval set's id with `eval_case_results` or "
    "`eval_cases` (also in camelCase); older eval sets, criteria and metrics are recognised and refused",
    fields={
        "traceId": "id of the session, eval_case_results[].session_id",
        "caseId": "eval_case_results[].eval_id, eval_cases[].eval_id",
        "trial": "eval_case_results[].runId (trpc-agent)",
        "question": "the first text of events[author=user], actual_invocation.user_content of the first one",
        "finalAnswer": "the last text of an agent without a call, actual_invocation.final_response of the last one",
        "status": "error_code of the last event",
        "startedAt": "events[].timestamp of the first event with content",
        "finishedAt": "events[].timestamp of the last event with content",
        "model": "events[].model_version, else event_logs[].model_response.model_version",
        "usage": "the sum of events[].usage_metadata, else of event_logs[].model_response.usage_metadata",
        "toolInvocations[].toolName": "function_call.name, tool_uses[].name, tools[].name",
        "toolInvocations[].arguments": "function_call.args, tool_uses[].args, tools[].arguments",
        "toolInvocations[].resultSummary": "function_response.response, tool_responses[].response, tools[].result",
        "toolInvocations[].error": "the `error` member of the reply",
        "toolInvocations[].success": "false where the reply has an `error` member",
        "toolInvocations[].durationMs": "from the event of the call to the event of its reply",
    },
    by_record=True,
)
