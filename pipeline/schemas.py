"""Every frame that crosses a stage border, column by column.

A frame is validated against its schema where it leaves a stage, so that a mistake shows where it was made. The
descriptions here are the documentation: notebooks and docs pages are written from them.

Rows are keyed twice: `trace` numbers the traces of one batch as they were read, `row` numbers the pairs of a trace
and a case (two cases may share a trace). All positions count from 1.
"""

from typing import Final, NamedTuple

import polars as pl
from polars._typing import PolarsDataType

# A batch is bounded and in memory already: starting Polars' streaming engine for each of its small frames costs more
# than the work itself. What reads whole snapshots streams.
ENGINE: Final = "in-memory"

STATUSES: Final = ("passed", "failed", "error", "not_run")
Status: Final = pl.Enum(STATUSES)
OUTCOMES: Final = ("pass", "fail", "skip")
Outcome: Final = pl.Enum(OUTCOMES)
PURPOSES: Final = (
    "root-cause",
    "forbidden-answer",
    "forbidden-claim",
    "degraded-required",
    "degraded-forbidden",
    "protocol-marker",
)
Purpose: Final = pl.Enum(PURPOSES)
EVIDENCE_POLICIES: Final = ("invoked", "succeeded")


class Column(NamedTuple):
    """One column of a frame.

    Attributes:
        dtype: its type.
        description: what stands in it, with the unit.
        nullable: whether it may be null; null means unknown or absent, never zero.
        key: whether its values, with those of the other key columns, name a row.
    """

    dtype: PolarsDataType
    description: str
    nullable: bool = False
    key: bool = False


class Schema:
    """Base of all frame schemas: the columns are the attributes of the class, in order."""

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """The columns by name."""
        return {name: value for name, value in vars(cls).items() if isinstance(value, Column)}

    @classmethod
    def column_names(cls) -> list[str]:
        """The names of the columns."""
        return list(cls.columns())


def list_of(fields: dict[str, Column]) -> pl.List:
    """The type of a column of lists of structs."""
    return pl.List(pl.Struct({name: column.dtype for name, column in fields.items()}))


TEXTS: Final = pl.List(pl.String)


class Cases(Schema):
    """One row per selected case: what it asks of its traces."""

    case_id = Column(pl.String, "id of the case", key=True)
    question = Column(pl.String, "what the user asked")
    question_text = Column(pl.String, "the question normalised for comparison")
    tags = Column(TEXTS, "free words to select cases by")
    trace_fixture = Column(pl.String, "trace file of the case, relative to the traces root", nullable=True)
    keyword_entries = Column(pl.UInt32, "number of root-cause keyword entries")
    min_keyword_coverage = Column(pl.Float64, "least share of those entries that the answer names, 0 to 1")
    evidence_required = Column(TEXTS, "required evidence entries as reports write them")
    evidence_policy = Column(pl.Enum(EVIDENCE_POLICIES), "what counts as having used a tool")
    require_verdict = Column(pl.Boolean, "whether a verdict must exist")
    allowed_verdicts = Column(TEXTS, "verdicts that are right")
    forbidden_verdicts = Column(TEXTS, "verdicts that are wrong")
    degraded_required = Column(TEXTS, "normalised texts of which a degraded answer contains one")
    audit_required = Column(pl.Boolean, "V2 audit closure is asked for")
    claim_checks_asked = Column(pl.Boolean, "auditable claim checks are asked for")
    min_claim_checks = Column(pl.UInt64, "least number of claim checks")
    claim_verifications = Column(TEXTS, "verifications of the Verifier contract")
    composer_asked = Column(pl.Boolean, "an auditable Composer output is asked for")
    claim_bindings_asked = Column(pl.Boolean, "bound executor claims are asked for")
    max_unsupported_claims = Column(pl.UInt64, "most unsupported or contradicted claim checks", nullable=True)
    no_unsupported_text_asked = Column(pl.Boolean, "no text of such a claim may stand in the answer")
    forbidden_tools = Column(TEXTS, "tools that must not be used")
    tool_order = Column(TEXTS, "tools that must be called in this order")
    tool_order_pattern = Column(pl.String, "regex over the joined call names that finds that order", nullable=True)
    max_tool_calls = Column(pl.UInt64, "most tool calls", nullable=True)
    max_duration_ms = Column(pl.Float64, "longest duration in milliseconds", nullable=True)
    max_total_tokens = Column(pl.UInt64, "most tokens", nullable=True)
    max_cost_usd = Column(pl.Float64, "highest cost in US dollars", nullable=True)
    definition = Column(pl.String, "the effective case as canonical JSON")
    definition_digest = Column(pl.String, "sha256 of the definition")


