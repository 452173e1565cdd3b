"""Which case a trace belongs to (contract section 2, "Which case")."""

from typing import Any, NamedTuple

import polars as pl
import pytest

from pipeline import schemas
from pipeline.assign import Assigned, assign, targets
from pipeline.cases.model import Case
from pipeline.errors import Fault
from pipeline.flatten.traces import flatten_traces
from pipeline.sources.base import ReadTrace, Trace, Unreadable


class Record(NamedTuple):
    """A trace that was read: where it stands, and what it says of its case."""

    file: str
    line: int | None = None
    case_id: str | None = None
    trace_id: str | None = None


class Broken(NamedTuple):
    """A record that could not be read."""

    file: str
    line: int | None = None


def assigned(cases: dict[str, str | None], *records: Record | Broken, selected: set[str] | None = None) -> Assigned:
    """Assign records to cases, given by id and fixture; all cases are selected unless said otherwise."""
    suite = [Case(id=name, question="Why?", trace_fixture=fixture) for name, fixture in cases.items()]
    chosen = suite if selected is None else [case for case in suite if case.id in selected]
    traces = [
        ReadTrace(trace=Trace(caseId=one.case_id, traceId=one.trace_id), file=one.file, line=one.line, root=0)
        for one in records
        if isinstance(one, Record)
    ]
    faults = [Fault(file=one.file, line=one.line, message="broken") for one in records if isinstance(one, Broken)]
    frames = flatten_traces(traces, [Unreadable(fault=fault, root=0) for fault in faults])
    return assign(frames, targets(suite, chosen))


# name, fixture by case id, record, the cases it is judged by
ONE_RECORD: list[tuple[str, dict[str, str | None], Record, list[str]]] = [
    ("a fixture that names the file", {"a": "x.json"}, Record("x.json"), ["a"]),
    ("a fixture in a folder", {"a": "sub/x.json"}, Record("sub/x.json"), ["a"]),
    ("a fixture written with a dot", {"a": "./sub//x.json"}, Record("sub/x.json"), ["a"]),
    ("a fixture in another folder", {"a": "sub/x.json"}, Record("x.json"), []),
    ("a fixture that is a line file names all its lines", {"a": "x.jsonl"}, Record("x.jsonl", 7), ["a"]),
    ("two cases may share a fixture", {"a": "x.json", "b": "x.json"}, Record("x.json"), ["a", "b"]),
    ("a fixture and a caseId that agree", {"a": "x.json"}, Record("x.json", case_id="a"), ["a"]),
    ("a fixture goes before the stem", {"a": "b.json", "b": None}, Record("b.json"), ["a"]),
    ("the caseId where no fixture names the file", {"a": "other.json"}, Record("x.json", case_id="a"), ["a"]),
    ("the caseId goes before the stem", {"a": None, "b": None}, Record("b.json", case_id="a"), ["a"]),
    ("an unknown caseId is not saved by the stem", {"b": None}, Record("b.json", case_id="unheard-of"), []),
    ("a blank caseId says nothing", {"b": None}, Record("b.json", case_id=" "), ["b"]),
    ("a caseId is compared exactly", {"a": None}, Record("x.json", case_id="A"), []),
    ("the stem of a file", {"a": None}, Record("sub/folder/a.json"), ["a"]),
    ("the stem of a compressed file", {"a": None}, Record("a.json.zst"), ["a"]),
    ("the stem of another compressed file", {"a": None}, Record("a.json.gz"), ["a"]),
    ("the stem where the extension is in capitals", {"a": None}, Record("a.JSON.Gz"), ["a"]),
    ("a stem with dots", {"a.b-c": None}, Record("a.b-c.json"), ["a.b-c"]),
    ("a stem is compared exactly", {"a": None}, Record("A.json"), []),
    ("the stem of a line file says nothing", {"a": None}, Record("a.jsonl", 1), []),
    ("one of several documents in a .json file", {"a": None}, Record("a.json", 3), ["a"]),
    ("a line with a caseId", {"a": None}, Record("runs.jsonl", 3, "a"), ["a"]),
    ("a folder is no stem", {"a": None}, Record("a/x.json"), []),
]


@pytest.mark.parametrize("cases, record, expected", [row[1:] for row in ONE_RECORD], ids=[row[0] for row in ONE_RECORD])
def test_a_trace_belongs_to(cases: dict[str, str | None], record: Record, expected: list[str]) -> None:
    found = assigned(cases, record)
    assert expected == found.rows["case_id"].to_list()
    assert found.unmatched.height == (0 if expected else 1)
    assert found.errors.is_empty()


def test_rows_are_numbered_by_trace_and_case() -> None:
    found = assigned(
        {"b": "shared.json", "a": "shared.json", "c": None},
        Record("c.json"),
        Record("shared.json"),
        Record("nobody.json"),
        Record("runs.jsonl", 1, "c"),
    )
    expected = [(0, 0, "c"), (1, 1, "a"), (2, 1, "b"), (3, 3, "c")]
    assert expected == found.rows.select("row", "trace", "case_id").rows()


