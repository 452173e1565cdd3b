"""Two runs compared: contract section 7, R17-R23."""

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.aggregate import case_results, summarise
from pipeline.diff import (
    Comparison,
    CountChange,
    Diff,
    DiffItem,
    Kind,
    Severity,
    compare,
    diff,
)
from pipeline.errors import SnapshotError, UsageError
from pipeline.limits import Limit, Limits, parse_limit
from pipeline.report.as_json import render_diff
from pipeline.schema_export import json_schema
from pipeline.snapshot.files import Snapshot, read_snapshot, write_snapshot
from tests.snapshot.made import Row, frame, info, judged, not_run, snapshot, unreadable

# A case that stays as it is, so that the two runs have one in common.
STAYS = judged("stays")

ROOT = Path(__file__).parents[1]


class Wanted(NamedTuple):
    """A diff item but for its message."""

    kind: Kind
    severity: Severity
    case: str | None = None
    tool: str | None = None
    check: str | None = None
    baseline: object = None
    current: object = None
    delta: object = None


def seen(item: DiffItem) -> Wanted:
    return Wanted(
        item.kind, item.severity, item.case_id, item.tool, item.check, item.baseline, item.current, item.delta
    )


def items(found: Diff) -> list[Wanted]:
    return [seen(item) for item in found.items]


def run_of(*rows: Row, **fields: Any) -> Snapshot:
    return snapshot(STAYS, *rows, **fields)


class Change(NamedTuple):
    """What was planted, and every item that it must give."""

    before: Sequence[Row]
    now: Sequence[Row]
    expected: Sequence[Wanted]
    limits: Limits = Limits()


TEN_PERCENT = Limit(percent=Decimal(10))
RATE_FALLS = Wanted("pass-rate", "regression", baseline=1.0, current=0.5, delta=-0.5)
RATE_RISES = Wanted("pass-rate", "improvement", baseline=0.5, current=1.0, delta=0.5)
ONE_PASS_LESS = Wanted("verdict-distribution", "change", baseline=2, current=1, delta=-1)
ONE_PASS_MORE = Wanted("verdict-distribution", "change", baseline=1, current=2, delta=1)

