"""Files and standard input as streams of bytes, decompressed in bounded steps."""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

from pipeline.sources.members import BGZF_HEAD, bgzf_size
from pipeline.sources.opening import CHUNK, Opener, opened
from pipeline.sources.wording import Refused

if TYPE_CHECKING:
    from pipeline.sources.files import InputFile

WHOLE_LIMIT: Final = 256 << 20
"""The most bytes of a `.json` document, decompressed."""

# A zstd block of a few bytes may stand for 128 KB: so little is fed at a time that a hostile file cannot unfold
# to more than some 32 MB in one step.
_ZSTD_STEP: Final = 1 << 10
# A byte of gzip stands for some 1000 at most; and a corrupt member costs the records of its last step.
_GZIP_STEP: Final = 1 << 12
# To zlib: a member of gzip, its header and its checksum looked at.
_GZIP_FORMAT: Final = 31
_ZLIB_WORDS: Final = "Error -3 while decompressing data: "
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


def chunks(file: "InputFile", opener: Opener = opened) -> Iterator[bytes]:
    """The bytes of a file or a slice of it, decompressed, in pieces of about 1 MB.

    Args:
        file: the file; standard input tells its compression by its first bytes.
        opener: opens it.

    Raises:
        Refused: it cannot be opened or read, is corrupt, or ends within a compressed frame. What came before stands.
    """
    try:
        if file.path is None:
            source = sys.stdin.buffer
            yield from _decompressed(source, file.compression or _compression_of(source))
            return
        with opener(file) as source:
            # A pipe with a name can be read, and not sought in.
            if file.start:
                source.seek(file.start)
            if file.compression:
                yield from _decompressed(source, file.compression, file.start, file.end)
            else:
                yield from _plain(source, None if file.end is None else file.end - file.start)
    except OSError as error:
        reason = error.strerror or "it is no such file"
        raise Refused(f"the file cannot be read: {reason}", expected="a readable file", found=reason) from None


def _plain(file: BinaryIO, size: int | None) -> Iterator[bytes]:
    left = float("inf") if size is None else size
    while left > 0 and (piece := file.read(int(min(CHUNK, left)))):
        left -= len(piece)
        yield piece


def whole(pieces: Iterator[bytes], limit: int = WHOLE_LIMIT) -> bytes:
    """All of a stream at once.

    Raises:
        Refused: it is longer than `limit` bytes; see also `chunks`.
    """
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise Refused(
                f"the document is longer than {limit} bytes: split it, or leave out what no check reads",
                expected=f"up to {limit} bytes",
                found="more",
            )
        parts.append(piece)
    return b"".join(parts)


def _compression_of(source: BinaryIO) -> str:
    head = source.peek(4)[:4] if hasattr(source, "peek") else b""
    if head.startswith(_GZIP_MAGIC):
        return "gz"
    return "zst" if head == _ZSTD_MAGIC else ""


def _decompressed(source: BinaryIO, compression: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    if not compression:
        return iter(lambda: source.read(CHUNK), b"")
    packing = _gzip() if compression == "gz" else _zstd()
    return _in_chunks(_lines_between(_unpacked(source, packing, start), start, end))


class _Member(Protocol):
    """A member, or frame, being unpacked."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _Packing(NamedTuple):
    """A way of compressing.

    Attributes:
        name: what messages call it.
        step: bytes to unpack at a time.
        padding: the byte that may stand between members and after them, if any may.
        error: raised by a member that is corrupt.
        member: begins a member, given the first of its bytes.
    """

    name: str
    step: int
    padding: bytes
    error: type[Exception]
    member: Callable[[bytes], _Member]


def _gzip() -> _Packing:
    return _Packing("gzip", _GZIP_STEP, b"\0", zlib.error, _GzipMember)


def _zstd() -> _Packing:
    import zstandard  # start-up time: only compressed files need it

    return _Packing(
        "zstd", _ZSTD_STEP, b"", zstandard.ZstdError, lambda _: zstandard.ZstdDecompressor().decompressobj()
    )


class _GzipMember:
    """A gzip member; one of BGZF must be as long as it says, or a slice would begin where no member does."""

    def __init__(self, head: bytes) -> None:
        self._inflating = zlib.decompressobj(wbits=_GZIP_FORMAT)
        self._due = bgzf_size(head)
        self._taken = 0

    @property
    def eof(self) -> bool:
        return self._inflating.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflating.unused_data

    def decompress(self, data: bytes, /) -> bytes:
        piece = self._inflating.decompress(data)
        self._taken += len(data) - len(self.unused_data)
        if self._due is not None and (self._taken > self._due or (self.eof and self._taken < self._due)):
            raise zlib.error("a member is not as long as it says")
        return piece


def _unpacked(source: BinaryIO, packing: _Packing, at: int) -> Iterator[tuple[int, bytes]]:
    """What stands in a stream, piece by piece, each with the offset in `source` of the bytes that it came from.

    Steps end at the same offsets wherever reading begins, and a piece never comes of two members. So what is lost with
    a corrupt step is the same, whether a file is read whole or in slices.
    """
    member = None
    while data := source.read(packing.step - at % packing.step):
        while data:
            if member is None:
                begin = data.lstrip(packing.padding) if at else data
                at += len(data) - len(begin)
                if not begin:
                    break
                data = begin if len(begin) >= BGZF_HEAD else begin + source.read(packing.step)
                member = packing.member(data)
            try:
                piece = member.decompress(data)
            except packing.error as error:
                # zlib puts its own number of the error before the words.
                raise _corrupt(packing.name, str(error).removeprefix(_ZLIB_WORDS)) from None
            yield at, piece
            rest = member.unused_data
            at += len(data) - len(rest)
            data = rest
            if member.eof:
                member = None
    if member is not None:
        raise _cut_off(packing.name)


def _lines_between(pieces: Iterator[tuple[int, bytes]], start: int, end: int | None) -> Iterator[bytes]:
    """The lines of a slice: those that begin after the first line end of its own members, or at the file's beginning.

    Members need not end at line ends. A slice leaves what stands before its first line end to the slice before, and
    reads on past its end for the rest of its own last line. One without a line end is all the slice before's.
    """
    begun = start == 0
    for at, piece in pieces:
        if end is not None and at >= end:
            place = piece.find(b"\n") + 1
            if begun:
                yield piece[: place or None]
            if place or not begun:
                return
        elif begun:
            yield piece
        else:
            _, line_end, rest = piece.partition(b"\n")
            if line_end:
                begun = True
                yield rest


def _in_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    try:
        for piece in filter(None, pieces):
            waiting.append(piece)
            size += len(piece)
            if size >= CHUNK:
                yield b"".join(waiting)
                waiting, size = [], 0
    except (Refused, OSError):
        # An error must not cost what was read before it.
        yield b"".join(waiting)
        raise
    if size:
        yield b"".join(waiting)


def _corrupt(kind: str, detail: str) -> Refused:
    return Refused(
        f"the {kind} stream is corrupt ({detail}); the records before this place were read: compress the file again",
        expected=f"{kind} data",
        found=detail,
        malformed=True,
    )


def _cut_off(kind: str) -> Refused:
    return Refused(
        f"the {kind} stream ends too early; the records before this place were read: copy the file again",
        expected=f"the end of the {kind} stream",
        found="the end of the file",
        malformed=True,
    )
