"""`diagnosis-eval explain`."""

from typing import Annotated, Literal

import typer
from rich.console import Console

from pipeline.cli.complete import judged_case_ids
from pipeline.diff import diff
from pipeline.explanation import explain as explain_result
from pipeline.report.explain_markdown import explain_markdown
from pipeline.report.explain_text import print_explanation
from pipeline.run import DEFAULT_OUT
from pipeline.snapshot.reference import resolve


def explain(
    case: Annotated[str, typer.Argument(help="Id of the case.", autocompletion=judged_case_ids, show_default=False)],
    trace: Annotated[
        str | None,
        typer.Option("--trace", help="The trace of this id, of a case with several.", show_default=False),
    ] = None,
    trial: Annotated[
        int | None,
        typer.Option(
            "--trial",
            help="The trace of this number. \\[default: the first that did not pass, else the first]",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        str,
        typer.Option("--run", help="The run: a path, git:BRANCH or git:BRANCH:PATH."),
    ] = DEFAULT_OUT,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Tell what changed in this case since that snapshot, likewise.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "markdown"],
        typer.Option("--format", help="For the terminal, or for an issue or a comment."),
    ] = "text",
) -> None:
    """Explain why a case passed or failed: its answer, evidence, audit chain and checks.

    Keywords are marked in the answer as it was written. Nothing is judged again and no trace is read.
    """
    current = resolve(run)
    changes = diff(resolve(against), current) if against is not None else None
    explanation = explain_result(current, case, trial=trial, trace_id=trace, against=changes)
    if output_format == "markdown":
        typer.echo(explain_markdown(explanation), nl=False)
    else:
        print_explanation(explanation, Console(highlight=False))
