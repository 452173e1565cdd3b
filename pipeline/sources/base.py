"""The trace contract as structs, and what a trace format is (contract section 2).

Attribute names here are the JSON keys of the native format, and every spelling that the contract accepts has an
attribute of its own, so that these structs are the whole declaration: the decoder is made from them, the JSON Schema
and the docs page too. Which spelling wins, and that null and blank text count as absent, is decided once, in
`flatten`. Formats other than the native one build the same structs and use the first spelling only.

What JSON gives has no cycles, so the garbage collector need not look at these structs (`gc=False`): with thousands
of traces in memory, its looking takes as long as the decoding.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pipeline.errors import Fault
from pipeline.registry import Registry

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class ToolInvocation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One call of a tool.

    Attributes:
        toolName: the tool's name; `tool_name`, `name` and `tool` are read too, in this order.
        arguments: free-form; an object or list may stand as JSON inside a string, other text is kept and marked.
        success: False where the call failed.
        status: a text other than SUCCESS, SUCCEEDED, OK, COMPLETED (any case) says that the call failed.
        durationMs: milliseconds.
        resultSummary: free-form; what the tool gave back.
        error: free-form; non-blank text, true, a number other than 0, a non-empty object or list: the call failed.
    """

    toolName: str | None = None
    tool_name: str | None = None
    name: str | None = None
    tool: str | None = None
    arguments: Any = None
    success: bool | None = None
    status: Any = None
    durationMs: float | None = None
    resultSummary: Any = None
    error: Any = None


