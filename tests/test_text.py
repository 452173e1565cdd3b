"""How text is compared (contract, section 3): normalisation, the three ways to search, sentences."""

import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.text import _UNUSUAL as UNUSUAL
from pipeline.text import (
    MIN_SENTENCE_WIDTH,
    MIN_WHOLE_TEXT_WIDTH,
    counting_sentences,
    normalise,
    normalise_texts,
    plain_pattern,
    regex_pattern,
    search,
    sentence_text,
    sentences,
    width,
    word_pattern,
)
from pipeline.text import _normalised_any as normalised_any

# How long an example takes depends on the machine; what it gives does not.
untimed = settings(deadline=None)

HOSTILE = (
    "aAzZ09._-~~**``\\\\!?; \t\n\r\x0b\x00"
    "ßẞſİΣσς\u03f4\u1e9e\u212b"
    "中連，。！？；、「」　々か゛゙ｶﾞ゜゚ーｱあ゙"
    "각가ㄱㅏﾡ각ㅤﾠ\u115f\u1160"
    "\u00e9e\u0301\u0300\u0323\u0334\u0345\u093c\u302a´¨\u00a8"
    "\u200b\u200d\u00ad\ufeff\u034f\ufe0f\u202e\u2060\u00a0\u1680\u2028\u0085"
    "ａＡ５．＼＊｀～ﬁ①㍿\U0001d400\U0001f600"
)
hostile_texts = st.text(st.sampled_from(HOSTILE), max_size=24) | st.text(max_size=24)


def evaluated(function: Callable[[pl.Expr], pl.Expr], *texts: str | None) -> list[object]:
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return frame.select(function(pl.col("text"))).to_series().to_list()


def found(kind: str, pairs: list[tuple[str, str]]) -> list[bool]:
    """Search as the checks do: keyword and text normalised, then one search for all pairs."""
    patterns = {"plain": plain_pattern, "word": word_pattern}
    frame = pl.DataFrame(pairs, schema={"keyword": pl.String, "text": pl.String}, orient="row")
    frame = frame.with_columns(text=normalise(pl.col("text")))
    if kind == "regex":
        frame = frame.select("text", needle=pl.lit(None, dtype=pl.String), pattern=regex_pattern(pl.col("keyword")))
    else:
        frame = frame.with_columns(needle=normalise(pl.col("keyword")))
        frame = frame.with_columns(pattern=patterns[kind](pl.col("needle")))
    return search(frame, text="text", literal="needle", pattern="pattern").to_list()


# --- normalisation ------------------------------------------------------------------------------------------

NORMALISED = {
    "full width is half width": ("ＨＴＴＰ５０３", "http503"),
    "half-width kana is kana": ("ｶｰﾄﾞ", "カード"),
    "a ligature is its letters": ("ﬁle oﬀset", "file offset"),
    "decomposed is composed": ("cafe\u0301", "caf\u00e9"),
    "decomposed Hangul is composed": ("\u1100\u1161\u11a8", "각"),
    "case": ("Connection POOL Ärger ДА", "connection pool ärger да"),
    "sharp s": ("Straße STRASSE STRAẞE", "strasse strasse strasse"),
    "a final sigma is a sigma": ("ΟΔΟΣ οδος ΟΔΟΣΑ", "οδοσ οδοσ οδοσα"),
    "a dotted capital i keeps its dot": ("İ", "i\u0307"),
    "zero-width space and joiner": ("po\u200bo\u200dl", "pool"),
    "byte-order mark and soft hyphen": ("\ufeffpo\u00adol", "pool"),
    "direction marks": ("\u202epool\u202c", "pool"),
    "variation selector and grapheme joiner": ("po\ufe0fo\u034fl", "pool"),
    "a format character that is not ignorable": ("po\ufff9ol", "pool"),
    "a Hangul filler": ("po\u3164ol", "pool"),
    "a mark parted from its letter by an invisible": ("e\u200b\u0301", "\u00e9"),
    "escaped punctuation": (r"max\_connections \#1 \[x\]", "max_connections #1 [x]"),
    "an escaped asterisk": (r"2 \* 3", "2 3"),
    "a backslash before a letter stays": (r"C:\Temp\new", r"c:\temp\new"),
    "a backslash before a digit or a letter beyond ASCII stays": (r"\1 \é \中", r"\1 \é \中"),
    "a doubled backslash": (r"C:\\Temp", r"c:\temp"),
    "a run of backslashes before punctuation": (r"\\\\.", "."),
    "a backslash at the end stays": ("pool\\", "pool\\"),
    "a backslash before an asterisk before a dot": (r"\*.", "."),
    "emphasis": ("**con**nection *pool*", "connection pool"),
    "back ticks": ("`max_connections` ```sql```", "max_connections sql"),
    "underscores stay": ("__max_connections__", "__max_connections__"),
    "struck through": ("~~gone~~ ~5%", "gone ~5%"),
    "three tildes": ("~~~", "~"),
    "tildes that met when an asterisk went": ("~*~", ""),
    "white space is one space": (" a \t\n\r\n b\u00a0\u2003c\u2028d\x0be ", "a b c d e"),
    "no space between CJK characters": ("连接 池\n耗尽", "连接池耗尽"),
    "no space between CJK and Latin": ("服务 mysql 连接 503 个", "服务mysql连接503个"),
    "no space beside CJK punctuation": ("pool 「full」 。 ok", "pool「full」。ok"),
    "no space beside kana, Hangul and the prolonged sound mark": ("サーバ ー x 서버 y", "サーバーx서버y"),
    "no space beside a compatibility form of CJK punctuation": ("a \ufe45 b", "a\ufe45b"),
    "an ideographic space": ("pool　full　连接", "pool full连接"),
    "full-width punctuation is ASCII, its spacing goes on the CJK side": ("耗尽， ok： 池", "耗尽, ok:池"),
    "a space between Latin letters stays": ("pool 连 a b", "pool连a b"),
    "Hangul letters parted by a space are one syllable": ("\u1100 \u1161", "가"),
    "a free-standing accent keeps its space": ("中´", "中 \u0301"),
    "control characters stay": ("a\x00b\x1b", "a\x00b\x1b"),
    "links, HTML and entities are not seen through": ("[a](b) <b>c</b> &amp;", "[a](b) <b>c</b> &amp;"),
    "nothing visible": ("** \u200b `` ~~ \n", ""),
    "empty": ("", ""),
}


