"""Reports on standard output, for pipes: `--out -`."""

from collections.abc import Sequence
from typing import Final

import typer

from pipeline.errors import UsageError
from pipeline.report.base import Writer
from pipeline.run import wanted_writers

STDOUT: Final = "-"


def only_writer(formats: Sequence[str]) -> Writer:
    """The one format that is to be printed.

    Raises:
        UsageError: there is no such format, or not exactly one is asked for.
    """
    asked = dict.fromkeys(formats)
    writers = [writer for writer in wanted_writers(formats) if writer.name in asked]
    if len(writers) != 1:
        raise UsageError(
            f"standard output takes one format, not {len(writers)}{': ' if asked else ''}{', '.join(asked)}",
            hint="ask for one, as in: --out - --format json; or name a folder with --out",
        )
    return writers[0]


def print_report(report: bytes) -> None:
    """Print a report, byte for byte as it would be written to its file."""
    typer.echo(report, nl=False)
