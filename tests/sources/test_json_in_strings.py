"""Contract section 2, JSON inside strings: columns of text that hold documents."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault
from pipeline.sources.base import ComposerOutput, ExecutorOutput, Gatekeeper, SelfEvaluation, Trace, VerifierEvaluation

Read = Callable[..., tuple[list[Any], list[Fault]]]


def inside(value: Any, levels: int = 1) -> str:
    """The value as JSON inside so many strings."""
    for _ in range(levels):
        value = json.dumps(value)
    assert isinstance(value, str)
    return value


def trace_with(path: str, value: Any) -> dict[str, Any]:
    """A trace with one value at a path of keys."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value  # type: ignore[no-any-return]  # a path has at least one key


VERIFIER = "selfEvaluation.verifier_evaluation"
CAMEL = "selfEvaluation.verifierEvaluation"
FIELDS = {
    "toolInvocations": [{"toolName": "a"}],
    "executorOutput": {"answer": "a"},
    "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"}},
    VERIFIER: {"verdict": "PASS"},
    CAMEL: {"verdict": "PASS"},
    f"{VERIFIER}.gatekeeper_result": {"status": "pass"},
    f"{CAMEL}.gatekeeperResult": {"status": "pass"},
    f"{VERIFIER}.claim_checks": [{"claim_id": "c1"}],
    f"{CAMEL}.claimChecks": [{"claimId": "c1"}],
    f"{VERIFIER}.composer_output": {"mode": "parsed"},
    f"{CAMEL}.composerOutput": {"mode": "parsed"},
}


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("path, value", FIELDS.items(), ids=FIELDS)
def test_a_field_inside_strings_reads_like_the_field_itself(read: Read, path: str, value: Any, levels: int) -> None:
    [plain], _ = read(json.dumps(trace_with(path, value)))
    [packed], faults = read(json.dumps(trace_with(path, inside(value, levels))))
    assert (packed.trace, packed.warned, faults) == (plain.trace, (), [])


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("value", [{"q": "up", "n": 2}, ["a", 1], {}, []])
def test_arguments_inside_strings_become_what_they_hold(read: Read, value: Any, levels: int) -> None:
    [record], faults = read(json.dumps({"toolInvocations": [{"arguments": inside(value, levels)}]}))
    assert (record.trace.toolInvocations[0].arguments, faults) == (value, [])


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_document_inside_strings_reads_like_the_document(read: Read, levels: int) -> None:
    [record], faults = read(inside({"finalAnswer": "a"}, levels + 1))
    assert (record.trace, faults) == (Trace(finalAnswer="a"), [])


def test_strings_within_strings_are_counted_for_each_field(read: Read) -> None:
    gatekeeper = inside({"status": "fail"}, 3)
    verifier = inside({"gatekeeper_result": gatekeeper}, 3)
    [record], faults = read(json.dumps({"selfEvaluation": inside({"verifier_evaluation": verifier}, 3)}))
    evaluation = record.trace.selfEvaluation
    assert isinstance(evaluation, SelfEvaluation)
    assert isinstance(evaluation.verifier_evaluation, VerifierEvaluation)
    assert evaluation.verifier_evaluation.gatekeeper_result == Gatekeeper(status="fail")
    assert faults == []


STRICT = [
    path for path in FIELDS if path.rsplit(".", 1)[-1] not in ("executorOutput", "composer_output", "composerOutput")
]


@pytest.mark.parametrize("path", STRICT)
def test_a_field_inside_four_strings_is_refused(read: Read, path: str) -> None:
    traces, [fault] = read(json.dumps(trace_with(path, inside(FIELDS[path], 4))))
    assert (traces, fault.path, fault.expected) == ([], f"$.{path}", "JSON inside up to 3 strings")


def test_a_document_inside_four_strings_is_refused(read: Read) -> None:
    traces, [fault] = read(inside({"finalAnswer": "a"}, 5))
    assert (traces, fault.path, fault.expected) == ([], "$", "JSON inside up to 3 strings")


@pytest.mark.parametrize("blank", ["", "  \n", '" "', "null"])
@pytest.mark.parametrize("path", FIELDS)
def test_a_blank_string_is_absent(read: Read, path: str, blank: str) -> None:
    [record], faults = read(json.dumps(trace_with(path, blank)))
    [absent], _ = read(json.dumps(trace_with(path, None)))
    assert (record.trace, faults) == (absent.trace, [])


@pytest.mark.parametrize("text", ["searchLogs", "[{", '{"toolName": "a"} and more', "42", "true", '"text"'])
@pytest.mark.parametrize("path", STRICT)
def test_a_string_that_holds_no_such_json_is_refused_at_its_path(read: Read, path: str, text: str) -> None:
    traces, [fault] = read(json.dumps(trace_with(path, text)))
    assert (traces, fault.path) == ([], f"$.{path}")


