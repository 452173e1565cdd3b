"""OpenAI chat messages as traces."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import native, openai_chat
from pipeline.sources.base import ReadTrace, ToolInvocation, Trace

Chat = Callable[[Any], Trace]
Read = Callable[..., tuple[list[Any], list[Fault]]]

USER = {"role": "user", "content": "why 503?"}
ANSWER = {"role": "assistant", "content": "The pool was exhausted."}


def call(call_id: str | None, name: str = "searchLogs", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def reply(call_id: str | None, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.fixture
def chat(read: Read) -> Chat:
    def read_chat(document: Any) -> Trace:
        [record], faults = read(json.dumps(document))
        assert faults == []
        assert isinstance(record, ReadTrace)
        return record.trace

    return read_chat


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def seen(trace: Trace) -> list[tuple[Any, ...]]:
    return [(each.toolName, each.arguments, each.resultSummary) for each in calls_of(trace)]


def test_a_whole_conversation(chat: Chat) -> None:
    trace = chat(
        {
            "id": "chat-1",
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "You are on call."},
                USER,
                asks(call("c1", "searchLogs", '{"level": "error"}'), call("c2", "queryMysql", "SHOW PROCESSLIST")),
                reply("c1", "3 lines"),
                reply("c2", [{"type": "text", "text": "200"}, {"type": "text", "text": "connections"}]),
                ANSWER,
            ],
        }
    )
    assert trace.traceId == "chat-1"
    assert trace.model == "m-1"
    assert trace.question == "why 503?"
    assert trace.finalAnswer == "The pool was exhausted."
    assert seen(trace) == [
        ("searchLogs", {"level": "error"}, "3 lines"),
        ("queryMysql", "SHOW PROCESSLIST", "200\nconnections"),
    ]
    assert [(each.success, each.durationMs, each.error) for each in calls_of(trace)] == [(None, None, None)] * 2
    assert (trace.durationMs, trace.caseId, trace.selfEvaluation) == (None, None, None)


def test_a_bare_list_has_no_id(chat: Chat) -> None:
    trace = chat([USER, ANSWER])
    assert (trace.traceId, trace.model, trace.finalAnswer) == (None, None, "The pool was exhausted.")
    assert trace.toolInvocations == []


ANSWERS = {
    "text": ([ANSWER], "The pool was exhausted."),
    "parts": ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]}], "a\nb"),
    "the last with text": ([ANSWER, {"role": "assistant", "content": None}, {"role": "assistant"}], ANSWER["content"]),
    "not a blank one": ([ANSWER, {"role": "assistant", "content": " \n"}], ANSWER["content"]),
    "not one without text parts": (
        [ANSWER, {"role": "assistant", "content": [{"type": "image_url"}]}],
        ANSWER["content"],
    ),
    "not what the user said": ([ANSWER, USER], ANSWER["content"]),
    "none": ([{"role": "assistant"}], None),
}


@pytest.mark.parametrize("messages, answer", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_the_last_assistant_message_with_text(
    chat: Chat, messages: list[Any], answer: str | None
) -> None:
    assert chat([USER, *messages]).finalAnswer == answer


def test_the_question_is_the_first_user_message(chat: Chat) -> None:
    trace = chat([{"role": "system", "content": "s"}, USER, ANSWER, {"role": "user", "content": "and now?"}])
    assert trace.question == "why 503?"


JOINED = {
    "by id, not by place": (
        [asks(call("c1", "a"), call("c2", "b")), reply("c2", "of b"), reply("c1", "of a")],
        [("a", {}, "of a"), ("b", {}, "of b")],
    ),
    "each reply once": (
        [
            asks(call("c1", "a")),
            reply("c1", "first"),
            asks(call("c1", "b")),
            reply("c1", "second"),
            asks(call("c1", "c")),
        ],
        [("a", {}, "first"), ("b", {}, "second"), ("c", {}, None)],
    ),
    "no id, no reply": ([asks(call(None, "a")), reply(None, "whose?")], [("a", {}, None)]),
    "no reply": ([asks(call("c1", "a"))], [("a", {}, None)]),
    "an empty reply": ([asks(call("c1", "a")), reply("c1", None)], [("a", {}, None)]),
    "null among the calls": ([asks(None, call("c1", "a"))], [("a", {}, None)]),
    "a call without a function": ([asks({"id": "c1", "type": "function"})], [(None, None, None)]),
    "arguments as an object": ([asks(call("c1", "a", {"q": 1}))], [("a", {"q": 1}, None)]),
    "arguments encoded twice": ([asks(call("c1", "a", json.dumps('{"q": 1}')))], [("a", {"q": 1}, None)]),
    "blank arguments": ([asks(call("c1", "a", ""))], [("a", None, None)]),
    "arguments that are no JSON": ([asks(call("c1", "a", "{'q': 1}"))], [("a", "{'q': 1}", None)]),
    "the older form": (
        [
            {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": '{"q": 1}'}},
            {"role": "function", "name": "a", "content": "of a"},
        ],
        [("a", {"q": 1}, "of a")],
    ),
}


@pytest.mark.parametrize("messages, calls", JOINED.values(), ids=JOINED)
def test_calls_are_joined_to_their_replies(chat: Chat, messages: list[Any], calls: list[Any]) -> None:
    assert seen(chat([USER, *messages])) == calls


def test_one_conversation_per_line(read: Read) -> None:
    content = "\n".join(json.dumps({"id": str(n), "messages": [USER, ANSWER]}) for n in range(3))
    traces, faults = read(content, "t.jsonl")
    assert [(row.trace.traceId, row.line) for row in traces] == [("0", 1), ("1", 2), ("2", 3)]
    assert faults == []


def test_a_conversation_inside_a_string_is_read(read: Read) -> None:
    [record], _ = read(json.dumps(json.dumps([USER, ANSWER])))
    assert record.trace.finalAnswer == "The pool was exhausted."


def test_repairs_hold_here_too(read: Read) -> None:
    content = json.dumps([USER, asks(call("c1", "a", '{"x": NaN}')), {"role": "assistant", "content": "a\ud83d"}])
    [record], _ = read(content)
    assert record.trace.finalAnswer == "a\ufffd"
    assert [(row.kind, row.path) for row in record.warned] == [
        ("lone-surrogate", "$[2].content"),
        ("non-finite-number", "$[1].tool_calls[0].function.arguments.x"),
    ]


REFUSED = {
    "a number for content": ([USER, {"role": "assistant", "content": 7}], "$[1].content"),
    "a number in messages": ({"messages": [USER, {"role": "tool", "tool_call_id": 7}]}, "$.messages[1].tool_call_id"),
    "an object for calls": ([{"role": "assistant", "tool_calls": {}}], "$[0].tool_calls"),
    "another API's call": ([{"role": "assistant", "content": [{"type": "tool_use"}]}], "$[0].content[0].type"),
    "an object without messages": ({"id": "a"}, "$.messages"),
    "no messages": ({"messages": []}, "$.messages"),
    "an empty list": ([], "$"),
    "a number": (42, "$"),
}


@pytest.mark.parametrize("document, path", REFUSED.values(), ids=REFUSED)
def test_what_is_no_such_chat_is_refused_at_its_path(read: Read, document: Any, path: str) -> None:
    traces, [fault] = read(json.dumps(document), from_format="openai-chat")
    assert (traces, fault.path) == ([], path)


AI_SDK = {
    "role": "assistant",
    "content": "",
    "toolInvocations": [{"state": "result", "toolCallId": "c", "toolName": "a"}],
}
ANTHROPIC = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "a", "input": {}}]}
RECOGNISED = {
    "a list of messages": ([USER, ANSWER], "openai-chat"),
    "an object with messages": ({"messages": [USER]}, "openai-chat"),
    "a native trace": ({"finalAnswer": "a"}, "native"),
    "a native trace with its messages": ({"finalAnswer": "a", "messages": [USER, ANSWER]}, "native"),
    "an empty list": ([], None),
    "an empty object": ({}, None),
    "no messages": ({"messages": []}, None),
    "messages that are none": ({"messages": [{"type": "human", "content": "a"}]}, None),
    "an unknown role": ([{"role": "critic", "content": "a"}], None),
    "AI SDK messages": ([USER, AI_SDK], None),
    "an AI SDK chat": ({"id": "c", "messages": [USER, AI_SDK]}, None),
    "an AI SDK message": (AI_SDK, None),
    "Anthropic messages": ([USER, ANTHROPIC], None),
    "a list of traces": ([{"finalAnswer": "a"}], None),
    "a text": ("text", None),
    "null": (None, None),
}


@pytest.mark.parametrize("document, name", RECOGNISED.values(), ids=RECOGNISED)
def test_at_most_one_format_recognises_a_document(document: Any, name: str | None) -> None:
    formats = {"native": native.FORMAT, "openai-chat": openai_chat.FORMAT}
    assert [key for key, entry in formats.items() if entry.recognises(document)] == ([name] if name else [])