class Keywords(Schema):
    """One row per alternative of a keyword entry of a case."""

    case_id = Column(pl.String, "id of the case")
    purpose = Column(Purpose, "what the keyword is for")
    entry = Column(pl.UInt32, "position of the entry in its list")
    label = Column(pl.String, "the entry as reports write it")
    literal = Column(pl.String, "normalised text to search for; null for a regex", nullable=True)
    pattern = Column(pl.String, "regex that decides, where the literal alone does not", nullable=True)


class EvidenceEntries(Schema):
    """One row per tool of a required evidence entry; any one tool of an entry will do."""

    case_id = Column(pl.String, "id of the case")
    entry = Column(pl.UInt32, "position of the entry in its list")
    label = Column(pl.String, "the entry as reports write it")
    tool = Column(pl.String, "name of the tool")


class ArgumentEntries(Schema):
    """One row per `toolArguments` requirement of a case."""

    case_id = Column(pl.String, "id of the case")
    entry = Column(pl.UInt32, "position of the requirement in its list")
    tool = Column(pl.String, "name of the tool")
    mode = Column(pl.Enum(("subset", "exact")), "whether other arguments are allowed beside these")
    arguments = Column(pl.String, "the arguments as canonical JSON")


class Traces(Schema):
    """One row per readable trace of a batch."""

    trace = Column(pl.UInt32, "number of the trace in its batch", key=True)
    trace_id = Column(pl.String, "the trace's own id", nullable=True)
    own_case_id = Column(pl.String, "the case the trace says it belongs to", nullable=True)
    own_trial = Column(pl.Int64, "the trial number the trace says it is", nullable=True)
    file = Column(pl.String, "file relative to its root")
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    own_question = Column(pl.String, "what the user asked, from the trace", nullable=True)
    answer = Column(pl.String, "the final answer as it was given", nullable=True)
    answer_text = Column(pl.String, "the answer normalised for comparison", nullable=True)
    run_status = Column(pl.String, "the run's end state, free text", nullable=True)
    model = Column(pl.String, "language model", nullable=True)
    verdict = Column(pl.String, "the Verifier's verdict", nullable=True)
    score = Column(pl.Float64, "the Verifier's score", nullable=True)
    duration_ms = Column(pl.Float64, "duration in milliseconds, null where unknown", nullable=True)
    input_tokens = Column(pl.Int64, "input tokens", nullable=True)
    output_tokens = Column(pl.Int64, "output tokens", nullable=True)
    total_tokens = Column(pl.Int64, "all tokens, null where unknown", nullable=True)
    cost_usd = Column(pl.Float64, "cost in US dollars", nullable=True)
    tool_call_count = Column(pl.UInt32, "number of calls, null without toolInvocations", nullable=True)
    summary_tools = Column(TEXTS, "tools named in the verifier's trace summary; null without one", nullable=True)
    content_digest = Column(pl.String, "sha256 of the trace's content")


class ToolInvocations(Schema):
    """One row per tool call."""

    trace = Column(pl.UInt32, "number of the trace")
    position = Column(pl.UInt32, "order of the call in its trace")
    tool = Column(pl.String, "name of the tool; null where the call has none", nullable=True)
    arguments = Column(pl.String, "arguments as canonical JSON, or as raw text where they are no JSON", nullable=True)
    arguments_parsed = Column(pl.Boolean, "False where arguments are raw text; null without any", nullable=True)
    result = Column(pl.String, "what the tool gave back, free-form", nullable=True)
    success = Column(pl.Boolean, "the success flag as it was given", nullable=True)
    failed = Column(pl.Boolean, "whether the call is known to have failed")
    error = Column(pl.String, "the error as it was given, free-form", nullable=True)
    duration_ms = Column(pl.Float64, "duration in milliseconds", nullable=True)


