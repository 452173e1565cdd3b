"""Engines: the same results wherever shards run, and whatever happens to the workers."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from benchmarks.generate import write
from pipeline import __version__
from pipeline.cases.load import load_suite
from pipeline.engines.base import WORKER_ENVIRONMENT, Done, Engine, Failed, Task, encode_job, finished, work
from pipeline.engines.choose import Execution, choose, results_folder
from pipeline.engines.dask import DaskEngine
from pipeline.engines.local import LocalEngine, _is_gone
from pipeline.errors import InputError, UsageError
from pipeline.judge import all_checks
from pipeline.judging import Job, Judging, Partial
from pipeline.run import Options, prepare, run
from pipeline.sources.files import find_inputs
from pipeline.sources.shards import Shard, cut
from tests.engines import workers
from tests.engines.collected import results

SHARDS = 6

# distributed leaves a socket to the garbage collector, which complains whenever it comes by.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def dask_engine(jobs: int, task: Task = work) -> Engine:
    pytest.importorskip("distributed", reason="the cluster extra is not installed")
    return DaskEngine(jobs, task=task)


def local_engine(jobs: int, task: Task = work) -> Engine:
    return LocalEngine(jobs, task)


ENGINES = pytest.mark.parametrize(
    "engine", [pytest.param(local_engine, id="local"), pytest.param(dask_engine, id="dask")]
)
Make = Callable[..., Engine]


@pytest.fixture(scope="module")
def input_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input")
    write(folder, 60, cases=7, calls=4)
    return folder


@pytest.fixture
def judging(input_: Path) -> Judging:
    suite = load_suite([str(input_ / "cases.json")], known_checks=all_checks().names)
    return Judging(Job(suite=suite, selected=tuple(case.id for case in suite.cases)))


@pytest.fixture
def shards(input_: Path) -> list[Shard]:
    lines = input_ / "traces.jsonl"
    found = cut(find_inputs([str(lines)]).files, shard_bytes=lines.stat().st_size // SHARDS)
    assert len(found) == SHARDS
    return found


@ENGINES
def test_an_engine_gives_what_one_process_gives(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    rows, noted = results(judging, shards, None, tmp_path / "alone")
    their_rows, their_noted = results(judging, shards, engine(2), tmp_path / "engine")
    assert rows.height == 60
    assert their_rows.equals(rows)
    assert their_noted == noted


@ENGINES
def test_a_worker_killed_in_mid_run_costs_nothing(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    rows, _ = results(judging, shards, None, tmp_path / "alone")
    their_rows, _ = results(judging, shards, engine(2, workers.kill_once), tmp_path / "engine")
    assert (tmp_path / "engine" / "killed-once").exists()
    assert their_rows.equals(rows)


@ENGINES
def test_workers_start_with_one_polars_thread_and_one_arena(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    assert all(isinstance(one, Done) for one in engine(2, workers.tell_environment).run(judging.job, shards, tmp_path))
    told = [msgspec.json.decode((tmp_path / f"environment-{number}").read_bytes()) for number in range(SHARDS)]
    assert {(one["threads"], one["POLARS_MAX_THREADS"]) for one in told} == {("1", "1")}
    # Polars puts its own settings before; of two for the same thing the later one counts.
    allocator = WORKER_ENVIRONMENT["_RJEM_MALLOC_CONF"]
    assert [one for one in told if not one["_RJEM_MALLOC_CONF"].endswith(allocator)] == []


@ENGINES
def test_this_process_has_its_environment_again_once_the_workers_are_gone(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = WORKER_ENVIRONMENT
    monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(other, "prof:false")
    assert len(list(engine(2).run(judging.job, shards, tmp_path))) == SHARDS
    assert (os.environ.get(one), os.environ.get(other)) == (None, "prof:false")


@ENGINES
def test_a_shard_that_raises_is_named_and_the_others_are_finished(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    found = list(engine(2, workers.raise_on_one).run(judging.job, shards, tmp_path))
    [failed] = [one for one in found if isinstance(one, Failed)]
    assert failed.shard.number == 1
    assert failed.reason == "ValueError: planted"
    assert sorted(one.partial.number for one in found if isinstance(one, Done)) == [0, 2, 3, 4, 5]


@ENGINES
def test_a_shard_that_kills_every_worker_fails_alone(
    engine: Make, judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    found = list(engine(2, workers.kill_always).run(judging.job, shards, tmp_path))
    [failed] = [one for one in found if isinstance(one, Failed)]
    assert failed.shard.number == 1
    assert "worker process" in failed.reason
    assert (tmp_path / "killed-always").read_text() == "killed\nkilled\n"
    assert sorted(one.partial.number for one in found if isinstance(one, Done)) == [0, 2, 3, 4, 5]


@pytest.fixture
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that never notices that a worker has died, as may happen where it dies just as it takes up a shard."""
    monkeypatch.setattr("pebble.pool.process.PoolManager.handle_worker_expiration", lambda *_: None)


