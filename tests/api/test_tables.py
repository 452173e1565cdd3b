"""Tables of a small run: what stands in their cells, and that hostile text stays text."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline as de
from tests.snapshot.made import judged, not_run
from tests.snapshot.made import snapshot as made

if TYPE_CHECKING:
    from great_tables import GT

Row = list[str]
OF_A_RUN: dict[str, Callable[..., "GT"]] = {
    "summary": de.tables.summary,
    "cases": de.tables.cases,
    "failures": de.tables.failures,
    "verdicts": de.tables.verdict_distribution,
}
LIMITED = [name for name in OF_A_RUN if name != "summary"]


class Page(HTMLParser):
    """The rows of a table, and the tags that it is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.tags: set[str] = set()
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - the base class names it
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"} and self._text is not None:
            self.rows[-1].append("".join(self._text))
            self._text = None


def read(table: "GT") -> Page:
    page = Page()
    page.feed(table.as_raw_html())
    return page


def rows(table: "GT") -> list[Row]:
    return read(table).rows


def test_summary(snapshot: de.Snapshot) -> None:
    assert rows(de.tables.summary(snapshot)) == [
        ["small"],
        ["Figure", "Value"],
        ["Pass rate", "20 % (1 of 5)"],
        ["Failed", "2"],
        ["In error", "1"],
        ["Not run", "1"],
        ["Known failures", "1"],
        ["Traces judged", "4"],
        ["Traces of no case", "1"],
        ["Unreadable records", "1"],
        ["Input warnings", "1"],
        ["Average tool calls", "2 (of 2 traces)"],
        ["Duration, average", "1,343.33 ms (of 3 traces)"],
        ["Duration, p50", "20 ms"],
        ["Duration, p95", "4,000 ms"],
    ]


def test_cases_begin_with_what_did_not_pass(snapshot: de.Snapshot) -> None:
    unreadable = "$.finalAnswer: text is due here, not number 7: correct what writes it"
    no_trace = (
        "no trace is of this case: it names no traceFixture, no trace has caseId missing, and no file is named missing"
    )
    assert rows(de.tables.cases(snapshot)) == [
        ["Cases of small"],
        [
            "Case",
            "Status",
            "Verdict",
            "Failed checks",
            "Evidence",
            "Keywords",
            "Tool calls",
            "Duration",
            "Trials passed",
        ],
        ["broken", "in error", "–", unreadable, "–", "–", "–", "–", "0 of 1"],
        ["missing", "not run", "–", f"{no_trace}.json; one…", "–", "–", "–", "–", "0 of 0"],
        ["leak", "failed", "PASS", "root-cause-keywords, evidence-coverage", "50 %", "50 %", "1", "–", "0 of 1"],
        ["trials", "failed (known)", "PASS", "duration-budget", "–", "–", "–", "20 ms", "1 of 2"],
        ["pool", "passed", "PASS", "–", "100 %", "100 %", "3", "4,000 ms", "1 of 1"],
    ]


def test_failures_hide_nothing(snapshot: de.Snapshot) -> None:
    title, head, *found = rows(de.tables.failures(snapshot))

    assert (title, head) == (
        ["Failures of small"],
        ["Case", "Trial", "Check", "What was found", "Expected", "Observed"],
    )
    assert [row[:3] for row in found] == [
        ["leak", "1", "evidence-coverage"],
        ["leak", "1", "root-cause-keywords"],
        ["trials", "2", "duration-budget"],
        ["broken", "1", "(unreadable)"],
        ["missing", "–", "(not run)"],
    ]
    assert found[0][3:] == [
        "required tool searchLogs was neither called nor summarised; called: redisInfo (1)",
        "searchLogs",
        "called: redisInfo (1)",
    ]
    assert found[3][3:] == ["$.finalAnswer: text is due here, not number 7: correct what writes it", "–", "–"]


