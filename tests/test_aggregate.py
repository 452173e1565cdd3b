"""Case results and figures over a run: contract section 5."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.aggregate import (
    ExactAverages,
    case_results,
    exact_averages,
    nearest_rank,
    ratio,
    summarise,
)
from tests.snapshot.made import Row, frame, judged, not_run, unreadable


def lazy(*rows: Row) -> pl.LazyFrame:
    return frame(rows).lazy()


def result(*rows: Row) -> dict[str, Any]:
    (found,) = case_results(lazy(*rows)).to_dicts()
    return found


def trials(passes: Sequence[bool], policy: object = "all", known: Sequence[str] = ()) -> list[Row]:
    return [
        judged("a", trial=number, failed=[] if passed else ["token-budget"], policy=policy, known=known)
        for number, passed in enumerate(passes, 1)
    ]


YES, NO = True, False
POLICIES = {
    "all, and all pass": ("all", [YES, YES], "passed"),
    "all, and one fails": ("all", [YES, NO], "failed"),
    "any, and one passes": ("any", [NO, YES], "passed"),
    "any, and none passes": ("any", [NO, NO], "failed"),
    "a share, exactly": ({"minPassRate": 0.7}, [YES] * 7 + [NO] * 3, "passed"),
    "a share, just missed": ({"minPassRate": 0.7}, [YES] * 6 + [NO] * 3, "failed"),
    "a third, exactly": ({"minPassRate": 1 / 3}, [YES, NO, NO], "passed"),
    "a share of none": ({"minPassRate": 0.0}, [NO], "passed"),
    "a share of all": ({"minPassRate": 1.0}, [YES, YES], "passed"),
}


@pytest.mark.parametrize("policy, passes, status", POLICIES.values(), ids=POLICIES)
def test_a_pass_policy(policy: object, passes: list[bool], status: str) -> None:
    found = result(*trials(passes, policy))

    assert (status, len(passes), passes.count(True)) == (found["status"], found["trials"], found["passed_trials"])


def test_one_unreadable_trace_makes_the_case_an_error_whatever_the_policy() -> None:
    for policy in ("all", "any", {"minPassRate": 0.0}):
        found = result(
            *trials([YES], policy), {**unreadable("a", trial=2), "definition": trials([YES], policy)[0]["definition"]}
        )
        assert (found["status"], found["trials"], found["passed_trials"]) == ("error", 2, 1)
        assert found["error_reason"] == "$.finalAnswer: text was expected"


def test_a_case_without_a_trace_was_not_run() -> None:
    assert result(not_run("a")) == {
        "case_id": "a",
        "status": "not_run",
        "known_failure": False,
        "known_reason": None,
        "trials": 0,
        "passed_trials": 0,
        "shown_trial": None,
        "error_reason": None,
    }


SHOWN = {
    "the first that failed": (trials([YES, NO, NO]), 2),
    "the first where all passed": (trials([YES, YES]), 1),
    "one in error before one that failed": ([*trials([YES]), unreadable("a", trial=2), *trials([YES, YES, NO])[2:]], 2),
}


@pytest.mark.parametrize("rows, trial", SHOWN.values(), ids=SHOWN)
def test_the_trial_that_is_shown(rows: list[Row], trial: int) -> None:
    assert trial == result(*rows)["shown_trial"]


KNOWN = {
    "all that failed is known": ([["token-budget"]], ["token-budget"], True),
    "more is known than failed": ([["token-budget"]], ["cost-budget", "token-budget"], True),
    "one failed check is not known": ([["token-budget", "cost-budget"]], ["token-budget"], False),
    "another trial fails for another reason": ([["token-budget"], ["cost-budget"]], ["token-budget"], False),
    "nothing is known": ([["token-budget"]], [], False),
    "nothing failed": ([[]], ["token-budget"], False),
}


@pytest.mark.parametrize("failed, known, expected", KNOWN.values(), ids=KNOWN)
def test_a_known_failure(failed: list[list[str]], known: list[str], expected: bool) -> None:
    rows = [judged("a", trial=number, failed=checks, known=known) for number, checks in enumerate(failed, 1)]

    assert expected == result(*rows)["known_failure"]


def test_the_reason_of_a_known_failure_is_told_of_a_known_failure_only() -> None:
    known = ["token-budget"]

    assert result(judged("a", failed=known, known=known))["known_reason"] == "it is hard"
    assert result(judged("a", known=known))["known_reason"] is None
    assert result(judged("a", failed=["cost-budget"], known=known))["known_reason"] is None


some_traces = st.lists(st.sampled_from([("passed", ()), ("failed", ("b",)), ("failed", ("b", "c")), ("error", ())]))


def plainly(case: str, policy: Any, known: Sequence[str], traces: Sequence[tuple[str, Sequence[str]]]) -> Row:
    """The result of one case by the words of the contract."""
    statuses = [status for status, _ in traces]
    passed, failed = statuses.count("passed"), {check for _, checks in traces for check in checks}
    enough = {"all": passed == len(traces), "any": passed > 0}
    status = (
        "not_run"
        if not traces
        else "error"
        if "error" in statuses
        else "passed"
        if (enough[policy] if isinstance(policy, str) else passed / len(traces) >= policy["minPassRate"])
        else "failed"
    )
    is_known = status == "failed" and bool(known) and failed <= set(known)
    bad = [trial for trial, one in enumerate(statuses, 1) if one != "passed"]
    return {
        "case_id": case,
        "status": status,
        "known_failure": is_known,
        "known_reason": "it is hard" if is_known else None,
        "trials": len(traces),
        "passed_trials": passed,
        "shown_trial": bad[0] if bad else 1 if traces else None,
        "error_reason": f"trial {statuses.index('error') + 1}" if "error" in statuses else None,
    }


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_every_case_has_the_result_that_a_plain_reading_gives_it(data: st.DataObject) -> None:
    rows: list[Row] = []
    expected = []
    for case in ("a", "b", "c"):
        policy: Any = data.draw(st.sampled_from(["all", "any", {"minPassRate": 0.0}, {"minPassRate": 0.5}]))
        known = data.draw(st.sampled_from([[], ["b"], ["b", "c"]]))
        traces = data.draw(some_traces)
        expected.append(plainly(case, policy, known, traces))
        definition = {key: judged(case, policy=policy, known=known)[key] for key in ("definition", "definition_digest")}
        rows += [
            unreadable(case, trial=trial, reason=f"trial {trial}") | definition
            if status == "error"
            else judged(case, trial=trial, failed=checks, policy=policy, known=known)
            for trial, (status, checks) in enumerate(traces, 1)
        ]
        if not traces:
            rows.append(not_run(case) | definition)
    made = frame(rows)

    assert case_results(made[data.draw(st.permutations(range(made.height)))].lazy()).to_dicts() == expected


# Figures


def test_the_figures_of_a_run() -> None:
    rows = lazy(
        {
            **judged("a", calls=3, ms=10.0),
            "gatekeeper_status": "pass",
            "composer_status": "parsed",
            "claim_checks": [{"claim_id": "c", "verification": word, "detail": "d"} for word in ("supported", None)],
        },
        judged("b", calls=4, ms=20.5, verdict=None, failed=["cost-budget", "token-budget"]),
        judged("c", calls=None, ms=None, failed=["token-budget"], known=["token-budget"]),
        unreadable("d"),
        not_run("e"),
    )
    found = summarise(rows, case_results(rows), unmatched_traces=7, unreadable_records=8, input_warnings=9)

    assert (
        found.total_cases,
        found.passed,
        found.failed,
        found.not_run,
        found.errors,
        found.known_failures,
        found.pass_rate,
    ) == (5, 1, 2, 1, 1, 1, 0.2)
    assert (found.traces, found.unmatched_traces, found.unreadable_records, found.input_warnings) == (3, 7, 8, 9)
    assert found.verdict_distribution == {"(none)": 1, "PASS": 2}
    assert found.gatekeeper_distribution == {"(none)": 2, "pass": 1}
    assert found.composer_distribution == {"(none)": 2, "parsed": 1}
    assert found.claim_verification_distribution == {"(none)": 1, "supported": 1}
    assert found.check_failures == {"cost-budget": 1, "token-budget": 2}
    assert (found.average_tool_calls, found.traces_with_tool_calls) == (3.5, 2)
    assert (
        found.average_duration_ms,
        found.duration_ms_p50,
        found.duration_ms_p95,
        found.traces_with_duration,
    ) == (15.25, 10.0, 20.5, 2)


def test_a_run_without_rows_has_no_figures() -> None:
    found = summarise(lazy(), case_results(lazy()))

    assert (
        found.total_cases,
        found.traces,
        found.pass_rate,
        found.average_tool_calls,
        found.average_duration_ms,
    ) == (0, 0, None, None, None)
    assert ExactAverages(tool_calls=None, duration_ms=None) == exact_averages(lazy())


def test_averages_are_over_the_traces_that_say() -> None:
    rows = lazy(
        judged("a", calls=1, ms=0.1), judged("b", calls=2, ms=None), judged("c", calls=None, ms=0.2), not_run("d")
    )

    assert ExactAverages(tool_calls=Fraction(3, 2), duration_ms=Fraction(15, 100)) == exact_averages(rows)


def test_durations_beyond_what_floats_can_sum_up() -> None:
    rows = lazy(judged("a", ms=1.7e308), judged("b", ms=1.7e308))
    found = summarise(rows, case_results(rows))

    assert (found.average_duration_ms, found.duration_ms_p95) == (1.7e308, 1.7e308)
    assert exact_averages(rows).duration_ms == Fraction(1.7e308)


PERCENTILES = {
    "one value": ([7.0], 50, 7.0),
    "the lower of two": ([1.0, 2.0], 50, 1.0),
    "exactly on a rank": ([float(number) for number in range(1, 21)], 95, 19.0),
    "between two ranks": ([float(number) for number in range(1, 22)], 95, 20.0),
    "none": ([], 95, None),
}


@pytest.mark.parametrize("values, percent, expected", PERCENTILES.values(), ids=PERCENTILES)
def test_a_percentile_by_nearest_rank(values: list[float], percent: int, expected: float | None) -> None:
    assert expected == nearest_rank(values, percent)


def test_a_ratio_is_rounded_to_6_decimals_and_that_of_nothing_is_none() -> None:
    assert (ratio(2, 3), ratio(0, 0)) == (0.666667, None)


some_rows = st.lists(
    st.tuples(
        st.none() | st.floats(0, 1e12), st.none() | st.integers(0, 1000), st.none() | st.sampled_from(["A", "B"])
    ),
    min_size=1,
    max_size=12,
)


@given(st.data(), some_rows)
@settings(deadline=None, max_examples=30)
def test_the_order_of_the_rows_does_not_matter(
    data: st.DataObject, values: list[tuple[float | None, int | None, str | None]]
) -> None:
    rows = frame(
        judged(f"case-{number}", ms=ms, calls=calls, verdict=verdict)
        for number, (ms, calls, verdict) in enumerate(values)
    )
    order = data.draw(st.permutations(range(rows.height)))
    shuffled = rows[order]

    assert case_results(rows.lazy()).equals(case_results(shuffled.lazy()))
    assert summarise(rows.lazy(), case_results(rows.lazy())) == summarise(
        shuffled.lazy(), case_results(shuffled.lazy())
    )
    assert exact_averages(rows.lazy()) == exact_averages(shuffled.lazy())
