"""Answers and conversations of OpenAI's Responses API: the items that a run is made of.

Read are answers as the API gives them (`object: response`), objects with `input` and `output`, and lists of items
as agents keep them to send them again; one document is one trace. A list of nothing but messages reads the same as
that of the older API and is left to `openai-chat`.

- The question is the first user message (or `input` where it is text); the answer is the last assistant message with
  text, after the last user message. Several parts stand on lines of their own; a refusal is what the user was told,
  reasoning is not.
- Calls are `function_call`, `custom_tool_call` and `mcp_call` items, and the calls of tools that the API hosts, which
  are named after their type (`web_search_call` is `web_search`). Results are joined by `call_id`.
- Of a call, only what the API runs itself says that it failed. Input tokens include cached ones.

Stay null: durations of calls, and whether a function succeeded: the API is told its result as text. An answer states
when it was made and when it was complete (`created_at`, `completed_at`), in whole seconds.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable
from pipeline.sources.call_log import CallLog
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.native import OWN_KEYS
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run, iso_text, read_runs
from pipeline.sources.responses_items import is_call_or_result, is_item, is_spoken, log_item, text_of, usage_of
from pipeline.sources.wording import Refused

# An object with one of these is a span, a run or an observation around the items, which other formats read.
_AROUND: Final = (
    *OWN_KEYS,
    "trace_id",
    "span_id",
    "run_type",
    "observations",
    "span_data",
    "attributes",
    "$schemaVersion",
)


def recognises(document: Any) -> str | None:
    """The reason why a document is made of Responses API items, else None."""
    if isinstance(document, list):
        fits = bool(document) and all(map(is_item, document)) and any(map(is_call_or_result, document))
        return "its elements are items of the Responses API, calls among them" if fits else None
    if not isinstance(document, dict) or any(key in document for key in _AROUND):
        return None
    output, given = document.get("output"), document.get("input")
    if document.get("object") == "response" and isinstance(output, list):
        return "it is a response object with `output`"
    for name, items in (("output", output), ("input", given)):
        if isinstance(items, list) and items and all(map(is_item, items)):
            own = [item for item in items if is_call_or_result(item) or is_spoken(item)]
            if own and (name == "output" or any(map(is_call_or_result, own))):
                return f"its `{name}` is a list of Responses API items"
    return None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read answers and conversations, one per document."""
    return read_runs(documents, _runs)


def _runs(document: Node) -> Iterator[Run]:
    if isinstance(document.value, list):
        around, items, question = Node(None), list(document.items()), None
    else:
        given = document.member("input")
        question = given.text() if isinstance(given.value, str) else None
        around, items = document, [] if isinstance(given.value, str) else list(given.items())
        items += document.member("output").items()
    if not items and question is None:
        raise Refused(
            "there are no items in it: leave it out", path=document.path, expected="output items", found="nothing"
        )
    log = CallLog()
    answer = None
    for item in items:
        log_item(item, log)
        if item.member("type").value in (None, "message"):
            role, text = item.member("role").text(), text_of(item)
            if role == "user" and text:
                question, answer = question or text, None
            elif role == "assistant":
                answer = text or answer
    trace = Trace(
        traceId=around.member("id").name(),
        question=question,
        finalAnswer=answer,
        status=around.member("status").text(),
        startedAt=_time(around.member("created_at")),
        finishedAt=_time(around.member("completed_at")),
        model=around.member("model").text(),
        usage=usage_of(around.member("usage")),
        toolInvocations=log.calls(),
    )
    yield Run(trace=trace, warned=log.warned())


def _time(node: Node) -> str | None:
    return iso_text(scaled_ns(node.value, SECOND))


FORMAT = Format(
    name="openai-responses",
    summary="OpenAI's Responses API: a response object, an object with input and output items, or a list of items each",
    recognises=recognises,
    read=read,
    recognised_by=(
        "`object: response`; an object whose `output` or `input` is a list of Responses items; "
        "or a list of items with a call or a result among them"
    ),
    fields={
        "traceId": "id",
        "question": "input, or the first item with role=user",
        "finalAnswer": "the last item[type=message, role=assistant].content[].text",
        "status": "status",
        "startedAt": "created_at",
        "finishedAt": "completed_at",
        "model": "model",
        "usage.inputTokens": "usage.input_tokens",
        "usage.outputTokens": "usage.output_tokens",
        "usage.totalTokens": "usage.total_tokens",
        "toolInvocations[].toolName": "item[type=function_call].name, the type of a hosted tool",
        "toolInvocations[].arguments": "item[type=function_call].arguments",
        "toolInvocations[].resultSummary": "item[type=function_call_output].output, by call_id",
        "toolInvocations[].success": "false where the status of a hosted tool is failed or incomplete",
        "toolInvocations[].error": "item[type=mcp_call].error",
    },
    by_record=True,
)
