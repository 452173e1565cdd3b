"""A pool of processes on this machine (pebble): it outlives killed workers, and says which shard killed one.

Workers are spawned, never forked (a fork after Polars has run hangs), and use one Polars thread each: two processes
with one thread beat one process with two, as decoding is the larger part of the work.

A worker that dies just as it takes up a shard can go unnoticed by the pool, which then waits for it for ever. So
whoever takes up a shard leaves its process id beside the results, and a shard whose process is gone is lost.
"""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.engines.base import TRIES, Done, Failed, Task, encode_job, work, worker_environment
from pipeline.judging import Job
from pipeline.sources.shards import Shard

if TYPE_CHECKING:
    from pebble import ProcessPool


# So often the pool is looked at while nothing is finished; what is gone at two looks is lost.
_LOOK_SECONDS: Final = 1.0


class LocalEngine:
    """A pool of processes.

    Args:
        jobs: how many.
        task: what a worker does with a shard.
    """

    def __init__(self, jobs: int, task: Task = work) -> None:
        self.jobs = jobs
        self._task = task

    def run(self, job: Job, shards: Sequence[Shard], folder: Path) -> Iterator[Done | Failed]:
        """Judge all shards; see `Engine.run`."""
        from pebble import ProcessExpired, ProcessPool

        encoded = encode_job(job)
        with (
            worker_environment(),
            ProcessPool(max_workers=self.jobs, context=multiprocessing.get_context("spawn")) as pool,
        ):
            left = list(reversed(shards))
            running: dict[Future[Done], tuple[Shard, int]] = {}
            gone: set[Future[Done]] = set()
            lost = False
            try:
                while left or running:
                    # A few shards ahead of the workers; all at once would hold their descriptions in the pool's queue.
                    while left and len(running) < 2 * self.jobs:
                        shard = left.pop()
                        running[self._schedule(pool, encoded, shard, folder)] = (shard, 1)
                    done, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                    before, gone = gone, set() if done else _gone(running, folder)
                    for future in gone & before:
                        lost = True
                        shard, tries = running.pop(future)
                        if tries < TRIES:
                            running[self._schedule(pool, encoded, shard, folder)] = (shard, tries + 1)
                        else:
                            yield Failed(shard=shard, reason=_words(None, tries))
                    for future in done:
                        shard, tries = running.pop(future)
                        try:
                            yield future.result()
                        except ProcessExpired as expired:
                            if tries < TRIES:
                                running[self._schedule(pool, encoded, shard, folder)] = (shard, tries + 1)
                            else:
                                yield Failed(shard=shard, reason=_words(expired.exitcode, tries))
                        except Exception as error:  # noqa: BLE001 - whatever a shard raises must name it
                            yield Failed(shard=shard, reason=f"{type(error).__name__}: {error}")
            finally:
                # Left early (Ctrl-C, an error of the caller): nobody wants the rest. What was lost will never end.
                if left or running or lost:
                    pool.stop()  # type: ignore[no-untyped-call] # pebble has no annotation there

    def _schedule(self, pool: "ProcessPool", job: bytes, shard: Shard, folder: Path) -> "Future[Done]":
        _begun(folder, shard).unlink(missing_ok=True)
        future: Future[Done] = pool.schedule(_take_up, args=(self._task, job, shard, str(folder)))
        return future


def _take_up(task: Task, job: bytes, shard: Shard, folder: str) -> Done:
    """What a worker runs: the task, after a word on who took it up."""
    _begun(Path(folder), shard).write_text(str(os.getpid()), "ascii")
    return task(job, shard, folder)


def _begun(folder: Path, shard: Shard) -> Path:
    """The file that says which process took up a shard."""
    return folder / f".shard-{shard.number:07}.begun"


def _gone(running: dict["Future[Done]", tuple[Shard, int]], folder: Path) -> set["Future[Done]"]:
    """The shards that were taken up by a process that is no longer there."""
    return {future for future, (shard, _) in running.items() if not future.done() and _is_gone(_begun(folder, shard))}


def _is_gone(begun: Path) -> bool:
    try:
        process = int(begun.read_text("ascii"))
    except (OSError, ValueError):
        # Nobody has taken it up, or is just about to say so.
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        # It is there, and of somebody else.
        return False
    return False


def _words(exit_code: int | None, tries: int) -> str:
    if exit_code is None:
        how = "vanished"
    else:
        how = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"
    return f"its worker process {how}, {tries} times; it may need more memory than there is"
