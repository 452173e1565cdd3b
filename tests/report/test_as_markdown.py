"""`report.md` as a reviewer sees it (R08): rendered, not as source."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

import pipeline
from pipeline.report.as_markdown import LISTED_CASES, render, verdict_line
from pipeline.report.model import Detail, Report, View

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or [])


def tokens_of(view: View) -> list[Token]:
    return list(flat(MARKDOWN.parse(render(view).decode())))


def tables(tokens: list[Token]) -> list[list[list[str]]]:
    """The cells of every row of every table, as text."""
    found: list[list[list[str]]] = []
    for token in tokens:
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in {"td_open", "th_open"}:
            found[-1][-1].append("")
        elif found and found[-1] and token.type in {"text", "code_inline"} and token.level == 0 and token.content:
            found[-1][-1][-1] += token.content
    return found


def texts(tokens: list[Token], kind: str) -> list[str]:
    """The text of every block that such a token opens."""
    return [
        "".join(one.content for one in flat(tokens[index + 1].children or []) if one.type in {"text", "code_inline"})
        for index, token in enumerate(tokens)
        if token.type == kind
    ]


# The golden run.


def test_its_outline(golden_run: pipeline.Run) -> None:
    assert texts(tokens_of(golden_run.view), "heading_open") == [
        "Evaluation of golden | *suite* @\u2060team",
        *("What failed (4)", "fails", "hostile", "leaks", "trials"),
        *("In error (1)", "Not run (1)", "Known failures (1)", "known-failure", "Distributions", "Cases"),
        *("Inputs", "Unreadable records (2)", "Traces of no case (2)", "Input warnings (3)"),
    ]


def test_its_tables(golden_run: pipeline.Run) -> None:
    sizes = [(len(rows), {len(row) for row in rows}) for rows in tables(tokens_of(golden_run.view))]
    assert sizes == [(13, {2}), (5, {4}), (6, {2}), (10, {11})]


def test_the_verdict_comes_first(golden_run: pipeline.Run) -> None:
    assert render(golden_run.view).decode().splitlines()[2] == (
        "❌ **FAIL** — 2 of 9 cases passed, 4 failed, 1 in error, 1 not run, 1 known failure, 2 unreadable records"
    )


def test_nothing_is_raw_html_but_our_own(golden_run: pipeline.Run) -> None:
    tokens = tokens_of(golden_run.view)
    assert [token.content for token in tokens if "html" in token.type] == ["<sub>", "</sub>"]


def test_nothing_is_a_link_an_image_or_emphasis(golden_run: pipeline.Run) -> None:
    kinds = {token.type for token in tokens_of(golden_run.view)}
    assert kinds & {"link_open", "image", "em_open", "s_open", "fence", "code_block", "hr", "hardbreak"} == set()


def test_what_is_bold_is_ours(golden_run: pipeline.Run) -> None:
    tokens = tokens_of(golden_run.view)
    bold = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "strong_open"]
    failed = [one.check for case in golden_run.view.cases("failed", known=False) for one in case.failed_checks]
    assert bold == ["FAIL", "22.2 %", *failed, "tool-call-budget"]


# One hostile text after another in all the places at once.


def spoiled(view: View, texts: list[str], *, length: int) -> View:
    """The view with every text that a trace or case may choose exchanged."""
    ours = {"status", "check", "tool", "kind", "caseId"}
    numbers = iter(range(10**6))

    def change(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            keep_keys = key.endswith("Distribution") or key == "checkFailures"
            return {name: change(one, "" if keep_keys else name) for name, one in value.items()}
        if isinstance(value, list):
            return [change(one, key) for one in value]
        if isinstance(value, str) and key not in ours:
            return texts[next(numbers) % len(texts)][:length]
        return value

    report = msgspec.convert(change(msgspec.to_builtins(view.report)), Report)
    details = {name: msgspec.convert(change(msgspec.to_builtins(one)), Detail) for name, one in view.details.items()}
    return View(report=report, details=details, text=True)


PIECES = [
    *("`", "```", "*", "**", "~~", "|", "\\", "[x](https://e.example)", "</details>", "<!--", "<sub>", "&lt;", "@team"),
    *(
        "\n",
        "\n\n",
        "# ",
        "- ",
        "1. ",
        "---",
        "> ",
        "| a | b |",
        "\x1b[2J",
        "\u202e",
        "\ud800",
        "#1",
        "www.e.example",
        "x",
    ),
]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join).filter(lambda text: text.strip())


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(HOSTILE, min_size=1, max_size=9))
def test_no_text_changes_the_shape_of_the_page(golden_run: pipeline.Run, texts: list[str]) -> None:
    def shape(view: View) -> list[tuple[str, str]]:
        return [
            (token.type, token.tag)
            for token in tokens_of(view)
            if token.type not in {"text", "code_inline", "inline", "text_special"}
        ]

    assert shape(spoiled(golden_run.view, texts, length=300)) == shape(spoiled(golden_run.view, ["x"], length=300))


def test_a_flood_of_text_makes_no_flood_of_a_page(golden_run: pipeline.Run) -> None:
    flooded = render(spoiled(golden_run.view, ["<" * 1_000_000], length=1_000_000))
    assert len(flooded) < 200_000


# Runs of other shapes.

CASE = {"question": "Why?", "rootCauseKeywords": ["pool"], "requiredEvidenceTools": [], "requireVerdict": False}
Evaluate = Callable[..., View]


@pytest.fixture
def view_of(tmp_path: Path) -> Evaluate:
    def evaluate(answers: dict[str, str | None], trace: dict[str, Any] | None = None, **options: Any) -> View:
        """The view of a run of one case per answer; None is a case without a trace."""
        cases = [{**CASE, "id": case_id, "traceFixture": f"{case_id}.json"} for case_id in answers]
        (tmp_path / "cases.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": cases}))
        traces = tmp_path / "traces"
        traces.mkdir()
        for case_id, answer in answers.items():
            if answer is not None:
                (traces / f"{case_id}.json").write_text(json.dumps({"finalAnswer": answer, **(trace or {})}))
        return pipeline.evaluate(tmp_path / "cases.json", traces, **options).view

    return evaluate


def many(count: int, answer: str | None) -> dict[str, str | None]:
    return {f"case-{number:04}": answer for number in range(count)}


def test_a_good_run_is_short(view_of: Evaluate) -> None:
    view = view_of(many(2, "the pool"), {"durationMs": 1500, "toolInvocations": [{"tool": "t"}]})
    assert render(view).decode().partition("<sub>")[0] == (
        "# Evaluation of s\n\n✅ **PASS** — 2 of 2 cases passed\n\n"
        "| Summary |  |\n| --- | --: |\n| Pass rate | **100 %** (2 of 2) |\n| Traces judged | 2 |\n"
        "| Average tool calls | 1 |\n| Average duration | 1,500 ms |\n| Duration p50 / p95 | 1,500 ms / 1,500 ms |\n\n"
        "## Distributions\n\n| Of the traces judged | Count |\n| --- | --- |\n"
        "| Verdicts | none 2 |\n| Gatekeeper | none 2 |\n| Composer | none 2 |\n\n"
        "## Cases\n\n"
        "| Case | Result | Verdict | Evidence | Keywords | Gatekeeper | Composer | Claims | Calls | Time |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --: | --: | --: |\n"
        "| `case-0000` | ✅ passed | – | – | 1/1 | – | – | – | 1 | 1,500 ms |\n"
        "| `case-0001` | ✅ passed | – | – | 1/1 | – | – | – | 1 | 1,500 ms |\n\n"
    )


def test_an_empty_run_says_that_nothing_was_judged(view_of: Evaluate) -> None:
    view = view_of(many(1, None))
    lines = render(view).decode().splitlines()
    assert lines[2] == "❌ **FAIL** — nothing was judged: 0 of 1 case passed, 1 not run"
    assert [line for line in lines if line.startswith("- ")] == [
        (
            "- `case-0000`: its trace fixture case-0000.json was not found in the traces given; "
            "save it there, or correct traceFixture"
        )
    ]


@pytest.mark.parametrize("failed, tables_before_the_details, folds", [(1, 1, 0), (3, 1, 0), (4, 2, 0), (11, 2, 1)])
def test_many_failures_are_told_at_a_glance(
    view_of: Evaluate, failed: int, tables_before_the_details: int, folds: int
) -> None:
    page = render(view_of(many(failed, "no"))).decode()
    before = page.partition("### `case-0000`")[0]
    assert (before.count("\n| ---"), before.count("<details>")) == (tables_before_the_details, folds)


def test_a_long_table_of_cases_is_folded_away(view_of: Evaluate) -> None:
    tokens = tokens_of(view_of(many(13, "the pool")))
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert html == ["<details>\n<summary>All 13 cases</summary>", "</details>"]
    assert [len(rows) for rows in tables(tokens)] == [3, 4, 14]


def test_no_run_is_too_large_for_a_page(view_of: Evaluate) -> None:
    page = render(view_of(many(LISTED_CASES + 1, "no " * 500))).decode()
    assert page.count("… and 1 more, see `report.json`") == 2
    assert "The first 50 of them one by one" in page
    assert len(page) < 500_000


def test_without_text_the_report_says_so(view_of: Evaluate) -> None:
    page = render(view_of(many(1, "a word of the answer"), with_text=False)).decode()
    assert "- answer: left out of this run (`--no-text`)" in page
    assert "a word of the answer" not in page


@pytest.mark.parametrize(
    "changes, expected",
    [
        pytest.param({}, "1 of 1 case passed", id="one"),
        pytest.param(
            {"total_cases": 2000, "passed": 1999, "failed": 1}, "1,999 of 2,000 cases passed, 1 failed", id="many"
        ),
        pytest.param({"total_cases": 2, "errors": 1}, "1 of 2 cases passed, 1 in error", id="error"),
        pytest.param({"total_cases": 2, "not_run": 1}, "1 of 2 cases passed, 1 not run", id="not run"),
        pytest.param(
            {"total_cases": 3, "failed": 2, "known_failures": 2}, "1 of 3 cases passed, 2 known failures", id="known"
        ),
        pytest.param({"unreadable_records": 1}, "1 of 1 case passed, 1 unreadable record", id="unreadable"),
        pytest.param({"unreadable_records": 2}, "1 of 1 case passed, 2 unreadable records", id="two unreadable"),
    ],
)
def test_the_verdict_line(view_of: Evaluate, changes: dict[str, int], expected: str) -> None:
    view = view_of(many(1, "the pool"))
    summary = msgspec.structs.replace(view.report.summary, **changes)
    changed = msgspec.structs.replace(view, report=msgspec.structs.replace(view.report, summary=summary))
    assert verdict_line(changed) == expected
