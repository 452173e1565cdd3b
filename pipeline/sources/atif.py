"""ATIF trajectories, the Agent Trajectory Interchange Format of Harbor (versions 1.0 to 1.8).

One object per run: `schema_version`, `session_id`, `agent`, `steps`, `final_metrics`. Read are single trajectories
(one per `.json` file or line), lists of them, and objects whose members are trajectories, such as a parent beside its
children; each is a trace of its own.

- The question is the first user step. The answer is the message of the last agent step that has one, and stands after
  the last user step: a trajectory that ends before the agent spoke has none. A message may be a list of parts, of
  which the texts are read.
- Calls stand in the order of the steps. A result belongs to the call that it names; results that name none belong to
  the only call of their step, and to no call where a step has several. The trajectories of sub-agents that stand
  inside this one (`subagent_trajectories`) are the agent's work too: their calls follow the call that delegated to
  them, those that no call names come last.
- Steps marked `is_copied_context` repeat an earlier trajectory: their calls and tokens count there, not here; only
  the question may come from them.
- Tokens and cost are those of `final_metrics`; where it is silent, the sum over the steps, sub-agents included. Cached
  tokens are a part of the prompt tokens. Some steps without a figure make the sum unknown, none with one too.
- The start and end are the first and the last time that a step states.
- A trajectory that says that it goes on in another file (`continued_trajectory_ref`) is read as far as it goes, with
  a warning.

Stay null: whether a call succeeded, its error and its duration, for the format has no fields for them; the verdict,
case and trial.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, Run, read_runs, total
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import amount
from pipeline.sources.wording import Refused

_PREFIX: Final = "ATIF-"


def recognises(document: Any) -> str | None:
    """The reason why a document is an ATIF trajectory, or several, else None."""
    if _is_trajectory(document):
        return f"its `schema_version` is {document['schema_version'][:20]}"
    members = document.values() if isinstance(document, dict) else document
    if isinstance(document, dict | list) and members and all(map(_is_trajectory, members)):
        return "its members are ATIF trajectories"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read trajectories."""
    return read_runs(documents, _runs)


def _is_trajectory(value: Any) -> bool:
    version = value.get("schema_version") if isinstance(value, dict) else None
    return isinstance(version, str) and version.startswith(_PREFIX) and "steps" in value


def _runs(document: Node) -> Iterator[Found]:
    value = document.value
    if _is_trajectory(value):
        trajectories = [document]
    elif isinstance(value, list):
        trajectories = list(document.items())
    elif isinstance(value, dict) and value and all(map(_is_trajectory, value.values())):
        trajectories = [document.member(name) for name in value]
    else:
        trajectories = [document]
    for trajectory in trajectories:
        try:
            yield Run(trace=_trace(trajectory), warned=_warned(trajectory))
        except Refused as refused:
            yield refused


def _warned(trajectory: Node) -> tuple[Warned, ...]:
    further = trajectory.member("continued_trajectory_ref")
    if not further:
        return ()
    message = "this trajectory goes on in another file, so its calls and its answer may be incomplete"
    return (Warned(path=further.path, kind="continued-elsewhere", message=message),)


def _trace(trajectory: Node) -> Trace:
    steps = list(trajectory.member("steps").items())
    if not steps:
        raise Refused(
            "a trajectory without steps holds no run: leave it out",
            path=f"{trajectory.path}.steps",
            expected="steps",
            found="nothing",
        )
    agent = trajectory.member("agent")
    models = (step.member("model_name").text() for step in steps if step.member("source").value == "agent")
    times = [text for step in steps if (text := _time(step)) is not None]
    question, answer = _said(steps)
    return Trace(
        traceId=trajectory.member("session_id", "trajectory_id").name(),
        question=question,
        finalAnswer=answer,
        startedAt=times[0] if times else None,
        finishedAt=times[-1] if times else None,
        model=agent.member("model_name").text() or next(filter(None, models), None),
        usage=_usage(trajectory),
        toolInvocations=_calls(trajectory),
    )


def _time(step: Node) -> str | None:
    node = step.member("timestamp")
    return node.text() if node.instant() is not None and not step.member("is_copied_context").flag() else None


def _said(steps: list[Node]) -> tuple[str | None, str | None]:
    """The question, and the answer to what was asked last."""
    question = answer = None
    for step in steps:
        source, text = step.member("source").value, _text(step.member("message"))
        if source == "user":
            question, answer = question or text, None
        elif source == "agent" and text and not step.member("is_copied_context").flag():
            answer = text
    return question, answer


def _text(content: Node) -> str | None:
    """A message or a result: text, or a list of parts of which the texts are taken."""
    if not isinstance(content.value, list):
        return content.text()
    texts = [part.member("text").text() for part in content.items() if part.member("type").value in (None, "text")]
    return "\n".join(filter(None, texts)) or None


