"""Does the gate hold? The exit code of a run, and the reasons in words (contract section 8)."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from pipeline.diff import Comparison
from pipeline.errors import UsageError, quote
from pipeline.run import Run

FailOn = Literal["fail", "regression", "never"]
FAIL_ON: Final = ("fail", "regression", "never")

# What `diff` takes: it compares two snapshots and has no run of its own whose failures could trip it.
DIFF_FAIL_ON: Final = ("regression", "never")


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


def check_gate(gate: Gate, *, with_baseline: bool, takes: Sequence[str] = FAIL_ON) -> None:
    """Refuse a gate that makes no sense.

    Args:
        gate: the gate.
        with_baseline: whether there is a baseline to find regressions against.
        takes: the words that the command knows.

    Raises:
        UsageError: an unknown word, a pass rate that is no share, or `regression` without a baseline.
    """
    for word in gate.fail_on:
        if word not in takes:
            raise UsageError(f"--fail-on does not take '{quote(word)}'", hint=f"it takes: {', '.join(takes)}")
    if "regression" in gate.fail_on and not with_baseline:
        raise UsageError("--fail-on regression needs a baseline", hint="name one, as in: --baseline git:main")
    rate = gate.min_pass_rate
    # Written so that NaN, which compares false with everything, is refused too.
    if rate is not None and not 0 <= rate <= 1:
        raise UsageError(f"--min-pass-rate {rate} is no share", hint="give a number from 0 to 1, such as 0.95")


def decide(run: Run, gate: Gate, comparison: Comparison | None = None) -> Decision:
    """Apply the gate to a finished run.

    A run that evaluated nothing, or breaks `--strict`, gives 2 whatever the gate says. Without a word on what trips
    the gate, failed cases do, and regressions too where there is a baseline.

    Args:
        run: the run.
        gate: what trips the gate.
        comparison: the run against its baseline, if there is one.
    """
    if run.evaluated_nothing:
        summary = run.report.summary
        what = (
            "every record is in error; mend those that the report lists"
            if summary.unreadable_records
            else "no trace of any selected case was found; check --traces, and traceFixture and caseId"
        )
        return Decision(exit_code=2, reasons=(f"nothing was evaluated: {what}",))
    if run.strict_faults:
        return Decision(exit_code=2, reasons=tuple(f"--strict: {fault}" for fault in run.strict_faults))
    return _decision(gate, [*_reasons(run, gate), *_regressions(gate, comparison)])


def decide_diff(comparison: Comparison, gate: Gate) -> Decision:
    """Apply the gate to a diff alone."""
    return _decision(gate, _regressions(gate, comparison))


def _decision(gate: Gate, reasons: list[str]) -> Decision:
    held = not reasons or "never" in gate.fail_on
    return Decision(exit_code=0 if held else 1, reasons=tuple(reasons))


def _regressions(gate: Gate, comparison: Comparison | None) -> list[str]:
    asked = not gate.fail_on or "regression" in gate.fail_on or "never" in gate.fail_on
    if comparison is None or not asked or not comparison.tripping:
        return []
    count = len(comparison.tripping)
    return [
        f"{count} regression{'' if count == 1 else 's'} against {comparison.diff.baseline.source or 'the baseline'}"
    ]


def _reasons(run: Run, gate: Gate) -> list[str]:
    summary = run.report.summary
    reasons: list[str] = []
    if {"fail", "never"} & set(gate.fail_on) or (not gate.fail_on and gate.min_pass_rate is None):
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
    return reasons
