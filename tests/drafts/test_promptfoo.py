"""Tests of promptfoo."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.drafts.base import origins
from pipeline.drafts.imports import import_cases
from tests.drafts.conftest import Import, cases_of


def config(*assertions: dict[str, Any], **test: Any) -> str:
    tests = [{"vars": {"service": "checkout"}, "assert": [*assertions], **test}]
    return yaml.safe_dump({"prompts": ["Why is {{ service }} slow?"], "tests": tests}, sort_keys=False)


def left(found: Any) -> list[str]:
    return [one.partition(": case ")[2].partition(": ")[2] for one in found.left_out]


@pytest.mark.parametrize(
    "assertion, fields",
    [
        pytest.param({"type": "contains", "value": "pool"}, {"rootCauseKeywords": ["pool"]}, id="contains"),
        pytest.param({"type": "icontains", "value": "Pool"}, {"rootCauseKeywords": ["Pool"]}, id="icontains"),
        pytest.param(
            {"type": "contains", "value": "{{service}}-db"}, {"rootCauseKeywords": ["checkout-db"]}, id="a-variable"
        ),
        pytest.param({"type": "contains", "value": 503}, {"rootCauseKeywords": ["503"]}, id="a-number"),
        pytest.param(
            {"type": "contains-all", "value": ["a b", "c d"]}, {"rootCauseKeywords": ["a b", "c d"]}, id="contains-all"
        ),
        pytest.param(
            {"type": "icontains-any", "value": ["pool", "连接池"]},
            {"rootCauseKeywords": [["pool", "连接池"]]},
            id="contains-any-is-a-group",
        ),
        pytest.param(
            {"type": "contains-any", "value": "pool, leak"}, {"rootCauseKeywords": [["pool", "leak"]]}, id="commas"
        ),
        pytest.param({"type": "contains-any", "value": ["pool"]}, {"rootCauseKeywords": ["pool"]}, id="any-of-one"),
        pytest.param(
            {"type": "not-contains", "value": "disk"},
            {"rootCauseKeywords": [], "forbiddenAnswerKeywords": ["disk"]},
            id="not-contains",
        ),
        pytest.param(
            {"type": "not-contains-any", "value": ["disk", "cpu"]},
            {"rootCauseKeywords": [], "forbiddenAnswerKeywords": ["disk", "cpu"]},
            id="not-contains-any",
        ),
        pytest.param(
            {"type": "not-icontains-all", "value": ["disk"]},
            {"rootCauseKeywords": [], "forbiddenAnswerKeywords": ["disk"]},
            id="not-all-of-one",
        ),
        pytest.param(
            {"type": "regex", "value": r"max_\w+=\d+"}, {"rootCauseKeywords": [{"regex": r"max_\w+=\d+"}]}, id="regex"
        ),
        pytest.param(
            {"type": "not-regex", "value": r"disk\d"},
            {"rootCauseKeywords": [], "forbiddenAnswerKeywords": [{"regex": r"disk\d"}]},
            id="not-regex",
        ),
        pytest.param(
            {"type": "equals", "value": "An **Echo** (1.5)"},
            {"rootCauseKeywords": [{"regex": r"^an echo \(1\.5\)$"}]},
            id="equals-as-texts-are-compared",
        ),
        pytest.param(
            {"type": "starts-with", "value": "Cause:"}, {"rootCauseKeywords": [{"regex": "^cause:"}]}, id="starts-with"
        ),
        pytest.param(
            {"type": "latency", "threshold": 3000}, {"rootCauseKeywords": [], "maxDurationMs": 3000}, id="latency"
        ),
        pytest.param({"type": "cost", "threshold": 0.5}, {"rootCauseKeywords": [], "maxCostUsd": 0.5}, id="cost"),
        pytest.param(
            {"type": "trajectory:tool-used", "value": ["searchLogs", "ping"]},
            {"rootCauseKeywords": [], "requiredEvidenceTools": ["searchLogs", "ping"]},
            id="tool-used",
        ),
        pytest.param(
            {"type": "not-trajectory:tool-used", "value": "rm"},
            {"rootCauseKeywords": [], "forbiddenTools": ["rm"]},
            id="not-tool-used",
        ),
        pytest.param(
            {"type": "assert-set", "assert": [{"type": "contains", "value": "pool"}]},
            {"rootCauseKeywords": ["pool"]},
            id="a-set-of-which-all-must-hold",
        ),
    ],
)
def test_what_is_carried_over(drafted: Import, assertion: dict[str, Any], fields: dict[str, Any]) -> None:
    found = drafted("promptfoo", "promptfooconfig.yaml", config(assertion))
    case = cases_of(found.data)["promptfooconfig-1"]

    expected = {"question": "Why is checkout slow?", "requiredEvidenceTools": [], "requireVerdict": False, **fields}
    assert case == expected
    assert found.left_out == ()


@pytest.mark.parametrize(
    "assertion, told",
    [
        pytest.param({"type": "llm-rubric", "value": "Be kind"}, "llm-rubric: Be kind (a model judges it)", id="model"),
        pytest.param({"type": "javascript", "value": "true"}, "javascript: true (it runs code)", id="code"),
        pytest.param({"type": "python", "value": "True"}, "python: True (it runs code)", id="python"),
        pytest.param(
            {"type": "similar", "value": "pool", "threshold": 0.8},
            "similar: pool (it measures likeness)",
            id="likeness",
        ),
        pytest.param(
            {"type": "not-similar", "value": "pool"}, "not-similar: pool (it measures likeness)", id="negated"
        ),
        pytest.param({"type": "is-json"}, "is-json (no check does this)", id="no-check"),
        pytest.param({"type": "no-such", "value": "x"}, "no-such: x (no check does this)", id="unknown"),
        pytest.param({"value": "x"}, "assertion: x (no check does this)", id="no-type"),
        pytest.param(
            {"type": "contains", "value": "file://x.txt"},
            "contains: file://x.txt (its value is not a text that stands here)",
            id="a-file",
        ),
        pytest.param(
            {"type": "contains", "value": "{{ other }}"},
            "contains: {{ other }} (its value is not a text that stands here)",
            id="an-unknown-variable",
        ),
        pytest.param(
            {"type": "contains", "value": "**"},
            "contains: ** (nothing of its value is left when texts are compared)",
            id="nothing-left",
        ),
        pytest.param(
            {"type": "not-contains-all", "value": ["a b", "c d"]},
            "not-contains-all: a b, c d (some of them may stand in the answer, only not all)",
            id="not-all",
        ),
        pytest.param(
            {"type": "regex", "value": "(?=a)b"},
            "regex: (?=a)b (the regex cannot be used: look-around, including look-ahead and look-behind, "
            "is not supported)",
            id="look-around",
        ),
        pytest.param(
            {"type": "equals", "value": {"a": 1}}, "equals: {a} (it compares structured output)", id="structured"
        ),
        pytest.param(
            {"type": "equals", "value": "a" * 2001},
            f"equals: {'a' * 100}… (2001 characters) (a text of more than 2000 characters is no keyword)",
            id="a-long-text",
        ),
        pytest.param({"type": "latency"}, "latency (no limit of time)", id="no-limit"),
        pytest.param({"type": "not-cost", "threshold": 1}, "not-cost: 1 (no limit of cost)", id="no-upper-limit"),
        pytest.param(
            {"type": "contains", "value": "pool", "weight": 0},
            "contains: pool (its weight is 0: it cannot fail)",
            id="weight-0",
        ),
        pytest.param(
            {"type": "contains", "value": "pool", "transform": "output.x"},
            "contains: pool (it is about a transformed output)",
            id="a-transformed-output",
        ),
        pytest.param(
            {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "pool"}]},
            "assert-set: 0.5 (a share of its assertions is enough)",
            id="a-share-of-a-set",
        ),
        pytest.param(
            {"type": "assert-set", "assert": [{"type": "assert-set", "assert": [{"type": "is-json"}]}]},
            "assert-set: {type} (a set within a set)",
            id="a-set-in-a-set",
        ),
        pytest.param(
            {"type": "trajectory:tool-used", "value": {"name": "ping", "min": 2}},
            "trajectory:tool-used: {name, min} (it counts calls or matches names by pattern)",
            id="a-count-of-calls",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_listed(drafted: Import, assertion: dict[str, Any], told: str) -> None:
    found = drafted("promptfoo", "promptfooconfig.yaml", config(assertion))

    assert left(found) == [told]
    assert cases_of(found.data)["promptfooconfig-1"]["rootCauseKeywords"] == []


@pytest.mark.parametrize(
    "test, told",
    [
        pytest.param({"threshold": 0.5}, "threshold: 0.5 (a score; every check must hold here)", id="threshold"),
        pytest.param({"options": {"transform": "x"}}, "options: {transform} (a case has no such key)", id="options"),
        pytest.param({"options": {}}, None, id="nothing-in-it"),
    ],
)
def test_what_else_a_test_says_is_listed(drafted: Import, test: dict[str, Any], told: str | None) -> None:
    found = drafted("promptfoo", "promptfooconfig.yaml", config({"type": "contains", "value": "pool"}, **test))

    assert left(found) == ([] if told is None else [told])


@pytest.mark.parametrize(
    "document, question",
    [
        pytest.param([{"vars": {"question": "Why?", "x": "y"}, "assert": []}], "Why?", id="a-likely-variable"),
        pytest.param([{"vars": {"riddle": "What?"}, "assert": []}], "What?", id="the-only-variable"),
        pytest.param(
            {"prompts": ["file://p.txt"], "tests": [{"vars": {"input": "Why?"}}]}, "Why?", id="a-prompt-in-a-file"
        ),
        pytest.param(
            {"prompts": ["a {{input}}", "b {{input}}"], "tests": [{"vars": {"input": "Why?"}}]},
            "Why?",
            id="several-prompts",
        ),
        pytest.param(
            {"prompts": ["{{input}}!"], "tests": [{"vars": {"input": "{{ why }}"}}]}, "{{ why }}!", id="no-template"
        ),
        pytest.param(
            {"prompts": ["Is {{a}} {{b}}?"], "defaultTest": {"vars": {"b": "up"}}, "tests": [{"vars": {"a": "db"}}]},
            "Is db up?",
            id="a-variable-of-all-tests",
        ),
    ],
)
def test_where_the_question_is_from(drafted: Import, document: Any, question: str) -> None:
    found = drafted("promptfoo", "tests.json", json.dumps(document))

    assert cases_of(found.data)["tests-1"]["question"] == question
    assert found.left_out == ()


def test_a_question_that_is_not_there_is_told(drafted: Import) -> None:
    found = drafted("promptfoo", "tests.yaml", "- {vars: {a: x, b: y}, assert: []}\n")

    assert left(found) == ["the question (the prompt is not in the file)"]
    assert "# the prompt is not in the file: write what is asked, from a, b\n" in found.data.decode()


def test_assertions_of_all_tests_hold_for_each(drafted: Import) -> None:
    document = {
        "defaultTest": {"assert": [{"type": "not-contains", "value": "sorry"}]},
        "tests": [{"description": "A pool", "vars": {"q": "Why?"}, "assert": [{"type": "contains", "value": "pool"}]}],
    }
    (case,) = cases_of(drafted("promptfoo", "promptfooconfig.json", json.dumps(document)).data).values()

    assert (case["rootCauseKeywords"], case["forbiddenAnswerKeywords"]) == (["pool"], ["sorry"])


def test_tests_in_other_files_are_told(drafted: Import) -> None:
    found = drafted("promptfoo", "promptfooconfig.yaml", "tests: [file://a.yaml, {vars: {q: Why?}}]\nscenarios: [{}]\n")

    assert list(found.left_out) == [
        "promptfooconfig.yaml:1: scenarios (write their tests out)",
        "promptfooconfig.yaml:1: tests: file://a.yaml (name that file too, to make cases of it)",
    ]


def row(test: int, **more: Any) -> dict[str, Any]:
    case = {"vars": {"q": "Why?"}, "assert": [{"type": "contains", "value": f"pool-{test}"}]}
    return {"testIdx": test, "prompt": {"raw": "Why then?"}, "success": False, "testCase": case, **more}


def test_exported_results_give_each_test_once(drafted: Import) -> None:
    export = {"evalId": "e", "results": {"version": 3, "results": [row(0), row(0, promptIdx=1), row(1)]}}
    cases = cases_of(drafted("promptfoo", "export.json", json.dumps(export)).data)

    assert {name: case["rootCauseKeywords"] for name, case in cases.items()} == {
        "export-1": ["pool-0"],
        "export-2": ["pool-1"],
    }
    assert cases["export-1"]["question"] == "Why then?"


def test_a_prompt_of_messages_gives_what_the_user_said_last(drafted: Import) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Why?"}]
    export = {"results": {"results": [row(0, prompt={"raw": json.dumps(messages)})]}}

    assert cases_of(drafted("promptfoo", "e.json", json.dumps(export)).data)["e-1"]["question"] == "Why?"


def test_results_without_their_tests_give_what_was_graded(drafted: Import) -> None:
    graded = {"componentResults": [{"pass": True, "assertion": {"type": "contains", "value": "pool"}}]}
    export = {"results": {"results": [row(0, testCase=None, vars={"q": "Why?"}, gradingResult=graded)]}}
    export["results"]["results"][0].pop("testCase")

    assert cases_of(drafted("promptfoo", "e.json", json.dumps(export)).data)["e-1"]["rootCauseKeywords"] == ["pool"]


def test_a_table_of_tests(drafted: Import) -> None:
    table = (
        "question,__expected,__expected2,__expected3,__description,__threshold\n"
        'Why?,contains: pool,"icontains-any: a b, c d",latency(3000):,The pool,0.5\n'
        '"Two\nlines?",An echo.,grade: be kind,fn: output.x,,\n'
        ",,,,,\n"
    )
    found = drafted("promptfoo", "tests.csv", table)
    cases = cases_of(found.data)

    assert cases["The-pool"] == {
        "question": "Why?",
        "rootCauseKeywords": ["pool", ["a b", "c d"]],
        "requiredEvidenceTools": [],
        "requireVerdict": False,
        "maxDurationMs": 3000,
    }
    assert cases["tests-2"]["question"] == "Two\nlines?"
    assert cases["tests-2"]["rootCauseKeywords"] == [{"regex": r"^an echo\.$"}]
    assert left(found) == [
        "threshold: 0.5 (a score; every check must hold here)",
        "llm-rubric: be kind (a model judges it)",
        "javascript: output.x (it runs code)",
    ]


@pytest.mark.parametrize(
    "name, content, message",
    [
        pytest.param("a.yaml", "prompts: [x]\n", "There are no tests of promptfoo here", id="no-tests"),
        pytest.param("a.csv", "a,b\n1,2\n", "This is no table of promptfoo's tests; give it a column", id="a-table"),
        pytest.param("a.csv", 'a,__expected\n"x', "This is no table of promptfoo's tests; correct", id="open-quote"),
        pytest.param("a.json", "{", "This is not JSON", id="broken"),
    ],
)
def test_what_is_refused(drafted: Import, name: str, content: str, message: str) -> None:
    (fault,) = drafted("promptfoo", name, content).faults

    assert fault.message.startswith(message)


def test_the_real_file(shared_traces: Path) -> None:
    found = import_cases([str(shared_traces / "promptfoo")], origins().get("promptfoo"), "riddles")
    (case,) = cases_of(found.data).values()

    assert (case["rootCauseKeywords"], case["maxCostUsd"], case["maxDurationMs"]) == (["echo"], 0.002, 3000)
    assert left(found) == ["llm-rubric: Do not apologize (a model judges it)"]
