"""Where a keyword stands in a text as it was written."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.places import Original, find_literal, find_pattern, merged, trace
from pipeline.text import normalise_texts

# What answers are made of, with what normalisation changes, drops or joins.
ORDINARY = st.text(alphabet=st.sampled_from("abPool 连接池，。*`~\\_.503\n\t　\u200bＰ①é—“”（）"), max_size=60)


def original(written: str) -> Original:
    return Original(written, normalise_texts([written])[0])


def marked(written: str, keyword: str) -> list[str]:
    placed = original(written).literal(normalise_texts([keyword])[0], "plain")
    return [written[start:end] for start, end in placed.spans]


@pytest.mark.parametrize(
    "written, keyword, expected",
    [
        pytest.param("The Pool is full", "pool", ["Pool"], id="letter case"),
        pytest.param("the **connection\n  pool**", "connection pool", ["connection\n  pool"], id="white space"),
        pytest.param("con**nec**tion", "connection", ["con**nec**tion"], id="Markdown within"),
        pytest.param("evidence\\_bindings", "evidence_bindings", ["evidence\\_bindings"], id="an escape within"),
        pytest.param("连接 池耗尽", "连接池", ["连接 池"], id="a space between CJK characters"),
        pytest.param("ＰＯＯＬ", "pool", ["ＰＯＯＬ"], id="full-width forms"),
        pytest.param("po\u200bol", "pool", ["po\u200bol"], id="invisible characters"),
        pytest.param("Straße", "strasse", ["Straße"], id="one character that becomes two"),
        pytest.param("cafe\u0301 503", "café", ["cafe\u0301"], id="a mark of its own"),
        pytest.param("5030 and 503.", "503", ["503"], id="not within a longer number"),
        pytest.param("pool, pool", "pool", ["pool", "pool"], id="everywhere"),
        pytest.param("nothing here", "pool", [], id="nowhere"),
    ],
)
def test_a_keyword_is_placed_as_it_was_written(written: str, keyword: str, expected: list[str]) -> None:
    assert marked(written, keyword) == expected


def test_a_word_is_placed_where_it_is_one() -> None:
    assert list(find_literal("room, oom; oomph", "oom", "word")) == [(6, 9)]


def test_a_regex_is_placed_by_its_matches() -> None:
    written = "**Max_Connections = 500** and max_connections=64"
    placed = original(written).pattern(r"max_connections\s*=\s*\d+")
    assert [written[start:end] for start, end in placed.spans] == ["Max_Connections = 500", "max_connections=64"]
    assert placed.exact


def test_a_regex_that_is_none_any_more_matches_nothing() -> None:
    assert find_pattern(["some text"], "([redacted]") == [[]]


def test_a_regex_that_matches_the_empty_text_marks_nothing() -> None:
    assert find_pattern(["abc"], "x*") == [[]]


def test_a_text_that_cannot_be_followed_exactly_is_placed_by_lines() -> None:
    # A mark behind an invisible character joins what stands before it, but only once that is gone.
    written = "first line\nthe pool is e\u200b\u0301\nlast"
    one = original(written)
    assert not one.exact
    placed = one.literal("pool", "plain")
    assert not placed.exact
    assert [written[start:end] for start, end in placed.spans] == ["the pool is e\u200b\u0301"]


def test_overlapping_places_are_one() -> None:
    assert merged([(5, 9), (0, 2), (7, 12), (12, 13)]) == [(0, 2), (5, 12), (12, 13)]


@given(ORDINARY)
def test_ordinary_text_can_always_be_followed_exactly(written: str) -> None:
    assert trace(written).text == normalise_texts([written])[0]


@given(st.text(max_size=40))
def test_any_text_is_followed_in_order_and_within_itself(written: str) -> None:
    traced = trace(written)
    assert len(traced.text) == len(traced.starts) == len(traced.ends)
    assert all(0 <= start < end <= len(written) for start, end in zip(traced.starts, traced.ends, strict=True))
    assert list(traced.starts) == sorted(traced.starts)


@given(ORDINARY, st.integers(0, 40), st.integers(1, 8))
def test_what_is_marked_always_says_the_keyword(written: str, start: int, length: int) -> None:
    one = original(written)
    keyword = one.normalised[start : start + length].strip()
    found = list(find_literal(one.normalised, keyword, "plain"))
    placed = one.literal(keyword, "plain")
    assert len(placed.spans) == len(found)
    for begin, end in placed.spans:
        # A letter whose compatibility form has more than one character is marked as a whole.
        assert keyword in normalise_texts([unicodedata.normalize("NFKC", written[begin:end])])[0]
