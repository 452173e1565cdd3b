"""`validate`: case files, fixture coverage (R12) and fixture decoding (R13), without judging anything."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import polars as pl

from pipeline.assign import Targets, assign, targets
from pipeline.cases.fixtures import fixture_name
from pipeline.cases.model import Suite
from pipeline.cases.weak import weak_points
from pipeline.errors import Fault
from pipeline.flatten.batches import frame_batches
from pipeline.flatten.traces import TraceFrames
from pipeline.mapping_file import format_of, wanted_mapping
from pipeline.redact import redact_texts, redacting
from pipeline.run import Options, prepare
from pipeline.sources.files import Inputs, find_inputs
from pipeline.sources.mapped_look import Looked, look


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        cases: number of cases.
        traces: number of readable traces.
        faults: what must be mended.
        warnings: what should be looked at.
    """

    cases: int
    traces: int
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]


def validate(options: Options) -> Validation:
    """Check a suite and its fixtures.

    Args:
        options: the case files and the traces.

    Raises:
        CaseFileError: a case file, or the mapping file, is broken; all its faults are listed.
        UsageError: a path is missing.
        InputError: one fixture stands under two roots.
    """
    suite, selected, inputs = prepare(options)
    mapping = wanted_mapping(options.mapping, options.from_format, inputs)
    everything = targets(suite.cases, selected)
    found = _Found()
    with redacting(suite.redact):
        found.warnings += weak_points(suite)
        for batch in frame_batches(inputs, options.from_format if mapping is None else format_of(mapping)):
            found.add(batch.frames, everything)
    found.faults += _missing(suite, inputs, found.covered)
    return Validation(
        cases=len(suite.cases),
        traces=found.traces,
        faults=_redacted(found.faults, suite.redact),
        warnings=_redacted(found.warnings, suite.redact),
    )


def look_at_mapping(options: Options) -> Looked | None:
    """What the mapping finds in the first records; None where there is none, or where the traces cannot be read twice.

    Args:
        options: the mapping and the traces; no case is needed yet.

    Raises:
        MappingFileError: the mapping file is broken; all its faults are listed.
        UsageError: a path is missing.
    """
    if options.mapping is None:
        return None
    inputs = find_inputs(options.traces)
    mapping = wanted_mapping(options.mapping, options.from_format, inputs)
    if mapping is None or any(file.path is None for file in inputs.files):
        return None
    return look(mapping, inputs.files)


class _Found:
    """What is found while reading."""

    def __init__(self) -> None:
        self.traces = 0
        self.covered: set[str] = set()
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []

    def add(self, frames: TraceFrames, everything: Targets) -> None:
        assigned = assign(frames, everything)
        self.traces += frames.traces.height
        self.covered.update(assigned.rows["case_id"])
        self.covered.update(assigned.errors["case_id"].drop_nulls())
        # A record of two cases is one record.
        errors = assigned.errors.drop("case_id").unique(maintain_order=True)
        self.faults += [Fault(**row) for row in errors.iter_rows(named=True)]
        self.warnings += [Fault(**row) for row in frames.warnings.drop("kind").iter_rows(named=True)]
        advice = "This trace belongs to no case; give it the caseId of one, or name it as a traceFixture."
        unmatched = assigned.unmatched.select("file", "line", message=pl.lit(advice))
        self.warnings += [Fault(**row) for row in unmatched.iter_rows(named=True)]


def _missing(suite: Suite, inputs: Inputs, covered: set[str]) -> Iterator[Fault]:
    """The cases without a trace, at the place where each is written."""
    for case in suite.cases:
        if case.id in covered:
            continue
        origin = suite.origins[case.id]
        if case.trace_fixture is None:
            found, advice = "no trace of this case", f"name its traceFixture, or give a trace the caseId {case.id}"
        elif inputs.where(fixture_name(case.trace_fixture)):
            found, advice = "a file without a trace", f"save a trace to {case.trace_fixture}"
        else:
            found = "no such file in the traces given"
            advice = f"save a trace as {case.trace_fixture}, or correct the name"
        yield Fault(
            file=origin.file,
            line=origin.line,
            path=f"{origin.path}.traceFixture" if case.trace_fixture else origin.path,
            expected="a trace fixture for every case",
            found=found,
            message=f"The case {case.id} has no trace; {advice}.",
        )


_TEXTS: Final = ("file", "path", "expected", "found", "message")


def _redacted(faults: Sequence[Fault], patterns: Sequence[str]) -> tuple[Fault, ...]:
    """The faults without what the suite redacts, be it in the name of a file or in a keyword."""
    hidden = iter(redact_texts([getattr(fault, name) for fault in faults for name in _TEXTS], patterns))
    return tuple(msgspec.structs.replace(fault, **{name: next(hidden) for name in _TEXTS}) for fault in faults)
