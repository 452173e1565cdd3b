"""Traces as frames: structs to columns.

Every rule of contract section 2 on what a field *means* stands here and in the modules that this one calls: spellings
and their order, blank is absent, failed calls, durations, the Composer's words. Fields are taken out of the structs
column by column, and what can be decided for a whole column at once is an expression over it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec
import polars as pl

from pipeline import schemas, text
from pipeline.errors import Fault
from pipeline.flatten.audit import audit_frame, claim_checks_frame, executor_claims_frame, summary_tools
from pipeline.flatten.calls import calls_frame, recorded_calls
from pipeline.flatten.columns import present, text_lists, texts
from pipeline.sources.base import ReadTrace, SelfEvaluation, Trace, Unreadable, Usage, VerifierEvaluation, Warned

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_NO_EVALUATION: Final = VerifierEvaluation()
_NO_USAGE: Final = Usage()
_INT64_MAX: Final = 2**63 - 1
_TEXTS_GIVEN: Final = ("trace_id", "own_case_id", "own_question", "answer", "run_status", "model", "verdict")
_FIGURES: Final = ("input_tokens", "output_tokens", "total_tokens", "cost_usd", "duration_ms")


class TraceFrames(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of traces as frames; see `schemas` for their columns."""

    traces: pl.DataFrame
    tool_invocations: pl.DataFrame
    claim_checks: pl.DataFrame
    executor_claims: pl.DataFrame
    audit: pl.DataFrame
    errors: pl.DataFrame
    warnings: pl.DataFrame


def flatten_traces(records: Sequence[ReadTrace], unreadable: Iterable[Unreadable] = ()) -> TraceFrames:
    """Turn a batch of traces into frames.

    Args:
        records: the readable traces, in the order read.
        unreadable: the records that could not be read.
    """
    traces = [record.trace for record in records]
    evaluations = [_evaluation(trace) for trace in traces]
    executors = [trace.executorOutput for trace in traces]
    given = _given(records, evaluations)
    calls = calls_frame(traces)
    odd = _odd(records, given, calls)
    return TraceFrames(
        traces=schemas.checked(schemas.Traces, _known(given)),
        tool_invocations=schemas.checked(schemas.ToolInvocations, calls.with_columns(_not_negative("duration_ms"))),
        claim_checks=schemas.checked(schemas.ClaimChecks, claim_checks_frame(evaluations)),
        executor_claims=schemas.checked(schemas.ExecutorClaims, executor_claims_frame(executors)),
        audit=schemas.checked(schemas.Audit, audit_frame(evaluations, executors)),
        errors=errors_frame([one.fault for one in unreadable]),
        warnings=_warnings_frame([records[number] for number in odd]),
    )


def errors_frame(faults: Sequence[Fault]) -> pl.DataFrame:
    """Record-level faults as rows of the errors frame."""
    names = schemas.Errors.column_names()
    return schemas.frame(schemas.Errors, {name: [getattr(fault, name) for fault in faults] for name in names})


def _evaluation(trace: Trace) -> VerifierEvaluation:
    own = trace.selfEvaluation
    if isinstance(own, SelfEvaluation):
        found = own.verifier_evaluation if own.verifier_evaluation is not None else own.verifierEvaluation
        if isinstance(found, VerifierEvaluation):
            return found
    return _NO_EVALUATION


def _given(records: Sequence[ReadTrace], evaluations: Sequence[VerifierEvaluation]) -> pl.DataFrame:
    """The columns of `schemas.Traces` as the traces give them: blank texts and negative figures too."""
    traces = [record.trace for record in records]
    usages = [trace.usage or _NO_USAGE for trace in traces]
    listed = [recorded_calls(trace) for trace in traces]
    return pl.DataFrame(
        {
            "trace_id": texts([trace.traceId for trace in traces]),
            "own_case_id": texts([trace.caseId for trace in traces]),
            "own_trial": pl.Series([trace.trial for trace in traces], dtype=pl.Int64),
            "file": texts([record.file for record in records]),
            "line": pl.Series([record.line for record in records], dtype=pl.UInt32),
            "own_question": texts([trace.question for trace in traces]),
            "answer": texts([trace.finalAnswer for trace in traces]),
            "run_status": texts([trace.status for trace in traces]),
            "model": texts([trace.model for trace in traces]),
            "verdict": texts([evaluation.verdict for evaluation in evaluations]),
            "score": pl.Series([evaluation.score for evaluation in evaluations], dtype=pl.Float64),
            "duration_ms": pl.Series([_duration(trace) for trace in traces], dtype=pl.Float64),
            "input_tokens": pl.Series([usage.inputTokens for usage in usages], dtype=pl.Int64),
            "output_tokens": pl.Series([usage.outputTokens for usage in usages], dtype=pl.Int64),
            "total_tokens": pl.Series([usage.totalTokens for usage in usages], dtype=pl.Int64),
            "cost_usd": pl.Series([usage.costUsd for usage in usages], dtype=pl.Float64),
            "tool_call_count": pl.Series(
                [None if calls is None else len(calls) - calls.count(None) for calls in listed], dtype=pl.UInt32
            ),
            "summary_tools": text_lists([summary_tools(evaluation) for evaluation in evaluations]),
            "content_digest": texts([sha256(_ENCODER.encode(trace)).hexdigest() for trace in traces]),
        }
    )


