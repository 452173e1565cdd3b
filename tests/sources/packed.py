"""Compressed files of several members, as tools write them; shared by the tests that cut them."""

import struct
import zlib
from collections.abc import Callable, Iterable

import zstandard

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty member that `bgzip` ends a file with."""


def bgzf_member(text: bytes, level: int = 6) -> bytes:
    """One member, of up to 64 KB of text."""
    packer = zlib.compressobj(level, wbits=-15)
    body = packer.compress(text) + packer.flush()
    head = bytes.fromhex("1f8b08040000000000ff0600424302") + struct.pack("<xH", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


def bgzf(texts: Iterable[bytes]) -> bytes:
    """A whole file."""
    return b"".join(map(bgzf_member, texts)) + BGZF_END


def skippable(content: bytes, number: int = 0) -> bytes:
    """A zstd frame that says nothing."""
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


def zstd_frame(text: bytes, *, size: bool = True, checksum: bool = False, level: int = 3) -> bytes:
    """One frame; without its size, as a program writes it that does not know the end yet."""
    return zstandard.ZstdCompressor(level=level, write_content_size=size, write_checksum=checksum).compress(text)


def zstd_mixed(texts: Iterable[bytes]) -> bytes:
    """Frames of all shapes by turns, each second followed by a skippable one, and a seek table at the end."""
    frames = []
    for number, text in enumerate(texts):
        frames.append(zstd_frame(text, size=number % 3 > 0, checksum=number % 4 > 1))
        if number % 2:
            frames.append(skippable(b"\n" * number, number % 16))
    return b"".join(frames) + skippable(b"\0" * 9, 14)


PACKED: dict[str, Callable[[Iterable[bytes]], bytes]] = {"zst": zstd_mixed, "gz": bgzf}
