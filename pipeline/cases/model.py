"""The case structs: what a case file may say, with its defaults (contract section 1).

These structs are the one declaration of the case contract: the loader checks files against them, the JSON
Schema of `diagnosis-eval schema case` is made from them, and `casesDigest` hashes them. Attribute names are
snake_case, the file's keys camelCase.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

CASE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
DEFAULT_VERDICTS = ("PASS", "REVISE", "REJECT")
DEFAULT_CLAIM_VERIFICATIONS = (
    "supported",
    "partially_supported",
    "unsupported",
    "contradicted",
    "unverifiable",
)
DEFAULT_PROTOCOL_MARKERS = ("executor_evidence_v2", "answer_version", "evidence_bindings", "claim_id")
DEFAULT_DEGRADED_TEXTS = ("unable to confirm", "insufficient evidence", "无法确认", "证据不足")

# No control characters, no invisible or direction-changing ones: names are compared exactly, so that a
# forbidden tool with one of these in its name would never be recognised.
NAME_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+$"

CaseId = Annotated[
    str,
    Meta(
        pattern=CASE_ID_PATTERN,
        description="ASCII letters, digits, `.`, `_` and `-`; a letter or digit first",
    ),
]
Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[
    str, Meta(min_length=1, pattern=NAME_PATTERN, description="text without control or invisible characters")
]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class CaseStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all parts of a case file: immutable, camelCase in the file, unknown keys refused."""


