"""The summary in the terminal: what failed and why, without opening a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from pipeline.diff import Comparison
from pipeline.gate import Decision
from pipeline.report.as_markdown import verdict_line
from pipeline.report.model import CaseEntry, View
from pipeline.figures import percent
from pipeline.run import Run

SHOWN_CASES: Final = 20
SHOWN_INPUTS: Final = 10
MESSAGE_CHARACTERS: Final = 500
MARKS: Final = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "error": ("!", "red"),
    "not_run": ("-", "yellow"),
}


def print_run(finished: Run, decision: Decision, out: Path, comparison: Comparison | None = None) -> None:
    """Print the summary of a run to standard output, and why the gate does not hold to standard error."""
    console = Console(highlight=False, soft_wrap=False)
    view = finished.view
    for line in _lines(view):
        console.print(line)
    if comparison is not None:
        for line in _comparison(comparison):
            console.print(line)
        console.print(Text(f"diff: {out / 'diff.md'}", style="dim"), soft_wrap=True)
    console.print(Text(f"report: {out / 'report.md'}", style="dim"), soft_wrap=True)
    if finished.skipped_files:
        console.print(Text(f"skipped: {finished.skipped_files} files that are no traces", style="dim"))
    print_reasons(decision)


def print_reasons(decision: Decision) -> None:
    """Print why a gate does not hold to standard error."""
    errors = Console(stderr=True, highlight=False)
    for reason in decision.reasons:
        mark = "gate" if decision.exit_code == 1 else "not trusted" if decision.exit_code else "gate is off"
        errors.print(Text(f"{mark}: {printable(reason)}", style="bold red" if decision.exit_code else "yellow"))


def printable(value: str, limit: int = MESSAGE_CHARACTERS) -> str:
    """Hostile text for a terminal: on one line, no escapes or overrides, cut."""
    value = " ".join(value.split())
    value = value if len(value) <= limit else value[:limit] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)


def _lines(view: View) -> Iterator[Text]:
    report = view.report
    headline = Text("PASS" if view.holds else "FAIL", style="bold green" if view.holds else "bold red")
    headline.append(f"  {printable(report.suite)}: {verdict_line(view)}", style="default not bold")
    headline.append(f" (pass rate {percent(report.summary.pass_rate)})", style="default not bold")
    yield headline
    against = [*view.cases("error", "failed", "not_run", known=False)]
    for case in against[:SHOWN_CASES]:
        yield from _case(case)
    if len(against) > SHOWN_CASES:
        yield Text(f"  … and {len(against) - SHOWN_CASES} more cases, see the report", style="dim")
    for case in view.cases("failed", known=True):
        reason = view.details[case.case_id].known_reason or ""
        yield Text.assemble(("  ~ ", "yellow"), case.case_id, (f"  known failure: {printable(reason)}", "dim"))
    yield from _inputs(view)


def _comparison(comparison: Comparison) -> Iterator[Text]:
    summary = comparison.diff.summary
    style = "bold red" if comparison.tripping else "bold green"
    yield Text.assemble(
        (f"{summary.regressions} regressions", style),
        f", {summary.improvements} improvements, {summary.changes} other changes against ",
        printable(comparison.diff.baseline.source),
    )
    regressions = [item for item in comparison.diff.items if item.severity == "regression"]
    for item in regressions[:SHOWN_CASES]:
        yield _indented(printable(item.message), head=f"{item.kind} {item.case_id or ''}: ".replace(" :", ":"))
    if len(regressions) > SHOWN_CASES:
        yield Text(f"  … and {len(regressions) - SHOWN_CASES} more, see the diff", style="dim")


def _case(case: CaseEntry) -> Iterator[Text]:
    mark, style = MARKS[case.status]
    words = "" if case.status == "failed" else f"  {case.status.replace('_', ' ')}"
    trials = f"  {case.passed_trials} of {case.trials} trials passed" if case.trials > 1 else ""
    yield Text.assemble((f"  {mark} ", style), (case.case_id, "bold"), words, (trials, "dim"))
    if case.reason:
        yield _indented(printable(case.reason))
    for failed in case.failed_checks:
        yield _indented(printable(failed.message), head=f"{failed.check}: ")


def _indented(body: str, head: str = "") -> Text:
    from rich.padding import Padding

    return Padding(Text.assemble((head, "red"), body), (0, 0, 0, 6))  # type: ignore[return-value] # a renderable


def _inputs(view: View) -> Iterator[Text]:
    report = view.report
    for one in report.input_errors[:SHOWN_INPUTS]:
        place = one.file if one.line is None else f"{one.file}:{one.line}"
        yield Text.assemble(("  ! ", "red"), printable(f"{place}: {one.path}: {one.message}"))
    left = report.summary.unreadable_records - min(len(report.input_errors), SHOWN_INPUTS)
    if left:
        yield Text(f"  … and {left} more unreadable records, see the report", style="dim")
    for count, words in (
        (report.summary.unmatched_traces, "traces belong to no case of this suite"),
        (report.summary.input_warnings, "input warnings"),
    ):
        if count:
            yield Text.assemble(("  ? ", "yellow"), (f"{count} {words}, see the report", "dim"))
