"""LangSmith runs: ingest batches as the SDK sends them, and exported lists of runs, one trace per `trace_id`.

Read are batches (`post` and `patch`, a run's two halves merged by id wherever they stand in the file), runs one per
line, lists of runs, objects with `runs`, and runs that carry their `child_runs`.

- Runs are put together by `parent_run_id` (else the last of `parent_run_ids`, else the place in `dotted_order`), and
  ordered by start. Times are ISO 8601, UTC where no zone is said, or milliseconds.
- The question and the answer are the inputs and the outputs of the root, where it has none those of the first and the
  last run of a model: the last message of the user, the last text of the assistant after it, or the text itself. An
  answer that is data is given as JSON. A root that failed or has not ended is not answered for by a model's output.
- Calls are the runs of type `tool`; retrievers are none. Where there are none, the calls that the models' messages ask
  for, with the replies that later messages hold. Arguments in Python's notation, as LangChain writes them, are read.
- A call with an `error` failed, one that ended without succeeded; one without an end is unknown.
- Tokens and cost: `prompt_tokens`, `completion_tokens`, `total_tokens` and `total_cost` of the run, else the usage in
  its outputs. Parents repeat the sum of their children, so in each branch the innermost run that states a figure
  counts.
- `caseId` is the `reference_example_id` of the root, the example of a dataset that an experiment ran.

Stay null: the trial; the verdict, for feedback is the judgement of others.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.instants import iso_ns, scaled_ns
from pipeline.sources.nodes import Node
from pipeline.sources.records import iso_text
from pipeline.sources.span_tree import NANOSECONDS_PER_MS, Kind, Span, Tree, amount, count, read_spans
from pipeline.sources.spoken import answer_of, arguments_of, json_text, question_of, requested_calls, tool_result
from pipeline.sources.wording import Refused

# A tuple: what is looked up in it may be of any type, also one that has no hash.
_TYPES: Final = ("chain", "llm", "tool", "retriever", "prompt", "parser", "embedding")
_KINDS: Final[dict[str, Kind]] = {"llm": "llm", "tool": "tool"}
_RUN_KEYS: Final = ("trace_id", "dotted_order", "parent_run_id", "parent_run_ids", "child_runs", "inputs")
_SUCCESS: Final = "success"
_PENDING: Final = "pending"


def recognises(document: Any) -> str | None:
    """The reason why a document holds LangSmith runs, else None."""
    if isinstance(document, dict):
        return _recognised_object(document)
    if not isinstance(document, list) or not document:
        return None
    if all(map(_is_run, document)):
        return "its elements are runs with a run type"
    return "it is a recorded request of an SDK's client" if _is_recorded_request(document) else None


def _recognised_object(document: dict[str, Any]) -> str | None:
    halves = [document[name] for name in ("post", "patch") if isinstance(document.get(name), list)]
    if any(halves) and all(isinstance(run, dict) and _is_half(run) for half in halves for run in half):
        return "its `post` and `patch` are runs"
    if _is_run(document):
        return f"it is a run of type {document['run_type']}"
    runs = document.get("runs")
    return "its `runs` have a run type" if isinstance(runs, list) and runs and all(map(_is_run, runs)) else None


def _is_half(run: dict[str, Any]) -> bool:
    return "dotted_order" in run or "trace_id" in run or _is_run(run)


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and value.get("run_type") in _TYPES and any(key in value for key in _RUN_KEYS)


def _is_recorded_request(value: list[Any]) -> bool:
    return (
        len(value) == 2  # noqa: PLR2004 - the name of a method and what it was given or gave
        and isinstance(value[0], str)
        and value[0].startswith("client.")
        and isinstance(value[1], dict | list)
    )


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read runs: a file as a whole, for a run's halves and a trace's runs may stand far apart."""
    return read_spans(documents, _Runs().of, _trace)


class _Runs:
    """The runs of one file; what a later document adds to a run is added to its span."""

    def __init__(self) -> None:
        self._posted: dict[str, Span] = {}
        self._refused = False

    def of(self, document: Any) -> Iterator[Span]:
        """The spans of one document.

        Raises:
            Refused: it holds no runs.
        """
        root = Node(document)
        if isinstance(document, list) and _is_recorded_request(document):
            if self._refused:
                return
            self._refused = True
            raise Refused(
                "this file is a recording of requests, such as the tests of an SDK keep, and holds no runs: export "
                "the runs of the trace",
                expected="a run",
                found="name and payload of a request",
            )
        if isinstance(document, dict) and ("post" in document or "patch" in document):
            for name in ("post", "patch"):
                for run in root.member(name).items():
                    yield from self._merged(run)
            return
        listed = root.items() if isinstance(document, list) else root.member("runs").items()
        runs = list(listed) if isinstance(document, list) or root.member("runs") else [root]
        yield from _with_traces([_span(run) for run in _with_children(runs)])

    def _merged(self, half: Node) -> Iterator[Span]:
        own_id = half.member("id").name() or _last_of(half)
        known = self._posted.get(own_id) if own_id else None
        if known is None:
            span = _span(half)
            span.id = own_id
            if own_id:
                self._posted[own_id] = span
            yield span
            return
        run = known.data.fields()
        for key, value in half.fields().items():
            if value is not None and (value or not run.get(key)):
                run[key] = value
        merged = _span(known.data)
        for name in ("parent", "name", "kind", "start_ns", "end_ns", "failed", "error", "status"):
            setattr(known, name, getattr(merged, name))


