"""Hostile text in HTML: escaped, and what cannot be seen shown as an escape."""

from collections.abc import Iterable
from html import escape
from typing import Final
from urllib.parse import quote

from pipeline.report.markdown_text import visible

NAME_CHARACTERS: Final = 120
MESSAGE_CHARACTERS: Final = 600


def text(value: str, limit: int = MESSAGE_CHARACTERS) -> str:
    r"""Any text on one line, safe in HTML and in quoted attributes.

    >>> text('<img src=x onerror="alert(1)">\n\u202eevil')
    '&lt;img src=x onerror=&quot;alert(1)&quot;&gt; \\u202eevil'
    """
    return escape(visible(value, limit))


def name(value: str) -> str:
    """A name of a trace or case, safe and cut."""
    return text(value, NAME_CHARACTERS)


def link(**filters: str) -> str:
    """A link into the page: a case, or the table of cases filtered, safe in quoted attributes.

    >>> link(check="tool-order", status="failed")
    '#check=tool-order&amp;status=failed'
    """
    return escape("#" + "&".join(f"{key}={quote(value, safe='')}" for key, value in filters.items()))


def case_link(case_id: str) -> str:
    """A case as a link to its explanation."""
    return f'<a class="case-id" href="{link(case=case_id)}">{name(case_id)}</a>'


def lines(parts: Iterable[str]) -> str:
    """Pieces of HTML, one below the other; empty ones left out."""
    return "\n".join(part for part in parts if part)
