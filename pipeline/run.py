"""The whole flow on one page: the only place that knows all stages."""

import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import polars as pl

from pipeline import __version__, schemas
from pipeline.assign import Targets, assign, targets
from pipeline.cases.digest import cases_digest
from pipeline.cases.fixtures import fixture_escapes, fixture_name
from pipeline.cases.load import load_suite
from pipeline.cases.model import Case, Suite
from pipeline.cases.selection import select
from pipeline.diff import Comparison, Limits, compare
from pipeline.errors import CaseFileError, Fault, InputError, UsageError
from pipeline.flatten.suite import SuiteFrames, flatten_suite
from pipeline.flatten.traces import flatten_traces
from pipeline.git import git_head
from pipeline.judge import all_checks, judge
from pipeline.redact import redact_frame, redact_json, redact_texts
from pipeline.report.base import Writer, all_writers
from pipeline.report.model import Report, View, build
from pipeline.snapshot.files import Snapshot, read_snapshot, write_snapshot
from pipeline.snapshot.info import (
    LIST_LIMIT,
    SCHEMA_VERSION,
    InputFault,
    InputWarning,
    SnapshotInfo,
    Unmatched,
)
from pipeline.snapshot.merge import merge
from pipeline.snapshot.rows import error_rows, not_run_rows, snapshot_rows
from pipeline.snapshot.store import RowStore
from pipeline.sources.files import Inputs, find_inputs
from pipeline.sources.read import Batch, read_batches
from pipeline.writing import write_file

Path_ = str | PathLike[str]
Progress = Callable[[int, int], None]

DEFAULT_CASES: Final = "cases"
DEFAULT_TRACES: Final = "fixtures/traces"
DEFAULT_OUT: Final = "data/runs/latest"

# Columns and fields that hold our own words and ids; redaction leaves them alone.
OWN_WORDS: Final = (
    "case_id",
    "check",
    "passed_checks",
    "skipped_checks",
    "definition_digest",
    "content_digest",
)
OWN_KEYS: Final = ("id", "traceFixture", "checks", "passPolicy", "evidencePolicy", "mode", "allowedVerdicts")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked to do.

    Attributes:
        cases: case files or folders of them.
        traces: trace files, folders, globs, or `-`.
        from_format: name of the trace format, or `auto`.
        case_globs: only the cases whose id matches one of these.
        tags: only the cases with one of these tags.
        strict: repairs, warnings and unmatched traces are faults.
        with_text: keep the free text of the traces in the snapshot.
    """

    cases: tuple[str, ...] = (DEFAULT_CASES,)
    traces: tuple[str, ...] = (DEFAULT_TRACES,)
    from_format: str = "auto"
    case_globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    strict: bool = False
    with_text: bool = True


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A finished evaluation.

    Attributes:
        view: the report with what writers show beside it.
        snapshot: the results.
        skipped_files: files in the folders given that are no traces.
        strict_faults: why a strict run must not be trusted; empty unless `strict` was asked for.
    """

    view: View
    snapshot: Snapshot
    skipped_files: int
    strict_faults: tuple[str, ...] = ()

    @property
    def report(self) -> Report:
        """The report, as `report.json` holds it."""
        return self.view.report

    @property
    def evaluated_nothing(self) -> bool:
        """Whether no trace could be judged at all: such a run passes no gate."""
        return self.report.summary.traces == 0


def evaluate(
    cases: Path_ | Sequence[Path_] = DEFAULT_CASES,
    traces: Path_ | Sequence[Path_] = DEFAULT_TRACES,
    *,
    out: Path_ | None = None,
    from_format: str = "auto",
    case_globs: Sequence[str] = (),
    tags: Sequence[str] = (),
    strict: bool = False,
    with_text: bool = True,
    formats: Sequence[str] = (),
) -> Run:
    """Judge traces against cases.

    Args:
        cases: case files or folders.
        traces: trace files, folders, globs, or `-` for standard input.
        out: folder for the reports and the snapshot; nothing is written without one.
        from_format: name of the trace format; by content where `auto`.
        case_globs: judge only the cases whose id matches one of these.
        tags: judge only the cases that have one of these tags.
        strict: count repairs, warnings and unmatched traces as faults.
        with_text: keep the traces' free text in the snapshot.
        formats: further outputs to write beside the standard ones.

    Returns:
        The run; its snapshot's rows are in memory where `out` is None.

    Raises:
        CaseFileError: a case file is broken; all its faults are listed.
        UsageError: a path is missing, or nothing is selected.
        InputError: one fixture stands under two roots.
        OutputError: a result cannot be written.
    """
    options = Options(
        cases=_paths(cases),
        traces=_paths(traces),
        from_format=from_format,
        case_globs=tuple(case_globs),
        tags=tuple(tags),
        strict=strict,
        with_text=with_text,
    )
    writers = wanted_writers(formats)
    folder = None if out is None else Path(out)
    return run(options, out=folder, writers=writers)


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
    asked = {writers.get(name).name for name in formats}
    return [writer for writer in writers if writer.always or writer.name in asked]


