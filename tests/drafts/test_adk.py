"""Eval sets of ADK and trpc-agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.drafts.base import origins
from pipeline.drafts.imports import import_cases
from tests.drafts.conftest import Import, cases_of, comments_of


def turn(question: str, answer: str, *calls: tuple[str, Any]) -> dict[str, Any]:
    return {
        "invocation_id": "i",
        "user_content": {"role": "user", "parts": [{"text": question}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": [{"id": None, "name": name, "args": args} for name, args in calls]},
    }


def eval_set(*turns: dict[str, Any], **case: Any) -> str:
    return json.dumps({"eval_set_id": "s", "eval_cases": [{"eval_id": "lamp", "conversation": [*turns], **case}]})


def test_a_conversation_is_a_case(drafted: Import) -> None:
    text = eval_set(
        turn("Turn off the lamp.", "Done.", ("set_device", {"id": "lamp-2", "on": False})),
        turn("And now?", "Its state is `OFF-LINE` since 11:34 UTC.", ("get_device", {"id": "lamp-2"}), ("wait", {})),
    )
    found = drafted("adk", "lamps.evalset.json", text)

    assert cases_of(found.data) == {
        "lamp": {
            "question": "Turn off the lamp.",
            "rootCauseKeywords": ["OFF-LINE", "11:34 UTC"],
            "requiredEvidenceTools": ["set_device", "get_device", "wait"],
            "toolOrder": ["set_device", "get_device", "wait"],
            "toolArguments": [
                {"tool": "set_device", "mode": "exact", "arguments": {"id": "lamp-2", "on": False}},
                {"tool": "get_device", "mode": "exact", "arguments": {"id": "lamp-2"}},
            ],
            "requireVerdict": False,
        }
    }
    assert [one.partition("case lamp: ")[2] for one in found.left_out] == [
        "final_response: Done. (turn 1 of 2: only the last answer is judged)",
        "final_response: Its state is `OFF-LINE` since 11:34 UTC. (its likeness to the answer was measured there)",
    ]
    assert "turn 2: And now?" in comments_of(found.data)


def test_the_spelling_of_trpc_agent(drafted: Import) -> None:
    case = {
        "evalId": "calc",
        "conversation": [
            {
                "userContent": {"role": "user", "content": "Compute 1+2."},
                "finalResponse": {"role": "assistant", "content": "`three`"},
                "tools": [{"id": "1", "name": "calculator", "arguments": {"a": 1}, "result": {"result": 3}}],
            }
        ],
    }
    found = drafted("adk", "a.evalset.json", json.dumps({"evalSetId": "s", "evalCases": [case]}))

    assert cases_of(found.data)["calc"] == {
        "question": "Compute 1+2.",
        "rootCauseKeywords": ["three"],
        "requiredEvidenceTools": ["calculator"],
        "toolArguments": [{"tool": "calculator", "mode": "exact", "arguments": {"a": 1}}],
        "requireVerdict": False,
    }


OLD = {"query": "Off!", "expected_tool_use": [{"tool_name": "set", "tool_input": {"on": False}}], "reference": "Off."}


@pytest.mark.parametrize(
    "content, name",
    [
        pytest.param([OLD], "simple", id="a-list-of-queries"),
        pytest.param([{"name": "shop", "data": [OLD]}], "shop", id="a-named-set"),
    ],
)
def test_the_older_form(drafted: Import, content: Any, name: str) -> None:
    case = cases_of(drafted("adk", "simple.test.json", json.dumps(content)).data)[name]

    assert (case["question"], case["requiredEvidenceTools"]) == ("Off!", ["set"])
    assert case["toolArguments"] == [{"tool": "set", "mode": "exact", "arguments": {"on": False}}]


def test_an_id_that_is_no_case_id_is_told(drafted: Import) -> None:
    text = json.dumps({"eval_set_id": "s", "eval_cases": [{"eval_id": "a/b c", "conversation": [turn("Why?", "")]}]})
    found = drafted("adk", "a.evalset.json", text)

    assert list(cases_of(found.data)) == ["a-b-c"]
    assert "eval_id: a/b c (it is no case id; traces of it must carry the id here as caseId)" in found.left_out[0]


@pytest.mark.parametrize(
    "case, left",
    [
        pytest.param({"session_input": {"app_name": "a", "state": {"k": 1}}}, "session_input.state: {k}", id="state"),
        pytest.param({"actual_conversation": [{}]}, "actual_conversation (it is a recorded run", id="a-recorded-run"),
        pytest.param({"rubrics": [{"r": 1}]}, "rubrics: {r} (a case has no such key)", id="rubrics"),
    ],
)
def test_what_cannot_be_said_is_listed(drafted: Import, case: dict[str, Any], left: str) -> None:
    found = drafted("adk", "a.evalset.json", eval_set(turn("Why?", ""), **case))

    assert [one.partition("case lamp: ")[2].startswith(left) for one in found.left_out] == [True]


@pytest.mark.parametrize(
    "call, left",
    [
        pytest.param(("", {}), "requiredEvidenceTools: a call without a name", id="no-name"),
        pytest.param(("a\u202eb", {}), "requiredEvidenceTools: a\\u202eb (no case may hold such a name)", id="hostile"),
        pytest.param(("a", [1]), "arguments of a: 1 (a case can hold no such arguments)", id="a-list-of-arguments"),
    ],
)
def test_calls_that_no_case_can_ask_for(drafted: Import, call: tuple[str, Any], left: str) -> None:
    found = drafted("adk", "a.evalset.json", eval_set(turn("Why?", "", call)))

    assert [one.partition("case lamp: ")[2].startswith(left) for one in found.left_out] == [True]


def test_criteria_are_listed_and_make_no_case(drafted: Import) -> None:
    found = drafted("adk", "test_config.json", '{"criteria": {"tool_trajectory_avg_score": 1.0}}')

    assert (found.cases, found.data, found.faults) == (0, b"", ())
    assert found.left_out == (
        "test_config.json:1: tool_trajectory_avg_score: 1.0 (a threshold of a metric; a check holds or does not)",
    )


@pytest.mark.parametrize(
    "content, message",
    [
        pytest.param('{"eval_set_id": "s", "eval_case_results": []}', "These are results", id="results"),
        pytest.param('{"a": 1}', "This is no eval set of ADK", id="another-object"),
        pytest.param("7", "This is no eval set of ADK", id="a-number"),
    ],
)
def test_what_is_refused(drafted: Import, content: str, message: str) -> None:
    (fault,) = drafted("adk", "a.test.json", content).faults

    assert fault.message.startswith(message)


def test_the_real_files(shared_traces: Path) -> None:
    found = import_cases([str(shared_traces / "adk")], origins().get("adk"), "adk")
    cases = cases_of(found.data)
    calls = {name: case["requiredEvidenceTools"] for name, case in cases.items()}

    assert (found.cases, found.files, found.faults) == (17, 12, ())
    assert calls["mcp_calculator"] == ["mcp__eva_cli_example__calculator"]
    assert calls["google__adk-python__simple_test2"] == ["set_device_info"]
    assert cases["eval_data_set_google_shopping"]["question"] == "hello"
    assert cases["rewrite-weather"]["question"] == "今天天气很好，我们一起去公园散步。"
