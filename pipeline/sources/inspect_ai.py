"""Inspect AI logs: `.eval` archives and `.json` files, each sample and epoch of the evaluation a trace of its own.

Read are logs of version 2, whole ones and those of a run that broke off (an archive without `header.json`, which
gives a warning), and single samples taken out of an archive. Archives may be packed with deflate or zstd; their
number of entries, sizes and ratios are bounded.

- `caseId` is the sample's id as text, `trial` its epoch, `traceId` its uuid (older logs have none).
- The question is the sample's input, of a list of messages the last one of the user. The answer is the text of the
  first choice of `output`, reasoning and images left out; where the output is empty there is none, whatever the
  messages before it say.
- Calls are the tool events, by time, those inside the event of a sub-agent included, and the calls that the model's
  provider ran itself (`tool_use` parts of an answer). A log without such events gives the calls of the messages, each
  joined to its reply by id, and replies without a call as calls without arguments. Events that say `pending` repeat
  an unfinished call and count only where no finished one has their id.
- A call with an `error` (or `failed`) failed; one with a reply and none succeeded. Its duration is from its timestamp
  to its completion.
- Repeated text that was moved to `attachments` is put back, the older `tc://` pointers too.
- Tokens and cost are the sample's `model_usage`, summed over models, those of a grading model included; where that
  is empty, the sum over the model events, or of the output where the sample has one answer only.
- The duration is `total_time`; where there is none, the first and the last event tell start and end.

A log without samples (written with `--no-log-samples`, or a header alone) holds no run and is refused, and so is a
list of events taken out of its log. Stay null: the verdict, for scores are the judgement of another evaluation.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage, Warned
from pipeline.sources.inspect_archive import MAGIC, Archive
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.json_text import ANY, decode_document
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, Run, placed, total
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import NANOSECONDS_PER_MS, amount
from pipeline.sources.wording import Refused

_POINTERS: Final = ("attachment://", "tc://")
# Pointers may name one long text many times over: so much of it is put back per sample, then pointers stay.
_PUT_BACK_LIMIT: Final = 64 << 20
_LOG_KEYS: Final = ("plan", "results", "stats", "samples", "status")
_NO_MODEL: Final = "none/none"
# A tuple: what is looked up in it may be of any type, also one that has no hash.
_EVENTS: Final = (
    "sample_init", "sample_limit", "sandbox", "state", "store", "model", "tool", "approval", "input", "score", "error",
    "logger", "info", "span_begin", "span_end", "step", "subtask", "score_edit", "compaction", "interrupt",
)  # fmt: skip


def recognises(document: Any) -> str | None:
    """The reason why a document is an Inspect log, else None."""
    if not isinstance(document, dict):
        return None
    evaluation = document.get("eval")
    if isinstance(evaluation, dict) and "task" in evaluation and any(key in document for key in _LOG_KEYS):
        return "it has `eval` with a task, and " + next(key for key in _LOG_KEYS if key in document)
    if _is_sample(document):
        return "it is a sample with epoch, input and target"
    if _is_transcript(document):
        return "its `events` are those of a transcript"
    return None


def _is_sample(document: dict[str, Any]) -> bool:
    return all(key in document for key in ("id", "epoch", "input", "target")) and isinstance(
        document.get("messages"), list
    )


def _is_transcript(document: dict[str, Any]) -> bool:
    events = document.get("events")
    return (
        isinstance(events, list)
        and bool(events)
        and all(isinstance(each, dict) and each.get("event") in _EVENTS and "timestamp" in each for each in events)
    )


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read logs."""
    for document in documents:
        if document.data.startswith(MAGIC):
            yield from _archive(document)
            continue
        repairs = Repairs()
        try:
            log = Node(decode_document(document.data, ANY, repairs))
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        else:
            yield from placed(_log(log), document, repairs.warned())


def _log(log: Node) -> Iterator[Found]:
    value = log.value
    if isinstance(value, dict) and "eval" not in value:
        if _is_sample(value):
            yield from _found(log, Node(None))
            return
        if _is_transcript(value):
            raise Refused(
                "these are events without the log that they belong to, so neither the sample nor its output is known: "
                "give the log itself",
                expected="an Inspect log",
                found="a list of events",
            )
    samples = list(log.member("samples").items())
    if not samples:
        raise _no_samples(log)
    for sample in samples:
        yield from _found(sample, log.member("eval"))


