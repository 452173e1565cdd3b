"""Checks of the evidence: which tools were used, and which must not have been."""

import polars as pl

from pipeline.checks.base import Facts, Judgement, check, joined, listed


@check("evidence-coverage", serves="R03")
def evidence_coverage(facts: Facts) -> Judgement:
    """Every required evidence tool was used.

    Asked where `requiredEvidenceTools` is not empty. Under `evidencePolicy: invoked` a tool counts where it stands in
    `toolInvocations` or in the verifier's trace summary; under `succeeded` only a call that is not known to have
    failed counts. A call has failed where its `success` is false, where it has an `error`, or where its `status` is
    another word than SUCCESS, SUCCEEDED, OK or COMPLETED. Names are compared exactly. An entry that is a list wants any
    one of its tools.

    Why it matters: a right answer without its evidence is a guess, and guesses are what regress next.

    Passes: required `[searchLogs]`, a call with `"toolName": "searchLogs"`
    Fails: required `[searchLogs]`, calls of `redisInfo` only
    """
    evidence = (
        facts.evidence.lazy()
        .group_by("row", maintain_order=True)
        .agg(
            evidence_missing=pl.col("label").filter(~pl.col("covered")),
        )
    )
    missing = pl.col("evidence_missing")
    observed = (
        pl.when(pl.col("tool_call_count").is_null())
        .then(pl.lit("toolInvocations is absent"))
        .otherwise(pl.format("called: {}", joined(pl.col("called"), ", ").fill_null("nothing")))
    )
    verb = (
        pl.when(pl.col("evidence_policy") == "succeeded")
        .then(pl.lit("never called with success"))
        .otherwise(pl.lit("neither called nor summarised"))
    )
    one = missing.list.len() == 1
    return Judgement(
        asked=pl.col("evidence_required").list.len() > 0,
        holds=missing.list.len() == 0,
        expected=listed(missing),
        observed=observed,
        message=pl.format(
            "required {} {} {} {}; {}",
            pl.when(one).then(pl.lit("tool")).otherwise(pl.lit("tools")),
            listed(missing),
            pl.when(one).then(pl.lit("was")).otherwise(pl.lit("were")),
            verb,
            observed,
        ),
        facts=evidence,
        details=facts.called,
    )


@check("forbidden-tools", serves="beyond the sources")
def forbidden_tools(facts: Facts) -> Judgement:
    """No forbidden tool was used.

    Asked where `forbiddenTools` is not empty. A tool that was called, with success or not, or that stands in the
    verifier's trace summary, fails the check; so does a trace with neither `toolInvocations` nor a summary, as there is
    nothing to judge by. Names are compared exactly.

    Why it matters: a diagnosis agent must not restart, delete or scale anything.

    Passes: forbidden `[restartService]`, calls of `searchLogs` only
    Fails: forbidden `[restartService]`, a call of `restartService`
    """
    used = pl.concat([facts.tools.select("row", "tool"), facts.mentions.select("row", "tool")]).drop_nulls("tool")
    found = (
        used.join(facts.rows.select("row", "forbidden_tools"), on="row")
        .filter(pl.col("tool").is_in(pl.col("forbidden_tools")))
        .group_by("row")
        .agg(forbidden_used=pl.col("tool").unique().sort())
    )
    known = pl.col("tool_call_count").is_not_null() | pl.col("summary_tools").is_not_null()
    tools = pl.col("forbidden_used")
    observed = (
        pl.when(tools.is_not_null())
        .then(pl.format("used: {}", listed(tools)))
        .otherwise(pl.lit("neither toolInvocations nor a trace summary"))
    )
    used_tools = (
        pl.when(tools.list.len() == 1)
        .then(pl.lit("a forbidden tool was used"))
        .otherwise(pl.lit("forbidden tools were used"))
    )
    return Judgement(
        asked=pl.col("forbidden_tools").list.len() > 0,
        holds=known & tools.is_null(),
        expected=pl.format("none of: {}", listed(pl.col("forbidden_tools"))),
        observed=observed,
        message=pl.when(tools.is_not_null())
        .then(pl.format("{}: {}", used_tools, listed(tools)))
        .otherwise(
            pl.lit("forbidden tools cannot be ruled out: the trace has neither toolInvocations nor a trace summary"),
        ),
        facts=found,
    )
