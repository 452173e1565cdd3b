"""Charts of a small run: the data that they carry, and that they stay small."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline as de
from pipeline import plots
from pipeline.errors import UsageError
from tests.snapshot.made import Row, judged, not_run
from tests.snapshot.made import snapshot as made

Json = Any
PLOTS: dict[str, Callable[[de.Snapshot], Any]] = {
    "verdict_distribution": plots.verdict_distribution,
    "pass_rate_by_tag": plots.pass_rate_by_tag,
    "tool_usage": plots.tool_usage,
    "durations": plots.durations,
    "claims_by_tool": plots.claims_by_tool,
    "verdict_against_outcome": plots.verdict_against_outcome,
}


def data(chart: Any) -> list[Json]:
    """The rows that the chart draws."""
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def channels(chart: Any) -> dict[str, str]:
    """Which column each channel shows."""
    described = chart.to_dict()
    encoding = described["encoding"] if "encoding" in described else described["layer"][0]["encoding"]
    return {name: one["field"] for name, one in encoding.items() if name != "tooltip"}


def test_verdict_distribution(snapshot: de.Snapshot) -> None:
    chart = plots.verdict_distribution(snapshot)

    assert data(chart) == [{"verdict": "PASS", "traces": 4}]
    assert channels(chart) == {"y": "verdict", "x": "traces"}


def test_pass_rate_by_tag(snapshot: de.Snapshot) -> None:
    chart = plots.pass_rate_by_tag(snapshot)

    assert data(chart) == [
        {"tag": "(none)", "cases": 2, "passed": 0, "pass_rate": 0.0},
        {"tag": "db", "cases": 2, "passed": 1, "pass_rate": 0.5},
        {"tag": "v2", "cases": 2, "passed": 1, "pass_rate": 0.5},
    ]
    assert channels(chart) == {"y": "tag", "x": "pass_rate"}
    # Bars are compared with all, not with the longest one.
    assert chart.to_dict()["encoding"]["x"]["scale"] == {"domain": [0, 1]}


def test_tool_usage(snapshot: de.Snapshot) -> None:
    chart = plots.tool_usage(snapshot)

    assert data(chart) == [
        {"tool": "(none)", "outcome": "not known to have failed", "calls": 1},
        {"tool": "queryTraces", "outcome": "failed", "calls": 1},
        {"tool": "redisInfo", "outcome": "not known to have failed", "calls": 1},
        {"tool": "searchLogs", "outcome": "not known to have failed", "calls": 1},
    ]
    assert channels(chart) == {"y": "tool", "x": "calls", "color": "outcome"}


def test_durations(snapshot: de.Snapshot) -> None:
    chart = plots.durations(snapshot)

    assert data(chart) == [
        {"status": "passed", "from_s": 0.01, "to_s": 0.2095, "traces": 1},
        {"status": "failed", "from_s": 0.01, "to_s": 0.2095, "traces": 1},
        {"status": "passed", "from_s": 3.8005, "to_s": 4.0, "traces": 1},
    ]
    assert channels(chart) == {"x": "from_s", "x2": "to_s", "y": "traces", "color": "status"}


def test_a_bar_of_one_duration_has_a_width() -> None:
    assert data(plots.durations(made(judged("a", ms=5000), judged("b", ms=5000)))) == [
        {"status": "passed", "from_s": 5.0, "to_s": 5.001, "traces": 2}
    ]


def test_claims_by_tool(snapshot: de.Snapshot) -> None:
    chart = plots.claims_by_tool(snapshot)

    assert data(chart) == [
        {"tool": "(none)", "verification": "supported", "claims": 1},
        {"tool": "(none)", "verification": "unsupported", "claims": 1},
        {"tool": "queryTraces", "verification": "supported", "claims": 1},
        {"tool": "searchLogs", "verification": "supported", "claims": 1},
    ]
    assert channels(chart) == {"y": "tool", "x": "claims", "color": "verification"}


def test_verdict_against_outcome(snapshot: de.Snapshot) -> None:
    chart = plots.verdict_against_outcome(snapshot)

    assert data(chart) == [
        {"verdict": "PASS", "status": "failed", "traces": 2},
        {"verdict": "PASS", "status": "passed", "traces": 2},
    ]
    assert channels(chart) == {"x": "status", "y": "verdict", "color": "traces"}


def calling(case: str, *tools: str | None) -> Row:
    calls = [dict.fromkeys(("arguments", "result", "error")) | {"tool": tool, "failed": False} for tool in tools]
    return {**judged(case), "calls": calls}


def test_many_names_are_the_most_frequent_and_the_others() -> None:
    tools = [f"tool-{number:02}" for number in range(35)]
    shown = data(plots.tool_usage(made(calling("a", *tools), calling("b", "tool-34"))))

    assert [(row["tool"], row["calls"]) for row in shown] == [
        ("tool-34", 2),
        *((f"tool-{number:02}", 1) for number in range(29)),
        ("(others)", 5),
    ]


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize(
    "run", [pytest.param(made(), id="no case"), pytest.param(made(not_run("a")), id="a case without a trace")]
)
def test_a_run_without_traces_gives_an_empty_chart(name: str, run: de.Snapshot) -> None:
    described = PLOTS[name](run).to_dict()

    assert sum(row.get("traces", row.get("calls", row.get("claims", 0))) for row in _rows(described)) == 0


def _rows(described: Json) -> list[Json]:
    return [row for rows in described.get("datasets", {}).values() for row in rows]


@pytest.mark.parametrize("name", PLOTS)
def test_names_are_visible_and_cut(name: str, hostile: de.Snapshot) -> None:
    texts = [value for row in data(PLOTS[name](hostile)) for value in row.values() if isinstance(value, str)]

    assert [text for text in texts if not text.isprintable() or len(text) > 120] == []


@given(
    runs=st.lists(
        st.tuples(st.text(max_size=200), st.floats(0, 1e12) | st.none(), st.lists(st.text(max_size=3), max_size=4)),
        max_size=40,
    )
)
@settings(max_examples=8, deadline=None)
def test_every_chart_is_valid_and_small_whatever_the_run(runs: list[tuple[str, float | None, list[str]]]) -> None:
    """`to_dict` checks a chart against the schema of Vega-Lite."""
    rows = [
        {**calling(f"case-{number}", *tools), "verdict": verdict, "duration_ms": ms}
        for number, (verdict, ms, tools) in enumerate(runs)
    ]
    for plot in PLOTS.values():
        described = plot(made(*rows)).to_dict()
        assert len(_rows(described)) <= 2 * (plots.MOST_NAMES + 1)
        json.dumps(described, allow_nan=False)


@pytest.mark.parametrize("name", PLOTS)
def test_without_altair_it_is_said_what_to_install(
    name: str, snapshot: de.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)

    with pytest.raises(UsageError) as raised:
        PLOTS[name](snapshot)
    assert str(raised.value) == (
        'charts need the package altair\ninstall it with: pip install "diagnosis-eval[notebooks]"'
    )