def test_a_string_that_holds_an_object_where_a_list_is_due_is_refused(read: Read) -> None:
    _, [fault] = read(json.dumps({"toolInvocations": '{"toolName": "a"}'}))
    assert (fault.path, fault.expected, fault.found) == ("$.toolInvocations", "list", "object with toolName")


def test_a_fault_inside_carries_the_outer_path_and_the_inner_one(read: Read) -> None:
    _, [fault] = read(json.dumps({"selfEvaluation": inside({"verifier_evaluation": inside({"verdict": 7})})}))
    assert (fault.path, fault.found) == ("$.selfEvaluation.verifier_evaluation.verdict", "number 7")


@pytest.mark.parametrize("text", ["Pool exhausted.", '{"answer": "cut o', "[1, 2]", "42", '{"a": 1} and text', "{x}"])
def test_an_executor_output_that_is_no_object_is_the_answer_text(read: Read, text: str) -> None:
    [record], faults = read(json.dumps({"executorOutput": text}))
    assert (record.trace.executorOutput, record.warned, faults) == (text, (), [])


def test_an_answer_text_encoded_once_more_loses_its_quotes(read: Read) -> None:
    [record], _ = read(json.dumps({"executorOutput": inside("The pool was exhausted.")}))
    assert record.trace.executorOutput == "The pool was exhausted."


@pytest.mark.parametrize("value, path", [({"answer": 5}, ".answer"), ({"x": [10**400]}, ".x[0]")])
def test_an_executor_object_that_breaks_a_rule_is_refused_not_taken_for_text(read: Read, value: Any, path: str) -> None:
    traces, [fault] = read(json.dumps({"executorOutput": inside(value)}))
    assert (traces, fault.path) == ([], f"$.executorOutput{path}")


@pytest.mark.parametrize("text", ["fallback", "## Root cause", "[parsed]", "{parsed"])
def test_a_composer_output_that_is_no_object_is_the_mode(read: Read, text: str) -> None:
    [record], faults = read(json.dumps(trace_with(f"{VERIFIER}.composer_output", text)))
    assert (record.trace.selfEvaluation.verifier_evaluation.composer_output, faults) == (text, [])


def test_executor_and_composer_objects_are_typed(read: Read) -> None:
    trace = trace_with(f"{VERIFIER}.composer_output", '{"fallback_used": true}') | {"executorOutput": '{"answer": "a"}'}
    [record], _ = read(json.dumps(trace))
    assert record.trace.executorOutput == ExecutorOutput(answer="a")
    assert record.trace.selfEvaluation.verifier_evaluation.composer_output == ComposerOutput(fallback_used=True)


UNPARSED = {
    "plain text": "level: error",
    "a python literal": "{'city': 'x'}",
    "cut off": '{"q": "u',
    "a number": "42",
    "a text encoded once more": '"up"',
    "null": "null",
    "inside four strings": inside({"q": 1}, 4),
    "deeper than 200 levels": "[" * 201 + "]" * 201,
    "a model that repeats itself": "[" * 5000,
    "a number out of range": '{"x": 1e999}',
}


@pytest.mark.parametrize("text", UNPARSED.values(), ids=UNPARSED)
def test_arguments_that_hold_no_object_or_list_stay_text(read: Read, text: str) -> None:
    [record], faults = read(json.dumps({"toolInvocations": [{"arguments": text}]}))
    assert (record.trace.toolInvocations[0].arguments, record.warned, faults) == (text, (), [])


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_blank_arguments_are_absent(read: Read, blank: str) -> None:
    [record], _ = read(json.dumps({"toolInvocations": [{"arguments": blank}]}))
    assert record.trace.toolInvocations[0].arguments is None


def test_calls_inside_a_string_have_their_arguments_taken_out_too(read: Read) -> None:
    [record], _ = read(json.dumps({"toolInvocations": inside([None, {"arguments": inside({"q": 1})}])}))
    assert record.trace.toolInvocations[0] is None
    assert record.trace.toolInvocations[1].arguments == {"q": 1}


@pytest.mark.parametrize(
    "trace",
    [
        {"finalAnswer": '{"cause": 1}'},
        {"question": "[1]"},
        {"toolInvocations": [{"resultSummary": '{"rows": 3}', "error": "null", "status": '"OK"'}]},
    ],
    ids=["finalAnswer", "question", "free-form"],
)
def test_other_fields_are_never_taken_out_of_strings(read: Read, trace: Any) -> None:
    [record], faults = read(json.dumps(trace))
    [call] = record.trace.toolInvocations or [None]
    seen = (record.trace.finalAnswer, record.trace.question, call and (call.resultSummary, call.error, call.status))
    [given] = trace.get("toolInvocations", [None])
    assert seen == (trace.get("finalAnswer"), trace.get("question"), given and tuple(given.values()))
    assert faults == []
