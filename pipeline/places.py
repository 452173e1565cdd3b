"""Where a keyword stands in a text as it was written.

Texts are compared normalised (see `text`), and people read originals. So a text is normalised once more here, in steps
that keep for every character the piece of the original it came from. `text.normalise` stays the one definition: where
the two differ by a single character, as they may for rare Unicode, nothing is guessed, and a keyword is placed by its
line only.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, Literal

import msgspec
import polars as pl
from polars.exceptions import ComputeError

from pipeline import text

# A keyword of one letter stands in a long text thousands of times; nobody looks at more places than this.
MOST_PLACES: Final = 200

Edges = Literal["plain", "word"]
Span = tuple[int, int]

_WHITE: Final = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_CJK: Final = (
    "\\u1100-\\u11ff\\u2e80-\\u2fd5\\u3000-\\u30ff\\u3131-\\u318e\\u31f0-\\u321e\\u3260-\\u327e\\u32d0-\\u32fe"
    "\\u3300-\\u3357\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua960-\\ua97c\\uac00-\\ud7fb\\uf900-\\ufad9\\ufe30-\\ufe4f"
    "\\uff00-\\uffef\\U00020000-\\U000323af"
)
# Runs of characters that normalisation leaves alone one by one, but for letter case.
_PLAIN_RUN: Final = re.compile("[\\x00-\\x7f\\u4e00-\\u9fff\\u3001\\u3002]+")
_INVISIBLE: Final = re.compile(
    "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufff8"
    "\\U000e0000-\\U000e0fff]"
)
# The same steps as `text.normalise`, in its order: what is left out, or becomes one space.
_ESCAPING: Final = re.compile(r"\\+(?=[!-/:-@\[-`{-~])")
_LEFT_OUT: Final = (re.compile("[*`]"), re.compile("~~"))
_SPACES: Final = re.compile(f"[{_WHITE}]{{2,}}|[\\t-\\r\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028-\\u202f\\u205f\\u3000]")
_BESIDE_CJK: Final = (re.compile(f" (?=[{_CJK}])"), re.compile(f"(?<=[{_CJK}]) (?=.)", re.DOTALL))

# Characters that no text may hold (Unicode calls them noncharacters), to enclose what a regex matched.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"


class Traced(msgspec.Struct, frozen=True):
    """A normalised text, and for each of its characters where in the original it begins and ends."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


class Placed(msgspec.Struct, frozen=True):
    """Where something stands in an original: spans in code points, exact or of whole lines."""

    spans: tuple[Span, ...] = ()
    exact: bool = True


class Original:
    """A text as written, in which normalised needles are found.

    Args:
        written: the text as written.
        normalised: the same from `text.normalise`.
    """

    def __init__(self, written: str, normalised: str) -> None:
        self.written = written
        self.normalised = normalised
        self._lines: list[tuple[Span, str]] | None = None
        self._matches: dict[str, tuple[Span, ...]] = {}

    @cached_property
    def _traced(self) -> Traced | None:
        traced = trace(self.written)
        return traced if traced.text == self.normalised else None

    @property
    def exact(self) -> bool:
        """Whether every character of the normalised text is known to come from one place."""
        return self._traced is not None

    def literal(self, needle: str, edges: Edges) -> Placed:
        """Where a normalised keyword stands."""
        return self._placed(lambda within: find_literal(within, needle, edges))

    def pattern(self, regex: str) -> Placed:
        """Where a regex of Polars' syntax matches; nowhere where it is no regex."""
        if regex not in self._matches:
            search_pattern([self], regex)

        def find(within: str) -> Iterator[Span]:
            # A line is a text of its own, to a regex with ^ or $ too: only a part of what matches can be told so.
            return iter(self._matches[regex] if within is self.normalised else find_pattern([within], regex)[0])

        return self._placed(find)

    def matched(self, regex: str, spans: Sequence[Span]) -> None:
        """Keep what a search in many texts at once has found."""
        self._matches[regex] = tuple(spans)

    def _placed(self, find: Callable[[str], Iterator[Span]]) -> Placed:
        found = list(islice(find(self.normalised), MOST_PLACES))
        if not found:
            return Placed()
        if self._traced is not None:
            starts, ends = self._traced.starts, self._traced.ends
            return Placed(tuple((starts[first], ends[last - 1]) for first, last in found))
        if self._lines is None:
            self._lines = _lines(self.written)
        lines = [span for span, line in self._lines if next(find(line), None) is not None]
        return Placed(tuple(lines[:MOST_PLACES]), exact=False)


def _lines(written: str) -> list[tuple[Span, str]]:
    spans = [(match.start(), match.end()) for match in re.finditer(r"[^\n]+", written)]
    normalised = text.normalise_texts([written[start:end] for start, end in spans])
    return list(zip(spans, normalised, strict=True))


def find_literal(within: str, needle: str, edges: Edges) -> Iterator[Span]:
    """The places of a normalised keyword in a normalised text, by the rules of contract section 3.

    >>> list(find_literal("code 503, not 5030 and not 1.503", "503", "plain"))
    [(5, 8)]
    >>> list(find_literal("room: oom", "oom", "word"))
    [(6, 9)]
    """
    if not needle:
        return
    bounded = _is_digit if edges == "plain" else _is_letter_or_digit
    start = within.find(needle)
    while start >= 0:
        end = start + len(needle)
        before, after = within[max(0, start - 2) : start], within[end : end + 2]
        free = not (bounded(needle[0]) and _blocked(before[::-1], edges)) and not (
            bounded(needle[-1]) and _blocked(after, edges)
        )
        if free:
            yield start, end
        start = within.find(needle, end if free else start + 1)


