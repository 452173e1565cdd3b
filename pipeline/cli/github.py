"""What `--format github` does on a runner of GitHub Actions, beside the file it writes."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from pipeline.diff import Diff
from pipeline.errors import OutputError
from pipeline.report.model import View


def tell_github(view: View, diff: Diff | None = None, traces: Sequence[str] = ()) -> None:
    """Print the annotations where a runner reads them, and append to the summary of the step.

    The annotations go to standard error, which a runner reads as well: standard output may be the report.

    Args:
        view: the report.
        diff: the run against its baseline, if there is one.
        traces: what `--traces` was given, to find the trace files in the repository.

    Raises:
        OutputError: the summary cannot be written.
    """
    from pipeline.report.as_github import SUMMARY_BYTES, annotations, step_summary

    if os.environ.get("GITHUB_ACTIONS") == "true":
        typer.echo(annotations(view, _locate(traces)), err=True, nl=False)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with Path(summary).open("ab") as file:
            # What the step has written before counts too.
            file.write(step_summary(view, diff, room=SUMMARY_BYTES - file.tell()))
    except OSError as error:
        raise OutputError(
            f"cannot append to the step summary: {error.strerror or error}",
            hint="GITHUB_STEP_SUMMARY names its file; leave --format github out where there is none",
        ) from error


def _locate(traces: Sequence[str]) -> Callable[[str], str]:
    """From the name of a trace file to its path from the top of the repository; the name where it is not there."""
    top = Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    roots = [path if path.is_dir() else path.parent for path in map(Path, traces)]

    def locate(name: str) -> str:
        for root in roots:
            path = Path(os.path.normpath(Path.cwd() / root / name))
            if path.is_relative_to(top) and path.is_file():
                return path.relative_to(top).as_posix()
        return name

    return locate
