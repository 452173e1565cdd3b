"""`diagnosis-eval validate`."""

from typing import Annotated

import typer

from pipeline.cli.complete import from_formats
from pipeline.cli.mapped import MappingFile, looked_lines
from pipeline.figures import counted
from pipeline.run import DEFAULT_CASES, DEFAULT_TRACES, Options
from pipeline.validate import look_at_mapping
from pipeline.validate import validate as validate_suite


def validate(
    cases: Annotated[
        list[str] | None,
        typer.Option("--cases", help=f"Case file or folder. \\[default: {DEFAULT_CASES}]", show_default=False),
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option("--traces", help=f"Trace file, folder or glob. \\[default: {DEFAULT_TRACES}]", show_default=False),
    ] = None,
    from_format: Annotated[
        str,
        typer.Option("--from", help="Format of the traces; auto goes by content.", autocompletion=from_formats),
    ] = "auto",
    mapping: MappingFile = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are faults too.")] = False,
) -> None:
    """Check case files, fixture coverage and fixture decoding, without judging anything.

    Faults (exit code 2): a broken case file, a case whose traceFixture is missing, a fixture that cannot be read.
    Warnings: keywords that match too easily, cases that ask for nothing.
    With --mapping it shows first what each expression finds in the first records.
    """
    options = Options(
        cases=tuple(cases or (DEFAULT_CASES,)),
        traces=tuple(traces or (DEFAULT_TRACES,)),
        from_format=from_format,
        mapping=mapping,
    )
    # Shown before the cases are read: who writes a mapping may have none yet.
    looked = look_at_mapping(options)
    for line in looked_lines(looked) if looked is not None else ():
        typer.echo(line)
    found = validate_suite(options)
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    for fault in found.faults:
        typer.echo(str(fault), err=True)
    typer.echo(
        f"{counted(found.cases, 'case')}, {counted(found.traces, 'trace')}: "
        f"{counted(len(found.faults), 'fault')}, {counted(len(found.warnings), 'warning')}",
    )
    raise typer.Exit(2 if found.faults or (strict and found.warnings) else 0)