def _blocked(outside: str, edges: Edges) -> bool:
    """Whether what stands beside an edge, nearest first, makes it part of a longer number or word."""
    if not outside:
        return False
    if edges == "word":
        return _is_letter_or_digit(outside[0])
    return _is_digit(outside[0]) or (outside[0] == "." and _is_digit(outside[1:2]))


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def _is_letter_or_digit(character: str) -> bool:
    return character.isascii() and character.isalnum()


def search_pattern(originals: Sequence[Original], regex: str) -> None:
    """Search a regex in many texts at once, and let each keep where it matches."""
    found = find_pattern([original.normalised for original in originals], regex)
    for original, spans in zip(originals, found, strict=True):
        original.matched(regex, spans)


def find_pattern(texts: Sequence[str], regex: str) -> list[list[Span]]:
    r"""The places where a regex matches in each of some normalised texts, in any case of letters.

    >>> find_pattern(["max_connections = 500", "none"], r"=\s*\d+")
    [[(16, 21)], []]
    """
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    pattern = pl.select(text.regex_pattern(pl.lit(regex))).item()
    held = pl.col("text").str.contains(f"[{_OPEN}{_CLOSE}]")
    try:
        marked = frame.select(pl.when(~held).then(pl.col("text").str.replace_all(pattern, f"{_OPEN}${{0}}{_CLOSE}")))[
            "text"
        ]
    except ComputeError:
        # A snapshot may hold a redacted pattern, which is one no more.
        return [[] for _ in texts]
    return [[] if one is None else _enclosed(one) for one in marked]


def _enclosed(marked: str) -> list[Span]:
    head, *pieces = marked.split(_OPEN)
    position = len(head)
    spans = []
    for piece in pieces:
        matched, _, rest = piece.partition(_CLOSE)
        if matched:
            spans.append((position, position + len(matched)))
        position += len(matched) + len(rest)
    return spans


def merged(spans: Sequence[Span]) -> list[Span]:
    """Spans in order, those that overlap as one.

    >>> merged([(4, 9), (0, 3), (4, 6), (8, 12)])
    [(0, 3), (4, 12)]
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def trace(written: str) -> Traced:
    """Normalise a text, keeping where every character comes from.

    Returns:
        The normalised text: equal to what `text.normalise` gives, but for rare Unicode.

    >>> traced = trace("The **Connection  Pool**")
    >>> traced.text, traced.starts[4], traced.ends[-1]
    ('the connection pool', 6, 22)
    """
    traced = _folded(written)
    traced = _without(traced, _ESCAPING)
    for pattern in _LEFT_OUT:
        traced = _without(traced, pattern)
    traced = _without(traced, _SPACES, " ")
    inner = traced.text.strip(" ")
    first = len(traced.text) - len(traced.text.lstrip(" "))
    last = first + len(inner)
    traced = Traced(inner, traced.starts[first:last], traced.ends[first:last])
    if not written.isascii():
        for pattern in _BESIDE_CJK:
            traced = _without(traced, pattern)
    return traced


def _folded(written: str) -> Traced:
    """The first steps: compatibility forms, lower case, invisible characters out."""
    if written.isascii():
        return Traced(written.lower(), range(len(written)), range(1, len(written) + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(written):
        cluster = written[start:end]
        if _PLAIN_RUN.fullmatch(cluster):
            pieces.append(cluster.lower())
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
            continue
        folded = unicodedata.normalize("NFKC", cluster).lower().replace("ß", "ss").replace("ς", "σ")
        folded = "".join(c for c in _INVISIBLE.sub("", folded) if unicodedata.category(c) != "Cf")
        folded = unicodedata.normalize("NFKC", folded)
        pieces.append(folded)
        starts.extend([start] * len(folded))
        ends.extend([end] * len(folded))
    return Traced("".join(pieces), starts, ends)


def _clusters(written: str) -> Iterator[Span]:
    """Cut a text where its pieces can be normalised each by itself: a mark stays with what it stands on."""
    start, position, size = 0, 0, len(written)
    while position < size:
        run = _PLAIN_RUN.match(written, position)
        end = run.end() if run else position + 1
        follows = end
        while follows < size and _joins(written[follows]):
            follows += 1
        if follows > end and end - start > 1:
            # The last character of the run goes with its marks.
            yield start, end - 1
            start = end - 1
        yield start, follows
        start = position = follows


def _joins(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff" or character in "\uff9e\uff9f"


def _without(traced: Traced, pattern: re.Pattern[str], replacement: str = "") -> Traced:
    """Leave out what a pattern matches, or put one character for it that comes from all of it."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    kept = 0
    for match in pattern.finditer(traced.text):
        first, last = match.span()
        pieces.append(traced.text[kept:first])
        starts.extend(traced.starts[kept:first])
        ends.extend(traced.ends[kept:first])
        if replacement:
            pieces.append(replacement)
            starts.append(traced.starts[first])
            ends.append(traced.ends[last - 1])
        kept = last
    if not kept:
        return traced
    pieces.append(traced.text[kept:])
    starts.extend(traced.starts[kept:])
    ends.extend(traced.ends[kept:])
    return Traced("".join(pieces), starts, ends)
