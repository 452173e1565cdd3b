"""The generated pages are in step with the code, and say something of everything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cases.model import CaseFile
from pipeline.judge import all_checks
from pipeline.sources.base import Trace
from tools import docs
from tools.cli_page import commands
from tools.excerpt import with_excerpt
from tools.frames_page import frames
from tools.structs import structs_below

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    return docs.pages()


def test_every_page_is_in_step(wanted: dict[str, str]) -> None:
    assert docs.out_of_step(wanted) == [], "run: make docs"


def test_pages_come_out_the_same_twice(wanted: dict[str, str]) -> None:
    assert docs.pages() == wanted


def test_a_changed_and_a_lost_page_are_named(wanted: dict[str, str], tmp_path: Path) -> None:
    for page, text in wanted.items():
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_bytes(text.encode())
    (tmp_path / "docs/eval/checks.md").write_text("edited by hand\n")
    (tmp_path / "docs/reference/cli.md").unlink()

    assert docs.out_of_step(wanted, tmp_path) == ["docs/eval/checks.md", "docs/reference/cli.md"]


def test_check_names_the_pages_and_what_to_run(
    wanted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "pages", lambda: {"docs/eval/checks.md": wanted["docs/eval/checks.md"]})
    monkeypatch.setattr(sys, "argv", ["docs", "--check"])

    assert docs.main() == 1
    assert capsys.readouterr().out == "Out of step with the code:\n  docs/eval/checks.md\nRun: make docs\n"
    assert list(tmp_path.iterdir()) == []


def test_writing_makes_the_check_pass(
    wanted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "pages", lambda: {"docs/eval/checks.md": wanted["docs/eval/checks.md"]})
    monkeypatch.setattr(sys, "argv", ["docs"])

    assert docs.main() == 0
    assert capsys.readouterr().out == "wrote docs/eval/checks.md\n"
    assert docs.out_of_step({"docs/eval/checks.md": wanted["docs/eval/checks.md"]}, tmp_path) == []


def test_the_readme_has_one_place_for_the_excerpt() -> None:
    with pytest.raises(LookupError, match=r"the README has 0 places for the excerpt of a report, not 1"):
        with_excerpt("# diagnosis-eval\n", ROOT)


def test_the_module_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_every_check_has_a_row_and_a_section(wanted: dict[str, str]) -> None:
    page = wanted["docs/eval/checks.md"]
    lacking = [
        check.name
        for check in all_checks()
        if f"| [`{check.name}`](#" not in page or f"\n## {check.name}\n" not in page
    ]
    assert lacking == []


def test_every_check_says_why_it_matters_and_shows_a_pass_and_a_fail() -> None:
    lacking = [
        check.name
        for check in all_checks()
        if not all(part in check.page for part in ("Why it matters: ", "\nPasses: ", "\nFails: "))
    ]
    assert lacking == []


def test_every_command_has_its_section(wanted: dict[str, str]) -> None:
    lacking = [name for name in commands() if f"\n## `diagnosis-eval {name}`\n" not in wanted["docs/reference/cli.md"]]
    assert lacking == []


def test_every_frame_and_column_is_there(wanted: dict[str, str]) -> None:
    sections = dict(part.split("\n", 1) for part in wanted["docs/reference/frames.md"].split("\n## ")[1:])
    lacking = [
        f"{frame.__name__}.{column}"
        for frame in frames()
        for column in frame.columns()
        if f"\n| `{column}`" not in sections[frame.__name__]
    ]
    assert lacking == []


def test_every_key_of_a_trace_is_there(wanted: dict[str, str]) -> None:
    page = wanted["docs/eval/trace-format.md"]
    keys = {field.encode_name for one in structs_below(Trace) for field in one.fields}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_every_key_of_a_case_file_is_there(wanted: dict[str, str]) -> None:
    page = wanted["docs/eval/case-format.md"]
    keys = {field.encode_name for one in structs_below(CaseFile) for field in one.fields}
    assert [key for key in sorted(keys) if f"| `{key}` |" not in page] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in LINK.findall(re.sub(r"(?ms)^(`{3,}).*?^\1$", "", page.read_text("utf-8")))
        if not link.startswith(("http://", "https://", "mailto:")) and not _leads_somewhere(page, link)
    ]
    assert broken == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page if not path else (page.parent / path)
    if not target.exists():
        return False
    return not anchor or anchor in _anchors(target)


def _anchors(page: Path) -> set[str]:
    from tools.markdown import anchor

    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^(`{3,}).*?^\1$", "", page.read_text("utf-8")))
    return {anchor(heading).removeprefix("#") for heading in headings}
