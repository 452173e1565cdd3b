"""Which engine runs the shards, and where their results wait."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pipeline.engines.base import Engine, encode_job
from pipeline.errors import OutputError, UsageError
from pipeline.judging import Job
from pipeline.sources.remote import is_remote
from pipeline.sources.shards import Shard

# Below this many bytes a pool costs more than it gains: its processes take some 0.5 s to start.
POOL_BYTES: Final = 48 << 20

ENGINES: Final = ("local", "dask")
SHARD_RESULTS: Final = ".shards"


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is carried out; it changes nothing in the results.

    Attributes:
        jobs: processes to use; 1 is this process alone, None as many as there are processors where that pays.
        engine: `local`: processes of this machine; `dask`: a Dask cluster.
        address: of a Dask scheduler that is there already; empty to start a cluster here.
        resume: take the finished shards of a run of the same cases and traces that did not come to its end.
    """

    jobs: int | None = 1
    engine: str = "local"
    address: str = ""
    resume: bool = False


def choose(shards: Sequence[Shard], execution: Execution) -> Engine | None:
    """The engine for these shards, None for this process.

    Args:
        shards: the slices of the input.
        execution: what was asked for.

    Raises:
        UsageError: there is no such engine, less than one process, or an address without a cluster to reach there.
    """
    jobs = execution.jobs
    if execution.engine not in ENGINES:
        raise UsageError(f"--engine does not take {execution.engine!r}", hint=f"it takes: {', '.join(ENGINES)}")
    if execution.address and execution.engine != "dask":
        raise UsageError("--address is of a Dask scheduler", hint="ask for it with: --engine dask")
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs {jobs} leaves nobody to do the work", hint="give 1 or more")
    # Standard input cannot be read by another process.
    if any(file.path is None for shard in shards for file in shard.files):
        return None
    wanted = jobs or len(os.sched_getaffinity(0))
    if execution.engine == "dask":
        from pipeline.engines.dask import DaskEngine

        return DaskEngine(wanted, execution.address)
    small = jobs is None and sum(shard.size for shard in shards) < POOL_BYTES
    if (wanted == 1 or len(shards) <= 1 or small) and not execution.resume:
        return None
    from pipeline.engines.local import LocalEngine

    return LocalEngine(max(1, min(wanted, len(shards))))


@contextmanager
def results_folder(
    job: Job, shards: Sequence[Shard], out: Path, *, tool_version: str = "", resume: bool = False
) -> Iterator[Path]:
    """A folder for the results of shards, kept if the run does not come to its end, for the next one to go on from.

    Args:
        job: what the shards have in common.
        shards: the slices of the input.
        out: folder of the run's outputs.
        tool_version: another version may judge otherwise, so its results are of no use.
        resume: keep what an earlier run of the same job and shards has left; else it is swept.

    Raises:
        OutputError: the folder cannot be made.
    """
    base = out / SHARD_RESULTS
    folder = base / _key(job, shards, tool_version)
    try:
        for left in base.iterdir() if base.is_dir() else ():
            if left != folder or not resume:
                shutil.rmtree(left)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot keep results of shards in {base}: {error.strerror or error}") from error
    yield folder
    shutil.rmtree(base)


def _key(job: Job, shards: Sequence[Shard], tool_version: str) -> str:
    """What must be the same for a result to be of use: the tool, the cases, and the input as it is now."""
    digest = sha256(tool_version.encode())
    digest.update(encode_job(job))
    digest.update(msgspec.json.encode(shards))
    for shard in shards:
        for file in shard.files:
            if file.path is None:
                continue
            if is_remote(file.path):
                # Its size and version are in the shard; without a version nobody knows whether it is still the same.
                if file.version is None:
                    digest.update(os.urandom(16))
            else:
                state = os.stat(file.path)  # noqa: PTH116 - a path with surrogates for bytes that are no UTF-8
                digest.update(f"{state.st_size} {state.st_mtime_ns}".encode())
    return digest.hexdigest()[:32]
