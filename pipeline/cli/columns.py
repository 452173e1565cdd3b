"""Tables of words in the terminal: one line per row in a pipe, wrapped where a person reads."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

GAP: Final = "  "
LEAST_WIDTH: Final = 30


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; its last column is wrapped to a terminal, and left whole for a pipe."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    for row in rows:
        head = GAP.join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), ""])
        yield from wrapped(row[-1], head)


def wrapped(text: str, head: str) -> Iterator[str]:
    """A text behind its head; where a terminal is narrower, the rest hangs under it."""
    room = _width() - len(head)
    lines = textwrap.wrap(text, max(room, LEAST_WIDTH), break_on_hyphens=False) if room else [text]
    if not sys.stdout.isatty():
        lines = [text]
    for number, line in enumerate(lines or [""]):
        yield f"{head if not number else ' ' * len(head)}{line}".rstrip()


def _width() -> int:
    return shutil.get_terminal_size().columns
