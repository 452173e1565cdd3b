"""A run as charts for notebooks, drawn by Altair (the extra `notebooks`).

Every chart holds counts, never rows of traces: it stays small whatever the size of the run. Names are escaped and cut,
and of many only the most frequent are shown by name.
"""

from itertools import cycle
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from pipeline import frames
from pipeline.aggregate import ABSENT
from pipeline.errors import UsageError
from pipeline.report.markdown_text import visible
from pipeline.snapshot.files import Snapshot

if TYPE_CHECKING:
    import altair as alt

# More bars than this are no picture any more; the rest is counted as one.
MOST_NAMES: Final = 30
MOST_VERIFICATIONS: Final = 10
MOST_STEPS: Final = 20
# The width in seconds where all durations are the same; a bar without one would not be seen.
ONLY_STEP: Final = 0.001
NAME_CHARACTERS: Final = 60
OTHERS: Final = "(others)"

# Blue and orange: told apart by readers who do not tell red from green.
_GOOD: Final = "#4c78a8"
_BAD: Final = "#f58518"
_STATUSES: Final = ("passed", "failed")
_VERIFICATIONS: Final = {
    "supported": _GOOD,
    "partially_supported": "#9ecae9",
    "unsupported": _BAD,
    "contradicted": "#b23c17",
    "unverifiable": "#bab0ac",
}
# Words beyond the default contract.
_FURTHER: Final = ("#54a24b", "#b279a2", "#eeca3b", "#72b7b2")


def verdict_distribution(snapshot: Snapshot) -> "alt.Chart":
    """How often the Verifier said what: one bar per verdict, in traces.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    counts = frames.distributions(snapshot).filter(pl.col("distribution") == "verdict")
    data = _named(counts.select(verdict="value", traces="count"), "verdict", "traces")
    return _bars(vega, data, vega.Y("verdict:N", title="Verdict", sort=_order(data, "verdict")), "Verdicts").encode(
        x=_count(vega, "traces", "Traces"), tooltip=["verdict:N", "traces:Q"]
    )


def pass_rate_by_tag(snapshot: Snapshot) -> "alt.Chart":
    """The share of passed cases by tag; the tags with the most cases, the lowest share first.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    counted = frames.tags(snapshot).select("tag", "cases", "passed")
    data = (
        _named(counted, "tag", "cases", "passed")
        .with_columns(pass_rate=(pl.col("passed") / pl.col("cases")).round(6))
        .sort("pass_rate", "tag")
    )
    return _bars(vega, data, vega.Y("tag:N", title="Tag", sort=_order(data, "tag")), "Pass rate by tag").encode(
        x=vega.X("pass_rate:Q", title="Passed cases", axis=vega.Axis(format="%"), scale=vega.Scale(domain=[0, 1])),
        tooltip=["tag:N", "passed:Q", "cases:Q", vega.Tooltip("pass_rate:Q", format=".1%")],
    )


def tool_usage(snapshot: Snapshot) -> "alt.Chart":
    """How often each tool was called, and how many of the calls failed.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    used = frames.tool_usage(snapshot).select("tool", "calls", "failed_calls")
    wide = _named(used, "tool", "calls", "failed_calls")
    outcomes = ("not known to have failed", "failed")
    data = (
        wide.select("tool", (pl.col("calls") - pl.col("failed_calls")).alias(outcomes[0]), failed="failed_calls")
        .unpivot(outcomes, index="tool", variable_name="outcome", value_name="calls")
        .filter(pl.col("calls") > 0)
        .sort(pl.col("tool").cast(pl.Enum(_order(wide, "tool"))), "outcome")
    )
    return _bars(vega, data, vega.Y("tool:N", title="Tool", sort=_order(wide, "tool")), "Tool calls").encode(
        x=_count(vega, "calls", "Calls"),
        color=_colours(vega, "outcome", "Call", outcomes),
        tooltip=["tool:N", "outcome:N", "calls:Q"],
    )


def durations(snapshot: Snapshot) -> "alt.Chart":
    """How long the traces took: their number in up to twenty equal steps, by outcome.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    data = _steps(frames.traces(snapshot).filter(pl.col("status") != "error").select("status", "duration_ms"))
    chart: alt.Chart = (
        vega.Chart(data, title="Duration")
        .mark_bar()
        .encode(
            x=vega.X("from_s:Q", title="Seconds", bin=vega.BinParams(binned=True)),
            x2="to_s:Q",
            y=_count(vega, "traces", "Traces", y=True),
            color=_colours(vega, "status", "Checks", _STATUSES),
            tooltip=["status:N", "from_s:Q", "to_s:Q", "traces:Q"],
        )
    )
    return chart


