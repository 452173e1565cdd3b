"""From a record of a homemade log to the fields of a trace, as a mapping says; as strict in types as the contract."""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pipeline.sources.base import (
    ClaimCheck,
    ComposerOutput,
    ExecutorClaim,
    ExecutorOutput,
    Gatekeeper,
    SelfEvaluation,
    ToolInvocation,
    Trace,
    Usage,
    VerifierEvaluation,
)
from pipeline.sources.canonical import canonical_json
from pipeline.sources.expressions import Expression, shown, take_repairs
from pipeline.sources.json_scan import join_path
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import INT64_DUE, Refused, describe

if TYPE_CHECKING:
    from pipeline.sources.mapping import Mapping

Value = TypeVar("Value")

_INT64: Final = 2**63

# What a value of a wrong type could be made of, in the words of JMESPath.
_AS_TEXT: Final = "to_string({0}) makes text of it"
_AS_NUMBER: Final = "to_number({0}) makes a number of it"
_AS_LIST: Final = "from_json({0}) reads JSON inside a text"


class Record(msgspec.Struct, frozen=True):
    """One record of a document.

    Attributes:
        value: plain JSON data.
        path: its JSON path; that of the document where the mapping's expression does not tell.
        number: its place in the list of records, from 1; None where the document is the record.
        is_placed: whether the path is its own.
    """

    value: Any
    path: str = "$"
    number: int | None = None
    is_placed: bool = True


class Values(msgspec.Struct, frozen=True):
    """What the expressions found in one record: by field, nothing for what they did not find."""

    values: dict[str, Any]


class Unfit(Exception):  # noqa: N818 - becomes a refusal, once it is known of what
    """A value of another type than a field takes.

    Args:
        due: what the field takes.
        advice: what may help, with {0} for the expression; empty for nothing.
    """

    def __init__(self, due: str, advice: str = "") -> None:
        super().__init__(due)
        self.due = due
        self.advice = advice


class Field(msgspec.Struct, frozen=True):
    """One expression of a mapping.

    Attributes:
        name: the field that it is for, such as `usage.inputTokens`.
        expression: what to look for.
        take: the value as the field takes it; raises `Unfit` where it does not fit.
    """

    name: str
    expression: Expression
    take: Callable[[Any], Any]

    def value(self, record: Record, where: str = "") -> Any:
        """The field's value in a record, or in an element of a list in it.

        Args:
            record: the record or element.
            where: which one it is, in words that follow "finds … ".

        Raises:
            Refused: a value of another type than the field takes.
        """
        try:
            found = self.expression.find(record.value)
        except Refused as refused:
            # The path, if any, is one inside a text.
            refused.path = record.path
            refused.message = f"the mapping's {self.name}{where}: {refused.message}"
            raise
        if found is None:
            return None
        try:
            return self.take(found)
        except Unfit as unfit:
            due = unfit.due
            text = self.expression.text
            inside = self.expression.path()
            help_ = f" ({unfit.advice.format(text)})" if unfit.advice else ""
            raise Refused(
                f"the mapping's expression {shown(text)} for {self.name} finds {describe(found)}{where}, where {due} "
                f"is due: correct the mapping{help_}, or what writes the log",
                path=join_path(record.path, inside) if inside is not None and record.is_placed else record.path,
                expected=due,
                found=describe(found),
            ) from None