class NamedTool(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A mention of a tool: an entry of the trace summary, or an evidence binding."""

    toolName: str | None = None
    tool_name: str | None = None
    name: str | None = None
    tool: str | None = None
    summary: str | None = None


class ToolList(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A trace summary written as an object with a list of tools."""

    tools: list[str | NamedTool | None] | None = None


TraceSummary = list[str | NamedTool | None] | ToolList


class Gatekeeper(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the Gatekeeper found.

    Attributes:
        status: `pass` or `fail`, compared trimmed and in any case.
        violations: free-form.
    """

    status: str | None = None
    violations: Any = None


class ClaimCheck(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The Verifier's judgement of one claim of the Executor.

    Attributes:
        claim_id: which claim; `claimId` is read too.
        verification: a value of the Verifier contract, compared exactly.
        detail: why.
    """

    claim_id: str | None = None
    claimId: str | None = None
    verification: str | None = None
    detail: str | None = None


class ComposerOutput(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the Composer rendered the answer; all free-form, what is no clear word says nothing.

    Attributes:
        parsed: true means parsed, false fallback.
        fallback: true means fallback, false parsed; `fallback_used` and `fallbackUsed` are read too.
        mode: `parsed` or `fallback` where it holds that word; so do `status` and `rendering`.
    """

    parsed: Any = None
    fallback: Any = None
    fallback_used: Any = None
    fallbackUsed: Any = None
    mode: Any = None
    status: Any = None
    rendering: Any = None


class VerifierEvaluation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The Verifier's evaluation and the audit chain below it; camelCase keys are read too, snake_case wins."""

    verdict: str | None = None
    score: float | None = None
    trace_summary: TraceSummary | None = None
    trace_summaries: TraceSummary | None = None
    traceSummary: TraceSummary | None = None
    traceSummaries: TraceSummary | None = None
    gatekeeper_result: Gatekeeper | str | None = None
    gatekeeperResult: Gatekeeper | str | None = None
    claim_checks: list[ClaimCheck] | str | None = None
    claimChecks: list[ClaimCheck] | str | None = None
    composer_output: ComposerOutput | str | None = None
    composerOutput: ComposerOutput | str | None = None


class SelfEvaluation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The agent's own evaluation."""

    verifier_evaluation: VerifierEvaluation | str | None = None
    verifierEvaluation: VerifierEvaluation | str | None = None


class ExecutorClaim(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One claim of the Executor and the evidence that it binds: tool names, or objects with one."""

    claim_id: str | None = None
    claimId: str | None = None
    text: str | None = None
    evidence_bindings: list[str | NamedTool | None] | None = None
    evidenceBindings: list[str | NamedTool | None] | None = None


class ExecutorOutput(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The Executor's structured output, before Verifier and Composer."""

    answer_version: str | None = None
    answerVersion: str | None = None
    answer: str | None = None
    claims: list[ExecutorClaim] | None = None


class Usage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Token counts, and cost in US dollars."""

    inputTokens: Int64 | None = None
    outputTokens: Int64 | None = None
    totalTokens: Int64 | None = None
    costUsd: float | None = None


class Trace(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One run of the agent on one question.

    Attributes:
        traceId: the trace's own id.
        caseId: the case it belongs to, where no fixture says so.
        trial: which of several runs of one case.
        question: what the user asked.
        finalAnswer: what the user was told.
        status: the run's end state, free text.
        startedAt: ISO 8601 time.
        finishedAt: ISO 8601 time.
        durationMs: milliseconds, before `finishedAt - startedAt`.
        model: the language model used.
        usage: tokens and cost.
        executorOutput: the Executor's output; an object, the same as JSON inside a string, or just the answer text.
        toolInvocations: the calls in order; null elements are dropped with a warning.
        selfEvaluation: the agent's own evaluation.
    """

    traceId: str | None = None
    caseId: str | None = None
    trial: Int64 | None = None
    question: str | None = None
    finalAnswer: str | None = None
    status: str | None = None
    startedAt: str | None = None
    finishedAt: str | None = None
    durationMs: float | None = None
    model: str | None = None
    usage: Usage | None = None
    executorOutput: ExecutorOutput | str | None = None
    toolInvocations: list[ToolInvocation | None] | str | None = None
    selfEvaluation: SelfEvaluation | str | None = None


class Document(msgspec.Struct, frozen=True):
    """One JSON document cut from a file.

    Attributes:
        data: its bytes, UTF-8, without a byte-order mark.
        file: the file's name relative to its root.
        line: the line it begins on, from 1, in line formats; None for a whole file.
        root: index of the root the file was found under, -1 for standard input, which has none.
        value: what its format's `decode` made of it already; None where it was not asked, or could not.
        plain: whether the bytes are known to be plain, as `json_text.is_plain` says.
    """

    data: bytes
    file: str
    line: int | None
    root: int
    value: Any = None
    plain: bool = False


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """Something in one record that was repaired or looks wrong, without making the record unreadable.

    Attributes:
        path: JSON path, `$` for the record as a whole.
        kind: stable kebab-case word, such as `lone-surrogate`.
        message: one sentence.
    """

    path: str
    kind: str
    message: str


class ReadTrace(msgspec.Struct, kw_only=True, gc=False):
    """A trace read from one document, with what had to be repaired.

    Attributes:
        trace: the trace.
        file: see `Document`.
        line: see `Document`.
        root: see `Document`.
        warned: repairs and oddities of this record.
    """

    trace: Trace
    file: str
    line: int | None
    root: int
    warned: tuple[Warned, ...] = ()


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A document that could not be read; it becomes a row of the errors frame and costs no other record.

    Attributes:
        fault: what is wrong with it.
        root: index of the root the file was found under.
    """

    fault: Fault
    root: int


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One trace format: how it is recognised and how its documents become traces.

    Attributes:
        name: what `--from` takes.
        summary: one line for people.
        recognises: given the first document of a file as plain data, the reason why it is this format, else None.
        read: turns the documents of one file into traces; a document that cannot be read becomes `Unreadable`.
        recognised_by: in words, what `recognises` looks for.
        fields: for each native field that it fills (such as `finalAnswer`, `toolInvocations[].arguments`), where
            from: a path in the format's own words.
        by_record: whether each document is a trace of its own, so that a large line file may be read in slices.
        decode: a first decoding of one document, given on to `read` in `Document.value`; it raises msgspec.DecodeError
            for bytes that are no whole document, and for whatever it has no answer to.
        owns: given the first bytes of a file of such an ending that a folder holds, whether it is one of this format's;
            others are skipped there like any other file.
        endings: endings of files that are no JSON, such as `.csv`; one of them is given to `read` whole, as one
            document of raw bytes, and needs no recognising.
    """

    name: str
    summary: str
    recognises: Callable[[Any], str | None]
    read: Callable[[Iterable[Document]], Iterator[ReadTrace | Unreadable]]
    recognised_by: str = ""
    fields: dict[str, str] = {}
    by_record: bool = False
    decode: Callable[[bytes], Any] | None = None
    owns: Callable[[bytes], bool] | None = None
    endings: tuple[str, ...] = ()


FORMATS: Registry[Format] = Registry("trace format")