@pytest.mark.parametrize("written, compared", NORMALISED.values(), ids=NORMALISED)
def test_normalise_brings_text_to_what_a_reader_sees(written: str, compared: str) -> None:
    assert normalise_texts([written]) == [compared]


def test_null_stays_null_beside_narrow_and_wide_texts() -> None:
    assert evaluated(normalise, "A", None, "Ａ 中", None) == ["a", None, "a中", None]


def test_no_texts_are_no_texts() -> None:
    assert normalise_texts([]) == []


@given(st.lists(hostile_texts, min_size=1, max_size=20))
@untimed
@example(["か゛", "ᄀ ᅡ", "q゙ ̴ B", "q\u3099*\u0334 B", "中´ ゙", "~*~~", "\\\\*\\.", "e\u200b\u0301 中"])
def test_normalise_is_idempotent(texts: list[str]) -> None:
    once = normalise_texts(texts)
    assert normalise_texts(once) == once


@given(st.lists(hostile_texts, max_size=20))
@untimed
def test_what_a_text_becomes_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    assert normalise_texts(texts) == [normalise_texts([text])[0] for text in texts]


def is_cjk(character: str) -> bool:
    names = ("CJK ", "IDEOGRAPHIC ", "HIRAGANA", "KATAKANA", "HANGUL", "COMBINING KATAKANA-HIRAGANA")
    return unicodedata.name(character, "").startswith(names) or "\u3000" <= character <= "\u303f"


def normalised_slowly(text: str) -> str:
    """The steps of the contract one by one, for the characters of `HOSTILE`."""
    text = unicodedata.normalize("NFKC", text).lower().replace("ß", "ss").replace("ς", "σ")
    text = "".join(
        c for c in text if unicodedata.category(c) != "Cf" and c not in "\u034f\ufe0f\u115f\u1160\u3164\uffa0"
    )
    text = re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", text)
    text = unicodedata.normalize("NFKC", re.sub(r"[*`]", "", text).replace("~~", ""))
    text = re.sub("[ \t\n\r\x0b\x0c\x85\u00a0\u1680\u2028\u2029\u3000]+", " ", text).strip(" ")
    kept = [
        c
        for i, c in enumerate(text)
        if c != " " or unicodedata.category(text[i + 1])[0] == "M" or not (is_cjk(text[i - 1]) or is_cjk(text[i + 1]))
    ]
    return unicodedata.normalize("NFKC", "".join(kept))


@given(st.lists(st.text(st.sampled_from(HOSTILE), max_size=24), min_size=1, max_size=20))
@untimed
def test_normalise_is_the_steps_of_the_contract_in_their_order(texts: list[str]) -> None:
    assert normalise_texts(texts) == [normalised_slowly(text) for text in texts]


USUAL = [
    character
    for first, last in [
        (0x00, 0x7F), (0xC0, 0x12F), (0x131, 0x17F), (0x2010, 0x2016), (0x2018, 0x2027), (0x3000, 0x3029),
        (0x3030, 0x3096), (0x30A0, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xFF01, 0xFF5E),
    ]
    for character in map(chr, range(first, last + 1))
]  # fmt: skip


