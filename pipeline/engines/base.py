"""What an engine is: it gives back every shard's results, in any order, whatever happens to its workers."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import msgspec
import polars as pl

from pipeline.judging import Job, Judging, Partial
from pipeline.snapshot.store import write_rows
from pipeline.sources.shards import Shard

# A shard whose worker dies is tried once more; one that kills two workers is at fault itself.
TRIES: Final = 2

# What a worker is started with; it counts when it is set before Polars is first imported. One thread of Polars, and of
# its allocator one arena that gives back at once what it no longer needs: fewer page faults, and less memory.
WORKER_ENVIRONMENT: Final = {"POLARS_MAX_THREADS": "1", "_RJEM_MALLOC_CONF": "muzzy_decay_ms:0,narenas:1"}


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A finished shard.

    Attributes:
        partial: what became of it.
        rows: file of its rows, or None where it has none.
    """

    partial: Partial
    rows: Path | None


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A shard that could not be finished.

    Attributes:
        shard: which one.
        reason: why, in words.
    """

    shard: Shard
    reason: str


Task = Callable[[bytes, Shard, str], Done]
"""What a worker does with a shard: `work`, or a stand-in that a test gives."""


class Engine(Protocol):
    """Runs shards."""

    def run(self, job: Job, shards: Sequence[Shard], folder: Path) -> Iterator[Done | Failed]:
        """Judge all shards.

        Args:
            job: what they have in common.
            shards: the slices of the input.
            folder: an existing folder that this process and every worker can write to.

        Yields:
            One result per shard, as they are finished.
        """
        ...


_prepared: dict[bytes, Judging] = {}


def work(job: bytes, shard: Shard, folder: str) -> Done:
    """The task of a worker: judge one shard and leave its rows in a file, whole or not at all.

    Args:
        job: the job, encoded by `encode_job`; made ready once per process.
        shard: the slice of the input.
        folder: where results go.
    """
    judging = _prepared.get(job)
    if judging is None:
        _prepared.clear()
        judging = _prepared[job] = Judging(decode_job(job))
    frames: list[pl.DataFrame] = []
    partial = judging.shard(shard, frames.append)
    rows = _rows_file(Path(folder), shard) if partial.has_rows else None
    if rows is not None:
        beside = _beside(rows)
        write_rows(beside, pl.concat(frames))
        os.replace(beside, rows)  # noqa: PTH105 - the name says that it replaces
    done = Done(partial=partial, rows=rows)
    # Written last: where this file stands, the shard is finished.
    _replace(receipt(Path(folder), shard), msgspec.json.encode(partial))
    return done


def _replace(path: Path, data: bytes) -> None:
    beside = _beside(path)
    beside.write_bytes(data)
    os.replace(beside, path)  # noqa: PTH105 - the name says that it replaces


def _beside(path: Path) -> Path:
    """Where a file of this process is written before it takes its place."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def receipt(folder: Path, shard: Shard) -> Path:
    """The file that says that a shard is finished, and what became of it."""
    return folder / f"shard-{shard.number:07}.json"


def finished(folder: Path, shard: Shard) -> Done | None:
    """The result of a shard that an earlier run has finished, if it stands whole."""
    try:
        partial = msgspec.json.decode(receipt(folder, shard).read_bytes(), type=Partial)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None
    if not partial.has_rows:
        return Done(partial=partial, rows=None)
    # Rows that went missing must not pass for none.
    rows = _rows_file(folder, shard)
    return Done(partial=partial, rows=rows) if rows.exists() else None


def _rows_file(folder: Path, shard: Shard) -> Path:
    return folder / f"shard-{shard.number:07}.arrow"


def encode_job(job: Job) -> bytes:
    """A job as bytes, for workers elsewhere; the same job gives the same bytes."""
    return msgspec.json.encode(job)


def decode_job(data: bytes) -> Job:
    """The job again."""
    return msgspec.json.decode(data, type=Job)


@contextmanager
def worker_environment() -> Iterator[None]:
    """As long as it lasts, processes that are started have `WORKER_ENVIRONMENT`."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
