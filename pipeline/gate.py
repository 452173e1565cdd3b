"""Does the gate hold? The exit code of a run, and the reasons in words (contract section 8)."""

from typing import Final, Literal

import msgspec

from pipeline.errors import UsageError
from pipeline.run import Run

FailOn = Literal["fail", "regression", "never"]
FAIL_ON: Final = ("fail", "regression", "never")


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What trips the gate.

    Attributes:
        fail_on: `fail`: any failed, errored or not-run case but known failures, or an unreadable record;
            `regression`: a regression against the baseline; `never`: nothing gives exit code 1.
        min_pass_rate: the pass rate must reach this; takes the place of the default `fail`.
    """

    fail_on: tuple[str, ...] = ()
    min_pass_rate: float | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the gate holds.

    Attributes:
        exit_code: 0 the gate holds, 1 it tripped, 2 the run cannot be trusted.
        reasons: why it does not hold, in words.
    """

    exit_code: int
    reasons: tuple[str, ...] = ()


def check_gate(gate: Gate) -> None:
    """Refuse a gate that makes no sense.

    Raises:
        UsageError: an unknown word, or a pass rate that is no share.
    """
    for word in gate.fail_on:
        if word not in FAIL_ON:
            raise UsageError(f"--fail-on does not take {word!r}", hint=f"it takes: {', '.join(FAIL_ON)}")
    rate = gate.min_pass_rate
    # Written so that NaN, which compares false with everything, is refused too.
    if rate is not None and not 0 <= rate <= 1:
        raise UsageError(f"--min-pass-rate {rate} is no share", hint="give a number from 0 to 1, such as 0.95")


def decide(run: Run, gate: Gate) -> Decision:
    """Apply the gate to a finished run.

    A run that evaluated nothing, or breaks `--strict`, gives 2 whatever the gate says.
    """
    if run.evaluated_nothing:
        summary = run.report.summary
        what = "every record was unreadable" if summary.unreadable_records else "no trace of any selected case was found"
        return Decision(exit_code=2, reasons=(f"nothing was evaluated: {what}",))
    if run.strict_faults:
        return Decision(exit_code=2, reasons=tuple(f"--strict: {fault}" for fault in run.strict_faults))
    reasons = _reasons(run, gate)
    if not reasons or "never" in gate.fail_on:
        return Decision(exit_code=0, reasons=reasons)
    return Decision(exit_code=1, reasons=reasons)


def _reasons(run: Run, gate: Gate) -> tuple[str, ...]:
    summary = run.report.summary
    reasons: list[str] = []
    if "fail" in gate.fail_on or (not gate.fail_on and gate.min_pass_rate is None):
        for count, words in (
            (summary.failed - summary.known_failures, "failed"),
            (summary.errors, "in error"),
            (summary.not_run, "not run"),
        ):
            if count:
                reasons.append(f"{count} case{'' if count == 1 else 's'} {words}")
        if summary.unreadable_records:
            count = summary.unreadable_records
            reasons.append(f"{count} unreadable record{'' if count == 1 else 's'}")
    if gate.min_pass_rate is not None and summary.passed / summary.total_cases < gate.min_pass_rate:
        reasons.append(
            f"the pass rate {summary.passed} / {summary.total_cases} is under the minimum of {gate.min_pass_rate:g}",
        )
    return tuple(reasons)
