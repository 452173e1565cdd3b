"""The summary in the terminal: what failed and why, without opening a file.

Lines are wrapped here rather than by the console, so that what continues a line hangs under it, and nothing ends in
spaces: a summary is copied into chats and logs.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from pipeline.aggregate import ABSENT
from pipeline.diff import Comparison
from pipeline.figures import counted, duration, figure, percent
from pipeline.gate import Decision
from pipeline.report.as_markdown import verdict_line
from pipeline.report.markdown_text import visible
from pipeline.report.model import CaseEntry, View, distribution
from pipeline.run import Run

SHOWN_CASES: Final = 20
SHOWN_INPUTS: Final = 10
SHOWN_VERDICTS: Final = 5
MESSAGE_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 80
# Narrower than this, words are broken rather than lines.
LEAST_WIDTH: Final = 20
MARKS: Final = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "error": ("!", "red"),
    "not_run": ("-", "yellow"),
}


def print_run(finished: Run, decision: Decision, out: Path, comparison: Comparison | None = None) -> None:
    """Print the summary of a run to standard output, and why the gate does not hold to standard error."""
    view = finished.view
    page = _Page()
    page.line(_headline(view, decision), hang=6)
    figures = _figures(view)
    if figures:
        page.line(Text(figures, style="dim"), indent=6, hang=0)
    shown = list(_against(view))
    for case in shown[:SHOWN_CASES]:
        _case(page, view, case)
    if len(shown) > SHOWN_CASES:
        page.line(
            Text(f"… and {counted(len(shown) - SHOWN_CASES, 'more case')}, see the report", style="dim"), indent=2
        )
    _known(page, view)
    _inputs(page, view, shown[:SHOWN_CASES])
    if comparison is not None:
        _comparison(page, comparison)
        page.whole(Text(f"diff: {out / 'diff.md'}", style="dim"))
    page.whole(Text(f"report: {out / 'report.md'}", style="dim"))
    if finished.skipped_files:
        skipped = counted(finished.skipped_files, "file that is no trace", "files that are no traces")
        page.line(Text(f"skipped: {skipped}", style="dim"))
    print_reasons(decision)


def print_reasons(decision: Decision) -> None:
    """Print why a gate does not hold to standard error."""
    page = _Page(stderr=True)
    mark = "gate" if decision.exit_code == 1 else "not trusted" if decision.exit_code else "gate is off"
    for reason in decision.reasons:
        page.line(Text(f"{mark}: {printable(reason)}", style="bold red" if decision.exit_code else "yellow"), hang=6)


def printable(value: str, limit: int = MESSAGE_CHARACTERS) -> str:
    """Hostile text for a terminal: on one line, no escapes or overrides, cut.

    On a GitHub runner, which takes commands from the output of a job, also without their beginnings.
    """
    shown = visible(value, limit)
    if "GITHUB_ACTIONS" in os.environ:
        shown = shown.replace("::", ":\u2060:").replace("##[", "##\u2060[")
    return shown


class _Page:
    """A console and its width."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._console = Console(stderr=stderr, highlight=False)

    def line(self, text: Text, *, indent: int = 0, hang: int = 2) -> None:
        """Print one line; where it is too long, what continues it is indented by `hang` more."""
        first = max(self._console.width - indent, LEAST_WIDTH)
        pieces = list(text.wrap(self._console, first))
        if len(pieces) > 1 and hang:
            # The rest is one text again, without the space at which the first line was broken.
            start = len(pieces[0].plain.rstrip())
            rest = text[len(text.plain) - len(text.plain[start:].lstrip()) :]
            pieces = [pieces[0], *rest.wrap(self._console, max(first - hang, LEAST_WIDTH))]
        for number, piece in enumerate(pieces):
            piece.rstrip()
            self.whole(Text(" " * (indent + (hang if number else 0))) + piece)

    def whole(self, text: Text) -> None:
        """Print one line however long, such as a path that someone wants to click or copy."""
        self._console.print(text, no_wrap=True, overflow="ignore", crop=False)


def _headline(view: View, decision: Decision) -> Text:
    # What the gate was asked, not what the report would say of it.
    holds = not decision.reasons
    return Text.assemble(
        ("PASS" if holds else "FAIL", "bold green" if holds else "bold red"),
        f"  {printable(view.report.suite, NAME_CHARACTERS)}: {verdict_line(view)}",
        f" (pass rate {percent(view.report.summary.pass_rate)})",
    )