def test_a_trace_of_no_case_is_listed_with_what_it_says() -> None:
    found = assigned({"a": None}, Record("runs.jsonl", 4, "gone", "t-1"), Record("x.json"))
    assert found.unmatched.rows() == [("runs.jsonl", 4, "t-1", "gone"), ("x.json", None, None, None)]


def test_a_trace_of_a_case_that_was_left_out_is_neither_judged_nor_listed() -> None:
    found = assigned(
        {"a": "x.json", "b": None, "c": None},
        Record("x.json"),
        Record("runs.jsonl", 1, "b"),
        Record("c.json"),
        selected={"c"},
    )
    assert found.rows["case_id"].to_list() == ["c"]
    assert found.unmatched.is_empty()
    assert found.errors.is_empty()


def error(found: Assigned, *names: str) -> list[tuple[Any, ...]]:
    return found.errors.select("file", "line", "case_id", *names).rows()


def test_a_fixture_of_another_case_is_an_error_of_the_case_that_names_it() -> None:
    found = assigned({"a": "x.json", "b": None}, Record("x.json", case_id="b"))
    assert found.rows.is_empty()
    assert found.unmatched.is_empty()
    [row] = found.errors.rows(named=True)
    assert row == {
        "file": "x.json",
        "line": None,
        "path": "$.caseId",
        "expected": "a",
        "found": "b",
        "message": "the case a names this fixture, but the trace says it is of case b: correct caseId or traceFixture",
        "case_id": "a",
    }


def test_of_two_cases_that_share_a_fixture_the_wrong_one_is_in_error() -> None:
    found = assigned({"a": "x.jsonl", "b": "x.jsonl"}, Record("x.jsonl", 2, "b"))
    assert found.rows["case_id"].to_list() == ["b"]
    assert error(found, "path") == [("x.jsonl", 2, "a", "$.caseId")]


def test_a_case_left_out_has_no_contradiction() -> None:
    found = assigned({"a": "x.json", "b": None}, Record("x.json", case_id="b"), selected={"b"})
    assert found.rows.is_empty()
    assert found.errors.is_empty()
    assert found.unmatched.is_empty()


def test_a_hostile_case_id_is_quoted() -> None:
    found = assigned({"a": "x.json"}, Record("x.json", case_id="\x1b[31m" + "z" * 9999))
    [(_, _, _, quoted)] = error(found, "found")
    assert quoted == "\\x1b[31m" + "z" * 155 + "… (10004 characters)"


# name, fixture by case id, record, the cases whose error it is
ONE_ERROR: list[tuple[str, dict[str, str | None], Broken, list[str | None]]] = [
    ("the fixture of a case", {"a": "x.json"}, Broken("x.json"), ["a"]),
    ("a line of a fixture", {"a": "x.jsonl"}, Broken("x.jsonl", 3), ["a"]),
    ("the fixture of two cases", {"a": "x.json", "b": "x.json"}, Broken("x.json"), ["a", "b"]),
    ("a fixture goes before the stem", {"a": "b.json", "b": None}, Broken("b.json"), ["a"]),
    ("the stem of a file", {"a": None}, Broken("sub/a.json.gz"), ["a"]),
    ("the stem of a line file says nothing", {"a": None}, Broken("a.jsonl", 1), [None]),
    ("nobody's", {"a": None}, Broken("x.json"), [None]),
]


@pytest.mark.parametrize("cases, record, expected", [row[1:] for row in ONE_ERROR], ids=[row[0] for row in ONE_ERROR])
def test_what_cannot_be_read_is_an_error_of(
    cases: dict[str, str | None], record: Broken, expected: list[str | None]
) -> None:
    found = assigned(cases, record)
    assert [(record.file, record.line, case_id) for case_id in expected] == error(found)
    assert found.rows.is_empty()


def test_what_cannot_be_read_of_a_case_left_out_is_dropped_and_nobodys_is_kept() -> None:
    found = assigned(
        {"a": "x.json", "b": None, "c": None},
        Broken("x.json"),
        Broken("b.json"),
        Broken("c.json"),
        Broken("nobody.jsonl", 5),
        selected={"c"},
    )
    assert error(found) == [("c.json", None, "c"), ("nobody.jsonl", 5, None)]


def test_errors_come_in_the_order_read_and_contradictions_last() -> None:
    found = assigned(
        {"a": "x.json", "b": None},
        Record("x.json", case_id="b"),
        Broken("z.jsonl", 9),
        Broken("b.json"),
    )
    assert error(found) == [("z.jsonl", 9, None), ("b.json", None, "b"), ("x.json", None, "a")]


def test_nothing_gives_empty_frames_of_the_same_columns() -> None:
    found = assigned({"a": "x.json"})
    some = assigned({"a": "x.json"}, Record("x.json", case_id="b"), Record("y.json"), Record("runs.jsonl", 1, "a"))
    for name in ("rows", "errors", "unmatched"):
        frame: pl.DataFrame = getattr(found, name)
        assert frame.is_empty()
        assert getattr(some, name).schema == frame.schema
    assert found.errors.drop("case_id").schema == schemas.empty(schemas.Errors).schema
