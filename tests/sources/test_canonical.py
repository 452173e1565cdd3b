"""Free-form values as canonical JSON text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.canonical import canonical_json

TEXTS = {
    "null": (None, "null"),
    "true": (True, "true"),
    "text": ('a"\n数', '"a\\"\\n数"'),
    "sorted keys, no spaces": ({"b": 1, "a": [1, {"d": 2, "c": 3}]}, '{"a":[1,{"c":3,"d":2}],"b":1}'),
    "a whole float": ([2.0, -3.0], "[2,-3]"),
    "a whole float in an object": ({"b": 2.0, "a": "1.0"}, '{"a":"1.0","b":2}'),
    "a whole float further in": ({"a": {"b": 2.0}, "c": [{"d": 1e16}]}, '{"a":{"b":2},"c":[{"d":10000000000000000}]}'),
    "an object without a float": ({"b": None, "a": True, "c": 1}, '{"a":true,"b":null,"c":1}'),
    "minus zero": ([-0.0, 0.0], "[0,0]"),
    "a large float": (1e22, "10000000000000000000000"),
    "a float of 1.5e16": (1.5e16, "15000000000000000"),
    "fractions": ([0.1, 10.05, 1e-7, 5e-324], "[0.1,10.05,1e-7,5e-324]"),
    "64 bits": ([2**63 - 1, -(2**63), 2**64 - 1], "[9223372036854775807,-9223372036854775808,18446744073709551615]"),
    "beyond 64 bits": ([2**64, -(10**300)], f"[18446744073709551616,-1{'0' * 300}]"),
    "the like of a float in text": ("1.0 and 1e5", '"1.0 and 1e5"'),
    "what JSON does not have": ([float("nan"), float("inf"), 1.0], "[null,null,1]"),
    "keys by code point": ({"é": 1, "z": 2, "😀": 3, "\uffff": 4}, '{"z":2,"é":1,"\uffff":4,"😀":3}'),
}


@pytest.mark.parametrize("value, text", TEXTS.values(), ids=TEXTS)
def test_a_value_has_one_text(value: Any, text: str) -> None:
    assert canonical_json(value) == text


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(VALUES)
def test_the_text_reads_as_the_same_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(VALUES)
def test_numbers_are_written_by_value_wherever_they_stand(value: Any) -> None:
    def whole(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: whole(item) for key, item in one.items()}
        if isinstance(one, list):
            return [whole(item) for item in one]
        return int(one) if isinstance(one, float) and one.is_integer() else one

    assert canonical_json(value) == canonical_json(whole(value))


@given(VALUES)
def test_the_text_is_its_own_canonical_text(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(st.integers(-(2**70), 2**70).filter(lambda number: float(number) == number))
def test_equal_numbers_have_equal_texts(number: int) -> None:
    assert canonical_json([number]) == canonical_json([float(number)])


def test_200_levels_are_no_trouble() -> None:
    value: Any = 1.0
    for _ in range(200):
        value = [value]
    assert canonical_json(value) == "[" * 200 + "1" + "]" * 200
