"""Google ADK and trpc-agent: sessions, results of evaluations, eval sets with recorded runs."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources import adk
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def read_all(value: Any) -> list[ReadTrace | Unreadable]:
    return list(adk.read([Document(json.dumps(value).encode(), "t.json", None, 0)]))


def read_one(value: Any) -> ReadTrace:
    [record] = read_all(value)
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def event(number: int, author: str, *parts: dict[str, Any], at: float | None = None, **more: Any) -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    own = {"id": f"e{number}", "invocationId": "i", "author": author, "content": content, **more}
    return own if at is None else {**own, "timestamp": at}


def session(*events: dict[str, Any]) -> dict[str, Any]:
    return {"id": "s-1", "appName": "a", "userId": "u", "events": list(events)}


def text(said: str) -> dict[str, Any]:
    return {"text": said}


def asks(name: str, call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def replies(name: str, response: Any, call_id: str | None = None) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


# Read from the files by eye: trace id, question, answer's tail, tools in order, usage, start and end.
SESSIONS = {
    "google__adk-python__sample.session.json": (
        "683bcc98-7359-4b65-9cdb-307f85ae62c0",
        "Research on the factors that affect floods in Florida. ",
        "from the devastating impacts of flooding. \n",
        ["transfer_to_other_agent"] * 2,
        None,
        ("2024-12-15T19:51:10.899412+00:00", "2024-12-15T19:51:31.453157+00:00"),
    ),
    "google__adk-python__successful_test.session.json": (
        "ead43200-b575-4241-9248-233b4be4f29a",
        "hi",
        "OK. I've updated the data. Anything else? \n",
        ["update_fc"],
        (32 + 94 + 129, 13 + 32 + 14, 45 + 126 + 143),
        ("2024-12-01T09:01:26.842859+00:00", "2024-12-01T09:02:28.790129+00:00"),
    ),
    "google__adk-samples__text_search_floral_dress.session.json": (
        "9056575a-70ad-410e-84ea-a2af3aa7dbed",
        "Hello, can you help me find a summer dress? I want something flowy and floral.",
        "Thank you for shopping with us!\n",
        ["search"] + ["click"] * 11,
        None,
        ("2025-04-05T16:52:11.781544+00:00", "2025-04-05T16:54:17.033816+00:00"),
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_real_session(read_shared: Read, name: str) -> None:
    trace_id, question, tail, tools, usage, times = SESSIONS[name]
    [record], faults = read_shared(f"adk/{name}")
    trace = record.trace
    assert (faults, record.warned) == ([], ())
    assert (trace.traceId, trace.question) == (trace_id, question)
    assert (trace.finalAnswer or "").endswith(tail)
    assert [each.toolName for each in calls_of(trace)] == tools
    stated = trace.usage and (trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens)
    assert stated == usage
    assert (trace.startedAt, trace.finishedAt) == times


def test_the_calls_of_a_real_session(read_shared: Read) -> None:
    [record], _ = read_shared("adk/google__adk-samples__text_search_floral_dress.session.json")
    search, click, *_ = calls_of(record.trace)
    assert (search.arguments, search.durationMs) == ({"keywords": "flowy floral summer dress"}, 1793.823)
    assert isinstance(search.resultSummary, dict)
    assert search.resultSummary["result"].startswith("Back to Search [SEP] Page 1 (Total results: 50)")
    assert (click.arguments, click.success, click.error) == ({"button_name": "B092QL1FLW"}, None, None)


# Case id, trace id, trial, question, answer's tail, tools.
RESULTS: dict[str, list[tuple[Any, ...]]] = {
    "trpc__double_encoded.evalset_result.json": [
        ("calc_add", "74252944-b1a7-4c17-8f39-4a5809395d1d", None, "calc add 2 3", "is **5**.", ["calculator"]),
        ("calc_multiply", "6393fabd-ab50-49b7-8656-59fcb0a29758", None, "calc multiply 6 7", "= 42", ["calculator"]),
    ],
    "trpc__case-level-rubric-app_case-level-rubric-basic_39aba2cf-ea67-.evalset_result.json": [
        (
            "shanghai_travel_case",
            "d9fb9cb1-01d2-43c3-8d76-f20362c1ef8c",
            1,
            "I'm traveling to Shanghai tonight. What should I watch out for, and can I still get a ticket?",
            "并关注实时路况与临时封路信息。",
            ["get_time", "get_weather", "get_news", "get_ticket"],
        )
    ],
    "trpc__claudecode-eval-app_claudecode-basic_ea973ecf-aa50-4407-9519.evalset_result.json": [
        (
            "mcp_calculator", "2f678ad7-3d35-400c-8e14-8b92cf85cc8d", 1, "Compute 1+2.", "1 + 2 is **3**.",
            ["mcp__eva_cli_example__calculator"],
        ),
        (
            "skill_call", "4e31bbdb-bfec-446e-8047-9e35c0a2dc7e", 1, "What's the weather in Shenzhen?",
            "Sunny, 25°C.", ["skill_run"],
        ),
        (
            "subagent_task", "0d7ad0a7-81dc-4fcd-a60a-49c39b1e4af7", 1, "Look up the phone number for Alice.",
            "for this evaluation scenario.", ["Task"],
        ),
    ],
    "trpc__jieba-eval-app_jieba-rouge-zh_4931580e-c6c0-4093-9239-96c542.evalset_result.json": [
        (
            "rewrite-weather", "d8ab273c-1147-46d0-9e17-13bded6367e2", 1, "今天天气很好，我们一起去公园散步。",
            "今天天气不错，我们一起去公园走走吧。", [],
        )
    ],
    "trpc__toolmock-app_toolmock-weather_71fd6a06-d2cd-48a2-99f9-deb275.evalset_result.json": [
        (
            "shenzhen_weather_mock", "eba72a2c-0234-4efb-a097-903fe227e846", 1,
            "Check the weather in Shenzhen and give one short travel tip.",
            "Window of the World.<｜end▁of▁sentence｜>", ["get_weather"],
        )
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_a_real_result_gives_the_actual_runs(read_shared: Read, name: str) -> None:
    records, faults = read_shared(f"adk/{name}")
    assert faults == []
    read = [
        (
            row.trace.caseId,
            row.trace.traceId,
            row.trace.trial,
            row.trace.question,
            (row.trace.finalAnswer or "")[-len(tail) :],
            [each.toolName for each in calls_of(row.trace)],
        )
        for row, (_, _, _, _, tail, _) in zip(records, RESULTS[name], strict=True)
    ]
    assert read == RESULTS[name]


RECORDED = {
    "trpc-group__trpc-agent-python__baseline.train.evalset.json": [
        ("train_output_format", '"Open profile settings to update your email."}'),
        ("train_tool_choice", '"Please provide more details so I can route your request."}'),
        ("train_tool_arguments", '"Please provide more details so I can route your request."}'),
    ],
    "trpc-group__trpc-agent-python__baseline.validation.evalset.json": [
        ("val_paraphrase", '"Please provide more details so I can route your request."}'),
        ("val_knowledge_recall", '"Please provide more details so I can route your request."}'),
        ("val_refund_route", '"I will route this duplicate charge for refund review."}'),
    ],
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_real_eval_set_in_trace_mode_gives_the_recorded_answers(read_shared: Read, name: str) -> None:
    records, faults = read_shared(f"adk/{name}")
    assert faults == []
    read = [
        (row.trace.caseId, (row.trace.finalAnswer or "")[-len(tail) :])
        for row, (_, tail) in zip(records, RECORDED[name], strict=True)
    ]
    assert read == RECORDED[name]
    # The files speak of no calls, which is not to say that there were none.
    assert [row.trace.toolInvocations for row in records] == [None] * 3


@pytest.mark.parametrize(
    "name",
    [
        "google__adk-python__dependent_tool_calls.test.json",
        "google__adk-python__order_query.test.json",
        "google__adk-python__simple_test.test.json",
        "google__adk-python__simple_test2.test.json",
        "google__adk-python__test_config.json",
        "google__adk-samples__eval_data1.evalset.json",
        "google__adk-samples__full_conversation.test.json",
        "google__adk-samples__inspire.test.json",
        "trpc-group__trpc-agent-go__claudecode-basic.evalset.json",
        "trpc-group__trpc-agent-go__jieba-rouge-zh.evalset.json",
    ],
)
def test_a_real_file_of_expectations_is_refused_and_says_what_it_is_for(read_shared: Read, name: str) -> None:
    records, [fault] = read_shared(f"adk/{name}")
    assert records == []
    assert "no run" in fault.message
    assert "`import-cases`" in fault.message


def test_a_result_inside_a_string_without_invocations_is_a_run_that_says_nothing(read_shared: Read) -> None:
    [record], faults = read_shared("edge/b13_double_encoded.json")
    assert faults == []
    assert record.trace == Trace(caseId="c1")


def test_the_answer_is_the_last_text_without_a_call_after_the_last_question() -> None:
    events = [
        event(1, "user", text("why 503?")),
        event(2, "agent", text("I look."), asks("searchLogs")),
        event(3, "agent", replies("searchLogs", {"lines": 3})),
        event(4, "agent", {"text": "Hm.", "thought": True}, text("The pool.")),
    ]
    assert read_one(session(*events)).trace.finalAnswer == "The pool."
    assert read_one(session(*events[:3])).trace.finalAnswer is None
    assert read_one(session(*events, event(5, "user", text("sure?")))).trace.finalAnswer is None


def test_the_pieces_of_a_stream_are_neither_answers_nor_tokens() -> None:
    tokens = {"promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 16}
    piece = event(2, "agent", text("The po"), partial=True, usageMetadata=tokens)
    whole = event(3, "agent", text("The pool."), usageMetadata=tokens)
    trace = read_one(session(event(1, "user", text("why?")), whole, {**piece, "id": "e9"})).trace
    assert trace.finalAnswer == "The pool."
    assert trace.usage
    assert (trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens) == (10, 6, 16)


def test_an_event_that_stands_twice_counts_once_with_a_warning() -> None:
    asked = event(2, "agent", asks("searchLogs", "c1"))
    record = read_one(session(event(1, "user", text("why?")), asked, asked, event(3, "agent", text("The pool."))))
    assert len(calls_of(record.trace)) == 1
    assert [each.kind for each in record.warned] == ["duplicate-event"]


def test_events_are_read_by_time() -> None:
    late = event(1, "agent", text("The pool."), at=1772442603.0)
    early = event(2, "user", text("why?"), at=1772442600.5)
    trace = read_one(session(late, early)).trace
    assert (trace.question, trace.finalAnswer) == ("why?", "The pool.")
    assert (trace.startedAt, trace.finishedAt) == (
        "2026-03-02T09:10:00.500000+00:00",
        "2026-03-02T09:10:03.000000+00:00",
    )


def test_a_reply_goes_to_the_call_of_its_id_else_to_the_next_of_its_name() -> None:
    named = read_one(
        session(
            event(1, "agent", asks("f", "a"), asks("f", "b"), at=1.0),
            event(2, "agent", replies("f", {"r": 2}, "b"), replies("f", {"error": "boom"}, "a"), at=2.0),
        )
    )
    assert [(each.resultSummary, each.success, each.error, each.durationMs) for each in calls_of(named.trace)] == [
        ({"error": "boom"}, False, "boom", None),
        ({"r": 2}, None, None, None),
    ]
    nameless = read_one(
        session(
            event(1, "agent", asks("f"), at=1.0),
            event(2, "agent", replies("f", {"r": 1}), at=1.25),
            event(3, "agent", asks("f"), at=2.0),
        )
    )
    assert [(each.resultSummary, each.durationMs) for each in calls_of(nameless.trace)] == [
        ({"r": 1}, 250.0),
        (None, None),
    ]


def test_an_answer_of_the_web_server_is_a_list_of_events_without_an_id() -> None:
    trace = read_one([event(1, "user", text("why?")), event(2, "agent", text("The pool."))]).trace
    assert (trace.traceId, trace.question, trace.finalAnswer, trace.toolInvocations) == (None, "why?", "The pool.", [])


def test_a_run_that_ended_in_an_error_says_so() -> None:
    failed = {"id": "e2", "invocationId": "i", "author": "agent", "errorCode": "MALFORMED_FUNCTION_CALL"}
    trace = read_one(session(event(1, "user", text("why?")), failed)).trace
    assert (trace.status, trace.finalAnswer) == ("MALFORMED_FUNCTION_CALL", None)


def result(*invocations: dict[str, Any], **more: Any) -> dict[str, Any]:
    per = [
        {"actual_invocation": each, "expected_invocation": {"user_content": {"parts": [text("no")]}}}
        for each in invocations
    ]
    case = {"eval_id": "c-1", "session_id": "s-1", "eval_metric_result_per_invocation": per, **more}
    return {"eval_set_id": "set", "eval_case_results": [case]}


def turn(asked: str, answered: str | None, **inner: Any) -> dict[str, Any]:
    given = {"parts": [text(answered)]} if answered else None
    return {"user_content": {"parts": [text(asked)]}, "final_response": given, "intermediate_data": inner}


def test_several_turns_of_a_result_are_one_run() -> None:
    first = turn("why?", "I look.", tool_uses=[{"id": "1", "name": "f", "args": {"a": 1}}])
    second = turn(
        "and?",
        "The pool.",
        invocation_events=[event(1, "agent", asks("g", "2")), event(2, "agent", replies("g", {"x": 1}, "2"))],
    )
    trace = read_one(result(first, second)).trace
    assert (trace.question, trace.finalAnswer) == ("why?", "The pool.")
    assert [(each.toolName, each.resultSummary) for each in calls_of(trace)] == [("f", None), ("g", {"x": 1})]
    assert read_one(result(first, turn("and?", None))).trace.finalAnswer is None


def test_a_result_that_keeps_its_session_gives_times_and_tokens_from_there() -> None:
    kept = session(
        event(1, "user", text("why?"), at=1.0),
        event(2, "agent", asks("f", "1"), at=2.0),
        event(3, "agent", replies("f", {"x": 1}, "1"), at=2.5),
        event(4, "agent", text("The pool."), at=3.0, usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 1}),
    )
    record = read_one(result(turn("why?", "The pool.", tool_uses=[{"name": "f"}]), session_details=kept))
    trace = record.trace
    assert (trace.traceId, trace.caseId, trace.finalAnswer) == ("s-1", "c-1", "The pool.")
    assert [(each.toolName, each.durationMs) for each in calls_of(trace)] == [("f", 500.0)]
    assert trace.usage
    assert trace.usage.totalTokens == 4


def test_a_case_that_is_broken_costs_no_other() -> None:
    document = result(turn("why?", "The pool."))
    broken = {"eval_id": "c-0", "eval_metric_result_per_invocation": {}}
    document["eval_case_results"].insert(0, broken)
    bad, good = read_all(document)
    assert isinstance(bad, Unreadable)
    assert bad.fault.path == "$.eval_case_results[0].eval_metric_result_per_invocation"
    assert isinstance(good, ReadTrace)


def test_a_definition_among_recorded_runs_is_refused_by_itself() -> None:
    recorded = {
        "evalId": "a",
        "actualConversation": [{"userContent": {"content": "why?"}, "finalResponse": {"content": "x"}}],
    }
    defined = {"evalId": "b", "conversation": [{"userContent": {"content": "why?"}}]}
    good, bad = read_all({"evalSetId": "s", "evalCases": [recorded, defined]})
    assert isinstance(good, ReadTrace)
    assert (good.trace.caseId, good.trace.finalAnswer) == ("a", "x")
    assert isinstance(bad, Unreadable)
    assert bad.fault.path == "$.evalCases[1]"


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        [{}],
        {"id": "s", "events": []},
        {"id": "s", "events": [{"type": "x"}]},
        {"events": [{"author": "a"}]},
        {"criteria": {"mine": 1}},
        {"eval_cases": []},
    ],
)
def test_what_is_not_of_adk_is_not_recognised(document: Any) -> None:
    assert adk.recognises(document) is None
