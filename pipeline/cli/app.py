"""The Typer application, and how its errors reach a person."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from pipeline import __version__
from pipeline.cli import baseline
from pipeline.cli.checks import checks, explain_check
from pipeline.cli.diff import diff, report
from pipeline.cli.drafts import draft, import_cases
from pipeline.cli.explain import explain
from pipeline.cli.formats import formats
from pipeline.cli.import_ import import_
from pipeline.cli.init import init
from pipeline.cli.run import run
from pipeline.cli.schema import schema
from pipeline.cli.validate import validate
from pipeline.errors import DiagnosisEvalError

INTERRUPTED = 130

app = typer.Typer(
    name="diagnosis-eval",
    help="Judge saved traces of an incident-diagnosis agent against fixed cases, offline and deterministically.",
    epilog="Exit codes: 0 the gate holds, 1 it tripped, 2 bad usage or bad input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(report)
app.command()(diff)
app.add_typer(baseline.app, name="baseline")
app.command()(explain)
app.command()(validate)
app.command("import")(import_)
app.command()(import_cases)
app.command()(draft)
app.command()(schema)
app.command()(checks)
app.command()(explain_check)
app.command()(formats)
app.command()(init)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"diagnosis-eval {__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Judge saved traces of an incident-diagnosis agent against fixed cases, offline and deterministically."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; a user's mistake ends in a message and an exit code, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever the locale says, output is UTF-8; a pipe or file in ASCII would otherwise end the run.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr] # TextIOWrapper
    try:
        app(args=list(arguments) if arguments is not None else None, prog_name="diagnosis-eval")
    except DiagnosisEvalError as error:
        typer.echo(f"diagnosis-eval: {error}", err=True)
        sys.exit(error.exit_code)
    except SystemExit as ended:
        # Typer makes an exit code of Ctrl-C, and says nothing.
        if ended.code == INTERRUPTED:
            typer.echo("diagnosis-eval: interrupted; what was not written yet stands as before", err=True)
        raise
    except BrokenPipeError:
        # The reader of our output went away, as `head` does; leave quietly, without Python's own complaint.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(0)