class Pattern(CaseStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A keyword that is more than plain text: exactly one of the two is given.

    Attributes:
        word: a whole word: no ASCII letter or digit beside an edge of its own that is one.
        regex: a pattern in Polars' (Rust) syntax, searched in the normalised text, case-insensitive.
    """

    word: Text | None = None
    regex: Text | None = None


Keyword = Text | Pattern
KeywordEntry = Text | Pattern | Annotated[tuple[Keyword, ...], Meta(min_length=1)]
ToolEntry = Name | Annotated[tuple[Name, ...], Meta(min_length=1)]


def alternatives(entry: KeywordEntry) -> tuple[Keyword, ...]:
    """The synonyms of one keyword entry; a single keyword is a group of one."""
    return entry if isinstance(entry, tuple) else (entry,)


def tool_alternatives(entry: ToolEntry) -> tuple[str, ...]:
    """The tools of one evidence entry, any one of which will do."""
    return entry if isinstance(entry, tuple) else (entry,)


def label(entry: KeywordEntry | ToolEntry) -> str:
    """An entry as reports write it: `a`, `word:a`, `/a/`, and a group as `a | b`.

    >>> label(("pool", Pattern(word="OOM"), Pattern(regex="a+")))
    'pool | word:OOM | /a+/'
    """
    if isinstance(entry, tuple):
        return " | ".join(label(one) for one in entry)
    if isinstance(entry, Pattern):
        return f"word:{entry.word}" if entry.word is not None else f"/{entry.regex}/"
    return entry


class VerifierContract(CaseStruct, frozen=True, kw_only=True):
    """The values that the Verifier may use.

    Attributes:
        verdicts: all verdicts it may give.
        claim_verifications: all verifications a claim check may carry (R27).
    """

    verdicts: Annotated[tuple[Name, ...], Meta(min_length=1)] = DEFAULT_VERDICTS
    claim_verifications: Annotated[tuple[Name, ...], Meta(min_length=1)] = DEFAULT_CLAIM_VERIFICATIONS


class DegradedOutput(CaseStruct, frozen=True, kw_only=True):
    """What an answer must be under verdict REJECT (R06).

    Attributes:
        required_any_of: texts of which the answer contains at least one.
        forbidden: texts of which it contains none.
    """

    required_any_of: tuple[Text, ...] = DEFAULT_DEGRADED_TEXTS
    forbidden: tuple[Text, ...] = ()


class Audit(CaseStruct, frozen=True, kw_only=True):
    """The V2 audit chain, all opt-in (R25-R28, R32).

    Attributes:
        required: V2 audit closure: the three audit fields exist (R25), no protocol marker leaks (R30).
        claim_checks: every claim check is auditable (R27).
        min_claim_checks: at least so many of them; given alone it asks for the check too. None means 1.
        composer: the Composer says how it rendered (R28).
        claim_bindings: executor claims bind evidence of called tools; claim checks name known claims.
        max_unsupported_claims: at most so many claim checks are unsupported or contradicted.
        no_unsupported_claim_text: no text of such a claim stands in the final answer.
    """

    required: bool = False
    claim_checks: bool = False
    min_claim_checks: Count | None = None
    composer: bool = False
    claim_bindings: bool = False
    max_unsupported_claims: Count | None = None
    no_unsupported_claim_text: bool = False


class KnownFailure(CaseStruct, frozen=True, kw_only=True):
    """Checks that are known to fail: reported, but no gate trips on them.

    Attributes:
        checks: the check ids that may fail; any other failed check still trips the gate.
        reason: why this is accepted for now.
    """

    checks: Annotated[tuple[Name, ...], Meta(min_length=1)]
    reason: Text


class ToolArguments(CaseStruct, frozen=True, kw_only=True):
    """Arguments that at least one call of a tool must have.

    Attributes:
        tool: the tool's name.
        mode: `subset`: the call has at least these; `exact`: these and no others.
        arguments: objects are compared by key, lists as wholes, numbers by value, text exactly.
    """

    tool: Name
    arguments: dict[str, Any]
    mode: Literal["subset", "exact"] = "subset"


class MinPassRate(CaseStruct, frozen=True, kw_only=True):
    """A pass policy for several traces of one case: at least this share of them passes."""

    min_pass_rate: Share


PassPolicy = Literal["all", "any"] | MinPassRate


class Expectations(CaseStruct, frozen=True, kw_only=True):
    """All case fields that `defaults` may set too: everything but id and traceFixture.

    Attributes:
        question: what the user asked.
        tags: free words to select cases by.
        root_cause_keywords: what names the true cause; each entry counts once, a list is a group of synonyms.
        min_keyword_coverage: entries found divided by entries, at least.
        required_evidence_tools: tools that must have been used; a list means any one of them.
        evidence_policy: `invoked`: called, or in the verifier's trace summary; `succeeded`: called, and not
            known to have failed.
        allowed_verdicts: the verdicts that are right for this case.
        require_verdict: False for agents without a Verifier.
        forbidden_verdicts: verdicts that are wrong for this case.
        forbidden_answer_keywords: what the answer must not say (R02).
        forbidden_confirmed_claims: claims that the answer must not state as confirmed (R29).
        degraded_output: the contract of a degraded answer (R06).
        audit: what the V2 audit chain must show.
        known_failure: checks that are known to fail.
        forbidden_tools: tools that must not be used.
        tool_order: tools that must be called in this order, others between them allowed.
        tool_arguments: arguments that calls must have.
        max_tool_calls: at most so many calls.
        max_duration_ms: at most so many milliseconds.
        max_total_tokens: at most so many tokens.
        max_cost_usd: at most so many US dollars.
        pass_policy: when a case with several traces passes.
    """

    question: Text
    tags: tuple[Name, ...] = ()
    root_cause_keywords: tuple[KeywordEntry, ...] = ()
    min_keyword_coverage: Share = 1.0
    required_evidence_tools: tuple[ToolEntry, ...] = ()
    evidence_policy: Literal["invoked", "succeeded"] = "invoked"
    allowed_verdicts: tuple[Name, ...] = ()
    require_verdict: bool = True
    forbidden_verdicts: tuple[Name, ...] = ()
    forbidden_answer_keywords: tuple[KeywordEntry, ...] = ()
    forbidden_confirmed_claims: tuple[KeywordEntry, ...] = ()
    degraded_output: DegradedOutput = DegradedOutput()
    audit: Audit = Audit()
    known_failure: KnownFailure | None = None
    forbidden_tools: tuple[Name, ...] = ()
    tool_order: tuple[Name, ...] = ()
    tool_arguments: tuple[ToolArguments, ...] = ()
    max_tool_calls: Count | None = None
    max_duration_ms: Amount | None = None
    max_total_tokens: Count | None = None
    max_cost_usd: Amount | None = None
    pass_policy: PassPolicy = "all"


class CaseEntry(Expectations, frozen=True, kw_only=True):
    """One entry of `cases` as it is written.

    Attributes:
        id: unique in the suite.
        trace_fixture: its trace file, relative to the traces root, with `/`.
    """

    id: CaseId
    trace_fixture: Name | None = None


class CaseFile(CaseStruct, frozen=True, kw_only=True):
    """A case file as it is written.

    In a file every key with a default may be null, which restores that default. `defaults` may leave out any
    key; a case may leave out what `defaults` gives.

    Attributes:
        schema_version: the version of this format.
        suite: the suite's name; all files of one run name the same one.
        verifier_contract: the values that the Verifier may use.
        protocol_markers: raw Executor protocol that must not reach the user (R30).
        redact: regexes; what they match is written as `[redacted]` in every output, never in the evaluation.
        defaults: case fields that hold for all cases of this file which do not set them.
        cases: the cases.
    """

    schema_version: Literal[1]
    suite: Name
    verifier_contract: VerifierContract = VerifierContract()
    protocol_markers: tuple[Text, ...] = DEFAULT_PROTOCOL_MARKERS
    redact: tuple[Text, ...] = ()
    defaults: Expectations | None = None
    cases: Annotated[tuple[CaseEntry, ...], Meta(min_length=1)]


class Case(CaseEntry, frozen=True, kw_only=True):
    """One case as it is judged: its own fields over its file's defaults over the built-in ones.

    Attributes:
        verifier_contract: the Verifier's values, from the case's file.
        protocol_markers: raw Executor protocol that must not reach the user (R30), from the case's file.
    """

    verifier_contract: VerifierContract = VerifierContract()
    protocol_markers: tuple[Text, ...] = DEFAULT_PROTOCOL_MARKERS


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case is written.

    Attributes:
        file: the case file as the user gave it, with `/`.
        line: the line its entry starts on, from 1.
        path: the entry's JSON path.
    """

    file: str
    line: int
    path: str


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """All cases of one run.

    Attributes:
        name: the suite's name, the same in all its files.
        cases: the cases, sorted by id.
        redact: regexes of all files; what they match is written as `[redacted]` in every output.
        files: the case files read, as given.
        origins: where each case is written, by case id; empty for a suite that was not read from files.
    """

    name: str
    cases: tuple[Case, ...]
    redact: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    origins: dict[str, Origin] = {}
