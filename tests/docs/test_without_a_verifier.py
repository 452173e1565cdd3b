"""What docs/eval/without-a-verifier.md says of each check is what the checks do."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import pipeline
from pipeline.judge import all_checks

PAGE = (Path(__file__).parents[2] / "docs/eval/without-a-verifier.md").read_text("utf-8")
ROWS = dict(re.findall(r"(?m)^\| (`[^|]*`) \| ([^|]*) \|$", PAGE))
SAID: Final = {check: said for checks, said in ROWS.items() for check in re.findall(r"`([^`]+)`", checks)}
(EXAMPLE,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)
ANSWER = "The connection pool is exhausted."


def failed(tmp_path: Path, trace: dict[str, Any], **expectations: Any) -> list[str]:
    suite = yaml.safe_load(EXAMPLE)
    suite["cases"][0].update(expectations)
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(suite), "utf-8")
    (tmp_path / "pool-exhausted.json").write_text(json.dumps(trace), "utf-8")
    (entry,) = pipeline.evaluate(tmp_path / "cases.yaml", tmp_path / "pool-exhausted.json").report.cases
    return [one.check for one in entry.failed_checks]


def conversation(**more: Any) -> dict[str, Any]:
    return {"finalAnswer": ANSWER, "toolInvocations": [{"toolName": "kubectl_logs"}], **more}


def test_every_check_is_on_the_page() -> None:
    assert sorted(SAID) == sorted(check.name for check in all_checks())


def test_the_example_passes_without_verdict(tmp_path: Path) -> None:
    assert failed(tmp_path, conversation()) == []


@pytest.mark.parametrize(
    "check, expectations",
    [
        ("root-cause-keywords", {"rootCauseKeywords": ["disk"]}),
        ("forbidden-answer-keywords", {"forbiddenAnswerKeywords": ["pool"]}),
        ("forbidden-confirmed-claims", {"forbiddenConfirmedClaims": ["pool"]}),
        ("evidence-coverage", {"requiredEvidenceTools": ["searchLogs"]}),
        ("forbidden-tools", {"forbiddenTools": ["kubectl_logs"]}),
        ("tool-order", {"toolOrder": ["kubectl_logs", "kubectl_logs"]}),
        ("tool-arguments", {"toolArguments": [{"tool": "kubectl_logs", "arguments": {"pod": "a"}}]}),
        ("tool-call-budget", {"maxToolCalls": 0}),
    ],
)
def test_what_looks_at_answer_and_calls_is_judged(tmp_path: Path, check: str, expectations: dict[str, Any]) -> None:
    assert SAID[check].startswith("judged")
    assert failed(tmp_path, conversation(), **expectations) == [check]


@pytest.mark.parametrize(
    "check, expectations",
    [
        ("duration-budget", {"maxDurationMs": 1e9}),
        ("token-budget", {"maxTotalTokens": 10**9}),
        ("cost-budget", {"maxCostUsd": 1e9}),
    ],
)
def test_a_figure_that_is_not_recorded_fails(tmp_path: Path, check: str, expectations: dict[str, Any]) -> None:
    assert "a figure that the format does not record fails" in SAID[check]
    assert failed(tmp_path, conversation(), **expectations) == [check]


@pytest.mark.parametrize(
    "check, audit",
    [
        ("audit-fields-present", {"required": True}),
        ("claim-checks-auditable", {"claimChecks": True}),
        ("composer-auditable", {"composer": True}),
        ("claim-bindings", {"claimBindings": True}),
        ("unsupported-claims", {"maxUnsupportedClaims": 0}),
        ("unsupported-claim-text", {"noUnsupportedClaimText": True}),
    ],
)
def test_an_audit_check_that_is_asked_for_fails(tmp_path: Path, check: str, audit: dict[str, Any]) -> None:
    assert SAID[check].startswith("skipped, unless the case asks")
    assert failed(tmp_path, conversation(), audit=audit) == [check]


def test_a_verdict_that_is_there_is_judged(tmp_path: Path) -> None:
    trace = conversation(selfEvaluation={"verifier_evaluation": {"verdict": "REVISE"}})

    assert failed(tmp_path, trace, allowedVerdicts=["PASS"]) == ["verdict-allowed"]
    assert failed(tmp_path, trace, forbiddenVerdicts=["REVISE"]) == ["verdict-allowed"]


def test_without_the_key_a_verdict_is_missed(tmp_path: Path) -> None:
    assert failed(tmp_path, conversation(), requireVerdict=True, allowedVerdicts=["PASS"]) == ["verdict-present"]
