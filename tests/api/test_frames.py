"""The frames of a small run, exactly; and the promises that hold for every run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipeline as de
from pipeline import frames, schemas
from pipeline.errors import SnapshotError
from pipeline.schemas import Schema
from tests.snapshot.made import judged, unreadable
from tests.snapshot.made import not_run as case_not_run
from tests.snapshot.made import snapshot as made

ROOT = Path(__file__).parents[2]
BASELINE = str(ROOT / "data/baseline/snapshot.parquet")
OF_A_RUN: dict[str, tuple[Callable[[de.Snapshot], pl.DataFrame], type[Schema]]] = {
    "cases": (frames.cases, frames.CaseResults),
    "traces": (frames.traces, frames.TraceResults),
    "tool_calls": (frames.tool_calls, frames.ToolCalls),
    "claim_checks": (frames.claim_checks, frames.VerifierChecks),
    "executor_claims": (frames.executor_claims, frames.ExecutorClaimRows),
    "checks": (frames.checks, frames.CheckOutcomes),
    "evidence": (frames.evidence, frames.EvidenceEntryResults),
    "keywords": (frames.keywords, frames.KeywordResults),
    "summary": (frames.summary, frames.SummaryFigures),
    "distributions": (frames.distributions, frames.Distributions),
    "tags": (frames.tags, frames.TagResults),
    "tool_usage": (frames.tool_usage, frames.ToolUsage),
    "claims_by_tool": (frames.claims_by_tool, frames.ClaimsByTool),
    "verdict_outcomes": (frames.verdict_outcomes, frames.VerdictOutcomes),
    "verifier_misses": (frames.verifier_misses, frames.VerifierMisses),
    "unmatched": (frames.unmatched, frames.UnmatchedTraces),
    "input_errors": (frames.input_errors, schemas.Errors),
    "input_warnings": (frames.input_warnings, schemas.Warnings),
}
UNREADABLE = "$.finalAnswer: text is due here, not number 7: correct what writes it"
NO_SEARCH = "required tool searchLogs was neither called nor summarised; called: redisInfo (1)"
NO_EVICTION = "the answer names 1 of 2 root-cause keywords, under the minimum coverage of 1; missing: eviction"

Rows = list[tuple[Any, ...]]


def test_cases(snapshot: de.Snapshot) -> None:
    frame = frames.cases(snapshot)

    assert frame.select("case_id", "status", "known_failure", "trials", "passed_trials", "tags").rows() == [
        ("broken", "error", False, 1, 0, ["v2"]),
        ("leak", "failed", False, 1, 0, ["db"]),
        ("missing", "not_run", False, 0, 0, []),
        ("pool", "passed", False, 1, 1, ["db", "v2"]),
        ("trials", "failed", True, 2, 1, []),
    ]
    # With two trials, the one that did not pass is shown.
    assert frame.select("case_id", "shown_trial", "trace_id", "file", "line", "duration_ms").rows() == [
        ("broken", 1, None, "broken.json", None, None),
        ("leak", 1, "t-leak", "leak.json", None, None),
        ("missing", None, None, None, None, None),
        ("pool", 1, "t-pool", "pool.json", None, 4000.0),
        ("trials", 2, "t-2", "more.jsonl", 2, 20.0),
    ]
    assert frame.select("case_id", "failed_checks", "evidence_ratio", "keyword_ratio").rows() == [
        ("broken", [], None, None),
        ("leak", ["root-cause-keywords", "evidence-coverage"], 0.5, 0.5),
        ("missing", [], None, None),
        ("pool", [], 1.0, 1.0),
        ("trials", ["duration-budget"], None, None),
    ]
    reasons = dict(frame.select("case_id", "reason").drop_nulls().iter_rows())
    assert reasons == {
        "broken": UNREADABLE,
        "missing": "no trace is of this case: it names no traceFixture, no trace has caseId missing, "
        "and no file is named missing.json; one of the three is needed",
    }
    assert dict(frame.select("case_id", "known_reason").drop_nulls().iter_rows()) == {"trials": "the sandbox is slow"}


def test_traces(snapshot: de.Snapshot) -> None:
    frame = frames.traces(snapshot)

    assert frame.select("case_id", "trial", "trace_id", "status", "verdict", "score", "failed_checks").rows() == [
        ("broken", 1, None, "error", None, None, []),
        ("leak", 1, "t-leak", "failed", "PASS", 0.8, ["root-cause-keywords", "evidence-coverage"]),
        ("pool", 1, "t-pool", "passed", "PASS", 0.9, []),
        ("trials", 1, "t-1", "passed", "PASS", None, []),
        ("trials", 2, "t-2", "failed", "PASS", None, ["duration-budget"]),
    ]
    (pool,) = frame.filter(pl.col("case_id") == "pool").iter_rows(named=True)
    assert pool == {
        "case_id": "pool",
        "trial": 1,
        "trace_id": "t-pool",
        "file": "pool.json",
        "line": None,
        "status": "passed",
        "reason": None,
        "failed_checks": [],
        "verdict": "PASS",
        "score": 0.9,
        "evidence_ratio": 1.0,
        "keyword_ratio": 1.0,
        "tool_call_count": 3,
        "duration_ms": 4000.0,
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "cost_usd": 0.25,
        "gatekeeper_status": "pass",
        "gatekeeper_violations": "[]",
        "composer_status": "parsed",
        "claim_check_count": 3,
        "model": "m-1",
        "run_status": None,
        "tags": ["db", "v2"],
        "question": "Why is checkout slow?",
        "answer": "The pool is exhausted.",
        "executor_answer": "maybe the pool",
        "summary_tools": None,
    }


TABLES: dict[str, Rows] = {
    "tool_calls": [
        ("leak", 1, 1, "redisInfo", None, None, None, True, False, None, None),
        ("pool", 1, 1, "searchLogs", '{"q":"pool"}', True, "10", True, False, None, 7.0),
        ("pool", 1, 2, "queryTraces", "{}", True, None, False, True, "timeout", None),
        ("pool", 1, 3, None, "not json", False, None, None, False, None, None),
    ],
    # Of two claims with one id the first is meant; a check of no claim stays.
    "claim_checks": [
        ("pool", 1, 1, "c1", "supported", "in the log", "pool full", ["searchLogs", "searchLogs", "queryTraces"]),
        ("pool", 1, 2, "c2", "unsupported", "no source", "no evidence", []),
        ("pool", 1, 3, "c9", "supported", "of no claim", None, None),
    ],
    "executor_claims": [
        ("pool", 1, 1, "c1", "pool full", ["searchLogs", "searchLogs", "queryTraces"]),
        ("pool", 1, 2, "c1", "the same id again", ["listRunbooks"]),
        ("pool", 1, 3, "c2", "no evidence", []),
    ],
    "evidence": [
        ("leak", 1, 1, "redisInfo", True),
        ("leak", 1, 2, "searchLogs", False),
        ("pool", 1, 1, "searchLogs", True),
        ("pool", 1, 2, "queryMetrics | queryTraces", True),
    ],
    "keywords": [
        ("leak", 1, 1, "memory", True),
        ("leak", 1, 2, "eviction", False),
        ("pool", 1, 1, "exhausted", True),
        ("pool", 1, 2, "pool | 池", True),
    ],
    "summary": [
        ("small", 5, 1, 2, 1, 1, 1, 0.2, 4, 1, 1, 1, 2.0, 2, 1343.333333, 20.0, 4000.0, 3),
    ],
    "distributions": [
        ("verdict", "PASS", 4),
        ("gatekeeper", "(none)", 3),
        ("gatekeeper", "pass", 1),
        ("composer", "(none)", 3),
        ("composer", "parsed", 1),
        ("claim-verification", "supported", 2),
        ("claim-verification", "unsupported", 1),
        ("check-failure", "duration-budget", 1),
        ("check-failure", "evidence-coverage", 1),
        ("check-failure", "root-cause-keywords", 1),
    ],
    # A case without tags does not vanish.
    "tags": [("db", 2, 1, 0, 0.5), ("v2", 2, 1, 0, 0.5), (None, 2, 0, 1, 0.0)],
    "tool_usage": [("queryTraces", 1, 1, 1), ("redisInfo", 1, 0, 1), ("searchLogs", 1, 0, 1), (None, 1, 0, 1)],
    # A tool that a claim binds twice counts once; a claim without tools does not vanish.
    "claims_by_tool": [
        ("queryTraces", "supported", 1),
        ("searchLogs", "supported", 1),
        (None, "supported", 1),
        (None, "unsupported", 1),
    ],
    "verdict_outcomes": [("PASS", "passed", 2), ("PASS", "failed", 2)],
    "verifier_misses": [
        ("leak", 1, "evidence-coverage", "t-leak", "PASS", 0.8, NO_SEARCH),
        ("leak", 1, "root-cause-keywords", "t-leak", "PASS", 0.8, NO_EVICTION),
        ("trials", 2, "duration-budget", "t-2", "PASS", None, "the run took 20 ms, over the limit of 10"),
    ],
    "unmatched": [("stray.json", None, "t-stray", "nobody")],
    "input_errors": [("broken.json", None, "$.finalAnswer", "text", "number 7", UNREADABLE.partition(": ")[2])],
}


@pytest.mark.parametrize("name", TABLES)
def test_rows(name: str, snapshot: de.Snapshot) -> None:
    assert OF_A_RUN[name][0](snapshot).rows() == TABLES[name]


def test_input_warnings(snapshot: de.Snapshot) -> None:
    assert frames.input_warnings(snapshot).select("file", "line", "path", "kind").rows() == [
        ("stray.json", None, "$.finalAnswer", "lone-surrogate")
    ]


def test_checks_have_one_row_per_trace_and_check(snapshot: de.Snapshot) -> None:
    frame = frames.checks(snapshot)
    names = sorted(de.all_checks().names)

    assert frame.select("case_id", "trial", "check").rows() == [
        (case, trial, name)
        for case, trial in (("leak", 1), ("pool", 1), ("trials", 1), ("trials", 2))
        for name in names
    ]
    assert frame.filter(pl.col("outcome") == "fail").drop("outcome").rows() == [
        ("leak", 1, "evidence-coverage", NO_SEARCH, "searchLogs", "called: redisInfo (1)"),
        (
            "leak",
            1,
            "root-cause-keywords",
            NO_EVICTION,
            "a coverage of at least 1",
            "1 of 2 found; missing: eviction",
        ),
        ("trials", 2, "duration-budget", "the run took 20 ms, over the limit of 10", "at most 10 ms", "20 ms"),
    ]
    asked = frame.filter((pl.col("case_id") == "pool") & (pl.col("outcome") == "pass"))["check"].to_list()
    assert asked == [
        "answer-present",
        "evidence-coverage",
        "gatekeeper-verdict-conflict",
        "root-cause-keywords",
        "tool-call-budget",
        "verdict-allowed",
        "verdict-present",
    ]


def test_another_verdict_may_be_the_one_that_lets_through(snapshot: de.Snapshot) -> None:
    assert frames.verifier_misses(snapshot, passing="ACCEPT").rows() == []


def test_a_run_without_text_has_the_same_rows(snapshot: de.Snapshot, without_text: de.Snapshot) -> None:
    kept = {
        "tool_calls": ["case_id", "trial", "position", "tool", "failed", "duration_ms"],
        "claim_checks": ["case_id", "trial", "position", "claim_id", "verification", "claim_tools"],
        "executor_claims": ["case_id", "trial", "position", "claim_id", "tools"],
        "traces": ["case_id", "trial", "status", "verdict", "failed_checks"],
    }
    for name, columns in kept.items():
        function, _ = OF_A_RUN[name]
        assert function(without_text).select(columns).rows() == function(snapshot).select(columns).rows()
    assert frames.traces(without_text)["answer"].to_list() == [None] * 5
    assert frames.claim_checks(without_text)["claim_text"].to_list() == [None] * 3


ALL_KINDS = (
    judged("b", trial=2, failed=["answer-present"], verdict=None, calls=None, ms=None),
    judged("b", trial=1),
    unreadable("c"),
    case_not_run("a"),
)


@pytest.mark.parametrize("name", OF_A_RUN)
@pytest.mark.parametrize(
    "run",
    [
        pytest.param(made(), id="no case"),
        pytest.param(made(case_not_run("a")), id="no trace"),
        pytest.param(made(unreadable("a")), id="no readable trace"),
        pytest.param(made(*ALL_KINDS), id="a case of every kind"),
    ],
)
def test_every_frame_has_its_documented_columns(name: str, run: de.Snapshot) -> None:
    function, schema = OF_A_RUN[name]
    assert dict(function(run).schema) == schemas.dtypes_of(schema)


def test_every_public_function_of_a_run_is_listed_here() -> None:
    public = {
        name
        for name, one in vars(frames).items()
        if callable(one) and getattr(one, "__module__", "") == frames.__name__
    }
    functions = {name for name in public if name[0].islower()}
    assert functions == {*OF_A_RUN, "diff_items", "diff_figures"}


def test_every_schema_says_which_function_gives_it() -> None:
    wrong = [
        f"{schema.__name__}: {schema.__doc__}"
        for name, (_, schema) in OF_A_RUN.items()
        if schema.__module__ == frames.__name__ and not (schema.__doc__ or "").startswith(f"`frames.{name}`: ")
    ]
    assert wrong == []


def test_diff_items() -> None:
    before = made(judged("a", covered=["t"], calls=4), judged("b"), source="before")
    now = made(judged("a", failed=["evidence-coverage"], missing=["t"], calls=5), judged("b"), source="now")

    assert frames.diff_items(de.diff(before, now)).rows() == [
        (
            "regression",
            "case-status",
            "a",
            None,
            None,
            "passed",
            "failed",
            None,
            "the case a passed before and failed now",
        ),
        (
            "regression",
            "check",
            "a",
            None,
            "evidence-coverage",
            "holds",
            "fails",
            None,
            "evidence-coverage of a in trial 1",
        ),
        (
            "regression",
            "evidence-coverage",
            "a",
            "t",
            None,
            "covered",
            "uncovered",
            None,
            "the required tool t is no longer covered in case a: look at its tool calls",
        ),
        (
            "regression",
            "pass-rate",
            None,
            None,
            None,
            "1.0",
            "0.5",
            -0.5,
            "the pass rate fell from 2 of 2 to 1 of 2 cases",
        ),
        (
            "change",
            "tool-calls",
            None,
            None,
            None,
            "4.0",
            "4.5",
            0.5,
            "the average of tool calls per trace went from 4 to 4.5",
        ),
    ]


def test_diff_figures() -> None:
    before = made(judged("a", calls=4, ms=None), judged("b", calls=4, ms=None))
    now = made(judged("a", calls=5, failed=["x"]), judged("b", verdict="REJECT"))

    assert frames.diff_figures(de.diff(before, now)).rows() == [
        ("pass-rate", None, 1.0, 0.5, -0.5),
        ("tool-calls", None, 4.0, 4.5, 0.5),
        ("duration", None, None, 100.0, None),
        ("verdict", "PASS", 2.0, 1.0, -1.0),
        ("verdict", "REJECT", 0.0, 1.0, 1.0),
    ]


def test_a_diff_of_a_run_with_itself_has_no_items() -> None:
    run = de.read_snapshot(BASELINE)
    frame = frames.diff_items(de.diff(run, run))

    assert (frame.height, dict(frame.schema)) == (0, schemas.dtypes_of(frames.DiffItems))


def test_damaged_rows_are_named(tmp_path: Path) -> None:
    damaged = tmp_path / "snapshot.parquet"
    data = bytearray(Path(BASELINE).read_bytes())
    data[100:20_000] = bytes(19_900)
    damaged.write_bytes(data)

    with pytest.raises(SnapshotError, match=r"^the rows of \S+snapshot\.parquet are damaged: "):
        frames.traces(de.read_snapshot(str(damaged)))
