"""Stage 5: all checks over one batch, whatever else stands in it and in which order."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import schemas
from pipeline.assign import assign, targets
from pipeline.cases.model import Case
from pipeline.flatten.suite import flatten_suite
from pipeline.flatten.traces import flatten_traces
from pipeline.judge import Judged, all_checks, judge
from pipeline.sources import native
from pipeline.sources.base import Document, ReadTrace

# Judging is many queries, each example some hundred milliseconds.
FEW = settings(max_examples=25, deadline=None)

LEAK = "The primary of orders-db has failed over."
CASES: dict[str, dict[str, Any]] = {
    "lax": {"requireVerdict": False},
    "strict": {
        "rootCauseKeywords": [["connection pool", "连接池"], "exhausted", {"regex": "max_\\w+"}],
        "minKeywordCoverage": 0.6,
        "requiredEvidenceTools": ["a", ["b", "c"]],
        "evidencePolicy": "succeeded",
        "allowedVerdicts": ["PASS"],
        "forbiddenVerdicts": ["REJECT"],
        "forbiddenAnswerKeywords": ["restart"],
        "forbiddenConfirmedClaims": ["failed over"],
        "audit": {
            "required": True,
            "claimChecks": True,
            "minClaimChecks": 1,
            "composer": True,
            "claimBindings": True,
            "maxUnsupportedClaims": 0,
            "noUnsupportedClaimText": True,
        },
        "forbiddenTools": ["c"],
        "toolOrder": ["a", "b"],
        "toolArguments": [{"tool": "a", "arguments": {"n": 1}}, {"tool": "b", "mode": "exact", "arguments": {"n": 1}}],
        "maxToolCalls": 3,
        "maxDurationMs": 1000,
        "maxTotalTokens": 100,
        "maxCostUsd": 0.1,
    },
    "degraded": {
        "allowedVerdicts": ["REJECT"],
        "degradedOutput": {"forbidden": ["root cause"]},
        "requiredEvidenceTools": ["b"],
    },
}


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


ANSWERS = st.sampled_from(
    [
        "The connection pool is exhausted: max_connections is 500.",
        f"连接池 已 **exhausted**。 {LEAK}",
        f"Unable to confirm the root cause. {LEAK}",
        "Insufficient evidence. Restart it. claim\\_id c1",
        " ",
    ],
)
TOOLS = st.sampled_from(["a", "b", "c", "sk-1"])
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "toolName": TOOLS,
        "arguments": st.sampled_from([{"n": 1}, {"n": 1.0, "m": "sk-2"}, {}, [], "n=1", '{"n":1}', None]),
        "success": maybe(st.booleans()),
        "error": st.sampled_from([None, "", "timeout", 0]),
    },
)
CLAIM_IDS = st.sampled_from(["c1", "c2", "sk-3"])
EVALUATIONS = st.fixed_dictionaries(
    {},
    optional={
        "verdict": st.sampled_from(["PASS", "REVISE", "REJECT", None]),
        "trace_summary": st.lists(TOOLS, max_size=2) | st.just({}),
        "gatekeeper_result": st.sampled_from([{"status": "pass"}, {"status": "FAIL"}, {}]),
        "claim_checks": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "claim_id": CLAIM_IDS,
                    "verification": st.sampled_from(["supported", "contradicted", "sk-4"]),
                    "detail": st.just("why"),
                },
            ),
            max_size=3,
        ),
        "composer_output": st.sampled_from([{"mode": "parsed"}, {"parsed": True, "fallback": True}, {}, "fallback"]),
    },
)
EXECUTORS = st.sampled_from([None, LEAK]) | st.fixed_dictionaries(
    {},
    optional={
        "answer": st.just(LEAK),
        "claims": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "claim_id": CLAIM_IDS,
                    "text": st.sampled_from([LEAK, "All is well with orders-db."]),
                    "evidence_bindings": st.lists(maybe(TOOLS), max_size=2),
                },
            ),
            max_size=2,
        ),
    },
)
TRACES = st.fixed_dictionaries(
    {"caseId": st.sampled_from(list(CASES))},
    optional={
        "finalAnswer": ANSWERS,
        "toolInvocations": st.lists(maybe(CALLS), max_size=4),
        "executorOutput": EXECUTORS,
        "selfEvaluation": st.fixed_dictionaries({"verifier_evaluation": EVALUATIONS}),
        "durationMs": st.sampled_from([-1, 0, 1000, 1000.5]),
        "usage": st.sampled_from([{"totalTokens": 100}, {"inputTokens": 60, "outputTokens": 41}, {"costUsd": 0.2}]),
    },
)


def judged(traces: Sequence[dict[str, Any]], *, redact: Sequence[str] = (), with_text: bool = True) -> Judged:
    """Judge traces, given as JSON, by the cases of this module."""
    cases = [msgspec.convert({"id": name, "question": "Why?", **fields}, Case) for name, fields in CASES.items()]
    documents = [
        Document(data=json.dumps(trace).encode(), file="traces.jsonl", line=number, root=0)
        for number, trace in enumerate(traces, start=1)
    ]
    read = [one for one in native.read(documents) if isinstance(one, ReadTrace)]
    assert len(read) == len(traces)
    suite = flatten_suite(cases)
    frames = flatten_traces(read)
    return judge(assign(frames, targets(cases, cases)), frames, suite, redact=redact, with_text=with_text)


def results_by_trace(batch: Judged) -> dict[str, list[tuple[object, ...]]]:
    """For each trace id, what every check said."""
    rows = batch.rows.select("row", "trace_id")
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, *result in rows.join(batch.results, on="row", maintain_order="left_right").drop("row").iter_rows():
        found.setdefault(name, []).append(tuple(result))
    return found


@FEW
@given(st.lists(TRACES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_trace_is_judged_the_same_in_any_company_and_order(
    traces: list[dict[str, Any]], chance: random.Random
) -> None:
    traces = [{**trace, "traceId": f"t{number}"} for number, trace in enumerate(traces)]
    others = chance.sample(traces, chance.randint(1, len(traces)))
    whole = results_by_trace(judged(traces))
    assert {name: whole[name] for name in (trace["traceId"] for trace in others)} == results_by_trace(judged(others))


@FEW
@given(st.lists(TRACES, min_size=1, max_size=4))
def test_redaction_changes_no_outcome_and_shows_no_secret(traces: list[dict[str, Any]]) -> None:
    plain, hidden = judged(traces).results, judged(traces, redact=["sk-[0-9]", "PASS|REJECT", "claim_[a-z]+"]).results
    assert plain.select("row", "check", "outcome").equals(hidden.select("row", "check", "outcome"))
    sentences = hidden.select(pl.concat_str("expected", "observed", "message", ignore_nulls=True).alias("text"))
    assert sentences.filter(pl.col("text").str.contains("sk-[0-9]")).is_empty()


@FEW
@given(st.lists(TRACES, max_size=4))
def test_every_pair_has_one_result_per_check_and_sentences_where_it_failed(traces: list[dict[str, Any]]) -> None:
    results = judged(traces).results
    expected = [(row, check) for row in range(len(traces)) for check in all_checks().names]
    assert expected == results.select("row", "check").rows()
    for sentence in ("expected", "observed", "message"):
        said = pl.col(sentence).is_not_null() & (pl.col(sentence) != "")
        assert results.filter(said != (pl.col("outcome") == "fail").fill_null(value=False)).is_empty(), sentence


def test_a_large_batch_is_judged_like_a_small_one() -> None:
    # As many calls and rows as the streaming engine cuts into several pieces.
    calls = [{"toolName": "a", "arguments": {"n": 1}}, {"toolName": "b", "arguments": {"n": 1}}] * 20
    right = {"caseId": "strict", "toolInvocations": calls}
    wrong = {"caseId": "strict", "toolInvocations": [calls[1]] * 39 + [calls[0]]}
    batch = judged([{**(wrong if number % 3 else right), "traceId": str(number)} for number in range(3000)])
    order = batch.results.filter(pl.col("check") == "tool-order").sort("row")["outcome"].cast(pl.String).to_list()
    assert order == ["fail" if number % 3 else "pass" for number in range(3000)]
    found = batch.results.filter(pl.col("check") == "tool-arguments").sort("row")["outcome"].cast(pl.String).to_list()
    assert found == ["pass"] * 3000


def test_without_text_no_sentence_quotes_an_answer_or_an_argument() -> None:
    trace = {
        "caseId": "strict",
        "finalAnswer": f"It is so. {LEAK}",
        "executorOutput": {"answer": LEAK, "claims": [{"claim_id": "c1", "text": LEAK}]},
        "toolInvocations": [{"toolName": "a", "arguments": {"n": "secret"}}],
        "selfEvaluation": {
            "verifier_evaluation": {
                "verdict": "REJECT",
                "claim_checks": [{"claim_id": "c1", "verification": "contradicted", "detail": "why"}],
            },
        },
    }
    said, kept = judged([trace]).results, judged([trace], with_text=False).results
    assert said.select("row", "check", "outcome").equals(kept.select("row", "check", "outcome"))
    shown = {name: f"{row['observed']} {row['message']}" for row in kept.rows(named=True) if (name := row["check"])}
    for check in ("degraded-output", "unsupported-claim-text", "tool-arguments"):
        assert LEAK not in shown[check]
        assert "secret" not in shown[check]
        assert "(text left out)" in shown[check]


def test_nothing_to_judge_gives_no_results() -> None:
    batch = judged([])
    assert schemas.empty(schemas.Results).equals(batch.results)
    assert batch.results.schema == schemas.empty(schemas.Results).schema


def test_nothing_failed_leaves_all_sentences_out() -> None:
    [results] = results_by_trace(judged([{"caseId": "lax", "traceId": "t", "finalAnswer": "x"}])).values()
    passed = {"answer-present", "gatekeeper-verdict-conflict"}
    expected = [(name, "pass" if name in passed else "skip", None, None, None) for name in all_checks().names]
    assert expected == results


def test_traces_of_no_case_are_not_judged() -> None:
    assert judged([{"caseId": "unheard-of"}]).results.is_empty()


def test_a_check_module_imported_first_changes_neither_number_nor_order_of_checks() -> None:
    script = (
        "import pipeline.checks.verdict, pipeline.checks.answer\n"
        "from pipeline.judge import all_checks\n"
        "print(','.join(all_checks().names))\n"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip().split(",") == list(all_checks().names)
