"""Files to frames, batch by batch: those that hold JSON are read and flattened, imported traces are frames already."""

from collections.abc import Iterator
from itertools import groupby

import msgspec

from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.sources.base import Format
from pipeline.sources.files import Inputs
from pipeline.sources.lines import Seen
from pipeline.sources.read import AUTO, collector_paused, named_format, read_batches


class FrameBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of the input as frames.

    Attributes:
        frames: the frames.
        bytes: about how many bytes of input were read for it.
    """

    frames: TraceFrames
    bytes: int


def frame_batches(
    inputs: Inputs,
    from_format: str | Format = AUTO,
    *,
    seen: Seen | None = None,
) -> Iterator[FrameBatch]:
    """Read all files, in their order.

    Args:
        inputs: the files.
        from_format: the format of those that hold JSON, its name, or `auto`.
        seen: see `read_batches`.

    Raises:
        UsageError: there is no such format.
    """
    return _batches(inputs, named_format(from_format) or AUTO, seen)


def _batches(inputs: Inputs, from_format: str | Format, seen: Seen | None) -> Iterator[FrameBatch]:
    for imported, files in groupby(inputs.files, key=lambda file: file.kind == "parquet"):
        if imported:
            # Only a run of imported traces pays for the import.
            from pipeline.flatten.parquet import read_rows

            for file in files:
                for group in read_rows(file):
                    yield FrameBatch(frames=group.frames, bytes=group.size)
            continue
        for batch in read_batches(Inputs(files=tuple(files)), from_format, seen=seen):
            with collector_paused():
                frames = flatten_traces(batch.traces, batch.unreadable)
            yield FrameBatch(frames=frames, bytes=batch.bytes)