def _known(given: pl.DataFrame) -> pl.DataFrame:
    """The columns of `schemas.Traces`: what exists, and figures that can be."""
    both = pl.col("input_tokens") + pl.col("output_tokens")
    return (
        given.lazy()
        .with_columns(*map(present, _TEXTS_GIVEN), *map(_not_negative, _FIGURES))
        # A sum that is out of range wraps around, and so is negative.
        .with_columns(total_tokens=pl.coalesce("total_tokens", pl.when(both >= 0).then(both)))
        .with_columns(answer_text=text.normalise(pl.col("answer")))
        .with_row_index("trace")
        .collect(engine=schemas.ENGINE)
    )


def _not_negative(column: str) -> pl.Expr:
    """Figures that can be; a negative one counts as unknown."""
    return pl.when(pl.col(column) >= 0).then(pl.col(column))


def _duration(trace: Trace) -> float | None:
    """Milliseconds: as stated, else from the two times, else unknown."""
    return trace.durationMs if trace.durationMs is not None else _elapsed(trace.startedAt, trace.finishedAt)


def _elapsed(start: str | None, end: str | None) -> float | None:
    started, finished = _time(start), _time(end)
    if started is None or finished is None or (started.tzinfo is None) != (finished.tzinfo is None):
        return None
    elapsed = finished - started
    # Whole microseconds first: the same two times give the same figure whatever the platform's float of seconds.
    microseconds = (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
    return microseconds / 1000


def _time(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return None


def _odd(records: Sequence[ReadTrace], given: pl.DataFrame, calls: pl.DataFrame) -> list[int]:
    """The numbers of the records of which there is something to warn."""
    both = pl.col("input_tokens") + pl.col("output_tokens")
    figures = given.select(odd=pl.any_horizontal(*(pl.col(name) < 0 for name in _FIGURES), both < 0))["odd"]
    found = set(figures.arg_true())
    found.update(calls.filter(pl.col("duration_ms") < 0)["trace"])
    found.update(
        number for number, record in enumerate(records) if record.warned or None in (recorded_calls(record.trace) or ())
    )
    return sorted(found)


def _warnings_frame(records: Sequence[ReadTrace]) -> pl.DataFrame:
    rows = [
        (record.file, record.line, warned.path, warned.kind, warned.message)
        for record in records
        for warned in (*record.warned, *_noticed(record.trace))
    ]
    return schemas.checked(
        schemas.Warnings, pl.DataFrame(rows, schema=schemas.dtypes_of(schemas.Warnings), orient="row")
    )


def _noticed(trace: Trace) -> Iterator[Warned]:
    """What a person should know of the figures and the calls of a trace."""
    usage = trace.usage or _NO_USAGE
    for name in ("inputTokens", "outputTokens", "totalTokens"):
        yield from _negative(getattr(usage, name), f"$.usage.{name}")
    if (usage.totalTokens is None or usage.totalTokens < 0) and (usage.inputTokens or 0) + (
        usage.outputTokens or 0
    ) > _INT64_MAX:
        yield Warned(
            path="$.usage",
            kind="figure-out-of-range",
            message="the sum of $.usage.inputTokens and $.usage.outputTokens is out of range and counts as unknown",
        )
    yield from _negative(_duration(trace), "$.finishedAt" if trace.durationMs is None else "$.durationMs")
    yield from _negative(usage.costUsd, "$.usage.costUsd")
    for index, call in enumerate(recorded_calls(trace) or ()):
        path = f"$.toolInvocations[{index}]"
        if call is None:
            message = f"{path} is null; it is no tool call and was dropped"
            yield Warned(path=path, kind="null-tool-call", message=message)
        else:
            yield from _negative(call.durationMs, f"{path}.durationMs")


def _negative(value: float | None, path: str) -> Iterator[Warned]:
    if value is not None and value < 0:
        message = f"{path} is negative ({value}) and counts as unknown"
        yield Warned(path=path, kind="negative-figure", message=message)
