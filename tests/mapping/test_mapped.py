"""From a homemade log to traces."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources.base import ReadTrace
from pipeline.sources.files import InputFile
from pipeline.sources.mapped_look import LookedField, look
from pipeline.sources.mapping import CallFields, MappedFields, Mapping, mapping_format
from pipeline.sources.read import read_file

Mapped = Callable[..., tuple[list[ReadTrace], list[Fault]]]

FIELDS: dict[str, Any] = {
    "traceId": "id",
    "caseId": "case",
    "trial": "n",
    "question": "ask",
    "finalAnswer": "reply.text",
    "status": "state",
    "startedAt": "iso_time(start, 's')",
    "finishedAt": "end",
    "durationMs": "milliseconds(took, 's')",
    "model": "llm",
    "usage": {"inputTokens": "tok.i", "outputTokens": "tok.o", "totalTokens": "tok.t", "costUsd": "tok.usd"},
    "toolInvocations": {
        "items": "steps",
        "toolName": "fn",
        "arguments": "args",
        "success": "ok",
        "status": "st",
        "error": "err",
        "durationMs": "ms",
        "resultSummary": "out",
    },
    "verdict": "label",
    "score": "score",
    "gatekeeperStatus": "gate",
    "composerMode": "render",
    "claimChecks": {"items": "checks", "claimId": "id", "verification": "says", "detail": "why"},
    "executorAnswer": "draft",
    "executorClaims": {"items": "claims", "claimId": "id", "text": "t", "evidenceTools": "by"},
}
FULL = {
    "id": "t1",
    "case": "pool",
    "n": 2,
    "ask": "Why?",
    "reply": {"text": "The pool."},
    "state": "done",
    "start": 1_700_000_000,
    "end": "2023-11-14T22:13:30Z",
    "took": 8.4,
    "llm": "model-a",
    "tok": {"i": 10, "o": 2, "t": 12, "usd": 0.5},
    "steps": [
        {"fn": "searchLogs", "args": '{"q": [1]}', "ok": True, "st": "OK", "err": None, "ms": 12, "out": {"n": 1}},
        None,
        {"fn": "ping", "args": "host=a", "ok": False, "err": "timeout"},
    ],
    "label": "correct",
    "score": 1,
    "gate": "pass",
    "render": "parsed",
    "checks": [{"id": "c1", "says": "supported", "why": "the log"}],
    "draft": "The pool, surely.",
    "claims": [{"id": "c1", "t": "The pool is full.", "by": ["searchLogs"]}],
}


def test_every_field(mapped: Mapped) -> None:
    [read], faults = mapped(FIELDS, FULL, verdicts={"correct": "PASS"})
    assert faults == []
    assert (read.file, read.line) == ("log.jsonl", 1)
    assert msgspec.to_builtins(read.trace) == {
        "traceId": "t1",
        "caseId": "pool",
        "trial": 2,
        "question": "Why?",
        "finalAnswer": "The pool.",
        "status": "done",
        "startedAt": "2023-11-14T22:13:20.000000+00:00",
        "finishedAt": "2023-11-14T22:13:30Z",
        "durationMs": 8400.0,
        "model": "model-a",
        "usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12, "costUsd": 0.5},
        "executorOutput": {
            "answer": "The pool, surely.",
            "claims": [{"claim_id": "c1", "text": "The pool is full.", "evidence_bindings": ["searchLogs"]}],
        },
        "toolInvocations": [
            {
                "toolName": "searchLogs",
                "arguments": {"q": [1]},
                "success": True,
                "status": "OK",
                "durationMs": 12.0,
                "resultSummary": {"n": 1},
            },
            None,
            {"toolName": "ping", "arguments": "host=a", "success": False, "error": "timeout"},
        ],
        "selfEvaluation": {
            "verifier_evaluation": {
                "verdict": "PASS",
                "score": 1.0,
                "gatekeeper_result": {"status": "pass"},
                "claim_checks": [{"claim_id": "c1", "verification": "supported", "detail": "the log"}],
                "composer_output": {"mode": "parsed"},
            }
        },
    }


# name, field, expression, record, path, expected, found
WRONG: list[tuple[str, dict[str, Any], Any, str, str, str]] = [
    ("a number for text", {"finalAnswer": "a.b"}, {"a": {"b": 7}}, "$.a.b", "text", "number 7"),
    ("a number for an id", {"finalAnswer": "r", "traceId": "id"}, {"id": 7, "r": "x"}, "$.id", "text", "number 7"),
    ("a list for text", {"finalAnswer": "a"}, {"a": ["x"]}, "$.a", "text", "list of 1 value"),
    ("a text for a number", {"durationMs": "a"}, {"a": "8"}, "$.a", "number", 'text "8"'),
    ("true for a number", {"durationMs": "a"}, {"a": True}, "$.a", "number", "true"),
    (
        "a fraction for a whole number",
        {"usage": {"inputTokens": "a"}},
        {"a": 1.0},
        "$.a",
        "whole number from -2^63 to 2^63-1",
        "number 1.0",
    ),
    (
        "a whole number out of range",
        {"trial": "a", "finalAnswer": "b"},
        {"a": 2**63},
        "$.a",
        "whole number from -2^63 to 2^63-1",
        "number 9223372036854775808",
    ),
    ("a text for a list", {"toolInvocations": {"items": "a"}}, {"a": "[]"}, "$.a", "list", 'text "[]"'),
    (
        "a text for a flag",
        {"toolInvocations": {"items": "a", "success": "ok"}},
        {"a": [{}, {"ok": "yes"}]},
        "$.a[1].ok",
        "true or false",
        'text "yes"',
    ),
    (
        "a number for a name",
        {"toolInvocations": {"items": "a[?x]", "toolName": "n"}},
        {"a": [{"x": 1, "n": 3}]},
        "$",
        "text",
        "number 3",
    ),
    (
        "no list of texts",
        {"executorClaims": {"items": "a", "evidenceTools": "by"}},
        {"a": [{"by": ["x", 1]}]},
        "$.a[0].by",
        "list of texts",
        "list of 2 values",
    ),
    ("a number for a verdict", {"verdict": "a"}, {"a": 1}, "$.a", "text", "number 1"),
    (
        "an expression that cannot be worked out",
        {"durationMs": "a && abs(a)"},
        {"a": "x"},
        "$",
        "a number for abs",
        'text "x"',
    ),
    (
        "nothing at all",
        {"finalAnswer": "a"},
        {"kind": "start"},
        "$",
        "a record of the log that the mapping is for",
        "object with kind",
    ),
    ("no object", {"finalAnswer": "a"}, 7, "$", "a record of the log that the mapping is for", "number 7"),
]


@pytest.mark.parametrize(
    "fields, record, path, expected, found", [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_a_wrong_type_costs_its_record_alone(
    fields: dict[str, Any], record: Any, path: str, expected: str, found: str, *, mapped: Mapped
) -> None:
    right = {"a": None, "kind": None, "r": "x", "b": "x"} | FULL
    traces, [fault] = mapped(fields | {"model": "llm"}, right, record, right)
    assert len(traces) == 2
    assert (fault.line, fault.path, fault.expected, fault.found) == (2, path, expected, found)


def test_the_message_names_expression_and_field_and_says_what_to_do(mapped: Mapped) -> None:
    _, [fault] = mapped({"usage": {"inputTokens": "tok.i"}}, {"tok": {"i": "12"}})
    assert fault.message == (
        'the mapping\'s expression `tok.i` for usage.inputTokens finds text "12", where whole number from -2^63 to '
        "2^63-1 is due: correct the mapping (to_number(tok.i) makes a number of it), or what writes the log"
    )


# name, value, verdict or what was due
VERDICTS: list[tuple[str, Any, str | None]] = [
    ("a text", "ok", "PASS"),
    ("a number", 1, "PASS"),
    ("the same number as a fraction", 1.0, "PASS"),
    ("true", True, "REVISE"),
    ("nothing", None, None),
]


@pytest.mark.parametrize("value, verdict", [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS])
def test_the_table_says_what_a_value_means(value: Any, verdict: str | None, mapped: Mapped) -> None:
    table = {"ok": "PASS", "1": "PASS", "true": "REVISE"}
    [read], _ = mapped({"finalAnswer": "a", "verdict": "v"}, {"a": "x", "v": value}, verdicts=table)
    found = msgspec.to_builtins(read.trace).get("selfEvaluation")
    assert found == (None if verdict is None else {"verifier_evaluation": {"verdict": verdict}})


def test_a_value_that_the_table_does_not_have_is_refused(mapped: Mapped) -> None:
    traces, [fault] = mapped({"verdict": "v"}, {"v": "partly"}, verdicts={"ok": "PASS", "bad": "REJECT"})
    assert traces == []
    assert (fault.path, fault.expected, fault.found) == ("$.v", "one of ok, bad", 'text "partly"')


def test_records_of_one_document(mapped: Mapped) -> None:
    document = {"runs": [{"a": "one"}, {"a": 2}, None, {"a": "four"}]}
    traces, faults = mapped({"finalAnswer": "a"}, document, records="runs")
    assert [read.trace.finalAnswer for read in traces] == ["one", "four"]
    assert [(fault.line, fault.path, fault.found) for fault in faults] == [
        (1, "$.runs[1].a", "number 2"),
        (1, "$.runs[2]", "null"),
    ]


def test_a_document_without_records_is_refused_and_an_empty_list_is_none(mapped: Mapped) -> None:
    traces, [fault] = mapped({"finalAnswer": "a"}, {"runs": []}, {"other": 1}, records="runs")
    assert traces == []
    assert (fault.line, fault.path, fault.expected, fault.found) == (2, "$.runs", "list", "nothing")


def test_lines_of_another_kind_are_left_out(mapped: Mapped) -> None:
    lines = [{"kind": "start"}, {"kind": "run", "a": "x"}, {"kind": "end"}]
    traces, faults = mapped({"finalAnswer": "a"}, *lines, records="[@][?kind == 'run']")
    assert ([read.line for read in traces], faults) == ([2], [])


def test_without_a_list_the_number_of_calls_is_unknown(mapped: Mapped) -> None:
    fields = {"finalAnswer": "a", "toolInvocations": {"items": "steps"}}
    traces, _ = mapped(fields, {"a": "x"}, {"a": "x", "steps": []})
    assert [read.trace.toolInvocations for read in traces] == [None, []]


def test_a_list_of_names_is_a_list_of_calls(mapped: Mapped) -> None:
    [read], _ = mapped({"toolInvocations": {"items": "tools", "toolName": "@"}}, {"tools": ["a", "b"]})
    assert msgspec.to_builtins(read.trace) == {"toolInvocations": [{"toolName": "a"}, {"toolName": "b"}]}


def test_repairs_are_told_wherever_they_were_made(mapped: Mapped) -> None:
    fields = {
        "finalAnswer": "a",
        "durationMs": "from_json(inner).ms",
        "toolInvocations": {"items": "steps", "arguments": "args"},
    }
    line = '{"a": "x", "n": NaN, "inner": "{\\"ms\\": NaN}", "steps": [{"args": "{\\"n\\": NaN}"}]}'
    [read], faults = mapped(fields, line)
    assert (faults, read.trace.durationMs) == ([], None)
    [warned] = read.warned
    assert (warned.path, warned.kind, warned.message.partition(" ")[0]) == ("$.n", "non-finite-number", "3")


def test_a_json_file_of_several_objects_is_cut(tmp_path: Path) -> None:
    mapping = Mapping(schema_version=1, name="ours", fields=MappedFields(final_answer="a"))
    (tmp_path / "t.json").write_text('{\n "a": "x"\n}\n{\n "a": "y"\n}\n')
    file = InputFile(path=str(tmp_path / "t.json"), name="t.json", root=0, kind="json")
    read = list(read_file(file, mapping_format(mapping)))
    assert [(one.trace.finalAnswer, one.line) for one in read if isinstance(one, ReadTrace)] == [("x", 1), ("y", 4)]


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FULL, "x"]), inner, max_size=6),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_like, min_size=1, max_size=4))
def test_every_document_is_a_trace_or_is_refused(tmp_path: Path, documents: list[Any]) -> None:
    mapping = Mapping(
        schema_version=1,
        name="ours",
        fields=MappedFields(
            final_answer="reply.text",
            duration_ms="milliseconds(took, 's')",
            verdict="label",
            tool_invocations=CallFields(items="steps", tool_name="fn", success="ok", arguments="args"),
        ),
    )
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(one) for one in documents))
    file = InputFile(path=str(tmp_path / "t.jsonl"), name="t.jsonl", root=0, kind="lines")
    assert len(list(read_file(file, mapping_format(mapping)))) == len(documents)


def test_a_look_tells_what_each_expression_finds(tmp_path: Path) -> None:
    mapping = Mapping(
        schema_version=1,
        name="ours",
        records="runs",
        fields=MappedFields(
            final_answer="a", model="nowhere", tool_invocations=CallFields(items="steps", tool_name="fn")
        ),
    )
    lines = ['{"runs": [{"a": "x", "steps": [{"fn": "f"}, null, {"fn": 3}]}, {"a": 7}]}', "{broken", '{"none": 1}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    looked = look(mapping, [InputFile(path=str(tmp_path / "t.jsonl"), name="t.jsonl", root=0, kind="lines")])
    assert (looked.records, looked.not_mapped) == (2, ("caseId", "verdict", "durationMs"))
    assert list(looked.fields) == [
        LookedField(
            name="finalAnswer",
            expression="a",
            asked=2,
            found=1,
            first='text "x"',
            refused=1,
            fault="number 7, where text is due",
        ),
        LookedField(name="model", expression="nowhere", asked=2),
        LookedField(name="toolInvocations", expression="steps", asked=2, found=1, first="list of 3 values"),
        LookedField(
            name="toolInvocations.toolName",
            expression="fn",
            asked=2,
            found=1,
            first='text "f"',
            refused=1,
            fault="number 3, where text is due",
        ),
    ]
    assert [text.partition(" ")[0] for text in looked.refused] == ["t.jsonl:2:", "t.jsonl:3:"]


def test_a_look_goes_no_further_than_it_must(tmp_path: Path) -> None:
    mapping = Mapping(schema_version=1, name="ours", fields=MappedFields(final_answer="a"))
    (tmp_path / "t.jsonl").write_text('{"a": "x"}\n' * 50)
    looked = look(mapping, [InputFile(path=str(tmp_path / "t.jsonl"), name="t.jsonl", root=0, kind="lines")], limit=7)
    assert (looked.records, looked.fields[0].asked) == (7, 7)
