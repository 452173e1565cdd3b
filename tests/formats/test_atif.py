"""ATIF trajectories."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import atif
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]
    return {"schema_version": "ATIF-v1.6", "session_id": "s-1", "agent": {"name": "a"}, "steps": numbered, **more}


USER = {"source": "user", "message": "why 503?"}
ANSWER = {"source": "agent", "message": "The pool is exhausted."}


def call(call_id: str, name: str = "searchLogs", arguments: Any = None) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments or {}}


def documents(*values: Any) -> list[Document]:
    return [Document(json.dumps(value).encode(), "t.jsonl", line, 0) for line, value in enumerate(values, start=1)]


def read_one(value: Any) -> ReadTrace:
    [record] = atif.read(documents(value))
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


# Read from the files by eye: question, answer's head and tail, tools in order, tokens and cost, start and end.
REAL = {
    "Arize-ai__phoenix__harbor_terminus2_invalid_json.json": (
        "You are an AI assistant tasked with",
        "Analysis: Task already completed.",
        "No further action needed.",
        ["bash_command", "mark_task_complete", "mark_task_complete"],
        (2417, 200, 0.008042500000000001),
        (None, None),
    ),
    "Arize-ai__phoenix__multi_tool_trajectory.json": (
        "Compare the latest quarterly revenue for AAPL and MSFT",
        "Here is a comparison of the latest",
        "(MSFT) and Jan 30 (AAPL).",
        ["financial_search", "financial_search", "news_search", "analyst_estimates"],
        (9150, 635, 0.0074),
        ("2025-01-15T14:00:00Z", "2025-01-15T14:00:14Z"),
    ),
    "Arize-ai__phoenix__parallel_tools_mixed_results.json": (
        "Get weather, stock price, and news for NYC",
        "Here is what I found: NYC is 42°F",
        "and no news was returned.",
        ["get_weather", "get_stock", "get_news"],
        (1200, 105, 0.005),
        ("2025-01-20T10:00:00Z", "2025-01-20T10:00:05Z"),
    ),
    "meridianlabs-ai__inspect_scout__openhands_hello-world.trajectory.json": (
        'Create a file called hello.txt with "Hello, world!" as the content.',
        "All done! What's next",
        "on the agenda?",
        ["str_replace_editor", "finish"],
        (220, 80, 0.00135),
        (None, None),
    ),
    "meridianlabs-ai__inspect_scout__openhands_hello-world.trajectory.no_function_calling.json": (
        "Here's a running example of how to perform a task",
        "<function=finish>",
        "</parameter>\n</function>",
        [],
        (220, 80, 0.00135),
        (None, None),
    ),
    "meridianlabs-ai__inspect_scout__terminus_2_hello-world-context-summarization-linear-history.trajectory.json": (
        "You are an AI assistant tasked with",
        '{\n  "analysis": "Created file1.txt.',
        '"task_complete": false\n}',
        [],
        (2252, 160, 0.00723),
        (None, None),
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_trajectory(read_shared: Read, name: str) -> None:
    question, head, tail, tools, usage, times = REAL[name]
    [record], faults = read_shared(f"atif/{name}")
    trace = record.trace
    assert faults == []
    assert (trace.question or "").startswith(question)
    assert (trace.finalAnswer or "").startswith(head)
    assert (trace.finalAnswer or "").endswith(tail)
    assert [each.toolName for each in calls_of(trace)] == tools
    assert trace.usage
    assert (trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.costUsd) == usage
    assert (trace.startedAt, trace.finishedAt) == times


def test_a_parent_beside_its_child_is_two_traces(read_shared: Read) -> None:
    records, faults = read_shared("atif/Arize-ai__phoenix__subagent_trajectories.json")
    assert faults == []
    assert [(row.trace.traceId, len(calls_of(row.trace))) for row in records] == [
        ("sess-parent-001", 1),
        ("sess-child-summary-001", 0),
    ]


def test_results_are_joined_by_the_call_they_name_and_fail_by_no_field(read_shared: Read) -> None:
    [record], _ = read_shared("atif/Arize-ai__phoenix__parallel_tools_mixed_results.json")
    assert [(each.resultSummary, each.success, each.error) for each in calls_of(record.trace)] == [
        ("NYC: 42°F, cloudy, wind 15mph NW", None, None),
        ("Error: API rate limit exceeded", None, None),
        (None, None, None),
    ]


def test_a_trajectory_that_goes_on_in_another_file_is_read_with_a_warning(read_shared: Read) -> None:
    name = "meridianlabs-ai__inspect_scout__terminus_2_hello-world-context-summarization-linear-history.trajectory.json"
    [record], _ = read_shared(f"atif/{name}")
    assert [(each.path, each.kind) for each in record.warned] == [("$.continued_trajectory_ref", "continued-elsewhere")]


def test_a_result_that_names_no_call_belongs_to_the_only_one_of_its_step() -> None:
    nameless = {"results": [{"content": "3 lines"}]}
    alone = {"source": "agent", "message": "", "tool_calls": [call("c1")], "observation": nameless}
    two = {"source": "agent", "message": "", "tool_calls": [call("c2"), call("c3")], "observation": nameless}
    record = read_one(trajectory(USER, alone, two, ANSWER))
    assert [each.resultSummary for each in calls_of(record.trace)] == ["3 lines", None, None]


def test_copied_context_gives_the_question_but_neither_calls_nor_tokens_nor_answer() -> None:
    copied = {
        "source": "agent", "message": "old", "tool_calls": [call("c1")], "is_copied_context": True,
        "metrics": {"prompt_tokens": 5, "completion_tokens": 5}, "timestamp": "2025-01-15T09:00:00Z",
    }  # fmt: skip
    fresh = {"source": "agent", "message": "new", "metrics": {"prompt_tokens": 7, "completion_tokens": 2}}
    record = read_one(trajectory({**USER, "is_copied_context": True}, copied, fresh))
    trace = record.trace
    assert (trace.question, trace.finalAnswer, calls_of(trace), trace.startedAt) == ("why 503?", "new", [], None)
    assert trace.usage
    assert (trace.usage.inputTokens, trace.usage.outputTokens) == (7, 2)
    assert read_one(trajectory(USER, copied)).trace.finalAnswer is None


def test_a_user_who_was_not_answered_leaves_no_answer() -> None:
    assert read_one(trajectory(USER, ANSWER, {"source": "user", "message": "and now?"})).trace.finalAnswer is None


def test_the_calls_of_sub_agents_follow_the_call_that_delegated() -> None:
    inner = trajectory({"source": "agent", "message": "", "tool_calls": [call("x", "queryMysql")]}, session_id="inner")
    other = trajectory({"source": "agent", "message": "", "tool_calls": [call("y", "ping")]}, session_id="unnamed")
    delegating = {
        "source": "agent", "message": "", "tool_calls": [call("c1", "delegate"), call("c2", "searchLogs")],
        "observation": {"results": [
            {"source_call_id": "c1", "content": "done", "subagent_trajectory_ref": [{"session_id": "inner"}]},
        ]},
    }  # fmt: skip
    record = read_one(trajectory(USER, delegating, ANSWER, subagent_trajectories=[other, inner]))
    assert [each.toolName for each in calls_of(record.trace)] == ["delegate", "queryMysql", "searchLogs", "ping"]


def test_the_sum_of_the_steps_is_unknown_where_one_of_them_is_silent() -> None:
    first = {"source": "agent", "message": "a", "metrics": {"prompt_tokens": 5, "completion_tokens": 1, "cost_usd": 1}}
    second = {"source": "agent", "message": "b", "metrics": {"prompt_tokens": 6}}
    usage = read_one(trajectory(USER, first, second)).trace.usage
    assert usage
    assert (usage.inputTokens, usage.outputTokens, usage.costUsd) == (11, None, None)
    assert read_one(trajectory(USER, ANSWER)).trace.usage is None


def test_a_broken_trajectory_says_where_and_costs_no_other() -> None:
    broken = trajectory(USER, {"source": "agent", "message": 7})
    rows = list(atif.read(documents([broken, trajectory(USER, ANSWER)], trajectory(USER, ANSWER, steps={}))))
    assert isinstance(rows[0], Unreadable)
    assert (rows[0].fault.path, rows[0].fault.expected) == ("$[0].steps[1].message", "text")
    assert isinstance(rows[1], ReadTrace)
    assert isinstance(rows[2], Unreadable)
    assert (rows[2].fault.line, rows[2].fault.path) == (2, "$.steps")


def test_a_trajectory_without_steps_holds_no_run() -> None:
    [row] = atif.read(documents(trajectory()))
    assert isinstance(row, Unreadable)
    assert row.fault.path == "$.steps"


@settings(deadline=None)
@given(st.integers(1, 90))
def test_sub_agents_are_always_read_as_deep_as_documents_go(depth: int) -> None:
    nested = trajectory(ANSWER)
    for level in range(depth):
        asked = {"source": "agent", "message": "", "tool_calls": [call(f"c{level}")]}
        nested = trajectory(asked, session_id=f"s{level}", subagent_trajectories=[nested])
    assert len(calls_of(read_one(nested).trace)) == depth


@pytest.mark.parametrize(
    "document", [{}, [], None, 7, {"schema_version": "ATIF-v1.0"}, {"schema_version": 1, "steps": []}]
)
def test_what_is_no_trajectory_is_not_recognised(document: Any) -> None:
    assert atif.recognises(document) is None
