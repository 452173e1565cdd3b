"""Checks of the way the agent took: the order of its calls and their arguments."""

import polars as pl

from pipeline.checks.base import NAMELESS, Facts, Judgement, check, joined, listed, shown
from pipeline.flatten.arguments import lines_of
from pipeline.flatten.suite import CALL_END, CALL_START
from pipeline.schemas import ENGINE


@check("tool-order", serves="beyond the sources")
def tool_order(facts: Facts) -> Judgement:
    """The calls contain the given tools in the given order.

    Asked where `toolOrder` is not empty. Other calls may stand between them, a tool that is named twice must be called
    twice, and a call that failed counts. Without `toolInvocations` it fails.

    Why it matters: looking at the change log before the metrics have shown that anything is wrong is how an agent
    comes to blame the last deployment for everything.

    Passes: order `[queryMetrics, searchLogs]`, calls `queryMetrics, redisInfo, searchLogs`
    Fails: order `[queryMetrics, searchLogs]`, calls `searchLogs, queryMetrics`
    """
    name = pl.col("tool").fill_null("")
    clean = name.str.replace_all(f"[{CALL_START}{CALL_END}]", "\ufffd")
    asked = pl.col("tool_order").list.len() > 0
    calls = (
        facts.calls.join(facts.rows.filter(asked).select("row"), on="row", how="semi")
        .sort("row", "position")
        .group_by("row", maintain_order=True)
        .agg(
            order=pl.concat_str(pl.lit(CALL_START), clean, pl.lit(CALL_END)).str.join(""),
            order_names=pl.col("tool").fill_null(NAMELESS),
        )
    )
    observed = (
        pl.when(pl.col("tool_call_count").is_null())
        .then(pl.lit("toolInvocations is absent"))
        .otherwise(pl.format("calls: {}", listed(pl.col("order_names")).fill_null("none")))
    )
    wanted = listed(pl.col("tool_order"), " > ")
    return Judgement(
        asked=asked,
        holds=pl.col("order").str.contains(pl.col("tool_order_pattern")),
        expected=wanted,
        observed=observed,
        message=pl.format("the calls do not contain the sequence {}; {}", wanted, observed),
        facts=calls,
    )


@check("tool-arguments", serves="beyond the sources")
def tool_arguments(facts: Facts) -> Judgement:
    """Some call of the tool has the arguments that the case asks for.

    Asked where `toolArguments` is not empty; every entry must be met. `mode: subset` allows further arguments,
    `exact` does not. Objects are compared by key, recursively; lists as wholes; numbers by value; text exactly.
    Arguments that are no JSON match nothing. Without `toolInvocations` it fails.

    Why it matters: the right tool asked about the wrong service is no evidence.

    Passes: `{tool: searchLogs, arguments: {service: checkout}}`, a call with `{"service": "checkout", "limit": 50}`
    Fails: the same, a call with `{"service": "payment"}`
    """
    calls = facts.calls.select(
        "row",
        "tool",
        "position",
        call_arguments="arguments",
        call_json=pl.when("arguments_parsed").then(pl.col("arguments")),
    )
    wanted = facts.argument_entries.select("row", "entry", "tool", "mode", "arguments")
    # An entry without any call of its tool keeps one line with nulls, and so is unmet.
    pairs = wanted.join(calls, on=["row", "tool"], how="left").collect(engine=ENGINE)
    met = (
        pairs.lazy()
        .join(_contained(pairs), on=["arguments", "call_json"], how="left")
        .with_columns(
            met=pl.when(pl.col("mode") == "exact")
            .then(pl.col("call_json") == pl.col("arguments"))
            .otherwise(pl.col("contained"))
            .fill_null(value=False),
        )
        .group_by("row", "entry")
        .agg(pl.col("met").any())
    )
    per_row = met.group_by("row").agg(arguments_asked=pl.len(), arguments_met=pl.col("met").sum())

    def unmet(rows: pl.Series) -> pl.LazyFrame:
        entries = (
            pairs.lazy()
            .join(met.filter(~pl.col("met"), pl.col("row").is_in(rows.implode())), on=["row", "entry"], how="semi")
            .group_by("row", "entry", "tool", "mode", "arguments")
            .agg(
                times=pl.col("position").count(),
                seen=facts.free_text(pl.col("call_arguments")).drop_nulls().unique().sort(),
            )
            .sort("row", "entry")
        )
        return (
            facts.redacted(entries)
            .group_by("row", maintain_order=True)
            .agg(
                arguments_unmet=pl.format("{} with {} {}", tool, mode, shown(pl.col("arguments"))),
                arguments_seen=seen.unique(maintain_order=True),
            )
        )

    tool = shown(pl.col("tool"))
    mode = pl.when(pl.col("mode") == "exact").then(pl.lit("exactly")).otherwise(pl.lit("at least"))
    seen = (
        pl.when(pl.col("times") == 0)
        .then(pl.format("{} was never called", tool))
        .when(pl.col("seen").list.len() == 0)
        .then(pl.format("{} was called without arguments", tool))
        .otherwise(pl.format("{} was called with {}", tool, listed(pl.col("seen"), " / ")))
    )
    expected = joined(pl.col("arguments_unmet"))
    observed = (
        pl.when(pl.col("tool_call_count").is_null())
        .then(pl.lit("toolInvocations is absent"))
        .otherwise(joined(pl.col("arguments_seen")))
    )
    return Judgement(
        asked=pl.col("arguments_asked").is_not_null(),
        holds=pl.col("arguments_met") == pl.col("arguments_asked"),
        expected=expected,
        observed=observed,
        message=pl.format("there is no call of {}; {}", expected, observed),
        facts=per_row,
        details=unmet,
    )


def _contained(pairs: pl.DataFrame) -> pl.LazyFrame:
    """Which arguments hold at least the members of which: `arguments`, `call_json`, `contained`, each pair once."""
    distinct = pairs.filter(pl.col("mode") == "subset").select("arguments", "call_json").unique().drop_nulls()
    texts = pl.concat([distinct["arguments"], distinct["call_json"]]).unique(maintain_order=True)
    lines = lines_of(texts.to_list()).lazy()
    return (
        distinct.lazy()
        .join(lines, on="arguments", how="left")
        .join(lines.select(call_json="arguments", call_leaves="leaves"), on="call_json", how="left")
        .select(
            "arguments",
            "call_json",
            contained=pl.col("leaves").list.set_difference(pl.col("call_leaves")).list.len() == 0,
        )
    )