def _figures(view: View) -> str:
    summary = view.report.summary
    verdicts = list(distribution(summary.verdict_distribution))
    parts = []
    if any(value != ABSENT for value, _ in verdicts):
        shown = [
            f"{'none' if value == ABSENT else printable(value, NAME_CHARACTERS)} {figure(count)}"
            for value, count in verdicts[:SHOWN_VERDICTS]
        ]
        more = len(verdicts) - len(shown)
        parts.append("verdicts: " + ", ".join([*shown, *([f"{more} more"] if more else [])]))
    if summary.average_tool_calls is not None:
        parts.append(f"tool calls: {figure(summary.average_tool_calls)} on average")
    if summary.average_duration_ms is not None:
        parts.append(f"duration: {duration(summary.average_duration_ms)}, p95 {duration(summary.duration_ms_p95)}")
    return "; ".join(parts)


def _against(view: View) -> Iterator[CaseEntry]:
    """What stands against the run, the failures that say something about the agent first."""
    for status in ("failed", "error", "not_run"):
        yield from view.cases(status, known=False)


def _case(page: _Page, view: View, case: CaseEntry) -> None:
    mark, style = MARKS[case.status]
    words = "" if case.status == "failed" else f"  {'in error' if case.status == 'error' else 'not run'}"
    trials = f"  {case.passed_trials} of {counted(case.trials, 'trial')} passed" if case.trials > 1 else ""
    page.line(Text.assemble((f"{mark} ", style), (case.case_id, "bold"), words, (trials, "dim")), indent=2)
    if case.reason:
        place = _place(view, case)
        page.line(Text(f"{place}: {printable(case.reason)}" if place else printable(case.reason)), indent=6)
    for failed in case.failed_checks:
        page.line(Text.assemble((f"{failed.check}: ", "red"), printable(failed.message)), indent=6)


def _place(view: View, case: CaseEntry) -> str:
    detail = view.details[case.case_id]
    return "" if detail.file is None else _where(detail.file, detail.line)


def _where(file: str, line: int | None) -> str:
    return printable(file) if line is None else f"{printable(file)}:{line}"


def _known(page: _Page, view: View) -> None:
    known = list(view.cases("failed", known=True))
    for case in known[:SHOWN_CASES]:
        reason = printable(view.details[case.case_id].known_reason or "")
        page.line(Text.assemble(("~ ", "yellow"), (case.case_id, "bold"), "  known failure"), indent=2)
        page.line(Text(reason, style="dim"), indent=6, hang=0)
    if len(known) > SHOWN_CASES:
        left = counted(len(known) - SHOWN_CASES, "more known failure")
        page.line(Text(f"… and {left}, see the report", style="dim"), indent=2)


def _inputs(page: _Page, view: View, shown: Sequence[CaseEntry]) -> None:
    report = view.report
    # What stands above as the reason of a case is not said again.
    said = {(view.details[case.case_id].file, view.details[case.case_id].line, case.reason) for case in shown}
    unsaid = [one for one in report.input_errors if (one.file, one.line, f"{one.path}: {one.message}") not in said]
    for one in unsaid[:SHOWN_INPUTS]:
        page.line(
            Text.assemble(("! ", "red"), f"{_where(one.file, one.line)}: ", printable(f"{one.path}: {one.message}")),
            indent=2,
        )
    left = report.summary.unreadable_records - (len(report.input_errors) - len(unsaid)) - len(unsaid[:SHOWN_INPUTS])
    if left > 0:
        page.line(Text(f"… and {counted(left, 'more unreadable record')}, see the report", style="dim"), indent=2)
    for count, noun, nouns in (
        (report.summary.unmatched_traces, "trace belongs to no case", "traces belong to no case"),
        (report.summary.input_warnings, "input warning", "input warnings"),
    ):
        if count:
            page.line(
                Text.assemble(("? ", "yellow"), (f"{counted(count, noun, nouns)}, see the report", "dim")), indent=2
            )


def _comparison(page: _Page, comparison: Comparison) -> None:
    summary = comparison.diff.summary
    style = "bold red" if comparison.tripping else "bold green"
    page.line(
        Text.assemble(
            (counted(summary.regressions, "regression"), style),
            f", {counted(summary.improvements, 'improvement')}, {counted(summary.changes, 'other change')} against ",
            printable(comparison.diff.baseline.source or "the baseline"),
        ),
        hang=6,
    )
    regressions = [item for item in comparison.diff.items if item.severity == "regression"]
    for item in regressions[:SHOWN_CASES]:
        head = f"{item.kind} {item.case_id}: " if item.case_id else f"{item.kind}: "
        page.line(Text.assemble((head, "red"), printable(item.message)), indent=6)
    if len(regressions) > SHOWN_CASES:
        left = counted(len(regressions) - SHOWN_CASES, "more regression")
        page.line(Text(f"… and {left}, see the diff", style="dim"), indent=6)
