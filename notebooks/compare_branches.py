import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium")

with app.setup:
    import marimo as mo
    import polars as pl

    import pipeline as de


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Two branches compared

    What got worse on a branch, and what it cost. The baseline is the one that comes with the repository; the branch
    is played by `fixtures/regressed/`, traces in which one thing went wrong per case.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Before and now.** In a repository of your own the baseline is `de.read_snapshot("git:main")`, and the current
    run `de.read_snapshot("data/runs/latest")`.
    """)
    return


@app.cell
def _():
    root = mo.notebook_dir().parent
    baseline = de.read_snapshot(str(root / "data/baseline/snapshot.parquet"))
    current = de.evaluate(root / "cases", root / "fixtures/regressed").snapshot
    return baseline, current


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The diff** is the one that `diagnosis-eval diff` makes. Its headline figures, changed or not:
    """)
    return


@app.cell
def _(baseline, current):
    diff = de.diff(baseline, current)
    figures = de.frames.diff_figures(diff)
    figures
    return (diff,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What changed, by kind.** Regressions trip the gate; changes are for the reader.
    """)
    return


@app.cell
def _(diff):
    items = de.frames.diff_items(diff)
    items.group_by("severity", "kind").agg(items=pl.len()).sort("severity", "kind")
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Every item**, regressions first, each saying what to look at.
    """)
    return


@app.cell
def _(diff):
    de.tables.diff(diff)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Side by side.** Frames of two runs join on `case_id` (and `trial`). These are the cases whose status differs.
    """)
    return


@app.cell
def _(baseline, current):
    before_and_now = (
        de.frames.cases(baseline)
        .join(de.frames.cases(current), on="case_id", how="full", coalesce=True, suffix="_now")
        .select("case_id", "status", "status_now", "verdict", "verdict_now", "failed_checks_now")
        .sort("case_id")
    )
    changed = before_and_now.filter(pl.col("status").ne_missing(pl.col("status_now")))
    changed
    return (changed,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What it cost.** Calls and seconds per case, the largest rise first. An average hides a case that doubled.
    """)
    return


@app.cell
def _(baseline, current):
    cost = (
        de.frames.cases(baseline)
        .join(de.frames.cases(current), on="case_id", suffix="_now")
        .select(
            "case_id",
            more_calls=pl.col("tool_call_count_now").cast(pl.Int64) - pl.col("tool_call_count").cast(pl.Int64),
            more_seconds=((pl.col("duration_ms_now") - pl.col("duration_ms")) / 1000).round(1),
        )
        .filter((pl.col("more_calls") != 0) | (pl.col("more_seconds") != 0))
        .sort("more_seconds", "case_id", descending=[True, False])
    )
    cost
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Which parts of the agent.** Regressions by tag of the case: a tag that stands out is a place to start.
    """)
    return


@app.cell
def _(changed, current):
    worse = (
        changed.filter((pl.col("status") == "passed") & (pl.col("status_now") != "passed"))
        .join(de.frames.cases(current).select("case_id", "tags"), on="case_id")
        .explode("tags")
        .group_by(tag="tags")
        .agg(regressed=pl.len())
        .sort("regressed", "tag", descending=[True, False])
    )
    worse.head(10)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **In one line**, for whoever runs this file as a script.
    """)
    return


@app.cell
def _(diff):
    print(f"{diff.summary.regressions} regressions, {diff.summary.improvements} improvements")
    print(f"pass rate {diff.summary.pass_rate.baseline} to {diff.summary.pass_rate.current}")
    return


if __name__ == "__main__":
    app.run()
