"""Chat messages in the notations that instrumentations use."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.genai_messages import asked, messages, told, unflattened

CALL = ("c1", "searchLogs", {"q": "503"})
MESSAGES = {
    "text": ([{"role": "user", "content": "why?"}], [("user", "why?", [], [])]),
    "as JSON in a text": (json.dumps([{"role": "user", "content": "why?"}]), [("user", "why?", [], [])]),
    "an object around them": (
        {"messages": [{"role": "user", "content": "why?"}], "model": "m"},
        [("user", "why?", [], [])],
    ),
    "parts of GenAI": (
        [
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "hm"},
                    {"type": "text", "content": "a"},
                    {"type": "tool_call", "id": "c1", "name": "searchLogs", "arguments": {"q": "503"}},
                    {"type": "text", "content": "b"},
                ],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "none"}]},
        ],
        [("assistant", "a\nb", [CALL], []), ("tool", None, [], [("c1", "none")])],
    ),
    "calls of OpenAI": (
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "searchLogs", "arguments": {"q": "503"}}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "none"},
        ],
        [("assistant", None, [CALL], []), ("tool", None, [], [("c1", "none")])],
    ),
    "blocks of Anthropic": (
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "searchLogs", "input": {"q": "503"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "none"}]},
        ],
        [("assistant", None, [CALL], []), ("user", None, [], [("c1", "none")])],
    ),
    "parts of Bedrock, as JSON in a text": (
        [
            {
                "role": "assistant",
                "content": json.dumps(
                    [{"text": "a"}, {"toolUse": {"toolUseId": "c1", "name": "searchLogs", "input": {"q": "503"}}}]
                ),
            },
            {
                "role": "user",
                "content": json.dumps([{"toolResult": {"toolUseId": "c1", "content": [{"text": "none"}]}}]),
            },
        ],
        [("assistant", "a", [CALL], []), ("user", None, [], [("c1", [{"text": "none"}])])],
    ),
    "contents of Gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "why?"}]},
                {
                    "role": "model",
                    "parts": [{"function_call": {"id": "c1", "name": "searchLogs", "args": {"q": "503"}}}],
                },
                {"role": "user", "parts": [{"function_response": {"id": "c1", "response": {"result": "none"}}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "so", "thought": None}]},
            ]
        },
        [
            ("user", "why?", [], []),
            ("assistant", None, [CALL], []),
            ("user", None, [], [("c1", {"result": "none"})]),
            ("assistant", "so", [], []),
        ],
    ),
    "parts of the AI SDK": (
        [
            {"role": "user", "content": [{"type": "text", "text": "why?"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "searchLogs", "args": {"q": "503"}}],
            },
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": "none"}]},
        ],
        [("user", "why?", [], []), ("assistant", None, [CALL], []), ("tool", None, [], [("c1", "none")])],
    ),
    "classes of LangChain, in a batch of one": (
        [[{"id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "why?", "type": "human"}}]],
        [("user", "why?", [], [])],
    ),
    "dumps of LangChain": ([{"type": "ai", "content": "so"}], [("assistant", "so", [], [])]),
    "numbered, in the order of the numbers": (
        {"10": {"message": {"role": "user", "content": "b"}}, "9": {"message": {"role": "user", "content": "a"}}},
        [("user", "a", [], []), ("user", "b", [], [])],
    ),
    "an answer that is a list in JSON is text": (
        [{"role": "assistant", "content": "[1, 2]"}],
        [("assistant", "[1, 2]", [], [])],
    ),
    "an answer that is an object in JSON is text": (
        [{"role": "assistant", "content": '{"text": "a"}'}],
        [("assistant", '{"text": "a"}', [], [])],
    ),
    "white space says nothing": ([{"role": "user", "content": " \n"}], [("user", None, [], [])]),
    "no messages": ([1, "a", None, {"role": "user"}, {"content": "a"}], []),
    "a text": ("why?", []),
    "nothing": (None, []),
}


@pytest.mark.parametrize("value, expected", MESSAGES.values(), ids=MESSAGES)
def test_messages_of_every_notation_say_the_same(value: Any, expected: list[Any]) -> None:
    assert [
        (
            each.role,
            each.text,
            [(call.id, call.name, call.arguments) for call in each.calls],
            [(reply.id, reply.content) for reply in each.replies],
        )
        for each in messages(value)
    ] == expected


QUESTIONS = {
    "text": ("why?", "why?"),
    "text in JSON": ('"why?"', "why?"),
    "a field that says so": ({"verbose": True, "question": "why?"}, "why?"),
    "the same as JSON": ('{"task": "why?"}', "why?"),
    "arguments by name": ({"args": [], "kwargs": {"query": "why?"}}, "why?"),
    "the only argument": ({"args": ["why?"], "kwargs": {}}, "why?"),
    "a request of the responses API": ({"request": {"input": [{"role": "user", "content": "why?"}]}}, "why?"),
    "the last message of the user": (
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "why?"},
        ],
        "why?",
    ),
    "no message of the user": ([{"role": "system", "content": "be brief"}], None),
    "fields of no known name": ('{"pod": "api-1"}', '{"pod": "api-1"}'),
    "the same, no text": ({"pod": "api-1"}, '{"pod":"api-1"}'),
    "an empty object": ("{}", None),
    "blank": ("  ", None),
    "nothing": (None, None),
}


@pytest.mark.parametrize("value, expected", QUESTIONS.values(), ids=QUESTIONS)
def test_the_question_in_what_a_run_was_given(value: Any, expected: str | None) -> None:
    assert asked(value) == expected


ANSWERS = {
    "text": ("so", "so"),
    "text in JSON": ('"so"', "so"),
    "a field that says so": ('{"steps": 3, "answer": "so"}', "so"),
    "the last message": (
        {"messages": [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]},
        "so",
    ),
    "the last message is the user's": ({"messages": [{"role": "user", "content": "why?"}]}, None),
    "a completion of OpenAI": ({"choices": [{"message": {"role": "assistant", "content": "so"}}]}, "so"),
    "a response of Gemini": ({"content": {"role": "model", "parts": [{"text": "so"}]}}, "so"),
    "a generation of LangChain": (
        {"generations": [[{"text": "so", "message": {"kwargs": {"content": "so"}, "id": ["AIMessage"]}}]]},
        "so",
    ),
    "output of the responses API": (
        {
            "object": "response",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}],
        },
        "so",
    ),
    "chunks": (["s", "o"], "so"),
    "fields of no known name": ({"pods": 3}, '{"pods":3}'),
    "a number": (8, "8"),
    "an empty list": ("[]", None),
    "nothing": (None, None),
}


@pytest.mark.parametrize("value, expected", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_in_what_a_run_gave(value: Any, expected: str | None) -> None:
    said = told(value)
    assert (None if said is None else said.text) == expected


def test_a_response_may_ask_for_calls_beside_its_text() -> None:
    said = told({"content": "let me see", "tool_calls": '[{"id": "c1", "name": "searchLogs", "args": {}}]'})
    assert said is not None
    assert (said.text, [(call.id, call.name) for call in said.calls]) == ("let me see", [("c1", "searchLogs")])


def test_keys_of_any_length_are_taken_apart_only_so_far() -> None:
    assert unflattened({"m." + ".".join("x" * 10_000): 1, "m.x": 2}, "m") is not None


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["user", "tool_call", "[{", '"a"']),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "type",
                    "content",
                    "parts",
                    "text",
                    "tool_calls",
                    "function",
                    "id",
                    "message",
                    "messages",
                    "0",
                    "1",
                    "choices",
                    "args",
                    "kwargs",
                    "generations",
                    "function_call",
                    "toolUse",
                    "input",
                    "output",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(json_like)
def test_whatever_stands_there_is_read_without_complaint(value: Any) -> None:
    for each in messages(value):
        assert each.text is None or each.text.strip()
    question, said = asked(value), told(value)
    assert question is None or question.strip()
    assert said is None or said.text is None or said.text.strip()
    assert messages(json.dumps(value)) == messages(value)