class Mapper:
    """A mapping made ready.

    Args:
        mapping: the mapping, without a fault.
    """

    def __init__(self, mapping: "Mapping") -> None:
        fields = mapping.fields
        self.name = mapping.name
        self._records = None if mapping.records is None else Expression(mapping.records)
        self._plain = _fields(
            "",
            traceId=(fields.trace_id, _text),
            caseId=(fields.case_id, _text),
            trial=(fields.trial, _whole),
            question=(fields.question, _text),
            finalAnswer=(fields.final_answer, _text),
            status=(fields.status, _text),
            startedAt=(fields.started_at, _text),
            finishedAt=(fields.finished_at, _text),
            durationMs=(fields.duration_ms, _number),
            model=(fields.model, _text),
            verdict=(fields.verdict, _text if mapping.verdicts is None else _Table(mapping.verdicts)),
            score=(fields.score, _number),
            gatekeeperStatus=(fields.gatekeeper_status, _text),
            composerMode=(fields.composer_mode, _text),
            executorAnswer=(fields.executor_answer, _text),
        )
        usage = fields.usage
        if usage is not None:
            self._plain += _fields(
                "usage.",
                inputTokens=(usage.input_tokens, _whole),
                outputTokens=(usage.output_tokens, _whole),
                totalTokens=(usage.total_tokens, _whole),
                costUsd=(usage.cost_usd, _number),
            )
        self._key = next((field for field in self._plain if field.name == "traceId"), None)
        self._lists: list[tuple[Field, list[Field], Callable[..., Any]]] = []
        calls = fields.tool_invocations
        if calls is not None:
            self._add_list(
                "toolInvocations",
                calls.items,
                ToolInvocation,
                toolName=(calls.tool_name, _text),
                arguments=(calls.arguments, _anything),
                success=(calls.success, _flag),
                status=(calls.status, _text),
                error=(calls.error, _anything),
                durationMs=(calls.duration_ms, _number),
                resultSummary=(calls.result_summary, _anything),
            )
        checks = fields.claim_checks
        if checks is not None:
            self._add_list(
                "claimChecks",
                checks.items,
                _claim_check,
                claimId=(checks.claim_id, _text),
                verification=(checks.verification, _text),
                detail=(checks.detail, _text),
            )
        claims = fields.executor_claims
        if claims is not None:
            self._add_list(
                "executorClaims",
                claims.items,
                _claim,
                claimId=(claims.claim_id, _text),
                text=(claims.text, _text),
                evidenceTools=(claims.evidence_tools, _texts),
            )

    def _add_list(
        self,
        name: str,
        items: str,
        make: Callable[..., Any],
        **fields: tuple[str | None, Callable[[Any], Any]],
    ) -> None:
        self._lists.append((Field(name, Expression(items), _list), _fields(f"{name}.", **fields), make))

    @property
    def has_key(self) -> bool:
        """Whether the mapping says where the id of a trace stands."""
        return self._key is not None

    def fields(self) -> Iterator[tuple[Field, Field | None]]:
        """All expressions, each with the one of the list that it is asked of the elements of, if it is."""
        for field in self._plain:
            yield field, None
        for items, inner, _ in self._lists:
            yield items, None
            for field in inner:
                yield field, items

    def records(self, document: Any) -> Iterator[Record]:
        """The records of a document.

        Raises:
            Refused: `records` finds no list, or a null in it.
        """
        if self._records is None:
            yield Record(document)
            return
        found = self._records.find(document)
        if not isinstance(found, list):
            raise Refused(
                f"the mapping's `records`, {shown(self._records.text)}, finds {_thing(found)} in this document, where "
                "a list of records is due: correct the mapping, or leave this file out",
                path=self._records.path() or "$",
                expected="list",
                found=_thing(found),
            )
        at = self._records.path()
        for index, value in enumerate(found):
            yield Record(value, "$" if at is None else f"{at}[{index}]", index + 1, at is not None)

    def key(self, record: Record) -> str | None:
        """The id of the trace that a record belongs to.

        Raises:
            Refused: it is no text.
        """
        return None if self._key is None else self._key.value(record, _where(record))

    def values(self, record: Record, repairs: Repairs | None = None) -> Values | Refused:
        """What the expressions find in a record, or why it cannot be read.

        Args:
            record: the record.
            repairs: takes what had to be repaired in JSON inside its texts.
        """
        repairs = Repairs() if repairs is None else repairs
        found: dict[str, Any] = {}
        where = _where(record)
        try:
            for field in self._plain:
                value = field.value(record, where)
                if value is not None:
                    found[field.name] = value
            for items, inner, make in self._lists:
                listed = items.value(record, where)
                if listed is not None:
                    found[items.name] = list(self._elements(items, inner, make, listed, record, repairs))
        except Refused as refused:
            return refused
        finally:
            repairs.merge(take_repairs(), record.path)
        return Values(found)

    def _elements(  # noqa: PLR0913, PLR0917 - all that an element is made of, named
        self,
        items: Field,
        inner: list[Field],
        make: Callable[..., Any],
        listed: list[Any],
        record: Record,
        repairs: Repairs,
    ) -> Iterator[Any]:
        for element in elements(items, listed, record):
            if element.value is None:
                # A call that is null is dropped with a warning, as everywhere; of a claim nothing is left to judge.
                yield None if make is ToolInvocation else make()
                continue
            where = f" in element {element.number}{_of(record)}"
            values = {field.name.rpartition(".")[2]: field.value(element, where) for field in inner}
            if isinstance(values.get("arguments"), str):
                values["arguments"] = parsed_arguments(values["arguments"], repairs, element.path)
            yield make(**values)


def elements(items: Field, listed: list[Any], record: Record) -> Iterator[Record]:
    """The elements of a list that a field's expression found in a record, nulls too."""
    inside = items.expression.path()
    placed = inside is not None and record.is_placed
    for index, value in enumerate(listed):
        path = join_path(record.path, f"{inside}[{index}]") if placed else record.path
        yield Record(value, path, index + 1, placed)


