"""diagnosis-eval against itself: how it grows, how it starts, what more processes bring."""

from typing import Final

import msgspec

from benchmarks.comparison import Command, Comparison, UnavailableError
from benchmarks.measure import CommandFailedError, measure
from benchmarks.workspace import REPOSITORY, Workspace, digest_of_outputs, passed_traces, processors, traces_and_calls

JOBS: Final = 2


def start(place: Workspace) -> Comparison:
    """The shipped suite, whose evaluation takes milliseconds, against the import of Polars in the same interpreter."""
    cases, traces = REPOSITORY / "cases", REPOSITORY / "fixtures/traces"
    if not traces.is_dir():
        raise UnavailableError("the shipped suite is absent")
    # An import finds nothing that could be compared, so neither side has an answer; a run that fails is an error.
    ours = place.run("start", cases, traces, answer=passed_traces)
    return Comparison(
        ours=Command(label=ours.label, argv=ours.argv, makes=ours.makes),
        theirs=Command(label="python -c 'import polars'", argv=[str(place.python), "-c", "import polars"]),
    )


def growth(place: Workspace, size: int) -> Comparison:
    """So many traces of 50 cases with all checks."""
    made = place.traces(size)
    return Comparison(ours=place.run("growth", made / "cases.json", made / "traces.jsonl", answer=traces_and_calls))


def two_processes(place: Workspace, size: int) -> Comparison:
    """Two worker processes against one process; the outputs are the same bytes."""
    _expect_processors()
    return _both(place, size, ("--jobs", str(JOBS)), ("--jobs", "1"))


def two_single_threaded_processes(place: Workspace, size: int) -> Comparison:
    """The same with one Polars thread in every process, so that the one process does not use both processors."""
    both = two_processes(place, size)
    assert both.theirs is not None  # noqa: S101 - it compares two
    one, other = (msgspec.structs.replace(side, env={"POLARS_MAX_THREADS": "1"}) for side in (both.ours, both.theirs))
    return Comparison(ours=one, theirs=other)


def dask(place: Workspace, size: int) -> Comparison:
    """A Dask cluster of two workers, started for this run, against our own two; the outputs are the same bytes."""
    _expect_processors()
    try:
        measure([str(place.python), "-c", "import distributed"])
    except CommandFailedError as error:
        raise UnavailableError("the extra 'cluster' is not installed") from error
    return _both(place, size, ("--engine", "dask", "--jobs", str(JOBS)), ("--engine", "local", "--jobs", str(JOBS)))


def _both(place: Workspace, size: int, ours: tuple[str, ...], theirs: tuple[str, ...]) -> Comparison:
    made = place.traces(size)
    cases, traces = made / "cases.json", made / "traces.jsonl"
    return Comparison(
        ours=place.run("one-way", cases, traces, *ours, answer=digest_of_outputs, label=" ".join(ours)),
        theirs=place.run("other-way", cases, traces, *theirs, answer=digest_of_outputs, label=" ".join(theirs)),
    )


def _expect_processors() -> None:
    if processors() < JOBS:
        raise UnavailableError(f"{JOBS} processes need {JOBS} processors")
