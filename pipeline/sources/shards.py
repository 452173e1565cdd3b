"""Shards: the input cut into slices that can be judged apart, in any order and on any machine.

A shard is a group of small files, one larger file, or a slice of a large line file: cut at line ends, or between the
members of a compressed file (`members`), whose slices begin and end at the next line end of their own accord
(`streams`). A cut may fall within a document that stands on several lines; the shard before it then ends open
(`lines.Seen.open`), and the two are read again as one, so that the result never depends on the cut. Nor does it where a
slice breaks off (`lines.Seen.broken_off`): the slices after it are dropped, as reading the file whole would end there.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from pipeline.sources.base import Format
from pipeline.sources.files import InputFile
from pipeline.sources.members import RATIO, cuts
from pipeline.sources.opening import opened, size_of
from pipeline.sources.read import AUTO, format_of, named_format
from pipeline.sources.remote import is_remote

SHARD_BYTES: Final = 16 << 20
# Files of one shard at most, however small: what a worker has in hand when it is killed is done again.
SHARD_FILES: Final = 2_000
_SEARCH: Final = 1 << 16


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of the input.

    Attributes:
        number: its place in the input, from 0.
        files: its files; a slice of a file stands alone.
        size: bytes to read, compressed ones as they are; 0 where unknown.
        format: the name of the files' format, or `auto`.
    """

    number: int
    files: tuple[InputFile, ...]
    size: int
    format: str = AUTO

    @property
    def is_slice(self) -> bool:
        """Whether it is a part of one file."""
        return len(self.files) == 1 and self.files[0].is_slice

    def name(self) -> str:
        """What messages call it."""
        first, last = self.files[0], self.files[-1]
        if self.is_slice:
            unit = "row groups" if first.kind == "parquet" else "bytes"
            return f"shard {self.number} ({first.name}, {unit} {first.start} to {first.end or 'the end'})"
        return f"shard {self.number} ({first.name}{'' if first is last else f' to {last.name}'})"


def cut(
    files: Iterable[InputFile],
    from_format: str | Format = AUTO,
    *,
    shard_bytes: int = SHARD_BYTES,
    shard_files: int = SHARD_FILES,
) -> list[Shard]:
    """Cut the input into shards.

    Args:
        files: the files, in order.
        from_format: their format, its name, or `auto`.
        shard_bytes: bytes of text of one shard, about; a single document is never cut.
        shard_files: files of one shard at most.
    """
    name = from_format if isinstance(from_format, str) else from_format.name
    shards: list[Shard] = []
    group: list[InputFile] = []
    size = 0

    def close() -> None:
        nonlocal group, size
        if group:
            shards.append(Shard(number=len(shards), files=tuple(group), size=size, format=name))
        group, size = [], 0

    for file in files:
        length = size_of(file) or 0
        if file.kind == "parquet":
            close()
            for piece, extent in _groups(file, shard_bytes):
                shards.append(Shard(number=len(shards), files=(piece,), size=extent, format=name))
            continue
        slices = _slices(file, length, shard_bytes)
        entry = _by_record(file, from_format) if len(slices) > 1 else None
        if entry is not None:
            close()
            for piece in slices:
                extent = (piece.end or length) - piece.start
                shards.append(Shard(number=len(shards), files=(piece,), size=extent, format=entry.name))
            continue
        if group and (size + length > shard_bytes or len(group) >= shard_files):
            close()
        group.append(file)
        size += length
    close()
    return shards


def joined(first: Shard, second: Shard) -> Shard:
    """Two neighbouring slices of one file as one, under the number of the first."""
    (start,), (end,) = first.files, second.files
    file = msgspec.structs.replace(start, end=end.end)
    return msgspec.structs.replace(first, files=(file,), size=first.size + second.size)


def _groups(file: InputFile, shard_bytes: int) -> Iterator[tuple[InputFile, int]]:
    """A Parquet file cut between its row groups, every `shard_bytes` or a little later, with the size of each piece."""
    from pipeline.sources.row_groups import group_sizes

    sizes = group_sizes(file)
    start = size = 0
    for index, length in enumerate(sizes, start=1):
        size += length
        if size >= shard_bytes and index < len(sizes):
            yield msgspec.structs.replace(file, start=start, end=index), size
            start, size = index, 0
    yield msgspec.structs.replace(file, start=start), size


def _slices(file: InputFile, length: int, shard_bytes: int) -> list[InputFile]:
    """The slices of a line file, every `shard_bytes` of its text or a little later."""
    # The members of a compressed file are looked up one by one, and elsewhere each of them would be a request.
    distant = file.path is not None and is_remote(file.path)
    if file.kind != "lines" or (file.compression and distant):
        return [file]
    try:
        if not file.compression:
            places = list(_line_ends(file, length, shard_bytes)) if length > shard_bytes else []
        else:
            places = cuts(file, length, shard_bytes) if length * RATIO > shard_bytes else []
    except OSError:
        # Reading will say what is wrong with it.
        places = []
    return [
        msgspec.structs.replace(file, start=start, end=end)
        for start, end in zip([0, *places], [*places, None], strict=True)
    ]


def _line_ends(file: InputFile, length: int, shard_bytes: int) -> Iterator[int]:
    """Where a plain file can be cut, just after line ends."""
    end = 0
    with opened(file, _SEARCH) as stream:
        while True:
            end += shard_bytes
            stream.seek(end)
            while piece := stream.read(_SEARCH):
                place = piece.find(b"\n")
                if place >= 0:
                    end += place + 1
                    break
                end += len(piece)
            if end >= length:
                return
            yield end


def _by_record(file: InputFile, from_format: str | Format) -> Format | None:
    """The format of a file, where its records stand alone, so that it may be read in slices."""
    entry = named_format(from_format) or format_of(file)
    return entry if entry.by_record else None
