"""Reports in a real browser: what the golden run and the run with planted faults look like to the people who get them.

Without Chromium on this machine these tests are skipped, and say so; the tests of the file itself are not.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl
import pytest

import pipeline
from pipeline.diff import diff
from pipeline.report.as_html import render
from pipeline.report.model import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "report" / "golden"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MANY = 10_000


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no chromium on this machine; name one in the environment variable CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A report in a browser, and everything that it did which it should not have done."""

    def __init__(self, page: "Page", url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog: "Dialog") -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def ids(self) -> list[str]:
        """The cases in the table, from top to bottom."""
        return self.page.locator("#table tbody a.case-id").all_inner_texts()


Open = Callable[..., Opened]


@pytest.fixture
def open_report(chromium: "Browser", tmp_path: Path) -> Iterator[Open]:
    """Open a report's bytes at an address within it, as wide and in such colours as asked for."""
    opened: list[Opened] = []

    def open_it(html: bytes, address: str = "", *, width: int = 1280, dark: bool = False) -> Opened:
        file = tmp_path / "report.html"
        file.write_bytes(html)
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(10_000)
        one = Opened(context.new_page(), f"{file.as_uri()}{address}")
        one.page.goto(one.url)
        opened.append(one)
        return one

    yield open_it
    for one in opened:
        # Whatever a test looked for: nothing went wrong beside it, and nothing was loaded.
        assert one.faults == []
        assert {request.partition("#")[0] for request in one.requests} == {one.url.partition("#")[0]}
        one.page.context.close()


@pytest.fixture(scope="session")
def golden() -> pipeline.Run:
    """Every status, trials, odd inputs, and an answer full of tricks."""
    return pipeline.evaluate(GOLDEN / "cases.yaml", GOLDEN / "traces")


@pytest.fixture(scope="session")
def golden_html(golden: pipeline.Run) -> bytes:
    return render(golden.view)


@pytest.fixture(scope="session")
def regressed_html() -> bytes:
    """The run with planted faults, against the good one."""
    good = pipeline.evaluate(ROOT / "cases", ROOT / "fixtures" / "traces")
    bad = pipeline.evaluate(ROOT / "cases", ROOT / "fixtures" / "regressed")
    return render(build(bad.snapshot, diff(good.snapshot, bad.snapshot)))


@pytest.fixture(scope="session")
def many_html(golden: pipeline.Run) -> bytes:
    """Ten thousand cases, every tenth of them failed."""
    rows = golden.snapshot.rows.collect()
    passed, failed = rows.filter(case_id="passes"), rows.filter(case_id="fails")
    numbers = pl.DataFrame({"number": range(MANY)}).with_columns(
        new_id=pl.format("incident-{}", pl.col("number").cast(pl.String).str.zfill(5))
    )
    copies = [
        numbers.filter((pl.col("number") % 10 == 0) == is_failed).join(row.drop("case_id"), how="cross")
        for is_failed, row in ((True, failed), (False, passed))
    ]
    made = pl.concat(copies).sort("number").rename({"new_id": "case_id"}).select(rows.columns)
    return render(build(msgspec.structs.replace(golden.snapshot, rows=made.lazy())))
