"""Files written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pipeline.errors import OutputError

# What to do about a folder for temporary files that cannot be used.
TEMPORARY_HINT: Final = "make room there, or name another folder in the environment variable TMPDIR"


def write_file(path: Path, data: bytes) -> Path:
    """Write a file beside its place, then rename it there, so that nobody ever reads half of it.

    Args:
        path: where to; missing folders are made.
        data: the whole content.

    Raises:
        OutputError: the place cannot be written to.
    """
    beside = path.with_name(f".{path.name}.writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        os.replace(beside, path)  # noqa: PTH105 - the name says that it replaces
    except OSError as error:
        # What kept the file from being written may keep it from being removed.
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}",
            hint="name another folder with --out, or make room and give permission there",
        ) from error
    return path


def remove_file(path: Path) -> None:
    """Remove a file that may be there.

    Raises:
        OutputError: something is there that cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except NotADirectoryError:
        # Below a file there is nothing.
        return
    except OSError as error:
        raise OutputError(
            f"cannot remove the old {path}: {error.strerror or error}",
            hint="name another folder with --out, or move it away",
        ) from error


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for files that nobody needs afterwards; it is removed in the end.

    Raises:
        OutputError: no folder for temporary files can be written to.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="diagnosis-eval-")
    except OSError as error:
        raise OutputError(
            f"no folder for temporary files can be written to: {error.strerror or error}", hint=TEMPORARY_HINT
        ) from error
    with folder as path:
        yield Path(path)
