"""Checks of the V2 audit chain: Executor claims, Gatekeeper, claim checks, Composer."""

import polars as pl

from pipeline.checks.base import UNSUPPORTED, Facts, Judgement, check, counted, joined, listed, shown


@check("audit-fields-present", serves="R25")
def audit_fields_present(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The three audit fields of V2 exist.

    Asked where `audit.required` is true: `gatekeeper_result`, `claim_checks` and `composer_output` under
    `selfEvaluation.verifier_evaluation`. An empty object or list exists; null and blank text do not.

    Why it matters: an audit trail that is not written cannot be audited, and nobody notices until an incident review.

    Passes: all three fields are objects or lists
    Fails: `"composer_output": null`
    """
    names = ("gatekeeper_result", "claim_checks", "composer_output")
    flags = ("gatekeeper_present", "claim_checks_present", "composer_present")
    absent = pl.concat_list(
        *(pl.when(~pl.col(flag)).then(pl.lit(name)) for name, flag in zip(names, flags, strict=True)),
    ).list.drop_nulls()
    return Judgement(
        asked=pl.col("audit_required"),
        holds=pl.all_horizontal(flags),
        expected=pl.lit(", ".join(names)),
        observed=pl.format("absent: {}", listed(absent)),
        message=pl.format("absent under selfEvaluation.verifier_evaluation: {}", listed(absent)),
    )


@check("gatekeeper-verdict-conflict", serves="R26")
def gatekeeper_verdict_conflict(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """No trace passes verification after the Gatekeeper failed it.

    Asked of every trace. The Gatekeeper's status is compared trimmed and in any letter case, the verdict exactly. A
    trace without a Gatekeeper or without a verdict contradicts nothing.

    Why it matters: a PASS over a Gatekeeper failure means that the audit layer can no longer be trusted.

    Passes: Gatekeeper `fail`, verdict REJECT
    Fails: Gatekeeper `fail`, verdict PASS
    """
    conflict = (pl.col("gatekeeper_status") == "fail") & (pl.col("verdict") == "PASS")
    return Judgement(
        asked=pl.lit(value=True),
        holds=~conflict.fill_null(value=False),
        expected=pl.lit("no verdict PASS where the Gatekeeper failed the trace"),
        observed=pl.lit("gatekeeper_result.status is fail, the verdict is PASS"),
        message=pl.lit("the Gatekeeper failed this trace, yet the verdict is PASS: the audit chain contradicts itself"),
    )


@check("claim-checks-auditable", serves="R27")
def claim_checks_auditable(facts: Facts) -> Judgement:
    """Every claim check says which claim it judges, how, and why.

    Asked where `audit.claimChecks` is true or `audit.minClaimChecks` is set. There are at least `minClaimChecks`
    (default 1), each has `claim_id`, `verification` and `detail`, and the verification is a value of the Verifier
    contract, compared exactly. It fails where `claim_checks` is absent, even with a minimum of 0.

    Why it matters: a verdict is only as good as the claim checks that one can read behind it.

    Passes: `{"claim_id": "c1", "verification": "supported", "detail": "pool at 12/12"}`
    Fails: `{"claim_id": "c1", "verification": "looks fine"}`
    """
    names = ("claim_id", "verification", "detail")
    place = _place("claim_checks")
    lacking = pl.concat_list(*(pl.when(pl.col(name).is_null()).then(pl.lit(name)) for name in names)).list.drop_nulls()
    judged = facts.claim_checks.join(facts.rows.select("row", "claim_verifications"), on="row").with_columns(
        known=pl.col("verification").is_in(pl.col("claim_verifications")),
    )
    faults = (
        facts.redacted(judged)
        .sort("row", "position")
        .select(
            "row",
            fault=pl.concat_list(
                pl.when(lacking.list.len() > 0).then(pl.format("{} lacks {}", place, listed(lacking))),
                pl.when(~pl.col("known")).then(
                    pl.format('{} has the unknown verification "{}"', place, shown(pl.col("verification"))),
                ),
            ).list.drop_nulls(),
        )
        .explode("fault", empty_as_null=False)
        .group_by("row", maintain_order=True)
        .agg(claim_faults="fault")
    )
    count, least = pl.col("claim_check_count"), pl.col("min_claim_checks")
    reasons = pl.concat_list(
        pl.when(count.is_null()).then(pl.lit("claim_checks is absent")),
        pl.when(count < least).then(pl.format("too few of them: {} of at least {}", count, least)),
        joined(pl.col("claim_faults")),
    ).list.drop_nulls()
    return Judgement(
        asked=pl.col("claim_checks_asked"),
        holds=(count >= least) & pl.col("claim_faults").is_null(),
        expected=pl.format(
            "at least {}, each with claim_id, detail and a verification of: {}",
            counted(least, "claim check"),
            listed(pl.col("claim_verifications")),
        ),
        observed=joined(reasons),
        message=pl.format("the claim checks cannot be audited: {}", joined(reasons)),
        facts=faults,
    )


@check("composer-auditable", serves="R28")
def composer_auditable(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The Composer recorded whether it rendered parsed output or the fallback.

    Asked where `audit.composer` is true. What is read: `parsed`, `fallback`, `fallback_used`, `mode`, `status`,
    `rendering`, and a `composer_output` that is just text. An absent one fails, one that says nothing of it too, and
    one that says both.

    Why it matters: an answer rendered by the fallback skipped the filter, which a reviewer must be able to see.

    Passes: `"composer_output": {"mode": "parsed"}`
    Fails: `"composer_output": {}`
    """
    status = pl.col("composer_status")
    observed = (
        pl.when(~pl.col("composer_present"))
        .then(pl.lit("composer_output is absent"))
        .when(status.is_null())
        .then(pl.lit("composer_output says neither parsed nor fallback"))
        .otherwise(pl.lit("composer_output says both parsed and fallback"))
    )
    return Judgement(
        asked=pl.col("composer_asked"),
        holds=status.is_in(["parsed", "fallback"]),
        expected=pl.lit("a composer_output that says parsed or fallback"),
        observed=observed,
        message=pl.format("the rendering cannot be audited: {}", observed),
    )


@check("claim-bindings", serves="design of V2")
def claim_bindings(facts: Facts) -> Judgement:
    """Every executor claim binds evidence that was really gathered, and every claim check judges a known claim.

    Asked where `audit.claimBindings` is true. Each of `executorOutput.claims` has an id and at least one evidence
    binding, each binding names a tool in `toolInvocations` (a call that failed was called, a mention in the trace
    summary was not), and the `claim_id` of each claim check is that of such a claim. Names and ids are compared
    exactly. It fails where the claims or the claim checks are absent.

    Why it matters: a claim bound to a tool that was never called is invented evidence.

    Passes: `{"claim_id": "c1", "evidence_bindings": [{"toolName": "searchLogs"}]}` and a call of `searchLogs`
    Fails: the same claim, calls of `queryMysqlStatus` only
    """
    claims = facts.executor_claims
    missing = (
        claims.select("row", "position", tool="tools")
        .explode("tool", empty_as_null=False)
        .drop_nulls("tool")
        .join(facts.tools, on=["row", "tool"], how="anti")
        .group_by("row", "position")
        .agg(uncalled=pl.col("tool").unique().sort())
    )
    claim = pl.coalesce(pl.format("claim {}", shown(pl.col("claim_id"))), _place("claims"))
    bound, uncalled = pl.col("tools"), pl.col("uncalled")
    bindings = (
        claims.join(missing, on=["row", "position"], how="left")
        .select(
            "row",
            "position",
            "claim_id",
            unbound=bound.list.len() == 0,
            nameless=bound.list.eval(pl.element().is_null()).list.any(),
            uncalled=uncalled,
        )
        .filter(pl.any_horizontal(pl.col("claim_id").is_null(), "unbound", "nameless", uncalled.is_not_null()))
    )
    unbound = facts.redacted(bindings).select(
        "row",
        "position",
        part=pl.lit(1),
        fault=pl.concat_list(
            pl.when(pl.col("claim_id").is_null()).then(pl.format("{} has no claim_id", _place("claims"))),
            pl.when("unbound").then(pl.format("{} binds no evidence", claim)),
            pl.when("nameless").then(pl.format("{} has a binding without a tool name", claim)),
            pl.when(uncalled.is_not_null()).then(
                pl.format("{} binds what was never called: {}", claim, listed(uncalled)),
            ),
        ).list.drop_nulls(),
    )
    strays = facts.claim_checks.join(claims, on=["row", "claim_id"], how="anti")
    checks = facts.redacted(strays).select(
        "row",
        "position",
        part=pl.lit(2),
        fault=pl.concat_list(
            pl.format(
                "{} judges {}",
                _place("claim_checks"),
                pl.coalesce(pl.format("the unknown claim {}", shown(pl.col("claim_id"))), pl.lit("no claim")),
            ),
        ),
    )
    faults = (
        pl.concat([unbound, checks])
        .sort("row", "part", "position")
        .explode("fault", empty_as_null=False)
        .group_by("row", maintain_order=True)
        .agg(binding_faults="fault")
    )
    reasons = pl.concat_list(
        pl.when(~pl.col("executor_claims_present")).then(pl.lit("executorOutput.claims is absent")),
        pl.when(~pl.col("claim_checks_present")).then(pl.lit("claim_checks is absent")),
        joined(pl.col("binding_faults")),
    ).list.drop_nulls()
    return Judgement(
        asked=pl.col("claim_bindings_asked"),
        holds=pl.col("executor_claims_present") & pl.col("claim_checks_present") & pl.col("binding_faults").is_null(),
        expected=pl.lit("claims bound to tools that were called, and claim checks of those claims"),
        observed=joined(reasons),
        message=pl.format("the claims are not bound to evidence: {}", joined(reasons)),
        facts=faults,
    )


@check("unsupported-claims", serves="design of V2")
def unsupported_claims(facts: Facts) -> Judgement:
    """No more claims are unsupported or contradicted than the case allows.

    Asked where `audit.maxUnsupportedClaims` is set. What counts are the claim checks whose `verification` is
    `unsupported` or `contradicted`. It fails where `claim_checks` is absent.

    Why it matters: a rising share of unsupported claims shows a worse Executor long before a verdict flips.

    Passes: `maxUnsupportedClaims: 0`, all claim checks `supported`
    Fails: `maxUnsupportedClaims: 0`, one claim check `contradicted`
    """
    bad = (
        facts.redacted(facts.claim_checks.filter(pl.col("verification").is_in(UNSUPPORTED)))
        .sort("row", "position")
        .group_by("row", maintain_order=True)
        .agg(
            unsupported=pl.format(
                "{} ({})",
                pl.coalesce(shown(pl.col("claim_id")), _place("claim_checks")),
                "verification",
            ),
        )
    )
    count, most = pl.col("unsupported").list.len().fill_null(0), pl.col("max_unsupported_claims")
    known = pl.col("claim_checks_present")
    return Judgement(
        asked=most.is_not_null(),
        holds=known & (count <= most),
        expected=pl.format("at most {}", counted(most, "unsupported or contradicted claim")),
        observed=pl.when(known)
        .then(pl.format("{}: {}", count, listed(pl.col("unsupported"))))
        .otherwise(pl.lit("claim_checks is absent")),
        message=pl.when(known)
        .then(
            pl.format(
                "{}, over the limit of {}: {}",
                counted(count, "unsupported or contradicted claim"),
                most,
                listed(pl.col("unsupported")),
            ),
        )
        .otherwise(pl.lit("the number of unsupported claims is unknown: claim_checks is absent")),
        facts=bad,
    )


@check("unsupported-claim-text", serves="design of V2")
def unsupported_claim_text(facts: Facts) -> Judgement:
    """No text of an unsupported or contradicted claim stands in the final answer.

    Asked where `audit.noUnsupportedClaimText` is true. The claim's text is cut into sentences, and those that count
    (see `degraded-output`) must not stand in the answer. It fails where `claim_checks` is absent, and where the text
    of such a claim is not known.

    Why it matters: this is the leak that the Composer exists to stop.

    Passes: claim c2 is `contradicted`, the answer does not repeat it
    Fails: claim c2 is `contradicted`, and its sentence stands in the answer
    """
    # One without a text is one that cannot be ruled out.
    unknown = (
        facts.redacted(facts.unsupported_claims.filter(pl.col("text").is_null()))
        .sort("row", "position")
        .select("row", claim=pl.coalesce(shown(pl.col("claim_id")), _place("claim_checks")))
        .group_by("row", maintain_order=True)
        .agg(unknown_texts=pl.col("claim").unique(maintain_order=True))
    )
    leaks = pl.col("claim_leaks")
    reasons = pl.concat_list(
        pl.when(~pl.col("claim_checks_present")).then(pl.lit("claim_checks is absent")),
        pl.format("executorOutput.claims has no text for {}", listed(pl.col("unknown_texts"))),
        pl.format("it repeats: {}", listed(leaks, " / ")),
    ).list.drop_nulls()
    return Judgement(
        asked=pl.col("no_unsupported_text_asked"),
        holds=pl.col("claim_checks_present") & pl.col("unknown_texts").is_null() & leaks.is_null(),
        expected=pl.lit("no text of an unsupported or contradicted claim in the answer"),
        observed=joined(reasons),
        message=pl.format("the answer is not clear of unsupported claims: {}", joined(reasons)),
        facts=facts.rows.select("row")
        .join(unknown, on="row", how="left")
        .join(facts.leaked_sentences("claim"), on="row", how="left"),
    )


def _place(name: str) -> pl.Expr:
    """An element of a list as a JSON path writes it; positions count from 1, paths from 0."""
    return pl.format(f"{name}[{{}}]", pl.col("position").cast(pl.Int64) - 1)
