"""`diagnosis-eval schema`."""

from typing import Annotated

import typer

from pipeline.schema_export import SCHEMAS, json_schema


def schema(
    name: Annotated[str, typer.Argument(help=f"Which format: {', '.join(SCHEMAS)}.")],
) -> None:
    """Print the JSON Schema of a format: for editors, and for those who write or read our files."""
    typer.echo(json_schema(name).decode())
