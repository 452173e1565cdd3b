"""The whole stage: which format a file has, in which order records come, and that batches change nothing."""

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import Fault, UsageError
from pipeline.sources import read as stage
from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable
from pipeline.sources.files import find_inputs
from pipeline.sources.formats import formats
from pipeline.sources.lines import documents
from pipeline.sources.read import read_batches, read_file

Read = Callable[..., tuple[list[Any], list[Fault]]]

CHAT = [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "Because."}]


def test_the_formats_are_found() -> None:
    assert {"native", "openai-chat"} <= set(formats().names)
    assert all(entry.summary for entry in formats())


def test_an_unknown_format_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_batches(find_inputs([str(tmp_path)]), "openai")
    assert "openai-chat" in caught.value.hint


def test_each_file_tells_its_own_format(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CHAT))
    (tmp_path / "b.json").write_text('{"finalAnswer": "b"}')
    (tmp_path / "c.jsonl").write_text(json.dumps({"messages": CHAT}) + "\n")
    [batch] = read_batches(find_inputs([str(tmp_path)]))
    assert [row.trace.finalAnswer for row in batch.traces] == ["Because.", "b", "Because."]
    assert batch.unreadable == []


def test_the_first_document_that_tells_decides_for_the_file(read: Read) -> None:
    content = "\n".join(["oops", "[]", "42", json.dumps(CHAT), '{"finalAnswer": "a"}', json.dumps(CHAT)])
    traces, faults = read(content, "t.jsonl")
    assert [(row.trace.finalAnswer, row.line) for row in traces] == [("Because.", 4), ("Because.", 6)]
    assert [(fault.line, fault.path) for fault in faults] == [(1, "$"), (2, "$"), (3, "$"), (5, "$.messages")]


def test_a_named_format_holds_for_every_file(read: Read) -> None:
    traces, faults = read(json.dumps({"messages": CHAT}), from_format="native")
    assert ([row.trace for row in traces], faults) == ([Trace()], [])
    traces, [fault] = read(json.dumps(CHAT), from_format="native")
    assert (traces, fault.found) == ([], "list of 2 values")


NATIVE = {
    "an empty object": {},
    "unknown keys only": {"id": 1, "start": "now"},
    "its own keys": {"finalAnswer": "a"},
    "its own keys beside a chat": {"finalAnswer": "a", "messages": CHAT, "role": "assistant"},
    "calls with keys of their own": {"toolInvocations": [{"toolName": "a", "toolCallId": "c"}]},
}


@pytest.mark.parametrize("document", NATIVE.values(), ids=NATIVE)
def test_an_object_that_nothing_else_claims_is_native(read: Read, document: Any) -> None:
    traces, faults = read(json.dumps(document))
    assert (len(traces), faults) == (1, [])


FOREIGN = {
    "messages of another kind": {"messages": [{"type": "human"}]},
    "no messages": {"messages": []},
    "a single message": {"role": "user", "content": "why?"},
    "an AI SDK message": {"role": "assistant", "toolInvocations": [{"state": "call", "toolCallId": "c"}]},
    "an AI SDK chat": {"messages": [{"role": "assistant", "toolInvocations": [{"state": "call", "toolCallId": "c"}]}]},
}


@pytest.mark.parametrize("document", FOREIGN.values(), ids=FOREIGN)
def test_what_is_surely_something_else_is_no_empty_trace(read: Read, document: Any) -> None:
    traces, [fault] = read(json.dumps(document))
    assert traces == []
    assert f"known are {', '.join(formats().names)}" in fault.message
    assert "--from" in fault.message


def test_each_foreign_line_is_a_record_of_its_own(read: Read) -> None:
    lines = [json.dumps(document) for document in FOREIGN.values()]
    traces, faults = read("\n".join([*lines, '{"finalAnswer": "a"}']), "t.jsonl")
    assert [(row.trace.finalAnswer, row.line) for row in traces] == [("a", 6)]
    assert [fault.line for fault in faults] == [1, 2, 3, 4, 5]


