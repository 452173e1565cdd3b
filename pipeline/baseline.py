"""Baselines: a snapshot kept in the repository, with the reports rendered from it (R14-R16)."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pipeline import git
from pipeline.diff import Diff, diff
from pipeline.errors import OutputError, SnapshotError, UsageError, quote
from pipeline.report.base import all_writers
from pipeline.report.model import View, build
from pipeline.snapshot.files import Snapshot, read_snapshot, reading, snapshot_files
from pipeline.snapshot.reference import DEFAULT_BASELINE, baseline_places, first_snapshot

REPORTS: Final = "docs/eval/baseline"


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What saving a baseline did.

    Attributes:
        files: the files written.
        previous: the diff against the baseline before; None where there was none or it cannot be compared.
        problem: why there is no such diff although there was a baseline; empty otherwise.
    """

    files: tuple[Path, ...]
    previous: Diff | None
    problem: str = ""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline of one branch.

    Attributes:
        branch: its name.
        commit: its commit.
        view: the baseline's report; None where it cannot be read.
        problem: why not.
    """

    branch: str
    commit: str
    view: View | None
    problem: str = ""


def check_saveable(snapshot: Snapshot, *, allow_errors: bool) -> View:
    """Refuse what would be a bad baseline.

    Args:
        snapshot: the run to keep.
        allow_errors: keep it although cases are in error or were not run.

    Raises:
        UsageError: it judged nothing, or has errors and those are not allowed.
        SnapshotError: its rows are damaged.
    """
    view = view_of(snapshot)
    summary = view.report.summary
    if not summary.traces:
        raise UsageError(
            f"{quote(snapshot.source)} judged no trace, so it cannot be a baseline", hint="run again with traces"
        )
    broken = [
        f"{count} {one if count == 1 else several}"
        for count, one, several in (
            (summary.errors, "case in error", "cases in error"),
            (summary.not_run, "case not run", "cases not run"),
            (summary.unreadable_records, "unreadable record", "unreadable records"),
        )
        if count
    ]
    if broken and not allow_errors:
        raise UsageError(
            f"{quote(snapshot.source)} has {', '.join(broken)}: as a baseline it would hide what they would show",
            hint="mend the run first, or keep it all the same with --allow-errors",
        )
    return view


def save(source: Path, *, baseline: Path = Path(DEFAULT_BASELINE), reports: Path = Path(REPORTS)) -> Saved:
    """Keep a run's snapshot as the baseline, with the reports rendered from it: all of it, or nothing.

    Args:
        source: the snapshot to keep, checked with `check_saveable`.
        baseline: where the snapshot goes.
        reports: folder for the reports.

    Raises:
        SnapshotError: the source cannot be read.
        OutputError: something cannot be written; then everything stands as before.
    """
    snapshot = read_snapshot(source)
    previous, problem = _difference(baseline, snapshot)
    view = view_of(snapshot)
    writers = [writer for writer in all_writers() if writer.always]
    places = [baseline, *(reports / writer.file for writer in writers)]
    beside = [place.with_name(f".{place.name}.writing") for place in places]
    try:
        try:
            for place in places:
                place.parent.mkdir(parents=True, exist_ok=True)
            for old in beside:
                _remove(old)
            _copy(source, beside[0])
            for writer, file in zip(writers, beside[1:], strict=True):
                file.write_bytes(writer.render(view))
            _replace_all(list(zip(beside, places, strict=True)))
        finally:
            for file in beside:
                _remove(file)
    except OSError as error:
        raise OutputError(
            f"the baseline was not saved: {error.strerror or error}",
            hint="everything stands as before; make room or give permission and try again",
        ) from error
    return Saved(files=tuple(places), previous=previous, problem=problem)


def view_of(snapshot: Snapshot, diff: Diff | None = None) -> View:
    """The report of a snapshot that was kept, whose rows may have been damaged since.

    Args:
        snapshot: the run.
        diff: what changed since a baseline, if that is to be shown.

    Raises:
        SnapshotError: they are.
    """
    with reading(snapshot):
        return build(snapshot, diff)


def _copy(source: Path, target: Path) -> None:
    if not source.is_dir():
        shutil.copyfile(source, target)
        return
    # The parts and nothing else that may lie beside them.
    target.mkdir()
    for part in snapshot_files(source):
        shutil.copyfile(part, target / part.name)


def _difference(baseline: Path, snapshot: Snapshot) -> tuple[Diff | None, str]:
    if not baseline.exists():
        return None, ""
    try:
        return diff(read_snapshot(baseline), snapshot), ""
    except (SnapshotError, UsageError) as error:
        return None, error.message


def _replace_all(moves: Sequence[tuple[Path, Path]]) -> None:
    """Put every new file in its place; where one cannot be, those before are put back."""
    kept: list[tuple[Path, Path]] = []
    done: list[Path] = []
    try:
        for new, place in moves:
            if place.exists():
                old = place.with_name(f".{place.name}.old")
                _remove(old)
                os.rename(place, old)  # noqa: PTH104 - files and folders alike
                kept.append((old, place))
            os.rename(new, place)  # noqa: PTH104 - files and folders alike
            done.append(place)
    except BaseException:
        for place in done:
            _remove(place)
        for old, place in kept:
            os.rename(old, place)  # noqa: PTH104 - files and folders alike
        raise
    for old, _ in kept:
        _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def baselines() -> Iterator[Listed]:
    """The baselines of all branches of the repository one stands in, local branches first.

    Raises:
        SnapshotError: there is no repository here.
    """
    places = baseline_places(git.require_repository())
    for branch, commit in git.branches():
        try:
            snapshot = first_snapshot(commit, places, source=f"git:{branch}")
            if snapshot is not None:
                yield Listed(branch=branch, commit=commit, view=view_of(snapshot))
        except SnapshotError as error:
            yield Listed(branch=branch, commit=commit, view=None, problem=error.message)
