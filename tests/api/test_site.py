"""The site is built without a warning, offline, and asks nothing of the network of whoever reads it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import site_hooks
from tools.command import plain_environment

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"""(?:\bsrc=|<link[^>]*\bhref=|@import\s+|\burl\()["']?((?:https?:)?//[^"')>\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link, a lost anchor and a page outside the navigation are errors."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = {
        page.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README", "index")
        for page in (ROOT / "docs").rglob("*.md")
    }
    built = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}

    assert built == {*pages, "contributing.html", "404.html"}


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    files = [file for file in site.rglob("*") if file.suffix in {".html", ".css"}]
    fetched = {
        f"{file.relative_to(site)}: {address}" for file in files for address in FETCHED.findall(file.read_text("utf-8"))
    }
    assert fetched == set()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<script src="https://cdn.example/x.js">', id="a script"),
        pytest.param("<img src='//cdn.example/x.png'>", id="a picture without a scheme"),
        pytest.param('<link rel="stylesheet" href="https://cdn.example/x.css">', id="a style sheet"),
        pytest.param("@font-face {src: url(https://cdn.example/x.woff2)}", id="a font"),
        pytest.param('@import "https://cdn.example/x.css";', id="an import"),
    ],
)
def test_what_would_be_fetched_is_seen(text: str) -> None:
    assert [address.removeprefix("https:") for address in FETCHED.findall(text)] != []


def test_the_order_is_the_newcomers(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    places = ["First run", "Your own cases", "Your own traces", "In CI", "In notebooks", "At scale", "Reference"]
    navigation = page[page.index("<nav" if "<nav" in page else "navbar-nav") :]
    found = [navigation.index(f">{place}<") if f">{place}<" in navigation else -1 for place in places]

    assert -1 not in found
    assert found == sorted(found)


def test_contributing_is_a_page_and_is_linked(site: Path) -> None:
    assert 'href="../contributing.html#adding-a-check"' in (site / "eval/checks.html").read_text("utf-8")
    assert 'href="eval/checks.html"' in (site / "contributing.html").read_text("utf-8")


def test_bars_in_code_are_bars() -> None:
    html = "<td><code>a \\| b</code> \\| c</td><p><code>d \\| e</code></p>"
    assert site_hooks.on_page_content(html) == "<td><code>a | b</code> \\| c</td><p><code>d \\| e</code></p>"
