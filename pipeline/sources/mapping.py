"""A mapping: JMESPath expressions that say where a homemade JSON log has the fields of a trace.

These structs are the one declaration of the mapping file, and travel to wherever shards are read. `mapping_format`
makes a trace format of one, which is as good as any other: refusals, repairs, shards and engines included.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable
from pipeline.sources.json_text import ANY, decode_document
from pipeline.sources.mapped_base import read_with_base
from pipeline.sources.mapped_fields import Mapper, fill
from pipeline.sources.records import Found, Run, placed
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused, describe

Formula = Annotated[str, Meta(min_length=1, description="a JMESPath expression, as text")]


class MappingStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all parts of a mapping file: immutable, camelCase in the file, unknown keys refused."""


class UsageFields(MappingStruct, frozen=True, kw_only=True):
    """Where tokens and cost stand.

    Attributes:
        input_tokens: whole number.
        output_tokens: whole number.
        total_tokens: whole number.
        cost_usd: number, US dollars.
    """

    input_tokens: Formula | None = None
    output_tokens: Formula | None = None
    total_tokens: Formula | None = None
    cost_usd: Formula | None = None


class CallFields(MappingStruct, frozen=True, kw_only=True):
    """Where the tool calls stand; all but `items` is asked of each call.

    Attributes:
        items: the list of calls, asked of the record.
        tool_name: text.
        arguments: anything; JSON inside a text is taken out of it.
        success: true or false.
        status: a text other than SUCCESS, SUCCEEDED, OK, COMPLETED (any case) says that the call failed.
        error: anything; what is not blank, null, false, 0 or empty says that the call failed.
        duration_ms: number, milliseconds.
        result_summary: anything.
    """

    items: Formula
    tool_name: Formula | None = None
    arguments: Formula | None = None
    success: Formula | None = None
    status: Formula | None = None
    error: Formula | None = None
    duration_ms: Formula | None = None
    result_summary: Formula | None = None


class ClaimCheckFields(MappingStruct, frozen=True, kw_only=True):
    """Where the Verifier's claim checks stand; all but `items` is asked of each check.

    Attributes:
        items: the list of checks, asked of the record.
        claim_id: text.
        verification: text.
        detail: text.
    """

    items: Formula
    claim_id: Formula | None = None
    verification: Formula | None = None
    detail: Formula | None = None


class ClaimFields(MappingStruct, frozen=True, kw_only=True):
    """Where the Executor's claims stand; all but `items` is asked of each claim.

    Attributes:
        items: the list of claims, asked of the record.
        claim_id: text.
        text: text.
        evidence_tools: list of the names of the tools whose results show it.
    """

    items: Formula
    claim_id: Formula | None = None
    text: Formula | None = None
    evidence_tools: Formula | None = None


class MappedFields(MappingStruct, frozen=True, kw_only=True):
    """Where the fields of a trace stand in a record of the log.

    Attributes:
        trace_id: text, the trace's own id; with `base` also what tells which trace a record belongs to.
        case_id: text, the case that the trace belongs to.
        trial: whole number, which of several runs of one case.
        question: text.
        final_answer: text, what the user was told.
        status: text, the run's end state.
        started_at: text, ISO 8601.
        finished_at: text, ISO 8601.
        duration_ms: number, milliseconds.
        model: text.
        usage: tokens and cost.
        tool_invocations: the tool calls.
        verdict: text; with `verdicts` anything that stands in that table.
        score: number, the Verifier's.
        gatekeeper_status: text, `pass` or `fail`.
        composer_mode: text, `parsed` or `fallback`.
        claim_checks: the Verifier's claim checks.
        executor_answer: text, the answer before it was verified.
        executor_claims: the claims that it rests on.
    """

    trace_id: Formula | None = None
    case_id: Formula | None = None
    trial: Formula | None = None
    question: Formula | None = None
    final_answer: Formula | None = None
    status: Formula | None = None
    started_at: Formula | None = None
    finished_at: Formula | None = None
    duration_ms: Formula | None = None
    model: Formula | None = None
    usage: UsageFields | None = None
    tool_invocations: CallFields | None = None
    verdict: Formula | None = None
    score: Formula | None = None
    gatekeeper_status: Formula | None = None
    composer_mode: Formula | None = None
    claim_checks: ClaimCheckFields | None = None
    executor_answer: Formula | None = None
    executor_claims: ClaimFields | None = None


class Mapping(MappingStruct, frozen=True, kw_only=True):
    """A mapping file.

    Attributes:
        schema_version: the version of this format.
        name: what to call the log's format.
        base: a trace format that reads the documents; the mapping then only adds what that leaves empty.
        records: the list of records of a document; without it a document is one record.
        fields: where the fields of a trace stand in a record.
        verdicts: for each value of the verdict expression, the verdict that it means.
    """

    schema_version: Literal[1]
    name: Annotated[str, Meta(min_length=1)]
    base: Annotated[str, Meta(min_length=1)] | None = None
    records: Formula | None = None
    fields: MappedFields
    verdicts: dict[str, str] | None = None


NAME: Final = "mapping"


def mapping_format(mapping: Mapping, base: Format | None = None) -> Format:
    """The trace format that a mapping makes.

    Args:
        mapping: the mapping, without a fault.
        base: the format that its `base` names.
    """
    mapper = Mapper(mapping)

    def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
        if base is not None:
            yield from read_with_base(documents, mapper, base)
            return
        for document in documents:
            repairs = Repairs()
            try:
                value = decode_document(document.data, ANY, repairs)
            except Refused as refused:
                yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            else:
                yield from placed(_runs(mapper, value, repairs), document, ())

    return Format(
        name=NAME,
        summary=mapping.name,
        recognises=lambda _: None,
        read=read,
        by_record=base is None or base.by_record,
    )


def _runs(mapper: Mapper, document: object, repairs: Repairs) -> Iterator[Found]:
    """The runs of one document; what was repaired in it is told with the first of them."""
    for record in mapper.records(document):
        found = mapper.values(record, repairs)
        if isinstance(found, Refused):
            yield found
        elif not found.values:
            yield Refused(
                f"none of the mapping's expressions finds anything in this record ({describe(record.value)}): correct "
                "the mapping, or let its `records` leave such records out",
                path=record.path,
                expected="a record of the log that the mapping is for",
                found=describe(record.value),
            )
        else:
            trace = Trace()
            fill(trace, found.values)
            yield Run(trace=trace, warned=repairs.warned())
            repairs = Repairs()
