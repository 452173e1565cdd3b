"""The whole flow on one page: the only place that knows all stages."""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeVar

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
from pipeline.errors import CaseFileError, InputError
from pipeline.flatten.suite import SuiteFrames, flatten_suite
from pipeline.flatten.traces import flatten_traces
from pipeline.git import git_head
from pipeline.judge import all_checks, judge
from pipeline.redact import redact_frame, redact_json, redact_texts, redacting
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
# The same in a case definition, by path.
OWN_VALUES: Final = (
    ("id",),
    ("evidencePolicy",),
    ("passPolicy",),
    ("knownFailure", "checks"),
    ("toolArguments", "*", "mode"),
)
# What rows are put in order and told apart by; redacted once that is done, or redaction could change the result.
KEYS: Final = ("trace_id", "file")
# Written in lower case where it is flattened.
LOWERED: Final = ("gatekeeper_status",)


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


def evaluate(  # noqa: PLR0913 - one argument per thing that a user may ask for
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
        progress: told the bytes read and the bytes in all, after every batch; 0 in all where that is not known.
    """
    started = time.time()
    suite, selected, inputs = prepare(options)
    with tempfile.TemporaryDirectory(prefix="diagnosis-eval-") as scratch:
        store = RowStore(Path(scratch))
        noted = _Noted()
        suite_frames = flatten_suite(selected)
        all_cases = targets(suite.cases, selected)
        noted.add_input_warnings(inputs)
        with redacting(suite.redact, with_text=options.with_text):
            done, total = 0, _bytes_in_all(inputs) if progress is not None else 0
            for batch in read_batches(inputs, options.from_format):
                _judge_batch(batch, suite, suite_frames, all_cases, store, noted, with_text=options.with_text)
                done += batch.bytes
                if progress is not None:
                    progress(done, total)
        store.add(_redacted(not_run_rows(_not_run(selected, noted, inputs), suite_frames.cases), suite))
        keys = store.keys()
        merged = merge(keys)
        noted.add_warnings(merged.warnings)
        info = _info(suite, selected, keys, merged.rows, noted, with_text=options.with_text)
        parts = (_with_redacted_keys(part, suite) for part in store.in_order(merged.rows))
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
                f"the traceFixture {redact_texts([name], suite.redact)[0]} of case {case.id} stands under "
                f"{len(inputs.where(name))} of the trace folders",
                hint="give one folder, or name the files apart: it must be clear which one is judged",
            )
    return suite, selected, inputs


def _bytes_in_all(inputs: Inputs) -> int:
    """The size of the input; 0 where it cannot be known: of standard input, and of compressed files."""
    if any(file.path is None or file.compression for file in inputs.files):
        return 0
    try:
        return sum(Path(file.path).stat().st_size for file in inputs.files if file.path is not None)
    except OSError:
        # Reading will say what is wrong with the file.
        return 0


class _Noted:
    """What is counted while reading, with the first entries of each list."""

    def __init__(self) -> None:
        self.unmatched: list[Unmatched] = []
        self.errors: list[InputFault] = []
        self.warnings: list[InputWarning] = []
        self.unmatched_count = self.error_count = self.warning_count = 0
        self.cases_seen: set[str] = set()
        self.files_seen: set[str] = set()

    def add_warnings(self, frame: pl.DataFrame) -> None:
        self.warning_count += frame.height
        self.warnings = _first([*self.warnings, *(InputWarning(**row) for row in _first_rows(frame))])

    def add_input_warnings(self, inputs: Inputs) -> None:
        found = inputs.warnings
        columns = {
            "file": [one.file for one in found],
            "line": [None] * len(found),
            "path": ["$"] * len(found),
            "kind": [one.kind for one in found],
            "message": [one.message for one in found],
        }
        self.add_warnings(schemas.frame(schemas.Warnings, columns))

    def add_errors(self, frame: pl.DataFrame) -> None:
        # A record of two cases is one record; two records that read alike are two.
        alike = pl.int_range(pl.len()).over(frame.columns).alias("alike")
        frame = frame.with_columns(alike).drop("case_id").unique().drop("alike")
        self.error_count += frame.height
        self.errors = _first([*self.errors, *(InputFault(**row) for row in _first_rows(frame))])

    def add_unmatched(self, frame: pl.DataFrame) -> None:
        self.unmatched_count += frame.height
        rows = _first_rows(frame.rename({"own_case_id": "case_id"}))
        self.unmatched = _first([*self.unmatched, *(Unmatched(**row) for row in rows)])


def _judge_batch(  # noqa: PLR0913, PLR0917 - everything a batch touches, named
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
    judged = judge(assigned, frames, suite_frames, redact=suite.redact, with_text=with_text)
    for rows in (
        snapshot_rows(judged, frames, redact=suite.redact, with_text=with_text),
        error_rows(assigned, suite_frames.cases),
    ):
        noted.cases_seen.update(rows["case_id"].unique())
        store.add(_redacted(rows, suite))
    noted.add_errors(assigned.errors)
    noted.add_unmatched(assigned.unmatched)
    noted.add_warnings(frames.warnings)


def _redacted(rows: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    if not suite.redact:
        return rows
    definitions = rows["definition"].unique().to_list()
    hidden = [redact_json(text, suite.redact, keep=OWN_VALUES) for text in definitions]
    rows = rows.with_columns(pl.col("definition").replace_strict(definitions, hidden, return_dtype=pl.String))
    keep = (*OWN_WORDS, *KEYS, "definition")
    return redact_frame(rows.lazy(), suite.redact, keep=keep, any_case=LOWERED).collect()


def _with_redacted_keys(rows: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    keep = [name for name in rows.columns if name not in KEYS]
    return redact_frame(rows.lazy(), suite.redact, keep=keep).collect()


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


def _info(  # noqa: PLR0913 - everything the metadata are made of, named
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
        unmatched=_redacted_entries(noted.unmatched, suite),
        input_errors=_redacted_entries(noted.errors, suite),
        input_warnings=_redacted_entries(noted.warnings, suite),
    )


Entry = TypeVar("Entry", Unmatched, InputFault, InputWarning)


def _first(entries: list[Entry]) -> list[Entry]:
    """The first entries by place, however the input was cut into batches."""
    return sorted(entries, key=_place)[:LIST_LIMIT]


def _place(entry: Unmatched | InputFault | InputWarning) -> list[tuple[bool, str | int]]:
    # Every entry begins with its file and line; what is absent comes first.
    return [(False, 0) if value is None else (True, value) for value in msgspec.structs.astuple(entry)]


def _first_rows(frame: pl.DataFrame) -> Iterable[dict[str, Any]]:
    """The first rows by place, in the order of `_first`."""
    return frame.sort(frame.columns, nulls_last=False).head(LIST_LIMIT).iter_rows(named=True)


def _redacted_entries(entries: Sequence[Entry], suite: Suite) -> tuple[Entry, ...]:
    if not suite.redact:
        return tuple(entries)
    fields = [msgspec.structs.asdict(entry) for entry in entries]
    texts = [value for entry in fields for value in entry.values() if isinstance(value, str)]
    hidden = iter(redact_texts(texts, suite.redact))
    return tuple(
        msgspec.structs.replace(
            entry, **{name: next(hidden) for name, value in shown.items() if isinstance(value, str)}
        )
        for entry, shown in zip(entries, fields, strict=True)
    )


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