def _with_children(runs: list[Node]) -> Iterator[Node]:
    """Runs and the runs inside them, as far down as they go."""
    waiting = runs[::-1]
    while waiting:
        run = waiting.pop()
        yield run
        for child in run.member("child_runs").items():
            if "parent_run_id" not in child.fields():
                child.fields()["parent_run_id"] = run.member("id").name()
            if "trace_id" not in child.fields() and run.member("trace_id"):
                child.fields()["trace_id"] = run.member("trace_id").name()
            waiting.append(child)


def _with_traces(spans: list[Span]) -> list[Span]:
    """Runs that name no trace belong to the one of their topmost ancestor in this document."""
    by_id = {span.id: span for span in spans if span.id}
    for span in spans:
        passed = {span.id: span}
        top = span
        while top.trace is None and top.parent and top.parent not in passed and top.parent in by_id:
            top = by_id[top.parent]
            passed[top.id] = top
        for each in passed.values():
            each.trace = top.trace or top.id
    return spans


def _span(run: Node) -> Span:
    parents = [each for each in run.member("parent_run_ids").items() if each]
    order = _ids_of(run)
    parent = run.member("parent_run_id").name()
    if parent is None and parents:
        parent = parents[-1].name()
    if parent is None and len(order) > 1:
        parent = order[-2]
    trace = run.member("trace_id").name() or (parents[0].name() if parents else None) or (order[0] if order else None)
    error = run.member("error")
    status = run.member("status").text()
    end = None if status == _PENDING else _instant(run.member("end_time"))
    failed: bool | None = None
    if error or status == "error":
        failed = True
    elif end is not None or status == _SUCCESS:
        failed = False
    return Span(
        id=run.member("id").name(),
        parent=parent,
        trace=trace,
        name=run.member("name").text() or "",
        kind=_KINDS.get(run.member("run_type").text() or "", "other"),
        start_ns=_instant(run.member("start_time")),
        end_ns=end,
        failed=failed,
        error=json_text(error.value),
        status=status,
        data=run,
    )


def _ids_of(run: Node) -> list[str]:
    """The ids in the `dotted_order`, root first; others than LangSmith number the places instead."""
    order = run.member("dotted_order").text() or ""
    steps = [step.partition("Z")[2] for step in order.split(".")]
    return steps if all(steps) else []


def _last_of(run: Node) -> str | None:
    order = _ids_of(run)
    return order[-1] if order else None


def _instant(node: Node) -> int | None:
    if isinstance(node.value, str):
        return iso_ns(node.value)
    return scaled_ns(node.value, NANOSECONDS_PER_MS) if node else None


def _trace(tree: Tree) -> tuple[Trace, tuple[Warned, ...]]:
    ordered = tree.by_time()
    models = [span for span in ordered if span.kind == "llm"]
    roots = [span for span in tree.roots if span.parent is None] or tree.roots
    elapsed = tree.duration_ms()
    starts = [span.start_ns for span in roots if span.start_ns is not None]
    ends = [span.end_ns for span in roots if span.end_ns is not None]
    examples = (span.data.member("reference_example_id").name() for span in roots)
    calls = [_call(span) for span in tree.calls()]
    exchanges = [(_inputs(span), _outputs(span)) for span in models]
    return Trace(
        traceId=roots[0].trace or roots[0].id,
        caseId=next(filter(None, examples), None),
        question=_question(roots, models),
        finalAnswer=_answer(roots, models),
        status=roots[0].status,
        startedAt=iso_text(min(starts, default=None)),
        finishedAt=None if elapsed is None else iso_text(max(ends, default=None)),
        durationMs=elapsed,
        model=next(filter(None, map(_model, models)), None),
        usage=tree.usage(_usage),
        toolInvocations=[*calls] or requested_calls(exchanges),
    ), ()


def _inputs(span: Span) -> Any:
    return span.data.member("inputs").value


def _outputs(span: Span) -> Any:
    return span.data.member("outputs").value


def _question(roots: list[Span], models: list[Span]) -> str | None:
    asked = next(filter(None, (question_of(_inputs(span)) for span in [*roots, *models])), None)
    return asked or next(filter(None, (json_text(_inputs(span)) for span in roots)), None)


def _answer(roots: list[Span], models: list[Span]) -> str | None:
    given = next((_outputs(span) for span in reversed(roots) if _outputs(span)), None)
    if given:
        answer = answer_of(given)
        # Messages without an answer are none; other data that is not understood is itself the answer.
        return answer or (None if requested_calls([(None, given)]) else json_text(given))
    if any(span.failed or span.end_ns is None for span in roots):
        return None
    return answer_of(_outputs(models[-1])) if models else None


