"""Every check has a pair of traces that differ in one thing only: with it the check fails, and no other does."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pipeline

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checks"
CHECKS = pipeline.all_checks().names
NAMES = {"case.yaml", "pass.json", "fail.json"}


class Judged(NamedTuple):
    status: str
    failed: list[str]
    skipped: list[str]


@cache
def judged(check: str, name: str) -> Judged:
    """What becomes of one trace of the check's folder under the check's only case."""
    folder = FIXTURES / check
    run = pipeline.evaluate(cases=folder / "case.yaml", traces=folder / name)
    [row] = run.snapshot.rows.collect().to_dicts()
    return Judged(row["status"], [failure["check"] for failure in row["failed_checks"]], row["skipped_checks"])


def differences(one: Any, other: Any, path: str = "$") -> Iterator[str]:
    """The paths at which two JSON values differ; an element that only one list has is one difference."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key in one and key in other:
                yield from differences(one[key], other[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(one, list) and isinstance(other, list):
        short, long = sorted((one, other), key=len)
        added = [n for n in range(len(long)) if [*long[:n], *long[n + 1 :]] == short]
        if added:
            yield f"{path}[{added[-1]}]"
        else:
            yield from (f"{path}[{n}]" for n in range(len(short), len(long)))
            for n, (left, right) in enumerate(zip(short, long, strict=False)):
                yield from differences(left, right, f"{path}[{n}]")
    elif one != other or type(one) is not type(other):
        yield path


@pytest.mark.parametrize(
    "one, other, expected",
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["$.a"]),
        ({"a": 1}, {"a": True}, ["$.a"]),
        ({"a": None}, {}, ["$.a"]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, ["$.a[1]"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["$.a[0]", "$.a[1]"]),
        ({"a": [1, 2, 3]}, {"a": [4]}, ["$.a[1]", "$.a[2]", "$.a[0]"]),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 2, "d": 2}]}, ["$.a[0].b", "$.a[0].c", "$.a[0].d"]),
        ({"a": []}, {"a": {}}, ["$.a"]),
    ],
)
def test_differences_are_counted(one: Any, other: Any, expected: list[str]) -> None:
    assert expected == list(differences(one, other))


def test_the_contract_lists_these_checks() -> None:
    assert {
        *("answer-present", "evidence-coverage", "verdict-present", "verdict-allowed", "root-cause-keywords"),
        *("forbidden-answer-keywords", "degraded-output", "audit-fields-present", "gatekeeper-verdict-conflict"),
        *("claim-checks-auditable", "composer-auditable", "forbidden-confirmed-claims", "raw-protocol-leak"),
        *("claim-bindings", "unsupported-claims", "unsupported-claim-text", "forbidden-tools", "tool-order"),
        *("tool-arguments", "tool-call-budget", "duration-budget", "token-budget", "cost-budget"),
    } == set(CHECKS)


def test_every_folder_is_that_of_a_check() -> None:
    assert sorted(CHECKS) == sorted(folder.name for folder in FIXTURES.iterdir())


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_has_a_case_and_two_traces(check: str) -> None:
    folder = FIXTURES / check
    assert folder.is_dir(), f"add fixtures/checks/{check}/ with {', '.join(sorted(NAMES))}"
    assert {file.name for file in folder.iterdir()} == NAMES


@pytest.mark.parametrize("check", CHECKS)
def test_the_first_trace_passes(check: str) -> None:
    assert judged(check, "pass.json")[:2] == ("passed", [])


# A trace may lack what two checks look for: without an answer it names no cause either, without a verdict it has none
# that is allowed. So each case asks for as little as it can beside the check that it is about.
@pytest.mark.parametrize("check", CHECKS)
def test_the_second_trace_fails_this_check_alone(check: str) -> None:
    assert ("failed", [check]) == judged(check, "fail.json")[:2]


@pytest.mark.parametrize("check", CHECKS)
def test_the_case_asks_for_the_check(check: str) -> None:
    assert check not in judged(check, "pass.json").skipped


@pytest.mark.parametrize("check", CHECKS)
def test_the_traces_differ_in_one_thing(check: str) -> None:
    one, other = (json.loads((FIXTURES / check / name).read_bytes()) for name in ("pass.json", "fail.json"))
    found = list(differences(one, other))
    assert len(found) == 1, found
