"""Test cases of HolmesGPT."""

from pathlib import Path
from typing import Any

import pytest

from tests.drafts.conftest import Import, cases_of, comments_of

CASE = """\
user_prompt: "What is wrong with job checker in app-12?"
tags: [hard, logs]
expected_output:
  - The `checker` job fails to connect to the database at `prod-db:3333`
  - The answer must not suggest a restart
  - It explains the chain of causes
before_test: |
  kubectl apply -f job.yaml
evaluation: {correctness: 1}
"""


def test_a_case_with_what_it_can_say_and_what_not(drafted: Import) -> None:
    found = drafted("holmesgpt", "12_job/test_case.yaml", CASE)

    assert cases_of(found.data) == {
        "12_job": {
            "question": "What is wrong with job checker in app-12?",
            "tags": ["hard", "logs"],
            "rootCauseKeywords": ["prod-db:3333"],
            "requiredEvidenceTools": [],
            "requireVerdict": False,
        }
    }
    assert found.left_out == (
        (
            "12_job/test_case.yaml:5: case 12_job: expected_output: The answer must not suggest a restart "
            "(it says what the answer must not do; choose forbiddenAnswerKeywords yourself)"
        ),
        (
            "12_job/test_case.yaml:6: case 12_job: expected_output: It explains the chain of causes "
            "(no phrase, name or figure to draw from it)"
        ),
        "12_job/test_case.yaml:7: case 12_job: before_test (it sets up the test)",
    )


def test_what_is_left_out_stands_beside_the_case(drafted: Import) -> None:
    found = drafted("holmesgpt", "12_job/test_case.yaml", CASE)
    told = [line for line in comments_of(found.data) if line.startswith("not carried over: ")]

    assert [line.removeprefix("not carried over: ") for line in told] == [
        left.partition("case 12_job: ")[2] for left in found.left_out
    ]


def test_each_phrasing_is_a_case(drafted: Import) -> None:
    found = drafted("holmesgpt", "7_dns/test_case.yaml", "user_prompt: [Why?, How come?]\nexpected_output: CoreDNS\n")

    assert {name: case["question"] for name, case in cases_of(found.data).items()} == {
        "7_dns-1": "Why?",
        "7_dns-2": "How come?",
    }


def test_a_number_where_text_is_due_is_taken_as_written(drafted: Import) -> None:
    # To YAML, 11:34 is 694.
    found = drafted("holmesgpt", "a/test_case.yaml", "user_prompt: What time is it?\nexpected_output: [11:34]\n")

    assert cases_of(found.data)["a"]["rootCauseKeywords"] == ["11:34"]


@pytest.mark.parametrize(
    "evaluation",
    ["{correctness: 0}", "{correctness: {expected_score: 0}}", "{correctness: {expected_score: 0, type: strict}}"],
)
def test_a_test_that_is_expected_to_fail_is_a_known_failure(drafted: Import, evaluation: str) -> None:
    text = f"user_prompt: Why?\nexpected_output: [default-deny-egress]\nevaluation: {evaluation}\n"
    case = cases_of(drafted("holmesgpt", "a/test_case.yaml", text).data)["a"]

    assert case["knownFailure"]["checks"] == ["root-cause-keywords"]


