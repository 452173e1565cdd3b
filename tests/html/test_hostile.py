"""Answers, names and results that try to run, to hide, or to lead away."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.report.as_html import render

# What the fixture `open_report` is: tests are no package, and cannot import its type.
Open = Callable[..., Any]

TRICKS = [
    "<script>window.caught = 1</script>",
    '<img src="x" onerror="window.caught = 1">',
    '"><svg onload=window.caught=1>',
    "</script><script>window.caught = 1</script>",
    "<!--<script>",
    "[link](javascript:window.caught=1)",
    "javascript:window.caught=1",
    "{{script}} {{data}}",
    "' onmouseover='window.caught=1",
    "<style>body{display:none}</style>",
    "&lt;b&gt;",
    "\u2028window.caught = 1//",
]
UNSEEN = "\u202eevil\u2066 \u200bzero \x1b[31mred\x07 \u0000"


@pytest.fixture(scope="module")
def hostile_html(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "traces").mkdir()
    text = "\n".join([*TRICKS, UNSEEN])
    cases = [
        {
            "id": f"trick-{number}",
            "question": trick + UNSEEN,
            "tags": [trick.replace("\u2028", "")],
            "rootCauseKeywords": [trick],
            "requiredEvidenceTools": [],
            "allowedVerdicts": ["PASS"],
        }
        for number, trick in enumerate(TRICKS)
    ]
    suite = {"schemaVersion": 1, "suite": TRICKS[0], "cases": cases}
    (folder / "cases.json").write_text(json.dumps(suite))
    for number, trick in enumerate(TRICKS):
        trace = {
            "traceId": trick,
            "finalAnswer": text,
            "model": trick,
            "status": trick,
            "executorOutput": {
                "answer": text,
                "claims": [{"claim_id": trick, "text": text, "evidence_bindings": [trick, None]}],
            },
            "toolInvocations": [{"toolName": trick, "arguments": {trick: text}, "resultSummary": text, "error": text}],
            "selfEvaluation": {
                "verifier_evaluation": {
                    "verdict": trick,
                    "gatekeeper_result": {"status": trick, "violations": [trick, {trick: trick}]},
                    "claim_checks": [{"claim_id": trick, "verification": trick, "detail": text}],
                    "composer_output": {"mode": trick},
                }
            },
        }
        (folder / "traces" / f"trick-{number}.json").write_text(json.dumps(trace))
    (folder / "traces" / "stray.json").write_text(json.dumps({"traceId": text, "caseId": text}))
    return render(pipeline.evaluate(folder / "cases.json", folder / "traces").view)


def test_nothing_runs_in_the_overview(open_report: Open, hostile_html: bytes) -> None:
    report = open_report(hostile_html)
    assert report.page.evaluate("window.caught") is None
    assert report.page.inner_text("h1") == TRICKS[0]
    assert len(report.ids()) == len(TRICKS)


@pytest.mark.parametrize("number", range(len(TRICKS)))
def test_nothing_runs_in_a_case_and_all_of_it_is_readable(open_report: Open, hostile_html: bytes, number: int) -> None:
    report = open_report(hostile_html, f"#case=trick-{number}")
    report.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert report.page.evaluate("window.caught") is None
    shown = report.page.inner_text("div.answer >> nth=0")
    for trick in TRICKS[:-1]:
        # A mark put its sign before the keyword.
        assert trick in shown.replace("✓", "")
    assert report.page.locator("#case script, #case img, #case svg, #case style").count() == 0
    assert report.page.locator("#case a").evaluate_all("all => all.every((one) => one.protocol === 'file:')")


def test_what_cannot_be_seen_is_shown(open_report: Open, hostile_html: bytes) -> None:
    report = open_report(hostile_html, "#case=trick-0")
    marks = report.page.locator("div.answer >> nth=0 >> .unprintable").all_inner_texts()
    assert marks == ["\\u2028", "\\u202e", "\\u2066", "\\u200b", "\\x1b", "\\x07", "\\x00"]


def test_no_override_reaches_the_page(open_report: Open, hostile_html: bytes) -> None:
    for address in ("", "#case=trick-0"):
        report = open_report(hostile_html, address)
        body = report.page.evaluate("document.body.innerText")
        assert [character for character in "\u202e\u2066\u200b\x1b\x07" if character in body] == []


def test_an_injected_script_would_be_refused(open_report: Open, golden_html: bytes, tmp_path: Path) -> None:
    """The second line of defence: were a text to become markup, the browser would still run nothing of it."""
    forged = golden_html.replace(
        b"<header>", b"<script>window.caught = 1</script><svg onload='caught=1'></svg><header>"
    )
    report = open_report(forged)
    assert report.page.evaluate("window.caught") is None
    assert report.faults
    assert all("Content Security Policy" in fault for fault in report.faults)
    report.faults.clear()
