"""JSON text to a tree: RFC 8259 and nothing beyond it, with line numbers.

YAML cannot read JSON for us: it takes surrogate pairs, U+2028 and tabs otherwise, and accepts much that is no
JSON.
"""

import json
import re
from typing import NoReturn

from pipeline.cases.tree import Kind, Node, TreeBuilder
from pipeline.errors import quote

# No double has more digits worth writing, and turning digits into integers costs the square of their number.
MAX_NUMBER_LENGTH = 400
# As much of what is no token as a message shows.
_SHOWN = 20

_SPACE = re.compile(r"[ \t\r\n]*+")
_TOKEN = re.compile(
    r"""(?P<mark>[{}\[\],:])
    |(?P<text>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+")
    |(?P<number>-?(?:0|[1-9][0-9]*+)(?P<fraction>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?))
    |(?P<word>true|false|null)(?![A-Za-z0-9_])
    |(?P<infinite>NaN|-?Infinity)(?![A-Za-z0-9_])""",
    re.VERBOSE,
)
_CLOSERS = {"{": "}", "[": "]"}
_WORDS: dict[str, tuple[Kind, bool | None]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}
# What may come next: the reader's state, in words for its message.
_VALUE = "a value"
_KEY = "a key in double quotes"
_COLON = ":"
_END = "the end of the file"


def read_json(text: str, builder: TreeBuilder) -> None:
    """Read one JSON document into the builder.

    NaN and Infinity are read as numbers, so that they are refused where they stand, with the other faults.

    Args:
        text: the file's text.
        builder: receives the nodes and the faults.

    Raises:
        CaseFileError: the text is no JSON, holds no or several documents, or passes a bound.
    """
    reader = _Reader(builder)
    position = 0
    while True:
        space = _SPACE.match(text, position)
        end = position if space is None else space.end()
        reader.line += text.count("\n", position, end)
        if end == len(text) and reader.due == _END:
            return
        match = _TOKEN.match(text, end)
        if match is None:
            reader.fail(text[end : end + _SHOWN])
        reader.take(match)
        position = match.end()


class _Reader:
    """The grammar: what is due, and the brackets that are open."""

    def __init__(self, builder: TreeBuilder) -> None:
        self.builder = builder
        self.closers: list[str] = []
        self.due = _VALUE
        self.line = 1

    def take(self, match: re.Match[str]) -> None:
        token = match.group()
        if match["mark"] is None:
            self._take_scalar(match)
        elif token in _CLOSERS and self.due.startswith(_VALUE):
            self.builder.open("object" if token == "{" else "list", self.line)
            self.closers.append(_CLOSERS[token])
            self.due = f"{_KEY if token == '{' else _VALUE} or {_CLOSERS[token]}"
        elif self.closers and token == self.closers[-1] and self.due.endswith(f" or {token}"):
            self.closers.pop()
            self.builder.close()
            self._value_ended()
        elif token == _COLON and self.due == _COLON:
            self.due = _VALUE
        elif token == "," and self.due.startswith(", or "):
            self.due = _KEY if self.closers[-1] == "}" else _VALUE
        else:
            self.fail(token)

    def _take_scalar(self, match: re.Match[str]) -> None:
        if self.due.startswith(_VALUE):
            self.builder.scalar(_scalar(match, self.line))
            self._value_ended()
        elif self.due.startswith(_KEY) and match["text"] is not None:
            self.builder.scalar(_scalar(match, self.line))
            self.due = _COLON
        else:
            self.fail(match.group())

    def _value_ended(self) -> None:
        self.due = f", or {self.closers[-1]}" if self.closers else _END

    def fail(self, found: str) -> NoReturn:
        self.builder.fail(
            self.line,
            path="$",
            expected=self.due,
            found=quote(found) or "the end of the file",
            message=(
                "This is not JSON; correct the syntax at or before this line"
                " (JSON knows no comments and no comma before a closing bracket)."
            ),
        )


def _scalar(match: re.Match[str], line: int) -> Node:
    source = match.group()
    if match["text"] is not None:
        return Node(kind="text", line=line, value=json.loads(source), source=source)
    if match["word"] is not None:
        kind, value = _WORDS[source]
        return Node(kind=kind, line=line, value=value, source=source)
    if match["infinite"] is not None:
        return Node(kind="number", line=line, value=float(source.lower()), source=source)
    number = float(source)
    if match["fraction"] or len(source) > MAX_NUMBER_LENGTH or number in {float("inf"), float("-inf")}:
        return Node(kind="number", line=line, value=number, source=source)
    return Node(kind="integer", line=line, value=int(source), source=source)
