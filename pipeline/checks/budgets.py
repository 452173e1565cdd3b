"""Checks of what a run may cost. A figure that the trace does not give is never within a limit."""

import polars as pl

from pipeline.checks.base import Facts, Judgement, check, number


@check("tool-call-budget", serves="beyond the sources")
def tool_call_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run made no more tool calls than `maxToolCalls`.

    Asked where `maxToolCalls` is set. Every element of `toolInvocations` counts, null ones excepted.

    Why it matters: an agent that goes in circles still finds the answer, at several times the price.

    Passes: `maxToolCalls: 5`, 4 calls
    Fails: `maxToolCalls: 5`, 9 calls
    """
    return _budget("tool_call_count", "max_tool_calls", unit="tool calls", source="toolInvocations")


@check("duration-budget", serves="beyond the sources")
def duration_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run took no longer than `maxDurationMs`.

    Asked where `maxDurationMs` is set. The duration is `durationMs`, else `finishedAt` less `startedAt`.

    Why it matters: an on-call engineer waits for the answer.

    Passes: `maxDurationMs: 60000`, `"durationMs": 8421`
    Fails: `maxDurationMs: 60000`, `"durationMs": 184000`
    """
    return _budget("duration_ms", "max_duration_ms", unit="ms", source="durationMs, or startedAt and finishedAt")


@check("token-budget", serves="beyond the sources")
def token_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run used no more tokens than `maxTotalTokens`.

    Asked where `maxTotalTokens` is set. Tokens are `usage.totalTokens`, else input plus output where both are known.

    Why it matters: a prompt change that doubles the context shows here first.

    Passes: `maxTotalTokens: 20000`, `"totalTokens": 8200`
    Fails: `maxTotalTokens: 20000`, `"totalTokens": 41000`
    """
    return _budget("total_tokens", "max_total_tokens", unit="tokens", source="usage.totalTokens")


@check("cost-budget", serves="beyond the sources")
def cost_budget(facts: Facts) -> Judgement:  # noqa: ARG001 - every check takes the facts
    """The run cost no more than `maxCostUsd`.

    Asked where `maxCostUsd` is set.

    Why it matters: a model change that costs three times as much should be a decision, not a surprise.

    Passes: `maxCostUsd: 0.10`, `"costUsd": 0.04`
    Fails: `maxCostUsd: 0.10`, `"costUsd": 0.31`
    """
    return _budget("cost_usd", "max_cost_usd", unit="US dollars", source="usage.costUsd")


def _budget(figure: str, limit: str, *, unit: str, source: str) -> Judgement:
    value, most = pl.col(figure), pl.col(limit)
    return Judgement(
        asked=most.is_not_null(),
        holds=value <= most,
        expected=pl.format(f"at most {{}} {unit}", number(most)),
        observed=pl.when(value.is_null()).then(pl.lit("unknown")).otherwise(pl.format(f"{{}} {unit}", number(value))),
        message=pl.when(value.is_null())
        .then(pl.format(f"the number of {unit} is unknown ({source} is absent), the limit is {{}}", number(most)))
        .otherwise(pl.format(f"{{}} {unit}, over the limit of {{}}", number(value), number(most))),
    )
