"""The option `--mapping`, and what `validate` shows of a mapping."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.columns import columns
from pipeline.figures import counted

if TYPE_CHECKING:
    from pipeline.sources.mapped_look import Looked

MappingFile = Annotated[
    str | None,
    typer.Option(
        "--mapping",
        help="Mapping file: where a homemade JSON log has the fields of a trace.",
        show_default=False,
        rich_help_panel="What to judge",
    ),
]


def looked_lines(looked: "Looked") -> Iterator[str]:
    """What each expression of a mapping found, as lines for a terminal."""
    yield f"mapping {looked.name}: {'the first ' if looked.records > 1 else ''}{counted(looked.records, 'record')}"
    rows = [("FIELD", "EXPRESSION", "FOUND", "FIRST")]
    for one in looked.fields:
        words = [one.first] if one.found else []
        if one.refused:
            words.append(f"of a wrong type {one.refused}: {one.fault}")
        elif one.asked and not one.found:
            words.append("nothing: correct the expression, or leave the field out")
        rows.append((one.name, one.expression, f"{one.found} of {one.asked}", "; ".join(words)))
    yield from (f"  {line}" for line in columns(rows))
    if looked.not_mapped:
        yield f"  not mapped: {', '.join(looked.not_mapped)}"
    yield from (f"  {fault}" for fault in looked.refused)
    yield ""
