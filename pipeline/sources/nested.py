"""JSON inside strings: the fields of a trace that systems keep in text columns (contract section 2)."""

from typing import Any, Final, TypeVar

import msgspec

from pipeline.sources.base import (
    ClaimCheck,
    ComposerOutput,
    ExecutorOutput,
    Gatekeeper,
    SelfEvaluation,
    ToolInvocation,
    Trace,
    VerifierEvaluation,
)
from pipeline.sources.json_text import ANY, MAX_LEVELS, decode, from_text
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

T = TypeVar("T")

_CALLS: Final = msgspec.json.Decoder(list[ToolInvocation | None] | str | None)
_SELF_EVALUATION: Final = msgspec.json.Decoder(SelfEvaluation | str | None)
_VERIFIER_EVALUATION: Final = msgspec.json.Decoder(VerifierEvaluation | str | None)
_GATEKEEPER: Final = msgspec.json.Decoder(Gatekeeper | str | None)
_CLAIM_CHECKS: Final = msgspec.json.Decoder(list[ClaimCheck] | str | None)
_COMPOSER: Final = msgspec.json.Decoder(ComposerOutput | str | None)
_EXECUTOR: Final = msgspec.json.Decoder(ExecutorOutput | str | None)


def take_out_of_strings(trace: Trace, repairs: Repairs) -> None:
    """Replace every string that holds JSON by what it holds, in place.

    Afterwards only `executorOutput` (the answer text), `composer_output` (the mode) and `arguments` (text that is no
    object or list) may still be strings.

    Raises:
        Refused: a string is no JSON of the type that is due, at the path of the string and the path inside.
    """
    if type(trace.executorOutput) is str:
        trace.executorOutput = _or_text(trace.executorOutput, _EXECUTOR, repairs, "$.executorOutput")
    if type(trace.toolInvocations) is str:
        trace.toolInvocations = from_text(trace.toolInvocations, _CALLS, repairs, "$.toolInvocations")
    if trace.toolInvocations:
        for index, call in enumerate(trace.toolInvocations):
            if type(call) is ToolInvocation and type(call.arguments) is str:
                call.arguments = parsed_arguments(call.arguments, repairs, f"$.toolInvocations[{index}].arguments")
    if type(trace.selfEvaluation) is str:
        trace.selfEvaluation = from_text(trace.selfEvaluation, _SELF_EVALUATION, repairs, "$.selfEvaluation")
    if type(trace.selfEvaluation) is SelfEvaluation:
        _verifier_evaluations(trace.selfEvaluation, repairs)


def _verifier_evaluations(outer: SelfEvaluation, repairs: Repairs) -> None:
    for name in ("verifier_evaluation", "verifierEvaluation"):
        at = f"$.selfEvaluation.{name}"
        inner = getattr(outer, name)
        if type(inner) is str:
            inner = from_text(inner, _VERIFIER_EVALUATION, repairs, at)
            setattr(outer, name, inner)
        if type(inner) is VerifierEvaluation:
            _audit_chain(inner, repairs, at)


def _audit_chain(verifier: VerifierEvaluation, repairs: Repairs, at: str) -> None:
    if type(verifier.gatekeeper_result) is str:
        verifier.gatekeeper_result = from_text(
            verifier.gatekeeper_result, _GATEKEEPER, repairs, f"{at}.gatekeeper_result"
        )
    if type(verifier.gatekeeperResult) is str:
        verifier.gatekeeperResult = from_text(verifier.gatekeeperResult, _GATEKEEPER, repairs, f"{at}.gatekeeperResult")
    if type(verifier.claim_checks) is str:
        verifier.claim_checks = from_text(verifier.claim_checks, _CLAIM_CHECKS, repairs, f"{at}.claim_checks")
    if type(verifier.claimChecks) is str:
        verifier.claimChecks = from_text(verifier.claimChecks, _CLAIM_CHECKS, repairs, f"{at}.claimChecks")
    if type(verifier.composer_output) is str:
        verifier.composer_output = _or_text(verifier.composer_output, _COMPOSER, repairs, f"{at}.composer_output")
    if type(verifier.composerOutput) is str:
        verifier.composerOutput = _or_text(verifier.composerOutput, _COMPOSER, repairs, f"{at}.composerOutput")


def _or_text(text: str, decoder: "msgspec.json.Decoder[T | str]", repairs: Repairs, at: str) -> T | str | None:
    """The object inside a string, else the text; text encoded as JSON once more is the text without its quotes."""
    value: T | str = text
    for _ in range(MAX_LEVELS):
        if not isinstance(value, str):
            return value
        bare = value.strip()
        if not bare:
            return None
        if bare[0] not in '{"' and bare != "null":
            return value
        try:
            value = decode(value.encode(), decoder, repairs, at)
        except Refused as refused:
            if refused.malformed:
                return value
            raise
    return None if isinstance(value, str) and not value.strip() else value


def parsed_arguments(text: str, repairs: Repairs, at: str) -> Any:
    """The object or list inside a string, else the text as it stands."""
    if not text.strip():
        return None
    value: Any = text
    made = Repairs()
    for _ in range(MAX_LEVELS):
        if value.lstrip()[:1] not in ("{", "[", '"'):
            return text
        try:
            value = decode(value.encode(), ANY, made, at)
        except Refused:
            return text
        if isinstance(value, dict | list):
            repairs.merge(made, "$")
            return value
        if not isinstance(value, str):
            return text
    return text
