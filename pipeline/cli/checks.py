"""`diagnosis-eval checks` and `diagnosis-eval explain-check`."""

from typing import Annotated

import typer

from pipeline.cli.columns import columns
from pipeline.cli.complete import check_ids


def checks() -> None:
    """List the checks: id, the requirement it serves, and what it asks for."""
    from pipeline.judge import all_checks

    rows = [("CHECK", "SERVES", "ASKS FOR"), *((check.name, check.serves, check.meaning) for check in all_checks())]
    typer.echo("\n".join(columns(rows)))


def explain_check(
    check: Annotated[str, typer.Argument(help="Id of the check.", autocompletion=check_ids, show_default=False)],
) -> None:
    """Print the page of a check: when it is asked, why it matters, what passes and what fails."""
    from pipeline.judge import all_checks

    found = all_checks().get(check, advice="diagnosis-eval checks lists them")
    typer.echo(f"{found.name} (serves {found.serves})\n\n{found.page}")
