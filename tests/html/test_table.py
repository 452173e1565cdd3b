"""The table of cases: searching, filtering, sorting, paging, and addresses that keep what was chosen."""

from collections.abc import Callable
from typing import Any

import pytest

# What the fixture `open_report` is: tests are no package, and cannot import its type.
Open = Callable[..., Any]

GOLDEN_IDS = [
    "broken",
    "enough-trials",
    "fails",
    "hostile",
    "known-failure",
    "leaks",
    "missing",
    "passes",
    "trials",
]


def test_all_cases_are_there_the_worst_first(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    expected = [
        "fails",
        "hostile",
        "leaks",
        "trials",
        "broken",
        "missing",
        "known-failure",
        "enough-trials",
        "passes",
    ]
    assert report.ids() == expected
    assert report.page.inner_text("#shown") == "9 cases"


@pytest.mark.parametrize(
    "field, value, expected",
    [
        pytest.param("status", "failed", ["fails", "hostile", "leaks", "trials"], id="status"),
        pytest.param("status", "bad", ["fails", "hostile", "leaks", "trials", "broken", "missing"], id="not passed"),
        pytest.param("status", "known", ["known-failure"], id="known failures"),
        pytest.param("check", "evidence-coverage", ["fails", "hostile"], id="failed check"),
        pytest.param("verdict", "REJECT", ["leaks"], id="verdict"),
        pytest.param("verdict", "(none)", ["broken", "missing"], id="no verdict"),
        pytest.param("tag", "v2", ["passes"], id="tag"),
    ],
)
def test_a_filter(open_report: Open, golden_html: bytes, field: str, value: str, expected: list[str]) -> None:
    report = open_report(golden_html)
    report.page.select_option(f"#{field}", value)
    assert report.ids() == expected
    assert report.page.inner_text("#shown") == f"{len(expected)} of 9 cases"


def test_the_change_since_the_baseline_is_a_filter(open_report: Open, regressed_html: bytes) -> None:
    report = open_report(regressed_html)
    report.page.select_option("#change", "improvement")
    assert report.ids() == ["network-partition-tool-budget"]


def test_without_a_baseline_there_is_no_such_filter(open_report: Open, golden_html: bytes) -> None:
    assert not open_report(golden_html).page.is_visible("#change")


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param("TRIALS", ["trials", "enough-trials"], id="in the id, in any case"),
        pytest.param("支付接口", ["fails"], id="in the question"),
        pytest.param("unverified answer", ["leaks"], id="in the reason"),
        pytest.param("rejected leak", ["leaks"], id="every word, in any order"),
        pytest.param("no such thing", [], id="nowhere"),
    ],
)
def test_a_search(open_report: Open, golden_html: bytes, words: str, expected: list[str]) -> None:
    report = open_report(golden_html)
    report.page.fill("#q", words)
    assert report.ids() == expected


def test_sorting_by_a_column_and_back(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.click("#table thead button >> text=Case")
    assert report.ids() == GOLDEN_IDS
    assert report.page.get_attribute("#table thead th:nth-child(2)", "aria-sort") == "ascending"
    report.page.click("#table thead button >> text=Case")
    assert report.ids() == GOLDEN_IDS[::-1]
    assert report.page.get_attribute("#table thead th:nth-child(2)", "aria-sort") == "descending"


@pytest.mark.parametrize("way", ["calls", "-calls"])
def test_what_is_unknown_comes_last_in_either_order(open_report: Open, golden_html: bytes, way: str) -> None:
    report = open_report(golden_html)
    report.page.select_option("#sort", way)
    assert report.page.locator("#table tbody td[data-name=Calls]").last.inner_text().split()[-1] == "–"


def test_the_address_keeps_what_was_chosen(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.select_option("#status", "failed")
    report.page.fill("#q", "does it")
    # As the page has it: what the driver knows of the address comes later.
    address = report.page.evaluate("location.hash")
    assert address == "#q=does%20it&status=failed"
    again = open_report(golden_html, address)
    assert again.ids() == ["leaks", "trials"]
    assert again.page.input_value("#q") == "does it"
    again.page.click("#reset")
    assert len(again.ids()) == 9


def test_a_bar_of_a_distribution_filters_the_table(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.click(".bars a >> text=tool-call-budget")
    assert sorted(report.ids()) == ["fails", "known-failure"]


def test_ten_thousand_cases_are_a_page_of_rows_at_a_time(open_report: Open, many_html: bytes) -> None:
    report = open_report(many_html)
    assert report.page.inner_text("#shown") == "10,000 cases"
    assert len(report.ids()) == 100
    assert report.page.inner_text("#page") == "1–100 of 10,000"
    report.page.click("#forth")
    assert report.page.inner_text("#page") == "101–200 of 10,000"
    report.page.fill("#q", "incident-09999")
    assert report.ids() == ["incident-09999"]
    report.page.click("#table a.case-id")
    assert report.page.inner_text("#case-title") == "incident-09999"
    assert report.page.locator(".answer mark").count() > 0


def test_of_ten_thousand_cases_the_list_above_names_the_first(open_report: Open, many_html: bytes) -> None:
    report = open_report(many_html)
    report.page.click("text=… and 960 more cases, in the table")
    assert report.page.inner_text("#shown") == "1,000 of 10,000 cases"