@pytest.mark.parametrize(
    "lines, left",
    [
        pytest.param(
            "expected_output: it is slow and nobody knows why\nevaluation: {correctness: 0}\n",
            ["expected_output", "evaluation.correctness: 0 (there is no keyword"],
            id="nothing-could-fail",
        ),
        pytest.param(
            "expected_output: prod-db\nevaluation: {correctness: {expected_score: 1, type: loose}}\n",
            ["evaluation.correctness.type: loose (a model"],
            id="loose",
        ),
        pytest.param(
            "expected_output: prod-db\nevaluation: {correctness: 0.5}\n", ["evaluation.correctness: 0.5"], id="a-share"
        ),
        pytest.param(
            "expected_output: prod-db\nevaluation: {faithfulness: 1}\n", ["evaluation.faithfulness: 1"], id="another"
        ),
        pytest.param(
            "expected_output: prod-db\nexpected_sections: {Next Steps: False, Logs: [x]}\n",
            ["expected_sections: Next Steps: False", "expected_sections: Logs: x"],
            id="sections",
        ),
        pytest.param("expected_output: prod-db\nskip: true\n", ["skip: true (a case has no such key)"], id="skip"),
        pytest.param("expected_output: [{a: 1}]\n", ["expected_output: {a} (it is no text)"], id="no-text"),
        pytest.param("expected_output: the why is that it asks why\n", ["expected_output: the why"], id="no-keyword"),
    ],
)
def test_what_cannot_be_said_is_listed(drafted: Import, lines: str, left: list[str]) -> None:
    found = drafted("holmesgpt", "a/test_case.yaml", f"user_prompt: Why?\n{lines}")

    told = [one.partition("case a: ")[2] for one in found.left_out]
    assert len(told) == len(left)
    assert [one for one, start in zip(told, left, strict=True) if not one.startswith(start)] == []


def test_a_test_without_a_question_says_so(drafted: Import) -> None:
    found = drafted("holmesgpt", "01_oom/test_case.yaml", "expected_output: [Pod is OOM killed]\n")

    assert cases_of(found.data)["01_oom"]["question"] == "01_oom"
    assert "the test has no user_prompt: write what the agent is asked" in comments_of(found.data)
    assert "the question (the test has no user_prompt" in found.left_out[0]


def test_candidates_that_are_too_many_are_counted(drafted: Import) -> None:
    lines = "".join(f"  - host-{number}.example.org\n" for number in range(25))
    found = drafted("holmesgpt", "a/test_case.yaml", f"user_prompt: Why?\nexpected_output:\n{lines}")

    assert len(cases_of(found.data)["a"]["rootCauseKeywords"]) == 20
    assert [one.rpartition(" (")[2] for one in found.left_out] == ["there are 20 candidates already)"] * 5


@pytest.mark.parametrize(
    "content, message",
    [
        pytest.param("a: 1\n", "This is no test case of HolmesGPT", id="another-object"),
        pytest.param("[]\n", "This is no test case of HolmesGPT", id="a-list"),
        pytest.param("user_prompt: a\nuser_prompt: b\n", "The key is given twice", id="a-key-twice"),
        pytest.param("user_prompt: [a\n", "This is not YAML", id="broken"),
        pytest.param("", "The file is empty", id="empty"),
    ],
)
def test_what_is_refused(drafted: Import, content: str, message: str) -> None:
    found = drafted("holmesgpt", "a/test_case.yaml", content)

    assert (found.cases, found.data) == (0, b"")
    assert [fault.message.startswith(message) for fault in found.faults] == [True]


def test_the_real_files(shared_traces: Path) -> None:
    from pipeline.drafts.base import origins
    from pipeline.drafts.imports import import_cases

    found = import_cases([str(shared_traces / "holmesgpt")], origins().get("holmesgpt"), "holmesgpt")
    cases = cases_of(found.data)
    keywords: dict[str, list[Any]] = {name: case["rootCauseKeywords"] for name, case in cases.items()}

    assert (found.cases, found.files, found.faults) == (17, 17, ())
    assert keywords["test_ask_holmes__12_job_crashing"] == ["prod-db:3333"]
    assert keywords["test_ask_holmes__43_current_datetime_from_prompt"] == ["June 23rd 2025", "11:34 UTC"]
    assert keywords["test_ask_holmes__42_dns_issues_steps_new_tools"] == ["default-deny-egress"]
    assert keywords["test_investigate__01_oom_kill"] == ["analytics-exporter-fast", "CrashLoopBackOff", {"word": "OOM"}]
    assert sorted(name for name, case in cases.items() if "knownFailure" in case) == [
        "test_ask_holmes__42_dns_issues_steps_new_all_tools",
        "test_ask_holmes__42_dns_issues_steps_new_tools",
        "test_investigate__08_memory_pressure",
    ]
