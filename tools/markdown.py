"""Pieces of Markdown."""

import re
from collections.abc import Iterable, Sequence

_BACK_TICKS = re.compile(r"`+")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a cell is put on one line, and its bars are escaped."""
    lines = [_row(headers), _row(["---"] * len(headers)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    shown = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(shown)} |"


def fence(text: str, language: str = "") -> str:
    """A block of code, safe for any text, back ticks included."""
    longest = max((len(run) for run in _BACK_TICKS.findall(text)), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join([marks + language, text.rstrip("\n"), marks])


def code(text: str) -> str:
    """A piece of code within a line; nothing for an empty text."""
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def anchor(heading: str) -> str:
    """The link to a heading of the same page, as code hosts make it."""
    return "#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
