"""`diagnosis-eval formats`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.columns import columns, wrapped
from pipeline.cli.complete import trace_formats

if TYPE_CHECKING:
    from pipeline.sources.base import Format


def formats(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show which field of this trace format becomes which.",
            autocompletion=trace_formats,
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the formats: of traces, which `--from` takes, and of reports, which `--format` takes."""
    lines = _all() if name is None else _one(name)
    typer.echo("\n".join(lines))


def _all() -> Iterator[str]:
    from pipeline.report.base import all_writers
    from pipeline.sources.formats import formats as all_formats

    yield "Trace formats (--from; auto goes by the content)"
    for entry in all_formats():
        yield ""
        yield from wrapped(entry.summary, f"  {entry.name}: ")
        yield from _recognised(entry, "    ")
        if entry.fields:
            yield from wrapped(", ".join(entry.fields), "    fills: ")
    yield ""
    yield "Report formats (--format)"
    yield ""
    yield from columns(
        [
            (
                f"  {writer.name}",
                ", ".join(filter(None, (writer.file, writer.diff_file))),
                f"{writer.summary}{' (always written)' if writer.always else ''}",
            )
            for writer in all_writers()
        ],
    )


def _one(name: str) -> Iterator[str]:
    from pipeline.sources.formats import formats as all_formats

    entry = all_formats().get(name, advice="diagnosis-eval formats lists them")
    yield from wrapped(entry.summary, f"{entry.name}: ")
    yield from _recognised(entry, "")
    if entry.fields:
        yield ""
        yield from columns([("FIELD", "FROM"), *entry.fields.items()])


def _recognised(entry: "Format", indent: str) -> Iterator[str]:
    if entry.recognised_by:
        yield from wrapped(entry.recognised_by, f"{indent}recognised by: ")
    if entry.endings:
        yield from wrapped(", ".join(entry.endings), f"{indent}files ending in: ")
