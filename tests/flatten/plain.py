"""The flattening read plainly, one trace after the other: what the columns must say, in the words of the contract."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
import polars as pl
from polars._typing import PolarsDataType

from pipeline import schemas, text
from pipeline.flatten.audit import _first, composer_status, summary_tools
from pipeline.flatten.calls import SUCCESS_WORDS
from pipeline.flatten.traces import TraceFrames, _elapsed, _evaluation, errors_frame
from pipeline.sources.base import (
    ClaimCheck,
    ComposerOutput,
    ExecutorClaim,
    ExecutorOutput,
    Gatekeeper,
    NamedTool,
    ReadTrace,
    ToolInvocation,
    Trace,
    Unreadable,
    Usage,
    VerifierEvaluation,
    Warned,
)
from pipeline.sources.canonical import canonical_json

Number = TypeVar("Number", int, float)

_ENCODER = msgspec.json.Encoder(order="sorted")


def flatten_traces(
    records: Iterable[ReadTrace],
    unreadable: Iterable[Unreadable] = (),
) -> TraceFrames:
    """Turn a batch of traces into frames.

    Args:
        records: the readable traces, in the order read.
        unreadable: the records that could not be read.
    """
    traces = _Columns(schemas.Traces)
    audits = _Columns(schemas.Audit)
    calls = _Columns(schemas.ToolInvocations)
    claim_checks = _Columns(schemas.ClaimChecks)
    claims = _Columns(schemas.ExecutorClaims)
    warnings = _Columns(schemas.Warnings)
    for number, record in enumerate(records):
        trace = record.trace
        noticed = list(record.warned)
        evaluation = _evaluation(trace)
        executor = trace.executorOutput
        _add_trace(traces, number, record, evaluation, noticed)
        _add_audit(audits, number, evaluation, executor)
        _add_calls(calls, number, trace.toolInvocations, noticed)
        _add_claim_checks(claim_checks, number, evaluation)
        _add_claims(claims, number, executor)
        for warned in noticed:
            warnings.add(record.file, record.line, warned.path, warned.kind, warned.message)
    frame = traces.data()
    invocations = calls.data()
    frame = frame.with_columns(answer_text=text.normalise(pl.col("answer")))
    return TraceFrames(
        traces=schemas.checked(schemas.Traces, frame),
        tool_invocations=schemas.checked(schemas.ToolInvocations, invocations),
        claim_checks=schemas.checked(schemas.ClaimChecks, claim_checks.data()),
        executor_claims=schemas.checked(schemas.ExecutorClaims, claims.data()),
        audit=schemas.checked(schemas.Audit, audits.data()),
        errors=errors_frame([one.fault for one in unreadable]),
        warnings=schemas.checked(schemas.Warnings, warnings.data()),
    )


class _Columns:
    """Values collected column by column, in the order of a schema.

    Args:
        schema: the schema.
    """

    def __init__(self, schema: type[schemas.Schema]) -> None:
        self.dtypes = schemas.dtypes_of(schema)
        self.rows: list[tuple[object, ...]] = []

    def add(self, *values: object) -> None:
        self.rows.append(values)

    def data(self) -> pl.DataFrame:
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.dtypes)
        return pl.DataFrame(
            [
                _series(name, list(values), dtype)
                for (name, dtype), values in zip(self.dtypes.items(), columns, strict=True)
            ],
        )


def _series(name: str, values: list[Any], dtype: PolarsDataType) -> pl.Series:
    if dtype != schemas.TEXTS:
        return pl.Series(name, values, dtype=dtype)
    # Through JSON: some ten times as fast as a series made of Python lists.
    texts = [None if value is None else _ENCODER.encode(value).decode() for value in values]
    return pl.Series(name, texts, dtype=pl.String).str.json_decode(schemas.TEXTS)


def present(value: str | None) -> str | None:
    """A text that exists: not null, and more than white space."""
    return value if value is not None and value.strip() else None


def first_text(*spellings: str | None) -> str | None:
    """The first spelling that exists."""
    for value in spellings:
        if value is not None and value.strip():
            return value
    return None


def tool_name(named: ToolInvocation | NamedTool | str | None) -> str | None:
    """The name of a tool in any accepted spelling, or None where there is none."""
    if named is None or isinstance(named, str):
        return present(named)
    return first_text(named.toolName, named.tool_name, named.name, named.tool)


def _free_text(value: Any) -> str | None:
    """A free-form value as text: text as it is, anything else as canonical JSON, blank and null as absent."""
    return present(value) if isinstance(value, str) else None if value is None else canonical_json(value)


def _add_trace(
    columns: _Columns,
    number: int,
    record: ReadTrace,
    evaluation: VerifierEvaluation,
    noticed: list[Warned],
) -> None:
    trace = record.trace
    usage = trace.usage or Usage()
    tokens = {
        name: _not_negative(getattr(usage, name), f"$.usage.{name}", noticed)
        for name in ("inputTokens", "outputTokens", "totalTokens")
    }
    total = tokens["totalTokens"]
    if total is None and tokens["inputTokens"] is not None and tokens["outputTokens"] is not None:
        total = tokens["inputTokens"] + tokens["outputTokens"]
        if total > 2**63 - 1:
            total = None
            message = "the sum of $.usage.inputTokens and $.usage.outputTokens is out of range and counts as unknown"
            noticed.append(Warned(path="$.usage", kind="figure-out-of-range", message=message))
    calls = trace.toolInvocations
    columns.add(
        number,
        present(trace.traceId),
        present(trace.caseId),
        trace.trial,
        record.file,
        record.line,
        present(trace.question),
        present(trace.finalAnswer),
        None,
        present(trace.status),
        present(trace.model),
        present(evaluation.verdict),
        evaluation.score,
        _duration(trace, noticed),
        tokens["inputTokens"],
        tokens["outputTokens"],
        total,
        _not_negative(usage.costUsd, "$.usage.costUsd", noticed),
        sum(call is not None for call in calls) if isinstance(calls, list) else None,
        summary_tools(evaluation),
        sha256(_ENCODER.encode(trace)).hexdigest(),
    )


def _duration(trace: Trace, noticed: list[Warned]) -> float | None:
    """Milliseconds: as stated, else from the two times, else unknown; a negative one is unknown."""
    if trace.durationMs is not None:
        return _not_negative(trace.durationMs, "$.durationMs", noticed)
    return _not_negative(_elapsed(trace.startedAt, trace.finishedAt), "$.finishedAt", noticed)


def _not_negative(value: Number | None, path: str, noticed: list[Warned]) -> Number | None:
    if value is None or value >= 0:
        return value
    message = f"{path} is negative ({value}) and counts as unknown"
    noticed.append(Warned(path=path, kind="negative-figure", message=message))
    return None


def _add_audit(
    columns: _Columns,
    number: int,
    evaluation: VerifierEvaluation,
    executor: ExecutorOutput | str | None,
) -> None:
    gatekeeper = _first(evaluation.gatekeeper_result, evaluation.gatekeeperResult)
    checks = _first(evaluation.claim_checks, evaluation.claimChecks)
    composer = _first(evaluation.composer_output, evaluation.composerOutput)
    status = present(gatekeeper.status) if isinstance(gatekeeper, Gatekeeper) else None
    violations = gatekeeper.violations if isinstance(gatekeeper, Gatekeeper) else None
    structured = executor if isinstance(executor, ExecutorOutput) else None
    answer = structured.answer if structured else executor if isinstance(executor, str) else None
    columns.add(
        number,
        gatekeeper is not None,
        None if status is None else status.strip().lower(),
        None if violations is None else canonical_json(violations),
        checks is not None,
        len(checks) if isinstance(checks, list) else None,
        composer is not None,
        composer_status(composer if isinstance(composer, ComposerOutput | str) else None),
        structured is not None and structured.claims is not None,
        present(answer),
    )


def _add_calls(
    columns: _Columns,
    number: int,
    calls: list[ToolInvocation | None] | str | None,
    noticed: list[Warned],
) -> None:
    if not isinstance(calls, list):
        return
    position = 0
    for index, call in enumerate(calls):
        if call is None:
            path = f"$.toolInvocations[{index}]"
            message = f"{path} is null; it is no tool call and was dropped"
            noticed.append(Warned(path=path, kind="null-tool-call", message=message))
            continue
        position += 1
        name = tool_name(call)
        duration = call.durationMs
        if duration is not None and duration < 0:
            duration = _not_negative(duration, f"$.toolInvocations[{index}].durationMs", noticed)
        arguments = call.arguments
        if isinstance(arguments, str):
            arguments_text, parsed = present(arguments), False
        else:
            arguments_text = None if arguments is None else canonical_json(arguments)
            parsed = True
        columns.add(
            number,
            position,
            name,
            arguments_text,
            None if arguments_text is None else parsed,
            _free_text(call.resultSummary),
            call.success,
            call_failed(call),
            _free_text(call.error),
            duration,
        )


def call_failed(call: ToolInvocation) -> bool:
    """Whether a call is known to have failed: by its success flag, its error, or its status."""
    error = call.error
    return (
        call.success is False
        or bool(error.strip() if isinstance(error, str) else error)
        or (isinstance(call.status, str) and bool(word := call.status.strip().upper()) and word not in SUCCESS_WORDS)
    )


def _add_claim_checks(columns: _Columns, number: int, evaluation: VerifierEvaluation) -> None:
    checks = _first(evaluation.claim_checks, evaluation.claimChecks)
    if isinstance(checks, list):
        for position, check in enumerate(checks, start=1):
            columns.add(
                number,
                position,
                _claim_id(check),
                present(check.verification),
                present(check.detail),
            )


def _add_claims(columns: _Columns, number: int, executor: ExecutorOutput | str | None) -> None:
    if isinstance(executor, ExecutorOutput) and executor.claims is not None:
        for position, claim in enumerate(executor.claims, start=1):
            bound = claim.evidence_bindings if claim.evidence_bindings is not None else claim.evidenceBindings
            columns.add(
                number,
                position,
                _claim_id(claim),
                present(claim.text),
                [tool_name(one) for one in bound or ()],
            )


def _claim_id(claim: ClaimCheck | ExecutorClaim) -> str | None:
    return first_text(claim.claim_id, claim.claimId)
