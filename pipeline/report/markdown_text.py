r"""Hostile text in Markdown: nothing from a trace may become markup, a link, a mention, or another table cell.

Backslashes and entities keep Markdown from reading a text as markup. Code hosts go on after that: they look for
mentions, issue references and addresses in the text that readers see, where escapes are gone. An invisible word joiner
(U+2060) inside those keeps them what they are.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

JOINER: Final = "&#8288;"

# White space is folded, so a text is one line, and only its first characters can start a block.
_ESCAPES: Final = {
    **{ord(character): f"\\{character}" for character in "\\`*_[]|~$#!"},
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("&"): "&amp;",
}
_BLOCK_START: Final = re.compile(r"[-+=]|(\d{1,9})(?=[.)](?: |$))")
# Where a joiner goes in, after the first group: @team, #12, GH-12, https://, www., mailto:.
_LINKED: Final = re.compile(r"(@|#(?=\d)|\bgh-(?=\d)|:(?=//)|www(?=\.)|(?:mailto|xmpp):)", re.IGNORECASE)
_NOT_IN_CODE: Final = re.compile(r"[`|]")

# Of an answer no more than this is looked at for an excerpt of it.
_EXCERPT_SOURCE: Final = 8
_FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_RULE: Final = re.compile(
    r"^[ \t]*(?:[-*_=][ \t]*){3,}$|^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?)?[ \t]*$", re.MULTILINE
)
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_QUOTE_MARK: Final = re.compile(r"^(?:[ \t]*>)+[ \t]?", re.MULTILINE)
_BULLET: Final = re.compile(r"^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
_BOLD: Final = re.compile(r"(\*\*|__|~~)(?=\S)([^\n]{1,300}?)(?<=\S)\1")
_CODE: Final = re.compile(r"(`+)([^`\n]{1,300})\1")
_STARRED: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,300})(?<=\S)\*(?![\w*])")
_ENDS_SENTENCE: Final = tuple(".:;!?,。：；！？，")


def visible(value: str, limit: int | None = None) -> str:
    r"""Any text on one line as a reader is to see it: white space folded, what cannot be seen written as an escape.

    Args:
        value: the text, hostile or not.
        limit: cut after so many characters, with a mark.

    >>> visible("two\nlines and an \x1b[31mescape")
    'two lines and an \\x1b[31mescape'
    """
    if limit is not None and len(value) > limit:
        value = value[:limit].rstrip() + "…"
    value = " ".join(value.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)


def inline(value: str, limit: int | None = None) -> str:
    r"""Any text as one line of Markdown that reads as `visible` shows it.

    Args:
        value: the text, hostile or not.
        limit: cut after so many characters, with a mark.

    >>> print(inline("a|b <script> *x*\n@team"))
    a\|b &lt;script&gt; \*x\* @&#8288;team
    """
    text = visible(value, limit)
    pieces = _LINKED.split(text)
    # Every second piece is one that a joiner follows.
    escaped = [piece.translate(_ESCAPES) + (JOINER if index % 2 else "") for index, piece in enumerate(pieces)]
    start = _BLOCK_START.match(text)
    if start is None:
        return "".join(escaped)
    return f"{start[1] or ''}\\{''.join(escaped)[len(start[1] or '') :]}"


def code(value: str, limit: int | None = None) -> str:
    r"""A short identifier as code, safe in a table cell; as plain text where Markdown could not keep it in code.

    >>> code("searchLogs")
    '`searchLogs`'
    >>> print(code("a`b|c"))
    a\`b\|c
    """
    shown = visible(value, limit)
    if not shown or shown != value or _NOT_IN_CODE.search(shown):
        return inline(value, limit)
    return f"`{shown}`"


def excerpt(answer: str, limit: int) -> str:
    r"""The beginning of an answer as one line of plain text, its own Markdown taken off, in quotation marks.

    >>> print(excerpt("## Root cause\nThe **pool** of `checkout` is exhausted.\n\n- see [the log](https://x)", 200))
    “Root cause: The pool of checkout is exhausted. • see the log”
    """
    text = answer[: limit * _EXCERPT_SOURCE]
    for pattern, replacement in (
        (_FENCE, ""),
        (_RULE, ""),
        (_QUOTE_MARK, ""),
        (_LINK, r"\1"),
        (_CODE, r"\2"),
        (_BOLD, r"\2"),
        (_STARRED, r"\1"),
        (_BULLET, "• "),
    ):
        text = pattern.sub(replacement, text)
    text = _HEADING.sub(lambda heading: _with_colon(heading[1]), text)
    # Of what was left out at the end, the mark of a cut must tell.
    rest = "…" if len(answer) > limit * _EXCERPT_SOURCE else ""
    return f"“{inline(' '.join(text.split()) + rest, limit)}”"


def _with_colon(heading: str) -> str:
    return heading if not heading or heading.endswith(_ENDS_SENTENCE) else f"{heading}:"


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
