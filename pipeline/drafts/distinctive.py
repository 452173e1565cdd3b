"""What one answer says and the others do not: candidates for keywords of a good trace.

Terms are weighed as search engines do: how often a term stands in the answer, against how many of the other answers
have it too. A term is a word, a name or figure with its punctuation inside, or two or three of them in a row; of
Chinese, Japanese and Korean, which write no spaces, a run of two to six characters between punctuation.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.places import Edges, Original, find_literal
from pipeline.text import normalise_texts

MOST: Final = 6
# Of an answer longer than this, the beginning is looked at.
LONGEST_ANSWER: Final = 20_000
LONGEST_CJK: Final = 6
SHORTEST_WORD: Final = 3

_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN: Final = re.compile(rf"[{_CJK}]+|[^\W{_CJK}](?:[^\W{_CJK}]|[-._:/@%'’](?=[^\W{_CJK}])|(?<=[0-9]),(?=[0-9]))*%?")
_MARKS: Final = re.compile("[*`]")
_IS_CJK: Final = re.compile(f"[{_CJK}]")
_NAME: Final = re.compile(r".*[\d_:/@%.-].*")
# What phrases do not begin or end with, and no keyword is.
_STOP_WORDS: Final = """
a about above after again all also although an and another any are as at be because been before being below between
both but by can cannot caused cause causes check could did do does doing done due during each either else even every
few first following for found from further get gives had has have having he her here his how however i if in into is
issue it its itself just last less like made make many may me might more most much must my near nearly no nor not now
of off on once one only or other our out over own per problem rather same second see seen she should since so some
still such than that the their them then there therefore these they this those three through thus to too two under
until up upon use used uses using very via was we were what when where which while who whose why will with within
without would yet you your answer root instead never always against
"""
_STOP: Final = frozenset(_STOP_WORDS.split())
# Those that may stand inside a phrase: "out of memory".
_INNER: Final = frozenset({"of", "in", "on", "for", "to"})
# Characters at which a run of CJK means little: particles, pronouns, conjunctions.
_CJK_STOP: Final = frozenset(
    "的了是在和与及或为被把将从对而且并但都也就还又等这那其此各每个因所以已未不没有无很更最可能会要应由于之中上下时后前到至于着过使令让给向往每"
)


def distinctive(answers: Sequence[str], questions: Sequence[str]) -> list[list[str]]:
    """The most telling terms of each answer, as they stand in it.

    Args:
        answers: one per trace.
        questions: one per trace; what stands there is no keyword. Blank for none.

    Returns:
        For each answer at most six terms, the most telling first; no two share a word. Each is found in its answer.

    >>> distinctive(["The hostPort 9100 is taken by the node exporter.", "The disk is full."], ["", ""])[0][:2]
    ['hostPort 9100', 'node exporter']
    """
    texts = normalise_texts([*answers, *questions])
    own, asked = texts[: len(answers)], texts[len(answers) :]
    counts = list(map(_counted, answers))
    spread = Counter(term for count in counts for term in count)
    size = len(answers)
    return [
        list(_as_written(answer, text, _chosen(text, question, count, spread, size)))
        for answer, text, question, count in zip(answers, own, asked, counts, strict=True)
    ]


def _counted(answer: str) -> Counter[str]:
    """How often each term stands in an answer; none goes over the end of a line."""
    lines = [line for line in answer[:LONGEST_ANSWER].splitlines() if line.strip()]
    return Counter(term for line in (normalise_texts(lines) if lines else ()) for term in _terms(line))


def _chosen(text: str, question: str, count: Counter[str], spread: Counter[str], size: int) -> Iterator[str]:
    weights = {
        term: (1 + math.log(times)) * (1 + math.log((1 + size) / (1 + spread[term]))) * _weight(term)
        for term, times in count.items()
    }
    taken: set[str] = set()
    number = 0
    # Of two that weigh the same, the one that is said first.
    for term in sorted(weights, key=lambda term: (-weights[term], text.find(term), term)):
        pieces = _pieces(term)
        # A phrase made of the question's words repeats it, whatever their order.
        if pieces & taken or all(_stands(question, word) for word in term.split(" ")):
            continue
        # A term may stand in the text only as a part of a longer number.
        if not _stands(text, term):
            continue
        yield term
        taken |= pieces
        number += 1
        if number == MOST:
            return


def _as_written(answer: str, text: str, terms: Iterator[str]) -> Iterator[str]:
    original = Original(answer, text)
    for term in terms:
        placed = original.literal(term, "plain")
        start, end = placed.spans[0] if placed.exact and placed.spans else (0, 0)
        written = " ".join(_MARKS.sub("", answer[start:end]).split())
        yield written if written and normalise_texts([written]) == [term] else term


def _stands(text: str, term: str) -> bool:
    """Whether a check would find a term in a text."""
    edges: Edges = "word" if len(term) <= SHORTEST_WORD and term.isascii() else "plain"
    return next(find_literal(text, term, edges), None) is not None


def _weight(term: str) -> float:
    """How much a term of its kind tells: phrases more than words, names and figures more than common words."""
    if _IS_CJK.search(term):
        return 0.4 + 0.25 * len(term)
    words = term.split(" ")
    return 1 + 0.3 * (len(words) - 1) + (0.6 if any(map(_NAME.fullmatch, words)) else 0)


def _pieces(term: str) -> set[str]:
    """What two terms must not share: words, and pairs of CJK characters."""
    if _IS_CJK.search(term):
        return {term[place : place + 2] for place in range(len(term) - 1)}
    return set(term.split(" "))


def _terms(text: str) -> Iterator[str]:
    """All terms of a normalised text."""
    clause: list[str] = []
    end = -1
    for match in _TOKEN.finditer(text):
        token = match[0]
        if text[end : match.start()] != " " or _IS_CJK.search(token):
            yield from _phrases(clause)
            clause = []
        if _IS_CJK.search(token):
            yield from _runs(token)
        else:
            clause.append(token)
        end = match.end()
    yield from _phrases(clause)


def _phrases(clause: list[str]) -> Iterator[str]:
    for start, first in enumerate(clause):
        if first in _STOP:
            continue
        if len(first) >= SHORTEST_WORD or (_NAME.fullmatch(first) is not None and not first.isdigit()):
            yield first
        for length in (2, 3):
            words = clause[start : start + length]
            *inner, last = words
            if len(words) == length and last not in _STOP and _INNER.issuperset(_STOP.intersection(inner)):
                yield " ".join(words)


def _runs(token: str) -> Iterator[str]:
    for start, first in enumerate(token):
        if first in _CJK_STOP:
            continue
        for length in range(2, LONGEST_CJK + 1):
            run = token[start : start + length]
            if len(run) == length and run[-1] not in _CJK_STOP:
                yield run