def _call(span: Span) -> ToolInvocation:
    inputs = _inputs(span)
    if isinstance(inputs, dict):
        # LangChain's tools are given one text, or a call as the model wrote it.
        if list(inputs) == ["input"]:
            inner = arguments_of(inputs["input"])
            inputs = inner if isinstance(inner, dict | list) else inputs
        if isinstance(inputs, dict) and inputs.get("type") == "tool_call" and "args" in inputs:
            inputs = inputs["args"]
    outputs = _outputs(span)
    if isinstance(outputs, dict) and list(outputs) == ["output"]:
        outputs = outputs["output"]
    result, refused = tool_result(outputs)
    failed = True if refused else span.failed
    return ToolInvocation(
        toolName=span.name or None,
        arguments=arguments_of(inputs),
        success=None if failed is None else not failed,
        durationMs=span.duration_ms,
        resultSummary=result,
        error=span.error or (result if refused else None),
    )


def _model(span: Span) -> str | None:
    extra = span.data.member("extra")
    asked = extra.member("invocation_params")
    names = (
        extra.member("metadata").member("ls_model_name"),
        asked.member("model"),
        asked.member("model_name"),
        _field(span.data.member("outputs"), "model"),
        _field(span.data.member("inputs"), "model"),
    )
    return next((name.value for name in names if isinstance(name.value, str) and name.value.strip()), None)


def _field(node: Node, name: str) -> Node:
    return node.member(name) if isinstance(node.value, dict) else Node(None)


def _usage(span: Span) -> Usage | None:
    run: Node = span.data
    found = Usage(
        inputTokens=run.member("prompt_tokens").count(),
        outputTokens=run.member("completion_tokens").count(),
        totalTokens=run.member("total_tokens").count(),
        costUsd=amount(run.member("total_cost").value),
    )
    if found.inputTokens is None and found.outputTokens is None and found.totalTokens is None and span.kind == "llm":
        for stated in _stated(run):
            found.inputTokens = _first(stated, "input_tokens", "prompt_tokens")
            found.outputTokens = _first(stated, "output_tokens", "completion_tokens")
            found.totalTokens = _first(stated, "total_tokens")
            if found.costUsd is None:
                found.costUsd = amount(stated.get("total_cost"))
            break
    return None if found == Usage() else found


def _stated(run: Node) -> Iterator[dict[str, Any]]:
    """The places where the outputs of a model state its usage, the surest first."""
    outputs = run.member("outputs")
    message = _first_generation(outputs)
    for node in (
        _field(outputs, "usage_metadata"),
        _field(_field(run.member("extra"), "metadata"), "usage_metadata"),
        _field(_field(message, "kwargs"), "usage_metadata"),
        _field(message, "usage_metadata"),
        _field(_field(outputs, "llm_output"), "token_usage"),
        _field(outputs, "usage"),
    ):
        if isinstance(node.value, dict) and node.value:
            yield node.value


def _first_generation(outputs: Node) -> Node:
    """The message in `generations[0][0]`."""
    node = _field(outputs, "generations")
    while isinstance(node.value, list):
        node = next(node.items(), Node(None))
    return _field(node, "message")


def _first(stated: dict[str, Any], *names: str) -> int | None:
    return next((number for name in names if (number := count(stated.get(name))) is not None), None)


FORMAT = Format(
    name="langsmith",
    summary="LangSmith runs: ingest batches of the SDK, exported lists, one run per line",
    recognises=recognises,
    read=read,
    recognised_by="runs with a known `run_type`, single, in a list or in `runs`; `post` and `patch` with such halves",
    fields={
        "traceId": "trace_id, else the first id in dotted_order, else the root's id",
        "caseId": "reference_example_id of the root",
        "question": "inputs of the root, else of the first run of type llm",
        "finalAnswer": "outputs of the root, else of the last run of type llm",
        "status": "status of the root",
        "startedAt": "start_time of the root",
        "finishedAt": "end_time of the root",
        "durationMs": "from start_time to end_time of the root",
        "model": "extra.metadata.ls_model_name, else extra.invocation_params.model, else outputs.model",
        "usage.inputTokens": "prompt_tokens, else outputs.usage_metadata.input_tokens, of the innermost runs",
        "usage.outputTokens": "completion_tokens, else outputs.usage_metadata.output_tokens, of the innermost runs",
        "usage.totalTokens": "total_tokens, else outputs.usage_metadata.total_tokens, of the innermost runs",
        "usage.costUsd": "total_cost, of the innermost runs",
        "toolInvocations[].toolName": "name of a run of type tool",
        "toolInvocations[].arguments": "inputs of a run of type tool",
        "toolInvocations[].resultSummary": "outputs.output of a run of type tool",
        "toolInvocations[].success": "whether error is absent",
        "toolInvocations[].error": "error of a run of type tool",
        "toolInvocations[].durationMs": "from start_time to end_time of a run of type tool",
    },
)
