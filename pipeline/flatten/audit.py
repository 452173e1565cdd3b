"""The V2 audit chain as frames: Gatekeeper, claim checks, Composer, and the Executor's claims."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import polars as pl

from pipeline.flatten.columns import canonical_texts, first_present, places, present, text_lists, texts
from pipeline.schemas import ENGINE
from pipeline.sources.base import (
    ClaimCheck,
    ComposerOutput,
    ExecutorOutput,
    Gatekeeper,
    NamedTool,
    ToolList,
    TraceSummary,
    VerifierEvaluation,
)

Value = TypeVar("Value")
Executor = ExecutorOutput | str | None

_NO_GATEKEEPER: Final = Gatekeeper()


def audit_frame(evaluations: Sequence[VerifierEvaluation], executors: Sequence[Executor]) -> pl.DataFrame:
    """A row for each trace: the columns of `schemas.Audit`."""
    found: list[Gatekeeper | str | None] = [_first(one.gatekeeper_result, one.gatekeeperResult) for one in evaluations]
    gatekeepers = [one if isinstance(one, Gatekeeper) else _NO_GATEKEEPER for one in found]
    checks = list(map(_claim_checks, evaluations))
    composers: list[ComposerOutput | str | None] = [
        _first(one.composer_output, one.composerOutput) for one in evaluations
    ]
    answers = [one.answer if isinstance(one, ExecutorOutput) else one for one in executors]
    return (
        pl.LazyFrame(
            {
                "gatekeeper_present": _booleans([one is not None for one in found]),
                "gatekeeper_status": texts([_word(one.status) for one in gatekeepers]),
                "gatekeeper_violations": canonical_texts([one.violations for one in gatekeepers]),
                "claim_checks_present": _booleans([one is not None for one in checks]),
                "claim_check_count": pl.Series(
                    [len(one) if isinstance(one, list) else None for one in checks], dtype=pl.UInt32
                ),
                "composer_present": _booleans([one is not None for one in composers]),
                "composer_status": texts([composer_status(one) for one in composers]),
                "executor_claims_present": _booleans(
                    [isinstance(one, ExecutorOutput) and one.claims is not None for one in executors]
                ),
                "executor_answer": texts(answers),
            }
        )
        .with_columns(present("executor_answer"))
        .with_row_index("trace")
        .collect(engine=ENGINE)
    )


def claim_checks_frame(evaluations: Sequence[VerifierEvaluation]) -> pl.DataFrame:
    """The claim checks of all traces, in order: the columns of `schemas.ClaimChecks`."""
    listed = [found if isinstance(found, list) else [] for found in map(_claim_checks, evaluations)]
    checks = list(chain.from_iterable(listed))
    return (
        pl.LazyFrame(
            {
                **places(listed),
                "claim_id": texts([check.claim_id for check in checks]),
                "claimId": texts([check.claimId for check in checks]),
                "verification": texts([check.verification for check in checks]),
                "detail": texts([check.detail for check in checks]),
            }
        )
        .with_columns(present("verification"), present("detail"), claim_id=first_present("claim_id", "claimId"))
        .collect(engine=ENGINE)
    )


def executor_claims_frame(executors: Sequence[Executor]) -> pl.DataFrame:
    """The Executor's claims of all traces, in order: the columns of `schemas.ExecutorClaims`."""
    listed = [(one.claims or []) if isinstance(one, ExecutorOutput) else [] for one in executors]
    claims = list(chain.from_iterable(listed))
    bound = [
        claim.evidence_bindings if claim.evidence_bindings is not None else claim.evidenceBindings or []
        for claim in claims
    ]
    return (
        pl.LazyFrame(
            {
                **places(listed),
                "claim_id": texts([claim.claim_id for claim in claims]),
                "claimId": texts([claim.claimId for claim in claims]),
                "text": texts([claim.text for claim in claims]),
                "tools": text_lists([[tool_name(one) for one in tools] for tools in bound]),
            }
        )
        .with_columns(present("text"), claim_id=first_present("claim_id", "claimId"))
        .collect(engine=ENGINE)
    )


def summary_tools(evaluation: VerifierEvaluation) -> list[str | None] | None:
    """The tools that the trace summary names, in its first spelling; None without one."""
    summaries: tuple[TraceSummary | None, ...] = (
        evaluation.trace_summary,
        evaluation.trace_summaries,
        evaluation.traceSummary,
        evaluation.traceSummaries,
    )
    for summary in summaries:
        if summary is not None:
            listed = summary.tools if isinstance(summary, ToolList) else summary
            # An object without a list of tools says nothing about tools, so it is no summary to judge by.
            return None if listed is None else [name for one in listed if (name := tool_name(one)) is not None]
    return None


def tool_name(named: NamedTool | str | None) -> str | None:
    """The name in one mention of a tool, in its first spelling that exists, or None where there is none."""
    spellings = (named.toolName, named.tool_name, named.name, named.tool) if isinstance(named, NamedTool) else (named,)
    return next((name for name in spellings if name is not None and name.strip()), None)


def composer_status(composer: ComposerOutput | str | None) -> str | None:
    """How the answer was rendered, by what the Composer recorded.

    Returns:
        `parsed`, `fallback`, `contradictory` where it says both, or None where it says neither.
    """
    if composer is None:
        return None
    if isinstance(composer, str):
        composer = ComposerOutput(mode=composer)
    flags = (
        composer.parsed,
        _negated(composer.fallback),
        _negated(composer.fallback_used if composer.fallback_used is not None else composer.fallbackUsed),
    )
    said = {"parsed" if flag else "fallback" for flag in flags if isinstance(flag, bool)}
    for word in (composer.mode, composer.status, composer.rendering):
        plain = word.strip().lower() if isinstance(word, str) else None
        if plain in {"parsed", "fallback"}:
            said.add(plain)
    return "contradictory" if len(said) > 1 else next(iter(said), None)


def _claim_checks(evaluation: VerifierEvaluation) -> list[ClaimCheck] | str | None:
    return _first(evaluation.claim_checks, evaluation.claimChecks)


def _negated(flag: Any) -> bool | None:
    return not flag if isinstance(flag, bool) else None


def _word(status: str | None) -> str | None:
    return status.strip().lower() or None if status else None


def _booleans(values: Sequence[bool]) -> pl.Series:
    return pl.Series(values=values, dtype=pl.Boolean)


def _first(snake: Value, camel: Value) -> Value | None:
    """The snake_case field where it exists, else the camelCase one; blank text does not exist."""
    return snake if _exists(snake) else camel if _exists(camel) else None


def _exists(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())