def _no_samples(log: Node) -> Refused:
    return Refused(
        "this Inspect log holds no samples, only their summary: write it with its samples (without --no-log-samples, "
        "and not as a header alone)",
        path=f"{log.path}.samples",
        expected="samples",
        found="none",
    )


def _found(sample: Node, evaluation: Node) -> Iterator[Found]:
    try:
        yield _run(sample, evaluation)
    except Refused as refused:
        yield refused


def _archive(document: Document) -> Iterator[ReadTrace | Unreadable]:
    repairs = Repairs()
    try:
        archive = Archive(document.data)
        evaluation, odd = _header(archive, repairs)
        names = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        if not names:
            raise _no_samples(Node(None))
    except Refused as refused:
        yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        return
    repaired = (*repairs.warned(), *odd)
    for name in names:
        own = Repairs()
        try:
            sample = Node(decode_document(archive.read(name) or b"", ANY, own))
        except Refused as refused:
            refused.message = f"{refused.message} (in the entry {name[:100]!r})"
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            continue
        yield from placed(_found(sample, evaluation), document, repaired + own.warned())
        repaired = ()


def _header(archive: Archive, repairs: Repairs) -> tuple[Node, list[Warned]]:
    """What the archive says of the evaluation, and what is odd about it."""
    odd = []
    if archive.repeated:
        message = f"{archive.repeated} entries of the archive have a name that stood before: the later ones are read"
        odd.append(Warned(path="$", kind="duplicate-entry", message=message))
    data = archive.read("header.json")
    if data is None:
        data = archive.read("_journal/start.json")
        message = "the archive has no header: the evaluation broke off, and samples may be missing"
        odd.append(Warned(path="$", kind="unfinished-log", message=message))
    if data is None:
        raise Refused(
            "the archive has neither header.json nor _journal/start.json: it is no Inspect log",
            expected="header.json",
            found="a zip archive of something else",
        )
    return Node(decode_document(data, ANY, repairs)).member("eval"), odd


# --- One sample ---


