"""The Typer application, and how its errors reach a person."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final, NoReturn

import typer

from pipeline import __version__
from pipeline.errors import DiagnosisEvalError

INTERRUPTED = 130

# The commands in the order of the help, and where each stands. Only the one asked for is imported: most of the time
# that a small run takes is start-up.
COMMANDS: Final = {
    "run": "run.run",
    "report": "diff.report",
    "diff": "diff.diff",
    "baseline": "baseline.app",
    "explain": "explain.explain",
    "validate": "validate.validate",
    "import": "import_.import_",
    "import-cases": "drafts.import_cases",
    "draft": "drafts.draft",
    "schema": "schema.schema",
    "checks": "checks.checks",
    "explain-check": "checks.explain_check",
    "formats": "formats.formats",
    "init": "init.init",
}


def build_app(wanted: str | None = None) -> typer.Typer:
    """The application.

    Args:
        wanted: the one command to load; all of them, for help and completion, where it is none.
    """
    app = typer.Typer(
        name="diagnosis-eval",
        help="Judge saved traces of an incident-diagnosis agent against fixed cases, offline and deterministically.",
        epilog="Exit codes: 0 the gate holds, 1 it tripped, 2 bad usage or bad input.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in [wanted] if wanted in COMMANDS else COMMANDS:
        module, _, attribute = COMMANDS[str(name)].partition(".")
        command = getattr(importlib.import_module(f"pipeline.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    app.callback()(options)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"diagnosis-eval {__version__}")
        raise typer.Exit


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
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        build_app(given[0] if given else None)(args=given, prog_name="diagnosis-eval")
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
