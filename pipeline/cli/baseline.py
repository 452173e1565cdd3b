"""`diagnosis-eval baseline`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline import baseline as baselines
from pipeline.cli.terminal import printable
from pipeline.figures import percent
from pipeline.report.as_markdown import render, verdict_line
from pipeline.report.diff_markdown import render_diff
from pipeline.run import DEFAULT_OUT
from pipeline.snapshot.files import read_snapshot
from pipeline.snapshot.reference import DEFAULT_BASELINE, resolve, snapshot_path

app = typer.Typer(
    help="Save, list and show baselines: the snapshots that runs are compared with.", no_args_is_help=True
)


@app.command()
def save(
    snapshot: Annotated[Path, typer.Argument(help="Snapshot, or folder of a run.")] = Path(DEFAULT_OUT),
    allow_errors: Annotated[
        bool,
        typer.Option("--allow-errors", help="Save it although cases are in error or were not run."),
    ] = False,
) -> None:
    """Keep a run as the baseline: data/baseline/snapshot.parquet, and its reports in docs/eval/baseline/.

    The diff against the baseline before is printed. Commit the files, and review that diff like code.
    """
    source = snapshot_path(snapshot)
    baselines.check_saveable(read_snapshot(source), allow_errors=allow_errors)
    saved = baselines.save(source)
    if saved.previous is not None:
        typer.echo(render_diff(saved.previous).decode())
    elif saved.problem:
        typer.echo(f"The baseline before could not be compared: {printable(saved.problem)}\n")
    for file in saved.files:
        typer.echo(f"saved: {file}", err=True)


@app.command(name="list")
def list_baselines() -> None:
    """List the baselines of all branches of this repository, read without a checkout."""
    found = False
    for listed in baselines.baselines():
        found = True
        words = printable(listed.problem) if listed.view is None else _words(listed)
        typer.echo(f"git:{printable(listed.branch)}  {listed.commit[:12]}  {words}")
    if not found:
        typer.echo(f"no branch holds a baseline at {DEFAULT_BASELINE}", err=True)


def _words(listed: baselines.Listed) -> str:
    assert listed.view is not None  # noqa: S101 - the caller's branch
    report = listed.view.report
    return f"{printable(report.suite)}: {verdict_line(listed.view)} (pass rate {percent(report.summary.pass_rate)})"


@app.command()
def show(
    reference: Annotated[str, typer.Argument(help="A path, git:BRANCH or git:BRANCH:PATH.")] = DEFAULT_BASELINE,
) -> None:
    """Print the report of a baseline as Markdown."""
    typer.echo(render(baselines.view_of(resolve(reference, as_baseline=True))).decode(), nl=False)
