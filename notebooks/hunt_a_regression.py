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
    # A regression hunted down

    From the diff to the claim in the trace. The case is one of `fixtures/regressed/`: the answer reads well, the
    Verifier says PASS, and still it must not be merged.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The two runs**, as in `compare_branches.py`.
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
    **Where to start.** Lost evidence first: an answer without its source is a guess that happened to be right.
    """)
    return


@app.cell
def _(baseline, current):
    items = de.frames.diff_items(de.diff(baseline, current))
    lost = items.filter((pl.col("severity") == "regression") & (pl.col("kind") == "evidence-coverage"))
    lost.select("case_id", "tool", "message")
    return (items,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **One case.** Pick another row, or another id, and everything below follows.
    """)
    return


@app.cell
def _(items):
    case = "mysql-connection-pool-exhausted"
    items.filter(pl.col("case_id") == case).select("severity", "kind", "tool", "check", "message")
    return (case,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The calls, before and now.** The tool that is gone stands on the left only.
    """)
    return


@app.cell
def _(baseline, case, current):
    def calls_of(run: de.Snapshot) -> pl.DataFrame:
        calls = de.frames.tool_calls(run).filter(pl.col("case_id") == case)
        return calls.group_by("tool").agg(calls=pl.len(), failed=pl.col("failed").sum())

    calls = calls_of(baseline).join(calls_of(current), on="tool", how="full", coalesce=True, suffix="_now").sort("tool")
    calls
    return (calls,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What became of the claims.** The same claim, with the evidence that it binds before and now. A claim that
    moved to another tool, and is `supported` all the same, was not checked against its source.
    """)
    return


@app.cell
def _(baseline, case, current):
    def claims_of(run: de.Snapshot) -> pl.DataFrame:
        claims = de.frames.claim_checks(run).filter(pl.col("case_id") == case)
        return claims.select("claim_id", "verification", "claim_text", tools=pl.col("claim_tools").list.join(", "))

    claims = claims_of(baseline).join(claims_of(current), on="claim_id", how="full", coalesce=True, suffix="_now")
    moved = claims.filter(pl.col("tools").ne_missing(pl.col("tools_now"))).sort("claim_id")
    moved.select("claim_id", "verification_now", "tools", "tools_now")
    return (moved,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What they say.** Before, the figures of the server itself; now, what a dashboard shows of it.
    """)
    return


@app.cell
def _(moved):
    moved.select("claim_id", "claim_text", "claim_text_now")
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What the user would have read.** Nothing in the answer tells that its source is gone; `diagnosis-eval explain`
    shows the same with the keywords marked.
    """)
    return


@app.cell
def _(case, current):
    answer = de.frames.traces(current).filter(pl.col("case_id") == case)["answer"][0]
    mo.plain_text(answer)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The finding**, for whoever runs this file as a script.
    """)
    return


@app.cell
def _(calls, case, moved):
    gone = calls.filter(pl.col("calls_now").is_null())["tool"].to_list()
    print(f"{case}: no longer called: {', '.join(gone)}")
    print(f"claims that rest on other evidence now: {', '.join(moved['claim_id'])}")
    return


if __name__ == "__main__":
    app.run()
