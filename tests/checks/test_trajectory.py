"""The checks of the way the agent took: the order of its calls, and their arguments."""

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., list[dict[str, dict[str, str | None]]]]
Case = dict[str, Any]
Trace = dict[str, Any]


def called(*tools: str | dict[str, Any]) -> Trace:
    return {
        "finalAnswer": "The pool is full.",
        "toolInvocations": [{"toolName": tool} if isinstance(tool, str) else tool for tool in tools],
    }


def logs(arguments: Any) -> dict[str, Any]:
    return {"toolName": "searchLogs", "arguments": arguments}


def asks(arguments: Any, mode: str = "subset") -> Case:
    return {"toolArguments": [{"tool": "searchLogs", "mode": mode, "arguments": arguments}]}


NO_CALLS: Trace = {"finalAnswer": "The pool is full."}
ORDER: Case = {"toolOrder": ["queryMetrics", "searchLogs"]}
CHECKOUT: Case = asks({"service": "checkout"})
NESTED: Case = asks({"filter": {"service": "checkout", "level": ["ERROR", "FATAL"]}})

# check, name, case, trace, expected, observed, message
FAILURES: list[tuple[str, str, Case, Trace, str, str, str]] = [
    (
        "tool-order",
        "the other way round",
        ORDER,
        called("searchLogs", "queryMetrics"),
        "queryMetrics > searchLogs",
        "calls: searchLogs, queryMetrics",
        "the calls do not contain the sequence queryMetrics > searchLogs; calls: searchLogs, queryMetrics",
    ),
    (
        "tool-order",
        "no calls",
        ORDER,
        called(),
        "queryMetrics > searchLogs",
        "calls: none",
        "the calls do not contain the sequence queryMetrics > searchLogs; calls: none",
    ),
    (
        "tool-order",
        "calls that are not recorded",
        ORDER,
        NO_CALLS,
        "queryMetrics > searchLogs",
        "toolInvocations is absent",
        "the calls do not contain the sequence queryMetrics > searchLogs; toolInvocations is absent",
    ),
    (
        "tool-order",
        "a call without a name between others",
        ORDER,
        called("queryMetrics", {}, "redisInfo"),
        "queryMetrics > searchLogs",
        "calls: queryMetrics, a call without a name, redisInfo",
        (
            "the calls do not contain the sequence queryMetrics > searchLogs; "
            "calls: queryMetrics, a call without a name, redisInfo"
        ),
    ),
    (
        "tool-order",
        "many calls",
        {"toolOrder": ["searchLogs"]},
        called(*["redisInfo"] * 25),
        "searchLogs",
        "calls: " + ", ".join(["redisInfo"] * 20) + " and 5 more",
        "the calls do not contain the sequence searchLogs; calls: " + ", ".join(["redisInfo"] * 20) + " and 5 more",
    ),
    (
        "tool-arguments",
        "asked about another service",
        CHECKOUT,
        called(logs({"service": "payment", "limit": 50}), logs({"service": "cart"}), "redisInfo"),
        'searchLogs with at least {"service":"checkout"}',
        'searchLogs was called with {"limit":50,"service":"payment"} / {"service":"cart"}',
        (
            'there is no call of searchLogs with at least {"service":"checkout"}; '
            'searchLogs was called with {"limit":50,"service":"payment"} / {"service":"cart"}'
        ),
    ),
    (
        "tool-arguments",
        "more than the exact ones",
        asks({"service": "checkout"}, "exact"),
        called(logs({"service": "checkout", "limit": 50})),
        'searchLogs with exactly {"service":"checkout"}',
        'searchLogs was called with {"limit":50,"service":"checkout"}',
        (
            'there is no call of searchLogs with exactly {"service":"checkout"}; '
            'searchLogs was called with {"limit":50,"service":"checkout"}'
        ),
    ),
    (
        "tool-arguments",
        "the tool was never called",
        CHECKOUT,
        called("redisInfo"),
        'searchLogs with at least {"service":"checkout"}',
        "searchLogs was never called",
        'there is no call of searchLogs with at least {"service":"checkout"}; searchLogs was never called',
    ),
    (
        "tool-arguments",
        "called without arguments",
        CHECKOUT,
        called("searchLogs", logs("  ")),
        'searchLogs with at least {"service":"checkout"}',
        "searchLogs was called without arguments",
        'there is no call of searchLogs with at least {"service":"checkout"}; searchLogs was called without arguments',
    ),
    (
        "tool-arguments",
        "calls that are not recorded",
        CHECKOUT,
        NO_CALLS,
        'searchLogs with at least {"service":"checkout"}',
        "toolInvocations is absent",
        'there is no call of searchLogs with at least {"service":"checkout"}; toolInvocations is absent',
    ),
    (
        "tool-arguments",
        "two of three entries are not met, by the same calls",
        {
            "toolArguments": [
                {"tool": "searchLogs", "arguments": {"service": "checkout"}},
                {"tool": "searchLogs", "arguments": {"limit": 50}},
                {"tool": "searchLogs", "arguments": {"level": "ERROR"}},
            ],
        },
        called(logs({"limit": 50})),
        'searchLogs with at least {"service":"checkout"}; searchLogs with at least {"level":"ERROR"}',
        'searchLogs was called with {"limit":50}',
        (
            'there is no call of searchLogs with at least {"service":"checkout"}; '
            'searchLogs with at least {"level":"ERROR"}; searchLogs was called with {"limit":50}'
        ),
    ),
    (
        "tool-arguments",
        "arguments that are no JSON",
        CHECKOUT,
        called(logs("service=checkout")),
        'searchLogs with at least {"service":"checkout"}',
        "searchLogs was called with service=checkout",
        (
            'there is no call of searchLogs with at least {"service":"checkout"}; '
            "searchLogs was called with service=checkout"
        ),
    ),
    (
        "tool-arguments",
        "arguments that never end are cut",
        CHECKOUT,
        called(logs({"service": "x" * 1000})),
        'searchLogs with at least {"service":"checkout"}',
        'searchLogs was called with {"service":"' + "x" * 108 + "…",
        'there is no call of searchLogs with at least {"service":"checkout"}; '
        'searchLogs was called with {"service":"' + "x" * 108 + "…",
    ),
]

