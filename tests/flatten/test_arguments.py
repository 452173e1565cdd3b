"""Arguments as lines: one object has what another asks for exactly when it has all of its lines."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.flatten.arguments import PATH_LIMIT, SEPARATOR, leaves, lines_of
from pipeline.sources.canonical import canonical_json

# Few keys and values, so that two values often have much in common; the long keys bring paths beyond the limit.
KEYS = st.sampled_from(["a", "b", 'a","b', "池", "", "\x1f", "\x1e", "k" * 150, "k" * 151, "x" * 300])
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -0.0, 1.0, 1.5, 2**53, 2**53 + 1, "", "1", "{}", "a\x1fb\x1e", "池"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, truth values being none, all else of one type."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other)]
    return bool(one == other) and (all(numbers) or type(one) is type(other))


def has(whole: Any, asked: Any) -> bool:
    """The contract in words: objects by key, recursively; lists as wholes; numbers by value; text exactly."""
    if isinstance(asked, dict):
        return isinstance(whole, dict) and all(key in whole and has(whole[key], asked[key]) for key in asked)
    return not isinstance(whole, dict) and same(whole, asked)


@st.composite
def less(draw: st.DrawFn, value: Any) -> Any:
    """The value, with some members of its objects left out."""
    if not isinstance(value, dict):
        return value
    return {key: draw(less(inner)) for key, inner in value.items() if draw(st.booleans())}


@given(OBJECTS, OBJECTS)
def test_lines_are_contained_exactly_where_the_objects_are(whole: dict[str, Any], asked: dict[str, Any]) -> None:
    assert has(whole, asked) == (set(leaves(asked)) <= set(leaves(whole)))


@given(OBJECTS, st.data())
def test_what_is_left_of_an_object_is_contained_in_it(whole: dict[str, Any], data: st.DataObject) -> None:
    asked = data.draw(less(whole))
    assert has(whole, asked)
    assert set(leaves(asked)) <= set(leaves(whole))


@given(OBJECTS, st.data())
def test_one_changed_value_is_seen(whole: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(["a", "x" * 300]))
    whole = {**whole, "outer": {key: 1}}
    asked = {**whole, "outer": {key: data.draw(VALUES)}}
    assert has(whole, asked) == (set(leaves(asked)) <= set(leaves(whole)))


@given(VALUES)
def test_a_value_equals_itself_after_a_way_through_json(value: Any) -> None:
    assert leaves(value) == leaves(json.loads(json.dumps(value)))


@given(VALUES)
def test_lines_are_distinct_and_split_in_two_by_the_separator(value: Any) -> None:
    lines = leaves(value)
    assert len(set(lines)) == len(lines)
    assert [line.count(SEPARATOR) for line in lines] == [1] * len(lines)


def test_a_long_key_over_many_members_does_not_multiply() -> None:
    value = {"k" * 10_000: {str(number): number for number in range(1000)}}
    assert sum(map(len, leaves(value))) < 1000 * (PATH_LIMIT + 50)


def test_deep_nesting_is_no_recursion() -> None:
    value: Any = 1
    for _ in range(5000):
        value = {"a": value}
    assert len(leaves(value)) == 5001


@given(st.lists(VALUES, max_size=5))
def test_the_lines_of_texts_are_those_of_their_values(values: list[Any]) -> None:
    texts = list(dict.fromkeys(map(canonical_json, values)))
    found = dict(lines_of(texts).iter_rows())
    assert [found[canonical_json(value)] for value in values] == [leaves(value) for value in values]


@pytest.mark.parametrize("text", ["", "n=1", '{"n":', "[" * 5000])
def test_a_text_that_is_no_json_has_no_lines(text: str) -> None:
    assert lines_of([text, "{}"])["leaves"].to_list() == [None, [f"[]{SEPARATOR}{{}}"]]
