"""The one place where an input file is opened, wherever it stands."""

from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pipeline.sources.files import InputFile

CHUNK: Final = 1 << 20
"""Bytes read from a file, or decompressed, at a time."""


def opened(file: "InputFile", buffer: int = CHUNK) -> BinaryIO:
    """A file, open at its beginning; whoever opens it closes it.

    Args:
        file: the file, not standard input.
        buffer: bytes to fetch at a time.

    Raises:
        OSError: it cannot be opened.
    """
    assert file.path is not None  # noqa: S101 - standard input is open already
    return open(file.path, "rb", buffering=buffer)  # noqa: PTH123 - a path may hold surrogates for bytes that are no UTF-8