class ClaimChecks(Schema):
    """One row per claim check of the Verifier."""

    trace = Column(pl.UInt32, "number of the trace")
    position = Column(pl.UInt32, "order of the check in its trace")
    claim_id = Column(pl.String, "the claim that is judged", nullable=True)
    verification = Column(pl.String, "the Verifier's word", nullable=True)
    detail = Column(pl.String, "why", nullable=True)


class ExecutorClaims(Schema):
    """One row per claim of the Executor."""

    trace = Column(pl.UInt32, "number of the trace")
    position = Column(pl.UInt32, "order of the claim in its trace")
    claim_id = Column(pl.String, "id of the claim", nullable=True)
    text = Column(pl.String, "what is claimed", nullable=True)
    tools = Column(TEXTS, "tools whose evidence it binds; null elements name no tool")


class Audit(Schema):
    """One row per readable trace: the V2 audit chain."""

    trace = Column(pl.UInt32, "number of the trace", key=True)
    gatekeeper_present = Column(pl.Boolean, "gatekeeper_result exists")
    gatekeeper_status = Column(pl.String, "its status, trimmed and in lower case", nullable=True)
    gatekeeper_violations = Column(pl.String, "its violations as canonical JSON", nullable=True)
    claim_checks_present = Column(pl.Boolean, "claim_checks exists")
    claim_check_count = Column(pl.UInt32, "number of claim checks, null without the field", nullable=True)
    composer_present = Column(pl.Boolean, "composer_output exists")
    composer_status = Column(
        pl.String, "parsed, fallback, contradictory, or null where nothing was said", nullable=True
    )
    executor_claims_present = Column(pl.Boolean, "executorOutput.claims exists")
    executor_answer = Column(pl.String, "the Executor's answer before verification", nullable=True)


class Errors(Schema):
    """One row per record that could not be read, or that contradicts the case that names it."""

    file = Column(pl.String, "file relative to its root")
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    path = Column(pl.String, "JSON path of the value at fault")
    expected = Column(pl.String, "what was due")
    found = Column(pl.String, "what stands there")
    message = Column(pl.String, "one sentence, ending in what to do")


class Warnings(Schema):
    """One row per repair or oddity of a record that was read all the same."""

    file = Column(pl.String, "file relative to its root")
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    path = Column(pl.String, "JSON path, `$` for the record as a whole")
    kind = Column(pl.String, "stable word for what was noticed")
    message = Column(pl.String, "one sentence")


class Results(Schema):
    """One row per judged pair and check."""

    row = Column(pl.UInt32, "number of the pair of trace and case", key=True)
    check = Column(pl.String, "id of the check", key=True)
    outcome = Column(Outcome, "pass, fail or skip")
    expected = Column(pl.String, "what the case asks for; null unless the check failed", nullable=True)
    observed = Column(pl.String, "what the trace shows; null unless the check failed", nullable=True)
    message = Column(pl.String, "a sentence that a person can act on; null unless the check failed", nullable=True)


FAILED_CHECK = {
    "check": Column(pl.String, "id of the check"),
    "message": Column(pl.String, "a sentence that a person can act on"),
    "expected": Column(pl.String, "what the case asks for"),
    "observed": Column(pl.String, "what the trace shows"),
}
CALL = {
    "tool": Column(pl.String, "name of the tool", nullable=True),
    "arguments": Column(pl.String, "canonical JSON or raw text, cut at 4 KB with a mark", nullable=True),
    "arguments_parsed": Column(pl.Boolean, "False where arguments are raw text", nullable=True),
    "result": Column(pl.String, "what the tool gave back, cut at 4 KB with a mark", nullable=True),
    "success": Column(pl.Boolean, "the success flag as it was given", nullable=True),
    "failed": Column(pl.Boolean, "whether the call is known to have failed"),
    "error": Column(pl.String, "the error as it was given, cut at 4 KB with a mark", nullable=True),
    "duration_ms": Column(pl.Float64, "duration in milliseconds", nullable=True),
}
CLAIM_CHECK = {
    "claim_id": Column(pl.String, "the claim that is judged", nullable=True),
    "verification": Column(pl.String, "the Verifier's word", nullable=True),
    "detail": Column(pl.String, "why", nullable=True),
}
EXECUTOR_CLAIM = {
    "claim_id": Column(pl.String, "id of the claim", nullable=True),
    "text": Column(pl.String, "what is claimed", nullable=True),
    "tools": Column(TEXTS, "tools whose evidence it binds"),
}


