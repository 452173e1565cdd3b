"""OpenRCA: the result tables of its evaluation (`.csv`), and the conversations of its agent (`prompt/*.json`).

A row of a table is one trace: `instruction` is the question, `prediction` the answer as the model wrote it, JSON or
not. The case is `task_index` and `row_id` as in `task_1-0`, which is how the benchmark counts its problems; tables of
several systems use the same numbers, so keep them in folders of their own. Tables are read as RFC 4180 has it: a field
in quotes may hold line ends, and quotes are doubled. Ground truth, `passed`, `failed` and `score` are the benchmark's
judgement and are not read.

A conversation is an object with `messages`, in which the controller answers with an object as text (`analysis`,
`completed`, `instruction`). The question is the issue that its instructions end in. The answer is the last message
after the controller said that it was done, else its last `instruction`, which then sums up; a conversation that ends
before has none.

Stay null: calls, for neither file names a tool (code is written by a second model and stands in text); ids, times,
model, tokens and cost. `task_specification.json` holds how tasks are scored and is refused.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pipeline.errors import quote
from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable
from pipeline.sources.json_text import BOM, encoding_of, wrong_encoding
from pipeline.sources.lines import LINE_LIMIT
from pipeline.sources.nodes import Node
from pipeline.sources.openrca_steps import are_openrca, step_of
from pipeline.sources.records import Run, read_runs
from pipeline.sources.repair import Repairs, with_valid_utf8
from pipeline.sources.wording import Refused

_ENDING: Final = ".csv"
_ANSWER: Final = "prediction"
_WHOLE: Final = re.compile(r"(-?\d{1,18})\.0+")
_SCORING: Final = "scoring_points"
# What stands around the issue in the instructions, and again where the answer is asked for.
_AROUND_ISSUE: Final = (
    ("The issue you are going to solve is:", "Solve the issue step-by-step"),
    ("Recall the issue is:", "Please first review"),
)


def recognises(document: Any) -> str | None:
    """The reason why a document is a conversation of OpenRCA's agent, or another file of it, else None."""
    messages = document.get("messages") if isinstance(document, dict) else document
    if are_openrca(messages):
        return "its first answer is an object with analysis, completed and instruction"
    return "it is the task specification of OpenRCA" if _is_specification(document) else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read tables and conversations."""
    for document in documents:
        if document.file.lower().removesuffix(".gz").removesuffix(".zst").endswith(_ENDING):
            yield from _table(document)
        else:
            yield from read_runs([document], _runs)


def _is_specification(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(task, dict) and _SCORING in task for task in value.values())
    )


def _table(document: Document) -> Iterator[ReadTrace | Unreadable]:
    repairs = Repairs()
    try:
        encoding = encoding_of(document.data)
        if encoding:
            raise wrong_encoding(encoding)
        data = with_valid_utf8(document.data.removeprefix(BOM), repairs)
    except Refused as refused:
        yield Unreadable(fault=refused.fault(document.file, None), root=document.root)
        return
    # The module's own limit is for the whole process and lower than what a line may have here.
    csv.field_size_limit(LINE_LIMIT)
    rows = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    warned = repairs.warned()
    header: list[str] | None = None
    before = 0
    while True:
        try:
            row = next(rows, None)
            line, before = before + 1, rows.line_num
            if header is None:
                header = _header(row)
            elif row is None:
                return
            elif row:
                trace = _row(header, row)
                yield ReadTrace(trace=trace, file=document.file, line=line, root=document.root, warned=warned)
                warned = ()
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, line), root=document.root)
            if header is None:
                return
        except csv.Error as error:
            # Where quotes do not match, nobody can tell where the next row begins.
            broken = Refused(
                f"no table from here on ({error}): put fields with quotes, commas or line ends in quotes",
                expected="a row as RFC 4180 has it",
                found=quote(str(error)),
                malformed=True,
            )
            yield Unreadable(fault=broken.fault(document.file, before + 1), root=document.root)
            return


def _header(row: list[str] | None) -> list[str]:
    if row is None:
        raise Refused("there is nothing in it: write a header and rows", expected="a header", found="nothing")
    names = [name.strip() for name in row]
    if _ANSWER not in names or not {"row_id", "instruction", "task_index"} & set(names):
        raise Refused(
            "this table is no result of OpenRCA, the only one that is read: convert it, or move it elsewhere",
            expected="a header with prediction and one of instruction, row_id and task_index",
            found=quote(", ".join(names)) or "nothing",
        )
    if len(set(names)) < len(names):
        raise Refused(
            "a column is named twice, and nobody can tell which one counts: rename one",
            expected="names that differ",
            found=quote(", ".join(names)),
        )
    return names


def _row(header: list[str], row: list[str]) -> Trace:
    if len(row) != len(header):
        raise Refused(
            f"this row has {len(row)} field{'s' * (len(row) != 1)}, the header {len(header)}: write it again",
            expected=f"{len(header)} fields",
            found=str(len(row)),
        )
    fields = {name: value for name, value in zip(header, row, strict=True) if value.strip()}
    whole = _WHOLE.fullmatch(fields.get("row_id", "").strip())
    number = whole[1] if whole else fields.get("row_id", "").strip()
    return Trace(
        caseId="-".join(filter(None, (fields.get("task_index", "").strip(), number))) or None,
        question=fields.get("instruction"),
        finalAnswer=fields.get(_ANSWER),
    )


def _runs(document: Node) -> Iterator[Run]:
    if _is_specification(document.value):
        raise Refused(
            "this is how tasks are scored, not what an agent did: give the result tables or conversations instead",
            expected="messages",
            found="scoring points",
        )
    messages = document if isinstance(document.value, list) else document.member("messages")
    question = answer = None
    done = False
    for message in messages.items():
        role, text = message.member("role").text(), message.member("content").text()
        if role != "assistant":
            question = question or _issue(text or "")
        elif text:
            step = step_of(text)
            done = step.is_last if step else done
            instruction = step.instruction if step and isinstance(step.instruction, str) else None
            answer = (text if step is None else instruction) if done else None
    yield Run(trace=Trace(question=question, finalAnswer=answer))


def _issue(text: str) -> str | None:
    for before, after in _AROUND_ISSUE:
        _, begun, rest = text.partition(before)
        issue, ended, _ = rest.partition(after)
        if begun and ended and issue.strip():
            return issue.strip()
    return None


FORMAT = Format(
    name="openrca",
    summary="OpenRCA: result tables (.csv, one trace per row), and one conversation of its agent per document",
    recognises=recognises,
    read=read,
    recognised_by=(
        "the ending .csv; or messages whose first answer is an object with `analysis`, `completed` and `instruction`"
    ),
    fields={
        "caseId": "task_index and row_id, as in task_1-0",
        "question": "instruction; or the issue in the messages",
        "finalAnswer": "prediction; or the last message after completed is True",
    },
    by_record=True,
    endings=(_ENDING,),
    owns=lambda head: _ANSWER.encode() in head.partition(b"\n")[0],
)
