"""Checks of the Verifier's verdict."""

import polars as pl

from pipeline.checks.base import Facts, Judgement, check, listed, shown


@check("verdict-present", serves="R04")
def verdict_present(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The Verifier gave a verdict.

    Asked unless `requireVerdict` is false. The verdict is `selfEvaluation.verifier_evaluation.verdict`; blank is none.
    Which verdict it is does not matter here.

    Why it matters: without a verdict nobody knows whether the answer was verified at all.

    Passes: `"verdict": "PASS"`
    Fails: `"verdict": null`
    """
    return Judgement(
        asked=pl.col("require_verdict"),
        holds=pl.col("verdict").is_not_null(),
        expected=pl.lit("a verdict"),
        observed=pl.lit("none"),
        message=pl.lit("there is no verdict: selfEvaluation.verifier_evaluation.verdict is absent or blank"),
    )


@check("verdict-allowed", serves="R04, R02")
def verdict_allowed(facts: Facts) -> Judgement:
    """The verdict is one that the case allows, and none that it forbids.

    Asked where there is a verdict and the case has `allowedVerdicts` or `forbiddenVerdicts`, even where
    `requireVerdict` is false. Verdicts are compared exactly: `pass` is not `PASS`.

    Why it matters: a REJECT where PASS is right means that the chain has lost its evidence; a PASS where REJECT is
    right means that it makes things up.

    Passes: allowed `[PASS]`, verdict PASS
    Fails: allowed `[PASS]`, verdict REVISE
    """
    verdict = pl.col("verdict")
    allowed, forbidden = pl.col("allowed_verdicts"), pl.col("forbidden_verdicts")
    is_forbidden = pl.col("verdict_forbidden")
    return Judgement(
        asked=verdict.is_not_null() & ((allowed.list.len() > 0) | (forbidden.list.len() > 0)),
        holds=((allowed.list.len() == 0) | verdict.is_in(allowed)) & ~is_forbidden,
        expected=pl.when(is_forbidden)
        .then(pl.format("none of: {}", listed(forbidden)))
        .otherwise(pl.format("one of: {}", listed(allowed))),
        observed=shown(verdict),
        message=pl.when(is_forbidden)
        .then(pl.format("the verdict {} is forbidden for this case", shown(verdict)))
        .otherwise(pl.format("the verdict {} is not allowed; allowed: {}", shown(verdict), listed(allowed))),
        # Decided here, before redaction can make two verdicts look the same.
        facts=facts.rows.select("row", verdict_forbidden=verdict.is_in(forbidden)),
    )
