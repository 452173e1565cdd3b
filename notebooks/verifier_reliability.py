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
    # How far the Verifier can be trusted

    A Verifier that says PASS is right most of the time; the checks say when it was not. Here its verdicts are held
    against the outcome of the checks, on the traces of `fixtures/regressed/`.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **The run.** Any snapshot will do; the more traces, the more the shares below mean.
    """)
    return


@app.cell
def _():
    root = mo.notebook_dir().parent
    snapshot = de.evaluate(root / "cases", root / "fixtures/regressed").snapshot
    return (snapshot,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Verdict against outcome.** In the tile of PASS and failed stand the traces that a merge on the Verifier's word
    would have let through.
    """)
    return


@app.cell
def _(snapshot):
    de.plots.verdict_against_outcome(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **As figures.** Of the traces that the Verifier passed, the share that the checks pass too.
    """)
    return


@app.cell
def _(snapshot):
    outcomes = de.frames.verdict_outcomes(snapshot)
    passed_by_verifier = outcomes.filter(pl.col("verdict") == "PASS")
    precision = (
        passed_by_verifier.filter(pl.col("status") == "passed")["traces"].sum() / passed_by_verifier["traces"].sum()
    )
    outcomes
    return (precision,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **What it let through.** One row per failed check of a trace with verdict PASS.
    """)
    return


@app.cell
def _(snapshot):
    misses = de.frames.verifier_misses(snapshot)
    misses.select("case_id", "check", "score", "message")
    return (misses,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Fair is fair.** A Verifier reads the answer and its evidence; a budget is none of its business. What remains
    is what it should have seen.
    """)
    return


@app.cell
def _(misses):
    budgets = ["tool-call-budget", "duration-budget", "token-budget", "cost-budget"]
    own_misses = misses.filter(~pl.col("check").is_in(budgets))
    own_misses.group_by("check").agg(traces=pl.len()).sort("traces", "check", descending=[True, False])
    return (own_misses,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Its score.** If the scores of right and wrong answers overlap, no threshold on the score replaces the checks.
    """)
    return


@app.cell
def _(snapshot):
    scores = (
        de.frames.traces(snapshot)
        .filter(pl.col("verdict") == "PASS")
        .group_by("status")
        .agg(
            traces=pl.len(),
            lowest=pl.col("score").min(),
            median=pl.col("score").median(),
            highest=pl.col("score").max(),
        )
        .sort("status")
    )
    scores
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Claims by the tool they rest on.** A tool whose claims are often unsupported is one that the Executor reads
    too much into.
    """)
    return


@app.cell
def _(snapshot):
    de.plots.claims_by_tool(snapshot)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **Passed over its own doubt.** Traces with verdict PASS of which a claim check says unsupported or contradicted.
    That is in order where the claim stays out of the answer, and the check `unsupported-claim-text` asks for that.
    """)
    return


@app.cell
def _(snapshot):
    doubts = (
        de.frames.claim_checks(snapshot)
        .filter(pl.col("verification").is_in(["unsupported", "contradicted"]))
        .join(de.frames.traces(snapshot).filter(pl.col("verdict") == "PASS"), on=["case_id", "trial"], how="semi")
        .select("case_id", "claim_id", "verification", "detail")
    )
    doubts
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **In two lines**, for whoever runs this file as a script.
    """)
    return


@app.cell
def _(own_misses, precision):
    print(f"of the traces that the Verifier passed, {precision:.0%} pass the checks")
    print(f"let through, budgets left aside: {own_misses['case_id'].n_unique()} cases")
    return


if __name__ == "__main__":
    app.run()