def test_the_usual_characters_are_the_declared_ones() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    frame = pl.DataFrame({"character": characters})
    assert frame.filter(~pl.col("character").str.contains(UNUSUAL))["character"].to_list() == USUAL


def test_no_usual_character_joins_or_changes_places_with_another() -> None:
    frame = pl.DataFrame({"character": USUAL}).with_columns(
        folded=pl.col("character").str.normalize("NFKC").str.to_lowercase()
    )
    # What can join the character before it is what some character is taken apart into, after the first.
    every = pl.DataFrame({"character": [chr(code) for code in range(sys.maxunicode + 1) if code >> 11 != 0x1B]})
    seconds = every.select(pl.col("character").str.normalize("NFD").str.slice(1).str.split("")).explode("character")
    joining = set(seconds["character"]) - {""}
    for folded in frame["folded"]:
        assert joining.isdisjoint(folded)
        assert not any(map(unicodedata.combining, folded))
        assert unicodedata.normalize("NFKC", folded) == folded
        assert not any(unicodedata.category(one) == "Cf" for one in folded)


def test_each_usual_character_is_normalised_like_any() -> None:
    frame = pl.DataFrame({"text": [f"a{character} b" for character in USUAL]})
    found = frame.select(fast=normalise(pl.col("text")), plain=normalised_any(pl.col("text")))
    assert found.filter(pl.col("fast") != pl.col("plain")).is_empty()


@given(st.lists(st.text(st.sampled_from(USUAL) | st.sampled_from("a1中か서，。 \\*~`\n"), max_size=24), max_size=20))
@untimed
def test_usual_texts_are_normalised_like_any(texts: list[str]) -> None:
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    found = frame.select(fast=normalise(pl.col("text")), plain=normalised_any(pl.col("text")))
    assert found["fast"].to_list() == found["plain"].to_list()


# --- what a writer may do to a text without changing it -----------------------------------------------------

WRITTEN = "abZ Ké5503.1-_:(ß連接池，。サーバーがプ각서가 "
INVISIBLE = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ufe0f")
TO_FULL_WIDTH = {c: c + 0xFEE0 for c in range(ord("!"), ord("~") + 1)} | {ord(" "): 0x3000}
TO_HALF_WIDTH = str.maketrans({"サ": "ｻ", "ー": "ｰ", "バ": "ﾊﾞ", "プ": "ﾌﾟ", "。": "｡"})


def inserted(text: str, pieces: tuple[str, ...], chance: random.Random, where: Callable[[int], bool]) -> str:
    parts: Iterator[str] = (
        (chance.choice(pieces) if where(i) and chance.random() < 0.5 else "") + text[i : i + 1]
        for i in range(len(text) + 1)
    )
    return "".join(parts)


def spaced(text: str, chance: random.Random) -> str:
    def beside_cjk(i: int) -> bool:
        return any(is_cjk(c) for c in text[max(i - 1, 0) : i + 1])

    return inserted(text, (" ", "\n", "\t ", "\u3000", "\u00a0"), chance, beside_cjk)


DISGUISES: dict[str, Callable[[str, random.Random], str]] = {
    "upper case": lambda text, _: text.upper(),
    "lower case": lambda text, _: text.lower(),
    "swapped case": lambda text, _: text.swapcase(),
    "full width": lambda text, _: text.translate(TO_FULL_WIDTH),
    "half width": lambda text, _: text.translate(TO_HALF_WIDTH),
    "NFC": lambda text, _: unicodedata.normalize("NFC", text),
    "NFD": lambda text, _: unicodedata.normalize("NFD", text),
    "zero-width characters": lambda text, chance: inserted(text, INVISIBLE, chance, lambda _: True),
    "zero-width characters within NFD": lambda text, chance: inserted(
        unicodedata.normalize("NFD", text), INVISIBLE, chance, lambda _: True
    ),
    "Markdown emphasis": lambda text, chance: inserted(text, ("*", "**", "~~"), chance, lambda _: True),
    "back ticks": lambda text, chance: inserted(text, ("`", "```"), chance, lambda _: True),
    "escapes": lambda text, _: re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text),
    "CJK spacing": spaced,
}


