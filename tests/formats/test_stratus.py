"""Stratus, the agent of SREGym: trajectories of stages."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import stratus
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable, Usage

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

RUN = "sregym/SREGym__SREGym__{}_service_port_conflict_hotel_reservation_stratus_agent_trajectory.jsonl"
READ_ONLY, SAFELY = "exec_read_only_kubectl_cmd", "exec_kubectl_cmd_safely"
PROBLEM = "service_port_conflict_hotel_reservation"
REAL: dict[str, tuple[str, str, str, str, list[str], Usage | None]] = {
    "0704_1458": (
        "You will be working this application:\nHotel Reservation",
        "telemetry with the tools.\n",
        "## Root Cause Analysis\n\n**Faulty Component:** `recommendation`",
        "for internal cluster communication via the Kubernetes Service.",
        [
            READ_ONLY, "get_services", *[READ_ONLY] * 15, "submit_tool",
            *[SAFELY] * 3, "wait_tool", *[SAFELY] * 2, "f_submit_tool",
            *[SAFELY] * 2, "wait_tool", SAFELY, "f_submit_tool",
        ],
        None,
    ),
    "0705_1200": (
        "Diagnose why recommendation is Pending.",
        "is Pending.",
        "hostPort 9100 conflict",
        "conflict",
        ["kubectl_get", "kubectl_events", "submit_tool", "kubectl_patch", "submit_tool"],
        Usage(inputTokens=6000, outputTokens=110, totalTokens=6110),
    ),
}  # fmt: skip
RESULTS = [
    "claudecode_results_service_port_conflict_hotel_reservation_20260629_053343",
    "codex_results_service_port_conflict_hotel_reservation_20260629_170110",
    "opencode_results_service_port_conflict_hotel_reservation_20260630_053808",
]


def read_all(*lines: Any) -> list[ReadTrace | Unreadable]:
    return list(stratus.read(Document(json.dumps(line).encode(), "t.jsonl", n, 0) for n, line in enumerate(lines, 1)))


def trace_of(*lines: Any) -> Trace:
    [record] = read_all(*lines)
    assert isinstance(record, ReadTrace), record
    return record.trace


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def meta(problem: str = "p", time: str = "0302_0950") -> dict[str, Any]:
    return {"type": "metadata", "problem_id": problem, "timestamp": time, "total_stages": 1, "total_events": 1}


def event(stage: str, index: int, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"type": "event", "stage": stage, "event_index": index, "messages": list(messages)}


def asks(*calls: tuple[str, str | None], **more: Any) -> dict[str, Any]:
    listed: list[dict[str, Any]] = [{"name": name, "args": {}, "id": call_id} for name, call_id in calls]
    return {"type": "AIMessage", "content": "", "tool_calls": listed, **more}


def submits(answer: str) -> dict[str, Any]:
    return {"type": "AIMessage", "content": "", "tool_calls": [{"name": "submit_tool", "args": {"ans": answer}}]}


def gives(content: str, call_id: str | None = None) -> dict[str, Any]:
    return {"type": "ToolMessage", "content": content, **({"tool_call_id": call_id} if call_id else {})}


@pytest.mark.parametrize("time", REAL)
def test_a_real_trajectory(time: str, read_shared: Read) -> None:
    head, tail, begins, ends, tools, usage = REAL[time]
    [record], faults = read_shared(RUN.format(time))
    trace, question, answer = record.trace, record.trace.question or "", record.trace.finalAnswer or ""
    assert (faults, record.warned) == ([], ())
    assert (trace.traceId, trace.caseId) == (f"{PROBLEM}-{time}", PROBLEM)
    assert (question[: len(head)], question[-len(tail) :]) == (head, tail)
    assert (answer[: len(begins)], answer[-len(ends) :]) == (begins, ends)
    assert [call.toolName for call in calls_of(trace)] == tools
    assert all(call.resultSummary for call in calls_of(trace))
    assert (trace.usage, trace.durationMs) == (usage, None)


@pytest.mark.parametrize("name", RESULTS)
def test_real_results_of_a_run_are_refused(name: str, read_shared: Read) -> None:
    records, [fault] = read_shared(f"sregym/SREGym__SREGym__{name}.json")
    assert records == []
    assert fault.message.startswith("these are the results of a run")


def test_snapshots_repeat_and_the_last_of_a_stage_counts_in_whatever_order() -> None:
    first, call = {"type": "HumanMessage", "content": "Why?"}, asks(("f", "c"), usage_metadata={"input_tokens": 5})
    whole = event("diagnosis", 2, first, call, gives("x", "c"), submits("Because."))
    trace = trace_of(meta(), event("diagnosis", 0, first), whole, event("diagnosis", 1, first, call))
    assert (trace.question, trace.finalAnswer) == ("Why?", "Because.")
    assert [call.toolName for call in calls_of(trace)] == ["f", "submit_tool"]
    assert trace.usage == Usage(inputTokens=5)


def test_results_without_ids_belong_to_the_calls_in_order() -> None:
    trace = trace_of(meta(), event("diagnosis", 0, asks(("f", "a"), ("g", None)), gives("one"), gives("two")))
    assert [(call.toolName, call.resultSummary) for call in calls_of(trace)] == [("f", "one"), ("g", "two")]


def test_ids_of_two_stages_never_meet() -> None:
    stages = [event(stage, 0, asks(("f", "same")), gives(stage, "same")) for stage in ("diagnosis", "mitigation")]
    assert [call.resultSummary for call in calls_of(trace_of(meta(), *stages))] == ["diagnosis", "mitigation"]


def test_the_submission_of_a_repair_is_no_diagnosis() -> None:
    stages = event("diagnosis", 0, asks(("f", "a"))), event("mitigation_attempt_0", 0, submits("Fixed."))
    assert trace_of(meta(), *stages).finalAnswer is None


def test_an_orphan_result_is_told() -> None:
    [record] = read_all(meta(), event("diagnosis", 0, gives("x", "nobody")))
    assert isinstance(record, ReadTrace)
    assert [warned.kind for warned in record.warned] == ["orphan-tool-result"]


def test_two_runs_in_one_file_are_two_traces() -> None:
    records = read_all(meta("p"), event("diagnosis", 0, submits("A.")), meta("q"), event("diagnosis", 0, submits("B.")))
    traces = [record.trace for record in records if isinstance(record, ReadTrace)]
    assert [(trace.caseId, trace.finalAnswer) for trace in traces] == [("p", "A."), ("q", "B.")]


def test_a_trajectory_without_events_is_refused() -> None:
    [record] = read_all(meta())
    assert isinstance(record, Unreadable)


def test_a_broken_event_is_told() -> None:
    fault, record = read_all(meta(), event("diagnosis", 1, {"type": 7}), event("diagnosis", 0, submits("A.")))
    assert isinstance(fault, Unreadable)
    assert (fault.fault.line, fault.fault.path) == (2, "$.messages[0].type")
    assert isinstance(record, ReadTrace)
