"""Compressed files seen from outside: where their members end, told by headers alone, nothing decompressed.

A zstd frame (RFC 8878) is a row of blocks that tell their size, and a member of a BGZF file, which is gzip as `bgzip`
writes it, tells its own. A member of any other gzip file ends where inflating it ends, so that such a file cannot be
cut. Whatever else looks odd is not cut either; reading will say what is wrong with it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from pipeline.sources.opening import opened

if TYPE_CHECKING:
    from pipeline.sources.files import InputFile

RATIO: Final = 5
"""Bytes of text that a compressed byte is taken for where the file does not say."""

BGZF_HEAD: Final = 18
"""Bytes of a member by which `bgzf_size` tells its size."""

# So many members and blocks are far more than a file that is worth cutting has, and cost seconds to walk.
_MOST_HEADERS: Final = 4 << 20
# Headers are small and far apart.
_BUFFER: Final = 1 << 12

_BGZF: Final = b"\x1f\x8b\x08\x04"
_BGZF_FIELD: Final = b"\x06\0BC\x02\0"
_BGZF_TEXT: Final = 1 << 16
_ISIZE_BYTES: Final = 4

_MAGIC_BYTES: Final = 4
_FRAME: Final = 0xFD2FB528
# Followed by 4 bytes that tell the size of what is to be skipped; the last half-byte is free.
_SKIPPABLE: Final = 0x184D2A5
_SINGLE_SEGMENT: Final = 1 << 5
_RESERVED: Final = 1 << 3
_CHECKSUM: Final = 1 << 2
_CHECKSUM_BYTES: Final = 4
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_BLOCK_HEAD: Final = 3
_BLOCK_TEXT: Final = 128 << 10
_REPEATED, _RESERVED_KIND = 1, 3


class _Odd(Exception):  # noqa: N818 - it never leaves this module
    """The file is not built as its kind should be, or of more pieces than anybody writes."""


def cuts(file: "InputFile", length: int, text_bytes: int) -> list[int]:
    """Where to cut a compressed file, so that each slice is about so much text.

    Args:
        file: a compressed file that can be sought in.
        length: its bytes, compressed.
        text_bytes: bytes of text of a slice, about; as the headers tell it, else `RATIO` times the compressed bytes.

    Returns:
        Offsets in the compressed file, each just after one member and before another; none where it is one member,
        of a kind that hides its members, or odd.

    Raises:
        OSError: it cannot be opened or read.
    """
    places = []
    text = 0
    with opened(file, _BUFFER) as source:
        headers = _Headers(source)
        try:
            for end, size in (_frames if file.compression == "zst" else _bgzf)(headers, length):
                text += size
                if text >= text_bytes and end < length:
                    places.append(end)
                    text = 0
        except _Odd:
            return []
    return places


def bgzf_size(head: bytes) -> int | None:
    """The bytes of a BGZF member by its first `BGZF_HEAD` bytes, None where it is no such member.

    >>> bgzf_size(bytes.fromhex("1f8b08040000000000ff0600424302001b00"))
    28
    """
    is_bgzf = head.startswith(_BGZF) and head[10:16] == _BGZF_FIELD and len(head) >= BGZF_HEAD
    return int.from_bytes(head[16:18], "little") + 1 if is_bgzf else None


class _Headers:
    """The file as its headers show it, each looked up where it should stand."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._count = 0

    def at(self, place: int, size: int) -> bytes:
        """So many bytes from there.

        Raises:
            _Odd: the file ends before them, or it was asked too often.
        """
        self._count += 1
        self._source.seek(place)
        data = self._source.read(size)
        if len(data) < size or self._count > _MOST_HEADERS:
            raise _Odd
        return data

    def number(self, place: int, size: int) -> int:
        """The number that stands there, its lowest byte first; see `at`."""
        return int.from_bytes(self.at(place, size), "little")


def _bgzf(headers: _Headers, length: int) -> Iterator[tuple[int, int]]:
    """Where each member ends, and the bytes of its text."""
    place = 0
    while place < length:
        size = bgzf_size(headers.at(place, BGZF_HEAD))
        if size is None or size < BGZF_HEAD:
            raise _Odd
        place += size
        yield place, min(headers.number(place - _ISIZE_BYTES, _ISIZE_BYTES), _BGZF_TEXT)


def _frames(headers: _Headers, length: int) -> Iterator[tuple[int, int]]:
    """Where each frame ends, skippable ones too, and the bytes of its text, about."""
    place = text = 0
    while place < length:
        magic = headers.number(place, _MAGIC_BYTES)
        place += _MAGIC_BYTES
        if magic == _FRAME:
            place, text = _frame(headers, place)
        elif magic >> 4 == _SKIPPABLE:
            place, text = place + 4 + headers.number(place, 4), 0
        else:
            raise _Odd
        if place > length:
            raise _Odd
        yield place, text


def _frame(headers: _Headers, place: int) -> tuple[int, int]:
    """Where a frame ends, and the bytes of its text, about.

    Args:
        headers: the file.
        place: just after the frame's magic number.
    """
    begin = place
    (descriptor,) = headers.at(place, 1)
    if descriptor & _RESERVED:
        raise _Odd
    single = descriptor & _SINGLE_SEGMENT > 0
    # Without a single segment there is a byte more, which tells the window.
    place += 1 + (not single) + _DICTIONARY_BYTES[descriptor & 3]
    size_flag = descriptor >> 6
    size_bytes = (int(single), 2, 4, 8)[size_flag]
    # Two bytes tell what one cannot.
    told = headers.number(place, size_bytes) + (256 if size_bytes == 2 else 0)  # noqa: PLR2004 - as RFC 8878 has it
    place += size_bytes
    blocks = last = 0
    while not last:
        block = headers.number(place, _BLOCK_HEAD)
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        if kind == _RESERVED_KIND or size > _BLOCK_TEXT:
            raise _Odd
        place += _BLOCK_HEAD + (1 if kind == _REPEATED else size)
        blocks += 1
    if descriptor & _CHECKSUM:
        place += _CHECKSUM_BYTES
    # What is told may be a lie, and must not make more slices than there is text for.
    return place, min(told if size_bytes else (place - begin) * RATIO, blocks * _BLOCK_TEXT)
