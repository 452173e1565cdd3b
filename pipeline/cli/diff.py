"""`diagnosis-eval diff` and `diagnosis-eval report`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.baseline import view_of
from pipeline.cli.complete import report_formats
from pipeline.cli.github import tell_github
from pipeline.cli.limits import DurationLimit, ToolCallsLimit, given_limits
from pipeline.cli.stdout import STDOUT, only_writer, print_report
from pipeline.cli.terminal import print_reasons
from pipeline.gate import DIFF_FAIL_ON, Gate, check_gate, decide_diff
from pipeline.limits import Limits
from pipeline.report.diff_markdown import render_diff
from pipeline.run import compare_with, wanted_writers, write_reports
from pipeline.snapshot.reference import resolve


def diff(
    baseline: Annotated[str, typer.Argument(help="Snapshot to compare with: a path, git:BRANCH or git:BRANCH:PATH.")],
    current: Annotated[str, typer.Argument(help="Snapshot to judge, likewise.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write diff.json and diff.md there instead of printing.", show_default=False),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            help="regression, or never: exit 0 all the same. \\[default: regression]",
            show_default=False,
        ),
    ] = None,
    max_tool_calls_increase: ToolCallsLimit = None,
    max_duration_increase: DurationLimit = None,
) -> None:
    """Compare two snapshots case by case, and fail if something got worse.

    Without --out the Markdown is printed and nothing is written.
    """
    gate = Gate(fail_on=tuple(fail_on or ()))
    check_gate(gate, with_baseline=True, takes=DIFF_FAIL_ON)
    limits = given_limits(max_tool_calls_increase, max_duration_increase)
    comparison = compare_with(resolve(baseline, as_baseline=True), resolve(current), limits, out)
    if out is None:
        typer.echo(render_diff(comparison.diff).decode(), nl=False)
    decision = decide_diff(comparison, gate)
    print_reasons(decision)
    raise typer.Exit(decision.exit_code)


def report(
    snapshot: Annotated[str, typer.Argument(help="A path, git:BRANCH or git:BRANCH:PATH.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the reports; - prints the one --format asked for. "
            "\\[default: print that one, else the Markdown]",
            show_default=False,
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Write this format too; see diagnosis-eval formats.",
            autocompletion=report_formats,
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            help="Show what changed since this snapshot, where a format can: a path, git:BRANCH or git:BRANCH:PATH.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Render the reports of a snapshot again, byte for byte as its run wrote them."""
    asked = formats or []
    printed = None
    if out is None or str(out) == STDOUT:
        printed = only_writer(asked or (["markdown"] if out is None else []))
    writers = wanted_writers(asked)
    current = resolve(snapshot)
    changes = (
        None if baseline is None else compare_with(resolve(baseline, as_baseline=True), current, Limits(), None).diff
    )
    view = view_of(current, changes)
    if printed is not None:
        print_report(printed.render(view))
    elif out is not None:
        for path in write_reports(view, out, writers):
            typer.echo(str(path), err=True)
    if "github" in asked:
        tell_github(view, changes)