def claims_by_tool(snapshot: Snapshot) -> "alt.Chart":
    """How the Verifier judged the claims that rest on each tool.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    counted = frames.claims_by_tool(snapshot)
    tools, words = (
        _names(counted, "tool", "claims", MOST_NAMES),
        _names(counted, "verification", "claims", MOST_VERIFICATIONS),
    )
    data = (
        counted.with_columns(tools.alias("tool"), words.alias("verification"))
        .group_by("tool", "verification")
        .agg(pl.col("claims").sum())
        .sort("tool", "verification")
    )
    totals = _named(data.select("tool", "claims"), "tool", "claims")
    shown = data["verification"].unique().sort().to_list()
    rest = cycle(_FURTHER)
    colours = [_VERIFICATIONS.get(word) or next(rest) for word in shown]
    return _bars(vega, data, vega.Y("tool:N", title="Tool", sort=_order(totals, "tool")), "Claims by tool").encode(
        x=_count(vega, "claims", "Claim checks"),
        color=vega.Color("verification:N", title="Verification", scale=vega.Scale(domain=shown, range=colours)),
        tooltip=["tool:N", "verification:N", "claims:Q"],
    )


def verdict_against_outcome(snapshot: Snapshot) -> "alt.LayerChart":
    """The Verifier's verdict against the outcome of the checks: where it let through what a check failed.

    Args:
        snapshot: the run.

    Raises:
        UsageError: Altair is not installed.
        SnapshotError: the rows are damaged.
    """
    vega = _altair()
    counted = frames.verdict_outcomes(snapshot).with_columns(pl.col("status").cast(pl.String))
    data = (
        counted.with_columns(_names(counted, "verdict", "traces", MOST_NAMES).alias("verdict"))
        .group_by("verdict", "status")
        .agg(pl.col("traces").sum())
        .sort("verdict", "status")
    )
    base = vega.Chart(data, title="Verdict against the checks", width=vega.Step(70), height=vega.Step(36)).encode(
        x=vega.X("status:N", title="By the checks", sort=list(_STATUSES), axis=vega.Axis(labelAngle=0)),
        y=vega.Y("verdict:N", title="By the Verifier"),
    )
    tiles = base.mark_rect().encode(
        color=vega.Color("traces:Q", title="Traces", scale=vega.Scale(scheme="blues")),
        tooltip=["verdict:N", "status:N", "traces:Q"],
    )
    # A halo keeps the figure readable on dark tiles and on light ones.
    halo = base.mark_text(stroke="white", strokeWidth=4).encode(text="traces:Q")
    chart: alt.LayerChart = tiles + halo + base.mark_text().encode(text="traces:Q")
    return chart


def _altair() -> Any:
    try:
        import altair as alt
    except ImportError as error:
        raise UsageError(
            "charts need the package altair",
            hint='install it with: pip install "diagnosis-eval[notebooks]"',
        ) from error
    return alt


def _bars(vega: ModuleType, data: pl.DataFrame, names: Any, title: str) -> "alt.Chart":
    chart: alt.Chart = vega.Chart(data, title=title).mark_bar(color=_GOOD).encode(y=names)
    return chart


def _count(vega: ModuleType, column: str, title: str, *, y: bool = False) -> Any:
    axis = vega.Axis(tickMinStep=1, format="d")
    return vega.Y(f"{column}:Q", title=title, axis=axis) if y else vega.X(f"{column}:Q", title=title, axis=axis)


def _colours(vega: ModuleType, column: str, title: str, values: tuple[str, str]) -> Any:
    return vega.Color(f"{column}:N", title=title, scale=vega.Scale(domain=list(values), range=[_GOOD, _BAD]))


def _order(data: pl.DataFrame, column: str) -> list[str]:
    return data[column].unique(maintain_order=True).to_list()


def _names(data: pl.DataFrame, column: str, count: str, most: int) -> pl.Series:
    """The column as it is shown: absent values by a word, hostile ones visible and cut, rare ones as others."""
    shown = pl.Series([ABSENT if value is None else visible(value, NAME_CHARACTERS) for value in data[column]])
    frequent = (
        data.select(name=shown.cast(pl.String), count=count)
        .group_by("name")
        .agg(pl.col("count").sum())
        .sort("count", "name", descending=[True, False])
        .head(most)["name"]
    )
    return (
        shown.cast(pl.String)
        .to_frame("name")
        .select(pl.when(pl.col("name").is_in(frequent.to_list())).then("name").otherwise(pl.lit(OTHERS)))["name"]
    )


def _named(data: pl.DataFrame, column: str, count: str, *further: str) -> pl.DataFrame:
    """One row per name that is shown, the most frequent first."""
    return (
        data.with_columns(_names(data, column, count, MOST_NAMES).alias(column))
        .group_by(column)
        .agg(pl.col(count, *further).sum())
        .sort(pl.col(column) == OTHERS, count, column, descending=[False, True, False])
    )


def _steps(data: pl.DataFrame) -> pl.DataFrame:
    """Traces per step and outcome: `status`, `from_s`, `to_s`, `traces`."""
    known = data.drop_nulls("duration_ms")
    seconds = (known["duration_ms"] / 1000).to_list()
    low, high = (min(seconds), max(seconds)) if seconds else (0.0, 0.0)
    steps = MOST_STEPS if low < high else 1
    width = (high - low) / steps or ONLY_STEP
    step = [min(steps - 1, int((value - low) / width)) for value in seconds]
    return (
        known.select(pl.col("status").cast(pl.String), step=pl.Series(step, dtype=pl.Int64))
        .group_by("status", "step")
        .agg(traces=pl.len())
        .with_columns(
            from_s=(low + pl.col("step") * width).round(6),
            to_s=(low + (pl.col("step") + 1) * width).round(6),
        )
        .select("status", "from_s", "to_s", "traces")
        .sort("from_s", "status", descending=[False, True])
    )
