"""Stand-ins for the task of a worker; in a module of their own, as worker processes import them by name."""

import os
import signal
from pathlib import Path

import msgspec
import polars as pl

from pipeline.engines.base import WORKER_ENVIRONMENT, Done, work
from pipeline.sources.shards import Shard


def kill_once(job: bytes, shard: Shard, folder: str) -> Done:
    """The worker of shard 1 is killed the first time."""
    mark = Path(folder) / "killed-once"
    if shard.number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(job, shard, folder)


def kill_always(job: bytes, shard: Shard, folder: str) -> Done:
    """Whatever worker takes shard 1 is killed."""
    if shard.number == 1:
        with (Path(folder) / "killed-always").open("a") as log:
            log.write("killed\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return work(job, shard, folder)


def raise_on_one(job: bytes, shard: Shard, folder: str) -> Done:
    """Shard 1 raises."""
    if shard.number == 1:
        raise ValueError("planted")
    return work(job, shard, folder)


def lose_the_results(job: bytes, shard: Shard, folder: str) -> Done:
    """Shard 1 leaves nothing in the folder, as where a worker has a folder of its own."""
    done = work(job, shard, folder)
    if shard.number == 1:
        for file in Path(folder).glob("shard-0000001.*"):
            file.unlink()
    return done


def tell_environment(job: bytes, shard: Shard, folder: str) -> Done:
    """Every shard's worker writes down what it was started with, and how many threads Polars has."""
    seen = {name: os.environ.get(name, "") for name in WORKER_ENVIRONMENT} | {"threads": str(pl.thread_pool_size())}
    (Path(folder) / f"environment-{shard.number}").write_bytes(msgspec.json.encode(seen))
    return work(job, shard, folder)
