"""The cases as frames: one row per case, per keyword alternative, per evidence tool, per argument requirement."""

from collections.abc import Iterable, Sequence

import msgspec
import polars as pl

from pipeline import schemas, text
from pipeline.cases.digest import case_definition, case_digest
from pipeline.cases.model import (
    Case,
    KeywordEntry,
    Pattern,
    ToolArguments,
    alternatives,
    label,
    tool_alternatives,
)
from pipeline.sources.canonical import canonical_json

# Around each tool name in the joined call names, so that a name is found as a whole.
CALL_START, CALL_END = "\x1e", "\x1f"


class SuiteFrames(msgspec.Struct, frozen=True, kw_only=True):
    """The selected cases as frames; see `schemas` for their columns."""

    cases: pl.DataFrame
    keywords: pl.DataFrame
    evidence: pl.DataFrame
    arguments: pl.DataFrame


def flatten_suite(cases: Sequence[Case]) -> SuiteFrames:
    """Turn cases into frames.

    Args:
        cases: the selected cases, ids unique.
    """
    return SuiteFrames(
        cases=_cases(cases),
        keywords=_keywords(cases),
        evidence=_evidence(cases),
        arguments=_arguments(cases),
    )


def _cases(cases: Sequence[Case]) -> pl.DataFrame:
    excused = iter(
        text.normalise_texts([one for case in cases for one in case.degraded_output.required_any_of]),
    )
    questions = iter(text.normalise_texts([case.question for case in cases]))
    columns: dict[str, list[object]] = {name: [] for name in schemas.Cases.column_names()}
    for case in cases:
        audit = case.audit
        row: dict[str, object] = {
            "case_id": case.id,
            "question": case.question,
            "question_text": next(questions),
            "tags": case.tags,
            "trace_fixture": case.trace_fixture,
            "keyword_entries": len(case.root_cause_keywords),
            "min_keyword_coverage": float(case.min_keyword_coverage),
            "evidence_required": [label(entry) for entry in case.required_evidence_tools],
            "evidence_policy": case.evidence_policy,
            "require_verdict": case.require_verdict,
            "allowed_verdicts": case.allowed_verdicts,
            "forbidden_verdicts": case.forbidden_verdicts,
            "degraded_required": [next(excused) for _ in case.degraded_output.required_any_of],
            "audit_required": audit.required,
            "claim_checks_asked": audit.claim_checks or audit.min_claim_checks is not None,
            "min_claim_checks": 1 if audit.min_claim_checks is None else audit.min_claim_checks,
            "claim_verifications": case.verifier_contract.claim_verifications,
            "composer_asked": audit.composer,
            "claim_bindings_asked": audit.claim_bindings,
            "max_unsupported_claims": audit.max_unsupported_claims,
            "no_unsupported_text_asked": audit.no_unsupported_claim_text,
            "forbidden_tools": case.forbidden_tools,
            "tool_order": case.tool_order,
            "tool_order_pattern": _order_pattern(case.tool_order),
            "max_tool_calls": case.max_tool_calls,
            "max_duration_ms": case.max_duration_ms,
            "max_total_tokens": case.max_total_tokens,
            "max_cost_usd": case.max_cost_usd,
            "definition": case_definition(case),
            "definition_digest": case_digest(case),
        }
        for name, values in columns.items():
            values.append(row[name])
    return schemas.frame(schemas.Cases, {**columns})


def _order_pattern(tools: Sequence[str]) -> str | None:
    if not tools:
        return None
    return "(?s)" + ".*".join(CALL_START + pl.escape_regex(tool) + CALL_END for tool in tools)


def _keywords(cases: Sequence[Case]) -> pl.DataFrame:
    case_ids: list[str] = []
    purposes: list[str] = []
    entries: list[int] = []
    labels: list[str] = []
    words: list[str | None] = []
    plains: list[str | None] = []
    regexes: list[str | None] = []
    for case in cases:
        for purpose, listed in _keyword_lists(case):
            for position, entry in enumerate(listed, start=1):
                for keyword in alternatives(entry):
                    case_ids.append(case.id)
                    purposes.append(purpose)
                    entries.append(position)
                    labels.append(label(entry))
                    pattern = keyword if isinstance(keyword, Pattern) else Pattern()
                    plains.append(keyword if isinstance(keyword, str) else None)
                    words.append(pattern.word)
                    regexes.append(pattern.regex)
    frame = pl.DataFrame(
        {
            "case_id": case_ids,
            "purpose": purposes,
            "entry": entries,
            "label": labels,
            "plain": plains,
            "word": words,
            "regex": regexes,
        },
        schema={
            "case_id": pl.String,
            "purpose": schemas.Purpose,
            "entry": pl.UInt32,
            "label": pl.String,
            "plain": pl.String,
            "word": pl.String,
            "regex": pl.String,
        },
    )
    frame = frame.with_columns(plain=text.normalise(pl.col("plain")), word=text.normalise(pl.col("word")))
    frame = frame.with_columns(
        literal=pl.coalesce("plain", "word"),
        pattern=pl.coalesce(
            text.plain_pattern(pl.col("plain")),
            text.word_pattern(pl.col("word")),
            text.regex_pattern(pl.col("regex")),
        ),
    )
    return schemas.checked(schemas.Keywords, frame.select(schemas.Keywords.column_names()))


def _keyword_lists(case: Case) -> Iterable[tuple[str, Sequence[KeywordEntry]]]:
    yield "root-cause", case.root_cause_keywords
    yield "forbidden-answer", case.forbidden_answer_keywords
    yield "forbidden-claim", case.forbidden_confirmed_claims
    yield "degraded-required", case.degraded_output.required_any_of
    yield "degraded-forbidden", case.degraded_output.forbidden
    yield "protocol-marker", case.protocol_markers


def _evidence(cases: Sequence[Case]) -> pl.DataFrame:
    rows = [
        (case.id, position, label(entry), tool)
        for case in cases
        for position, entry in enumerate(case.required_evidence_tools, start=1)
        for tool in dict.fromkeys(tool_alternatives(entry))
    ]
    return _columns(schemas.EvidenceEntries, rows)


def _arguments(cases: Sequence[Case]) -> pl.DataFrame:
    def row(case: Case, position: int, entry: ToolArguments) -> tuple[object, ...]:
        return (case.id, position, entry.tool, entry.mode, canonical_json(entry.arguments))

    rows = [row(case, position, entry) for case in cases for position, entry in enumerate(case.tool_arguments, start=1)]
    return _columns(schemas.ArgumentEntries, rows)


def _columns(schema: type[schemas.Schema], rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    names = schema.column_names()
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return schemas.frame(schema, dict(zip(names, map(list, columns), strict=True)))
