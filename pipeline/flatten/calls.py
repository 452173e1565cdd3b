"""Tool calls as a frame: what was called, what it was given and gave back, whether it failed."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

import polars as pl

from pipeline.flatten.columns import (
    canonical_texts,
    first_present,
    free_texts,
    places,
    present,
    texts,
)
from pipeline.schemas import ENGINE
from pipeline.sources.base import ToolInvocation, Trace

SUCCESS_WORDS: Final = frozenset({"SUCCESS", "SUCCEEDED", "OK", "COMPLETED"})
_SPELLINGS: Final = ("toolName", "tool_name", "name", "tool")
_CALL: Final = frozenset({ToolInvocation})


def recorded_calls(trace: Trace) -> list[ToolInvocation | None] | None:
    """The calls of a trace as they were recorded, null elements too; None where there is no list of them."""
    calls = trace.toolInvocations
    return calls if isinstance(calls, list) else None


def calls_frame(traces: Sequence[Trace]) -> pl.DataFrame:
    """The calls of a batch of traces in order, without null elements.

    Returns:
        The columns of `schemas.ToolInvocations`, but a negative duration still as it was given.
    """
    listed = [recorded_calls(trace) or [] for trace in traces]
    if not _CALL.issuperset(map(type, chain.from_iterable(listed))):
        listed = [[call for call in calls if call is not None] for calls in listed]
    calls: list[ToolInvocation] = list(chain.from_iterable(listed))  # type: ignore[arg-type] # no null is left
    arguments = [call.arguments for call in calls]
    errors = [call.error for call in calls]
    statuses = [call.status if isinstance(call.status, str) else None for call in calls]
    given = pl.LazyFrame(
        {
            **places(listed),
            **{name: texts([getattr(call, name) for call in calls]) for name in _SPELLINGS},
            # An object or a list inside a string was taken out of it when the trace was read.
            "text": texts([value if isinstance(value, str) else None for value in arguments]),
            "parsed": canonical_texts([None if isinstance(value, str) else value for value in arguments]),
            "result": free_texts([call.resultSummary for call in calls]),
            "success": pl.Series([call.success for call in calls], dtype=pl.Boolean),
            "error": free_texts(errors),
            # False, 0, and what is empty are no errors.
            "has_error": pl.Series([bool(value) for value in errors], dtype=pl.Boolean),
            "status": texts(statuses),
            "duration_ms": pl.Series([call.durationMs for call in calls], dtype=pl.Float64),
        }
    )
    parsed, text, error = pl.col("parsed"), present("text"), present("error")
    return given.select(
        "trace",
        "position",
        "success",
        "duration_ms",
        error,
        present("result"),
        tool=first_present(*_SPELLINGS),
        arguments=pl.coalesce(parsed, text),
        arguments_parsed=pl.when(parsed.is_not_null() | text.is_not_null()).then(parsed.is_not_null()),
        failed=~pl.col("success").fill_null(value=True)
        | (error.is_not_null() & pl.col("has_error"))
        | pl.col("status").is_in(_failing(statuses)).fill_null(value=False),
    ).collect(engine=ENGINE)


def _failing(statuses: Sequence[str | None]) -> list[str]:
    """Those of the statuses that say that a call has failed."""
    said = {status: status.strip().upper() for status in set(statuses) if status is not None}
    return [status for status, word in said.items() if word and word not in SUCCESS_WORDS]
