"""`diagnosis-eval import`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.complete import from_formats
from pipeline.cli.mapped import MappingFile
from pipeline.figures import counted
from pipeline.import_traces import Imported, import_traces


def import_(
    paths: Annotated[
        list[str], typer.Argument(help="Trace file, folder, glob, or - for standard input.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="File to write: .jsonl for native lines, .parquet for rows.", show_default=False),
    ],
    from_format: Annotated[
        str,
        typer.Option("--from", help="Format of the traces; auto goes by their content.", autocompletion=from_formats),
    ] = "auto",
    mapping: MappingFile = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Repairs, warnings and unreadable records are faults.")
    ] = False,
) -> None:
    """Write traces of any format to one file, which run then reads without knowing the format.

    traces.jsonl holds native traces, one per line. traces.parquet holds the same as rows, for large inputs: run
    --traces traces.parquet decodes no JSON, and its report is the one that the files themselves would give.
    Exit code 2: nothing could be read, or --strict and a fault.
    """
    imported = import_traces(paths, out, from_format=from_format, mapping=mapping)
    for warning in imported.warnings:
        typer.echo(f"warning: {warning}", err=True)
    for fault in imported.faults:
        typer.echo(str(fault), err=True)
    _tell_the_rest(imported)
    counts = f"{counted(imported.traces, 'trace')}, {counted(imported.unreadable, 'unreadable record')}"
    typer.echo(f"{'nothing written' if not imported.traces else out}: {counts}, {counted(imported.warned, 'warning')}")
    if not imported.traces:
        typer.echo("diagnosis-eval: no trace could be read", err=True)
    raise typer.Exit(2 if not imported.traces or (strict and (imported.unreadable or imported.warned)) else 0)


def _tell_the_rest(imported: Imported) -> None:
    for all_of_them, told, noun in (
        (imported.warned, len(imported.warnings), "warning"),
        (imported.unreadable, len(imported.faults), "unreadable record"),
    ):
        if all_of_them > told:
            typer.echo(f"and {counted(all_of_them - told, f'more {noun}')}", err=True)
