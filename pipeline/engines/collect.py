"""The results of all shards put together, so that they do not depend on the cut, the order or the engine."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from pipeline.engines.base import Engine, Failed, finished
from pipeline.errors import InputError
from pipeline.judging import Judging, Partial
from pipeline.noted import Noted
from pipeline.snapshot.store import RowStore
from pipeline.sources.shards import Shard, joined


class Told:
    """Progress, told in bytes.

    Args:
        tell: given the bytes read and the bytes in all.
        total: bytes in all, 0 where unknown.
    """

    def __init__(self, tell: Callable[[int, int], None], total: int) -> None:
        self._tell = tell
        self._total = total
        self._done = 0

    def add(self, size: int) -> None:
        """So many bytes more have been read."""
        self._done += size
        self._tell(self._done, self._total)


def judge_shards(  # noqa: PLR0913, PLR0917 - what the shards are judged with, and where the results go, named
    judging: Judging,
    shards: Sequence[Shard],
    engine: Engine | None,
    store: RowStore,
    noted: Noted,
    folder: Path,
    told: Told | None = None,
) -> dict[int, int]:
    """Judge all shards and gather their results.

    Args:
        judging: what they have in common, made ready.
        shards: the slices of the input.
        engine: where they run; in this process, one after the other, without one.
        store: takes the rows.
        noted: takes what was noticed.
        folder: an existing folder for the files of an engine.
        told: told of the progress.

    Returns:
        For every shard that is a slice of a file, the lines of the file before it.

    Raises:
        InputError: a shard could not be finished; all others were.
    """
    partials: dict[int, Partial] = {}
    failed: list[Failed] = []
    if engine is None:
        for shard in shards:
            partials[shard.number] = judging.shard(
                shard,
                lambda rows, number=shard.number: store.add(rows, number),  # type: ignore[misc] # bound at once
                told.add if told else None,
            )
    else:
        before = {shard.number: done for shard in shards if (done := finished(folder, shard)) is not None}
        left = [shard for shard in shards if shard.number not in before]
        for result in chain(before.values(), engine.run(judging.job, left, folder)):
            if isinstance(result, Failed):
                failed.append(result)
                continue
            partials[result.partial.number] = result.partial
            if result.rows is not None:
                store.add_file(result.rows, result.partial.number)
            if told:
                told.add(result.partial.size)
    if failed:
        names = "; ".join(f"{one.shard.name()}: {one.reason}" for one in failed)
        raise InputError(
            f"{len(failed)} of {len(shards)} shards could not be judged: {names}",
            hint="the others were: mend or leave out what these hold, and go on with --resume",
        )
    kept = list(_closed(judging, shards, partials, store))
    offsets = _line_offsets(kept, partials)
    for shard in kept:
        noted.merge(partials[shard.number].noted, offsets.get(shard.number, 0))
    return offsets


def _closed(
    judging: Judging,
    shards: Sequence[Shard],
    partials: dict[int, Partial],
    store: RowStore,
) -> Iterator[Shard]:
    """The shards, those that end within a document read again together with what follows.

    One that broke off takes what follows in its file without a further look: a file read whole ends there.
    """
    waiting = list(reversed(shards))
    while waiting:
        shard = waiting.pop()
        number = shard.number
        while _takes_more(partials[number]) and waiting and _continues(shard, waiting[-1]):
            following = waiting.pop()
            store.drop(following.number)
            del partials[following.number]
            shard = joined(shard, following)
            if not partials[number].broken_off:
                store.drop(number)
                partials[number] = judging.shard(shard, lambda rows, number=number: store.add(rows, number))  # type: ignore[misc] # bound at once
        yield shard


def _takes_more(partial: Partial) -> bool:
    return partial.open or partial.broken_off


def _continues(shard: Shard, following: Shard) -> bool:
    one, other = shard.files[0], following.files[0]
    return shard.is_slice and one.path == other.path and one.end == other.start


def _line_offsets(shards: Sequence[Shard], partials: dict[int, Partial]) -> dict[int, int]:
    offsets: dict[int, int] = {}
    lines = 0
    for shard in shards:
        if not shard.is_slice:
            continue
        # The first slice of a file begins at its beginning.
        lines = 0 if not shard.files[0].start else lines
        offsets[shard.number] = lines
        lines += partials[shard.number].line_ends
    return offsets