class _Texts:
    """The texts of one sample, those that were moved to its attachments put back.

    Args:
        sample: the sample.
    """

    def __init__(self, sample: Node) -> None:
        legacy = sample.member("transcript").member("content").fields()
        self._attachments = {**legacy, **sample.member("attachments").fields()}
        self._left = _PUT_BACK_LIMIT
        self._lost = 0

    def warned(self) -> tuple[Warned, ...]:
        """What could not be put back."""
        if not self._lost:
            return ()
        message = f"{self._lost} pointer{'s' * (self._lost != 1)} to attachments that are missing, or more than is read"
        return (Warned(path="$", kind="missing-attachment", message=message),)

    def whole(self, value: Any) -> Any:
        """A value with its pointers replaced; recursion ends with the value, which is at most 200 levels deep."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.whole(each) for each in value]
        if isinstance(value, dict):
            return {key: self.whole(each) for key, each in value.items()}
        return value

    def _text(self, text: str) -> str:
        if not text.startswith(_POINTERS):
            return text
        kept = self._attachments.get(text.partition("://")[2])
        if not isinstance(kept, str) or len(kept) > self._left:
            self._lost += 1
            return text
        self._left -= len(kept)
        return kept

    def of(self, content: Node) -> str | None:
        """The text of a message: text, or its parts of type text on lines of their own."""
        if not isinstance(content.value, list):
            return Node(self.whole(content.value), content.path).text()
        texts = []
        for part in content.items():
            if isinstance(part.value, str):
                texts.append(self._text(part.value))
            elif part.member("type").value in (None, "text"):
                texts.append(self._text(part.member("text").text() or ""))
        return "\n".join(text for text in texts if text.strip()) or None


def _run(sample: Node, evaluation: Node) -> Run:
    texts = _Texts(sample)
    output = sample.member("output")
    choice = next(output.member("choices").items(), Node(None))
    events = _events(sample)
    model = evaluation.member("model").text()
    lasted = sample.member("total_time")
    elapsed = scaled_ns(lasted.value, SECOND) if not isinstance(lasted.value, str) else None
    started, finished = _times(events) if elapsed is None else (None, None)
    trace = Trace(
        traceId=sample.member("uuid").name(),
        caseId=sample.member("id").name(),
        trial=sample.member("epoch").count(),
        question=_question(sample.member("input"), texts),
        finalAnswer=texts.of(choice.member("message").member("content")),
        status=_status(sample),
        startedAt=sample.member("started_at").text() or started,
        finishedAt=sample.member("completed_at").text() or finished,
        durationMs=None if elapsed is None else elapsed / NANOSECONDS_PER_MS,
        model=model if model and model != _NO_MODEL else output.member("model").text(),
        usage=_usage(sample, events),
        toolInvocations=_calls(sample, events, texts),
    )
    return Run(trace=trace, warned=texts.warned())


def _question(asked: Node, texts: _Texts) -> str | None:
    if not isinstance(asked.value, list):
        return texts.of(asked)
    said = [message for message in asked.items() if message.member("role").value == "user"]
    return texts.of(said[-1].member("content")) if said else None


def _status(sample: Node) -> str | None:
    if sample.member("error"):
        return "error"
    limit = sample.member("limit")
    return f"limit: {limit.member('type').text() or 'unknown'}" if limit else None


def _events(sample: Node) -> list[Node]:
    """All events, those inside the events of tools and subtasks included, in document order."""
    found: list[Node] = []
    listed = sample.member("events") or sample.member("transcript").member("events")
    waiting = [listed.items()]
    while waiting:
        event = next(waiting[-1], None)
        if event is None:
            waiting.pop()
            continue
        found.append(event)
        waiting.append(event.member("events").items())
    return found


def _times(events: list[Node]) -> tuple[str | None, str | None]:
    stated = [event.member("timestamp") for event in events if event.member("timestamp").instant() is not None]
    return (stated[0].text(), stated[-1].text()) if stated else (None, None)


def _usage(sample: Node, events: list[Node]) -> Usage | None:
    stated = [sample.member("model_usage").member(name) for name in sample.member("model_usage").fields()]
    if not stated:
        models = [event for event in events if event.member("event").value == "model"]
        stated = [event.member("output").member("usage") for event in models]
        answers = [each for each in sample.member("messages").items() if each.member("role").value == "assistant"]
        if not models and len(answers) == 1:
            stated = [sample.member("output").member("usage")]
    stated = [usage for usage in stated if usage]
    if not stated:
        return None
    costs = [amount(usage.member("total_cost").value) for usage in stated]
    known = [cost for cost in costs if cost is not None]
    return Usage(
        inputTokens=total(usage.member("input_tokens").count() for usage in stated),
        outputTokens=total(usage.member("output_tokens").count() for usage in stated),
        totalTokens=total(usage.member("total_tokens").count() for usage in stated),
        costUsd=math.fsum(known) if known and len(known) == len(costs) else None,
    )


# --- Calls ---


def _calls(sample: Node, events: list[Node], texts: _Texts) -> list[ToolInvocation | None]:
    made: list[tuple[int | None, Node]] = []
    for event in events:
        kind = event.member("event").value
        if kind == "tool":
            made.append((event.member("timestamp").instant(), event))
        elif kind == "model":
            answer = next(event.member("output").member("choices").items(), Node(None)).member("message")
            made += [(event.member("timestamp").instant(), part) for part in _run_by_provider(answer)]
    if made:
        if all(time is not None for time, _ in made):
            made.sort(key=lambda entry: entry[0] or 0)
        return [_of_event(node, texts) for node in _settled([node for _, node in made])]
    return _of_messages(list(sample.member("messages").items()), texts)


def _settled(nodes: list[Node]) -> Iterator[Node]:
    """Each call once: one that is pending repeats the finished one of its id."""
    ids = [(node.member("id").name(), node) for node in nodes]
    finished = {own_id for own_id, node in ids if not node.member("pending").flag()}
    seen: set[str] = set()
    for own_id, node in ids:
        if node.member("pending").flag():
            if own_id is not None and (own_id in finished or own_id in seen):
                continue
            seen.add(own_id or "")
        yield node


def _run_by_provider(message: Node) -> Iterator[Node]:
    content = message.member("content")
    if isinstance(content.value, list):
        for part in content.items():
            if isinstance(part.value, dict) and part.member("type").value == "tool_use":
                yield part


def _of_event(node: Node, texts: _Texts) -> ToolInvocation:
    """The call of a tool event, or of a part of an answer that says what the provider ran."""
    error = _error(node, texts)
    result = node.member("result")
    start, end = node.member("timestamp").instant(), node.member("completed").instant()
    succeeded = None if node.member("pending").flag() or not (result or end is not None) else True
    return ToolInvocation(
        toolName=node.member("function", "name").text(),
        arguments=_arguments(node, texts),
        success=False if error or node.member("failed").flag() else succeeded,
        durationMs=None if start is None or end is None else (end - start) / NANOSECONDS_PER_MS,
        resultSummary=texts.whole(result.value),
        error=error,
    )


def _of_messages(messages: list[Node], texts: _Texts) -> list[ToolInvocation | None]:
    calls: list[ToolInvocation | None] = []
    replies: dict[str, Node] = {}
    for message in messages:
        own_id = message.member("tool_call_id").name()
        if message.member("role").value == "tool" and own_id is not None:
            replies[own_id] = message
    called: set[str] = set()
    for message in messages:
        role = message.member("role").value
        if role == "assistant":
            calls += [_of_event(part, texts) for part in _run_by_provider(message)]
            for call in message.member("tool_calls").items():
                own_id = call.member("id").name() or ""
                called.add(own_id)
                calls.append(_of_message(call, replies.get(own_id, Node(None)), texts))
        elif role == "tool" and message.member("tool_call_id").name() not in called:
            calls.append(_of_message(Node(None), message, texts))
    return calls


def _of_message(call: Node, reply: Node, texts: _Texts) -> ToolInvocation:
    error = _error(reply, texts) or call.member("parse_error").text()
    return ToolInvocation(
        toolName=call.member("function").text() or reply.member("function").text(),
        arguments=_arguments(call, texts),
        success=(not error) if reply or error else None,
        resultSummary=texts.of(reply.member("content")),
        error=error,
    )


def _arguments(call: Node, texts: _Texts) -> Any:
    arguments = call.member("arguments")
    value = texts.whole(arguments.value)
    return parsed_arguments(value, Repairs(), arguments.path) if isinstance(value, str) else value


def _error(node: Node, texts: _Texts) -> str | None:
    """An error in words: its type and its message, or the text that older logs and providers write."""
    error = node.member("error")
    if not isinstance(error.value, dict):
        return texts.of(error)
    said = (error.member("type").text(), texts.of(error.member("message")))
    return ": ".join(filter(None, said)) or "unknown"


FORMAT = Format(
    name="inspect",
    summary="Inspect AI logs: .eval archives and .json files, one trace per sample and epoch",
    recognises=recognises,
    read=read,
    recognised_by="the ending .eval; in JSON, `eval` with a task beside plan, results, stats, samples or status, or a "
    "sample with id, epoch, input, target and messages; events alone are recognised and refused",
    fields={
        "traceId": "samples[].uuid",
        "caseId": "samples[].id",
        "trial": "samples[].epoch",
        "question": "samples[].input",
        "finalAnswer": "samples[].output.choices[0].message.content",
        "status": "samples[].error, samples[].limit.type",
        "startedAt": "samples[].started_at, else the first events[].timestamp where there is no total_time",
        "finishedAt": "samples[].completed_at, else the last events[].timestamp where there is no total_time",
        "durationMs": "samples[].total_time, in seconds",
        "model": "eval.model, else samples[].output.model",
        "usage.inputTokens": "the sum of samples[].model_usage.*.input_tokens",
        "usage.outputTokens": "the sum of samples[].model_usage.*.output_tokens",
        "usage.totalTokens": "the sum of samples[].model_usage.*.total_tokens",
        "usage.costUsd": "the sum of samples[].model_usage.*.total_cost",
        "toolInvocations[].toolName": "events[event=tool].function, else messages[].tool_calls[].function",
        "toolInvocations[].arguments": "events[event=tool].arguments, else messages[].tool_calls[].arguments",
        "toolInvocations[].resultSummary": "events[event=tool].result, else messages[role=tool].content",
        "toolInvocations[].success": "whether events[event=tool].error, else messages[role=tool].error, is absent",
        "toolInvocations[].error": "events[event=tool].error, else messages[role=tool].error",
        "toolInvocations[].durationMs": "events[event=tool]: from timestamp to completed",
    },
    by_record=True,
    endings=(".eval",),
    owns=lambda head: head.startswith(b"PK"),
)
