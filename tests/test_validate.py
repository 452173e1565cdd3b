"""`validate`: a suite and its fixtures are checked without judging anything (R12, R13)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import CaseFileError, UsageError
from pipeline.run import Options
from pipeline.validate import Validation, validate

Json = Any
Validate = Callable[..., Validation]
CASE: Json = {"question": "Why?", "rootCauseKeywords": [], "requiredEvidenceTools": ["t"], "allowedVerdicts": ["PASS"]}


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Validate:
    def run(cases: list[Json], files: dict[str, str], suite: Json | None = None) -> Validation:
        """Validates one case a line, from line 2 on, against these files."""
        monkeypatch.chdir(tmp_path)
        head = json.dumps({"schemaVersion": 1, "suite": "s", **(suite or {})})[:-1]
        lines = ",\n".join(json.dumps({**CASE, **case}) for case in cases)
        Path("cases.json").write_text(f'{head}, "cases": [\n{lines}]}}')
        Path("traces").mkdir(exist_ok=True)
        for name, content in files.items():
            (Path("traces") / name).write_text(content)
        return validate(Options(cases=("cases.json",), traces=("traces",)))

    return run


def told(found: Validation) -> list[tuple[str, int | None, str, str]]:
    return [(fault.file, fault.line, fault.path, fault.found) for fault in found.faults]


def test_a_suite_in_order(check: Validate) -> None:
    found = check([{"id": "a", "traceFixture": "x.json"}, {"id": "b"}], {"x.json": "{}", "b.json": "{}"})
    assert found == Validation(cases=2, traces=2, faults=(), warnings=())


@pytest.mark.parametrize(
    "case, files, fault, advice",
    [
        pytest.param(
            {"id": "a", "traceFixture": "x.json"},
            {},
            ("cases.json", 2, "$.cases[0].traceFixture", "no such file in the traces given"),
            "The case a has no trace; save a trace as x.json, or correct the name.",
            id="no such fixture",
        ),
        pytest.param(
            {"id": "a", "traceFixture": "x.jsonl"},
            {"x.jsonl": "\n"},
            ("cases.json", 2, "$.cases[0].traceFixture", "a file without a trace"),
            "The case a has no trace; save a trace to x.jsonl.",
            id="an empty fixture",
        ),
        pytest.param(
            {"id": "a"},
            {},
            ("cases.json", 2, "$.cases[0]", "no trace of this case"),
            "The case a has no trace; name its traceFixture, or give a trace the caseId a.",
            id="no fixture named",
        ),
        pytest.param(
            {"id": "a", "traceFixture": "x.json"},
            {"x.json": '{"finalAnswer": 7}'},
            ("x.json", None, "$.finalAnswer", "number 7"),
            "text is due here, not number 7: correct what writes it",
            id="a fixture that cannot be read",
        ),
        pytest.param(
            {"id": "a", "traceFixture": "x.json"},
            {"x.json": '{"caseId": "b"}'},
            ("x.json", None, "$.caseId", "b"),
            "the case a names this fixture, but the trace says it is of case b: correct caseId or traceFixture",
            id="a fixture of another case",
        ),
    ],
)
def test_faults(
    check: Validate, case: Json, files: dict[str, str], fault: tuple[str, int | None, str, str], advice: str
) -> None:
    found = check([case], files)
    assert (told(found), [one.message for one in found.faults]) == ([fault], [advice])


def test_every_fault_is_told(check: Validate) -> None:
    cases = [{"id": "a"}, {"id": "b", "traceFixture": "b.json"}, {"id": "c"}]
    found = check(cases, {"b.json": "{", "x.jsonl": "7\n{}\n8\n"})
    # The broken lines first, in the order of reading; then what is missing, in the order of the cases.
    assert [(fault.file, fault.line) for fault in found.faults] == [
        *(("b.json", None), ("x.jsonl", 1), ("x.jsonl", 3)),
        *(("cases.json", 2), ("cases.json", 4)),
    ]
    assert found.traces == 1


def test_a_fixture_of_two_cases_is_told_once(check: Validate) -> None:
    found = check([{"id": "a", "traceFixture": "x.json"}, {"id": "b", "traceFixture": "x.json"}], {"x.json": "{"})
    assert [fault.file for fault in found.faults] == ["x.json"]


@pytest.mark.parametrize(
    "case, files, warning",
    [
        pytest.param(
            {"rootCauseKeywords": ["OOM"]},
            {"a.json": "{}"},
            ("cases.json", 2, "$.cases[0].rootCauseKeywords"),
            id="a keyword that stands in other words",
        ),
        pytest.param(
            {}, {"a.json": '{"durationMs": -1}'}, ("a.json", None, "$.durationMs"), id="an odd trace",
        ),
        pytest.param({}, {"a.json": "{}", "x.json": "{}"}, ("x.json", None, "$"), id="a trace of no case"),
    ],
)  # fmt: skip
def test_warnings(check: Validate, case: Json, files: dict[str, str], warning: tuple[str, int | None, str]) -> None:
    found = check([{"id": "a", **case}], files)
    assert found.faults == ()
    assert [(one.file, one.line, one.path) for one in found.warnings] == [warning]
    assert all(one.message for one in found.warnings)


def test_nothing_is_judged(check: Validate) -> None:
    assert check([{"id": "a", "allowedVerdicts": ["PASS"]}], {"a.json": '{"finalAnswer": null}'}).faults == ()


def test_a_broken_case_file_is_refused(check: Validate) -> None:
    with pytest.raises(CaseFileError) as refused:
        check([{"id": "a", "unknown": 1}, {"id": "a"}], {})
    assert len(refused.value.faults) == 2


def test_a_missing_path_is_refused(check: Validate) -> None:
    check([{"id": "a"}], {})
    with pytest.raises(UsageError, match="no such file or folder: nowhere"):
        validate(Options(cases=("cases.json",), traces=("nowhere",)))
