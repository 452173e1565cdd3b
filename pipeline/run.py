"""The whole flow on one page: the only place that knows all stages."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from pipeline import __version__
from pipeline.cases.digest import cases_digest
from pipeline.cases.fixtures import fixture_escapes, fixture_name
from pipeline.cases.load import load_suite
from pipeline.cases.model import Case, Suite
from pipeline.cases.selection import select
from pipeline.diff import Comparison, compare
from pipeline.engines.choose import Execution, choose, results_folder
from pipeline.engines.collect import Told, judge_shards
from pipeline.errors import CaseFileError, InputError, UsageError
from pipeline.git import git_head
from pipeline.judge import all_checks
from pipeline.judging import Job, Judging, redacted_rows, with_redacted_keys
from pipeline.limits import Limits
from pipeline.noted import Noted, redacted_entries
from pipeline.redact import redact_texts
from pipeline.report.base import Writer, all_writers
from pipeline.report.model import Report, View, build
from pipeline.snapshot.files import Snapshot, read_snapshot, write_snapshot
from pipeline.snapshot.info import (
    SCHEMA_VERSION,
    SnapshotInfo,
)
from pipeline.snapshot.merge import merge
from pipeline.snapshot.rows import not_run_rows
from pipeline.snapshot.store import RowStore
from pipeline.sources.files import Inputs, find_inputs
from pipeline.sources.opening import size_of
from pipeline.sources.remote import is_remote
from pipeline.sources.shards import cut
from pipeline.writing import remove_file, scratch_folder, write_file

Path_ = str | PathLike[str]
Progress = Callable[[int, int], None]

DEFAULT_CASES: Final = "cases"
DEFAULT_TRACES: Final = "fixtures/traces"
DEFAULT_OUT: Final = "data/runs/latest"

# So many digests at once go into the digest of all.
DIGEST_ROWS: Final = 65_536

# What to say to whoever misses a format.
LISTED: Final = "diagnosis-eval formats lists them"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked to do.

    Attributes:
        cases: case files or folders of them.
        traces: trace files, folders, globs, or `-`.
        from_format: name of the trace format, or `auto`.
        mapping: a mapping file, in place of a format.
        case_globs: only the cases whose id matches one of these.
        tags: only the cases with one of these tags.
        strict: repairs, warnings and unmatched traces are faults.
        with_text: keep the free text of the traces in the snapshot.
    """

    cases: tuple[str, ...] = (DEFAULT_CASES,)
    traces: tuple[str, ...] = (DEFAULT_TRACES,)
    from_format: str = "auto"
    mapping: str | None = None
    case_globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    strict: bool = False
    with_text: bool = True


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A finished evaluation.

    Attributes:
        view: the report with what writers show beside it.
        snapshot: the results.
        comparison: the run against its baseline, where one was given.
        skipped_files: files in the folders given that are no traces.
        strict_faults: why a strict run must not be trusted; empty unless `strict` was asked for.
    """

    view: View
    snapshot: Snapshot
    comparison: Comparison | None = None
    skipped_files: int = 0
    strict_faults: tuple[str, ...] = ()

    @property
    def report(self) -> Report:
        """The report, as `report.json` holds it."""
        return self.view.report

    @property
    def evaluated_nothing(self) -> bool:
        """Whether no trace could be judged at all: such a run passes no gate."""
        return self.report.summary.traces == 0


def evaluate(  # noqa: PLR0913 - one argument per thing that a user may ask for
    cases: Path_ | Sequence[Path_] = DEFAULT_CASES,
    traces: Path_ | Sequence[Path_] = DEFAULT_TRACES,
    *,
    out: Path_ | None = None,
    from_format: str = "auto",
    mapping: Path_ | None = None,
    case_globs: Sequence[str] = (),
    tags: Sequence[str] = (),
    strict: bool = False,
    with_text: bool = True,
    formats: Sequence[str] = (),
    jobs: int | None = 1,
) -> Run:
    """Judge traces against cases.

    Args:
        cases: case files or folders.
        traces: trace files, folders, globs, or `-` for standard input.
        out: folder for the reports and the snapshot; nothing is written without one.
        from_format: name of the trace format; by content where `auto`.
        mapping: a mapping file, in place of a format.
        case_globs: judge only the cases whose id matches one of these.
        tags: judge only the cases that have one of these tags.
        strict: count repairs, warnings and unmatched traces as faults.
        with_text: keep the traces' free text in the snapshot.
        formats: further outputs to write beside the standard ones.
        jobs: processes to use; None for as many as there are processors. More than one needs a script that may be
            imported without effect (`if __name__ == "__main__":`), as processes are spawned.

    Returns:
        The run; its snapshot's rows are in memory where `out` is None.

    Raises:
        CaseFileError: a case file, or the mapping file, is broken; all its faults are listed.
        UsageError: a path is missing, or nothing is selected.
        InputError: one fixture stands under two roots.
        OutputError: a result cannot be written.
    """
    options = Options(
        cases=_paths(cases),
        traces=_paths(traces),
        from_format=from_format,
        mapping=None if mapping is None else fspath(mapping),
        case_globs=tuple(case_globs),
        tags=tuple(tags),
        strict=strict,
        with_text=with_text,
    )
    writers = wanted_writers(formats)
    folder = None if out is None else Path(out)
    return run(options, out=folder, writers=writers, execution=Execution(jobs=jobs))


def _paths(given: Path_ | Sequence[Path_]) -> tuple[str, ...]:
    if isinstance(given, str | PathLike):
        return (fspath(given),)
    return tuple(fspath(path) for path in given)


def wanted_writers(formats: Sequence[str]) -> list[Writer]:
    """The writers of a run: those that always write, and those asked for.

    Raises:
        UsageError: there is no such format.
    """
    writers = all_writers()
    asked = {writers.get(name, option="--format", advice=LISTED).name for name in formats}
    return [writer for writer in writers if writer.always or writer.name in asked]


def run(  # noqa: PLR0913 - what is judged, how, and where the results go, named
    options: Options,
    *,
    out: Path | None = None,
    writers: Sequence[Writer] = (),
    execution: Execution | None = None,
    baseline: Snapshot | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Run:
    """Evaluate, write what is asked for, and return the run; see `evaluate` for errors.

    Args:
        options: what to judge and how.
        out: folder for the outputs, or None.
        writers: which reports to write there.
        execution: in which processes; this one alone by default.
        baseline: what to compare the run with; the diff is written too, and shown by the writers that can.
        limits: what rises of tool calls and duration count as regressions.
        progress: told the bytes read and the bytes in all, after every batch; 0 in all where that is not known.
    """
    started = time.time()
    execution = execution or Execution()
    suite, selected, inputs = prepare(options)
    job = Job(
        suite=suite,
        selected=tuple(case.id for case in selected),
        with_text=options.with_text,
        mapping=None if options.mapping is None else _mapping(options.mapping, options.from_format, inputs),
    )
    judging = Judging(job)
    with scratch_folder() as scratch:
        store = RowStore(scratch)
        noted = Noted()
        noted.add_input_warnings(inputs)
        shards = cut(inputs.files, judging.mapped or options.from_format)
        told = Told(progress, _bytes_in_all(inputs)) if progress is not None else None
        engine = choose(shards, execution)
        with ExitStack() as until_written:
            folder = scratch
            if engine is not None and out is not None:
                kept = results_folder(judging.job, shards, out, tool_version=__version__, resume=execution.resume)
                folder = until_written.enter_context(kept)
            offsets = judge_shards(judging, shards, engine, store, noted, folder, told)
            missing = not_run_rows(_not_run(selected, noted, inputs), judging.suite_frames.cases)
            store.add(redacted_rows(missing, suite), len(shards))
            keys = store.keys(offsets)
            merged = merge(keys)
            noted.add_warnings(merged.warnings)
            info = _info(suite, selected, keys, merged.rows, noted, with_text=options.with_text)
            del keys
            parts = map(partial(with_redacted_keys, suite=suite), store.in_order(merged.rows))
            if out is None:
                snapshot = Snapshot(info=info, rows=pl.concat(list(parts)).lazy())
            else:
                write_snapshot(out / "snapshot.parquet", parts, info, count=store.parts_of(merged.rows))
                snapshot = read_snapshot(out / "snapshot.parquet")
    view = build(snapshot)
    comparison, incomparable = _compared(view, snapshot, baseline, limits)
    finished = Run(
        view=view if comparison is None else msgspec.structs.replace(view, diff=comparison.diff),
        snapshot=snapshot,
        comparison=comparison,
        skipped_files=inputs.skipped,
        strict_faults=_strict_faults(view.report) if options.strict else (),
    )
    if out is not None:
        _sweep(out)
        write_reports(finished.view, out, writers)
        if comparison is not None:
            write_diff(comparison, out)
        _write_run_json(finished, out, started)
    if incomparable is not None:
        # What could be judged is written all the same.
        raise incomparable
    return finished


def _compared(
    view: View, snapshot: Snapshot, baseline: Snapshot | None, limits: Limits | None
) -> tuple[Comparison | None, UsageError | None]:
    """The run against its baseline, or why the two cannot be compared."""
    if baseline is None or not view.report.summary.traces:
        return None, None
    try:
        return compare(baseline, snapshot, limits=limits), None
    except UsageError as error:
        return None, error


def prepare(options: Options) -> tuple[Suite, tuple[Case, ...], Inputs]:
    """Load the cases, find the traces, and refuse what contradicts itself before anything is evaluated.

    Raises:
        CaseFileError: a case file is broken, or a fixture leads out of its root.
        UsageError: a path is missing, or nothing is selected.
        InputError: one fixture stands under two roots.
    """
    suite = load_suite(options.cases, known_checks=all_checks().names)
    selected = select(suite, options.case_globs, options.tags)
    inputs = find_inputs(options.traces)
    escapes = fixture_escapes(suite, [root for root in inputs.roots if not is_remote(root)])
    if escapes:
        raise CaseFileError(escapes)
    for case in suite.cases:
        name = None if case.trace_fixture is None else fixture_name(case.trace_fixture)
        if name is not None and len(inputs.where(name)) > 1:
            raise InputError(
                f"the traceFixture {redact_texts([name], suite.redact)[0]} of case {case.id} stands under "
                f"{len(inputs.where(name))} of the trace folders",
                hint="give one folder, or name the files apart: it must be clear which one is judged",
            )
    return suite, selected, inputs


def _mapping(path: str, from_format: str, inputs: Inputs) -> str:
    # Only a run with a mapping pays for the import.
    from pipeline.mapping_file import wanted_mapping

    return msgspec.json.encode(wanted_mapping(path, from_format, inputs)).decode()


def _bytes_in_all(inputs: Inputs) -> int:
    """The size of the input; 0 where it cannot be known: of standard input, and of compressed files."""
    sizes = [None if file.compression else size_of(file) for file in inputs.files]
    return 0 if None in sizes else sum(size or 0 for size in sizes)


def _not_run(selected: Sequence[Case], noted: Noted, inputs: Inputs) -> dict[str, str]:
    """Why each case without any trace has none (R11)."""
    reasons = {}
    for case in selected:
        if case.id in noted.cases_seen:
            continue
        name = None if case.trace_fixture is None else fixture_name(case.trace_fixture)
        if name is None:
            reasons[case.id] = (
                f"no trace is of this case: it names no traceFixture, no trace has caseId {case.id}, "
                f"and no file is named {case.id}.json; one of the three is needed"
            )
        elif inputs.where(name):
            reasons[case.id] = f"its trace fixture {name} holds no trace; save one there"
        else:
            reasons[case.id] = (
                f"its trace fixture {name} was not found in the traces given; save it there, or correct traceFixture"
            )
    return reasons


def _info(  # noqa: PLR0913 - everything the metadata are made of, named
    suite: Suite,
    selected: Sequence[Case],
    keys: pl.DataFrame,
    order: pl.DataFrame,
    noted: Noted,
    *,
    with_text: bool,
) -> SnapshotInfo:
    # Of many rows the join takes much memory, and hardly ever is one left out.
    used = keys if order.height == keys.height else keys.join(order, on=["part", "index"], how="semi")
    (name,) = redact_texts([suite.name], suite.redact)
    return SnapshotInfo(
        schema_version=SCHEMA_VERSION,
        suite=name,
        tool_version=__version__,
        cases_digest=cases_digest(selected),
        traces_digest=_digest_of(used["content_digest"].drop_nulls().sort()),
        unmatched_traces=noted.unmatched_count,
        unreadable_records=noted.error_count,
        input_warnings_count=noted.warning_count,
        text=with_text,
        unmatched=redacted_entries(noted.unmatched, suite.redact),
        input_errors=redacted_entries(noted.errors, suite.redact),
        input_warnings=redacted_entries(noted.warnings, suite.redact),
    )


def _digest_of(texts: pl.Series) -> str:
    """The SHA-256 of texts, one on a line, taken slice by slice."""
    digest = sha256()
    for start in range(0, texts.len(), DIGEST_ROWS):
        digest.update((b"\n" if start else b"") + "\n".join(texts.slice(start, DIGEST_ROWS)).encode())
    return "sha256:" + digest.hexdigest()


def _strict_faults(report: Report) -> tuple[str, ...]:
    summary = report.summary
    return tuple(
        f"{count} {one if count == 1 else several}, see {where} in report.json"
        for count, one, several, where in (
            (summary.input_warnings, "input warning", "input warnings", "inputWarnings"),
            (summary.unmatched_traces, "trace of no case", "traces of no case", "unmatched"),
            (summary.unreadable_records, "unreadable record", "unreadable records", "inputErrors"),
        )
        if count
    )


def compare_with(baseline: Snapshot, current: Snapshot, limits: Limits, out: Path | None) -> Comparison:
    """Compare a run with its baseline, and write the diff if there is a folder for it.

    Args:
        baseline: what to compare with.
        current: the run.
        limits: what rises of tool calls and duration count as regressions.
        out: folder for the diff, or None.

    Raises:
        UsageError: the two have no case in common, or one of them judged no trace.
        OutputError: the folder cannot be written to.
    """
    comparison = compare(baseline, current, limits=limits)
    if out is not None:
        write_diff(comparison, out)
    return comparison


def write_diff(comparison: Comparison, out: Path) -> None:
    """Write the diff in every format that has one and is always written.

    Raises:
        OutputError: the folder cannot be written to.
    """
    for writer in all_writers():
        if writer.render_diff is not None and writer.always:
            write_file(out / writer.diff_file, writer.render_diff(comparison.diff))


def write_reports(view: View, out: Path, writers: Sequence[Writer]) -> list[Path]:
    """Write the reports, each beside its place and then renamed.

    Raises:
        OutputError: the folder cannot be written to.
    """
    return [write_file(out / writer.file, writer.render(view)) for writer in writers]


def _sweep(out: Path) -> None:
    """Remove what an earlier run may have left that this one does not write: an old diff or page would mislead."""
    for writer in all_writers():
        for name in (writer.file, writer.diff_file):
            if name:
                remove_file(out / name)


def _write_run_json(finished: Run, out: Path, started: float) -> None:
    """The facts of this one run that must not stand in the report: time, commit, branch, machine-bound counts."""
    commit, branch = git_head()
    facts = {
        "schemaVersion": 1,
        "startedAt": datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "durationSeconds": round(time.time() - started, 3),
        "commit": commit,
        "branch": branch,
        "skippedFiles": finished.skipped_files,
    }
    write_file(out / "run.json", msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
