"""What was asked and answered, out of recorded inputs and outputs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.spoken import (
    answer_of,
    arguments_of,
    decoded,
    is_tool_message,
    json_text,
    messages_in,
    question_of,
    requested_calls,
    tool_result,
)

USER = {"role": "user", "content": "why?"}
ANSWER = {"role": "assistant", "content": "The pool."}

QUESTIONS: dict[str, tuple[Any, str | None]] = {
    "text": ("why?", "why?"),
    "text as JSON": ('"why?"', "why?"),
    "twice": (json.dumps(json.dumps({"messages": [USER]})), "why?"),
    "messages": (
        {"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}, USER]},
        "why?",
    ),
    "LangChain's kinds": ([{"type": "human", "content": "why?"}], "why?"),
    "LangChain's constructors": (
        {"messages": [[{"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "why?"}}]]},
        "why?",
    ),
    "LangChain's dicts": ([{"type": "human", "data": {"content": "why?"}}], "why?"),
    "pairs": ({"messages": [["system", "be kind"], ["human", "why?"]]}, "why?"),
    "one pair": (["human", "why?"], "why?"),
    "parts": ([{"role": "user", "content": [{"type": "text", "text": "why"}, {"type": "image"}]}], "why"),
    "Gemini's contents": ({"contents": [{"role": "user", "parts": [{"text": "why?"}]}], "model": "m"}, "why?"),
    "Gemini's text": ({"contents": "why?", "model": "m"}, "why?"),
    "ADK's request": ({"user_id": "u", "new_message": {"role": "user", "parts": [{"text": "why?"}]}}, "why?"),
    "arguments of a function": ({"args": ["why?"], "kwargs": {}}, "why?"),
    "named arguments": ({"args": [], "kwargs": {"question": "why?"}}, "why?"),
    "a name of their own": ({"customer_id": "c", "customer_query": "why?"}, "why?"),
    "a transcript": ("system: be kind\nuser: hi\nassistant: hello\nuser: why?", "why?"),
    "replies of tools are no questions": (
        [USER, {"role": "user", "content": [{"type": "tool_result", "content": "3 lines"}]}],
        "why?",
    ),
    "nothing known": ({"run_response": {"x": 1}}, None),
    "a number": (7, None),
    "blank": (" ", None),
    "empty": ({}, None),
}


@pytest.mark.parametrize("value, expected", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question(value: Any, expected: str | None) -> None:
    assert question_of(value) == expected


ANSWERS: dict[str, tuple[Any, str | None]] = {
    "text": ("The pool.", "The pool."),
    "a message": (ANSWER, "The pool."),
    "messages": ({"messages": [USER, ANSWER]}, "The pool."),
    "a question that was not answered": ({"messages": [USER, ANSWER, USER]}, None),
    "a member": ({"sources": [], "answer": "The pool."}, "The pool."),
    "text that is JSON stays as the model wrote it": ({"output": '{"answer": "The pool."}'}, '{"answer": "The pool."}'),
    "choices": ({"choices": [{"message": ANSWER}, {"message": {"role": "assistant", "content": "no"}}]}, "The pool."),
    "generations": ({"generations": [[{"text": "The pool.", "message": {}}]]}, "The pool."),
    "candidates": ({"candidates": [{"content": {"role": "model", "parts": [{"text": "The pool."}]}}]}, "The pool."),
    "ADK's event": (
        {"content": {"role": "model", "parts": [{"text": "The pool."}]}, "finish_reason": "STOP"},
        "The pool.",
    ),
    "thoughts are no answer": (
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "The pool."}]},
        "The pool.",
    ),
    "Responses": (
        {
            "output": [
                {"type": "reasoning"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "The pool."}]},
            ]
        },
        "The pool.",
    ),
    "Anthropic's content": (
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "The pool."}],
        },
        "The pool.",
    ),
    "a call is no answer": ({"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "f"}]}, None),
    "a number": ({"answer": 42}, "42"),
    "data": ({"cause": "pool"}, None),
    "types that are none": ([{"type": []}, {"role": {}, "content": [{"type": {}, "text": "x"}]}], None),
    "nothing": (None, None),
}


@pytest.mark.parametrize("value, expected", ANSWERS.values(), ids=ANSWERS)
def test_an_answer(value: Any, expected: str | None) -> None:
    assert answer_of(value) == expected


CALLS: dict[str, Any] = {
    "chat": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
    "LangChain": {"tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}], "content": ""},
    "LangChain's extras": {
        "content": "",
        "additional_kwargs": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
    },
    "Anthropic": {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
    "GenAI parts": {"parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
    "Gemini": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]},
}


@pytest.mark.parametrize("message", CALLS.values(), ids=CALLS)
def test_a_call_that_a_model_asks_for(message: dict[str, Any]) -> None:
    [call] = requested_calls([(None, {"choices": [{"message": {"role": "assistant", **message}}]})])
    assert call is not None
    assert (call.toolName, call.arguments, call.success) == ("f", {"a": 1}, None)


def test_the_call_of_a_response_is_joined_to_its_reply_and_counts_once() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    reply = {"type": "function_call_output", "call_id": "c", "output": "3 lines"}
    [found] = requested_calls([("why?", {"output": [call]}), ([USER, call, reply], {"output": [call]})])
    assert found is not None
    assert (found.toolName, found.resultSummary) == ("f", "3 lines")


def test_a_reply_may_say_that_its_call_failed() -> None:
    reply = {"type": "tool", "content": "boom", "tool_call_id": "c", "status": "error"}
    assert is_tool_message(json.dumps(reply))
    assert tool_result(reply) == ("boom", True)
    assert tool_result('{"rows": 3}') == ({"rows": 3}, False)
    assert not is_tool_message("boom")
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "f"}]}
    [found] = requested_calls([(None, asked), ([asked, reply], None)])
    assert found is not None
    assert (found.success, found.error) == (False, "boom")


@pytest.mark.parametrize(
    "value, expected",
    [
        ("{'city': 'Berlin', 'on': None, 'n': [1, 2.5, True]}", {"city": "Berlin", "on": None, "n": [1, 2.5, True]}),
        ("{'pattern': '\\d+'}", {"pattern": "\\d+"}),
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("['a']", ["a"]),
        ("SHOW STATUS", "SHOW STATUS"),
        ("{'a': print(1)}", "{'a': print(1)}"),
        ("{1: 2}", "{1: 2}"),
        ("{'a': {1, 2}}", "{'a': {1, 2}}"),
        ("{'a': 1e999}", "{'a': 1e999}"),
        ("{'a': (1, 2)}", "{'a': (1, 2)}"),
        ("{'half", "{'half"),
        ("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100)),
        ("['" + "[" * 100 + "']", "['" + "[" * 100 + "']"),
        ("[" + "-" * 60_000 + "1,]", "[" + "-" * 60_000 + "1,]"),
        ("['" + "a" * 70_000 + "']", "['" + "a" * 70_000 + "']"),
        (" ", None),
        (None, None),
        ({}, {}),
    ],
)
def test_arguments(value: Any, expected: Any) -> None:
    assert arguments_of(value) == expected


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_python_writes_is_always_read_back(value: Any) -> None:
    assert arguments_of(repr({"a": value})) == {"a": value}


KEYS = ["messages", "content", "role", "type", "output", "choices", "kwargs", "id", "data", "parts", "tool_calls"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["text", "user", "assistant", "tool"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
    max_leaves=30,
)


@settings(deadline=None)
@given(JSON)
def test_any_value_is_read_without_a_fault(value: Any) -> None:
    assert isinstance(question_of(value), str | None)
    assert isinstance(answer_of(value), str | None)
    assert isinstance(json_text(value), str | None)
    messages_in(value)
    requested_calls([(value, value)])
    tool_result(value)


@pytest.mark.parametrize("text", ["42", "true", "null", "plain", '"unclosed', "{no"])
def test_plain_text_is_never_decoded(text: str) -> None:
    assert decoded(text) == text
