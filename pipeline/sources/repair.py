"""Repairs of what widely used writers emit though JSON does not have it (contract section 2, Repairs)."""

import re
from typing import Final

from pipeline.sources.base import Warned
from pipeline.sources.json_scan import QUOTE, Walk, join_path, path_of

INVALID_UTF8: Final = "invalid-utf8"
LONE_SURROGATE: Final = "lone-surrogate"
NON_FINITE: Final = "non-finite-number"

_SENTENCES: Final = {
    INVALID_UTF8: "{} invalid UTF-8 in this record, replaced by U+FFFD; write the file as UTF-8",
    LONE_SURROGATE: "{} half an emoji or other surrogate pair, replaced by U+FFFD; cut text between characters",
    NON_FINITE: "{} NaN or Infinity, which JSON does not have, read as null; write null instead",
}

_LITERALS: Final = frozenset({b"NaN", b"Infinity", b"-Infinity"})
_REPLACEMENT: Final = "\ufffd".encode()
# One escape at a time, whole pairs first: what group 1 catches is a half without its other half.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


class Repairs:
    """What was repaired in one record, JSON inside its strings included: one warning for each kind."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, str]] = {}

    def add(self, kind: str, count: int, path: str) -> None:
        """Count repairs of one kind; the path of the first stays."""
        before, first = self.found.get(kind, (0, path))
        self.found[kind] = (before + count, first)

    def first(self, kind: str) -> str | None:
        """The path of the first repair of a kind: of a million more, nobody needs to know the place."""
        found = self.found.get(kind)
        return found[1] if found else None

    def merge(self, other: "Repairs", at: str) -> None:
        """Take over the repairs made in a document that stands at `at` of this one."""
        for kind, (count, path) in other.found.items():
            self.add(kind, count, join_path(at, path))

    def warned(self) -> tuple[Warned, ...]:
        """The warnings of the record, in the order of their kinds' names."""
        return tuple(
            Warned(path=path, kind=kind, message=_SENTENCES[kind].format(f"{count} time{'s' * (count != 1)}"))
            for kind, (count, path) in sorted(self.found.items())
        )

    def __bool__(self) -> bool:
        """Whether anything was repaired."""
        return bool(self.found)


def with_valid_utf8(data: bytes, repairs: Repairs) -> bytes:
    """The same text with every invalid sequence of bytes replaced by U+FFFD."""
    try:
        data.decode()
    except UnicodeDecodeError as broken:
        repaired = data.decode("utf-8", "replace").encode()
        count = repaired.count(_REPLACEMENT) - data.count(_REPLACEMENT)
        repairs.add(INVALID_UTF8, count, path_of(data, broken.start))
        return repaired
    return data


def with_valid_tokens(data: bytes, repairs: Repairs) -> bytes:
    """The same text with U+FFFD for lone surrogate escapes and null for NaN and Infinity, outside strings only."""
    if not (b"NaN" in data or b"Infinity" in data or b"\\ud" in data or b"\\uD" in data):
        return data
    pieces: list[bytes] = []
    done = 0
    walk = Walk(data)
    for kind, start, end in walk:
        token = data[start:end]
        if kind == QUOTE:
            if b"\\u" not in token:
                continue
            halves = sum(1 for escape in _ESCAPE.finditer(token) if escape[1])
            if not halves:
                continue
            repairs.add(LONE_SURROGATE, halves, repairs.first(LONE_SURROGATE) or walk.path())
            token = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], token)
        elif token in _LITERALS:
            repairs.add(NON_FINITE, 1, repairs.first(NON_FINITE) or walk.path())
            token = b"null"
        else:
            continue
        pieces += data[done:start], token
        done = end
    return b"".join([*pieces, data[done:]])
