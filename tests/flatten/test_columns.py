"""Columns of values, and the whole flattening against its plain reading (contract section 2)."""

import sys
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline.errors import Fault
from pipeline.flatten.columns import canonical_texts, free_texts, present
from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.sources.base import (
    ClaimCheck,
    ComposerOutput,
    ExecutorClaim,
    ExecutorOutput,
    Gatekeeper,
    NamedTool,
    ReadTrace,
    SelfEvaluation,
    ToolInvocation,
    ToolList,
    Trace,
    Unreadable,
    Usage,
    VerifierEvaluation,
    Warned,
)
from pipeline.sources.canonical import canonical_json
from tests.flatten import plain

TEXTS = st.sampled_from(["", " ", "\x1c\u3000", "x", " ok ", "連接池", "**Pool**", "PASS", "parsed", "a\nb"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
NUMBERS = st.sampled_from([0, -1, 1, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)
FLOATS = st.sampled_from([0.0, -0.0, -1.0, 2.0, 1e16, 1e300]) | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | FLOATS | TEXTS | st.sampled_from(["1.0", "2e3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def made(kind: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A struct, each of its fields there or not; those that are not named are texts."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    return st.fixed_dictionaries({}, optional={name: st.none() | fields.get(name, TEXTS) for name in names}).map(
        lambda values: kind(**values)
    )


TIMES = st.sampled_from(["2026-11-03T00:00:00Z", " 2026-11-03T00:00:01.5Z", "2026-11-03T00:00:02", "soon", ""])
TOOLS = st.lists(TEXTS | made(NamedTool) | st.none(), max_size=3)
CALL = made(
    ToolInvocation,
    arguments=JSON,
    success=st.booleans(),
    status=st.sampled_from(["Ok", "failed", " "]) | JSON,
    durationMs=FLOATS,
    resultSummary=JSON,
    error=JSON,
)
SUMMARY = TOOLS | made(ToolList, tools=TOOLS)
CHECKS = st.lists(made(ClaimCheck), max_size=2) | TEXTS
GATEKEEPER = made(Gatekeeper, violations=JSON) | TEXTS
COMPOSER = made(ComposerOutput, **dict.fromkeys(("parsed", "fallback", "fallback_used", "fallbackUsed"), JSON)) | TEXTS
VERIFIER = made(
    VerifierEvaluation,
    score=FLOATS,
    **dict.fromkeys(("trace_summary", "trace_summaries", "traceSummary", "traceSummaries"), SUMMARY),
    gatekeeper_result=GATEKEEPER,
    gatekeeperResult=GATEKEEPER,
    claim_checks=CHECKS,
    claimChecks=CHECKS,
    composer_output=COMPOSER,
    composerOutput=COMPOSER,
)
CLAIM = made(ExecutorClaim, evidence_bindings=TOOLS, evidenceBindings=TOOLS)
TRACE = made(
    Trace,
    trial=NUMBERS,
    startedAt=TIMES,
    finishedAt=TIMES,
    durationMs=FLOATS,
    usage=made(Usage, inputTokens=NUMBERS, outputTokens=NUMBERS, totalTokens=NUMBERS, costUsd=FLOATS),
    executorOutput=made(ExecutorOutput, claims=st.lists(CLAIM, max_size=2)) | TEXTS,
    toolInvocations=st.lists(CALL | st.none(), max_size=3),
    selfEvaluation=made(SelfEvaluation, verifier_evaluation=VERIFIER | TEXTS, verifierEvaluation=VERIFIER) | TEXTS,
)
WARNED = st.sampled_from([(), (Warned(path="$", kind="lone-surrogate", message="repaired"),)])
RECORD = st.builds(
    ReadTrace, trace=TRACE, file=st.just("x.jsonl"), line=st.none() | st.integers(1, 9), root=st.just(0), warned=WARNED
)


@given(st.lists(RECORD, max_size=4))
def test_columns_say_what_a_reading_of_each_trace_by_itself_says(records: list[ReadTrace]) -> None:
    fault = Fault(file="x.jsonl", line=3, path="$.trial", expected="an integer", found="text", message="Correct it.")
    unreadable = [Unreadable(fault=fault, root=0)]
    columns, rows = flatten_traces(records, unreadable), plain.flatten_traces(records, unreadable)
    for name in TraceFrames.__struct_fields__:
        assert_frame_equal(getattr(columns, name), getattr(rows, name))


@given(st.lists(JSON, max_size=5))
def test_the_canonical_texts_of_values_are_those_of_each(values: list[Any]) -> None:
    texts = [None if value is None else canonical_json(value) for value in values]
    assert canonical_texts(values).to_list() == texts
    assert free_texts(values).to_list() == [
        value if isinstance(value, str) else text for value, text in zip(values, texts, strict=True)
    ]


def test_every_character_is_as_blank_for_a_column_as_it_is_for_python() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    frame = pl.DataFrame({"text": characters}).select("text", present=present("text").is_not_null())
    assert frame["present"].to_list() == [bool(character.strip()) for character in characters]


@pytest.mark.parametrize("total", [None, -1])
def test_a_sum_of_tokens_that_is_out_of_range_is_unknown_with_a_warning(total: int | None) -> None:
    usage = Usage(inputTokens=2**63 - 1, outputTokens=1, totalTokens=total)
    frames = flatten_traces([ReadTrace(trace=Trace(usage=usage), file="x.json", line=None, root=0)])
    assert frames.traces.select("input_tokens", "output_tokens", "total_tokens").row(0) == (2**63 - 1, 1, None)
    path, kind, message = frames.warnings.select("path", "kind", "message").row(-1)
    assert (path, kind) == ("$.usage", "figure-out-of-range")
    assert message == "the sum of $.usage.inputTokens and $.usage.outputTokens is out of range and counts as unknown"
