"""The figures of a run as a table with small histograms, drawn by great-tables."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from pipeline.figures import duration, figure, percent
from pipeline.report.model import View

MOST_BINS: Final = 12
_STYLE: Final = re.compile("<style>.*?</style>", re.DOTALL)
_LABEL: Final = re.compile('role="img" aria-label="[^"]*"')
_FIRST_TAG: Final = "<table"
_LAST_TAG: Final = "</table>"


def figures_table(view: View) -> str:
    """The table as HTML without a style sheet of its own, or nothing where there is no figure.

    Counts and times only: nothing in it is text of a trace.
    """
    cases, summary = view.report.cases, view.report.summary
    rows = [
        row
        for row in (
            _row(
                "Tool calls",
                [case.tool_call_count for case in cases if case.tool_call_count is not None],
                figure(summary.average_tool_calls),
                lambda value: figure(int(value)),
            ),
            _row(
                "Duration",
                [case.duration_ms for case in cases if case.duration_ms is not None],
                duration(summary.average_duration_ms),
                duration,
            ),
            _row(
                "Claim checks",
                [case.claim_check_count for case in cases if case.claim_check_count is not None],
                "–",
                lambda value: figure(int(value)),
            ),
            _row(
                "Keyword coverage",
                [case.keyword_coverage.ratio for case in cases if case.keyword_coverage.ratio is not None],
                "–",
                percent,
            ),
        )
        if row is not None
    ]
    return _drawn(rows) if rows else ""


def _row(name: str, values: Sequence[float], average: str, show: Callable[[float], str]) -> dict[str, object] | None:
    if not values:
        return None
    counts = histogram(values)
    return {
        "figure": name,
        "average": average,
        "from": show(min(values)),
        "to": show(max(values)),
        "histogram": {"val": counts},
        "counts": ", ".join(map(str, counts)),
    }


def histogram(values: Sequence[float]) -> list[int]:
    """How many of the values fall into each of up to twelve equal steps from the least to the greatest.

    Whole numbers that are few get a step each.

    >>> histogram([1, 1, 2, 4]), histogram([7.5])
    ([2, 1, 0, 1], [1])
    """
    low, high = min(values), max(values)
    if low == high:
        return [len(values)]
    whole = all(float(value).is_integer() for value in values) and high - low < MOST_BINS
    bins = int(high - low) + 1 if whole else MOST_BINS
    # Halved first: the difference of two floats can be more than a float can hold.
    width = (high / 2 - low / 2) / (bins if not whole else bins - 1)
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, math.floor((value / 2 - low / 2) / width))] += 1
    return counts


def _drawn(rows: list[dict[str, object]]) -> str:
    from great_tables import GT, nanoplot_options

    frame = pl.DataFrame(rows).drop("counts")
    options = nanoplot_options(data_bar_stroke_width=0, show_data_line=False, show_y_axis_guide=False)
    # A fixed id: it would be drawn by lot otherwise, and the same report would have other bytes every time.
    table = (
        GT(frame, id="figures")
        .cols_label(figure="Figure", average="Average", histogram="Cases, from least to greatest")
        .fmt_nanoplot("histogram", plot_type="bar", options=options)
        .cols_align("right", ["average", "from", "to"])
        .as_raw_html()
    )
    # The style sheet it brings knows no dark mode and reaches beyond the table; ours does both.
    table = _STYLE.sub("", table[table.index(_FIRST_TAG) : table.rindex(_LAST_TAG) + len(_LAST_TAG)])
    # What it says of a plot ("from 0 to 10.0") are the heights of the bars; a listener wants the counts.
    counts = iter(row["counts"] for row in rows)
    table = _LABEL.sub(lambda _: f'role="img" aria-label="Cases in each step: {next(counts)}"', table)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Figures">{table}</div>'