AUDIT = {name: column for name, column in Audit.columns().items() if not column.key}
WARNING = {
    "path": Column(pl.String, "JSON path, `$` for the record as a whole"),
    "kind": Column(pl.String, "stable word for what was noticed"),
    "message": Column(pl.String, "one sentence"),
}
ERROR = {
    "path": Column(pl.String, "JSON path of the value at fault"),
    "expected": Column(pl.String, "what was due"),
    "found": Column(pl.String, "what stands there"),
    "message": Column(pl.String, "one sentence, ending in what to do"),
}


class TraceRows(Schema):
    """One row per record of an input, as `diagnosis-eval import` writes it: a trace, or what could not be read."""

    file = Column(pl.String, "file that the record was imported from, relative to its root")
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    error = Column(
        pl.Struct({name: column.dtype for name, column in ERROR.items()}),
        "why it could not be read; null for a trace",
        nullable=True,
    )
    warnings = Column(list_of(WARNING), "repairs and oddities of the record")
    trace_id = Column(pl.String, "the trace's own id", nullable=True)
    own_case_id = Column(pl.String, "the case the trace says it belongs to", nullable=True)
    own_trial = Column(pl.Int64, "the trial number the trace says it is", nullable=True)
    own_question = Column(pl.String, "what the user asked, from the trace", nullable=True)
    answer = Column(pl.String, "the final answer as it was given", nullable=True)
    run_status = Column(pl.String, "the run's end state, free text", nullable=True)
    model = Column(pl.String, "language model", nullable=True)
    verdict = Column(pl.String, "the Verifier's verdict", nullable=True)
    score = Column(pl.Float64, "the Verifier's score", nullable=True)
    duration_ms = Column(pl.Float64, "duration in milliseconds, null where unknown", nullable=True)
    input_tokens = Column(pl.Int64, "input tokens", nullable=True)
    output_tokens = Column(pl.Int64, "output tokens", nullable=True)
    total_tokens = Column(pl.Int64, "all tokens, null where unknown", nullable=True)
    cost_usd = Column(pl.Float64, "cost in US dollars", nullable=True)
    tool_call_count = Column(pl.UInt32, "number of calls, null without toolInvocations", nullable=True)
    summary_tools = Column(TEXTS, "tools named in the verifier's trace summary; null without one", nullable=True)
    content_digest = Column(pl.String, "sha256 of the trace's content; null where it could not be read", nullable=True)
    audit = Column(
        pl.Struct({name: column.dtype for name, column in AUDIT.items()}), "the V2 audit chain", nullable=True
    )
    calls = Column(list_of(CALL), "the tool calls in order; nothing of them is cut here")
    claim_checks = Column(list_of(CLAIM_CHECK), "the Verifier's claim checks")
    executor_claims = Column(list_of(EXECUTOR_CLAIM), "the Executor's claims")


