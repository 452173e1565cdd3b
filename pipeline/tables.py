"""A run as tables for notebooks and pages, drawn by great-tables: the same input gives the same HTML.

Text of a trace or a case is escaped, cut, and on one line; what cannot be seen is written as an escape.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from pipeline import frames
from pipeline.aggregate import ABSENT, ratio
from pipeline.diff import Diff
from pipeline.figures import duration, figure, percent
from pipeline.report.markdown_text import visible
from pipeline.snapshot.files import Snapshot

if TYPE_CHECKING:
    from great_tables import GT

# A table is for reading: more rows than this belong into a frame.
MOST_ROWS: Final = 200
NAME_CHARACTERS: Final = 120
MESSAGE_CHARACTERS: Final = 600
NOTHING: Final = "–"

_MESSAGES: Final = frozenset({"message", "expected", "observed", "question"})


def summary(snapshot: Snapshot) -> "GT":
    """The figures over the whole run, as the head of `report.md` has them.

    Args:
        snapshot: the run.

    Raises:
        SnapshotError: the rows are damaged.
    """
    row = frames.summary(snapshot).row(0, named=True)
    rows = [
        ("Pass rate", f"{percent(row['pass_rate'])} ({row['passed']:,} of {row['total_cases']:,})"),
        ("Failed", figure(row["failed"])),
        ("In error", figure(row["errors"])),
        ("Not run", figure(row["not_run"])),
        ("Known failures", figure(row["known_failures"])),
        ("Traces judged", figure(row["traces"])),
        ("Traces of no case", figure(row["unmatched_traces"])),
        ("Unreadable records", figure(row["unreadable_records"])),
        ("Input warnings", figure(row["input_warnings"])),
        ("Average tool calls", f"{figure(row['average_tool_calls'])} (of {row['traces_with_tool_calls']:,} traces)"),
        ("Duration, average", f"{duration(row['average_duration_ms'])} (of {row['traces_with_duration']:,} traces)"),
        ("Duration, p50", duration(row["duration_ms_p50"])),
        ("Duration, p95", duration(row["duration_ms_p95"])),
    ]
    return _table("summary", row["suite"], {"figure": "Figure", "value": "Value"}, rows, right=["value"])


def cases(snapshot: Snapshot, *, rows: int = MOST_ROWS) -> "GT":
    """One row per case: what did not pass stands first.

    Args:
        snapshot: the run.
        rows: the most rows to show; how many more there are is said below.

    Raises:
        SnapshotError: the rows are damaged.
    """
    order = pl.Enum(["error", "not_run", "failed", "passed"])
    found = frames.cases(snapshot).sort(pl.col("status").cast(pl.String).cast(order), "known_failure", "case_id")
    labels = {
        "case": "Case",
        "status": "Status",
        "verdict": "Verdict",
        "checks": "Failed checks",
        "evidence": "Evidence",
        "keywords": "Keywords",
        "calls": "Tool calls",
        "duration": "Duration",
        "trials": "Trials passed",
    }
    listed = [
        (
            row["case_id"],
            _status(row["status"]) + (" (known)" if row["known_failure"] else ""),
            row["verdict"],
            ", ".join(row["failed_checks"]) or row["reason"],
            percent(row["evidence_ratio"]),
            percent(row["keyword_ratio"]),
            figure(row["tool_call_count"]),
            duration(row["duration_ms"]),
            f"{row['passed_trials']} of {row['trials']}",
        )
        for row in found.head(rows).iter_rows(named=True)
    ]
    right = ["evidence", "keywords", "calls", "duration", "trials"]
    return _table("cases", f"Cases of {snapshot.info.suite}", labels, listed, right=right, more=found.height - rows)


def failures(snapshot: Snapshot, *, rows: int = MOST_ROWS) -> "GT":
    """One row per failed check, then the traces that could not be read and the cases that were not run.

    Args:
        snapshot: the run.
        rows: the most rows to show; how many more there are is said below.

    Raises:
        SnapshotError: the rows are damaged.
    """
    failed = frames.checks(snapshot).filter(pl.col("outcome") == "fail")
    unreadable = frames.traces(snapshot).filter(pl.col("status") == "error")
    not_run = frames.cases(snapshot).filter(pl.col("status") == "not_run")
    found = pl.concat(
        [
            failed.select("case_id", "trial", "check", "message", "expected", "observed"),
            unreadable.select("case_id", "trial", pl.lit("(unreadable)").alias("check"), message="reason"),
            not_run.select("case_id", trial="shown_trial", check=pl.lit("(not run)"), message="reason"),
        ],
        how="diagonal",
    )
    labels = {
        "case": "Case",
        "trial": "Trial",
        "check": "Check",
        "message": "What was found",
        "expected": "Expected",
        "observed": "Observed",
    }
    return _table(
        "failures",
        f"Failures of {snapshot.info.suite}",
        labels,
        found.head(rows).rows(),
        right=["trial"],
        more=found.height - rows,
    )


def verdict_distribution(snapshot: Snapshot, *, rows: int = MOST_ROWS) -> "GT":
    """How often the Verifier said what: the most frequent first, the absent verdict last.

    Args:
        snapshot: the run.
        rows: the most rows to show; how many more there are is said below.

    Raises:
        SnapshotError: the rows are damaged.
    """
    counts = frames.distributions(snapshot).filter(pl.col("distribution") == "verdict")
    total = int(counts["count"].sum())
    found = counts.sort(pl.col("value") == ABSENT, pl.col("count"), "value", descending=[False, True, False])
    return _table(
        "verdicts",
        f"Verdicts of {snapshot.info.suite}",
        {"verdict": "Verdict", "traces": "Traces", "share": "Share"},
        [
            (row["value"], figure(row["count"]), percent(ratio(row["count"], total)))
            for row in found.head(rows).iter_rows(named=True)
        ],
        right=["traces", "share"],
        more=found.height - rows,
    )


def diff(diff: Diff, *, rows: int = MOST_ROWS) -> "GT":
    """The items of a diff, regressions first.

    Args:
        diff: of two snapshots.
        rows: the most rows to show; how many more there are is said below.
    """
    found = diff.summary
    labels = {
        "severity": "Severity",
        "kind": "Kind",
        "case": "Case",
        "what": "Tool or check",
        "baseline": "Baseline",
        "current": "Current",
        "message": "What to look at",
    }
    listed = [
        (
            item.severity,
            item.kind,
            item.case_id,
            item.tool or item.check,
            _value(item.baseline),
            _value(item.current),
            item.message,
        )
        for item in diff.items[:rows]
    ]
    title = f"{found.regressions:,} regressions, {found.improvements:,} improvements, {found.changes:,} other changes"
    return _table("diff", title, labels, listed, more=len(diff.items) - rows)


def _table(  # noqa: PLR0913 - what a table is made of, named
    name: str,
    title: str,
    labels: Mapping[str, str],
    rows: Sequence[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    more: int = 0,
) -> "GT":
    from great_tables import GT

    # Cells are text by now: great-tables escapes text in HTML, and formats only what it is asked to.
    data = {
        column: pl.Series([_cell(row[index], column) for row in rows], dtype=pl.String)
        for index, column in enumerate(labels)
    }
    # A fixed id: it would be drawn by lot otherwise, and the same table would have other bytes every time.
    table = GT(pl.DataFrame(data), id=f"diagnosis-eval-{name}").tab_header(title=visible(title, NAME_CHARACTERS))
    table = table.cols_label(dict(labels)).cols_align("left")
    if right:
        table = table.cols_align("right", list(right))
    return table.tab_source_note(f"and {more:,} more") if more > 0 else table


def _cell(value: Any, column: str) -> str:
    if value is None or value == "":
        return NOTHING
    return visible(str(value), MESSAGE_CHARACTERS if column in _MESSAGES else NAME_CHARACTERS)


def _status(status: str) -> str:
    return {"error": "in error", "not_run": "not run"}.get(status, status)


def _value(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else figure(value)