def run(
    options: Options,
    *,
    out: Path | None = None,
    writers: Sequence[Writer] = (),
    progress: Progress | None = None,
) -> Run:
    """Evaluate, write what is asked for, and return the run; see `evaluate` for errors.

    Args:
        options: what to judge and how.
        out: folder for the outputs, or None.
        writers: which reports to write there.
        progress: told the bytes read and the bytes in all, now and then.
    """
    started = time.time()
    suite, selected, inputs = prepare(options)
    with tempfile.TemporaryDirectory(prefix="diagnosis-eval-") as scratch:
        store = RowStore(Path(scratch))
        noted = _Noted()
        suite_frames = flatten_suite(selected)
        all_cases = targets(suite.cases, selected)
        noted.add_input_warnings(inputs, suite)
        for batch in read_batches(inputs, options.from_format):
            _judge_batch(batch, suite, suite_frames, all_cases, store, noted, with_text=options.with_text)
        store.add(_redacted(not_run_rows(_not_run(selected, noted, inputs), suite_frames.cases), suite))
        keys = store.keys()
        merged = merge(keys)
        noted.add_warnings(merged.warnings, suite)
        info = _info(suite, selected, keys, merged.rows, noted, with_text=options.with_text)
        parts = store.in_order(merged.rows)
        if out is None:
            snapshot = Snapshot(info=info, rows=pl.concat(list(parts)).lazy())
        else:
            write_snapshot(out / "snapshot.parquet", parts, info)
            snapshot = read_snapshot(out / "snapshot.parquet")
    view = build(snapshot)
    finished = Run(
        view=view,
        snapshot=snapshot,
        skipped_files=inputs.skipped,
        strict_faults=_strict_faults(view.report) if options.strict else (),
    )
    if out is not None:
        write_reports(view, out, writers)
        _write_run_json(finished, out, started)
    return finished


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
    escapes = fixture_escapes(suite, [str(root) for root in inputs.roots])
    if escapes:
        raise CaseFileError(escapes)
    for case in suite.cases:
        name = None if case.trace_fixture is None else fixture_name(case.trace_fixture)
        if name is not None and len(inputs.where(name)) > 1:
            raise InputError(
                f"the traceFixture {name} of case {case.id} stands under {len(inputs.where(name))} of the trace folders",
                hint="give one folder, or name the files apart: it must be clear which one is judged",
            )
    return suite, selected, inputs


class _Noted:
    """What is counted while reading, with the first entries of each list."""

    def __init__(self) -> None:
        self.unmatched: list[Unmatched] = []
        self.errors: list[InputFault] = []
        self.warnings: list[InputWarning] = []
        self.unmatched_count = self.error_count = self.warning_count = 0
        self.cases_seen: set[str] = set()
        self.files_seen: set[str] = set()

    def add_warnings(self, frame: pl.DataFrame, suite: Suite) -> None:
        self.warning_count += frame.height
        rows = redact_frame(frame.lazy().head(LIST_LIMIT), suite.redact, keep=("kind",)).collect()
        self.warnings = _first([*self.warnings, *(InputWarning(**row) for row in rows.iter_rows(named=True))])

    def add_input_warnings(self, inputs: Inputs, suite: Suite) -> None:
        found = inputs.warnings
        columns = {
            "file": [one.file for one in found],
            "line": [None] * len(found),
            "path": ["$"] * len(found),
            "kind": [one.kind for one in found],
            "message": [one.message for one in found],
        }
        self.add_warnings(schemas.frame(schemas.Warnings, columns), suite)

    def add_errors(self, frame: pl.DataFrame, suite: Suite) -> None:
        # A record of two cases is one record.
        frame = frame.drop("case_id").unique(maintain_order=True)
        self.error_count += frame.height
        rows = redact_frame(frame.lazy().head(LIST_LIMIT), suite.redact).collect()
        self.errors = _first([*self.errors, *(InputFault(**row) for row in rows.iter_rows(named=True))])

    def add_unmatched(self, frame: pl.DataFrame, suite: Suite) -> None:
        self.unmatched_count += frame.height
        rows = redact_frame(frame.lazy().head(LIST_LIMIT), suite.redact).collect()
        entries = [
            Unmatched(file=row["file"], line=row["line"], trace_id=row["trace_id"], case_id=row["own_case_id"])
            for row in rows.iter_rows(named=True)
        ]
        self.unmatched = _first([*self.unmatched, *entries])


