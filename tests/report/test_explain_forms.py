"""Explanations as people see them, character by character.

After a change that is meant, write the golden files again and review them:
`GOLDEN=write python -m pytest tests/report/test_explain_forms.py`.
"""

import os
import re
from io import StringIO
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

import pipeline
from pipeline.diff import Diff, diff
from pipeline.explanation import Explanation, explain
from pipeline.report.explain_markdown import CHARACTER_LIMIT, explain_markdown
from pipeline.report.explain_text import print_explanation

EXPECTED = Path(__file__).parent / "golden" / "explained"
TAGS = {
    *("h1", "h2", "p", "strong", "em", "code", "ul", "li", "blockquote", "br"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
CASES = ["broken", "fails", "hostile", "known-failure", "leaks", "missing", "passes", "trials"]


@pytest.fixture(scope="module")
def against(golden_baseline: pipeline.Run, golden_run: pipeline.Run) -> Diff:
    return diff(golden_baseline.snapshot, golden_run.snapshot)


def as_text(explanation: Explanation, *, width: int = 100, colours: bool = False) -> str:
    written = StringIO()
    console = Console(
        file=written,
        width=width,
        highlight=False,
        force_terminal=colours,
        color_system="standard" if colours else None,
        legacy_windows=False,
    )
    print_explanation(explanation, console)
    return written.getvalue()


def expect(file: str, written: str) -> None:
    path = EXPECTED / file
    if os.environ.get("GOLDEN") == "write":
        path.write_text(written, encoding="utf-8")
    assert path.is_file(), f"{path} is missing: write it with GOLDEN=write, and review it"
    assert written == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_for_the_terminal(golden_run: pipeline.Run, case: str) -> None:
    expect(f"{case}.txt", as_text(explain(golden_run.snapshot, case)))


@pytest.mark.parametrize("case", CASES)
def test_as_markdown(golden_run: pipeline.Run, case: str) -> None:
    expect(f"{case}.md", explain_markdown(explain(golden_run.snapshot, case)))


def test_against_a_baseline(golden_run: pipeline.Run, against: Diff) -> None:
    explanation = explain(golden_run.snapshot, "leaks", against=against)
    expect("leaks-against.txt", as_text(explanation))
    expect("leaks-against.md", explain_markdown(explanation))


def test_without_text() -> None:
    golden = EXPECTED.parent
    run = pipeline.evaluate(golden / "cases.yaml", golden / "traces", with_text=False)
    explanation = explain(run.snapshot, "fails")
    expect("fails-without-text.txt", as_text(explanation))
    expect("fails-without-text.md", explain_markdown(explanation))


def test_there_is_no_golden_file_without_its_test() -> None:
    names = {f"{case}.{form}" for case in [*CASES, "leaks-against", "fails-without-text"] for form in ("txt", "md")}
    assert {path.name for path in EXPECTED.iterdir()} == names


@pytest.mark.parametrize("width", [40, 60, 100, 200])
@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_the_terminal_or_ends_in_spaces(golden_run: pipeline.Run, case: str, width: int) -> None:
    lines = as_text(explain(golden_run.snapshot, case), width=width).splitlines()
    # A width in cells: a CJK character takes two.
    measure = Console(width=width)
    assert [line for line in lines if measure.measure(line).maximum > width] == []
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("case", CASES)
def test_without_colours_nothing_is_lost(golden_run: pipeline.Run, case: str) -> None:
    explanation = explain(golden_run.snapshot, case)
    coloured = as_text(explanation, colours=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == as_text(explanation)


@pytest.mark.parametrize("case", CASES)
def test_no_control_character_of_a_trace_reaches_the_terminal(golden_run: pipeline.Run, case: str) -> None:
    written = as_text(explain(golden_run.snapshot, case))
    assert [character for character in written if not character.isprintable() and character != "\n"] == []


@pytest.mark.parametrize("case", CASES)
def test_no_text_of_a_trace_becomes_markup(golden_run: pipeline.Run, case: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(explain_markdown(explain(golden_run.snapshot, case)))
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= TAGS


def test_a_long_explanation_fits_a_comment_and_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(
        "schemaVersion: 1\nsuite: s\ncases:\n"
        "  - {id: a, question: q, requiredEvidenceTools: [], allowedVerdicts: [PASS], rootCauseKeywords: []}\n"
    )
    answer = "word " * 30_000
    (tmp_path / "a.json").write_text(
        f'{{"finalAnswer": "{answer}", "selfEvaluation": {{"verifier_evaluation": {{"verdict": "PASS"}}}}}}'
    )
    run = pipeline.evaluate(tmp_path / "cases.yaml", tmp_path / "a.json")
    explanation = explain(run.snapshot, "a")
    markdown = explain_markdown(explanation)
    assert len(markdown) < CHARACTER_LIMIT + 1_000
    assert "the answer has 150,000 characters" in markdown or "“Answer” was left out" in markdown
    assert "… cut: the answer has 150,000 characters" in as_text(explanation)
