"""A Dask cluster: one future per shard, on a cluster of this machine or on one that is there already.

Facts that shape this file, each seen in a trial: a key of its own and `pure=False, retries=0` for every shard, so that
an exception of the shard itself is not retried while `allowed-failures` gives a killed worker's shards their second
chance; `worker-saturation` 1.0, or a shard that kills its workers takes an innocent queued one with it; futures
released as soon as their result is on disk, or finished shards of a dead worker are computed again; and what Polars
reads from the environment set before a worker imports it. On a remote scheduler the settings of the scheduler belong in
its own configuration; ours do not reach it.
"""

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pipeline.engines.base import (
    TRIES,
    WORKER_ENVIRONMENT,
    Done,
    Failed,
    Task,
    encode_job,
    finished,
    work,
    worker_environment,
)
from pipeline.errors import UsageError
from pipeline.judging import Job
from pipeline.sources.shards import Shard

SETTINGS: Final[dict[str, Any]] = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    "distributed.scheduler.worker-saturation": 1.0,
    # A frozen worker is replaced.
    "distributed.scheduler.worker-ttl": "2 minutes",
    **{f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in WORKER_ENVIRONMENT.items()},
    "distributed.worker.multiprocessing-method": "spawn",
}


class DaskEngine:
    """Shards as futures of a Dask cluster.

    Args:
        jobs: worker processes of a cluster that is started on this machine.
        address: a scheduler's address, such as `tcp://scheduler:8786`; empty to start a cluster here.
        task: what a worker does with a shard.
    """

    def __init__(self, jobs: int, address: str = "", task: Task = work) -> None:
        self.jobs = jobs
        self.address = address
        self._task = task

    def run(self, job: Job, shards: Sequence[Shard], folder: Path) -> Iterator[Done | Failed]:
        """Judge all shards; see `Engine.run`. The folder must be the same one for all workers."""
        dask, distributed = _libraries()
        with ExitStack() as stack:
            stack.enter_context(dask.config.set(SETTINGS))
            # This process's environment, where Polars has set a part of it, counts more than the settings.
            stack.enter_context(worker_environment())
            client = stack.enter_context(self._client(distributed, stack))
            yield from self._results(distributed, client, encode_job(job), shards, folder)

    def _client(self, distributed: Any, stack: ExitStack) -> Any:
        if self.address:
            try:
                return distributed.Client(self.address, timeout="10s")
            except OSError as error:
                raise UsageError(
                    f"no Dask scheduler answers at {self.address}: {error}",
                    hint="start one with: dask scheduler, or leave --address out to start a cluster here",
                ) from error
        cluster = distributed.LocalCluster(
            n_workers=self.jobs,
            threads_per_worker=1,
            host="127.0.0.1",
            # Without an address of its own its HTTP server wants a fixed port, which another run may have.
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=50,
        )
        return distributed.Client(stack.enter_context(cluster))

    def _results(
        self, distributed: Any, client: Any, job: bytes, shards: Sequence[Shard], folder: Path
    ) -> Iterator[Done | Failed]:
        run = uuid.uuid4().hex[:8]
        running: dict[str, Shard] = {}
        tried: Counter[int] = Counter()
        left = list(reversed(shards))
        ready = distributed.as_completed()

        def submit(shard: Shard) -> None:
            key = f"shard-{shard.number}-{run}-{uuid.uuid4().hex[:8]}"
            running[key] = shard
            tried[shard.number] += 1
            # The cases go with every shard: data scattered to workers is gone once these have died.
            ready.add(client.submit(self._task, job, shard, str(folder), key=key, pure=False, retries=0))

        ahead = 2 * max(1, sum(client.nthreads().values()))
        for _ in range(min(ahead, len(left))):
            submit(left.pop())
        for future in ready:
            shard = running.pop(future.key)
            # A result lives on its worker until it is fetched, and dies with it; what stands in the folder does not.
            done = finished(folder, shard)
            if done is not None:
                yield done
            elif future.status == "error":
                yield Failed(shard=shard, reason=_words(distributed, future.exception()))
            elif tried[shard.number] < TRIES:
                left.append(shard)
            else:
                yield Failed(shard=shard, reason="its results are not in the output folder: do all workers share it?")
            future.release()
            if left:
                submit(left.pop())


def _words(distributed: Any, error: BaseException) -> str:
    if isinstance(error, distributed.KilledWorker):
        return f"it killed its worker process {TRIES} times; it may need more memory than there is"
    return f"{type(error).__name__}: {error}"


def _libraries() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise UsageError(
            "--engine dask needs the package distributed",
            hint='install it with: pip install "diagnosis-eval[cluster]"',
        ) from error
    return dask, distributed
