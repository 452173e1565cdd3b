"""The one place where an input file is opened, wherever it stands."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from pipeline.sources import remote

if TYPE_CHECKING:
    from pipeline.sources.files import InputFile

CHUNK: Final = 1 << 20
"""Bytes read from a file, or decompressed, at a time."""

# A request takes tens of milliseconds whatever it brings, so more is asked for at once.
_REMOTE_CHUNK: Final = 8 << 20
_AHEAD: Final = 16

Opener = Callable[["InputFile"], BinaryIO]


def opened(file: "InputFile", buffer: int | None = None) -> BinaryIO:
    """A file, open at its beginning; whoever opens it closes it.

    Args:
        file: the file, not standard input.
        buffer: bytes to fetch at a time; None where it is read from end to end.

    Raises:
        OSError: it cannot be opened; a remote one raises it while reading as well.
    """
    assert file.path is not None  # noqa: S101 - standard input is open already
    if remote.is_remote(file.path):
        return remote.opened(file.path, file.size, file.version, buffer or _REMOTE_CHUNK)
    return open(file.path, "rb", buffering=buffer or CHUNK)  # noqa: PTH123 - a path may hold surrogates for bytes that are no UTF-8


def size_of(file: "InputFile") -> int | None:
    """The bytes of a file as it stands there, compressed or not; None where that cannot be known."""
    if file.size is not None or file.path is None or remote.is_remote(file.path):
        return file.size
    try:
        return os.stat(file.path).st_size  # noqa: PTH116 - a path may hold surrogates for bytes that are no UTF-8
    except OSError:
        # Reading will say what is wrong with it.
        return None


class Ahead:
    """Opens files in order; small remote ones are fetched before they are asked for, some at a time.

    Args:
        files: the files, in the order in which they will be opened.
    """

    def __init__(self, files: Iterable["InputFile"]) -> None:
        self._rest = iter([file for file in files if _is_small(file)])
        self._fetched: dict[str, Future[bytes]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def __call__(self, file: "InputFile") -> BinaryIO:
        """See `opened`."""
        if not _is_small(file):
            return opened(file)
        while len(self._fetched) < _AHEAD and (following := next(self._rest, None)):
            self._pool = self._pool or ThreadPoolExecutor(_AHEAD)
            self._fetched[following.path or ""] = self._pool.submit(_fetch, following)
        future = self._fetched.pop(file.path or "", None)
        return BytesIO(_fetch(file) if future is None else future.result())

    def close(self) -> None:
        """Fetch no more."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _is_small(file: "InputFile") -> bool:
    return file.size is not None and file.size <= CHUNK and not file.is_slice


def _fetch(file: "InputFile") -> bytes:
    with opened(file, CHUNK) as stream:
        return stream.read(CHUNK)
