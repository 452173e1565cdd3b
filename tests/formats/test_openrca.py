"""OpenRCA: result tables, and the conversations of its agent."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import openai_chat, openrca
from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable
from pipeline.sources.json_text import BOM

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

# Read from the files by eye: rows, first and last case, head of the last question, tail of the last answer.
TABLES = {
    "Bank": (
        136,
        "task_1-0",
        "task_4-135",
        "Within the time range of March 4, 2021, from 05:30",
        '"high memory usage"\n    }\n}',
    ),
    "Market-cloudbed-1": (
        70,
        "task_6-0",
        "task_2-69",
        "The cloud service system, cloudbed-1, encountered",
        '"container CPU load"\n    }\n}',
    ),
    "Telecom": (51, "task_2-0", "task_5-50", "During the specified time range of May 31, 2020", '"db_001"\n    }\n}'),
}
PROMPT = "openrca/biqibaomiaomiaowu__openrca_rca100__2026-05-29_08-00-34_#0-0.json"
ISSUE = "Checkout fails since 09:40. Please find the reason."


def read_all(content: bytes | str, name: str = "t.csv") -> list[ReadTrace | Unreadable]:
    data = content if isinstance(content, bytes) else content.encode()
    return list(openrca.read([Document(data, name, None, 0)]))


def traces_of(content: bytes | str) -> list[Trace]:
    return [record.trace for record in read_all(content) if isinstance(record, ReadTrace)]


def faults_of(content: bytes | str) -> list[tuple[int | None, str]]:
    return [(record.fault.line, record.fault.message) for record in read_all(content) if isinstance(record, Unreadable)]


def plan(completed: Any, instruction: str = "Look.") -> tuple[str, str]:
    step = {"analysis": "None", "completed": completed, "instruction": instruction}
    return "assistant", json.dumps(step, indent=4)


def conversation(*said: tuple[str, str]) -> dict[str, Any]:
    issue = f"Rules.\n\nThe issue you are going to solve is:\n\n{ISSUE}\n\nSolve the issue step-by-step."
    return {"messages": [{"role": role, "content": text} for role, text in (("system", issue), *said)]}


def trace_of(*said: tuple[str, str]) -> Trace:
    [record] = read_all(json.dumps(conversation(*said)), "t.json")
    assert isinstance(record, ReadTrace), record
    return record.trace


@pytest.mark.parametrize("name", TABLES)
def test_a_real_table(name: str, read_shared: Read) -> None:
    count, first, last, head, tail = TABLES[name]
    records, faults = read_shared(f"openrca/microsoft__OpenRCA__agent-{name}.csv")
    traces = [record.trace for record in records]
    assert faults == []
    assert len(traces) == count
    assert (traces[0].caseId, traces[-1].caseId) == (first, last)
    assert (traces[-1].question or "").startswith(head)
    assert (traces[-1].finalAnswer or "").endswith(tail)
    assert all(trace.toolInvocations is None for trace in traces)
    assert len({trace.caseId for trace in traces}) == count


def test_the_first_row_of_a_real_table(read_shared: Read) -> None:
    records, _ = read_shared("openrca/microsoft__OpenRCA__agent-Bank.csv")
    question, answer = records[0].trace.question or "", records[0].trace.finalAnswer or ""
    assert [record.line for record in records[:3]] == [2, 13, 25]
    assert question.startswith("On March 4, 2021, within the time range of 14:30 to 15:00, a single failure")
    assert json.loads(answer)["1"] == {
        "root cause occurrence datetime": "2021-03-04 14:20:00",
        "root cause component": "MG02",
        "root cause reason": "high disk I/O read usage",
    }


def test_rows_over_several_lines_and_float_row_ids(read_shared: Read) -> None:
    records, faults = read_shared("edge/b23_csv_multiline.csv")
    assert faults == []
    assert [(record.line, record.trace) for record in records] == [
        (2, Trace(caseId="0", finalAnswer='{\n  "1": {"reason": "high memory, usage"}\n}')),
        (6, Trace(caseId="1", finalAnswer='not json, but "quoted"')),
    ]


def test_a_real_conversation(read_shared: Read) -> None:
    [record], faults = read_shared(PROMPT)
    assert faults == []
    question, answer = record.trace.question or "", record.trace.finalAnswer or ""
    assert question.startswith("On March 4, 2021, within the time range of 14:30 to 15:00")
    assert question.endswith("Please identify the specific occurrence time of the root cause.")
    assert answer.startswith("After reviewing the reasoning process")
    assert answer.endswith('"JVM Out of Memory (OOM) Heap"\n    }\n}\n```')
    assert record.trace.toolInvocations is None


def test_the_real_task_specification_is_refused(read_shared: Read) -> None:
    records, [fault] = read_shared("openrca/microsoft__OpenRCA__task_specification.json")
    assert records == []
    assert fault.message.startswith("this is how tasks are scored")


@pytest.mark.parametrize(
    "table, line, begins",
    [
        pytest.param("id,name\n1,x\n", 1, "this table is no result of OpenRCA", id="another table"),
        pytest.param("", 1, "there is nothing in it", id="an empty file"),
        pytest.param("prediction,prediction,row_id\n", 1, "a column is named twice", id="a column twice"),
        pytest.param("row_id,prediction\n0.0,a,b\n", 2, "this row has 3 fields", id="too many fields"),
        pytest.param('row_id,prediction\n0.0,"a"b\n', 2, "no table from here on", id="text after a quote"),
        pytest.param('row_id,prediction\n0.0,"a\n', 2, "no table from here on", id="a quote that does not close"),
    ],
)
def test_a_broken_table_is_told(table: str, line: int, begins: str) -> None:
    assert [(at, message[: len(begins)]) for at, message in faults_of(table)] == [(line, begins)]


def test_a_row_with_a_field_too_many_costs_itself_alone() -> None:
    assert [trace.caseId for trace in traces_of("row_id,prediction\n0.0,a,b\n1.0,c\n")] == ["1"]


def test_a_byte_order_mark_and_crlf_are_accepted() -> None:
    table = BOM + b'row_id,task_index,prediction\r\n"7",task_2,"a\r\nb"\r\n\r\n'
    assert traces_of(table) == [Trace(caseId="task_2-7", finalAnswer="a\r\nb")]


def test_another_encoding_is_named() -> None:
    [(line, message)] = faults_of("row_id,prediction\n".encode("utf-16"))
    assert (line, message) == (None, "the file is UTF-16: save it as UTF-8")


def test_invalid_bytes_are_replaced_and_told() -> None:
    [record] = read_all(b"row_id,prediction\n1,caf\xe9\n")
    assert isinstance(record, ReadTrace)
    assert record.trace.finalAnswer == "caf\ufffd"
    assert [warned.kind for warned in record.warned] == ["invalid-utf8"]


def test_a_field_longer_than_the_reader_of_tables_takes_by_itself() -> None:
    assert traces_of("row_id,prediction\n1," + "x" * 200_000)[0].finalAnswer == "x" * 200_000


@pytest.mark.parametrize(
    "said, answer",
    [
        pytest.param(
            [
                plan("False"),
                ("user", "x"),
                plan("True", "It is the memory."),
                ("user", "sum up"),
                ("assistant", "Memory."),
            ],
            "Memory.",
            id="a last message",
        ),
        pytest.param(
            [plan("False"), ("user", "x"), plan("True", "It is the memory.")],
            "It is the memory.",
            id="a last instruction",
        ),
        pytest.param([plan(True, "It is the memory.")], "It is the memory.", id="a boolean"),
        pytest.param([plan("False"), ("user", "x"), plan("False")], None, id="never done"),
        pytest.param([plan("False"), ("user", "x"), ("assistant", "Sorry.")], None, id="text before it was done"),
    ],
)
def test_the_answer_of_a_conversation(said: list[tuple[str, str]], answer: str | None) -> None:
    trace = trace_of(*said)
    assert (trace.question, trace.finalAnswer) == (ISSUE, answer)


@pytest.mark.parametrize(
    "messages, name",
    [
        pytest.param(conversation(plan("False")), "openrca", id="a controller"),
        pytest.param(conversation(plan("False"))["messages"], "openrca", id="a list of messages"),
        pytest.param(
            conversation(("assistant", '```json\n{"analysis": 1, "completed": 2, "instruction": 3}\n```')),
            "openrca",
            id="in a block",
        ),
        pytest.param(
            conversation(("assistant", '{"analysis": "broken " quote", "completed": "False", "instruction": "')),
            "openrca",
            id="broken JSON",
        ),
        pytest.param(conversation(("assistant", "Let me see.")), "openai-chat", id="another agent"),
        pytest.param(conversation(("assistant", '{"analysis": "x"}')), "openai-chat", id="another object"),
        pytest.param(conversation(), "openai-chat", id="no answer"),
    ],
)
def test_a_conversation_is_claimed_once(messages: Any, name: str) -> None:
    formats = (openrca.FORMAT, openai_chat.FORMAT)
    assert [each.name for each in formats if each.recognises(messages) is not None] == [name]


@given(st.binary(max_size=80))
def test_whatever_stands_in_a_table_is_read_or_told(rows: bytes) -> None:
    for record in read_all(b"row_id,prediction\n" + rows):
        assert isinstance(record, ReadTrace | Unreadable)
