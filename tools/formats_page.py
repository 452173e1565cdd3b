"""The page of the trace formats, from the registry and from the docstrings of their modules."""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

import pipeline.sources
from pipeline.sources.base import Format
from pipeline.sources.formats import formats
from pipeline.sources.native import FORMAT as NATIVE
from tools.markdown import anchor, table

NATIVE_FIELDS: Final = "Its fields are its own: [trace-format.md](trace-format.md) has them all."


def formats_table() -> str:
    """One row per format."""
    return table(
        ("Format", "What it is"),
        [(f"[`{entry.name}`]({anchor(entry.name)})", entry.summary) for entry in formats()],
    )


def format_sections() -> str:
    """One section per format: how it is recognised, what its module says of it, and where each field is from."""
    return "\n\n".join("\n\n".join(_section(entry)) for entry in formats())


def _section(entry: Format) -> Iterator[str]:
    yield f"## {entry.name}"
    if entry.recognised_by:
        yield f"**Recognised by:** {entry.recognised_by}."
    if entry.endings:
        yield f"**Files ending in:** {', '.join(f'`{ending}`' for ending in entry.endings)}."
    yield _page_text(_docstrings()[entry.name])
    if entry.fields:
        yield table(("Field", "From"), [(f"`{field}`", source) for field, source in entry.fields.items()])
    elif entry.name == NATIVE.name:
        yield NATIVE_FIELDS


def _page_text(docstring: str) -> str:
    """A docstring as Markdown: a list needs a blank line before it, which docstrings leave out."""
    lines: list[str] = []
    for line in docstring.splitlines():
        if line.startswith("- ") and lines and lines[-1].strip() and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines).strip()


@cache
def _docstrings() -> Mapping[str, str]:
    """What the module of each format says, by the format's name."""
    found = {}
    for info in pkgutil.iter_modules(pipeline.sources.__path__):
        module = import_module(f"pipeline.sources.{info.name}")
        entry = getattr(module, "FORMAT", None)
        if isinstance(entry, Format):
            found[entry.name] = inspect.cleandoc(module.__doc__ or "")
    return found
