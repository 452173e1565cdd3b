"""LangSmith runs: batches, lists, lines."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import langsmith
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def run(own_id: str, kind: str = "chain", parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": own_id, "trace_id": "t-1", "parent_run_id": parent, "run_type": kind, "name": own_id, "error": None,
        "start_time": "2026-03-02T09:10:00", "end_time": "2026-03-02T09:10:01", "inputs": {}, "outputs": {}, **more,
    }  # fmt: skip


def read_all(*documents: Any) -> list[ReadTrace | Unreadable]:
    lines = enumerate(documents, start=1)
    return list(langsmith.read([Document(json.dumps(value).encode(), "t.jsonl", line, 0) for line, value in lines]))


def read_one(*documents: Any) -> ReadTrace:
    [record] = read_all(*documents)
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


# Read from the files by eye: trace id, question, answer, tools, tokens in, out and in all, cost, milliseconds.
REAL: dict[str, tuple[Any, ...]] = {
    "langsmith/derived__inspect_scout_mocks__langsmith_runs.jsonl": (
        "trace-001", "Hello", "Done", [("get_weather", {"city": "San Francisco"}, "Sunny, 72F")], (100, 50, 150, None),
        -0.011,
    ),
    "langsmith/johnnyzhoujz__Refinery__demo_trace.json": (
        "demo-trace-001",
        "I need to cancel my subscription and get a refund for the last month",
        "I can help you with general questions. Please contact billing@example.com for subscription issues.",
        [],
        None,
        15000.0,
    ),
    "langsmith/langchain-ai__langsmith-sdk__langsmith_js_wrap_openai_default.json": (
        "dc34609e-3eeb-459d-bc2a-6fedb01d2e6e", "howdy", "Howdy! How can I assist you today?", [], (9, 9, 18, None),
        1115.0,
    ),
    "langsmith/langchain-ai__langsmith-sdk__langsmith_py_wrap_openai_.json": (
        "d0d84d31-923d-4cb5-94a8-40a0a0087578", "howdy", "Howdy! How can I assist you today?", [], (9, 9, 18, None),
        1118.333,
    ),
    "synthetic/langsmith_runs_list_shape.jsonl": (
        "11111111-1111-4111-8111-111111111111", "why 503?", "pool exhausted", [("get_logs", {"service": "pay"}, None)],
        (100, 20, 120, 0.001), 9500.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_a_real_file(read_shared: Read, name: str) -> None:
    trace_id, question, answer, tools, usage, elapsed = REAL[name]
    [record], faults = read_shared(name)
    trace = record.trace
    assert faults == []
    assert (trace.traceId, trace.question, trace.finalAnswer, trace.durationMs) == (trace_id, question, answer, elapsed)
    assert [(each.toolName, each.arguments, each.resultSummary) for each in calls_of(trace)] == tools
    stated = trace.usage and (
        trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens, trace.usage.costUsd,
    )  # fmt: skip
    assert stated == usage


def test_a_call_that_failed_without_an_end_in_a_real_file(read_shared: Read) -> None:
    [record], _ = read_shared("synthetic/langsmith_runs_list_shape.jsonl")
    [call] = calls_of(record.trace)
    assert (call.success, call.error, call.durationMs) == (False, "TimeoutError('loki')", None)
    assert [each.kind for each in record.warned] == ["unfinished-span"]


def test_a_real_recording_of_requests_is_refused_once(read_shared: Read) -> None:
    records, [fault] = read_shared("langsmith/langchain-ai__langsmith-sdk__anthropic_managed_custom_tools.jsonl")
    assert records == []
    assert "recording of requests" in fault.message


def test_the_halves_of_a_run_are_one_wherever_they_stand() -> None:
    post = {"post": [run("a", inputs={"input": "why?"}, outputs={}, end_time=None)], "patch": []}
    patch = {
        "patch": [{"id": "a", "trace_id": "t-1", "end_time": "2026-03-02T09:10:02", "outputs": {"output": "The pool."}}]
    }
    for documents in ((post, patch), (patch, post), ({**post, **patch},)):
        trace = read_one(*documents).trace
        assert (trace.question, trace.finalAnswer, trace.durationMs) == ("why?", "The pool.", 2000.0)


def test_a_run_that_stands_twice_counts_once_the_finished_one() -> None:
    record = read_one(
        run("a", end_time=None), run("b", "tool", "a", outputs=None, end_time=None), run("b", "tool", "a"), run("a")
    )
    assert [(each.toolName, each.success) for each in calls_of(record.trace)] == [("b", True)]
    assert [each.kind for each in record.warned] == ["duplicate-span"]
    assert record.trace.durationMs == 1000.0


def test_runs_are_put_together_by_what_names_their_place() -> None:
    bare: dict[str, Any] = dict.fromkeys(("trace_id", "parent_run_id"))
    above = read_one(
        run("r", **bare, parent_run_ids=[], dotted_order="20260302T091000000000Zr"),
        run("l", "llm", **bare, dotted_order="20260302T091000000000Zr.20260302T091000000001Zl", total_tokens=5),
        run("m", "llm", **bare, parent_run_ids=["r", "l"], total_tokens=3),
    )
    assert above.trace.traceId == "r"
    # The run inside the other is the same call once more.
    assert above.trace.usage
    assert above.trace.usage.totalTokens == 3


def test_children_that_stand_inside_their_parents_are_read() -> None:
    nested = {**run("a"), "child_runs": [{**run("b", "tool"), "child_runs": [run("c", "tool")]}]}
    for child in (nested["child_runs"][0], nested["child_runs"][0]["child_runs"][0]):
        del child["parent_run_id"], child["trace_id"]
    record = read_one(nested)
    assert [each.toolName for each in calls_of(record.trace)] == ["b", "c"]
    assert record.warned == ()


def test_runs_of_a_list_without_trace_ids_belong_to_their_topmost_ancestor() -> None:
    runs = [run("b", parent="a"), run("a"), run("y", parent="x"), run("x")]
    first, second = read_all([{**each, "trace_id": None} for each in runs])
    assert isinstance(first, ReadTrace)
    assert isinstance(second, ReadTrace)
    assert (first.trace.traceId, second.trace.traceId) == ("a", "x")


def test_several_traces_of_one_file_are_several_traces() -> None:
    first, second = read_all(
        run("a", outputs={"output": "1 of 2"}), run("b", trace_id="t-2", outputs={"output": "2 of 2"})
    )
    assert isinstance(first, ReadTrace)
    assert isinstance(second, ReadTrace)
    assert [(each.trace.traceId, each.trace.finalAnswer, each.line) for each in (first, second)] == [
        ("t-1", "1 of 2", 1),
        ("t-2", "2 of 2", 2),
    ]


def test_parents_that_repeat_the_sum_of_their_children_do_not_count() -> None:
    tokens: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "total_cost": "0.5"}
    sums: dict[str, Any] = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24, "total_cost": "1"}
    usage = read_one(run("a", **sums), run("b", "llm", "a", **tokens), run("c", "llm", "a", **tokens)).trace.usage
    assert usage
    assert (usage.inputTokens, usage.outputTokens, usage.totalTokens, usage.costUsd) == (20, 4, 24, 1.0)


@pytest.mark.parametrize(
    "outputs",
    [
        {"usage_metadata": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}},
        {"llm_output": {"token_usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}},
        {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
        {
            "generations": [
                [
                    {
                        "message": {
                            "kwargs": {"usage_metadata": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}
                        }
                    }
                ]
            ]
        },
    ],
    ids=["usage_metadata", "llm_output", "usage", "generations"],
)
def test_a_model_states_its_tokens_in_its_outputs(outputs: dict[str, Any]) -> None:
    usage = read_one(run("a", "llm", outputs=outputs)).trace.usage
    assert usage
    assert (usage.inputTokens, usage.outputTokens, usage.totalTokens) == (5, 2, 7)


def test_a_root_that_failed_or_has_not_ended_is_not_answered_for_by_a_model() -> None:
    model = run("b", "llm", "a", outputs={"generations": [[{"text": "The pool."}]]})
    assert read_one(run("a", outputs=None), model).trace.finalAnswer == "The pool."
    assert read_one(run("a", outputs=None, error="boom"), model).trace.finalAnswer is None
    assert read_one(run("a", outputs=None, end_time=None), model).trace.finalAnswer is None
    assert read_one(run("a", outputs=None, status="pending"), model).trace.durationMs is None


def test_an_answer_that_is_data_is_given_as_json() -> None:
    assert (
        read_one(run("a", outputs={"cause": "pool", "sure": True})).trace.finalAnswer == '{"cause":"pool","sure":true}'
    )


def test_messages_without_an_answer_are_none() -> None:
    asked = {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": {}}]}
    assert read_one(run("a", outputs={"messages": [asked]})).trace.finalAnswer is None


@pytest.mark.parametrize(
    "inputs, arguments",
    [
        ({"city": "Berlin"}, {"city": "Berlin"}),
        ({"input": "{'city': 'Berlin', 'on': None}"}, {"city": "Berlin", "on": None}),
        ({"input": '{"city": "Berlin"}'}, {"city": "Berlin"}),
        ({"input": "SHOW STATUS"}, {"input": "SHOW STATUS"}),
        ({"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}, {"a": 1}),
    ],
)
def test_the_arguments_of_a_call(inputs: Any, arguments: Any) -> None:
    [call] = calls_of(read_one(run("a"), run("f", "tool", "a", inputs=inputs)).trace)
    assert call.arguments == arguments


def test_a_reply_that_says_that_the_call_failed() -> None:
    reply = {"type": "tool", "content": "boom", "tool_call_id": "c", "status": "error"}
    [call] = calls_of(read_one(run("a"), run("f", "tool", "a", outputs={"output": reply})).trace)
    assert (call.success, call.error, call.resultSummary) == (False, "boom", "boom")


def test_where_no_tool_is_a_run_the_models_tell_the_calls() -> None:
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    first = run("b", "llm", "a", outputs={"choices": [{"message": asked}]})
    replied = [asked, {"role": "tool", "tool_call_id": "c1", "content": "3 lines"}]
    second = run("c", "llm", "a", inputs={"messages": replied}, start_time="2026-03-02T09:10:00.5")
    calls = calls_of(read_one(run("a"), second, first).trace)
    assert [(each.toolName, each.arguments, each.resultSummary, each.success) for each in calls] == [
        ("f", {"a": 1}, "3 lines", None)
    ]


def test_the_example_of_an_experiment_is_the_case() -> None:
    assert read_one(run("a", reference_example_id="e-1")).trace.caseId == "e-1"


def test_a_run_without_its_parent_is_read_as_a_root_with_a_warning() -> None:
    record = read_one(run("b", parent="gone", outputs={"output": "The pool."}))
    assert record.trace.finalAnswer == "The pool."
    assert [each.kind for each in record.warned] == ["orphan-span"]


def test_a_broken_line_says_where_and_costs_no_other_trace() -> None:
    bad, good = read_all(run("a", name=7), run("b"))
    assert isinstance(bad, Unreadable)
    assert (bad.fault.line, bad.fault.path) == (1, "$.name")
    assert isinstance(good, ReadTrace)


RUNS = [
    run("a", inputs={"input": "why?"}, outputs={"output": "The pool."}),
    *(run(f"t{n}", "tool", "a", start_time=f"2026-03-02T09:10:00.{n}", inputs={"n": n}) for n in range(1, 6)),
    run("m", "llm", "t3", total_tokens=5, start_time="2026-03-02T09:10:00.35"),
]


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_shuffled_runs_always_give_the_same_trace(order: random.Random) -> None:
    shuffled = [*RUNS]
    order.shuffle(shuffled)
    assert read_one(*shuffled).trace == read_one(*RUNS).trace


@settings(max_examples=3, deadline=None)
@given(st.integers(14_000, 15_000))
def test_a_chain_of_any_depth_is_read(depth: int) -> None:
    chain = [run("0"), *(run(str(n), "tool" if n == depth - 1 else "chain", str(n - 1)) for n in range(1, depth))]
    assert len(calls_of(read_one([{**each, "trace_id": None} for each in chain]).trace)) == 1


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        [1],
        {"post": []},
        {"post": [{"title": "a"}]},
        {"runs": []},
        {"run_type": "robot", "inputs": {}},
        {"run_type": [], "inputs": {}},
        ["a", {}],
    ],
)
def test_what_holds_no_runs_is_not_recognised(document: Any) -> None:
    assert langsmith.recognises(document) is None