def _own_steps(trajectory: Node) -> Iterator[Node]:
    for step in trajectory.member("steps").items():
        if not step.member("is_copied_context").flag():
            yield step


def _inner(trajectory: Node) -> list[Node]:
    return list(trajectory.member("subagent_trajectories").items())


def _names(trajectory: Node) -> set[str]:
    """How a trajectory may be referred to."""
    names = (trajectory.member(field).name() for field in ("session_id", "trajectory_id"))
    return {name for name in names if name}


def _calls(trajectory: Node) -> list[ToolInvocation | None]:
    calls: list[ToolInvocation | None] = []
    # What is still to be done, the next last: steps of one trajectory, then the sub-agents that no call named.
    waiting: list[Iterator[Node | ToolInvocation]] = [_unfold(trajectory)]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif isinstance(entry, ToolInvocation):
            calls.append(entry)
        else:
            waiting.append(_unfold(entry))
    return calls


def _unfold(trajectory: Node) -> Iterator[Node | ToolInvocation]:
    """The calls of one trajectory, each followed by the trajectories that it delegated to."""
    inner = _inner(trajectory)
    named = [_names(child) for child in inner]
    told: set[int] = set()
    for step in _own_steps(trajectory):
        results = list(step.member("observation").member("results").items())
        listed = list(step.member("tool_calls").items())
        for call in listed:
            own = _results_of(call, results, alone=len(listed) == 1)
            yield _call(call, own)
            wanted = {name for result in own for name in _references(result)}
            for index, names in enumerate(named):
                if index not in told and names & wanted:
                    told.add(index)
                    yield inner[index]
    yield from (child for index, child in enumerate(inner) if index not in told)


def _results_of(call: Node, results: list[Node], *, alone: bool) -> list[Node]:
    own_id = call.member("tool_call_id").name()
    own = []
    for result in results:
        source = result.member("source_call_id").name()
        if source == own_id if source else alone:
            own.append(result)
    return own


def _references(result: Node) -> Iterator[str]:
    for reference in result.member("subagent_trajectory_ref").items():
        yield from _names(reference)


def _call(call: Node, results: list[Node]) -> ToolInvocation:
    arguments = call.member("arguments")
    value = arguments.value
    if isinstance(value, str):
        value = parsed_arguments(value, Repairs(), arguments.path)
    texts = [_text(result.member("content")) for result in results]
    return ToolInvocation(
        toolName=call.member("function_name").text(),
        arguments=value,
        resultSummary="\n".join(filter(None, texts)) or None,
    )


def _usage(trajectory: Node) -> Usage | None:
    """The figures of the whole, else the sum over the steps of this trajectory and those inside it."""
    final = trajectory.member("final_metrics")
    metrics = list(_step_metrics(trajectory))
    found = Usage(
        inputTokens=_either(final.member("total_prompt_tokens").count(), _sum(metrics, "prompt_tokens")),
        outputTokens=_either(final.member("total_completion_tokens").count(), _sum(metrics, "completion_tokens")),
        costUsd=amount(final.member("total_cost_usd").value),
    )
    if found.costUsd is None:
        costs = [amount(node.member("cost_usd").value) for node in metrics]
        known = [cost for cost in costs if cost is not None]
        found.costUsd = math.fsum(known) if known and len(known) == len(costs) else None
    return found if found != Usage() else None


def _step_metrics(trajectory: Node) -> Iterator[Node]:
    waiting = [trajectory]
    while waiting:
        here = waiting.pop()
        waiting += _inner(here)
        for step in _own_steps(here):
            if step.member("metrics"):
                yield step.member("metrics")


def _sum(metrics: list[Node], name: str) -> int | None:
    return total(node.member(name).count() for node in metrics)


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


FORMAT = Format(
    name="atif",
    summary="ATIF trajectories of Harbor: one object with steps per run, single, in a list, or as members",
    recognises=recognises,
    read=read,
    recognised_by="`schema_version` begins with ATIF- and there are `steps`; or a list or object of such",
    fields={
        "traceId": "session_id",
        "question": "the first steps[source=user].message",
        "finalAnswer": "the last steps[source=agent].message, after the last user step",
        "startedAt": "the first steps[].timestamp",
        "finishedAt": "the last steps[].timestamp",
        "model": "agent.model_name, else the first steps[].model_name",
        "usage.inputTokens": "final_metrics.total_prompt_tokens, else the sum of metrics.prompt_tokens",
        "usage.outputTokens": "final_metrics.total_completion_tokens, else the sum of metrics.completion_tokens",
        "usage.costUsd": "final_metrics.total_cost_usd, else the sum of metrics.cost_usd",
        "toolInvocations[].toolName": "steps[].tool_calls[].function_name",
        "toolInvocations[].arguments": "steps[].tool_calls[].arguments",
        "toolInvocations[].resultSummary": "steps[].observation.results[].content, by source_call_id",
    },
    by_record=True,
)
