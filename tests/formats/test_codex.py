"""Codex: rollout files, and the events of codex exec --json."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import codex
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

ROLLOUT = "sregym/SREGym__SREGym__rollout-2026-06-29T16-58-06-019f1451-1903-7092-b4ca-73a57d9bdd9d.jsonl"
# Read from the file by eye: e is exec_command, w is write_stdin.
TOOLS = {"e": "exec_command", "w": "write_stdin"}
ORDER = "eww eeeee eeee eee ww e ww e e eee www eee w e"


def read_all(*lines: Any) -> list[ReadTrace | Unreadable]:
    return list(codex.read(Document(json.dumps(line).encode(), "t.jsonl", n, 0) for n, line in enumerate(lines, 1)))


def trace_of(*lines: Any) -> Trace:
    [record] = read_all(*lines)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def line(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-02T09:50:{second:02}.000Z", "type": kind, "payload": payload}


def meta(session: str, **more: Any) -> dict[str, Any]:
    return line(0, "session_meta", id=session, **more)


def asked(second: int, text: str) -> dict[str, Any]:
    return line(second, "event_msg", type="user_message", message=text)


def item(second: int, role: str, text: str) -> dict[str, Any]:
    return line(second, "response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


def call(second: int, call_id: str = "c1") -> dict[str, Any]:
    return line(second, "response_item", type="function_call", name="shell", arguments="{}", call_id=call_id)


def output(second: int, text: Any, call_id: str = "c1") -> dict[str, Any]:
    return line(second, "response_item", type="function_call_output", call_id=call_id, output=text)


def test_a_real_rollout(read_shared: Read) -> None:
    [record], faults = read_shared(ROLLOUT)
    trace, calls = record.trace, calls_of(record.trace)
    question, answer = trace.question or "", trace.finalAnswer or ""
    assert faults == []
    assert trace.traceId == "019f1451-1903-7092-b4ca-73a57d9bdd9d"
    assert question.startswith("You are an SRE agent tasked with diagnosing")
    assert answer.startswith("Fixed.\n\nDiagnosis: `recommendation` was stuck `Pending`")
    assert answer.endswith("Validation submission with empty string was sent successfully.")
    assert [each.toolName for each in calls] == [TOOLS[letter] for letter in ORDER.replace(" ", "")]
    assert len(calls) == 33
    assert trace.usage == Usage(inputTokens=613279, outputTokens=5721, totalTokens=619000)
    assert (trace.durationMs, trace.model) == (182643.0, "gpt-5.4-mini")
    assert [number for number, each in enumerate(calls) if each.success is False] == [10, 11, 19]
    assert (calls[0].success, calls[0].durationMs) == (None, 10001.2), "it was still running"
    assert (calls[10].error, calls[10].durationMs) == ("exit code 1", 2764.9)


def test_what_codex_puts_in_is_no_question() -> None:
    trace = trace_of(
        meta("s"),
        item(1, "developer", "<permissions instructions>"),
        item(2, "user", "# AGENTS.md instructions for /srv"),
        item(3, "user", "<environment_context>\n</environment_context>"),
        item(4, "user", "Why?"),
        item(5, "assistant", "Because."),
    )
    assert (trace.question, trace.finalAnswer) == ("Why?", "Because.")


def test_a_question_that_was_not_answered_leaves_no_answer() -> None:
    trace = trace_of(meta("s"), asked(1, "Why?"), item(2, "assistant", "Because."), asked(3, "And then?"))
    assert (trace.question, trace.finalAnswer) == ("Why?", None)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param(
            "Wall time: 0.5 seconds\nProcess exited with code 0\nOutput:\nx", (True, 500.0, None), id="exit code 0"
        ),
        pytest.param(
            "Exit code: 2\nWall time: 1 seconds\nOutput:\nx", (False, 1000.0, "exit code 2"), id="exit code 2"
        ),
        pytest.param(
            "Wall time: 3.25 seconds\nProcess running with session ID 1\nOutput:\n", (None, 3250.0, None), id="running"
        ),
        pytest.param(
            "x\nOutput:\nProcess exited with code 1", (None, None, None), id="what the process itself printed"
        ),
        pytest.param("plain", (None, None, None), id="no head"),
        pytest.param(
            '{"output": "x", "metadata": {"exit_code": 1, "duration_seconds": 0.25}}',
            (False, 250.0, "exit code 1"),
            id="metadata in a text",
        ),
        pytest.param({"content": "x", "success": False}, (False, None, "x"), id="an object"),
        pytest.param('{"exit_code": 1}', (None, None, None), id="JSON that a tool printed"),
    ],
)
def test_what_an_output_tells(text: Any, expected: tuple[bool | None, float | None, str | None]) -> None:
    [each] = calls_of(trace_of(meta("s"), call(1), output(2, text)))
    assert (each.success, each.durationMs, each.error) == expected


def test_an_output_that_stands_before_its_call_is_joined() -> None:
    [each] = calls_of(trace_of(meta("s"), output(2, "x"), call(2)))
    assert each.resultSummary == "x"


def test_the_last_token_count_is_that_of_the_session() -> None:
    def tokens(second: int, count: int | None) -> dict[str, Any]:
        total = {"input_tokens": count, "output_tokens": 1, "total_tokens": (count or 0) + 1}
        info = None if count is None else {"total_token_usage": total, "last_token_usage": total}
        return line(second, "event_msg", type="token_count", info=info)

    usage = trace_of(meta("s"), tokens(1, 10), tokens(2, 30), tokens(3, None)).usage
    assert usage == Usage(inputTokens=30, outputTokens=1, totalTokens=31)


def test_a_forked_session_keeps_its_own_id_and_is_one_trace() -> None:
    trace = trace_of(meta("new", forked_from_id="old"), meta("old"), asked(1, "Why?"))
    assert trace.traceId == "new"


def test_two_sessions_in_one_file_are_two_traces() -> None:
    records = read_all(meta("a"), asked(1, "One?"), meta("b"), asked(2, "Two?"))
    traces = [record.trace for record in records if isinstance(record, ReadTrace)]
    assert [(trace.traceId, trace.question) for trace in traces] == [("a", "One?"), ("b", "Two?")]


def test_a_rollout_of_an_early_version_holds_its_items_bare() -> None:
    first = {"id": "s", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}
    lines = [first, *(each["payload"] for each in (item(1, "user", "Why?"), call(2), output(3, "x")))]
    trace = trace_of(*lines)
    assert codex.recognises(first) is not None
    assert (trace.traceId, trace.question, len(calls_of(trace))) == ("s", "Why?", 1)


def test_a_broken_line_is_told_and_costs_itself_alone() -> None:
    fault, record = read_all(meta("s"), line(1, "response_item", type="function_call", name=7), call(2))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.line, fault.fault.path, fault.fault.expected) == (2, "$.payload.name", "text")
    assert isinstance(record, ReadTrace)
    assert len(calls_of(record.trace)) == 1
