"""The archives of Inspect AI (`.eval`): a zip file of JSON documents, opened with bounds on what it may cost.

A hostile archive can claim any size, name an entry twice, or let entries share their bytes, so the directory is judged
before anything is unpacked, and an entry is unpacked only as far as it said it would go.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Final

from pipeline.sources.streams import WHOLE_LIMIT
from pipeline.sources.wording import Refused

MAGIC: Final = b"PK"
MAX_ENTRIES: Final = 100_000
MAX_TOTAL: Final = 8 << 30
"""The most bytes of all entries together, unpacked."""
MAX_RATIO: Final = 300
"""The most bytes that one packed byte may stand for, in an entry of more than `SMALL` bytes."""
SMALL: Final = 1 << 20

# Newer writers pack with zstd, which the standard library of today's Python versions does not unpack.
_ZSTD: Final = 93
_UNPACKED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD})
_ENCRYPTED: Final = 0x1
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_LOCAL_MAGIC: Final = b"PK\3\4"
# All that the standard library raises on a directory that is no directory.
_BROKEN: Final = (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error)


class Archive:
    """The entries of one archive.

    Args:
        data: the whole file.

    Raises:
        Refused: it is no zip file, or would cost more than the bounds allow.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                listed = archive.infolist()
        except _BROKEN as error:
            raise Refused(
                f"this is no whole zip archive ({error}): copy the log again, or write it once more",
                expected="an .eval log, which is a zip archive",
                found="something else, or a part of one",
                malformed=True,
            ) from None
        _check_bounds(listed, len(data))
        # Of two entries with one name the later is the one that was meant: a sample that was run again.
        self._entries = {entry.filename: entry for entry in listed}
        self.repeated = len(listed) - len(self._entries)

    @property
    def names(self) -> list[str]:
        """The names of the entries, in the order of the directory."""
        return list(self._entries)

    def read(self, name: str) -> bytes | None:
        """What an entry holds, None where there is none of that name.

        Raises:
            Refused: it is packed in an unknown way, encrypted, corrupt, or longer than it says.
        """
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _UNPACKED:
            how = "encrypted" if entry.flag_bits & _ENCRYPTED else f"packed by method {entry.compress_type}"
            raise _broken(name, f"it is {how}", "stored, deflate or zstd")
        packed = self._packed(entry)
        unpack: dict[int, Callable[[bytes, int], bytes]] = {zipfile.ZIP_DEFLATED: _inflated, _ZSTD: _unzstd}
        if entry.compress_type in unpack:
            try:
                packed = unpack[entry.compress_type](packed, entry.file_size + 1)
            except (zlib.error, ValueError) as error:
                raise _broken(name, str(error), "whole data") from None
        if len(packed) != entry.file_size or zlib.crc32(packed) != entry.CRC:
            raise _broken(name, "its length or check sum is another", "what the directory says")
        return packed

    def _packed(self, entry: zipfile.ZipInfo) -> bytes:
        start = entry.header_offset
        header = self._data[start : start + _LOCAL_HEADER.size + 4]
        if len(header) < _LOCAL_HEADER.size or header[:4] != _LOCAL_MAGIC:
            raise _broken(entry.filename, "its header is not where it should be", "a zip entry")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(header[: _LOCAL_HEADER.size])
        begin = start + _LOCAL_HEADER.size + name_length + extra_length
        return self._data[begin : begin + entry.compress_size]


def _check_bounds(listed: list[zipfile.ZipInfo], length: int) -> None:
    total = sum(entry.file_size for entry in listed)
    # Entries that share their bytes claim more than there are.
    packed = sum(entry.compress_size for entry in listed)
    for found, most, what in (
        (len(listed), MAX_ENTRIES, "entries"),
        (total, MAX_TOTAL, "bytes unpacked"),
        (packed, length, "packed bytes"),
    ):
        if found > most:
            raise _too_much(found, most, what)
    for entry in listed:
        if entry.file_size > WHOLE_LIMIT:
            raise _too_much(entry.file_size, WHOLE_LIMIT, "bytes in one entry")
        if entry.file_size > max(SMALL, entry.compress_size * MAX_RATIO):
            raise _too_much(entry.file_size, max(SMALL, entry.compress_size * MAX_RATIO), "bytes in so small an entry")


def _too_much(found: int, most: int, what: str) -> Refused:
    return Refused(
        f"the archive claims {found} {what}: split the log, or write it without what no check reads",
        expected=f"up to {most} {what}",
        found=str(found),
    )


def _broken(name: str, why: str, expected: str) -> Refused:
    return Refused(
        f"the entry {name[:100]!r} of the archive cannot be read, {why}: copy the log again, or write it as .json",
        expected=expected,
        found=why,
        malformed=True,
    )


def _inflated(packed: bytes, limit: int) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)


def _unzstd(packed: bytes, limit: int) -> bytes:
    import zstandard  # start-up time: only newer archives need it

    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            return stream.read(limit)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
