"""For everyone: on a phone, in the dark, on paper, with a screen reader."""

from collections.abc import Callable
from typing import Any

import pytest

# What the fixture `open_report` is: tests are no package, and cannot import its type.
Open = Callable[..., Any]

# Wide enough for none of it to be cut off, down to the narrowest phone in use.
WIDTHS = [1280, 390, 360]
ADDRESSES = {"overview": "", "case": "#case=mysql-connection-pool-exhausted", "leak": "#case=redis-hot-key"}


def violations(report: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    found = axe.Axe().run(report.page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary'][:300]}" for one in found for node in one["nodes"][:5]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_axe_finds_nothing_and_nothing_is_cut_off(
    open_report: Open, regressed_html: bytes, address: str, width: int, dark: bool
) -> None:
    report = open_report(regressed_html, address, width=width, dark=dark)
    assert violations(report) == []
    assert report.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("case", ["hostile", "fails", "broken", "missing", "trials", "known-failure"])
def test_axe_finds_nothing_in_any_kind_of_case(open_report: Open, golden_html: bytes, case: str) -> None:
    assert violations(open_report(golden_html, f"#case={case}")) == []


def test_the_page_has_its_landmarks_and_one_main_heading(open_report: Open, golden_html: bytes) -> None:
    page = open_report(golden_html).page
    assert [page.locator(name).count() for name in ("body > header", "main", "body > footer", "h1")] == [1, 1, 1, 1]


def test_the_dark_is_dark(open_report: Open, golden_html: bytes) -> None:
    grounds = [
        open_report(golden_html, dark=dark).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    ]
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 28)"]


def test_on_paper_everything_is_open_and_nothing_to_click(open_report: Open, golden_html: bytes) -> None:
    page = open_report(golden_html, "#case=fails", dark=True).page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#case details:not([open])").count() == 0
    assert not page.is_visible(".case-bar")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#case details:not([open])").count() > 0


def test_on_paper_the_table_has_more_than_a_page_of_the_screen(open_report: Open, many_html: bytes) -> None:
    report = open_report(many_html)
    report.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(report.ids()) == 2_000
    report.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(report.ids()) == 100


def test_without_a_script_what_failed_stands_there(chromium: Any, regressed_html: bytes, tmp_path: Any) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(regressed_html)
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    shown = page.inner_text("body")
    assert "25 regressions" in shown
    assert "required tool queryMysqlStatus was neither called nor summarised" in shown
    assert "Searching and opening cases needs JavaScript" in shown
    context.close()
