"""`diagnosis-eval import-cases` and `diagnosis-eval draft`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.complete import from_formats
from pipeline.cli.stdout import STDOUT
from pipeline.errors import Fault, InputError, UsageError, quote
from pipeline.figures import counted
from pipeline.writing import write_file

Suite = Annotated[str, typer.Option("--suite", help="Name of the suite; all files of one run name the same.")]
Out = Annotated[
    Path,
    typer.Option("--out", help="Case file to write, which must not be there yet; - prints it."),
]


def _origins(incomplete: str) -> list[tuple[str, str]]:
    from pipeline.drafts.base import origins

    return [(entry.name, entry.summary) for entry in origins() if entry.name.startswith(incomplete)]


def import_cases(
    paths: Annotated[
        list[str], typer.Argument(help="Test files, or folders that are searched for them.", show_default=False)
    ],
    origin: Annotated[
        str,
        typer.Option(
            "--from", help="Whose they are: holmesgpt, adk or promptfoo.", autocompletion=_origins, show_default=False
        ),
    ],
    out: Out = Path(STDOUT),
    suite: Suite = "imported",
) -> None:
    """Draft a case file from the test cases of another tool.

    Whatever a case cannot say, such as the opinion of a model, is listed: beside its case and on standard error. A
    draft is for a person to trim: keywords are candidates, taken from the words of what is expected.
    """
    from pipeline.drafts.base import origins
    from pipeline.drafts.imports import import_cases as import_files

    _check_out(out)
    found = import_files(paths, origins().get(origin, option="--from"), suite)
    for left in found.left_out:
        typer.echo(f"not carried over: {left}", err=True)
    _write(out, found.data)
    left = counted(len(found.left_out), "thing was", "things were")
    drafted = f"{counted(found.cases, 'case')} drafted from {counted(found.files, 'file')}"
    _finish(found.faults, f"{drafted}; {left} not carried over", found.cases)


def draft(
    traces: Annotated[
        list[str],
        typer.Argument(help="Good traces: files, folders, globs, or - for standard input.", show_default=False),
    ],
    from_format: Annotated[
        str,
        typer.Option("--from", help="Format of the traces; auto goes by content.", autocompletion=from_formats),
    ] = "auto",
    out: Out = Path(STDOUT),
    suite: Suite = "drafted",
) -> None:
    """Draft a case from each good trace, for a person to trim.

    A case asks for what its trace has: the tools called, the verdict, the audit fields, and words that tell this
    answer from those of the other traces given, so give several. It passes on its own trace; a trace that fails
    whatever is asked of it gets no case.
    """
    from pipeline.drafts.from_traces import draft_cases

    _check_out(out)
    found = draft_cases(traces, suite, from_format)
    for line in found.told:
        typer.echo(line, err=True)
    _write(out, found.data)
    _finish(found.faults, f"{counted(found.cases, 'case')} drafted", found.cases)


def _check_out(out: Path) -> None:
    """What a person has trimmed is not written over."""
    if str(out) == STDOUT:
        return
    if os.path.lexists(out):
        raise UsageError(
            f"there already is a {quote(str(out))}; nothing was written",
            hint="name another file with --out, and take from it what you want to keep",
        )
    from pipeline.cases.document import YAML_SUFFIXES

    if out.suffix.lower() not in YAML_SUFFIXES:
        raise UsageError(
            f"a case file is drafted in YAML, and {quote(str(out))} is named otherwise",
            hint=f"name a file that ends in {' or '.join(YAML_SUFFIXES)}",
        )


def _write(out: Path, data: bytes) -> None:
    if not data:
        return
    if str(out) == STDOUT:
        typer.echo(data, nl=False)
    else:
        write_file(out, data)
        typer.echo(str(out), err=True)


def _finish(faults: Iterable[Fault], summary: str, cases: int) -> None:
    unread = list(faults)
    for fault in unread:
        typer.echo(str(fault), err=True)
    typer.echo(summary, err=True)
    if unread:
        raise InputError(f"{counted(len(unread), 'fault')} in what was given: what is drafted is not all of it")
    if not cases:
        raise InputError("there is nothing to draft a case from")
