"""Hostile text in Markdown: nothing from a trace may become markup, a link, a mention, or another table cell."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

# Backslash or entity for every character with which Markdown (GitHub's included: mentions, issue links, maths) starts
# something inside a line; white space is folded, so nothing can start a line.
_INLINE: Final = {
    ord("\\"): "\\\\",
    **{ord(c): f"\\{c}" for c in "`*_[]|~$#!"},
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("&"): "&amp;",
    ord("@"): "&#64;",
}
# Bare addresses become links on GitHub; a word joiner entity in front of the rest keeps them text.
_ADDRESS: Final = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\b(www)(?=\.)")


def inline(value: str, limit: int | None = None) -> str:
    """Any text as one line of plain Markdown text.

    Args:
        value: the text, hostile or not.
        limit: cut after so many characters, with a mark.

    >>> inline("a|b <script> *x*\\n@team")
    'a\\\\|b &lt;script&gt; \\\\*x\\\\* &#64;team'
    """
    if limit is not None and len(value) > limit:
        value = value[:limit].rstrip() + "…"
    value = " ".join(value.split())
    value = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
    return _ADDRESS.sub(lambda word: f"{word[0]}&#8288;", value.translate(_INLINE))


def code(value: str, limit: int | None = None) -> str:
    """A short identifier as code, safe in a table cell.

    >>> code("searchLogs")
    '`searchLogs`'
    >>> code("a`b|c")
    'a\\\\`b\\\\|c'
    """
    plain = value.isprintable() and value.isascii() and not re.search(r"[`|\\<>&@]", value) and value.strip() == value
    if plain and value and (limit is None or len(value) <= limit):
        return f"`{value}`"
    return inline(value, limit)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> list[str]:
    """The lines of a Markdown table.

    Args:
        headers: the column heads, safe already.
        rows: the cells, safe already.
        align: a letter per column, `l` or `r`; left where it is short.
    """
    rules = [("--:" if align[index : index + 1] == "r" else "---") for index in range(len(headers))]
    lines = [f"| {' | '.join(headers)} |", f"| {' | '.join(rules)} |"]
    lines.extend(f"| {' | '.join(cells)} |" for cells in rows)
    return lines
