"""A `.json` file that holds several documents, one after the other, as exporters that append to it write."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.assign import assign, targets
from pipeline.cases.model import Case
from pipeline.errors import Fault
from pipeline.flatten.traces import flatten_traces
from pipeline.sources.base import ReadTrace

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def chat(answer: str) -> str:
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": answer}]
    return json.dumps({"messages": messages}, indent=1)


def answers(read: tuple[list[ReadTrace], list[Fault]]) -> list[str | None]:
    return [one.trace.finalAnswer for one in read[0]]


@pytest.mark.parametrize("from_format", ["auto", "openai-chat"])
def test_every_document_is_read_with_its_line(from_format: str, read: Read) -> None:
    traces, faults = read(f"\ufeff{chat('one')}\n\n{chat('two')}\n", "t.json", from_format)
    assert [(one.trace.finalAnswer, one.line) for one in traces] == [("one", 1), ("two", 14)]
    assert faults == []


def test_a_file_of_spans_is_one_trace_for_each_id(read: Read) -> None:
    sample = Path(__file__).parents[2] / "fixtures/formats/otel/e-console.jsonl"
    lines, _ = read(sample.read_bytes(), "t.jsonl")
    whole, faults = read(sample.read_bytes(), "t.json")
    assert faults == []
    assert [one.trace for one in whole] == [one.trace for one in lines]


def test_the_rest_is_read_where_the_last_one_is_cut_off(read: Read) -> None:
    found = read(f"{chat('one')}\n{chat('two')}\n{chat('three')[:40]}")
    assert answers(found) == ["one", "two"]
    assert [(fault.line, fault.expected) for fault in found[1]] == [(25, "a JSON object, on one line or several")]


# name, content
REFUSED: list[tuple[str, str]] = [
    ("native traces, of which a file holds one", '{"finalAnswer": "a"}\n{"finalAnswer": "b"}'),
    ("half a list", f"[\n{chat('one')},\n{chat('two')},\n"),
    ("half a document", chat("one")[:60]),
    ("text before it", f"log:\n{chat('one')}\n{chat('two')}"),
    ("documents of no format", '{"a": 1}\n{"b": 2}'),
    ("documents of a foreign format", '{"role": "user"}\n{"role": "user"}'),
]


@pytest.mark.parametrize("content", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_anything_else_is_refused_as_one_document(content: str, read: Read) -> None:
    traces, faults = read(content)
    assert (traces, [fault.line for fault in faults]) == ([], [None])


def test_one_document_that_needs_repair_stays_one(read: Read) -> None:
    traces, _ = read(chat("x").replace('"x"', '"x", "score": NaN'))
    assert [(one.trace.finalAnswer, one.line) for one in traces] == [("x", None)]


def test_its_name_still_tells_the_case(read: Read) -> None:
    traces, _ = read(f"{chat('one')}\n{chat('two')}", "pool.json")
    cases = [Case(id="pool", question="Why?")]
    assert assign(flatten_traces(traces), targets(cases, cases)).rows["case_id"].to_list() == ["pool", "pool"]


def test_a_real_file(shared_traces: Path, read: Read) -> None:
    path = shared_traces / "otel_genai/microsoft__assistant-pf-demo__spans.json"
    if not path.is_file():
        pytest.skip(f"{path.name} is not among the real traces on this machine")
    traces, faults = read(path.read_bytes(), path.name)
    assert (len(traces), faults) == (2, [])
    assert {(one.trace.finalAnswer or "")[:31] for one in traces} == {"It looks like you are testing t"}