@pytest.mark.usefixtures("unnoticed")
def test_a_shard_lost_by_the_pool_is_given_to_another_worker(
    judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    rows, _ = results(judging, shards, None, tmp_path / "alone")
    their_rows, _ = results(judging, shards, LocalEngine(2, workers.kill_once), tmp_path / "engine")
    assert (tmp_path / "engine" / "killed-once").exists()
    assert their_rows.equals(rows)


@pytest.mark.usefixtures("unnoticed")
def test_a_shard_lost_twice_fails_alone(judging: Judging, shards: list[Shard], tmp_path: Path) -> None:
    found = list(LocalEngine(2, workers.kill_always).run(judging.job, shards, tmp_path))
    [failed] = [one for one in found if isinstance(one, Failed)]
    assert failed.shard.number == 1
    assert failed.reason == "its worker process vanished, 2 times; it may need more memory than there is"
    assert sorted(one.partial.number for one in found if isinstance(one, Done)) == [0, 2, 3, 4, 5]


def test_a_process_is_gone_where_it_is_known_and_no_longer_there(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    begun = tmp_path / "begun"
    found = []
    for said in (None, "", str(os.getpid()), str(ended.pid), "1"):
        if said is not None:
            begun.write_text(said)
        found.append(_is_gone(begun))
    assert found == [False, False, False, True, False]


def broken_off(options: Options, out: Path) -> tuple[Path, Shard]:
    """A run that breaks off after its first shard: the folder that it leaves, and that shard."""
    suite, selected, inputs = prepare(options)
    shards = cut(inputs.files)
    job = Job(suite=suite, selected=tuple(case.id for case in selected))

    def breaks() -> None:
        with results_folder(job, shards, out, tool_version=__version__) as folder:
            work(encode_job(job), shards[0], str(folder))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        breaks()
    [folder] = (out / ".shards").iterdir()
    return folder, shards[0]


def test_resume_skips_what_is_finished_and_gives_the_same(input_: Path, tmp_path: Path) -> None:
    options = Options(cases=(str(input_ / "cases.json"),), traces=(str(input_ / "traces.jsonl"),))
    whole = run(options, out=tmp_path / "whole")
    folder, _ = broken_off(options, tmp_path / "again")
    # Marked, so that it shows whether it was used or made again.
    receipt = folder / "shard-0000000.json"
    partial = msgspec.json.decode(receipt.read_bytes(), type=Partial)
    partial.noted.unmatched_count = 77
    receipt.write_bytes(msgspec.json.encode(partial))
    resumed = run(options, out=tmp_path / "again", execution=Execution(jobs=2, resume=True))
    assert resumed.report.summary.unmatched_traces == 77
    assert resumed.snapshot.rows.collect().equals(whole.snapshot.rows.collect())
    assert not (tmp_path / "again" / ".shards").exists()


def test_two_clusters_of_one_machine_do_not_get_in_each_others_way(
    judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    first = dask_engine(1).run(judging.job, shards[:2], tmp_path / "one")
    # It warns where a port is taken, and a warning is an error here.
    found = [next(first), *dask_engine(1).run(judging.job, shards[:2], tmp_path / "other"), *first]

    assert sorted(done.partial.number for done in found if isinstance(done, Done)) == [0, 0, 1, 1]


def test_a_shard_whose_rows_went_missing_is_judged_again(input_: Path, tmp_path: Path) -> None:
    options = Options(cases=(str(input_ / "cases.json"),), traces=(str(input_ / "traces.jsonl"),))
    folder, shard = broken_off(options, tmp_path / "again")
    [rows] = folder.glob("*.arrow")
    rows.unlink()

    assert finished(folder, shard) is None
    resumed = run(options, out=tmp_path / "again", execution=Execution(jobs=2, resume=True))
    assert resumed.snapshot.rows.collect().equals(run(options).snapshot.rows.collect())


def test_without_resume_what_is_left_is_swept(input_: Path, tmp_path: Path) -> None:
    left = tmp_path / "out" / ".shards" / "0123" / "shard-0000000.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    options = Options(cases=(str(input_ / "cases.json"),), traces=(str(input_ / "traces.jsonl"),))
    suite, selected, inputs = prepare(options)
    job = Job(suite=suite, selected=tuple(case.id for case in selected))
    with results_folder(job, cut(inputs.files), tmp_path / "out"):
        assert not left.exists()
    assert not (tmp_path / "out" / ".shards").exists()


@pytest.mark.parametrize(
    "execution, message",
    [
        (Execution(jobs=0), "--jobs 0 leaves nobody to do the work"),
        (Execution(engine="ray"), "--engine does not take 'ray'"),
        (Execution(address="tcp://a:1"), "--address is of a Dask scheduler"),
    ],
)
def test_an_execution_that_makes_no_sense_is_refused(execution: Execution, message: str, shards: list[Shard]) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        choose(shards, execution)


def test_a_small_input_needs_no_pool(shards: list[Shard]) -> None:
    assert choose(shards, Execution(jobs=None)) is None
    assert choose(shards, Execution(jobs=1)) is None
    assert isinstance(choose(shards, Execution(jobs=2)), LocalEngine)


def test_a_run_with_a_shard_lost_is_no_run(judging: Judging, shards: list[Shard], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 of 6 shards could not be judged: shard 1 \(traces.jsonl, bytes"):
        results(judging, shards, LocalEngine(2, workers.raise_on_one), tmp_path / "engine")


def test_a_worker_that_does_not_share_the_folder_is_told_of(
    judging: Judging, shards: list[Shard], tmp_path: Path
) -> None:
    engine = dask_engine(2, workers.lose_the_results)
    [failed] = [one for one in engine.run(judging.job, shards, tmp_path) if isinstance(one, Failed)]
    assert failed.shard.number == 1
    assert failed.reason == "its results are not in the output folder: do all workers share it?"