def fill(trace: Trace, values: dict[str, Any]) -> list[str]:
    """Set the fields of a trace that it does not have yet, in place.

    Args:
        trace: the trace.
        values: what a mapping found.

    Returns:
        The fields that it has already, with another value.
    """
    kept = []
    for name, value in values.items():
        own, attribute = _owner(trace, name)
        before = getattr(own, attribute)
        if before is None or (isinstance(before, str) and not before.strip()):
            setattr(own, attribute, value)
        elif before != value:
            kept.append(name)
    return kept


def _owner(trace: Trace, name: str) -> tuple[Any, str]:
    """The struct that has a field, made where there is none yet, and the field's name there."""
    if name.startswith("usage."):
        trace.usage = trace.usage or Usage()
        return trace.usage, name.removeprefix("usage.")
    if name in _OF_EXECUTOR:
        return _executor(trace), _OF_EXECUTOR[name]
    if name in _OF_VERIFIER:
        return _of_verifier(_verifier(trace), name)
    return trace, name


_OF_EXECUTOR: Final = {"executorAnswer": "answer", "executorClaims": "claims"}
_OF_VERIFIER: Final = frozenset({"verdict", "score", "claimChecks", "gatekeeperStatus", "composerMode"})


def _of_verifier(verifier: VerifierEvaluation, name: str) -> tuple[Any, str]:
    if name == "gatekeeperStatus":
        gatekeeper = _first(verifier.gatekeeper_result, verifier.gatekeeperResult)
        if not isinstance(gatekeeper, Gatekeeper):
            gatekeeper = Gatekeeper()
        verifier.gatekeeper_result = gatekeeper
        return gatekeeper, "status"
    if name == "composerMode":
        composer = _first(verifier.composer_output, verifier.composerOutput)
        if not isinstance(composer, ComposerOutput):
            # A text is the Composer's mode.
            composer = ComposerOutput(mode=composer)
        verifier.composer_output = composer
        return composer, "mode"
    if name == "claimChecks":
        in_camel = not _is_there(verifier.claim_checks) and _is_there(verifier.claimChecks)
        return verifier, "claimChecks" if in_camel else "claim_checks"
    return verifier, name


def _first(snake: Value | None, camel: Value | None) -> Value | None:
    """The spelling that counts: snake_case, unless there is nothing in it."""
    return snake if _is_there(snake) else camel if _is_there(camel) else None


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())


def _executor(trace: Trace) -> ExecutorOutput:
    own = trace.executorOutput
    if not isinstance(own, ExecutorOutput):
        own = trace.executorOutput = ExecutorOutput(answer=own)
    return own


def _verifier(trace: Trace) -> VerifierEvaluation:
    outer = trace.selfEvaluation
    if not isinstance(outer, SelfEvaluation):
        outer = trace.selfEvaluation = SelfEvaluation()
    inner = outer.verifier_evaluation if outer.verifier_evaluation is not None else outer.verifierEvaluation
    if not isinstance(inner, VerifierEvaluation):
        inner = VerifierEvaluation()
    # The snake_case spelling is the one that counts.
    outer.verifier_evaluation = inner
    return inner


def _claim_check(**values: Any) -> ClaimCheck:
    return ClaimCheck(claim_id=values.pop("claimId", None), **values)


def _claim(**values: Any) -> ExecutorClaim:
    return ExecutorClaim(
        claim_id=values.get("claimId"), text=values.get("text"), evidence_bindings=values.get("evidenceTools")
    )


def _fields(prefix: str, **fields: tuple[str | None, Callable[[Any], Any]]) -> list[Field]:
    return [
        Field(f"{prefix}{name}", Expression(text), take) for name, (text, take) in fields.items() if text is not None
    ]


def _where(record: Record) -> str:
    return "" if record.number is None else f" in record {record.number}"


def _of(record: Record) -> str:
    return "" if record.number is None else f" of record {record.number}"


def _thing(value: Any) -> str:
    return "nothing" if value is None else describe(value)


def _anything(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Unfit("text", _AS_TEXT)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise Unfit("true or false", "compare it, as in {0} == 'ok'")


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise Unfit("number", _AS_NUMBER if isinstance(value, str) else "")


def _whole(value: Any) -> int:
    if type(value) is int and -_INT64 <= value < _INT64:
        return value
    raise Unfit(INT64_DUE, _AS_NUMBER if isinstance(value, str) else "")


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise Unfit("list", _AS_LIST if isinstance(value, str) else "[{0}] makes a list of one")


def _texts(value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    raise Unfit("list of texts", "[{0}] makes a list of one" if isinstance(value, str) else "")


class _Table:
    """The verdict that a value means."""

    def __init__(self, verdicts: dict[str, str]) -> None:
        self._verdicts = verdicts

    def __call__(self, value: Any) -> str:
        verdict = self._verdicts.get(value if isinstance(value, str) else canonical_json(value))
        if verdict is None:
            known = ", ".join(self._verdicts)
            raise Unfit(f"one of {known}", "add it to `verdicts`")
        return verdict
