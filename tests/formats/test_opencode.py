"""OpenCode: exported sessions, and the events of opencode run --format json."""

import json
from typing import Any

import pytest

from pipeline.sources import opencode
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

MS = 1_772_445_000_000


def read_all(*values: Any, line: bool = False) -> list[ReadTrace | Unreadable]:
    places = range(1, len(values) + 1)
    return list(
        opencode.read(
            Document(json.dumps(value).encode(), "t", place if line else None, 0)
            for place, value in zip(places, values, strict=True)
        )
    )


def trace_of(*values: Any, line: bool = False) -> Trace:
    [record] = read_all(*values, line=line)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def session(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"id": "ses_1", **info}, "messages": list(messages)}


def message(role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"role": role, **info}, "parts": list(parts)}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def tool(status: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": "c1", "tool": "bash", "state": {"status": status, "input": {}, **state}}


def tokens(given: int, made: int, reasoning: int = 0, read: int = 0, write: int = 0) -> dict[str, Any]:
    return {"input": given, "output": made, "reasoning": reasoning, "cache": {"read": read, "write": write}}


def test_question_and_answer_are_what_people_and_the_agent_wrote() -> None:
    trace = trace_of(
        session(
            message("user", text("Why?"), text("<file>…</file>", synthetic=True)),
            message("assistant", text("I look."), tool("completed", output="x")),
            message("assistant", {"type": "reasoning", "text": "hm"}, text("Because."), text("So.")),
        )
    )
    assert (trace.traceId, trace.question, trace.finalAnswer) == ("ses_1", "Why?", "Because.\nSo.")


@pytest.mark.parametrize(
    "part, call",
    [
        pytest.param(
            tool("completed", output="x", time={"start": MS, "end": MS + 250}),
            ToolInvocation(toolName="bash", arguments={}, success=True, durationMs=250.0, resultSummary="x"),
            id="completed",
        ),
        pytest.param(
            tool("error", error="denied"),
            ToolInvocation(toolName="bash", arguments={}, success=False, error="denied"),
            id="error",
        ),
        pytest.param(
            tool("running", time={"start": MS}), ToolInvocation(toolName="bash", arguments={}), id="still running"
        ),
    ],
)
def test_how_a_call_ended(part: dict[str, Any], call: ToolInvocation) -> None:
    assert trace_of(session(message("assistant", part))).toolInvocations == [call]


@pytest.mark.parametrize(
    "document, usage",
    [
        pytest.param(
            session(
                message(
                    "assistant",
                    {"type": "step-finish", "tokens": tokens(1, 1), "cost": 1},
                    tokens=tokens(10, 2, 3, 4, 5),
                    cost=0.5,
                ),
                message("assistant", tokens=tokens(20, 1), cost=0.25),
                tokens=tokens(99, 99),
            ),
            Usage(inputTokens=30, outputTokens=3, totalTokens=45, costUsd=0.75),
            id="of the messages, not of the steps and the session again",
        ),
        pytest.param(
            session(
                message("assistant", {"type": "step-finish", "tokens": tokens(1, 2), "cost": 0}), tokens=tokens(9, 9)
            ),
            Usage(inputTokens=1, outputTokens=2, totalTokens=3, costUsd=0.0),
            id="of the steps",
        ),
        pytest.param(
            session(message("assistant", text("x")), tokens=tokens(15825, 1963, 2388, 216704)),
            Usage(inputTokens=15825, outputTokens=1963, totalTokens=236880),
            id="of the session",
        ),
        pytest.param(
            session(message("assistant", tokens=tokens(0, 0), cost=0)), None, id="zeros of a message never sent"
        ),
    ],
)
def test_usage_counts_once(document: Any, usage: Usage | None) -> None:
    assert trace_of(document).usage == usage


def test_times_are_milliseconds() -> None:
    trace = trace_of(session(message("assistant", text("x"), time={"created": MS, "completed": MS + 1500})))
    assert (trace.startedAt, trace.durationMs) == ("2026-03-02T09:50:00.000000+00:00", 1500.0)


def test_printed_parts_are_put_together() -> None:
    def printed(part_id: str, said: str, message_id: str) -> dict[str, Any]:
        part = {"id": part_id, "messageID": message_id, "type": "text", "text": said}
        return {"type": "text", "timestamp": MS, "sessionID": "ses_1", "part": part}

    lines = [printed("a", "I look.", "m1"), printed("b", "One.", "m2"), printed("b", "One.", "m2")]
    assert trace_of(*lines, printed("c", "Two.", "m2"), line=True).finalAnswer == "One.\nTwo."


def test_a_session_exported_twice_counts_once() -> None:
    whole = session(message("user", text("Why?")), message("assistant", text("x"), tokens=tokens(1, 1)))
    trace = trace_of(session(message("user", text("Why?"))), whole, line=True)
    assert (trace.finalAnswer, trace.usage) == ("x", Usage(inputTokens=1, outputTokens=1, totalTokens=2))


def test_a_broken_session_is_refused_with_its_place() -> None:
    fault, *_ = read_all(session(message("assistant", {"type": "tool", "tool": 7, "state": {}})))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.path, fault.fault.expected) == ("$.messages[0].parts[0].tool", "text")


@pytest.mark.parametrize(
    "document, recognised",
    [
        pytest.param(session(message("user", text("x"))), True, id="an export"),
        pytest.param({"sessionID": "s", "part": {"type": "text"}}, True, id="a printed event"),
        pytest.param({"info": {}, "messages": [{"role": "user", "content": "x"}]}, False, id="chat messages"),
    ],
)
def test_what_is_recognised(document: Any, recognised: bool) -> None:
    assert (opencode.recognises(document) is not None) == recognised
