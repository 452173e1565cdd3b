"""`junit.xml` as a CI service reads it."""

from collections import Counter
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from junitparser import JUnitXml

import pipeline
from pipeline.report.as_junit import UNREADABLE, render
from pipeline.report.model import View
from tests.report.spoiled import TEXTS, many, spoiled


def read(view: View) -> ET.Element:
    # Our own output, and the parser of the standard library fetches nothing.
    return ET.fromstring(render(view))  # noqa: S314


def results(view: View) -> dict[str, str]:
    """What a dashboard shows of each test: its name, and the element that says how it went."""
    return {
        str(case.get("name")): next((child.tag for child in case if child.tag != "properties"), "passed")
        for case in read(view).iter("testcase")
    }


def of_case(view: View, name: str) -> ET.Element:
    (found,) = [case for case in read(view).iter("testcase") if case.get("name") == name]
    return found


def test_what_a_dashboard_shows(golden_run: pipeline.Run) -> None:
    assert results(golden_run.view) == {
        "broken": "error",
        "enough-trials": "passed",
        "fails": "failure",
        "hostile": "failure",
        "known-failure": "skipped",
        "leaks": "failure",
        "missing": "error",
        "passes": "passed",
        "trials": "failure",
        UNREADABLE: "error",
    }


def test_the_counts_are_those_of_the_tests(golden_run: pipeline.Run) -> None:
    root = read(golden_run.view)
    counts = {"tests": "10", "failures": "4", "errors": "3", "skipped": "1"}
    for element in (root, root[0]):
        assert {name: element.get(name) for name in counts} == counts


def test_a_failure_says_why(golden_run: pipeline.Run) -> None:
    failure = of_case(golden_run.view, "trials").find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "failed: root-cause-keywords", "type": "failed checks"}
    assert (failure.text or "").splitlines() == [
        (
            "root-cause-keywords: the answer names 0 of 1 root-cause keyword, under the minimum coverage of 1; "
            "missing: pool"
        ),
        "2 of 3 trials passed; shown is trial 2",
    ]


def test_a_known_failure_is_skipped_with_its_reason(golden_run: pipeline.Run) -> None:
    skipped = of_case(golden_run.view, "known-failure").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "known failure: the agent asks twice | until issue #7 is done"
    assert skipped.text == "tool-call-budget: the run made 2 tool calls, over the limit of 1"


@pytest.mark.parametrize(
    "name, message, text",
    [
        ("missing", "not run", "its trace fixture missing.json was not found in the traces given"),
        ("broken", "in error", "$.finalAnswer: text is due here, not number 7"),
        (UNREADABLE, "records that could not be read: 1", "other.jsonl:8: the JSON ends before it is complete"),
    ],
)
def test_what_was_not_judged_is_an_error(golden_run: pipeline.Run, name: str, message: str, text: str) -> None:
    error = of_case(golden_run.view, name).find("error")
    assert error is not None
    assert error.get("message") == message
    assert (error.text or "").startswith(text)


def test_what_the_trace_showed(golden_run: pipeline.Run) -> None:
    case = of_case(golden_run.view, "passes")
    assert case.get("time") == "8.421"
    assert {one.get("name"): one.get("value") for one in case.iter("property")} == {
        "verdict": "PASS",
        "evidenceCoverage": "1.0",
        "keywordCoverage": "0.5",
        "keywordsMissing": r"word:OOM; /max_\w+ = 500/",
        "toolCallCount": "2",
        "gatekeeperStatus": "pass",
        "composerStatus": "parsed",
        "claimCheckCount": "2",
        "trials": "1",
        "passedTrials": "1",
        "traceId": "t-passes",
        "traceFile": "passes.json",
    }


def test_a_run_of_known_failures_only_has_no_error(golden_run: pipeline.Run) -> None:
    assert Counter(results(many(golden_run.view, "known-failure", 3)).values()) == {"skipped": 3}


def test_unreadable_records_beyond_the_listed_ones_are_counted(golden_run: pipeline.Run) -> None:
    summary = msgspec.structs.replace(golden_run.report.summary, unreadable_records=1_500)
    report = msgspec.structs.replace(golden_run.report, summary=summary)
    error = of_case(msgspec.structs.replace(golden_run.view, report=report), UNREADABLE).find("error")
    assert error is not None
    assert error.get("message") == "records that could not be read: 1499"
    assert (error.text or "").splitlines()[-1] == "… and 1498 more, see report.json"


@pytest.mark.parametrize("milliseconds", [1e15, 1.7e308])
def test_a_duration_that_parsers_would_not_read_is_left_out(golden_run: pipeline.Run, milliseconds: float) -> None:
    cases = [msgspec.structs.replace(case, duration_ms=milliseconds) for case in golden_run.report.cases]
    report = msgspec.structs.replace(golden_run.report, cases=cases)
    root = read(msgspec.structs.replace(golden_run.view, report=report))
    assert [element.get("time") for element in root.iter("testcase")] == [None] * 10
    assert float(root.get("time", "")) == 0


@settings(max_examples=40)
@given(texts=TEXTS)
def test_no_text_changes_what_a_dashboard_shows(golden_run: pipeline.Run, texts: list[str]) -> None:
    view = spoiled(golden_run.view, texts)
    read_back = JUnitXml.fromstring(render(view))
    assert [(case.name, [type(one).__name__ for one in case.result]) for suite in read_back for case in suite] == [
        (name, [] if tag == "passed" else [tag.capitalize()]) for name, tag in results(golden_run.view).items()
    ]
