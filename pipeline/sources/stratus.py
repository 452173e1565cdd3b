"""Trajectories of SREGym's own agent, Stratus: one run of a problem per file, its stages one after the other.

Lines are `metadata` (the problem), `stage_start`, and `event`. An event holds all messages of its stage so far, so
only the event with the highest `event_index` of a stage counts; the messages are LangChain's.

- A run is one trace: its calls and tokens are those of all stages in order. The question and the answer are those of
  the diagnosis: the first human message of the stage of that name (else of the first stage), and what that stage
  submitted (`ans` of the submit tool). Other stages repair what the diagnosis found; their submissions report the
  repair. A stage that submitted nothing has no answer.
- `problem_id` is the case, `timestamp` with it the run.
- Results follow their calls; where they carry no `tool_call_id`, they belong to the calls before them in order.
- Tokens are summed over the messages of the last event of each stage, where these state them.

Stay null: success, errors and durations, for results are text; the model; times: the one in the file has no zone and
is that of writing.

SREGym's `*_results_*.json` files hold a return code and token counts of a run and nothing that was said or done:
they are refused.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable, Usage
from pipeline.sources.call_log import CallLog, Outcome, arguments_of
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, Run
from pipeline.sources.responses_items import usage_of
from pipeline.sources.sessions import read_sessions
from pipeline.sources.wording import Refused

_RESULTS: Final = frozenset({"problem_id", "return_code", "usage_metrics"})
_DIAGNOSIS: Final = "diagnosis"
_HUMAN: Final = "HumanMessage"
_AGENT: Final = "AIMessage"
_TOOL: Final = "ToolMessage"


def recognises(document: Any) -> str | None:
    """The reason why a document is a line of a Stratus trajectory, or SREGym's results of a run, else None."""
    if not isinstance(document, dict):
        return None
    kind = document.get("type")
    if kind == "metadata" and "problem_id" in document and "total_stages" in document:
        return "it is the metadata of a Stratus trajectory"
    if kind == "stage_start" and "stage" in document:
        return "it begins a stage of a Stratus trajectory"
    if kind == "event" and "stage" in document and "event_index" in document:
        return "it is an event of a Stratus trajectory"
    return "it is SREGym's results of a run" if document.keys() >= _RESULTS else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read trajectories."""
    return read_sessions(documents, _Trajectory, _run_of)


def _run_of(line: Node) -> str | None:
    if line.fields().keys() >= _RESULTS:
        raise Refused(
            "these are the results of a run, with nothing in them that the agent said or did: "
            "give its trajectory or session file instead",
            expected="a trajectory",
            found="return code and token counts",
        )
    if line.member("type").value != "metadata":
        return None
    return f"{line.member('problem_id').name() or ''} {line.member('timestamp').name() or ''}"


class _Trajectory:
    """One run, line by line."""

    def __init__(self) -> None:
        self._about = Node(None)
        self._stages: dict[str | None, tuple[int, Node]] = {}

    def take(self, line: Node) -> None:
        """Take the next line."""
        kind = line.member("type").value
        if kind == "metadata":
            self._about = line
            line.member("problem_id").name()
            line.member("timestamp").name()
        elif kind == "event":
            stage, index = line.member("stage").text(), line.member("event_index").count() or 0
            messages = line.member("messages")
            # Looked at now, so that a broken event costs itself alone.
            _Stage(messages, CallLog())
            if stage not in self._stages or index >= self._stages[stage][0]:
                self._stages[stage] = (index, messages)

    def runs(self) -> Iterator[Found]:
        """The run."""
        log = CallLog()
        stages = [(name or "", _Stage(messages, log)) for name, (_, messages) in self._stages.items()]
        if not stages:
            yield Refused("this trajectory has no event, so nothing was done: leave it out", expected="events")
            return
        problem, time = self._about.member("problem_id").name(), self._about.member("timestamp").name()
        told = next((stage for name, stage in stages if _DIAGNOSIS in name), stages[0][1])
        trace = Trace(
            traceId=f"{problem}-{time}" if problem and time else problem or time,
            caseId=problem,
            question=told.question,
            finalAnswer=told.submitted,
            usage=_sum([usage for _, stage in stages for usage in stage.usages]),
            toolInvocations=log.calls(),
        )
        yield Run(trace=trace, warned=log.warned())


class _Stage:
    """The messages of a stage, whose calls go into the log.

    Raises:
        Refused: a field is of the wrong type.
    """

    def __init__(self, messages: Node, log: CallLog) -> None:
        self.question: str | None = None
        self.submitted: str | None = None
        self.usages: list[Usage] = []
        # Ids are those of one message or none, so the log is given numbers: calls of two stages never meet.
        waiting: OrderedDict[str, str] = OrderedDict()
        for message in messages.items():
            kind, content = message.member("type").text(), message.member("content")
            if kind == _HUMAN:
                self.question = self.question or _text(content)
            elif kind == _AGENT:
                usage = usage_of(message.member("usage_metadata"))
                self.usages += [usage] if usage else []
                for call in message.member("tool_calls").items():
                    own = f"{len(log)}"
                    waiting[call.member("id").name() or f"\0{own}"] = own
                    self._call(call, own, log)
            elif kind == _TOOL:
                log.settle(_settled(message, waiting), Outcome(result=_text(content) or content.value))

    def _call(self, call: Node, own: str, log: CallLog) -> None:
        name, arguments = call.member("name").text(), call.member("args")
        log.add(own, name, arguments_of(arguments))
        if name is not None and "submit" in name and isinstance(arguments.value, dict):
            self.submitted = arguments.member("ans", "answer").text() or self.submitted


def _settled(message: Node, waiting: OrderedDict[str, str]) -> str | None:
    """The call that a result belongs to: the one it names, else the first that still waits."""
    named = message.member("tool_call_id").name()
    key = named if named is not None else next(iter(waiting), None)
    return waiting.pop(key, None) if key is not None else None


def _text(content: Node) -> str | None:
    if isinstance(content.value, str):
        return content.text()
    if not isinstance(content.value, list):
        return None
    texts = (
        part.text() if isinstance(part.value, str) else part.member("text").text()
        for part in content.items()
        if isinstance(part.value, str | dict)
    )
    return "\n".join(filter(None, texts)) or None


def _sum(usages: list[Usage]) -> Usage | None:
    sums = {
        name: sum(known)
        for name in ("inputTokens", "outputTokens", "totalTokens")
        if (known := [count for usage in usages if (count := getattr(usage, name)) is not None])
    }
    return Usage(**{name: total for name, total in sums.items() if total < 2**63}) if sums else None


FORMAT = Format(
    name="stratus",
    summary="Stratus, the agent of SREGym: a trajectory of stages, whose events repeat what came before",
    recognises=recognises,
    read=read,
    recognised_by="a `type` of metadata with `problem_id` and `total_stages`, of stage_start with `stage`, or of event",
    fields={
        "traceId": "problem_id and timestamp of the metadata",
        "caseId": "problem_id",
        "question": "the first HumanMessage of the stage diagnosis, else of the first stage",
        "finalAnswer": "the `ans` that this stage submitted",
        "usage.inputTokens": "usage_metadata.input_tokens",
        "usage.outputTokens": "usage_metadata.output_tokens",
        "usage.totalTokens": "usage_metadata.total_tokens",
        "toolInvocations[].toolName": "AIMessage.tool_calls[].name",
        "toolInvocations[].arguments": "AIMessage.tool_calls[].args",
        "toolInvocations[].resultSummary": "ToolMessage.content, by tool_call_id or in order",
    },
)