def test_a_document_that_two_formats_claim_is_refused_naming_both(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Format(name="twin", summary="s", recognises=lambda _: "it is there", read=lambda _: iter(()))
    monkeypatch.setitem(formats()._entries, "twin", twin)
    traces, [fault] = read('{"traceId": "a"}')
    assert traces == []
    assert "native (it has traceId) and twin (it is there)" in fault.message
    assert "--from" in fault.message


def test_a_file_of_nothing_that_tells_is_read_as_native(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_UNDECIDED_LIMIT", 3)
    traces, faults = read("1\n2\n3\n" + json.dumps({"messages": CHAT}), "t.jsonl")
    assert ([row.trace for row in traces], [fault.line for fault in faults]) == ([Trace()], [1, 2, 3])


def test_an_empty_line_file_holds_no_trace_and_an_empty_json_file_is_a_fault(read: Read) -> None:
    assert read("", "t.jsonl") == ([], [])
    assert read("\n\n", "t.ndjson") == ([], [])
    traces, [fault] = read("", "t.json")
    assert (traces, fault.message) == ([], "there is nothing in it: write a JSON object")


def test_a_file_that_vanished_is_a_fault_of_that_file_only(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{}")
    (tmp_path / "c.jsonl").write_text("{}")
    inputs = find_inputs([str(tmp_path)])
    (tmp_path / "a.json").unlink()
    (tmp_path / "c.jsonl").unlink()
    [batch] = read_batches(inputs)
    assert [row.file for row in batch.traces] == ["b.json"]
    assert [row.fault.file for row in batch.unreadable] == ["a.json", "c.jsonl"]


def test_records_of_a_file_come_in_order() -> None:
    def by_line(record: ReadTrace | Unreadable) -> int | None:
        return record.line if isinstance(record, ReadTrace) else record.fault.line

    content = b'{"a": 1}\n{\n"a": 1,\noops\n{"a": 2}\n{"status": 1}\n[\n1,\n-\n{"a": 3}\nx\n'
    records = list(stage._read(documents([content], "t.jsonl", 0), None))
    assert [by_line(record) for record in records] == [1, 2, 5, 6, 7, 10, 11]


@pytest.mark.parametrize("batch_bytes", [1, 3000, 1 << 20])
def test_batches_are_bounded_and_change_nothing(tmp_path: Path, batch_bytes: int) -> None:
    lines = [f'{{"traceId": "{n}"}}' if n % 3 else "oops" for n in range(40)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "b.json").write_text('{"traceId": "b"}')
    batches = list(read_batches(find_inputs([str(tmp_path)]), "native", batch_bytes))
    assert [row.trace.traceId for batch in batches for row in batch.traces] == [
        *(str(n) for n in range(40) if n % 3),
        "b",
    ]
    assert [row.fault.line for batch in batches for row in batch.unreadable] == [n + 1 for n in range(0, 40, 3)]
    sizes = [len(batch.traces) + len(batch.unreadable) for batch in batches]
    assert max(sizes) == min(41, max(1, batch_bytes // 1024 + bool(batch_bytes % 1024)))
    assert 0 not in sizes


def test_garbage_is_collected_again_between_batches(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n{}\n")
    assert [gc.isenabled() for _ in read_batches(find_inputs([str(tmp_path)]), batch_bytes=1)] == [True, True]
    assert gc.isenabled()


def test_one_file_can_be_read_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"traceId": "a"}\n7\n')
    [file] = find_inputs([str(tmp_path)]).files
    trace, fault = read_file(file, formats().get("native"))
    assert isinstance(trace, ReadTrace)
    assert isinstance(fault, Unreadable)
    assert (trace.trace.traceId, trace.root, fault.fault.line) == ("a", 0, 2)


def test_a_document_carries_its_place_to_the_trace() -> None:
    [record] = formats().get("native").read([Document(b"{}", "a/b.jsonl", 7, 2)])
    assert isinstance(record, ReadTrace)
    assert (record.file, record.line, record.root) == ("a/b.jsonl", 7, 2)
