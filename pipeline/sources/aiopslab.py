r"""Sessions of AIOpsLab: one object per run of an agent on a problem.

`trace` is what agent and environment said in turns, `results` what the benchmark made of it.

- A turn of the agent asks for one action, written as a call in its first block between ``` lines, such as
  `get_logs("ns", "pod")`, `exec_shell("kubectl get pods")` or `submit(["payment"])`. Each is a tool call, `submit` too.
  Arguments by position are a list, arguments by keyword an object, both together an object with `args` and `kwargs`;
  what is no Python literal is kept as text.
- The turn of the environment after it is the result. One that says that the action could not be parsed, or begins
  with `[ERROR]` or `error:` as the environment's own actions do, means that the call failed; all else is free text
  and says nothing of success.
- The answer is what was submitted last, as it was written; a run that submitted nothing has none.
- `problem_id` is the case, `session_id` the trace. Times are seconds since 1970; tokens are `in_tokens` and
  `out_tokens` of the results.

Stay null: the question, which is not in the file; the model; cost; the benchmark's score.

The benchmark's ground truth files (`key_commands`) and result files without a `trace` are no traces and are refused.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, ToolInvocation, Trace, Unreadable, Usage
from pipeline.sources.instants import SECOND, scaled_ns
from pipeline.sources.json_scan import deeper_than
from pipeline.sources.json_text import MAX_DEPTH
from pipeline.sources.nodes import Node
from pipeline.sources.records import Run, iso_text, read_runs
from pipeline.sources.wording import Refused

_MILLISECOND: Final = SECOND // 1000
_ROLES: Final = ("assistant", "env", "user", "system")
_RESULTS: Final = frozenset({"task_type", "in_tokens", "out_tokens", "steps"})
_FENCE: Final = "```"
_ACTION: Final = re.compile(r"\s*(?P<name>[A-Za-z_][\w.]*)\s*\((?P<arguments>.*)\)\s*", re.DOTALL)
_SUBMIT: Final = "submit"
_FAILED: Final = re.compile(r"\s*(?:error parsing response\b|\[error\]|error:)", re.IGNORECASE)
# Parsing takes many times the memory of the text.
_LONGEST: Final = 1 << 16


def recognises(document: Any) -> str | None:
    """The reason why a document is a session of AIOpsLab, or another file of it, else None."""
    if not isinstance(document, dict):
        return None
    turns = document.get("trace")
    if "problem_id" in document and isinstance(turns, list) and all(map(_is_turn, turns)):
        return "it has a `problem_id` and a `trace` of turns"
    if "problem_id" in document and "key_commands" in document:
        return "it is a ground truth of AIOpsLab"
    return "it is the results of an AIOpsLab run" if document.keys() >= _RESULTS else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read sessions, one per document."""
    return read_runs(documents, _runs)


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in _ROLES and "content" in value


def _runs(document: Node) -> Iterator[Run]:
    if "trace" not in document.fields():
        truth = "key_commands" in document.fields()
        raise Refused(
            f"this is {'what a good run would do' if truth else 'how a run ended'}, not what a run did: "
            "give the session files instead",
            path="$.trace",
            expected="a list of turns",
            found="ground truth" if truth else "results",
        )
    question = answer = None
    calls: list[ToolInvocation | None] = []
    waiting: ToolInvocation | None = None
    for turn in document.member("trace").items():
        role, content = turn.member("role").text(), turn.member("content")
        text = content.text() if not isinstance(content.value, int | float | list | dict) else None
        if role == "user":
            question = question or text
        elif role == "assistant":
            waiting, written = _action(text or "")
            if waiting is not None:
                calls.append(waiting)
                answer = _submitted(waiting, written) if waiting.toolName == _SUBMIT else answer
        elif role == "env" and waiting is not None:
            waiting.resultSummary = content.value
            if text and _FAILED.match(text):
                waiting.success, waiting.error = False, text
            waiting = None
    start, end = (scaled_ns(document.member(name).value, SECOND) for name in ("start_time", "end_time"))
    results = document.member("results")
    usage = Usage(inputTokens=results.member("in_tokens").count(), outputTokens=results.member("out_tokens").count())
    yield Run(
        trace=Trace(
            traceId=document.member("session_id").name(),
            caseId=document.member("problem_id").name(),
            question=question,
            finalAnswer=answer,
            startedAt=iso_text(start),
            finishedAt=iso_text(end),
            durationMs=(end - start) / _MILLISECOND if start is not None and end is not None else None,
            usage=usage if usage != Usage() else None,
            toolInvocations=calls,
        )
    )


def _action(text: str) -> tuple[ToolInvocation | None, str]:
    """The action that a turn asks for and its arguments as written, None where it asks for none."""
    _, opened, rest = text.partition(_FENCE)
    block, closed, _ = rest.partition(_FENCE)
    if not (opened and closed):
        return None, ""
    first, newline, rest = block.partition("\n")
    # What follows the fence on its line is the name of a language, unless the block is that one line.
    match = _ACTION.fullmatch(rest if newline and "(" not in first else block)
    if match is None:
        return None, ""
    written = match["arguments"].strip()
    return ToolInvocation(toolName=match["name"], arguments=_arguments(written)), written


def _arguments(text: str) -> Any:
    """The arguments of a call written in Python, the text itself where they are no literals."""
    if not text:
        return None
    call = _parsed(text)
    if call is None:
        return text
    try:
        args = [ast.literal_eval(value) for value in call.args]
        kwargs = {name.arg: ast.literal_eval(name.value) for name in call.keywords if name.arg is not None}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    if not (_is_plain(args) and _is_plain(kwargs)) or len(kwargs) != len(call.keywords):
        return text
    if args and kwargs:
        return {"args": args, "kwargs": kwargs}
    return kwargs or args


def _parsed(text: str) -> ast.Call | None:
    # Python's parser has limits of its own, but deep text may cost much before it meets them.
    if len(text) > _LONGEST or deeper_than(text.replace("(", "[").replace(")", "]").encode(), MAX_DEPTH):
        return None
    try:
        with warnings.catch_warnings():
            # A shell command in quotes has back slashes that Python warns of.
            warnings.simplefilter("ignore")
            call = ast.parse(f"_({text})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return call if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold a value as it is: no tuples, sets, bytes, infinities, keys that are no text."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value)) == value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return False


def _submitted(call: ToolInvocation, written: str) -> str | None:
    """What was submitted: a text is what it says, all else is as written."""
    given = call.arguments
    if isinstance(given, dict) and len(given) == 1:
        given = list(given.values())
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str):
        written = given[0]
    return written if written.strip() else None


FORMAT = Format(
    name="aiopslab",
    summary="AIOpsLab: one session of an agent on a problem per document",
    recognises=recognises,
    read=read,
    recognised_by="an object with a `problem_id` and a `trace` whose turns have a role and a content",
    fields={
        "traceId": "session_id",
        "caseId": "problem_id",
        "finalAnswer": "the argument of the last submit(…)",
        "startedAt": "start_time",
        "finishedAt": "end_time",
        "durationMs": "end_time - start_time",
        "usage.inputTokens": "results.in_tokens",
        "usage.outputTokens": "results.out_tokens",
        "toolInvocations[].toolName": "the name of the call in the first ``` block of trace[role=assistant].content",
        "toolInvocations[].arguments": "its arguments",
        "toolInvocations[].resultSummary": "trace[role=env].content, the next",
        "toolInvocations[].success": "false where the environment says that the action failed",
        "toolInvocations[].error": "trace[role=env].content, where the action failed",
    },
    by_record=True,
)
