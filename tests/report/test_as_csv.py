"""`cases.csv` as a spreadsheet reads it."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given, settings

import pipeline
from pipeline.report.as_csv import CELL_CHARACTERS, COLUMNS, Value, cell, render, text_cell
from pipeline.report.model import View
from tests.report.spoiled import HOSTILE, TEXTS, spoiled

FORMULA = tuple("=+-@＝＋－＠")


def rows(view: View, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(render(view).decode("utf-8-sig"), newline=""), delimiter=delimiter))


def test_one_row_per_case(golden_run: pipeline.Run) -> None:
    head, *cases = rows(golden_run.view)
    assert head == list(COLUMNS)
    assert [case[0] for case in cases] == [case.case_id for case in golden_run.report.cases]
    assert {len(case) for case in cases} == {len(COLUMNS)}


def test_a_row_says_what_the_report_says(golden_run: pipeline.Run) -> None:
    head, *cases = rows(golden_run.view)
    (case,) = [dict(zip(head, case, strict=True)) for case in cases if case[0] == "known-failure"]
    assert {name: value for name, value in case.items() if value} == {
        "caseId": "known-failure",
        "status": "failed",
        "knownFailure": "true",
        "knownReason": "the agent asks twice | until issue #7 is done",
        "failedChecks": "tool-call-budget",
        "reasons": "tool-call-budget: the run made 2 tool calls, over the limit of 1",
        "verdict": "PASS",
        "evidenceRatio": "1.0",
        "evidenceCovered": "searchLogs",
        "toolCallCount": "2",
        "trials": "1",
        "passedTrials": "0",
        "traceId": "t-known",
        "file": "known-failure.json",
        "question": "Is the known one known?",
    }


def test_its_form(golden_run: pipeline.Run) -> None:
    written = render(golden_run.view)
    assert written.startswith(b'\xef\xbb\xbf"caseId",')
    # Every line ends in CRLF, and no cell breaks one.
    assert written.count(b"\n") == written.count(b"\r\n") == len(golden_run.report.cases) + 1


def test_programs_read_it_too(golden_run: pipeline.Run) -> None:
    frame = pl.read_csv(render(golden_run.view))
    assert frame.columns == list(COLUMNS)
    columns = ["caseId", "toolCallCount", "durationMs", "keywordRatio", "knownFailure", "reasons"]
    assert frame.filter(pl.col("caseId").is_in(["missing", "passes"])).select(columns).rows() == [
        ("missing", None, None, None, False, golden_run.report.cases[6].reason),
        ("passes", 2, 8421.5, 0.5, False, ""),
    ]


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param('=HYPERLINK("https://e.example")', '\'=HYPERLINK("https://e.example")', id="formula"),
        pytest.param("+1", "'+1", id="plus"),
        pytest.param("-1", "'-1", id="minus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("＝1+1", "'＝1+1", id="full width"),
        pytest.param(" \t\r\n=1", "'=1", id="white space before it"),
        pytest.param("\u200b=1", "\\u200b=1", id="something invisible before it"),
        pytest.param("a; =1", "a; '=1", id="after what may separate cells"),
        pytest.param('a;"=1', "a;\"'=1", id="after a quote as well"),
        pytest.param(["a", "=1"], "a; '=1", id="in a list"),
        pytest.param("1 = 1", "1 = 1", id="no formula"),
        pytest.param("two\nlines", "two lines", id="lines"),
        pytest.param([], "", id="an empty list"),
    ],
)
def test_a_text(value: str | list[str], expected: str) -> None:
    assert text_cell(value) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param('say "=1"', '"say ""=1"""', id="quotes"),
        pytest.param("a,b", '"a,b"', id="a comma"),
        pytest.param("", '""', id="an empty text"),
        pytest.param(None, "", id="nothing"),
        pytest.param(0, "0", id="zero"),
        pytest.param(8421.5, "8421.5", id="a number"),
        pytest.param(False, "false", id="a truth value"),
    ],
)
def test_a_cell(value: Value, expected: str) -> None:
    assert cell(value) == expected


@given(HOSTILE)
def test_no_text_begins_a_formula_however_a_spreadsheet_cuts(text: str) -> None:
    assert not any(piece.lstrip(" ").startswith(FORMULA) for piece in text_cell(text).split(";"))


@pytest.mark.parametrize("piece", ["x", "\x1b", "\ue000", "\U000e0001", ";=", "=", " "])
def test_no_text_is_longer_than_a_spreadsheet_takes(piece: str) -> None:
    assert len(text_cell(piece * CELL_CHARACTERS)) <= CELL_CHARACTERS


@settings(max_examples=40)
@given(texts=TEXTS)
def test_no_text_changes_the_shape_of_the_table(golden_run: pipeline.Run, texts: list[str]) -> None:
    view = spoiled(golden_run.view, texts)
    table = rows(view)
    assert [len(row) for row in table] == [len(COLUMNS)] * (len(golden_run.report.cases) + 1)
    assert [row[0] for row in table[1:]] == [case.case_id for case in golden_run.report.cases]
    for row in rows(view, delimiter=";"):
        assert not any(piece.lstrip(' "').startswith(FORMULA) for piece in row)