# check, name, case, trace, outcome
OUTCOMES: list[tuple[str, str, Case, Trace, str]] = [
    ("tool-order", "nothing is asked", {"toolOrder": []}, NO_CALLS, "skip"),
    ("tool-order", "exactly these", ORDER, called("queryMetrics", "searchLogs"), "pass"),
    (
        "tool-order",
        "others between them",
        ORDER,
        called("x", "queryMetrics", "redisInfo", {}, "searchLogs", "y"),
        "pass",
    ),
    (
        "tool-order",
        "once the other way round, then right",
        ORDER,
        called("searchLogs", "queryMetrics", "searchLogs"),
        "pass",
    ),
    ("tool-order", "only the first of them", ORDER, called("queryMetrics"), "fail"),
    ("tool-order", "twice asked, twice called", {"toolOrder": ["a", "a"]}, called("a", "b", "a"), "pass"),
    ("tool-order", "twice asked, once called", {"toolOrder": ["a", "a"]}, called("a", "b"), "fail"),
    ("tool-order", "and back again", {"toolOrder": ["a", "b", "a"]}, called("a", "b", "b", "a"), "pass"),
    ("tool-order", "never back", {"toolOrder": ["a", "b", "a"]}, called("a", "a", "b"), "fail"),
    (
        "tool-order",
        "a name is no part of a name",
        {"toolOrder": ["query", "Logs"]},
        called("queryMetrics", "searchLogs"),
        "fail",
    ),
    ("tool-order", "a name is no pattern", {"toolOrder": ["a.c", "b*"]}, called("abc", "bb"), "fail"),
    ("tool-order", "a name of signs", {"toolOrder": ["a.c", "b*"]}, called("a.c", "b*"), "pass"),
    ("tool-order", "names over several lines", {"toolOrder": ["a", "b"]}, called("a", "x\ny", "b"), "pass"),
    ("tool-order", "one name made up of two", {"toolOrder": ["a", "b"]}, called("a\x1f\x1eb"), "fail"),
    (
        "tool-order",
        "calls in vain count",
        ORDER,
        called({"toolName": "queryMetrics", "success": False}, "searchLogs"),
        "pass",
    ),
    ("tool-arguments", "nothing is asked", {"toolArguments": []}, NO_CALLS, "skip"),
    ("tool-arguments", "just these", CHECKOUT, called(logs({"service": "checkout"})), "pass"),
    ("tool-arguments", "others beside them", CHECKOUT, called(logs({"service": "checkout", "limit": 50})), "pass"),
    (
        "tool-arguments",
        "of several calls the last",
        CHECKOUT,
        called(logs({}), logs(None), logs({"service": "checkout"})),
        "pass",
    ),
    (
        "tool-arguments",
        "another tool's call",
        CHECKOUT,
        called({"toolName": "x", "arguments": {"service": "checkout"}}),
        "fail",
    ),
    ("tool-arguments", "spread over two calls", asks({"a": 1, "b": 2}), called(logs({"a": 1}), logs({"b": 2})), "fail"),
    ("tool-arguments", "text is compared exactly", CHECKOUT, called(logs({"service": "Checkout"})), "fail"),
    ("tool-arguments", "a number is no text", asks({"limit": 50}), called(logs({"limit": "50"})), "fail"),
    ("tool-arguments", "a truth value is no number", asks({"limit": 1}), called(logs({"limit": True})), "fail"),
    ("tool-arguments", "numbers are compared by value", asks({"limit": 50}), called(logs({"limit": 5.0e1})), "pass"),
    ("tool-arguments", "numbers in lists too", asks({"ids": [1, [2.0]]}), called(logs({"ids": [1.0, [2]]})), "pass"),
    ("tool-arguments", "minus zero is zero", asks({"offset": 0}), called(logs({"offset": -0.0})), "pass"),
    (
        "tool-arguments",
        "long numbers are compared digit by digit",
        asks({"id": 2**53}),
        called(logs({"id": 2**53 + 1})),
        "fail",
    ),
    ("tool-arguments", "null is a value", asks({"cursor": None}), called(logs({"cursor": None})), "pass"),
    ("tool-arguments", "an absent key is not null", asks({"cursor": None}), called(logs({})), "fail"),
    (
        "tool-arguments",
        "objects are compared by key, at any depth",
        NESTED,
        called(logs({"filter": {"level": ["ERROR", "FATAL"], "pod": "a", "service": "checkout"}})),
        "pass",
    ),
    (
        "tool-arguments",
        "lists as wholes",
        NESTED,
        called(logs({"filter": {"level": ["ERROR", "FATAL", "WARN"], "service": "checkout"}})),
        "fail",
    ),
    (
        "tool-arguments",
        "lists in order",
        NESTED,
        called(logs({"filter": {"level": ["FATAL", "ERROR"], "service": "checkout"}})),
        "fail",
    ),
    (
        "tool-arguments",
        "objects in lists as wholes",
        asks({"filters": [{"a": 1}]}),
        called(logs({"filters": [{"a": 1, "b": 2}]})),
        "fail",
    ),
    (
        "tool-arguments",
        "the same members one level up",
        NESTED,
        called(logs({"service": "checkout", "level": ["ERROR"]})),
        "fail",
    ),
    ("tool-arguments", "an empty object is there", asks({"filter": {}}), called(logs({"filter": {"a": 1}})), "pass"),
    ("tool-arguments", "an empty object is no text", asks({"filter": {}}), called(logs({"filter": "a"})), "fail"),
    ("tool-arguments", "no arguments asked, an object given", asks({}), called(logs({"a": 1})), "pass"),
    ("tool-arguments", "no arguments asked, none given", asks({}), called("searchLogs"), "fail"),
    ("tool-arguments", "no arguments asked, a list given", asks({}), called(logs([])), "fail"),
    ("tool-arguments", "exactly none", asks({}, "exact"), called(logs({})), "pass"),
    (
        "tool-arguments",
        "exactly these in another order",
        asks({"a": 1, "b": 2}, "exact"),
        called(logs({"b": 2.0, "a": 1})),
        "pass",
    ),
    ("tool-arguments", "exactly these and null", asks({"a": 1}, "exact"), called(logs({"a": 1, "b": None})), "fail"),
    (
        "tool-arguments",
        "exactly, at depth",
        asks({"f": {"a": 1}}, "exact"),
        called(logs({"f": {"a": 1, "b": 2}})),
        "fail",
    ),
    ("tool-arguments", "a text that says the same exactly", asks({"a": 1}, "exact"), called(logs('{"a":1')), "fail"),
    ("tool-arguments", "as JSON inside a string", CHECKOUT, called(logs('{"service": "checkout"}')), "pass"),
    (
        "tool-arguments",
        "a call in vain counts",
        CHECKOUT,
        called({**logs({"service": "checkout"}), "success": False}),
        "pass",
    ),
    (
        "tool-arguments",
        "one call may meet two entries",
        {
            "toolArguments": [
                {"tool": "searchLogs", "arguments": {"a": 1}},
                {"tool": "searchLogs", "arguments": {"b": 2}},
            ]
        },
        called(logs({"a": 1, "b": 2})),
        "pass",
    ),
    (
        "tool-arguments",
        "one entry met is not both",
        {
            "toolArguments": [
                {"tool": "searchLogs", "arguments": {"a": 1}},
                {"tool": "searchLogs", "arguments": {"b": 2}},
            ]
        },
        called(logs({"a": 1})),
        "fail",
    ),
    (
        "tool-arguments",
        "keys that look like a path",
        asks({"a": {"b": 1}}),
        called(logs({'a","b': 1, "a.b": 1})),
        "fail",
    ),
    (
        "tool-arguments",
        "keys that are very long",
        asks({"k" * 400: {"a": 1}}),
        called(logs({"k" * 400: {"a": 1, "b": 2}})),
        "pass",
    ),
    (
        "tool-arguments",
        "very long keys that differ",
        asks({"k" * 400: {"a": 1}}),
        called(logs({"k" * 401: {"a": 1}})),
        "fail",
    ),
]


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=[f"{row[0]}: {row[1]}" for row in FAILURES])
def test_a_failure_tells_expected_observed_and_a_sentence(number: int, judged: Judged) -> None:
    check, _, _, _, expected, observed, message = FAILURES[number]
    said = {"outcome": "fail", "expected": expected, "observed": observed, "message": message}
    assert said == judged(FAILURES)[number][check]