# Contract section 7: every kind with every severity that its table gives it, and nothing else in the diff.
CHANGES = {
    "a case that passed fails a check": Change(
        [judged("a")],
        [judged("a", failed=["answer-present"])],
        [
            Wanted("case-status", "regression", "a", baseline="passed", current="failed"),
            Wanted("check", "regression", "a", check="answer-present", baseline="holds", current="fails"),
            RATE_FALLS,
        ],
    ),
    "a case that failed a check passes": Change(
        [judged("a", failed=["answer-present"])],
        [judged("a")],
        [
            Wanted("case-status", "improvement", "a", baseline="failed", current="passed"),
            Wanted("check", "improvement", "a", check="answer-present", baseline="fails", current="holds"),
            RATE_RISES,
        ],
    ),
    "a case that passed cannot be read": Change(
        [judged("a", covered=["searchLogs"])],
        [unreadable("a", asks="it is defined anew too")],
        [
            Wanted("case-status", "regression", "a", baseline="passed", current="error"),
            RATE_FALLS,
            ONE_PASS_LESS,
        ],
    ),
    "a case that passed was not run": Change(
        [judged("a", covered=["searchLogs"])],
        [not_run("a", asks="it is defined anew too")],
        [
            Wanted("case-status", "regression", "a", baseline="passed", current="not_run"),
            RATE_FALLS,
            ONE_PASS_LESS,
        ],
    ),
    "a case that was not run passes": Change(
        [not_run("a")],
        [judged("a", covered=["searchLogs"])],
        [
            Wanted("case-status", "improvement", "a", baseline="not_run", current="passed"),
            RATE_RISES,
            ONE_PASS_MORE,
        ],
    ),
    "a case in error was not run": Change(
        [unreadable("a")],
        [not_run("a")],
        [Wanted("case-status", "change", "a", baseline="error", current="not_run")],
    ),
    "a case in error fails": Change(
        [unreadable("a")],
        [judged("a", failed=["answer-present"], missing=["searchLogs"])],
        [Wanted("case-status", "change", "a", baseline="error", current="failed"), ONE_PASS_MORE],
    ),
    "a failed case was not run": Change(
        [judged("a", failed=["answer-present"], missing=["searchLogs"])],
        [not_run("a")],
        [Wanted("case-status", "change", "a", baseline="failed", current="not_run"), ONE_PASS_LESS],
    ),
    "a case in error stays in error for another reason": Change([unreadable("a")], [unreadable("a", reason="?")], []),
    "a required tool is no longer used": Change(
        [judged("a", covered=["queryMetrics", "searchLogs"])],
        [judged("a", covered=["queryMetrics"], missing=["searchLogs"], failed=["evidence-coverage"])],
        [
            Wanted("case-status", "regression", "a", baseline="passed", current="failed"),
            Wanted("check", "regression", "a", check="evidence-coverage", baseline="holds", current="fails"),
            Wanted("evidence-coverage", "regression", "a", "searchLogs", baseline="covered", current="uncovered"),
            RATE_FALLS,
        ],
    ),
    "a failed case uses one required tool more": Change(
        [judged("a", missing=["queryMetrics", "searchLogs"], failed=["evidence-coverage"])],
        [judged("a", covered=["searchLogs"], missing=["queryMetrics"], failed=["evidence-coverage"])],
        [Wanted("evidence-coverage", "improvement", "a", "searchLogs", baseline="uncovered", current="covered")],
    ),
    "a tool that is no longer required": Change(
        [judged("a", covered=["queryMetrics", "searchLogs"])],
        [judged("a", covered=["queryMetrics"], asks="one tool less")],
        [Wanted("case-definition", "change", "a")],
    ),
    "a failed case fails another check instead": Change(
        [judged("a", failed=["token-budget"])],
        [judged("a", failed=["cost-budget"])],
        [
            Wanted("check", "regression", "a", check="cost-budget", baseline="holds", current="fails"),
            Wanted("check", "improvement", "a", check="token-budget", baseline="fails", current="holds"),
        ],
    ),
    "a case is missing": Change(
        [judged("a", covered=["searchLogs"], failed=["answer-present"])],
        [],
        [
            Wanted("missing-case", "regression", "a", baseline="failed"),
            RATE_RISES,
            ONE_PASS_LESS,
        ],
    ),
    "a case is new": Change(
        [],
        [judged("a", missing=["searchLogs"], failed=["evidence-coverage"])],
        [
            RATE_FALLS,
            Wanted("new-case", "change", "a", current="failed"),
            ONE_PASS_MORE,
        ],
    ),
    "the definition of a case changed": Change(
        [judged("a")], [judged("a", asks="more")], [Wanted("case-definition", "change", "a")]
    ),
    "other verdicts": Change(
        [judged("a"), judged("b", verdict=None)],
        [judged("a", verdict="REVISE"), judged("b")],
        [
            Wanted("verdict-distribution", "change", baseline=1, current=0, delta=-1),
            Wanted("verdict-distribution", "change", baseline=0, current=1, delta=1),
        ],
    ),
    "more tool calls without a limit": Change(
        [judged("a", calls=4)],
        [judged("a", calls=5)],
        [Wanted("tool-calls", "change", baseline=4.0, current=4.5, delta=0.5)],
    ),
    "fewer tool calls with a limit": Change(
        [judged("a", calls=5)],
        [judged("a", calls=4)],
        [Wanted("tool-calls", "change", baseline=4.5, current=4.0, delta=-0.5)],
        Limits(tool_calls=TEN_PERCENT),
    ),
    "more tool calls than the limit": Change(
        [judged("a", calls=4)],
        [judged("a", calls=5)],
        [Wanted("tool-calls", "regression", baseline=4.0, current=4.5, delta=0.5)],
        Limits(tool_calls=TEN_PERCENT),
    ),
    "tool calls are no longer known": Change(
        [judged("stays", trial=2)],
        [judged("stays", trial=2, calls=None)],
        [],
    ),
    "longer without a limit": Change(
        [judged("a", ms=100.0)],
        [judged("a", ms=100.5)],
        [Wanted("duration", "change", baseline=100.0, current=100.25, delta=0.25)],
    ),
    "longer than the limit": Change(
        [judged("a", ms=100.0)],
        [judged("a", ms=130.0)],
        [Wanted("duration", "regression", baseline=100.0, current=115.0, delta=15.0)],
        Limits(duration=TEN_PERCENT),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_planted_change_gives_its_items_and_no_others(change: Change) -> None:
    found = diff(run_of(*change.before), run_of(*change.now), limits=change.limits)

    assert list(change.expected) == items(found)


def test_every_kind_and_severity_of_the_contract_is_planted_above() -> None:
    table = {
        ("pass-rate", "regression"),
        ("pass-rate", "improvement"),
        ("case-status", "regression"),
        ("case-status", "improvement"),
        ("case-status", "change"),
        ("evidence-coverage", "regression"),
        ("evidence-coverage", "improvement"),
        ("check", "regression"),
        ("check", "improvement"),
        ("missing-case", "regression"),
        ("new-case", "change"),
        ("tool-calls", "regression"),
        ("tool-calls", "change"),
        ("duration", "regression"),
        ("duration", "change"),
        ("verdict-distribution", "change"),
        ("case-definition", "change"),
    }
    assert {kind for kind, _ in table} == set(get_args(Kind))
    assert table == {(one.kind, one.severity) for change in CHANGES.values() for one in change.expected}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_summary_counts_the_items(change: Change) -> None:
    found = diff(run_of(*change.before), run_of(*change.now), limits=change.limits)

    severities = [item.severity for item in found.items]
    kinds = [item.kind for item in found.items]
    assert {
        "regressions": severities.count("regression"),
        "improvements": severities.count("improvement"),
        "changes": severities.count("change"),
        "new_cases": kinds.count("new-case"),
        "missing_cases": kinds.count("missing-case"),
        "definition_changed_cases": kinds.count("case-definition"),
    } == {name: getattr(found.summary, name) for name in found.summary.__struct_fields__[:6]}


def test_the_summary_holds_the_figures_of_both_runs() -> None:
    found = diff(
        run_of(judged("a", verdict="REVISE", calls=7, ms=250.5), judged("b", verdict=None), source="old.parquet"),
        run_of(judged("a", failed=["answer-present"], calls=None, ms=None), judged("b", ms=None), suite="other"),
    )

    assert {key: value for key, value in msgspec.to_builtins(found.summary).items() if isinstance(value, dict)} == {
        "passRate": {"baseline": 1.0, "current": 0.666667, "delta": -0.333333},
        "averageToolCalls": {"baseline": 5.0, "current": 4.0, "delta": -1.0},
        "averageDurationMs": {"baseline": 150.166667, "current": 100.0, "delta": -50.166667},
        "verdictDistribution": {
            "(none)": {"baseline": 1, "current": 0, "delta": -1},
            "PASS": {"baseline": 1, "current": 3, "delta": 2},
            "REVISE": {"baseline": 1, "current": 0, "delta": -1},
        },
    }
    assert msgspec.to_builtins(found.baseline) == {
        "source": "old.parquet",
        "suite": "demo",
        "toolVersion": "1.0.0",
        "casesDigest": "sha256:cases",
        "tracesDigest": "sha256:traces",
    }
    assert found.current.suite == "other"


def test_an_unknown_figure_has_no_delta() -> None:
    found = diff(snapshot(judged("a")), snapshot(judged("a", calls=None, ms=None)))

    assert [
        Wanted("duration", "change", baseline=100.0),
        Wanted("tool-calls", "change", baseline=4.0),
    ] == items(found)
    assert "from 100 to unknown" in found.items[0].message


# Limits


LIMITS = {
    "under a percentage": (["10%"], 4.0, 4.39, False),
    "exactly at a percentage": (["10%"], 4.0, 4.4, False),
    "over a percentage": (["10%"], 4.0, 4.41, True),
    "exactly at a percentage of a periodic average": (["10%"], 10 / 3, 11 / 3, False),
    "exactly at a fractional percentage": (["2.5%"], 40.0, 41.0, False),
    "under a figure": (["0.5"], 4.0, 4.4, False),
    "exactly at a figure": (["0.1"], 0.2, 0.3, False),
    "over a figure": (["0.5"], 4.0, 4.6, True),
    "over the percentage only": (["10%,5"], 4.0, 4.6, True),
    "over the figure only": (["50%", "0.5"], 4.0, 4.6, True),
    "under both": (["50%", "5"], 4.0, 4.6, False),
    "a rise from 0 exceeds every percentage": (["1000%"], 0.0, 0.1, True),
    "a rise from 0 within a figure": (["0.5"], 0.0, 0.5, False),
    "no rise from 0": (["0%"], 0.0, 0.0, False),
    "any rise over 0 percent": (["0%"], 4.0, 4.000001, True),
    "the same at 0 percent": (["0%", "0"], 4.0, 4.0, False),
    "a fall": (["0%", "0"], 4.0, 3.0, False),
}


@pytest.mark.parametrize("given_limit, before, now, over", LIMITS.values(), ids=LIMITS)
def test_a_limit(given_limit: list[str], before: float, now: float, over: bool) -> None:
    limit = parse_limit(given_limit, "--max")

    assert limit is not None
    assert over == limit.exceeded(Fraction(before).limit_denominator(10**7), Fraction(now).limit_denominator(10**7))


AT_THE_LIMIT = {
    "tool calls, an average without end": ([3, 3, 4], [4, 4, 3], ["10%"], False),
    "tool calls, one more": ([3, 3, 4], [4, 4, 4], ["10%"], True),
    "durations in tenths": ([0.1, 0.2], [0.2, 0.4], ["100%"], False),
    "durations that floats cannot add up": ([0.1, 0.1, 0.1], [0.2, 0.2, 0.2], ["0.1"], False),
    "durations a little longer": ([0.1, 0.2], [0.2, 0.400002], ["100%"], True),
}


@pytest.mark.parametrize("before, now, given_limit, over", AT_THE_LIMIT.values(), ids=AT_THE_LIMIT)
def test_averages_exactly_at_the_limit_are_within_it(
    before: list[float], now: list[float], given_limit: list[str], over: bool
) -> None:
    whole = isinstance(before[0], int)

    def run(values: list[float]) -> Snapshot:
        return snapshot(
            *(
                judged("a", trial=index + 1, **({"calls": value} if whole else {"ms": value}))  # type: ignore[arg-type] # by kind
                for index, value in enumerate(values)
            )
        )

    limit = parse_limit(given_limit, "--max")
    found = diff(run(before), run(now), limits=Limits(tool_calls=limit, duration=limit))

    assert [("tool-calls" if whole else "duration", "regression" if over else "change")] == [
        (item.kind, item.severity) for item in found.items
    ]
    assert over == found.items[0].message.endswith(", over the limit")


UNKNOWN = {
    "before": (judged("a", calls=None, ms=None), judged("a")),
    "now": (judged("a"), judged("a", calls=None, ms=None)),
    "both times": (judged("a", calls=None, ms=None), judged("a", calls=None, ms=None)),
}


@pytest.mark.parametrize("before, now", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_is_never_within_a_limit(before: Row, now: Row) -> None:
    limit = Limit(percent=Decimal(1000))
    found = diff(snapshot(before), snapshot(now), limits=Limits(tool_calls=limit, duration=limit))

    assert [(item.kind, item.severity, item.delta) for item in found.items] == [
        ("duration", "regression", None),
        ("tool-calls", "regression", None),
    ]
    assert [item.message.endswith("; the limit cannot be checked") for item in found.items] == [True, True]


GOOD_LIMITS = {
    "none": ([], None),
    "a percentage": (["10%"], Limit(percent=Decimal(10))),
    "a figure": (["2.5"], Limit(absolute=Decimal("2.5"))),
    "both in one": ([" 10 % , 2"], Limit(percent=Decimal(10), absolute=Decimal(2))),
    "both, apart": (["2", "10%"], Limit(percent=Decimal(10), absolute=Decimal(2))),
    "nothing at all": (["0%,0"], Limit(percent=Decimal(0), absolute=Decimal(0))),
}


@pytest.mark.parametrize("values, expected", GOOD_LIMITS.values(), ids=GOOD_LIMITS)
def test_a_limit_is_read(values: list[str], expected: Limit | None) -> None:
    assert expected == parse_limit(values, "--max")


@pytest.mark.parametrize(
    "value", ["", "%", "ten", "-1", "-0.1%", "nan", "NaN%", "inf", "-inf%", "10,", "1e999999999", "1e-999", "10%%"]
)
def test_what_is_no_limit_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match=rf"^--max does not take '{re.escape(value)}'\n.*such as 10%") as refused:
        parse_limit([value], "--max")

    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "values, kind", [(["1", "2"], "absolute"), (["1%,2%"], "percent"), (["1%", "2", "3%"], "percent")]
)
def test_a_limit_given_twice_is_refused(values: list[str], kind: str) -> None:
    with pytest.raises(UsageError, match=f"--max is given twice as {kind}"):
        parse_limit(values, "--max")


# Several trials


def trials(*uses: bool, policy: object = "any") -> list[Row]:
    """One trial for each, in which searchLogs is used or not."""
    return [
        judged(
            "a",
            trial=number,
            covered=["searchLogs"] if used else [],
            missing=[] if used else ["searchLogs"],
            failed=[] if used else ["evidence-coverage"],
            policy=policy,
        )
        for number, used in enumerate(uses, 1)
    ]


TRIALS = {
    "covered in every trial, then not in one": ((True, True), (True, False), "regression"),
    "not covered in one trial, then in every": ((False, True), (True, True, True), "improvement"),
    "not covered in one trial, then in another": ((True, False), (False, True), None),
    "not covered in one trial, then in none": ((True, False), (True, False, False), None),
    "covered in every trial, then in more of them": ((True,), (True, True, True), None),
}


@pytest.mark.parametrize("before, now, severity", TRIALS.values(), ids=TRIALS)
def test_covered_and_held_means_in_every_trial(
    before: tuple[bool, ...], now: tuple[bool, ...], severity: Severity | None
) -> None:
    found = diff(run_of(*trials(*before)), run_of(*trials(*now)))

    expected = [("check", severity), ("evidence-coverage", severity)] if severity else []
    assert expected == [
        (item.kind, item.severity) for item in found.items if item.kind in {"check", "evidence-coverage"}
    ]


def test_the_message_of_a_check_is_that_of_the_first_trial_in_which_it_fails() -> None:
    found = diff(run_of(*trials(True, True, True)), run_of(*trials(True, False, False)))

    assert [item.message for item in found.items if item.kind == "check"] == ["evidence-coverage of a in trial 2"]


def test_one_trial_in_error_makes_the_case_an_error_and_hides_the_rest() -> None:
    now = [judged("a", missing=["searchLogs"], failed=["evidence-coverage"]), unreadable("a", trial=2)]
    found = diff(run_of(judged("a", covered=["searchLogs"])), run_of(*now))

    assert [
        Wanted("case-status", "regression", "a", baseline="passed", current="error"),
        RATE_FALLS,
    ] == items(found)
    assert found.items[0].message.endswith(": $.finalAnswer: text was expected")


# Definitions


def test_a_changed_definition_is_said_beside_what_differs() -> None:
    found = diff(run_of(judged("a")), run_of(judged("a", failed=["token-budget"], asks="fewer tokens")))

    assert [(item.kind, item.case_id) for item in found.items] == [
        ("case-status", "a"),
        ("check", "a"),
        ("pass-rate", None),
        ("case-definition", "a"),
    ]
    assert found.items[-1].message == (
        "the definition of case a changed: what differs in its results may be the case, not the agent"
    )


# Known failures


KNOWN = judged("a", failed=["token-budget"], known=["token-budget"])


def tripping(comparison: Comparison) -> list[tuple[str, str | None]]:
    return [(item.kind, item.case_id) for item in comparison.tripping]


def test_a_known_failure_is_reported_and_trips_nothing() -> None:
    found = compare(run_of(judged("a")), run_of(KNOWN))

    assert [(item.kind, item.case_id) for item in found.diff.items if item.severity == "regression"] == [
        ("case-status", "a"),
        ("check", "a"),
        ("pass-rate", None),
    ]
    assert found.diff.items[0].message == "the case a passed before and failed now (a known failure: it is hard)"
    assert tripping(found) == []


def test_a_known_failure_excuses_no_other_case() -> None:
    found = compare(run_of(judged("a"), judged("b")), run_of(KNOWN, judged("b", failed=["token-budget"])))

    assert tripping(found) == [("case-status", "b"), ("check", "b"), ("pass-rate", None)]


def test_a_known_failure_excuses_no_other_check() -> None:
    both = judged("a", failed=["answer-present", "token-budget"], known=["token-budget"])
    found = compare(run_of(KNOWN), run_of(both))

    assert tripping(found) == [("check", "a")]


def test_a_pass_rate_that_fell_without_any_known_failure_trips() -> None:
    found = compare(run_of(judged("a"), judged("b")), run_of(judged("a"), not_run("b")))

    assert tripping(found) == [("case-status", "b"), ("pass-rate", None)]


def test_the_missing_case_of_a_known_failure_trips() -> None:
    found = compare(run_of(KNOWN, judged("b")), run_of(judged("b")))

    assert tripping(found) == [("missing-case", "a")]


def test_a_known_failure_that_passes_again_says_that_its_mark_can_go() -> None:
    found = diff(run_of(KNOWN), run_of(judged("a", known=["token-budget"])))

    assert found.items[0].message == (
        "the case a failed before and passed now; it was a known failure, so its knownFailure mark can go"
    )
    assert found.items[0].severity == "improvement"


def test_an_unexpected_failure_that_passes_again_says_nothing_of_a_mark() -> None:
    found = diff(run_of(judged("a", failed=["token-budget"])), run_of(judged("a")))

    assert found.items[0].message == "the case a failed before and passed now"


def test_known_failures_are_excused_from_the_pass_rate_in_whole_numbers() -> None:
    # 3 of 3 before; now 3 good of 4, one of them a known failure: the share of good cases fell.
    before = snapshot(judged("a"), judged("b"), judged("c"))
    now = snapshot(judged("a"), judged("b"), {**KNOWN, "case_id": "c"}, judged("d", failed=["token-budget"]))

    assert ("pass-rate", None) in tripping(compare(before, now))


# Order and rounding


def test_items_are_sorted_by_severity_kind_case_tool_and_check() -> None:
    tools = ["b-tool", "a-tool"]
    before = run_of(
        judged("z", covered=tools), judged("gone"), judged("y", failed=["token-budget"]), judged("m", ms=1.0)
    )
    now = run_of(
        judged("z", missing=tools, failed=["token-budget", "cost-budget"]),
        judged("new"),
        judged("y", asks="more"),
        judged("m", ms=2.0, asks="more"),
    )

    assert [(one.severity, one.kind, one.case_id, one.tool, one.check) for one in diff(before, now).items] == [
        ("regression", "case-status", "z", None, None),
        ("regression", "check", "z", None, "cost-budget"),
        ("regression", "check", "z", None, "token-budget"),
        ("regression", "evidence-coverage", "z", "a-tool", None),
        ("regression", "evidence-coverage", "z", "b-tool", None),
        ("regression", "missing-case", "gone", None, None),
        ("improvement", "case-status", "y", None, None),
        ("improvement", "check", "y", None, "token-budget"),
        ("change", "case-definition", "m", None, None),
        ("change", "case-definition", "y", None, None),
        ("change", "duration", None, None, None),
        ("change", "new-case", "new", None, None),
    ]


def test_deltas_are_rounded_to_6_decimals() -> None:
    found = diff(
        snapshot(*(judged("a", trial=number, ms=0.1, calls=1) for number in (1, 2, 3))),
        snapshot(*(judged("a", trial=number, ms=0.3, calls=number // 3 + 1) for number in (1, 2, 3))),
    )

    assert [(item.baseline, item.current, item.delta) for item in found.items] == [
        (0.1, 0.3, 0.2),
        (1.0, 1.333333, 0.333333),
    ]


def test_a_pass_rate_that_fell_by_less_than_the_decimals_shown_fell_all_the_same() -> None:
    # 1 of 3,000,000 cases; the rows are repeated by reference, and judged by their statuses alone.
    from pipeline.diff import _pass_rate

    one = frame([judged("a")]).lazy()
    summary = summarise(one, case_results(one))
    before, now = (
        msgspec.structs.replace(summary, total_cases=3_000_000, passed=passed, pass_rate=1.0)
        for passed in (3_000_000, 2_999_999)
    )

    assert [(item.severity, item.message) for item in _pass_rate(before, now)] == [
        ("regression", "the pass rate fell from 3000000 of 3000000 to 2999999 of 3000000 cases")
    ]


def test_durations_that_no_float_can_sum_up_have_an_average() -> None:
    found = diff(
        snapshot(judged("a", ms=1.7e308), judged("b", ms=1.7e308)), snapshot(judged("a", ms=1.0), judged("b", ms=1.0))
    )

    assert (found.items[0].baseline, found.items[0].current) == (1.7e308, 1.0)


# What always holds

MIRRORED: dict[tuple[Kind, Severity], tuple[Kind, Severity]] = {
    ("pass-rate", "regression"): ("pass-rate", "improvement"),
    ("case-status", "regression"): ("case-status", "improvement"),
    ("evidence-coverage", "regression"): ("evidence-coverage", "improvement"),
    ("check", "regression"): ("check", "improvement"),
    ("missing-case", "regression"): ("new-case", "change"),
    ("case-status", "change"): ("case-status", "change"),
    ("tool-calls", "change"): ("tool-calls", "change"),
    ("duration", "change"): ("duration", "change"),
    ("verdict-distribution", "change"): ("verdict-distribution", "change"),
    ("case-definition", "change"): ("case-definition", "change"),
}
MIRRORED |= {there: back for back, there in MIRRORED.items()}


def mirror(item: Wanted) -> Wanted:
    kind, severity = MIRRORED[item.kind, item.severity]
    delta = -item.delta if isinstance(item.delta, int | float) else None
    return Wanted(kind, severity, item.case, item.tool, item.check, item.current, item.baseline, delta)


def in_any_order(wanted: Sequence[Wanted]) -> list[str]:
    return sorted(map(repr, wanted))


def subsets(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), unique=True).map(sorted)


@st.composite
def cases(draw: st.DrawFn, case: str) -> list[Row]:
    asks = draw(st.sampled_from(["", "more"]))
    known = draw(st.sampled_from([[], ["token-budget"]]))
    policy = draw(st.sampled_from(["all", "any", {"minPassRate": 0.5}]))
    kinds = draw(st.sampled_from([["not run"], ["error"], ["read"], ["read"], ["read", "read"], ["read", "error"]]))
    rows = []
    for trial, kind in enumerate(kinds, 1):
        if kind == "not run":
            return [not_run(case, asks=asks)]
        if kind == "error":
            rows.append(unreadable(case, trial=trial, asks=asks))
            continue
        tools = draw(subsets(["explainSql", "queryMetrics", "searchLogs"]))
        covered = draw(subsets(tools)) if tools else []
        rows.append(
            judged(
                case,
                trial=trial,
                failed=draw(subsets(["answer-present", "cost-budget", "token-budget"])),
                covered=covered,
                missing=[tool for tool in tools if tool not in covered],
                verdict=draw(st.sampled_from(["PASS", "REVISE", None])),
                calls=draw(st.none() | st.integers(0, 4_294_967_295)),
                ms=draw(st.none() | st.floats(0, 1e9, allow_subnormal=False)),
                known=known,
                policy=policy,
                asks=asks,
            )
        )
    return rows


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    chosen = draw(subsets(["a", "b", "c"]))
    rows = [row for case in chosen for row in draw(cases(case))]
    return run_of(*rows, suite=draw(st.sampled_from(["demo", "other"])))


@given(snapshots(), snapshots())
@settings(deadline=None, max_examples=40)
def test_the_diff_the_other_way_round_is_its_mirror_image(one: Snapshot, other: Snapshot) -> None:
    there, back = diff(one, other), diff(other, one)

    assert in_any_order([mirror(item) for item in items(there)]) == in_any_order(items(back))
    assert {
        verdict: CountChange(baseline=change.current, current=change.baseline, delta=-change.delta)
        for verdict, change in there.summary.verdict_distribution.items()
    } == back.summary.verdict_distribution
    assert (there.baseline, there.current) == (back.current, back.baseline)


Entries = dict[tuple[str, str], bool]


def plainly(run: Snapshot) -> tuple[dict[str, set[str]], Entries, dict[tuple[str, str], str]]:
    """The digests, the coverage and the first message of each failed check, read row by row."""
    digests: dict[str, set[str]] = {}
    covered: Entries = {}
    failing: dict[tuple[str, str], str] = {}
    for row in run.rows.collect().to_dicts():
        case = row["case_id"]
        digests.setdefault(case, set()).add(row["definition_digest"])
        for tool in row["evidence_covered"]:
            covered.setdefault((case, tool), True)
        covered.update({(case, tool): False for tool in row["evidence_missing"]})
        for check in row["failed_checks"]:
            failing.setdefault((case, check["check"]), check["message"])
    return digests, covered, failing


@given(snapshots(), snapshots())
@settings(deadline=None, max_examples=60)
def test_what_is_compared_case_by_case_is_what_a_plain_reading_finds(one: Snapshot, other: Snapshot) -> None:
    found = diff(one, other)

    (digests, covered, failing), (digests_now, covered_now, failing_now) = plainly(one), plainly(other)
    statuses = [dict(case_results(run.rows).select("case_id", "status").iter_rows()) for run in (one, other)]
    judged_twice = {case for case in digests if all(side.get(case) in {"passed", "failed"} for side in statuses)}
    assert [item.case_id for item in found.items if item.kind == "case-definition"] == sorted(
        case for case in judged_twice if digests[case] != digests_now[case]
    )
    assert {(item.case_id, item.tool): item.current for item in found.items if item.kind == "evidence-coverage"} == {
        entry: "covered" if covered_now[entry] else "uncovered"
        for entry in covered.keys() & covered_now.keys()
        if entry[0] in judged_twice and covered[entry] != covered_now[entry]
    }
    assert {(item.case_id, item.check): item.current for item in found.items if item.kind == "check"} == {
        entry: "fails" if entry in failing_now else "holds"
        for entry in failing.keys() ^ failing_now.keys()
        if entry[0] in judged_twice
    }


@given(snapshots())
@settings(deadline=None, max_examples=20)
def test_a_run_against_itself_has_no_items(one: Snapshot) -> None:
    found = compare(one, one)

    assert items(found.diff) == []
    assert tripping(found) == []


@given(snapshots(), snapshots())
@settings(deadline=None, max_examples=20)
def test_items_are_in_order_and_each_stands_there_once(one: Snapshot, other: Snapshot) -> None:
    found = diff(one, other)

    severities = ["regression", "improvement", "change"]
    keys = [
        (severities.index(item.severity), item.kind, item.case_id or "", item.tool or "", item.check or "")
        for item in found.items
    ]
    assert keys == sorted(keys)
    single = [key for key in keys if key[1] != "verdict-distribution"]
    assert len(single) == len(set(single))


@given(snapshots(), snapshots())
@settings(deadline=None, max_examples=20)
def test_a_case_without_a_judgement_in_both_runs_has_its_case_item_only(one: Snapshot, other: Snapshot) -> None:
    found = diff(one, other)

    lonely = {
        item.case_id
        for item in found.items
        if item.kind in {"missing-case", "new-case"} or {item.baseline, item.current} & {"error", "not_run"}
    }
    assert [len([item for item in found.items if item.case_id == case]) for case in lonely] == [1] * len(lonely)


# JSON


def test_the_json_is_what_the_schema_says() -> None:
    change = CHANGES["a required tool is no longer used"]
    found = diff(run_of(*change.before), run_of(*change.now, judged("new"), tool_version="2"))
    text = render_diff(found)

    assert found == msgspec.json.decode(text, type=Diff)
    assert text.endswith(b"}\n")
    document = msgspec.json.decode(text)
    assert list(document) == ["schemaVersion", "baseline", "current", "summary", "items"]
    assert document["items"][0] == {
        "kind": "case-status",
        "severity": "regression",
        "caseId": "a",
        "tool": None,
        "check": None,
        "baseline": "passed",
        "current": "failed",
        "delta": None,
        "message": "the case a passed before and failed now",
    }
    schema = msgspec.json.decode(json_schema("diff"))["$defs"]["DiffItem"]
    assert set(schema["properties"]) == set(document["items"][0])
    assert sorted(get_args(Kind)) == sorted(schema["properties"]["kind"]["enum"])


@given(snapshots(), snapshots())
@settings(deadline=None, max_examples=20)
def test_the_json_is_read_back_as_it_was(one: Snapshot, other: Snapshot) -> None:
    found = diff(one, other)

    assert found == msgspec.json.decode(render_diff(found), type=Diff)


# Nothing is proven by nothing


def test_runs_without_a_common_case_are_refused() -> None:
    with pytest.raises(UsageError, match="no case in common") as refused:
        diff(snapshot(judged("a")), snapshot(judged("b")))

    assert refused.value.exit_code == 2
    assert "diagnosis-eval baseline save" in refused.value.hint


def test_two_runs_may_share_a_case_that_was_not_run() -> None:
    found = diff(snapshot(not_run("a"), judged("b")), snapshot(not_run("a"), judged("c")))

    assert [(item.kind, item.case_id) for item in found.items] == [("missing-case", "b"), ("new-case", "c")]


NOTHING_JUDGED = {"no row at all": [], "nothing run": [not_run("a")], "all in error": [unreadable("a")]}


@pytest.mark.parametrize("rows", NOTHING_JUDGED.values(), ids=NOTHING_JUDGED)
def test_a_run_that_judged_nothing_is_refused_on_either_side(rows: list[Row]) -> None:
    empty, full = snapshot(*rows, source="empty.parquet"), snapshot(judged("a"))

    for sides in ((empty, full), (full, empty)):
        with pytest.raises(UsageError, match=r"^empty\.parquet judged no trace, so it proves nothing"):
            diff(*sides)


def test_a_run_without_a_name_that_judged_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^the run judged no trace"):
        diff(snapshot(judged("a")), snapshot())


def test_rows_that_are_damaged_are_named_whichever_side_they_are_on(tmp_path: Path) -> None:
    rows = frame([judged("a")])
    path = tmp_path / "torn.parquet"
    write_snapshot(path, [rows], info())
    data = path.read_bytes()
    torn = data[:4] + bytes(byte ^ 0xFF for byte in data[4:400]) + data[400:]
    path.write_bytes(torn)
    full = snapshot(judged("a"))

    for sides in ((read_snapshot(path), full), (full, read_snapshot(path))):
        with pytest.raises(SnapshotError, match=r"the rows of .*torn\.parquet are damaged"):
            diff(*sides)


def test_a_definition_that_is_no_json_is_damage_too() -> None:
    broken = snapshot({**judged("a", failed=["token-budget"]), "definition": "{"}, source="odd.parquet")

    with pytest.raises(SnapshotError, match=r"the rows of odd\.parquet are damaged"):
        diff(snapshot(judged("a")), broken)


# The shipped example of a bad change


def test_the_regressed_fixtures_cover_every_case() -> None:
    names = [
        sorted(path.name for path in (ROOT / folder).iterdir()) for folder in ("fixtures/traces", "fixtures/regressed")
    ]

    assert names[0] == names[1]


def test_the_regressed_fixtures_give_exactly_these_items() -> None:
    runs = [
        pipeline.evaluate(ROOT / "cases", ROOT / folder).snapshot
        for folder in ("fixtures/traces", "fixtures/regressed")
    ]
    found = diff(*runs)

    begin = {
        "composer-fallback-rabbitmq-alarm": ["raw-protocol-leak"],
        "conflicting-evidence-replica": ["gatekeeper-verdict-conflict", "verdict-allowed"],
        "cpu-throttling": ["root-cause-keywords"],
        "dns-resolution-failure": ["evidence-coverage"],
        "file-descriptors-exhausted": ["tool-call-budget"],
        "insufficient-evidence-degraded": ["degraded-output"],
        "milvus-retrieval-timeout": ["forbidden-confirmed-claims"],
        "mysql-connection-pool-exhausted": ["evidence-coverage"],
        "redis-hot-key": ["degraded-output", "verdict-allowed"],
        "two-causes-dropped-index-and-cpu-limit": ["duration-budget"],
    }
    again = "network-partition-tool-budget"
    assert [
        *(Wanted("case-status", "regression", case, baseline="passed", current="failed") for case in begin),
        *(
            Wanted("check", "regression", case, check=check, baseline="holds", current="fails")
            for case, checks in begin.items()
            for check in checks
        ),
        *(
            Wanted("evidence-coverage", "regression", case, tool, baseline="covered", current="uncovered")
            for case, tool in (
                ("dns-resolution-failure", "resolveDns"),
                ("mysql-connection-pool-exhausted", "queryMysqlStatus"),
            )
        ),
        Wanted("pass-rate", "regression", baseline=0.964286, current=0.642857, delta=-0.321429),
        Wanted("case-status", "improvement", again, baseline="failed", current="passed"),
        Wanted("check", "improvement", again, check="tool-call-budget", baseline="fails", current="holds"),
        Wanted("duration", "change", baseline=29550.571429, current=31949.107143, delta=2398.535714),
        Wanted("tool-calls", "change", baseline=5.5, current=5.571429, delta=0.071429),
        Wanted("verdict-distribution", "change", baseline=3, current=4, delta=1),
        Wanted("verdict-distribution", "change", baseline=2, current=1, delta=-1),
    ] == items(found)
    assert found.items[25].message.endswith("its knownFailure mark can go")
