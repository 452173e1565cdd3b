"""Which engine runs the shards."""

import os
from collections.abc import Sequence
from typing import Final

from pipeline.engines.base import Engine
from pipeline.errors import UsageError
from pipeline.sources.shards import Shard

# Below this many bytes a pool costs more than it gains: its processes take some 0.5 s to start.
POOL_BYTES: Final = 48 << 20


def choose(shards: Sequence[Shard], *, jobs: int | None = None) -> Engine | None:
    """The engine for these shards, None for this process.

    Args:
        shards: the slices of the input.
        jobs: processes asked for; as many as there are processors, where that pays, if None.

    Raises:
        UsageError: less than one process.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs {jobs} leaves nobody to do the work", hint="give 1 or more")
    wanted = jobs or len(os.sched_getaffinity(0))
    if wanted == 1 or len(shards) == 1 or (jobs is None and sum(shard.size for shard in shards) < POOL_BYTES):
        return None
    # Standard input cannot be read by another process.
    if any(file.path is None for shard in shards for file in shard.files):
        return None
    from pipeline.engines.local import LocalEngine

    return LocalEngine(min(wanted, len(shards)))