written = st.text(st.sampled_from(WRITTEN), max_size=30)
# A text, and a keyword that is mostly a piece of it.
written_pairs = st.lists(
    written.flatmap(
        lambda text: st.tuples(
            st.builds(lambda start, length: text[start : start + length], st.integers(0, len(text)), st.integers(1, 6))
            | st.text(st.sampled_from(WRITTEN), min_size=1, max_size=3),
            st.just(text),
        )
    ).filter(lambda pair: pair[0].strip() != ""),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
@given(written_pairs, st.randoms(use_true_random=False))
@settings(untimed, max_examples=20)
def test_a_disguise_never_changes_what_is_found(
    disguise: Callable[[str, random.Random], str], pairs: list[tuple[str, str]], chance: random.Random
) -> None:
    as_written = found("plain", pairs)
    assert found("plain", [(keyword, disguise(text, chance)) for keyword, text in pairs]) == as_written
    assert found("plain", [(disguise(keyword, chance), text) for keyword, text in pairs]) == as_written


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
@given(st.lists(written, min_size=1, max_size=20), st.randoms(use_true_random=False))
@settings(untimed, max_examples=20)
def test_a_disguised_text_is_normalised_to_the_same(
    disguise: Callable[[str, random.Random], str], texts: list[str], chance: random.Random
) -> None:
    assert normalise_texts([disguise(text, chance) for text in texts]) == normalise_texts(texts)


# --- searching ----------------------------------------------------------------------------------------------

# kind, keyword, text, is it there
SEARCHES = {
    "a substring": ("plain", "pool", "the connection pools", True),
    "not there": ("plain", "pool", "the connection", False),
    "a keyword as long as the text": ("plain", "pool", "pool", True),
    "letters have no boundary": ("plain", "OOM", "room", True),
    "CJK in CJK": ("plain", "连接池", "根因是数据库连接池耗尽", True),
    "a denied claim is there too": ("plain", "连接池", "根因不是连接池", True),
    "equal texts without spaces": ("plain", "สวัสดี", "สวัสดี", True),
    "regex characters are literal": ("plain", "(pool)+ 5", "a (pool)+ 5", True),
    "regex characters are no regex": ("plain", "5.*5", "5 and 5", False),
    "a number alone": ("plain", "503", "503", True),
    "a number before CJK": ("plain", "503", "503错误", True),
    "a number after CJK": ("plain", "503", "服务503", True),
    "a number beside letters": ("plain", "503", "http503x", True),
    "a digit after": ("plain", "503", "latency 5030 ms", False),
    "a digit before": ("plain", "503", "1503", False),
    "a decimal before": ("plain", "503", "1.503", False),
    "a decimal after": ("plain", "503", "503.1", False),
    "a dot that ends the sentence": ("plain", "503", "it was 503.", True),
    "a dot that ends the sentence, and another": ("plain", "503", "it was 503. 4 times", True),
    "a dot and a letter beyond": ("plain", "503", "503.x", True),
    "a dot before, and a letter beyond": ("plain", "503", "x.503", True),
    "a dot before at the start": ("plain", "503", ".503", True),
    "two dots": ("plain", "503", "1..503..1", True),
    "a comma is no decimal point": ("plain", "503", "1,503", True),
    "digits of other scripts are no ASCII digits": ("plain", "503", "٣503", True),
    "a full-width digit is one": ("plain", "503", "503０", False),
    "bold does not part digits": ("plain", "503", "**503**0", False),
    "a later occurrence": ("plain", "503", "5030 and 1503 and 503", True),
    "an overlapping occurrence": ("plain", "1 1", "01 1 1", True),
    "only the edge that is a digit has a boundary: start": ("plain", "5x", "5xx", True),
    "only the edge that is a digit has a boundary: end": ("plain", "x5", "xx5", True),
    "a boundary at the start": ("plain", "5x", "45x", False),
    "a boundary at the end": ("plain", "x5", "x56", False),
    "2.4 is not 2.40": ("plain", "2.4", "2.40", False),
    "2.4 is not 12.4": ("plain", "2.4", "12.4", False),
    "2.4 is not in 1.2.4": ("plain", "2.4", "1.2.4", False),
    "a keyword that begins with a dot": ("plain", ".5", "1.5", True),
    "redis-0 is not redis-02": ("plain", "redis-0", "redis-02 is healthy", False),
    "api-1 is not api-10": ("plain", "api-1", "pod api-10", False),
    "api-1": ("plain", "api-1", "pod api-1", True),
    "a word": ("word", "OOM", "killed: oom.", True),
    "a word within letters": ("word", "OOM", "room", False),
    "a word that begins another": ("word", "log", "the logo service", False),
    "a word that ends another": ("word", "ops", "devops", False),
    "a word beside a digit": ("word", "oom", "oom2", False),
    "a word beside CJK": ("word", "oom", "发生oom了", True),
    "a word beside an underscore": ("word", "oom", "_oom_", True),
    "a word beside a letter that is not ASCII": ("word", "oom", "éoomé", True),
    "a word after a decimal point": ("word", "503", "1.503", True),
    "a word of CJK": ("word", "连接池", "数据库连接池耗尽", True),
    "a word with one Latin edge": ("word", "池oom", "连接池oomx", False),
    "a later word": ("word", "oom", "room oom", True),
    "words that share a space": ("word", "a b", "xa b a bx a b", True),
    "a regex": ("regex", r"max_connections\s*=\s*\d+", "max_connections = 100", True),
    "a regex in any case": ("regex", "MAX_[A-Z]+", "Max_Connections", True),
    "a regex over the normalised text": ("regex", "连接池", "**连接** 池", True),
    "^ is the start of the whole text": ("regex", "^pool", "full\npool", False),
    "^ at the start": ("regex", "^pool", "Pool full", True),
    "$ is the end of the whole text": ("regex", "full$", "full\npool", False),
    "$ at the end": ("regex", "pool$", "full\npool\n", True),
    "a regex has no number boundary": ("regex", "503", "5030", True),
}


@pytest.mark.parametrize("kind, keyword, text, there", SEARCHES.values(), ids=SEARCHES)
def test_search_finds_a_keyword_where_the_contract_says(kind: str, keyword: str, text: str, there: bool) -> None:
    assert found(kind, [(keyword, text)]) == [there]


def test_a_pattern_is_made_only_where_a_substring_search_does_not_suffice() -> None:
    needles = ["pool", "5", "x5x", "池", "", None]
    digit = r"(?:^|[^0-9.]|(?:^|[^0-9])\.)5(?:$|[^0-9.]|\.(?:$|[^0-9]))"
    word = "(?:^|[^0-9A-Za-z]){}(?:$|[^0-9A-Za-z])"
    assert evaluated(plain_pattern, *needles) == [None, digit, None, None, None, None]
    assert evaluated(word_pattern, *needles) == [*(word.format(n) for n in needles[:3]), None, None, None]


@pytest.mark.parametrize(
    "text, literal, pattern, expected",
    [
        pytest.param("pool", "oo", None, True, id="a literal alone"),
        pytest.param("pool", None, "^p", True, id="a pattern alone"),
        pytest.param("pool", "oo", "^p", True, id="both hold"),
        pytest.param("pool", "oo", "^o", False, id="the pattern does not match"),
        pytest.param("pool", "xx", "^p", False, id="the literal is not there"),
        pytest.param("pool", None, None, True, id="nothing is asked for"),
        pytest.param(None, "oo", "^p", False, id="no text, both"),
        pytest.param(None, None, "^p", False, id="no text, a pattern"),
        pytest.param(None, "oo", None, False, id="no text, a literal"),
        pytest.param(None, None, None, False, id="no text, nothing asked for"),
        pytest.param("", "", None, True, id="the empty text holds the empty literal"),
    ],
)
def test_search_asks_for_what_is_given(
    text: str | None, literal: str | None, pattern: str | None, expected: bool
) -> None:
    schema = {"text": pl.String, "literal": pl.String, "pattern": pl.String}
    pairs = pl.DataFrame([(text, literal, pattern)], schema=schema, orient="row")
    assert search(pairs, text="text", literal="literal", pattern="pattern").to_list() == [expected]


def test_search_of_nothing_is_nothing() -> None:
    assert found("plain", []) == []


def test_search_refuses_a_pattern_that_was_never_validated() -> None:
    with pytest.raises(pl.exceptions.ComputeError):
        found("regex", [("(", "pool")])


# Not a letter in it repeats regularly, so that its parts stand nowhere else.
LONG = "".join(chr(0x4E00 + i * i % 6007) for i in range(300))


@pytest.mark.parametrize(
    "keyword, text, expected",
    [
        pytest.param(f"5{LONG}5", f"x5{LONG}5.", True, id="there"),
        pytest.param(f"5{LONG}5", f"5{LONG[:200]}x{LONG[200:]}5", False, id="another in the middle"),
        pytest.param(f"5{LONG}5", f"45{LONG}5", False, id="a digit before"),
        pytest.param(f"5{LONG}5", f"4.5{LONG}5", False, id="a decimal before"),
        pytest.param(f"5{LONG}5", f"5{LONG}56", False, id="a digit after"),
        pytest.param(f"5{LONG}5", f"5{LONG}5.6", False, id="a decimal after"),
        pytest.param(f"5{LONG}5", f"45{LONG}56 5{LONG}5", True, id="a later occurrence"),
        pytest.param(f"{LONG}5", f"4{LONG}5", True, id="one edge is no digit"),
        pytest.param(
            f"5{LONG[:254]}5",
            f"45{LONG[:254]}5 5{LONG[:127]}-{LONG[127:254]}5",
            False,
            id="of 256 characters the middle counts too",
        ),
        pytest.param("a" * 200_000 + "1", "a" * 300_000 + "1", True, id="one that would take minutes to compile"),
    ],
)
def test_a_very_long_keyword_has_boundaries_too(keyword: str, text: str, expected: bool) -> None:
    assert found("plain", [(keyword, text)]) == [expected]


def found_slowly(kind: str, needle: str, text: str) -> bool:
    """The boundaries as look-arounds, which Polars' engine does not have."""
    beside = {
        "plain": ("[0-9]", r"(?<![0-9])(?<![0-9]\.)", r"(?![0-9])(?!\.[0-9])"),
        "word": ("[0-9A-Za-z]", "(?<![0-9A-Za-z])", "(?![0-9A-Za-z])"),
    }
    edge, before, after = beside[kind]
    start = before if re.match(edge, needle[0]) else ""
    end = after if re.match(edge, needle[-1]) else ""
    return re.search(start + re.escape(needle) + end, text) is not None


small_needles = st.text(st.sampled_from("01.a中-"), min_size=1, max_size=3)
small_texts = st.text(st.sampled_from("01.a中- "), max_size=12).map(str.strip)
small_pairs = st.lists(st.tuples(small_needles, small_texts), min_size=1, max_size=30)


@pytest.mark.parametrize("kind", ["plain", "word"])
@given(small_pairs)
@settings(untimed, max_examples=100)
def test_search_equals_look_arounds(kind: str, pairs: list[tuple[str, str]]) -> None:
    pairs = list(zip(*(normalise_texts(column) for column in zip(*pairs, strict=True)), strict=True))
    assert found(kind, pairs) == [found_slowly(kind, needle, text) for needle, text in pairs]


@pytest.mark.parametrize("kind", ["plain", "word", "regex"])
@given(small_pairs, st.randoms(use_true_random=False))
@untimed
def test_search_does_not_depend_on_the_order_of_rows_nor_on_duplicates(
    kind: str, pairs: list[tuple[str, str]], chance: random.Random
) -> None:
    expected = dict(zip(pairs, found(kind, pairs), strict=True))
    shuffled = pairs * 2
    chance.shuffle(shuffled)
    assert found(kind, shuffled) == [expected[pair] for pair in shuffled]


# --- sentences ----------------------------------------------------------------------------------------------

SENTENCES = {
    "one": ("The pool is full", ["The pool is full"]),
    "full stops": ("One. Two! Three? Four.", ["One.", "Two!", "Three?", "Four."]),
    "a dot within": ("Version 1.2 of a.b is up", ["Version 1.2 of a.b is up"]),
    "a dot at the end": ("Up.", ["Up."]),
    "several marks": ("What?! Nothing... ok", ["What?!", "Nothing...", "ok"]),
    "CJK marks need no space": ("连接池耗尽。真的？是！重启；好", ["连接池耗尽。", "真的？", "是！", "重启；", "好"]),
    "a run of CJK marks is one end": ("真的？！好", ["真的？！", "好"]),
    "ASCII marks before CJK do not cut": ("耗尽.重启", ["耗尽.重启"]),
    "a semicolon of ASCII does not cut": ("a; b", ["a; b"]),
    "an ideographic space after a dot": ("耗尽.\u3000重启", ["耗尽.", "重启"]),
    "a no-break space after a dot": ("One.\u00a0Two", ["One.", "Two"]),
    "LF, CR and CRLF": ("a\nb\rc\r\nd", ["a", "b", "c", "d"]),
    "VT, FF and NEL": ("a\x0bb\x0cc\x85d", ["a", "b", "c", "d"]),
    "line and paragraph separator": ("a\u2028b\u2029c", ["a", "b", "c"]),
    "blank ones are dropped": (" \n\n a \n\t\n。\n", ["a", "。"]),
    "as written": ("**ＦＵＬＬ**  pool", ["**ＦＵＬＬ**  pool"]),
    "a dollar is a dollar": ("$0. ${0}", ["$0.", "${0}"]),
    "empty": ("", []),
    "blank": (" \n ", []),
    "none": (None, None),
}


@pytest.mark.parametrize("text, pieces", SENTENCES.values(), ids=SENTENCES)
def test_sentences_are_cut_from_the_original(text: str | None, pieces: list[str] | None) -> None:
    assert evaluated(sentences, text) == [pieces]


def sentences_slowly(text: str) -> list[str]:
    pieces = [""]
    for i, c in enumerate(text):
        following = text[i + 1 : i + 2]
        if c in "\n\r\x0b\x0c\x85\u2028\u2029":
            pieces.append("")
            continue
        pieces[-1] += c
        if (c in "。！？；" and following not in tuple("。！？；")) or (
            c in ".!?" and (not following or following.isspace())
        ):
            pieces.append("")
    return [piece.strip() for piece in pieces if piece.strip()]


@given(st.text(st.sampled_from("ab中.!?;。！？； \n\r\x0b\x0c\x85\u2028\u2029\u3000"), max_size=40))
@untimed
def test_sentences_equal_a_walk_over_the_characters(text: str) -> None:
    assert evaluated(sentences, text) == [sentences_slowly(text)]


@given(hostile_texts)
@untimed
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    (pieces,) = evaluated(lambda column: sentences(column).list.join(""), text)
    spaces = r"[\s\x85]"
    # Python counts four more control characters as white space; they stay in both.
    assert re.sub(spaces, "", str(pieces)) == re.sub(spaces, "", text)


@pytest.mark.parametrize(
    "piece, compared",
    [
        pytest.param("The Pool is full.", "the pool is full", id="a full stop"),
        pytest.param("连接 池耗尽。", "连接池耗尽", id="a CJK full stop"),
        pytest.param("耗尽｡", "耗尽", id="a half-width full stop"),
        pytest.param("what？！", "what", id="full-width marks"),
        pytest.param("重启；", "重启", id="a full-width semicolon"),
        pytest.param("and so on… . .", "and so on", id="an ellipsis and spaces"),
        pytest.param("**full.**", "full", id="emphasis around"),
        pytest.param("1.2.", "1.2", id="punctuation within stays"),
        pytest.param(".net", ".net", id="punctuation at the start stays"),
        pytest.param("(full.)", "(full.)", id="brackets stay"),
        pytest.param("?!。", "", id="nothing else"),
        pytest.param(None, None, id="none"),
    ],
)
def test_sentence_text_loses_closing_punctuation(piece: str | None, compared: str | None) -> None:
    assert evaluated(sentence_text, piece) == [compared]


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("pool", 4, id="Latin"),
        pytest.param("连接池", 6, id="Han"),
        pytest.param("サーバー", 8, id="kana with the prolonged sound mark"),
        pytest.param("서버", 4, id="Hangul"),
        pytest.param("「池」。", 8, id="CJK punctuation"),
        pytest.param("mysql 池", 8, id="mixed"),
        pytest.param("é", 1, id="a composed letter"),
        pytest.param("x\u0301", 2, id="a combining mark counts as a character"),
        pytest.param("\U0001f600", 1, id="an emoji"),
        pytest.param("𠮷", 2, id="Han beyond the basic plane"),
        pytest.param("", 0, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_width_counts_cjk_twice(text: str | None, expected: int | None) -> None:
    assert evaluated(width, text) == [expected]


def test_width_is_an_unsigned_integer() -> None:
    assert pl.DataFrame({"text": ["池"]}).select(width(pl.col("text"))).schema["text"] == pl.UInt32


# --- the sentences that count -------------------------------------------------------------------------------

SCHEMA = {
    "case": pl.String(),
    "trial": pl.Int64(),
    "said": pl.String(),
    "asked": pl.String(),
    "allowed": pl.List(pl.String),
}
Row = tuple[str, int, str | None, str | None, list[str] | None]


def counting(*rows: Row) -> list[tuple[str, int, str, str]]:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return counting_sentences(frame, key=["case", "trial"], text="said", question="asked", excused="allowed").rows()


# text, question, excused, the sentences that count
COUNTING = {
    "20 wide counts": ("x" * 20 + ". No.", None, None, ["x" * 20]),
    "19 wide does not": ("x" * 19 + ". No.", None, None, []),
    "10 CJK characters count": ("数据库的连接池耗尽了。好。", None, None, ["数据库的连接池耗尽了"]),
    "9 CJK characters do not": ("数据库连接池耗尽了。好。", None, None, []),
    "closing punctuation is not counted": ("x" * 19 + "?! No.", None, None, []),
    "formatting is not counted": ("**" + "x" * 19 + "**. No.", None, None, []),
    "the whole text counts from 8": ("pool oom.", None, None, ["pool oom"]),
    "the whole text under 8": ("pool om.", None, None, []),
    "the whole text of 4 CJK characters": ("连接耗尽。", None, None, ["连接耗尽"]),
    "pieces without a word leave a text whole": ("```\npool oom\n```\n!", None, None, ["pool oom"]),
    "every sentence": (
        "The pool is exhausted. Restart all the pods!",
        None,
        None,
        ["the pool is exhausted", "restart all the pods"],
    ),
    "twice said": ("The pool is exhausted. The pool is exhausted.", None, None, ["the pool is exhausted"] * 2),
    "an excused text": ("There is insufficient evidence. Ok.", None, ["insufficient evidence"], []),
    "an excused text, another sentence": (
        "Evidence is insufficient so far. The pool is exhausted.",
        None,
        ["unable", "is insufficient"],
        ["the pool is exhausted"],
    ),
    "an excused text that is not there": (
        "The pool is exhausted. Ok.",
        None,
        ["insufficient evidence"],
        ["the pool is exhausted"],
    ),
    "an excused number is compared like a plain keyword": (
        "It failed with status code 5030. Ok.",
        None,
        ["503"],
        ["it failed with status code 5030"],
    ),
    "an empty excuse excuses nothing": ("The pool is exhausted. Ok.", None, ["", None], ["the pool is exhausted"]),
    "no excuses": ("The pool is exhausted. Ok.", None, [], ["the pool is exhausted"]),
    "it stands in the question": ("The pool is exhausted. Ok.", "why does it say the pool is exhausted?", None, []),
    "another question": ("The pool is exhausted. Ok.", "is the pool full?", None, ["the pool is exhausted"]),
    "a number in the question is compared like a plain keyword": (
        "Requests fail with code 503. Ok.",
        "why do requests fail with code 5030?",
        None,
        ["requests fail with code 503"],
    ),
    "no text": (None, "why?", ["x"], []),
    "blank text": (" \n ", "why?", ["x"], []),
}


@pytest.mark.parametrize("text, question, excused, expected", COUNTING.values(), ids=COUNTING)
def test_a_sentence_counts_where_the_contract_says(
    text: str | None, question: str | None, excused: list[str] | None, expected: list[str]
) -> None:
    assert [row[-1] for row in counting(("c", 1, text, question, excused))] == expected


def test_rows_keep_their_keys_their_order_and_the_original_sentence() -> None:
    assert counting(
        ("b", 2, "**Pool** is exhausted; restart. 数据库 连接池已经耗尽。", None, None),
        ("a", 1, None, None, None),
        ("a", 1, "OOM killed", None, None),
        ("a", 1, "OOM killed", "oom killed?", None),
    ) == [
        ("b", 2, "**Pool** is exhausted; restart.", "pool is exhausted; restart"),
        ("b", 2, "数据库 连接池已经耗尽。", "数据库连接池已经耗尽"),
        ("a", 1, "OOM killed", "oom killed"),
    ]


def test_one_key_column_may_have_the_name_of_a_column_made_here() -> None:
    frame = pl.DataFrame(
        {"row": [7], "text": ["OOM killed"], "question": [None], "excused": [None]},
        schema_overrides={"question": pl.String, "excused": pl.List(pl.String)},
    )
    made = counting_sentences(frame, key="row", text="text", question="question", excused="excused")
    assert made.to_dict(as_series=False) == {"row": [7], "sentence": ["OOM killed"], "sentence_text": ["oom killed"]}


def test_no_rows_give_no_sentences_with_the_same_columns() -> None:
    frame = pl.DataFrame(schema=SCHEMA)
    made = counting_sentences(frame, key="case", text="said", question="asked", excused="allowed")
    assert made.schema == {"case": pl.String, "sentence": pl.String, "sentence_text": pl.String}
    assert made.height == 0


phrases = st.lists(
    st.sampled_from(
        ["the pool is exhausted", "status 503", "5030 errors", "连接池已耗尽", "**restart** all", ". ", "。", "\n", " "]
    ),
    max_size=8,
).map("".join)
excuses = st.lists(st.sampled_from(["503", "pool", "连接池", "restart all"]), max_size=2)


def counting_slowly(text: str, question: str, excused: list[str]) -> list[str]:
    compared = [piece.rstrip(".!?;。 ") for piece in normalise_texts(sentences_slowly(text))]
    compared = [piece for piece in compared if piece]
    least = MIN_WHOLE_TEXT_WIDTH if len(compared) == 1 else MIN_SENTENCE_WIDTH
    return [
        piece
        for piece in compared
        if sum(1 + is_cjk(c) for c in piece) >= least
        and not any(found_slowly("plain", excuse, piece) for excuse in excused)
        and not found_slowly("plain", piece, question)
    ]


@given(st.lists(st.tuples(phrases, phrases, excuses), max_size=8))
@untimed
def test_counting_sentences_equal_a_loop_over_rows(rows: list[tuple[str, str, list[str]]]) -> None:
    questions = normalise_texts([question for _, question, _ in rows])
    given_rows: list[Row] = [
        ("c", i, text, question, excused)
        for i, ((text, _, excused), question) in enumerate(zip(rows, questions, strict=True))
    ]
    expected = [
        (i, sentence)
        for i, ((text, _, excused), question) in enumerate(zip(rows, questions, strict=True))
        for sentence in counting_slowly(text, question, excused)
    ]
    assert [(row[1], row[3]) for row in counting(*given_rows)] == expected
