"""Entries of a case, as checks take them apart and reports name them."""

import pytest

from pipeline.cases.model import KeywordEntry, Pattern, alternatives, label, tool_alternatives


@pytest.mark.parametrize(
    "entry, expected",
    [
        ("pool", "pool"),
        (Pattern(word="OOM"), "word:OOM"),
        (Pattern(regex="a+"), "/a+/"),
        (("连接池", Pattern(word="a"), Pattern(regex="b|c")), "连接池 | word:a | /b|c/"),
    ],
)
def test_label(entry: KeywordEntry, expected: str) -> None:
    assert expected == label(entry)


def test_a_single_entry_is_a_group_of_one() -> None:
    assert alternatives("a") == ("a",)
    assert alternatives(("a", Pattern(word="b"))) == ("a", Pattern(word="b"))
    assert tool_alternatives("a") == ("a",)
    assert tool_alternatives(("a", "b")) == ("a", "b")
