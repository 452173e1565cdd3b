"""JMESPath expressions: what is wrong with one is told before anything is read, with its place."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.expressions import MAX_LENGTH, Expression, Problem, problem_of
from pipeline.sources.wording import Refused

# name, expression, column, what, expected
PROBLEMS: list[tuple[str, str, int | None, str, str]] = [
    ("a dot too many", "answer.", 8, "it ends too early", "a JMESPath expression"),
    ("an open bracket", "a[", 3, "it ends too early", "a JMESPath expression"),
    ("two words", "a b", 3, "Unexpected token: b", "a JMESPath expression"),
    ("an open quote", "a == 'x", 6, "Unclosed ' delimiter", "a JMESPath expression"),
    ("nothing", "", None, "cannot be empty", "a JMESPath expression"),
    (
        "a word between back ticks",
        "a == `x`",
        6,
        "what stands between back ticks is no JSON",
        "JSON between back ticks, or a text in single quotes",
    ),
    ("a misspelt function", "x && lenght(a)", 6, "there is no function lenght", "length"),
    ("a function's name in a text is none", "'f(' && foo_(a)", 9, "there is no function foo_", "floor"),
    ("too many arguments", "length(a, b)", 1, "length is given 2 arguments", "1 argument"),
    ("too few arguments", "milliseconds(a)", 1, "milliseconds is given 1 argument", "2 arguments"),
    ("too few of any number", "not_null()", 1, "not_null is given 0 arguments", "1 argument or more"),
    ("too long", "a" * (MAX_LENGTH + 1), None, "it is 4001 characters long", "up to 4000 characters"),
    ("too deep", "(" * 1900 + "a" + ")" * 1900, None, "its brackets nest too deep", "less nesting"),
]


@pytest.mark.parametrize(
    "text, column, what, expected", [row[1:] for row in PROBLEMS], ids=[row[0] for row in PROBLEMS]
)
def test_a_problem_is_told_with_its_place(text: str, column: int | None, what: str, expected: str) -> None:
    assert problem_of(text) == Problem(what=what, expected=expected, column=column)


@given(st.text(alphabet="abf._()[]{}`'\"|&*?@:,-0 \\", max_size=30))
def test_any_text_is_an_expression_or_has_a_problem(text: str) -> None:
    if problem_of(text) is None:
        with suppress(Refused):
            Expression(text).find({"a": [{"b": 1}], "f": "x"})


# name, expression, value, what it finds
FINDS: list[tuple[str, str, Any, Any]] = [
    ("a path", "a.b[1]", {"a": {"b": [1, 2]}}, 2),
    ("nothing", "a.b", {}, None),
    ("JSON inside a text", "from_json(a).b", {"a": '{"b": [1]}'}, [1]),
    ("JSON inside no text", "from_json(a).b", {}, None),
    ("JSON inside blank text", "from_json(a)", {"a": " "}, None),
    ("seconds", "milliseconds(a, 's')", {"a": 8.4}, 8400.0),
    ("nanoseconds", "milliseconds(a, 'ns')", {"a": 1_500_000}, 1.5),
    ("an unknown span", "milliseconds(a, 's')", {}, None),
    ("a time in seconds", "iso_time(a, 's')", {"a": 1_700_000_000.25}, "2023-11-14T22:13:20.250000+00:00"),
    (
        "a time in nanoseconds, to the microsecond",
        "iso_time(a, 'ns')",
        {"a": 1_700_000_000_123_456_789},
        "2023-11-14T22:13:20.123456+00:00",
    ),
    ("no time", "iso_time(a, 's')", {}, None),
]


@pytest.mark.parametrize("text, value, found", [row[1:] for row in FINDS], ids=[row[0] for row in FINDS])
def test_an_expression_finds(text: str, value: Any, found: Any) -> None:
    assert Expression(text).find(value) == found


# name, expression, value, expected, found
REFUSALS: list[tuple[str, str, Any, str, str]] = [
    ("a text for a number", "milliseconds(a, 's')", {"a": "8"}, "a number or null for milliseconds", 'text "8"'),
    ("the length of nothing", "length(a)", {}, "text or a list or object for length", "null"),
    ("an unknown unit", "milliseconds(a, 'h')", {"a": 8}, "one of ns, us, ms, s, min", 'text "h"'),
    ("an unknown unit of an unknown span", "milliseconds(a, 'h')", {}, "one of ns, us, ms, s, min", 'text "h"'),
    ("no date", "iso_time(a, 's')", {"a": 1e18}, "a time from the year 1 to 9999", "number 1e+18"),
    ("no JSON", "from_json(a)", {"a": "{"}, "JSON", "the end, after {"),
    (
        "a number beyond all bounds",
        "milliseconds(a, 's')",
        {"a": 10**308},
        "values that its functions can work with",
        "OverflowError: integer division result too large for a float",
    ),
]


@pytest.mark.parametrize(
    "text, value, expected, found", [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_an_expression_cannot_be_worked_out(text: str, value: Any, expected: str, found: str) -> None:
    with pytest.raises(Refused) as refused:
        Expression(text).find(value)
    assert (refused.value.expected, refused.value.found) == (expected, found)


@pytest.mark.parametrize(
    "text, path",
    [
        ("@", "$"),
        ("a", "$.a"),
        ('a.b[0]."c d"', '$.a.b[0]["c d"]'),
        ("a[-1]", None),
        ("a[*].b", None),
        ("length(a)", None),
        ("a || b", None),
    ],
)
def test_a_plain_path_is_told(text: str, path: str | None) -> None:
    assert Expression(text).path() == path
