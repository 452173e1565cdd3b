"""Going through JSON text token by token, for what a decoder does not tell: where a value stands and how deep.

Nothing here is on the fast path and nothing recurses: a record is scanned only after something in it caught the
eye. Text that is no JSON is scanned without complaint; judging it is the decoder's part.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

from pipeline.errors import quote

QUOTE: Final = ord('"')
COMMA: Final = ord(",")
COLON: Final = ord(":")
OPENING: Final = b"{["
CLOSING: Final = b"}]"

# One token: a string (group 1 holds its closing quote, or nothing where it has none), a bracket or separator, or a
# run of anything else, which is a literal or a number. Possessive, so that a long string takes no memory.
TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[{}\[\]:,]|[^\s{}\[\]:,"]++', re.DOTALL)
PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*")

_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b'{}[]"'))
_STEP: Final = tuple(1 if byte in OPENING else -1 for byte in range(256))


def deeper_than(data: bytes, limit: int) -> bool:
    """Whether objects and lists nest deeper than `limit` levels; brackets inside strings do not count.

    >>> deeper_than(b'{"a": [[]]}', 2), deeper_than(b'{"a": "[[[[[["}', 2)
    (True, False)
    """
    if b"\\" in data:
        # Pairs go first: what is left of a run of back slashes then tells an escaped quote from a closing one.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(data.translate(None, _NOT_STRUCTURE).split(b'"')[::2])
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > limit


def join_path(at: str, path: str) -> str:
    """The path of a value in a document that itself stands at `at`.

    >>> join_path("$.selfEvaluation", "$.verifier_evaluation.verdict")
    '$.selfEvaluation.verifier_evaluation.verdict'
    """
    return at + path[1:]


class Walk:
    """The strings, literals and numbers of one JSON text in order, keys included, each with its place.

    Iterating yields `(kind, start, end)`: the token's first byte and its bounds, the quotes of a string included.
    `path()` tells where the token just yielded stands.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places: list[bytes | int] = []

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Go through the text once."""
        data, places = self._data, self._places
        key_due = False
        for token in TOKEN.finditer(data):
            start, end = token.span()
            kind = data[start]
            if kind == QUOTE:
                if key_due:
                    places[-1] = data[start:end]
                    key_due = False
                yield kind, start, end
            elif kind in OPENING:
                key_due = kind == OPENING[0]
                places.append(b"" if key_due else 0)
            elif kind in CLOSING:
                key_due = False
                if places:
                    places.pop()
            elif kind == COMMA:
                place = places[-1] if places else b""
                key_due = bool(places) and isinstance(place, bytes)
                if isinstance(place, int):
                    places[-1] = place + 1
            elif kind != COLON:
                yield kind, start, end

    def path(self) -> str:
        """The JSON path of the token just yielded; for a key, that of its value."""
        return "$" + "".join(_step(place) for place in self._places if place != b"")


def path_of(data: bytes, offset: int) -> str:
    """The JSON path of the string, literal or number that covers the byte at `offset`, else `$`."""
    walk = Walk(data)
    for _, start, end in walk:
        if end > offset:
            return walk.path() if start <= offset else "$"
    return "$"


def _step(place: bytes | int) -> str:
    if isinstance(place, int):
        return f"[{place}]"
    try:
        key = msgspec.json.decode(place, type=str)
    except msgspec.DecodeError:
        key = place.strip(b'"').decode("utf-8", "replace")
    return f".{quote(key)}" if PLAIN_KEY.fullmatch(key) else f'["{quote(key)}"]'
