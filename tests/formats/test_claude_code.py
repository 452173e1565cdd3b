"""Claude Code: session files, and the lines of stream-json."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import claude_code
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

SCOUT = "claude_code/meridianlabs-ai__inspect_scout__"
# Read from the files by eye: question, answer's head and tail, tools, input, output and all tokens, milliseconds.
REAL: dict[str, list[tuple[Any, ...]]] = {
    f"{SCOUT}agent_session.jsonl": [
        ("Explore the codebase structure", "Based on the", "- Contains documentation", ["Task"], 300, 80, 380, 7000.0)
    ],
    f"{SCOUT}compaction_session.jsonl": [
        ("Start a long conversation", "Based on the summary", "like to continue with?", [], 180, 40, 220, 1803000.0)
    ],
    f"{SCOUT}slug_clear_session.jsonl": [
        ("Plan the feature", "Here is my plan.", "Here is my plan.", [], 100, 50, 150, 1000.0),
        ("Unrelated question after clear", "Answering your", "unrelated question.", [], 80, 30, 110, 1000.0),
    ],
    f"{SCOUT}tool_call_conversation.jsonl": [
        ("Read the README file", "The README indicates", "2. A brief description", ["Read"], 450, 90, 690, 3000.0)
    ],
    # Three lines of one message repeat its usage: 340 tokens would be wrong.
    "edge/b10_duplicate_message_id.jsonl": [(None, "done", "done", ["Bash"], 140, 104, 10344, 5000.0)],
}  # fmt: skip


def documents(*lines: Any) -> list[Document]:
    return [Document(json.dumps(line).encode(), "t.jsonl", n, 0) for n, line in enumerate(lines, 1)]


def read_all(*lines: Any) -> list[ReadTrace | Unreadable]:
    return list(claude_code.read(documents(*lines)))


def trace_of(*lines: Any) -> Trace:
    [record] = read_all(*lines)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def line(second: int, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    stamp = {"uuid": f"u{second}", "timestamp": f"2026-01-01T00:00:{second:02}Z"}
    return {"type": kind, "sessionId": "s", **stamp, "message": message, **more}


def user(second: int, content: Any, **more: Any) -> dict[str, Any]:
    return line(second, "user", {"role": "user", "content": content}, **more)


def agent(second: int, *content: Any, message_id: str | None = None, model: str = "m", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "id": message_id or f"m{second}", "model": model, "content": list(content)}
    return line(second, "assistant", message, **more)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": {}}


def result(call: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": "x", **more}


@pytest.mark.parametrize("name", REAL)
def test_a_real_session(name: str, read_shared: Read) -> None:
    records, faults = read_shared(name)
    assert faults == []
    assert len(records) == len(REAL[name])
    for record, (question, head, tail, tools, given_tokens, made, total, duration) in zip(
        records, REAL[name], strict=True
    ):
        trace, answer = record.trace, record.trace.finalAnswer or ""
        assert trace.question == question
        assert (answer[: len(head)], answer[-len(tail) :]) == (head, tail)
        assert [call.toolName for call in calls_of(trace)] == tools
        assert trace.usage == Usage(inputTokens=given_tokens, outputTokens=made, totalTokens=total)
        assert trace.durationMs == duration


def test_what_the_user_did_not_type_is_no_question() -> None:
    trace = trace_of(
        user(1, "<local-command-caveat>Caveat: …</local-command-caveat>", isMeta=True),
        user(2, "<command-name>/model</command-name>\n<command-args>opus</command-args>"),
        user(3, "<local-command-stdout>Set model</local-command-stdout>"),
        user(4, "Summary of before", isCompactSummary=True),
        user(5, [text("Why?")]),
        agent(6, text("Because.")),
        user(7, [result("t0")]),
    )
    assert (trace.question, trace.finalAnswer) == ("Why?", "Because.")


def test_a_command_of_the_user_is_a_question() -> None:
    command = "<command-message>diagnose</command-message>\n<command-name>/diagnose</command-name>\n"
    assert trace_of(user(1, f"{command}<command-args>checkout</command-args>")).question == "/diagnose checkout"


def test_what_follows_a_question_without_an_answer_has_none() -> None:
    trace = trace_of(user(1, "Why?"), agent(2, text("Because.")), user(3, "And then?"), agent(4, use("t1")))
    assert (trace.question, trace.finalAnswer) == ("Why?", None)


def test_made_up_messages_are_no_answers() -> None:
    trace = trace_of(
        user(1, "Why?"),
        agent(2, text("I look.")),
        agent(3, text("API Error: 529"), model="<synthetic>", isApiErrorMessage=True),
    )
    assert (trace.finalAnswer, trace.status, trace.model) == ("I look.", "api_error", "m")


def test_text_blocks_of_one_message_are_put_together_and_repeats_left_out() -> None:
    trace = trace_of(
        agent(1, text("One."), message_id="m"),
        agent(2, text("One."), text("Two."), message_id="m"),
        agent(3, use("t1"), message_id="m"),
    )
    assert trace.finalAnswer == "One.\nTwo."


def test_the_calls_of_sub_agents_count_and_their_words_do_not() -> None:
    trace = trace_of(
        user(1, "Why?"),
        agent(2, use("t1", "Task")),
        user(3, "Look at the pods.", isSidechain=True),
        agent(4, use("t2", "Bash"), isSidechain=True),
        agent(5, text("Inner."), isSidechain=True),
        user(6, [result("t1")], toolUseResult={"totalDurationMs": 3000}),
        agent(7, text("Outer.")),
        agent(8, text("Late inner."), isSidechain=True),
    )
    assert (trace.question, trace.finalAnswer) == ("Why?", "Outer.")
    assert [(call.toolName, call.durationMs) for call in calls_of(trace)] == [("Task", 3000.0), ("Bash", None)]


def test_a_file_of_a_sub_agent_alone_is_its_own_conversation() -> None:
    trace = trace_of(user(1, "Look.", isSidechain=True), agent(2, text("Seen."), isSidechain=True))
    assert (trace.question, trace.finalAnswer) == ("Look.", "Seen.")


@pytest.mark.parametrize(
    "said, success, error",
    [
        pytest.param({}, None, None, id="nothing"),
        pytest.param({"is_error": False}, True, None, id="explicitly no error"),
        pytest.param({"is_error": True}, False, "x", id="an error"),
    ],
)
def test_how_a_call_ended(said: dict[str, Any], success: bool | None, error: str | None) -> None:
    [call] = calls_of(trace_of(agent(1, use("t1")), user(2, [result("t1", **said)])))
    assert (call.success, call.error) == (success, error)


def test_two_sessions_in_one_file_are_two_traces() -> None:
    other = {**user(3, "Other?"), "sessionId": "s2"}
    traces = [record.trace for record in read_all(user(1, "Why?"), other) if isinstance(record, ReadTrace)]
    assert [(trace.traceId, trace.question) for trace in traces] == [("s", "Why?"), ("s2", "Other?")]


def test_a_line_written_twice_counts_once() -> None:
    said = agent(2, text("Because."), use("t1"))
    del said["message"]["id"]
    said["message"]["usage"] = {"input_tokens": 5, "output_tokens": 1}
    trace = trace_of(user(1, "Why?"), said, said)
    assert trace.usage == Usage(inputTokens=5, outputTokens=1, totalTokens=6)
    assert len(calls_of(trace)) == 1


def test_a_broken_line_is_told_and_costs_itself_alone() -> None:
    broken = {**agent(2), "message": {"role": "assistant", "content": 7}}
    fault, record = read_all(user(1, "Why?"), broken, agent(3, text("Because.")))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.line, fault.fault.path, fault.fault.expected) == (2, "$.message.content", "list")
    assert isinstance(record, ReadTrace)
    assert record.trace.finalAnswer == "Because."


def test_a_truncated_last_line_is_told(read: Read) -> None:
    whole = json.dumps(user(1, "Why?")) + "\n" + json.dumps(agent(2, text("Because."))) + "\n"
    records, faults = read(whole + '{"type": "assistant", "sessionId"', "t.jsonl")
    assert [record.trace.finalAnswer for record in records] == ["Because."]
    assert [fault.line for fault in faults] == [3]


def test_the_result_line_states_figures_of_the_whole_run() -> None:
    said = {"type": "assistant", "session_id": "s", "message": agent(1, text("Because."))["message"]}
    ended = {
        "type": "result", "subtype": "success", "session_id": "s", "is_error": False, "duration_ms": 900,
        "result": "Because, finally.", "total_cost_usd": 0.5, "usage": {"input_tokens": 7, "output_tokens": 8},
    }  # fmt: skip
    trace = trace_of(said, ended)
    assert (trace.finalAnswer, trace.status, trace.durationMs) == ("Because, finally.", "success", 900.0)
    assert trace.usage == Usage(inputTokens=7, outputTokens=8, totalTokens=15, costUsd=0.5)


def test_a_run_that_ended_with_an_error_has_no_answer() -> None:
    said = {"type": "assistant", "session_id": "s", "message": agent(1, text("I look."))["message"]}
    ended = {"type": "result", "subtype": "error_max_turns", "session_id": "s", "is_error": True}
    trace = trace_of(said, ended)
    assert (trace.finalAnswer, trace.status) == (None, "error_max_turns")


@pytest.mark.parametrize(
    "document, recognised",
    [
        pytest.param({"type": "summary", "summary": "x", "leafUuid": "u"}, True, id="summary"),
        pytest.param({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, True, id="snapshot"),
        pytest.param({"type": "queue-operation", "operation": "enqueue", "sessionId": "s"}, True, id="queue"),
        pytest.param({"type": "system", "subtype": "init", "session_id": "s"}, True, id="stream-json"),
        pytest.param([{"type": "system", "subtype": "init", "session_id": "s"}], True, id="a list of events"),
        pytest.param({"type": "user", "content": "x", "sessionId": "s"}, False, id="without a message"),
        pytest.param({"type": "message", "role": "user", "content": "x"}, False, id="another format"),
    ],
)
def test_what_is_recognised(document: Any, recognised: bool) -> None:
    assert (claude_code.recognises(document) is not None) == recognised


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(5)))
def test_lines_always_count_by_their_time(order: list[int]) -> None:
    lines = [
        user(1, "Why?"),
        agent(2, use("t1", "A")),
        user(3, [result("t1")]),
        agent(4, use("t2", "B")),
        agent(5, text("Because.")),
    ]
    assert trace_of(*(lines[index] for index in order)) == trace_of(*lines)