def test_verdicts_are_the_most_frequent_first_and_the_absent_one_last() -> None:
    run = made(
        judged("a", verdict=None), judged("b", verdict=None), judged("c", verdict="REJECT"), judged("d", verdict="PASS")
    )
    assert rows(de.tables.verdict_distribution(run)) == [
        ["Verdicts of demo"],
        ["Verdict", "Traces", "Share"],
        ["PASS", "1", "25 %"],
        ["REJECT", "1", "25 %"],
        ["(none)", "2", "50 %"],
    ]


def test_diff() -> None:
    before = made(judged("a", covered=["t"], calls=4), judged("b"))
    now = made(judged("a", failed=["x"], missing=["t"], calls=5), judged("b", verdict="REJECT"))

    assert rows(de.tables.diff(de.diff(before, now))) == [
        ["4 regressions, 0 improvements, 3 other changes"],
        ["Severity", "Kind", "Case", "Tool or check", "Baseline", "Current", "What to look at"],
        ["regression", "case-status", "a", "–", "passed", "failed", "the case a passed before and failed now"],
        ["regression", "check", "a", "x", "holds", "fails", "x of a in trial 1"],
        [
            "regression",
            "evidence-coverage",
            "a",
            "t",
            "covered",
            "uncovered",
            "the required tool t is no longer covered in case a: look at its tool calls",
        ],
        ["regression", "pass-rate", "–", "–", "1", "0.5", "the pass rate fell from 2 of 2 to 1 of 2 cases"],
        ["change", "tool-calls", "–", "–", "4", "4.5", "the average of tool calls per trace went from 4 to 4.5"],
        ["change", "verdict-distribution", "–", "–", "2", "1", "traces with verdict PASS went from 2 to 1"],
        ["change", "verdict-distribution", "–", "–", "0", "1", "traces with verdict REJECT went from 0 to 1"],
    ]


def test_a_long_table_says_what_it_leaves_out(snapshot: de.Snapshot) -> None:
    assert [row[0] for row in rows(de.tables.cases(snapshot, rows=2))[2:]] == ["broken", "missing", "and 3 more"]
    assert [row[0] for row in rows(de.tables.failures(snapshot, rows=4))[2:]] == ["leak"] * 2 + [
        "trials",
        "broken",
        "and 1 more",
    ]
    nothing = made(not_run("a"))
    assert rows(de.tables.verdict_distribution(nothing))[2:] == []


def test_a_long_diff_says_what_it_leaves_out() -> None:
    before, now = made(judged("a"), judged("b")), made(judged("a", failed=["x"]), judged("b"))

    assert [row[:2] for row in rows(de.tables.diff(de.diff(before, now), rows=1))[2:]] == [
        ["regression", "case-status"],
        ["and 2 more"],
    ]


@pytest.mark.parametrize("name", OF_A_RUN)
def test_the_same_run_gives_the_same_bytes_under_a_fixed_id(name: str, snapshot: de.Snapshot) -> None:
    one, other = (OF_A_RUN[name](snapshot).as_raw_html() for _ in range(2))

    assert one == other
    assert re.findall(r'<div id="([^"]*)"', one) == [f"diagnosis-eval-{name}"]


@pytest.mark.parametrize("name", OF_A_RUN)
def test_hostile_text_stays_text(name: str, hostile: de.Snapshot) -> None:
    page = read(OF_A_RUN[name](hostile))
    cells = [cell for row in page.rows for cell in row]

    assert page.tags <= {"div", "style", "table", "thead", "tbody", "tfoot", "tr", "td", "th"}
    assert any('<script>alert("1")</script> | **a**' in cell for cell in cells)
    assert [cell for cell in cells if not cell.isprintable()] == []


@given(text=st.text(min_size=1))
@settings(max_examples=30, deadline=None)
def test_whatever_a_cell_holds_the_table_keeps_its_shape(text: str) -> None:
    run = made(judged("a", failed=[text], message=text, verdict=text))
    page = read(de.tables.failures(run))

    assert [len(row) for row in page.rows] == [1, 6, 6]
    assert page.tags == {"div", "style", "table", "thead", "tbody", "tr", "td", "th"}
    assert all(cell.isprintable() for cell in page.rows[2])
