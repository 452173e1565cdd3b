"""One case opened: by a link, by a click, by the keys; and what stands there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.report.as_html import render

# What the fixture `open_report` is: tests are no package, and cannot import its type.
Open = Callable[..., Any]
GOLDEN = Path(__file__).parents[1] / "report" / "golden"


def test_a_deep_link_opens_its_case(open_report: Open, regressed_html: bytes) -> None:
    report = open_report(regressed_html, "#case=insufficient-evidence-degraded")
    assert report.page.inner_text("#case-title") == "insufficient-evidence-degraded"
    assert not report.page.is_visible("#overview")
    assert report.page.evaluate("document.activeElement.id") == "case-title"


def test_the_leaked_sentence_is_marked_in_the_answer(open_report: Open, regressed_html: bytes) -> None:
    report = open_report(regressed_html, "#case=insufficient-evidence-degraded")
    assert report.page.locator(".answer mark.mark-leak").all_inner_texts() == [
        "!切换期间 coupon-service 的连接池无法重建连接，因此对外返回 503"
    ]


def test_a_keyword_is_marked_where_it_stands_as_it_was_written(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html, "#case=passes")
    marked = report.page.locator(".answer mark.mark-found").all_inner_texts()
    assert [text.removeprefix("✓") for text in marked] == ["connection pool", "exhausted"]


def test_every_part_is_there(open_report: Open, regressed_html: bytes) -> None:
    report = open_report(regressed_html, "#case=mysql-connection-pool-exhausted")
    assert report.page.locator("#case h3").evaluate_all("all => all.map((one) => one.firstChild.textContent)") == [
        "Why it failed",
        "Since the baseline",
        "Answer",
        "Keywords",
        "Required evidence",
        "Trace",
        "Tool calls",
        "Audit chain",
        "Other checks",
    ]
    assert "queryMysqlStatus\nnever called" in report.page.inner_text("#case")
    assert report.page.locator(".chain h4").all_inner_texts() == [
        "Executor",
        "Gatekeeper",
        "Verifier",
        "Composer",
        "Answer",
    ]


def test_a_failed_call_is_open(open_report: Open, regressed_html: bytes) -> None:
    report = open_report(regressed_html, "#case=mysql-connection-pool-exhausted")
    opened = report.page.locator(".call details[open] .tool").all_inner_texts()
    assert opened == ["queryTraces"]
    assert report.page.is_visible("text=upstream request timeout after 5000 ms")


def test_back_leads_to_the_table_as_it_was(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.select_option("#status", "failed")
    report.page.click("#table a.case-id >> text=leaks")
    report.page.go_back()
    assert report.page.is_visible("#table")
    assert report.ids() == ["fails", "hostile", "leaks", "trials"]
    assert report.page.evaluate("document.activeElement.textContent") == "leaks"


def test_previous_and_next_follow_the_table(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.select_option("#status", "failed")
    report.page.click("#table a.case-id >> text=fails")
    report.page.click(".case-bar a[rel=next]")
    assert report.page.inner_text("#case-title") == "hostile"
    report.page.click(".case-bar a[rel=prev]")
    assert report.page.inner_text("#case-title") == "fails"


def test_another_trial_can_be_opened(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html, "#case=trials")
    shown = report.page.inner_text(".trials b")
    other = report.page.locator(".trials a").first
    name = other.inner_text()
    other.click()
    assert report.page.inner_text(".trials b") == name != shown
    assert report.page.url.endswith(f"#case=trials&trial={name.removeprefix('trial ')}")


@pytest.mark.parametrize(
    "case, words",
    [
        pytest.param("broken", "text is due here, not number 7", id="in error"),
        pytest.param("missing", "its trace fixture missing.json was not found", id="not run"),
    ],
)
def test_a_case_that_was_not_judged_says_why(open_report: Open, golden_html: bytes, case: str, words: str) -> None:
    report = open_report(golden_html, f"#case={case}")
    assert "Why it was not judged" in report.page.inner_text("#case")
    assert words in report.page.inner_text("#case")


def test_a_mistyped_link_suggests_the_case(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html, "#case=hostle")
    assert report.page.inner_text("#case-title") == "No such case"
    report.page.click("#case li a >> text=hostile")
    assert report.page.inner_text("#case-title") == "hostile"


def test_half_an_address_is_no_error(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html, "#case=%E6%9")
    assert report.page.inner_text("#case-title") == "No such case"


def test_a_run_without_text_says_what_cannot_be_shown(open_report: Open) -> None:
    run = pipeline.evaluate(GOLDEN / "cases.yaml", GOLDEN / "traces", with_text=False)
    report = open_report(render(run.view), "#case=fails")
    assert report.page.inner_text("#case").count("left out of this run (--no-text)") >= 2


def test_the_keys(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    keys = report.page.keyboard
    keys.press("j")
    keys.press("j")
    keys.press("j")
    keys.press("k")
    keys.press("Enter")
    # A change of address is told to the page a moment after the key.
    report.page.wait_for_selector('#case-title:text-is("hostile")')
    assert report.page.inner_text("#case-title") == "hostile"
    keys.press("j")
    report.page.wait_for_selector('#case-title:text-is("leaks")')
    assert report.page.inner_text("#case-title") == "leaks"
    keys.press("Escape")
    report.page.wait_for_selector("#table", state="visible")
    assert report.page.is_visible("#table")
    keys.press("/")
    keys.type("jk")
    assert report.page.input_value("#q") == "jk"
    assert report.ids() == []


def test_the_first_tab_skips_to_the_cases(open_report: Open, golden_html: bytes) -> None:
    report = open_report(golden_html)
    report.page.keyboard.press("Tab")
    report.page.keyboard.press("Enter")
    assert report.page.evaluate("document.activeElement.id") == "cases"
    assert len(report.ids()) == 9
