"""Candidate keywords in the words of an expectation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.drafts.wording import Drawn, draw, lines_of


@pytest.mark.parametrize(
    "text, keywords",
    [
        pytest.param("fails to pull image `yourcompany/crw:latest`", ["yourcompany/crw:latest"], id="back-ticks"),
        pytest.param('it says "Rate Limit Exceeded" often', ["Rate Limit Exceeded"], id="quotes"),
        pytest.param("it says “Rate Limit Exceeded” often", ["Rate Limit Exceeded"], id="curly-quotes"),
        pytest.param("根因是「连接池耗尽」导致的请求全部失败", ["连接池耗尽"], id="cjk-quotes"),
        pytest.param("the pod 'payment-7d9f' isn't what it's said to be", ["payment-7d9f"], id="apostrophes"),
        pytest.param("caused by a policy named default-deny-egress", ["default-deny-egress"], id="hyphens"),
        pytest.param("the query fetch_user_logs is the one at fault", ["fetch_user_logs"], id="underscores"),
        pytest.param("validateEmailPattern() takes all of the time", ["validateEmailPattern()"], id="a-call"),
        pytest.param("it is in CrashLoopBackOff for a while now", ["CrashLoopBackOff"], id="camel-case"),
        pytest.param("the database my.postgresql.com is not there", ["my.postgresql.com"], id="a-host"),
        pytest.param("it was killed because of OOM in the end", [{"word": "OOM"}], id="a-short-acronym-is-a-word"),
        pytest.param("the answer MUST name HTTP as the protocol", ["HTTP"], id="loud-words-are-no-acronyms"),
        pytest.param("it takes 45 seconds and 1.8GB, or 85-92%", ["45 seconds", "1.8GB", "85-92%"], id="figures"),
        pytest.param("it began on 2024-12-12, at 11:34 UTC or so", ["2024-12-12", "11:34 UTC"], id="times"),
        pytest.param("errors of HTTP 429 with library v2.3.1 in use", ["HTTP 429", "v2.3.1"], id="codes"),
        pytest.param("延迟达到 300 毫秒，重试了 12 次之后仍然失败了", ["300 毫秒", "12 次"], id="cjk-units"),
        pytest.param("a well-known, CPU-specific and/or multi-phase thing", [{"word": "CPU"}], id="english-words"),
        pytest.param("June 23rd 2025", ["June 23rd 2025"], id="a-few-words-are-their-own-keyword"),
        pytest.param("连接池耗尽", ["连接池耗尽"], id="a-few-cjk-characters-too"),
        pytest.param("**Root Cause:**", [], id="a-heading"),
        pytest.param("the service is slow because it waits for another one", [], id="nothing-to-draw"),
        pytest.param('{"route": "order_lookup"}', ["order_lookup"], id="keys-of-json-are-none"),
    ],
)
def test_what_is_drawn(text: str, keywords: list[Any]) -> None:
    assert draw(text) == Drawn(tuple(keywords))


@pytest.mark.parametrize(
    "text",
    [
        "The answer MUST NOT tell the user to run `kubectl delete`",
        "It should not mention prod-db",
        "Including `promo_code` is not sufficient",
        "回答不应提到 prod-db",
    ],
)
def test_what_an_answer_must_not_say_gives_no_keyword(text: str) -> None:
    assert draw(text) == Drawn(negative=True)


def test_a_fact_with_a_not_in_it_is_no_prohibition() -> None:
    assert draw("it requests fast-ssd which doesn't exist").keywords == ("fast-ssd",)


def test_what_stands_in_the_question_is_told_apart() -> None:
    drawn = draw("`Java-API-Checker` cannot reach `prod-db:3333`", ["What is wrong with java-api-checker?"])

    assert drawn == Drawn(("prod-db:3333",), ("Java-API-Checker",))


def test_a_part_of_a_word_of_the_question_is_not_in_it() -> None:
    assert draw("killed because of OOM in the end", ["Which room?"]).keywords == ({"word": "OOM"},)


def test_a_phrase_stands_once() -> None:
    assert draw("`prod-db` and Prod-DB and **prod-db** and more").keywords == ("prod-db",)


@given(st.text(max_size=300), st.text(max_size=50))
def test_nothing_is_drawn_that_is_not_there(text: str, question: str) -> None:
    for keyword in draw(text, [question]).keywords:
        assert (keyword["word"] if isinstance(keyword, dict) else keyword) in text


def test_lines_without_their_marks() -> None:
    assert list(lines_of("Causes:\n\n  - a\n* b\n1. c\n**d**\n---\n")) == ["Causes:", "a", "b", "c", "**d**", "---"]
