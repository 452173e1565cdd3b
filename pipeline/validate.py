"""`validate`: case files, fixture coverage (R12) and fixture decoding (R13), without judging anything."""

import msgspec

from pipeline.assign import assign, targets
from pipeline.cases.fixtures import fixture_name
from pipeline.cases.weak import weak_points
from pipeline.errors import Fault
from pipeline.flatten.traces import flatten_traces
from pipeline.run import Options, prepare
from pipeline.sources.read import read_batches


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
        CaseFileError: a case file is broken; all its faults are listed.
        UsageError: a path is missing.
        InputError: one fixture stands under two roots.
    """
    suite, selected, inputs = prepare(options)
    everything = targets(suite.cases, selected)
    faults: list[Fault] = []
    warnings = list(weak_points(suite))
    covered: set[str] = set()
    count = 0
    for batch in read_batches(inputs, options.from_format):
        frames = flatten_traces(batch.traces, batch.unreadable)
        assigned = assign(frames, everything)
        count += frames.traces.height
        covered.update(assigned.rows["case_id"])
        broken = assigned.errors
        covered.update(broken["case_id"].drop_nulls())
        faults += [Fault(**row) for row in broken.drop("case_id").unique(maintain_order=True).iter_rows(named=True)]
        warnings += [
            Fault(file=row["file"], line=row["line"], path=row["path"], message=row["message"])
            for row in frames.warnings.iter_rows(named=True)
        ]
        warnings += [
            Fault(
                file=row["file"],
                line=row["line"],
                path="$",
                message="This trace belongs to no case; give it the caseId of one, or name it as a traceFixture.",
            )
            for row in assigned.unmatched.iter_rows(named=True)
        ]
    for case in suite.cases:
        if case.id in covered:
            continue
        origin = suite.origins[case.id]
        if case.trace_fixture is None:
            found, advice = (
                "no trace of this case",
                f"name its traceFixture, or give a trace the caseId {case.id}",
            )
        elif inputs.where(fixture_name(case.trace_fixture)):
            found, advice = "a file without a trace", f"save a trace to {case.trace_fixture}"
        else:
            found, advice = (
                "no such file in the traces given",
                f"save a trace as {case.trace_fixture}, or correct the name",
            )
        path = f"{origin.path}.traceFixture" if case.trace_fixture else origin.path
        faults.append(
            Fault(
                file=origin.file,
                line=origin.line,
                path=path,
                expected="a trace fixture for every case",
                found=found,
                message=f"The case {case.id} has no trace; {advice}.",
            ),
        )
    return Validation(cases=len(suite.cases), traces=count, faults=tuple(faults), warnings=tuple(warnings))