class SnapshotRows(Schema):
    """One row per (case, trial), and one per case without a trace (`trial` null), in key order."""

    case_id = Column(pl.String, "id of the case")
    trial = Column(pl.UInt32, "number of the trace within its case; null without a trace", nullable=True)
    trace_id = Column(pl.String, "the trace's own id", nullable=True)
    file = Column(pl.String, "file relative to its root", nullable=True)
    line = Column(pl.UInt32, "line the record begins on, in line formats", nullable=True)
    own_trial = Column(pl.Int64, "the trial number the trace says it is", nullable=True)
    status = Column(Status, "passed, failed, error (unreadable) or not_run (no trace)")
    reason = Column(pl.String, "why the trace is in error or was not run", nullable=True)
    failed_checks = Column(list_of(FAILED_CHECK), "the checks that failed, in the order of the checks")
    passed_checks = Column(TEXTS, "ids of the checks that passed")
    skipped_checks = Column(TEXTS, "ids of the checks that the case does not ask for")
    verdict = Column(pl.String, "the Verifier's verdict", nullable=True)
    score = Column(pl.Float64, "the Verifier's score", nullable=True)
    evidence_required = Column(TEXTS, "required evidence entries as reports write them")
    evidence_covered = Column(TEXTS, "those that are covered")
    evidence_missing = Column(TEXTS, "those that are not")
    keywords_matched = Column(TEXTS, "root-cause keyword entries found in the answer")
    keywords_missing = Column(TEXTS, "those not found")
    tool_call_count = Column(pl.UInt32, "number of calls, null without toolInvocations", nullable=True)
    duration_ms = Column(pl.Float64, "duration in milliseconds", nullable=True)
    input_tokens = Column(pl.Int64, "input tokens", nullable=True)
    output_tokens = Column(pl.Int64, "output tokens", nullable=True)
    total_tokens = Column(pl.Int64, "all tokens", nullable=True)
    cost_usd = Column(pl.Float64, "cost in US dollars", nullable=True)
    gatekeeper_status = Column(pl.String, "the Gatekeeper's status, trimmed and in lower case", nullable=True)
    gatekeeper_violations = Column(pl.String, "its violations as canonical JSON", nullable=True)
    composer_status = Column(pl.String, "parsed, fallback, contradictory, or null", nullable=True)
    claim_check_count = Column(pl.UInt32, "number of claim checks, null without the field", nullable=True)
    claim_checks = Column(list_of(CLAIM_CHECK), "the Verifier's claim checks")
    executor_claims = Column(list_of(EXECUTOR_CLAIM), "the Executor's claims")
    executor_answer = Column(pl.String, "the Executor's answer before verification", nullable=True)
    model = Column(pl.String, "language model", nullable=True)
    run_status = Column(pl.String, "the run's end state, free text", nullable=True)
    question = Column(pl.String, "the case's question", nullable=True)
    answer = Column(pl.String, "the final answer as it was given", nullable=True)
    summary_tools = Column(TEXTS, "tools named in the verifier's trace summary", nullable=True)
    calls = Column(list_of(CALL), "the tool calls in order")
    tags = Column(TEXTS, "the case's tags")
    definition = Column(pl.String, "the effective case as canonical JSON")
    definition_digest = Column(pl.String, "sha256 of the definition")
    content_digest = Column(pl.String, "sha256 of the trace's content; null without a readable trace", nullable=True)


def frame(schema: type[Schema], columns: dict[str, object]) -> pl.DataFrame:
    """Build a frame from Python columns and validate it, so that it leaves its stage with the schema it promises.

    Args:
        schema: the frame's schema.
        columns: a list (or other sequence) of values for every column of the schema.

    Returns:
        The validated frame, columns in the schema's order.
    """
    dtypes = dtypes_of(schema)
    return checked(schema, pl.DataFrame({name: columns[name] for name in dtypes}, schema=dtypes))


class SchemaError(Exception):
    """A frame does not keep its schema: a defect of this program."""


def dtypes_of(schema: type[Schema]) -> dict[str, PolarsDataType]:
    """The columns of a schema with their types, in order."""
    return {name: column.dtype for name, column in schema.columns().items()}


def empty(schema: type[Schema]) -> pl.DataFrame:
    """A frame of that schema without rows."""
    return pl.DataFrame(schema=dtypes_of(schema))


def checked(schema: type[Schema], data: pl.DataFrame) -> pl.DataFrame:
    """Validate a frame at a stage border.

    Returns:
        The frame with the columns of the schema, in its order.

    Raises:
        SchemaError: the stage broke its promise; a defect of this program, never of an input.
    """
    columns = schema.columns()
    found = data.schema
    wrong = [
        f"{name} is {found.get(name, 'absent')}, not {column.dtype}"
        for name, column in columns.items()
        if found.get(name) != column.dtype
    ]
    wrong += [
        f"{name} holds {nulls} nulls"
        for name, column in columns.items()
        if not column.nullable and name in found and (nulls := data[name].null_count())
    ]
    keys = [name for name, column in columns.items() if column.key]
    if keys and not wrong and _has_twice(data, keys):
        wrong.append(f"{', '.join(keys)} name some rows twice")
    if wrong:
        raise SchemaError(f"the frame {schema.__name__} breaks its schema: {'; '.join(wrong)}")
    return data.select(list(columns))


def _has_twice(data: pl.DataFrame, keys: list[str]) -> bool:
    """Whether some rows have the same keys."""
    key = pl.struct(keys)
    # Hashes that all differ are of keys that all differ, and are told apart several times as fast.
    if data.select(key.hash().n_unique()).item() == data.height:
        return False
    return bool(data.select(key.is_duplicated().any()).item())
