"""The terms that tell one answer from the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.drafts.distinctive import MOST, distinctive
from pipeline.places import find_literal
from pipeline.text import normalise_texts


def of_first(*answers: str, question: str = "") -> list[str]:
    return distinctive(answers, [question, *("" for _ in answers[1:])])[0]


def test_what_the_others_say_too_tells_little() -> None:
    first = "The service is slow because port 9100 is taken."

    assert of_first(first, "The service is slow because the disk is full.")[0] == "port 9100"


def test_what_the_question_says_is_no_keyword() -> None:
    question = "Is the pod slow, and which port is it?"

    assert of_first("The pod is slow. Slow pod! Port 9100", question=question) == ["Port 9100"]


@pytest.mark.parametrize(
    "answer, term",
    [
        pytest.param("It is 连接池耗尽，重启后恢复，连接池耗尽。", "连接池耗尽", id="cjk-is-cut-at-punctuation"),
        pytest.param("The **connection** `pool` of it", "connection pool", id="marks-are-left-out"),
        pytest.param("It is cluster’s node-exporter", "cluster’s node-exporter", id="apostrophe"),
        pytest.param("Killed: OOM", "OOM", id="letter-case-is-kept"),
        pytest.param("It was 12,500 ms", "12,500 ms", id="thousands"),
    ],
)
def test_terms_as_they_stand_in_the_answer(answer: str, term: str) -> None:
    assert term in of_first(answer)


def test_no_term_goes_over_the_end_of_a_line_or_a_sentence() -> None:
    assert of_first("## Fix\nRestart it. Afterwards wait") == ["Afterwards wait", "Fix", "Restart"]


def test_no_two_terms_share_a_word() -> None:
    words = [word for term in of_first("node exporter port node exporter pool exporter node") for word in term.split()]

    assert len(words) == len(set(words))


ANSWERS = st.lists(st.text(st.sampled_from("ab1 .,\n*`'连接池耗尽的ßİ\u200b５"), max_size=60), min_size=1, max_size=4)


@given(ANSWERS, st.text(st.sampled_from("ab1 连接"), max_size=10))
def test_every_term_is_found_in_its_answer_and_not_in_its_question(answers: list[str], question: str) -> None:
    found = distinctive(answers, [question] * len(answers))
    asked, *texts = normalise_texts([question, *answers])
    for terms, text in zip(found, texts, strict=True):
        assert len(terms) <= MOST
        for term in normalise_texts(terms) if terms else ():
            assert next(find_literal(text, term, "plain"), None) is not None
            assert next(find_literal(asked, term, "word"), None) is None