def _judge_batch(
    batch: Batch,
    suite: Suite,
    suite_frames: SuiteFrames,
    all_cases: Targets,
    store: RowStore,
    noted: _Noted,
    *,
    with_text: bool,
) -> None:
    frames = flatten_traces(batch.traces, batch.unreadable, argument_tools=suite_frames.argument_tools)
    assigned = assign(frames, all_cases)
    judged = judge(assigned, frames, suite_frames, redact=suite.redact)
    for rows in (
        snapshot_rows(judged, frames, redact=suite.redact, with_text=with_text),
        error_rows(assigned, suite_frames.cases),
    ):
        noted.cases_seen.update(rows["case_id"].unique())
        store.add(_redacted(rows, suite))
    noted.add_errors(assigned.errors, suite)
    noted.add_unmatched(assigned.unmatched, suite)
    noted.add_warnings(frames.warnings, suite)


def _redacted(rows: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    if not suite.redact:
        return rows
    definitions = rows["definition"].unique().to_list()
    hidden = [redact_json(text, suite.redact, keep=OWN_KEYS) for text in definitions]
    rows = rows.with_columns(pl.col("definition").replace_strict(definitions, hidden, return_dtype=pl.String))
    return redact_frame(rows.lazy(), suite.redact, keep=(*OWN_WORDS, "definition")).collect()


def _not_run(selected: Sequence[Case], noted: _Noted, inputs: Inputs) -> dict[str, str]:
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


def _info(
    suite: Suite,
    selected: Sequence[Case],
    keys: pl.DataFrame,
    order: pl.DataFrame,
    noted: _Noted,
    *,
    with_text: bool,
) -> SnapshotInfo:
    used = keys.join(order, on=["part", "index"], how="semi")["content_digest"].drop_nulls().sort()
    (name,) = redact_texts([suite.name], suite.redact)
    return SnapshotInfo(
        schema_version=SCHEMA_VERSION,
        suite=name,
        tool_version=__version__,
        cases_digest=cases_digest(selected),
        traces_digest="sha256:" + sha256("\n".join(used.to_list()).encode()).hexdigest(),
        unmatched_traces=noted.unmatched_count,
        unreadable_records=noted.error_count,
        input_warnings_count=noted.warning_count,
        text=with_text,
        unmatched=tuple(noted.unmatched),
        input_errors=tuple(noted.errors),
        input_warnings=tuple(noted.warnings),
    )


Entry = TypeVar("Entry", Unmatched, InputFault, InputWarning)


def _first(entries: list[Entry]) -> list[Entry]:
    """The first entries by place, however the input was cut into batches."""
    if len(entries) <= 1:
        return entries
    return sorted(entries, key=lambda entry: (entry.file, entry.line or 0, msgspec.json.encode(entry)))[:LIST_LIMIT]


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
        for writer in all_writers():
            if writer.render_diff is not None and writer.always:
                write_file(out / writer.diff_file, writer.render_diff(comparison.diff))
    return comparison


def write_reports(view: View, out: Path, writers: Sequence[Writer]) -> list[Path]:
    """Write the reports, each beside its place and then renamed.

    Raises:
        OutputError: the folder cannot be written to.
    """
    return [write_file(out / writer.file, writer.render(view)) for writer in writers]


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
