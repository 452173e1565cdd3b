"""The product's voice: what faults and errors say, and what they quote."""

import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import errors
from pipeline.errors import NOT_SHOWN, CaseFileError, DiagnosisEvalError, Fault, UsageError, excerpt, hiding, quote

FAULT = Fault(file="a.yaml", line=3, path="$.cases[0]", expected="text", found="number 7", message="quote it.")


@pytest.mark.parametrize(
    "fault, expected",
    [
        pytest.param(
            FAULT, "a.yaml:3: $.cases[0]: quote it.\n    expected: text\n    found:    number 7", id="everything"
        ),
        pytest.param(Fault(file="a.json", message="mend it."), "a.json: $: mend it.", id="a message alone"),
    ],
)
def test_a_fault_in_words(fault: Fault, expected: str) -> None:
    assert str(fault) == expected


def test_an_error_in_words() -> None:
    assert str(UsageError("no such thing")) == "no such thing"
    assert str(UsageError("no such thing", hint="name another")) == "no such thing\nname another"


@pytest.mark.parametrize("count, last", [(1, "1 fault in the case files"), (2, "2 faults in the case files")])
def test_all_faults_of_the_case_files_are_told(count: int, last: str) -> None:
    error = CaseFileError([FAULT] * count)
    assert str(error) == "\n".join([*[str(FAULT)] * count, f"{last}; nothing was evaluated"])
    assert error.faults == (FAULT,) * count


def test_every_error_is_bad_usage_or_bad_input() -> None:
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, DiagnosisEvalError)]
    assert len(found) > 5
    assert {one.exit_code for one in found} == {2}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain", "plain"),
        ("", ""),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31m\x07", "\\x1b[31m\\x07"),
        ("\u202e\u200b", "\\u202e\\u200b"),
        ("\ud83d", "\\ud83d"),
        ("支付 👍", "支付 👍"),
        ("x" * 160, "x" * 160),
        ("x" * 161, "x" * 160 + "… (161 characters)"),
    ],
)
def test_quoted_text(text: str, expected: str) -> None:
    assert quote(text) == expected
    assert excerpt(text) == expected


@settings(deadline=None)
@given(st.text(), st.integers(0, 50))
def test_quoted_text_is_printable_and_bounded(text: str, limit: int) -> None:
    shown = quote(text, limit)
    assert shown.isprintable()
    # An escape takes up to ten characters.
    assert len(shown) <= limit * 10 + len(f"… ({len(text)} characters)")
    assert text.isprintable() is False or len(text) > limit or shown == text


def test_what_is_hidden_is_hidden_before_it_is_cut() -> None:
    with hiding(lambda text: text.replace("hidden\nword", "-")):
        assert quote("a hidden\nword", 4) == "a -"
        assert quote("plain") == "plain"
    assert quote("hidden\nword") == "hidden\\nword"


def test_a_piece_may_be_half_of_something_hidden() -> None:
    with hiding(lambda text: text):
        assert excerpt("dden wo") == NOT_SHOWN
    assert excerpt("dden wo") == "dden wo"


def test_hiding_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), hiding(lambda _: "-"):
        raise ZeroDivisionError
    assert quote("text") == "text"
