"""Candidate keywords in the words of an expectation: quoted phrases, identifiers, figures with units.

They are candidates: a person keeps those that name the cause. What stands in the question too is told apart, because
an agent that repeats the question would have it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from pipeline.places import find_literal
from pipeline.text import normalise_texts

# A keyword of more characters is a sentence, which no other answer would repeat.
LONGEST: Final = 120
# An expectation of so few words is its own keyword.
MOST_WORDS: Final = 3
MOST_CJK: Final = 12
# Plain keywords of so few letters stand inside other words.
SHORT: Final = 3

_QUOTED: Final = (
    re.compile(r"`([^`\n]+)`"),
    re.compile(r'"([^"\n]+)"'),
    re.compile(r"“([^”\n]+)”"),
    re.compile(r"[「『]([^」』\n]+)[」』]"),
    re.compile(r"«([^»\n]+)»"),
    # An apostrophe inside a word is no quotation mark.
    re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)"),
    re.compile(r"(?<!\w)‘([^’\n]+)’(?!\w)"),
)
_KEY: Final = re.compile(r'"\w+"\s*:')
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_UNIT: Final = (
    r"(?:%|(?:ms|s|sec|secs|seconds?|min|mins|minutes?|h|hours?|days?|weeks?|[KMGT]i?B|bytes|m|req/s|rps|qps"
    r"|requests?|connections?|pods?|nodes?|replicas?|restarts?|times)\b|毫秒|秒|分钟|小时|天|次|个|条)"
)
_FIGURE: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b(?: ?(?:UTC|AM|PM))?"
    r"|\bv\d+(?:\.\d+)+\b|\b\d+\.\d+\.\d+\b"
    r"|\b(?:HTTP|[Pp]ort|[Cc]ode|[Ss]tatus|[Ee]rror) \d{2,5}\b"
    rf"|\b\d[\d,.]*(?:-\d[\d,.]*)?\+? ?{_UNIT}"
)
_JOINED: Final = re.compile(r"[A-Za-z0-9_@]+(?:[-._:/@]+[A-Za-z0-9_]+)+(?:\(\))?")
_CAMEL: Final = re.compile(r"\b(?:[A-Z][a-z0-9]+[A-Z]|[a-z]+[A-Z]|[A-Z]{2,}[a-z])[A-Za-z0-9]*\b(?:\(\))?")
_CALL: Final = re.compile(r"\b[A-Za-z_]\w*_\w+\b(?:\(\))?|\b[A-Za-z_]\w*\(\)")
_ACRONYM: Final = re.compile(r"\b[A-Z][A-Z0-9]+\b")

# Words in capitals for their weight, and levels of logs.
_LOUD_WORDS: Final = """
ALL AND ANY ARE BOTH CAN DO DOES ERROR FATAL INFO IS IT MAY MUST NO NOT NOTE OK ONE ONLY OR SHOULD THE TO TWO
WARN WARNING WILL
"""
_LOUD: Final = frozenset(_LOUD_WORDS.split())
# English words with a hyphen or a slash name nothing.
_COMMON: Final = re.compile(
    r"(?:and/or|either/or|e\.g|i\.e|etc)\.?"
    r"|(?:well|long|short|high|low|cross|multi|non|pre|post|re|self|co|anti|over|under|up|follow|root|step|real|real-time)"
    r"-[a-z]+(?:-[a-z]+)?"
    r"|[A-Za-z]+-(?:specific|intensive|based|related|level|driven|aware|wide|only|side|like|free|up|down|to|by|term|time)",
    re.IGNORECASE,
)
_SENTENCE_END: Final = " \t.,;:!?。，；：！？、"
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# What says how the answer must not be, so that its words would ask for the opposite.
_NEGATIVE: Final = re.compile(
    r"\b(?:must|should|may|can|does|do) ?(?:not|n['’]t)\b.{0,40}\b(?:answer|tell|mention|say|state|include|suggest)"
    r"|\b(?:answer|response|output|agent|it)\b.{0,20}\b(?:must|should|may) ?(?:not|n['’]t)\b"
    r"|\bnot (?:sufficient|enough|acceptable)\b|不(?:应|要|得|能|可)",
    re.IGNORECASE,
)


class Drawn(msgspec.Struct, frozen=True):
    """The candidates of one expectation.

    Attributes:
        keywords: as a case file writes them, in the order of the text.
        in_question: candidates that stand in the question too.
        negative: the text says what an answer must not be; nothing is drawn from it.
    """

    keywords: tuple[Any, ...] = ()
    in_question: tuple[str, ...] = ()
    negative: bool = False


def draw(text: str, questions: Sequence[str] = ()) -> Drawn:
    """The candidate keywords of one expectation.

    Args:
        text: a sentence or a line of what is expected.
        questions: what the user asked.

    >>> draw("The `java-api-checker` job cannot reach prod-db:3333", ["What is wrong with java-api-checker?"])
    Drawn(keywords=('prod-db:3333',), in_question=('java-api-checker',), negative=False)
    >>> draw("Pod is OOM killed after 45 seconds").keywords
    ({'word': 'OOM'}, '45 seconds')
    >>> draw("June 23rd 2025").keywords, draw("The answer must not mention the database").negative
    (('June 23rd 2025',), True)
    """
    if _NEGATIVE.search(text):
        return Drawn(negative=True)
    found = [phrase for _, phrase in sorted(_phrases(text))] or list(_whole(text))
    if not found:
        return Drawn()
    *asked, rest = normalise_texts([*questions, "\n".join(questions)])
    asked.append(rest)
    keywords: list[Any] = []
    in_question: list[str] = []
    seen: set[str] = set()
    for phrase, plain in zip(found, normalise_texts(found), strict=True):
        if not plain or plain in seen:
            continue
        seen.add(plain)
        if any(next(find_literal(question, plain, "word"), None) for question in asked):
            in_question.append(phrase)
        else:
            keywords.append(as_keyword(phrase, plain))
    return Drawn(tuple(keywords), tuple(in_question))


def as_keyword(phrase: str, plain: str) -> Any:
    """A keyword as a case file writes it: a short one as a whole word.

    Args:
        phrase: as written.
        plain: the same, normalised.
    """
    return {"word": phrase} if len(plain) <= SHORT and plain.isascii() and plain.isalpha() else phrase


def lines_of(text: str) -> Iterator[str]:
    r"""An expectation of several lines, line by line without the marks of lists and headings.

    >>> list(lines_of("Causes:\n\n- **Memory**: 1.8GB\n2. done"))
    ['Causes:', '**Memory**: 1.8GB', 'done']
    """
    for line in text.splitlines():
        bare = re.sub(r"^\s*(?:[-*+#>]+|\d{1,2}[.)])\s+", "", line).strip()
        if bare.strip("*_ "):
            yield bare


def _phrases(text: str) -> Iterator[tuple[int, str]]:
    """What may be a keyword, with its place; what one pattern has taken, the next does not see."""
    # Keys of JSON are no phrases.
    left = _KEY.sub(lambda key: " " * len(key[0]), text)
    for pattern in (*_QUOTED, _FIGURE, _JOINED, _CALL, _CAMEL, _ACRONYM):
        taken: list[tuple[int, int]] = []
        for match in pattern.finditer(left):
            phrase = (match[1] if pattern.groups else match[0]).strip(_SENTENCE_END)
            # A quotation that is a sentence is looked into again.
            if len(phrase) > LONGEST or not _says_something(phrase, pattern):
                continue
            taken.append(match.span())
            yield match.start(), phrase
        for start, end in taken:
            left = left[:start] + " " * (end - start) + left[end:]


def _says_something(phrase: str, pattern: re.Pattern[str]) -> bool:
    if len(phrase) <= 1:
        return False
    if pattern is _ACRONYM:
        return phrase not in _LOUD
    if pattern is _JOINED:
        return not _COMMON.fullmatch(phrase) and any(character.isalpha() for character in phrase)
    return True


def _whole(text: str) -> Iterator[str]:
    bare = text.strip(_SENTENCE_END + "*_")
    # A heading says what comes, not what is.
    if text.rstrip("*_ ").endswith((":", "：")) or re.fullmatch(r"\s*(\*\*|__).*\1\s*", text):
        return
    short = len(bare) <= MOST_CJK and " " not in bare if _CJK.search(bare) else len(bare.split()) <= MOST_WORDS
    if short and 1 < len(bare) <= LONGEST:
        yield bare
