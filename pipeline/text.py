"""The one definition of how text is compared (contract, section 3), as Polars expressions.

Answers, keywords, protocol markers, degraded-output texts and claim texts are all brought to the text that a
reader sees (`normalise`) before anything is searched. Then there are three ways to search, each a row of
`search`: a literal, a literal with boundaries at its edges (`plain_pattern`, `word_pattern`), or a regex
(`regex_pattern`). Sentences are cut from the original text (`sentences`) and compared normalised
(`sentence_text`).
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

MIN_SENTENCE_WIDTH: Final = 20
MIN_WHOLE_TEXT_WIDTH: Final = 8

# A regex can cost the square of its length, and needles come from hostile text too: one of 100,000 characters took
# minutes to compile.
_LONGEST_IN_REGEX: Final = 256

# What contract section 3 calls a CJK character, for spacing and for width alike: Han, kana, Hangul and CJK
# punctuation. The scripts miss what several of them share, so blocks are added whole: CJK symbols and punctuation
# with the kana blocks and their voicing and prolonged sound marks (U+3000-30FF), and the compatibility forms of
# punctuation (U+FE30-FE4F). Half- and full-width forms do not outlive NFKC.
_CJK: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\x{3000}-\x{30FF}\x{FE30}-\x{FE4F}"

# What is not among the characters that most text is made of: ASCII, Latin letters, dashes and quotation marks, CJK
# punctuation, kana, Han, Hangul syllables, full-width ASCII.
_UNUSUAL: Final = (
    r"[^\x00-\x7F\x{C0}-\x{12F}\x{131}-\x{17F}\x{2010}-\x{2016}\x{2018}-\x{2027}"
    r"\x{3000}-\x{3029}\x{3030}-\x{3096}\x{30A0}-\x{30FF}\x{3400}-\x{9FFF}\x{AC00}-\x{D7A3}\x{FF01}-\x{FF5E}]"
)

# Rust's engine has no look-around: what may stand beside an edge is written as alternatives, and consumed.
_NUMBER_STARTS: Final = r"(?:^|[^0-9.]|(?:^|[^0-9])\.)"
_NUMBER_ENDS: Final = r"(?:$|[^0-9.]|\.(?:$|[^0-9]))"
_WORD_STARTS: Final = r"(?:^|[^0-9A-Za-z])"
_WORD_ENDS: Final = r"(?:$|[^0-9A-Za-z])"


def normalise(text: pl.Expr) -> pl.Expr:
    """Bring text to what a reader sees: the form in which everything is compared.

    In the order of the contract: NFKC; lower case, ß to ss (and ς to σ, for which of them a capital becomes depends
    on its neighbours); invisible characters out; backslashes before ASCII punctuation out; asterisks and back ticks
    out; `~~` out; NFKC; white space to one space, and to none beside a CJK character; ends trimmed. Idempotent.

    Args:
        text: a String expression.

    Returns:
        A String expression of the same length; null stays null.

    >>> frame = pl.DataFrame({"text": ["**Connection Pool**", "连接池 已 耗尽", "５０３ ｅｒｒｏｒ", None]})
    >>> frame.select(normalise(pl.col("text"))).to_series().to_list()
    ['connection pool', '连接池已耗尽', '503 error', None]
    """
    # Nulls cost nothing, so each way is gone with the texts that need it alone: NFKC is the dear part.
    is_ascii = text.str.len_bytes() == text.str.len_chars()
    is_usual = ~text.str.contains(_UNUSUAL)
    return pl.coalesce(
        _one_space(_without_markdown(pl.when(is_ascii).then(text).str.to_lowercase())),
        _normalised_usual(pl.when(~is_ascii & is_usual).then(text)),
        _normalised_any(pl.when(~is_usual).then(text)),
    )


def _folded(text: pl.Expr) -> pl.Expr:
    lower = text.str.normalize("NFKC").str.to_lowercase()
    return lower.str.replace_all("ß", "ss", literal=True).str.replace_all("ς", "σ", literal=True)


def _normalised_usual(text: pl.Expr) -> pl.Expr:
    # None of these characters is invisible, and none joins or changes places with what comes to stand beside it.
    spaced = _one_space(_without_markdown(_folded(text)))
    return spaced.str.replace_all(f" ([{_CJK}])", "${1}").str.replace_all(f"([{_CJK}]) ", "${1}")


def _normalised_any(text: pl.Expr) -> pl.Expr:
    visible = _folded(text).str.replace_all(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]", "")
    return _no_cjk_spacing(_one_space(_without_markdown(visible).str.normalize("NFKC")))


def _without_markdown(text: pl.Expr) -> pl.Expr:
    # A run of backslashes goes at once: taken in pairs, it would leave some for the next normalisation to take.
    unescaped = text.str.replace_all(r"\\+([!-/:-@\[-`{-~])", "${1}")
    return unescaped.str.replace_all("[*`]", "").str.replace_all("~~", "", literal=True)


def _one_space(text: pl.Expr) -> pl.Expr:
    # Leaving single spaces alone is four times as fast as replacing each by itself.
    return text.str.replace_all(r"\s{2,}|[\s--[ ]]", " ").str.strip_chars(" ")


def _no_cjk_spacing(text: pl.Expr) -> pl.Expr:
    # NFKC writes a free-standing accent as a space with a combining mark. That space is the accent's base, not
    # spacing, and stays: without it the mark would fall on the character before, and marks that meet change places,
    # so that the next normalisation could find another space to take. Two passes, because two matches of one pass
    # cannot share a character.
    before = text.str.replace_all(rf" ([[{_CJK}]--\p{{M}}])", "${1}")
    after = before.str.replace_all(rf"([{_CJK}]) (\P{{M}})", "${1}${2}")
    # Hangul letters that a space held apart are one syllable without it.
    return after.str.normalize("NFKC")


def normalise_texts(texts: Sequence[str]) -> list[str]:
    """Normalise a few texts, such as the keywords of a case.

    Args:
        texts: any texts.

    Returns:
        As many, in the same order.

    >>> normalise_texts(["`OOM`", "连接 池", "Ｓｔｒａße"])
    ['oom', '连接池', 'strasse']
    """
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return frame.select(normalise(pl.col("text")))["text"].to_list()


def plain_pattern(needle: pl.Expr) -> pl.Expr:
    r"""The regex of a plain keyword, where a substring search does not suffice.

    A digit at an edge has no ASCII digit beside it there, nor a `.` with a digit beyond it. The pattern says where
    a keyword may stand and is searched together with the keyword itself: of one longer than 256 characters it holds
    only the first and last 128.

    Args:
        needle: a String expression of normalised keywords.

    Returns:
        A String expression: a pattern, or null where no edge is an ASCII digit.

    >>> frame = pl.DataFrame({"needle": ["http 503", "pool"]})
    >>> frame.select(plain_pattern(pl.col("needle"))).to_series().to_list()
    ['http 503(?:$|[^0-9.]|\\.(?:$|[^0-9]))', None]
    """
    return _bounded(needle, "[0-9]", _NUMBER_STARTS, _NUMBER_ENDS)


def word_pattern(needle: pl.Expr) -> pl.Expr:
    """The regex of a `word` keyword, where a substring search does not suffice.

    A letter or digit at an edge has no ASCII letter or digit beside it there. Long keywords as in `plain_pattern`.

    Args:
        needle: a String expression of normalised keywords.

    Returns:
        A String expression: a pattern, or null where no edge is an ASCII letter or digit.

    >>> frame = pl.DataFrame({"needle": ["oom", "连接池", "(oom)"]})
    >>> frame.select(word_pattern(pl.col("needle"))).to_series().to_list()
    ['(?:^|[^0-9A-Za-z])oom(?:$|[^0-9A-Za-z])', None, None]
    """
    return _bounded(needle, "[0-9A-Za-z]", _WORD_STARTS, _WORD_ENDS)


def _bounded(needle: pl.Expr, edge: str, starts: str, ends: str) -> pl.Expr:
    at_start = needle.str.contains(f"^{edge}")
    at_end = needle.str.contains(f"{edge}$")
    start = pl.when(at_start).then(pl.lit(starts)).otherwise(pl.lit(""))
    end = pl.when(at_end).then(pl.lit(ends)).otherwise(pl.lit(""))
    whole = pl.when(needle.str.len_chars() <= _LONGEST_IN_REGEX).then(needle).str.escape_regex()
    head = needle.str.head(_LONGEST_IN_REGEX // 2).str.escape_regex()
    tail = needle.str.tail(_LONGEST_IN_REGEX // 2).str.escape_regex()
    body = pl.coalesce(whole, pl.concat_str(head, pl.lit("(?s:.*)"), tail))
    return pl.when(at_start | at_end).then(pl.concat_str(start, body, end))


def regex_pattern(pattern: pl.Expr) -> pl.Expr:
    r"""The regex of a `regex` keyword: as written, in any case of letters.

    Args:
        pattern: a String expression of patterns in Polars' syntax.

    Returns:
        A String expression.

    >>> pl.DataFrame({"pattern": [r"max_connections=\d+"]}).select(regex_pattern(pl.col("pattern"))).item()
    '(?i)max_connections=\\d+'
    """
    return pl.concat_str(pl.lit("(?i)"), pattern)


def search(pairs: pl.DataFrame, *, text: str, literal: str, pattern: str) -> pl.Series:
    """Say for each row whether its text holds its literal and matches its pattern.

    Args:
        pairs: one row per text and keyword.
        text: name of the column of normalised texts; null holds nothing.
        literal: name of the column of normalised keywords; null asks for nothing.
        pattern: name of the column of regexes; null asks for nothing.

    Returns:
        A Boolean series without nulls, aligned with the rows of `pairs`.

    Raises:
        polars.exceptions.ComputeError: a pattern is no regex. Case files are checked for that when loaded.

    >>> pairs = pl.DataFrame({"text": ["code 5030", "服务503"], "needle": ["503", "503"]})
    >>> pairs = pairs.with_columns(pattern=plain_pattern(pl.col("needle")))
    >>> search(pairs, text="text", literal="needle", pattern="pattern").to_list()
    [False, True]
    """
    rows = pairs.select(
        pl.col(text).alias("text"), pl.col(literal).alias("literal"), pl.col(pattern).alias("pattern")
    ).with_row_index("row")
    # Over bytes, because the search over strings makes a regex of the literal where there is one row.
    is_there = pl.col("text").cast(pl.Binary).bin.contains(pl.col("literal").cast(pl.Binary))
    candidates = rows.filter(pl.col("text").is_not_null() & (pl.col("literal").is_null() | is_there))
    # A regex is compiled at every change of pattern, so equal ones must stand together.
    matched = (
        candidates.filter(pl.col("pattern").is_not_null())
        .sort("pattern")
        .filter(pl.col("text").str.contains(pl.col("pattern")))
    )
    found = pl.concat([candidates.filter(pl.col("pattern").is_null())["row"], matched["row"]])
    return rows.select(pl.col("row").is_in(found.implode()).alias("found"))["found"]


def sentences(text: pl.Expr) -> pl.Expr:
    r"""Cut original text into sentences.

    Cut at line ends (LF, CRLF, CR, VT, FF, NEL, line and paragraph separator), after 。！？； (a run of them is one
    end) and after . ! ? before white space or the end.

    Args:
        text: a String expression, as written.

    Returns:
        A List(String) expression: the pieces in order, as written but for white space at their ends; blank ones
        are dropped. Null stays null.

    >>> frame = pl.DataFrame({"text": ["Pool full. See v1.2!\n连接池耗尽。重启"]})
    >>> frame.select(sentences(pl.col("text"))).item().to_list()
    ['Pool full.', 'See v1.2!', '连接池耗尽。', '重启']
    """
    lines = text.str.replace_all(r"[\r\x0B\x0C\x{85}\x{2028}\x{2029}]", "\n")
    cut = lines.str.replace_all(r"[。！？；]+|[.!?]\s", "${0}\n")
    pieces = cut.str.split("\n").list.eval(pl.element().str.strip_chars())
    return pieces.list.eval(pl.element().filter(pl.element() != ""))


def sentence_text(piece: pl.Expr) -> pl.Expr:
    """The comparable text of a sentence: normalised, without the punctuation that closes it.

    Closing punctuation is what a sentence is cut after, as NFKC leaves it: any run of . ! ? ; 。 and spaces.

    Args:
        piece: a String expression of sentences as written.

    Returns:
        A String expression; empty where a piece holds nothing else.

    >>> pl.DataFrame({"piece": ["**The pool is full?!**"]}).select(sentence_text(pl.col("piece"))).item()
    'the pool is full'
    """
    return normalise(piece).str.strip_chars_end(".!?;。 ")


def width(text: pl.Expr) -> pl.Expr:
    """How wide a text is: its characters (code points, combining marks too), a CJK character counting two.

    Args:
        text: a String expression, normalised.

    Returns:
        A UInt32 expression.

    >>> pl.DataFrame({"text": ["mysql连接池"]}).select(width(pl.col("text"))).item()
    11
    """
    return text.str.len_chars() + text.str.count_matches(f"[{_CJK}]")


def counting_sentences(
    frame: pl.DataFrame, *, key: str | Sequence[str], text: str, question: str, excused: str
) -> pl.DataFrame:
    """The sentences of each text that count as a statement of their own (R06, `noUnsupportedClaimText`).

    One counts when it is 20 wide, or is the whole text (no other sentence beside it) and 8 wide, unless it contains
    one of the excused texts or stands in the question.

    Args:
        frame: one row per text.
        key: the column or columns that say whose text it is; they need not be unique.
        text: name of the column of texts as written; null holds no sentence.
        question: name of the column of normalised questions; null excuses nothing.
        excused: name of the List(String) column of normalised plain keywords; null and empty excuse nothing.

    Returns:
        One row per counting sentence, in the order of the rows and of the text: the key columns, `sentence` (as
        written) and `sentence_text` (normalised, without closing punctuation).

    >>> frame = pl.DataFrame(
    ...     {
    ...         "trace": [1],
    ...         "text": ["No. The connection pool is exhausted. Cause: insufficient evidence as yet."],
    ...         "question": ["why is the service slow?"],
    ...         "excused": [["insufficient evidence"]],
    ...     }
    ... )
    >>> counting_sentences(frame, key="trace", text="text", question="question", excused="excused").rows()
    [(1, 'The connection pool is exhausted.', 'the connection pool is exhausted')]
    """
    rows = frame.select(
        pl.struct([key] if isinstance(key, str) else list(key)).alias("key"),
        sentences(pl.col(text)).alias("sentence"),
        pl.col(question).alias("question"),
        pl.col(excused).alias("excused"),
    ).with_row_index("row")
    statement = pl.col("sentence_text")
    is_whole_text = pl.len().over("row") == 1
    pieces = (
        rows.select("row", "key", "question", "sentence")
        .explode("sentence")
        .with_columns(sentence_text=sentence_text(pl.col("sentence")))
        .filter(statement != "")
        .filter(width(statement) >= pl.when(is_whole_text).then(MIN_WHOLE_TEXT_WIDTH).otherwise(MIN_SENTENCE_WIDTH))
        .with_row_index("piece")
        .with_columns(pattern=plain_pattern(statement))
    )
    is_asked = search(pieces, text="question", literal="sentence_text", pattern="pattern")
    excuses = (
        rows.select("row", "excused")
        .explode("excused")
        .filter(pl.col("excused") != "")
        .join(pieces.select("piece", "row", "sentence_text"), on="row")
        .with_columns(pattern=plain_pattern(pl.col("excused")))
    )
    is_excuse = search(excuses, text="sentence_text", literal="excused", pattern="pattern")
    return (
        pieces.filter(~is_asked)
        .join(excuses.filter(is_excuse), on="piece", how="anti")
        .sort("piece")
        .select(pl.col("key").struct.unnest(), "sentence", "sentence_text")
    )
