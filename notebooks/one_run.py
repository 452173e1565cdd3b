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
    # One run, sliced

    What a run says beyond its report: which cases, tools and checks stand behind the figures. Run it as it is, or
    open it with `marimo edit notebooks/one_run.py` and change the run in the first cell.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The run.** A REF names it: a path, the folder of a run (`data/runs/latest`), or the baseline of a branch
    (`git:main`). This is the baseline that comes with the repository.
    """)
    return


@app.cell
def _():
    root = mo.notebook_dir().parent
    ref = str(root / "data/baseline/snapshot.parquet")
    snapshot = de.read_snapshot(ref)
    return (snapshot,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Its figures**, the same as in the head of `report.md`.
    """)
    return


@app.cell
def _(snapshot):
    de.tables.summary(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What failed.** One row per failed check; unreadable traces and cases that were not run stand below them.
    """)
    return


@app.cell
def _(snapshot):
    de.tables.failures(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Every case as a row.** A frame is Polars from here on: filter, group, join. These are the slowest cases.
    """)
    return


@app.cell
def _(snapshot):
    cases = de.frames.cases(snapshot)
    slowest = cases.sort("duration_ms", descending=True, nulls_last=True).select(
        "case_id", "status", "verdict", "tool_call_count", "duration_ms"
    )
    slowest.head(5)
    return cases, slowest


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **By tag.** A case counts under each of its tags; the lowest pass rate stands first.
    """)
    return


@app.cell
def _(snapshot):
    tags = de.frames.tags(snapshot).sort("pass_rate", "tag")
    tags.filter(pl.col("cases") > 1)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    The same as a picture.
    """)
    return


@app.cell
def _(snapshot):
    de.plots.pass_rate_by_tag(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **How long it took.** A long tail is worth a look before it becomes the average.
    """)
    return


@app.cell
def _(snapshot):
    de.plots.durations(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Which tools were used**, and which of them fail. A tool that fails often is asked twice, and evidence gets
    lost.
    """)
    return


@app.cell
def _(snapshot):
    tools = de.frames.tool_usage(snapshot).with_columns(failing=pl.col("failed_calls") / pl.col("calls"))
    tools.filter(pl.col("failed_calls") > 0).sort("failing", "calls", descending=True)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    All calls by tool.
    """)
    return


@app.cell
def _(snapshot):
    de.plots.tool_usage(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Repeated calls.** The same tool with the same arguments, twice in one trace: an agent that goes in circles, or
    one that tries again after a failure.
    """)
    return


@app.cell
def _(snapshot):
    repeated = (
        de.frames.tool_calls(snapshot)
        .drop_nulls("tool")
        .group_by("case_id", "trial", "tool", "arguments")
        .agg(calls=pl.len(), failed=pl.col("failed").sum())
        .filter(pl.col("calls") > 1)
        .sort("case_id", "trial", "tool", "arguments")
    )
    repeated
    return (repeated,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What the run comes down to**, for whoever runs this file as a script.
    """)
    return


@app.cell
def _(cases, repeated, slowest):
    print(f"{cases.filter(pl.col('status') == 'passed').height} of {cases.height} cases passed")
    print(f"slowest: {slowest['case_id'][0]}, {slowest['duration_ms'][0] / 1000:.1f} s")
    print(f"traces with repeated calls: {repeated.select('case_id', 'trial').unique().height}")
    return


if __name__ == "__main__":
    app.run()
