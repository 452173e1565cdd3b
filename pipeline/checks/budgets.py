"""Checks of what a run may cost. A figure that the trace does not give is never within a limit."""

from collections.abc import Callable

import polars as pl

from pipeline.checks.base import Facts, Judgement, check, counted, number


@check("tool-call-budget", serves="beyond the sources")
def tool_call_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run made no more tool calls than `maxToolCalls`.

    Asked where `maxToolCalls` is set. Every element of `toolInvocations` counts, null ones excepted. Without
    `toolInvocations` the number is unknown, and it fails.

    Why it matters: an agent that goes in circles still finds the answer, at several times the price.

    Passes: `maxToolCalls: 5`, 4 calls
    Fails: `maxToolCalls: 5`, 9 calls
    """
    return _budget(
        "tool_call_count",
        "max_tool_calls",
        words=lambda calls: counted(calls, "tool call"),
        over="the run made {}",
        unknown="the number of tool calls is unknown: toolInvocations is absent",
    )


@check("duration-budget", serves="beyond the sources")
def duration_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run took no longer than `maxDurationMs`.

    Asked where `maxDurationMs` is set. The duration is `durationMs`, else `finishedAt` less `startedAt`; unknown
    (a negative one, times that do not parse) fails.

    Why it matters: an on-call engineer waits for the answer.

    Passes: `maxDurationMs: 60000`, `"durationMs": 8421`
    Fails: `maxDurationMs: 60000`, `"durationMs": 184000`
    """
    return _budget(
        "duration_ms",
        "max_duration_ms",
        words=lambda duration: pl.format("{} ms", number(duration)),
        over="the run took {}",
        unknown="the duration is unknown: neither durationMs nor startedAt and finishedAt tell it",
    )


@check("token-budget", serves="beyond the sources")
def token_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run used no more tokens than `maxTotalTokens`.

    Asked where `maxTotalTokens` is set. Tokens are `usage.totalTokens`, else `inputTokens` plus `outputTokens` where
    both are known; unknown fails.

    Why it matters: a prompt change that doubles the context shows here first.

    Passes: `maxTotalTokens: 20000`, `"totalTokens": 8200`
    Fails: `maxTotalTokens: 20000`, `"totalTokens": 41000`
    """
    return _budget(
        "total_tokens",
        "max_total_tokens",
        words=lambda tokens: counted(tokens, "token"),
        over="the run used {}",
        unknown="the number of tokens is unknown: usage tells neither totalTokens nor inputTokens and outputTokens",
    )


@check("cost-budget", serves="beyond the sources")
def cost_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run cost no more than `maxCostUsd`.

    Asked where `maxCostUsd` is set. The cost is `usage.costUsd`; unknown fails.

    Why it matters: a model change that costs three times as much should be a decision, not a surprise.

    Passes: `maxCostUsd: 0.10`, `"costUsd": 0.04`
    Fails: `maxCostUsd: 0.10`, `"costUsd": 0.31`
    """
    return _budget(
        "cost_usd",
        "max_cost_usd",
        words=lambda cost: counted(cost, "US dollar"),
        over="the run cost {}",
        unknown="the cost is unknown: usage.costUsd does not tell it",
    )


def _budget(
    figure: str,
    limit: str,
    *,
    words: Callable[[pl.Expr], pl.Expr],
    over: str,
    unknown: str,
) -> Judgement:
    """The judgement of one figure against one limit.

    Args:
        figure: column of what the run used; null is unknown.
        limit: column of the limit; null asks for nothing.
        words: a figure with its unit.
        over: what the run did, `{}` where the figure stands.
        unknown: why a figure is not known.
    """
    value, most = pl.col(figure), pl.col(limit)
    return Judgement(
        asked=most.is_not_null(),
        holds=value <= most,
        expected=pl.format("at most {}", words(most)),
        observed=pl.when(value.is_null()).then(pl.lit("unknown")).otherwise(words(value)),
        message=pl.when(value.is_null())
        .then(pl.format(f"{unknown}; the limit is {{}}", words(most)))
        .otherwise(pl.format(f"{over}, over the limit of {{}}", words(value), number(most))),
    )
