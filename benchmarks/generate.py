"""Synthetic traces and their case file, realistic in shape and size, the same for the same seed.

`python -m benchmarks.generate OUT --traces 100000` writes `OUT/cases.json` and `OUT/traces.jsonl` (or, with
`--files`, one `.json` file per trace). Every trace is of one of the cases, in turn. A share of them fails: a required
tool not called, a flipped verdict, a wrong cause, a leak of protocol, a Gatekeeper conflict.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

TOOLS: Final = (
    "queryMetrics",
    "searchLogs",
    "queryMysqlStatus",
    "redisInfo",
    "queryTraces",
    "queryDeployments",
    "describePod",
    "queryK8sEvents",
    "searchKnowledgeBase",
    "queryKafkaLag",
)
SERVICES: Final = ("checkout-api", "payment-service", "inventory-service", "member-service", "search-gateway")
CAUSES: Final = (
    ("connection pool", "exhausted", "数据库连接池", "耗尽"),
    ("missing index", "full table scan", "缺少索引", "全表扫描"),
    ("memory limit", "OOM killed", "内存上限", "容器被杀"),
    ("consumer lag", "rebalance", "消费延迟", "再均衡"),
    ("certificate", "expired", "证书", "过期"),
)
ENGLISH: Final = (
    "p99 latency of {service} rose from 120 ms to {n} ms at {time} UTC",
    "{n} requests waited for more than 3 s, the error rate stands at {m}%",
    "pod {service}-7d9f8c4b-{m} restarted {m} times since {time}",
    "thread dump: {n} threads BLOCKED on HikariPool-1, total={m}, active={m}, idle=0",
    "WARN {time} c.e.{service}.Retry attempt {m} of 5 failed after {n} ms",
)
CHINESE: Final = (
    "{service} 的 P99 延迟在 {time} 从 120 毫秒升到 {n} 毫秒",
    "有 {n} 个请求等待超过 3 秒，错误率为 {m}%",
    "日志显示重试第 {m} 次失败，耗时 {n} 毫秒",
)
FAILURES: Final = ("tool", "verdict", "cause", "leak", "gatekeeper")


def case_file(cases: int) -> dict[str, Any]:
    """A case file of so many cases, all checks in use."""
    return {
        "schemaVersion": 1,
        "suite": "synthetic",
        "cases": [_case(number) for number in range(cases)],
    }


def _case(number: int) -> dict[str, Any]:
    cause = CAUSES[number % len(CAUSES)]
    return {
        "id": f"case-{number:04}",
        "question": f"Why is {SERVICES[number % len(SERVICES)]} slow (incident {number})?",
        "rootCauseKeywords": [[cause[0], cause[2]], [cause[1], cause[3]], {"word": "P99"}],
        "minKeywordCoverage": 0.66,
        "requiredEvidenceTools": [TOOLS[number % 10], [TOOLS[(number + 1) % 10], TOOLS[(number + 2) % 10]]],
        "allowedVerdicts": ["PASS"],
        "forbiddenAnswerKeywords": ["restart everything", "重启所有服务"],
        "forbiddenConfirmedClaims": ["the network is down", {"regex": r"disk (is )?full"}],
        "audit": {
            "required": True,
            "claimChecks": True,
            "composer": True,
            "claimBindings": True,
            "maxUnsupportedClaims": 1,
            "noUnsupportedClaimText": True,
        },
        "forbiddenTools": ["restartService"],
        "toolArguments": [{"tool": TOOLS[number % 10], "arguments": {"service": SERVICES[number % len(SERVICES)]}}],
        "maxToolCalls": 40,
        "maxDurationMs": 600_000,
        "maxTotalTokens": 200_000,
        "passPolicy": {"minPassRate": 0.5},
    }


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What traces look like.

    Attributes:
        cases: how many cases they belong to.
        seed: the same seed gives the same traces.
        calls: tool calls per trace, two or more.
        chinese: share of traces in Chinese.
        failing: share of traces with a planted failure.
        failures: which failures are planted, each as often as the others.
        result_characters: length of a call's result, at least.
    """

    cases: int = 50
    seed: int = 7
    calls: int = 12
    chinese: float = 0.3
    failing: float = 0.1
    failures: tuple[str, ...] = FAILURES
    result_characters: int = 150


USUAL: Final = Shape()


def traces(count: int, shape: Shape = USUAL) -> Iterator[dict[str, Any]]:
    """So many traces, one after the other; fewer are the beginning of more."""
    random_ = random.Random(shape.seed)  # noqa: S311 - no secret
    for number in range(count):
        yield _trace(random_, number, shape)


