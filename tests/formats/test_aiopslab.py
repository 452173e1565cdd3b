"""AIOpsLab: sessions."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import aiopslab
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

SESSION = "aiopslab/aiden890__AIOpsLab__{}.json"
# Read from the files by eye: answer's head and tail, tools in order, tokens, milliseconds.
REAL = {
    "774f8907-4524-44d4-9dee-90653bc18c99_1770782941.3496377": (
        '{"1": {"root cause occurrence datetime": "2021-03-04 14:30:00"',
        '"root cause reason": "service outage causing no telemetry data"}}',
        ["get_logs", "get_metrics", "get_traces", *["get_logs"] * 4, *["exec_shell"] * 6, *["get_logs"] * 10]
        + ["exec_shell"] * 2 + ["submit"],
        Usage(inputTokens=377, outputTokens=1953),
        32863.342,
    ),
    "69a5a26c-d341-4634-9d0f-8e30c3f761fc_1770783108.0374825": (
        None,
        None,
        ["get_logs", "exec_shell", "exec_shell", "read_logs", "exec_shell", "exec_shell", "read_logs"]
        + ["exec_shell"] * 8 + ["get_metrics", "exec_shell", "read_metrics", "read_metrics"]
        + ["exec_shell"] * 5 + ["get_traces", "get_logs"] + ["exec_shell"] * 4,
        Usage(inputTokens=10954, outputTokens=3081),
        53271.767,
    ),
}  # fmt: skip
NO_TRACES = [
    "aiden890__AIOpsLab__react_openrca_bank-task_1-0",
    "microsoft__AIOpsLab__assign_to_non_existent_node_social_net-analysis_ground_truth",
    "microsoft__AIOpsLab__assign_to_non_existent_node_social_net-mitigation_ground_truth",
    "microsoft__AIOpsLab__astronomy_shop_ad_service_high_cpu-detection_ground_truth",
    "microsoft__AIOpsLab__astronomy_shop_payment_service_failure-localization_ground_truth",
]


def read_one(*turns: tuple[str, Any], **more: Any) -> ReadTrace | Unreadable:
    trace = [{"role": role, "content": content} for role, content in turns]
    session = {"session_id": "s", "problem_id": "p", "trace": trace, **more}
    [record] = aiopslab.read([Document(json.dumps(session).encode(), "t.json", None, 0)])
    return record


def trace_of(*turns: tuple[str, Any], **more: Any) -> Trace:
    record = read_one(*turns, **more)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def acts(action: str) -> tuple[str, str]:
    return "assistant", f"Thought: x\nAction:\n```\n{action}\n```"


@pytest.mark.parametrize("name", REAL)
def test_a_real_session(name: str, read_shared: Read) -> None:
    head, tail, tools, usage, duration = REAL[name]
    [record], faults = read_shared(SESSION.format(name))
    trace, answer = record.trace, record.trace.finalAnswer
    assert (faults, record.warned) == ([], ())
    assert (trace.traceId, trace.caseId) == (name.partition("_")[0], "openrca_bank-task_1-0")
    assert trace.question is None
    if head is None or tail is None:
        assert answer is None, "it submitted nothing"
    else:
        assert answer is not None
        assert (answer[: len(head)], answer[-len(tail) :]) == (head, tail)
    assert [call.toolName for call in calls_of(trace)] == tools
    assert trace.usage == usage
    assert trace.durationMs == pytest.approx(duration, abs=0.001)


@pytest.mark.parametrize("name", NO_TRACES)
def test_what_is_no_session_is_refused_with_the_reason(name: str, read_shared: Read) -> None:
    records, [fault] = read_shared(f"aiopslab/{name}.json")
    assert records == []
    assert "not what a run did" in fault.message


@pytest.mark.parametrize(
    "action, name, arguments",
    [
        pytest.param('get_logs("ns", "pod")', "get_logs", ["ns", "pod"], id="by position"),
        pytest.param('get_logs(namespace="ns")', "get_logs", {"namespace": "ns"}, id="by keyword"),
        pytest.param(
            "get_metrics('ns', duration=5)", "get_metrics", {"args": ["ns"], "kwargs": {"duration": 5}}, id="both"
        ),
        pytest.param("submit()", "submit", None, id="none"),
        pytest.param(
            "exec_shell(\"grep -i 'a\\|b' x\")", "exec_shell", ["grep -i 'a\\|b' x"], id="quotes and back slashes"
        ),
        pytest.param('exec_shell("a\nb")', "exec_shell", '"a\nb"', id="a line end in quotes is no Python"),
        pytest.param("exec_shell(kubectl get pods)", "exec_shell", "kubectl get pods", id="no quotes"),
        pytest.param('f("a")\ng("b")', "f", '"a")\ng("b"', id="two calls in one block stay text"),
        pytest.param("f({1: 2})", "f", "{1: 2}", id="what JSON cannot hold"),
        pytest.param("f(open('x'))", "f", "open('x')", id="code is never run"),
        pytest.param(f"f({'[' * 5000}{']' * 5000})", "f", "[" * 5000 + "]" * 5000, id="deep nesting"),
    ],
)
def test_the_action_of_a_turn(action: str, name: str, arguments: Any) -> None:
    [call] = calls_of(trace_of(acts(action)))
    assert (call.toolName, call.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "text, names",
    [
        pytest.param("```python\nf(1)\n```", ["f"], id="with a language"),
        pytest.param("```f(1)```", ["f"], id="on one line"),
        pytest.param("```\nf(1)\n```\n```\ng(2)\n```", ["f"], id="the first block counts"),
        pytest.param("f(1)", [], id="no block"),
        pytest.param("```\nkubectl get pods\n```", [], id="no call"),
        pytest.param("```\nf(1)", [], id="a block that does not end"),
    ],
)
def test_where_the_action_stands(text: str, names: list[str]) -> None:
    assert [call.toolName for call in calls_of(trace_of(("assistant", text)))] == names


@pytest.mark.parametrize(
    "reply, success",
    [
        pytest.param("Error parsing response: no API call found", False, id="not parsed"),
        pytest.param("[ERROR] Command execution failed: x", False, id="the environment's own error"),
        pytest.param("error: file not found", False, id="an action's own error"),
        pytest.param("2026 ERROR connection refused", None, id="a log that holds an error"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_what_the_environment_says(reply: str, success: bool | None) -> None:
    [call] = calls_of(trace_of(acts("f(1)"), ("env", reply)))
    assert (call.success, call.error) == (success, reply if success is False else None)


@pytest.mark.parametrize(
    "action, answer",
    [
        pytest.param('submit("Yes")', "Yes", id="text"),
        pytest.param('submit(["a", "b"])', '["a", "b"]', id="a list as it was written"),
        pytest.param('submit(solution="Yes")', "Yes", id="by keyword"),
        pytest.param("submit()", None, id="nothing"),
    ],
)
def test_what_was_submitted_is_the_answer(action: str, answer: str | None) -> None:
    assert trace_of(acts(action), ("env", "1")).finalAnswer == answer


def test_a_broken_session_is_refused_with_its_place() -> None:
    record = read_one(("assistant", "x"), session_id=[1])
    assert isinstance(record, Unreadable)
    assert (record.fault.path, record.fault.expected) == ("$.session_id", "text")


@given(st.text(max_size=60))
def test_whatever_an_agent_writes_is_read(text: str) -> None:
    assert len(calls_of(trace_of(acts(f"f({text})"), ("env", text)))) <= 1