@pytest.mark.parametrize("number", range(len(OUTCOMES)), ids=[f"{row[0]}: {row[1]}" for row in OUTCOMES])
def test_an_edge_has_its_outcome(number: int, judged: Judged) -> None:
    check, _, _, _, outcome = OUTCOMES[number]
    assert outcome == judged(OUTCOMES)[number][check]["outcome"]


def test_arguments_are_redacted_before_they_are_cut(judged_now: Judged) -> None:
    arguments = {"note": "q" * 95, "token": "sk-12345678901234567890"}
    [results] = judged_now([("", "", CHECKOUT, called(logs(arguments)))], redact=[r"sk-\d{20}"])
    shown = '{"note":"' + "q" * 95 + '","token":"[reda…'
    assert results["tool-arguments"]["observed"] == f"searchLogs was called with {shown}"


def test_arguments_are_compared_unredacted(judged_now: Judged) -> None:
    case = asks({"token": "sk-1"})
    right, wrong = judged_now(
        [("", "", case, called(logs({"token": "sk-1"}))), ("", "", case, called(logs({"token": "sk-2"})))],
        redact=[r"sk-\d"],
    )
    assert right["tool-arguments"]["outcome"] == "pass"
    assert wrong["tool-arguments"]["outcome"] == "fail"
