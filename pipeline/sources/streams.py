"""Files and standard input as streams of bytes, decompressed in bounded steps."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from pipeline.sources.opening import CHUNK, Opener, opened
from pipeline.sources.wording import Refused

if TYPE_CHECKING:
    from pipeline.sources.files import InputFile

WHOLE_LIMIT: Final = 256 << 20
"""The most bytes of a `.json` document, decompressed."""

# A zstd block of a few bytes may stand for 128 KB: so little is fed at a time that a hostile file cannot unfold
# to more than some 32 MB in one step.
_ZSTD_STEP: Final = 1 << 10
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
            if file.is_slice:
                yield from _slice(source, file.start, file.end)
            else:
                yield from _decompressed(source, file.compression)
    except OSError as error:
        reason = error.strerror or "it is no such file"
        raise Refused(f"the file cannot be read: {reason}", expected="a readable file", found=reason) from None


def _slice(file: BinaryIO, start: int, end: int | None) -> Iterator[bytes]:
    file.seek(start)
    left = float("inf") if end is None else end - start
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


def _decompressed(source: BinaryIO, compression: str) -> Iterator[bytes]:
    if compression == "gz":
        return _gunzipped(source)
    if compression == "zst":
        return _unzstd(source)
    return iter(lambda: source.read(CHUNK), b"")


def _gunzipped(source: BinaryIO) -> Iterator[bytes]:
    import gzip  # start-up time: only compressed files need it
    import zlib

    with gzip.GzipFile(fileobj=source) as stream:
        try:
            # read1: an error must not cost what was read before it.
            while piece := stream.read1(CHUNK):
                yield piece
        except (gzip.BadGzipFile, zlib.error) as error:
            raise _corrupt("gzip", str(error)) from None
        except EOFError:
            raise _cut_off("gzip") from None


def _unzstd(source: BinaryIO) -> Iterator[bytes]:
    import zstandard  # start-up time: only compressed files need it

    frame = None
    waiting: list[bytes] = []
    size = 0
    try:
        while data := source.read(_ZSTD_STEP):
            while data:
                if frame is None:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                piece = frame.decompress(data)
                data = frame.unused_data
                if frame.eof:
                    frame = None
                if piece:
                    waiting.append(piece)
                    size += len(piece)
                if size >= CHUNK:
                    yield b"".join(waiting)
                    waiting, size = [], 0
    except zstandard.ZstdError as error:
        yield b"".join(waiting)
        raise _corrupt("zstd", str(error)) from None
    if waiting:
        yield b"".join(waiting)
    if frame is not None:
        raise _cut_off("zstd")


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
