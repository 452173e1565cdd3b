"""Checks of the final answer: its keywords, what it must not say, and the degraded output."""

import polars as pl

from pipeline.checks.base import Facts, Judgement, check, counted, joined, listed, number


@check("answer-present", serves="R05")
def answer_present(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """There is a final answer.

    Asked of every trace. An absent, null or blank `finalAnswer` is no answer, nor is one of which a reader sees
    nothing: invisible characters or bare Markdown.

    Why it matters: a run that says nothing also leaks nothing and claims nothing wrong, so without this check an
    agent that died half-way could look clean.

    Passes: `"finalAnswer": "The connection pool is exhausted."`
    Fails: `"finalAnswer": "  "`
    """
    absent = pl.col("answer").is_null()
    return Judgement(
        asked=pl.lit(value=True),
        holds=~absent & (pl.col("answer_text") != ""),
        expected=pl.lit("a final answer"),
        observed=pl.when(absent).then(pl.lit("none")).otherwise(pl.lit("text of which a reader sees nothing")),
        message=pl.when(absent)
        .then(pl.lit("the trace has no final answer: finalAnswer is absent or blank"))
        .otherwise(
            pl.lit("the final answer shows a reader nothing: it is all invisible characters or bare Markdown"),
        ),
    )


@check("root-cause-keywords", serves="R05")
def root_cause_keywords(facts: Facts) -> Judgement:
    """The answer names the root cause: enough of the expected keywords stand in it.

    Asked where `rootCauseKeywords` is not empty, under verdict REJECT too. Every entry counts once, whichever of its
    synonyms is found, and the share of entries found must reach `minKeywordCoverage`. Letter case, Markdown, full-width
    forms and spacing make no difference; a digit at the edge of a keyword has no further digit beside it.

    Why it matters: this is what "the diagnosis is right" means here. It is lexical: it sees words, not truth.

    Passes: keywords `[[connection pool, 连接池], exhausted]`, answer "The **Connection Pool** is exhausted."
    Fails: the same keywords at coverage 1.0, answer "The connection pool is too small."
    """
    entries = pl.col("keyword_entries")
    found = pl.col("root_cause_found").list.len()
    return Judgement(
        asked=entries > 0,
        holds=found / entries >= pl.col("min_keyword_coverage"),
        expected=pl.format("a coverage of at least {}", number(pl.col("min_keyword_coverage"))),
        observed=pl.format("{} of {} found; missing: {}", found, entries, listed(pl.col("root_cause_missing"), "; ")),
        message=pl.format(
            "the answer names {} of {}, under the minimum coverage of {}; missing: {}",
            found,
            counted(entries, "root-cause keyword"),
            number(pl.col("min_keyword_coverage")),
            listed(pl.col("root_cause_missing"), "; "),
        ),
        facts=facts.keywords("root-cause", "root_cause"),
    )


@check("forbidden-answer-keywords", serves="R02")
def forbidden_answer_keywords(facts: Facts) -> Judgement:
    """The answer says nothing that the case forbids.

    Asked where `forbiddenAnswerKeywords` is not empty. One entry that stands in the answer is enough to fail. A
    negation counts too ("do not restart the database"): the check sees words only.

    Why it matters: some wrong answers are known in advance, such as advice that would make the incident worse.

    Passes: forbidden `[restart the database]`, answer "Raise the pool size."
    Fails: the same, answer "Restart the database at once."
    """
    return _forbidden(
        facts,
        purpose="forbidden-answer",
        prefix="forbidden_answer",
        expected="no forbidden keyword in the answer",
        message="the answer contains what this case forbids: {}",
    )


@check("forbidden-confirmed-claims", serves="R29")
def forbidden_confirmed_claims(facts: Facts) -> Judgement:
    """The answer states no claim that the case knows to be unsupported.

    Asked where `forbiddenConfirmedClaims` is not empty. Entries are written and searched like keywords; a verdict
    does not matter.

    Why it matters: the Composer must filter what the Verifier did not support. A claim that is known to be wrong for
    this case and stands in the answer has slipped through the whole chain.

    Passes: forbidden `[primary failed over]`, answer "Replication lag rose after a long transaction."
    Fails: the same, answer "Lag rose because the primary failed over."
    """
    return _forbidden(
        facts,
        purpose="forbidden-claim",
        prefix="forbidden_claim",
        expected="no forbidden confirmed claim in the answer",
        message="the answer states what must not be confirmed: {}",
    )


@check("raw-protocol-leak", serves="R30, R31")
def raw_protocol_leak(facts: Facts) -> Judgement:
    r"""No raw Executor protocol reaches the user.

    Asked where `audit.required` is true, whatever the Composer did: fallback rendering is no excuse. The markers are
    the case file's `protocolMarkers`; they are found in any letter case and behind Markdown (`claim\_id`).

    Why it matters: an answer with `evidence_bindings` in it is the Executor's JSON, unverified and unreadable.

    Passes: answer "The pool is exhausted (12 of 12 connections in use)."
    Fails: answer `{"answer_version": "executor_evidence_v2", "answer": "The pool is exhausted."}`
    """
    judgement = _forbidden(
        facts,
        purpose="protocol-marker",
        prefix="marker",
        expected="no raw Executor protocol in the answer",
        message="raw Executor protocol stands in the answer: {}",
    )
    return Judgement(
        asked=pl.col("audit_required"),
        holds=judgement.holds.fill_null(value=True),
        expected=judgement.expected,
        observed=judgement.observed,
        message=judgement.message,
        facts=judgement.facts,
    )


@check("degraded-output", serves="R06")
def degraded_output(facts: Facts) -> Judgement:
    """Under verdict REJECT the answer is a degraded one, and leaks nothing of the unverified answer.

    Asked of every trace with verdict REJECT. The answer contains one of `degradedOutput.requiredAnyOf`, none of
    `degradedOutput.forbidden`, and no counting sentence of `executorOutput.answer` (or of `executorOutput` where it
    is text). A sentence counts from a width of 20 (CJK characters count 2), or from 8 where it is the whole text; one
    that holds a `requiredAnyOf` text or stands in the question does not count.

    Why it matters: a rejected diagnosis that reaches the user anyway is the failure that the Verifier exists to stop.

    Passes: verdict REJECT, answer "Unable to confirm a cause: the slow log is empty."
    Fails: verdict REJECT, answer "The pool is exhausted, raise it to 64."
    """
    required, forbidden = (
        facts.keywords("degraded-required", "degraded_text"),
        facts.keywords("degraded-forbidden", "degraded_forbidden"),
    )
    found = (
        facts.rows.select("row")
        .join(required, on="row", how="left")
        .join(forbidden, on="row", how="left")
        .join(facts.leaked_sentences("answer"), on="row", how="left")
    )
    # Without an entry in requiredAnyOf there is nothing that must be said, hence null counts as met.
    said = (pl.col("degraded_text_found").list.len() > 0).fill_null(value=True)
    must_not = pl.col("degraded_forbidden_found").list.len().fill_null(0)
    leaks = pl.col("answer_leaks").list.len().fill_null(0)
    reasons = pl.concat_list(
        pl.when(~said).then(
            pl.format("it says none of: {}", listed(pl.col("degraded_text_missing"), " / ")),
        ),
        pl.when(must_not > 0).then(
            pl.format(
                "it says what a degraded answer must not: {}",
                listed(pl.col("degraded_forbidden_found"), " / "),
            ),
        ),
        pl.when(leaks > 0).then(
            pl.format("it repeats the unverified answer: {}", listed(pl.col("answer_leaks"), " / ")),
        ),
    ).list.drop_nulls()
    return Judgement(
        asked=(pl.col("verdict") == "REJECT").fill_null(value=False),
        holds=said & (must_not == 0) & (leaks == 0),
        expected=pl.lit("under REJECT a degraded answer that leaks nothing of the unverified one"),
        observed=joined(reasons),
        message=pl.format("the verdict is REJECT but the answer is no degraded output: {}", joined(reasons)),
        facts=found,
    )


def _forbidden(facts: Facts, *, purpose: str, prefix: str, expected: str, message: str) -> Judgement:
    found = pl.col(f"{prefix}_found")
    return Judgement(
        asked=found.is_not_null(),
        holds=found.list.len() == 0,
        expected=pl.lit(expected),
        observed=listed(found, "; "),
        message=pl.format(message, listed(found, "; ")),
        facts=facts.keywords(purpose, prefix),
    )