def _text(random_: random.Random, sentences: tuple[str, ...], characters: int) -> str:
    parts: list[str] = []
    length = 0
    while length < characters:
        part = random_.choice(sentences).format(
            service=random_.choice(SERVICES),
            n=random_.randint(100, 9999),
            m=random_.randint(2, 60),
            time=f"{random_.randint(0, 23):02}:{random_.randint(0, 59):02}",
        )
        parts.append(part)
        length += len(part) + 1
    return "\n".join(parts)


def _trace(random_: random.Random, number: int, shape: Shape) -> dict[str, Any]:
    case, calls = number % shape.cases, shape.calls
    in_chinese = random_.random() < shape.chinese
    sentences = CHINESE if in_chinese else ENGLISH
    failure = random_.choice(shape.failures) if random_.random() < shape.failing else ""
    service = SERVICES[case % len(SERVICES)]
    cause = CAUSES[(case + (failure == "cause")) % len(CAUSES)]
    names = [TOOLS[case % 10], TOOLS[(case + 1) % 10], *(random_.choice(TOOLS) for _ in range(calls - 2))]
    if failure == "tool":
        names = [name if name != TOOLS[case % 10] else TOOLS[(case + 3) % 10] for name in names]
    conclusion = (
        f"根因：{service} 的{cause[2]}已{cause[3]}，P99 因此升高。"
        if in_chinese
        else f"Root cause: the **{cause[0]}** of `{service}` is {cause[1]}, so P99 rose."
    )
    answer = conclusion + "\n\n" + _text(random_, sentences, 400)
    if failure == "leak":
        answer += '\n{"answer_version": "executor_evidence_v2"}'
    verdict = "REVISE" if failure == "verdict" else "PASS"
    bound = [{"toolName": name} for name in dict.fromkeys(names[:3])]
    return {
        "traceId": f"tr-{number:08}",
        "caseId": f"case-{case:04}",
        "question": f"Why is {service} slow (incident {case})?",
        "finalAnswer": answer,
        "status": "COMPLETED",
        "durationMs": float(random_.randint(4_000, 90_000)),
        "model": "synthetic-1",
        "usage": {"inputTokens": random_.randint(4_000, 20_000), "outputTokens": random_.randint(300, 2_000)},
        "executorOutput": {
            "answer_version": "executor_evidence_v2",
            "answer": conclusion,
            "claims": [
                {"claim_id": "c1", "text": conclusion, "evidence_bindings": bound},
                {"claim_id": "c2", "text": f"A second cause in {service} was looked for.", "evidence_bindings": bound},
            ],
        },
        "toolInvocations": [
            {
                "toolName": name,
                "arguments": {"service": service, "window": "15m", "limit": random_.randint(10, 100)},
                "success": True,
                "durationMs": random_.randint(20, 900),
                "resultSummary": _text(random_, sentences, shape.result_characters),
            }
            for name in names
        ],
        "selfEvaluation": {
            "verifier_evaluation": {
                "verdict": verdict,
                "score": round(random_.random(), 3),
                "gatekeeper_result": {"status": "fail" if failure == "gatekeeper" else "pass", "violations": []},
                "claim_checks": [
                    {"claim_id": "c1", "verification": "supported", "detail": _text(random_, sentences, 80)},
                    {"claim_id": "c2", "verification": "unsupported", "detail": _text(random_, sentences, 80)},
                ],
                "composer_output": {"mode": "parsed"},
            },
        },
    }


def write(out: Path, count: int, *, files: bool = False, **looks: Any) -> None:
    """Write a case file and traces into a folder.

    Args:
        out: the folder.
        count: how many traces.
        files: one file per trace instead of one line each.
        **looks: what they look like, the attributes of `Shape`; the same give the same bytes.
    """
    shape = Shape(**looks)
    out.mkdir(parents=True, exist_ok=True)
    # JSON is YAML too, and quicker to write and to read.
    cases = json.dumps(case_file(shape.cases), ensure_ascii=False, indent=1)
    (out / "cases.json").write_text(cases, encoding="utf-8")
    if files:
        folder = out / "traces"
        folder.mkdir(exist_ok=True)
        for trace in traces(count, shape):
            (folder / f"{trace['traceId']}.json").write_text(json.dumps(trace, ensure_ascii=False), encoding="utf-8")
        return
    with (out / "traces.jsonl").open("w", encoding="utf-8") as lines:
        for trace in traces(count, shape):
            lines.write(json.dumps(trace, ensure_ascii=False, separators=(",", ":")) + "\n")


def main() -> None:
    """The command line of this module."""
    parser = argparse.ArgumentParser(description="Write synthetic traces and their case file.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--files", action="store_true", help="one .json file per trace")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    write(given.out, given.traces, files=given.files, cases=given.cases, seed=given.seed)


if __name__ == "__main__":
    main()
