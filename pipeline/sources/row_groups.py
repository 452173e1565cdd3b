"""Parquet files of imported traces, seen from outside: which files they are, and how they may be cut."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.errors import quote
from pipeline.sources import opening
from pipeline.sources.remote import is_remote
from pipeline.sources.wording import Refused

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped] # it has no annotations

    from pipeline.sources.files import InputFile

VERSION_KEY: Final = "diagnosisEvalTraces"
"""The key of the file's metadata under which the version of its columns stands."""

VERSION: Final = 1
# Parquet is read in ranges that it names itself; around its ends little else is of use.
_BUFFER: Final = 1 << 16
_AGAIN: Final = "write it again with: diagnosis-eval import"


@contextmanager
def opened(file: "InputFile") -> Iterator["ParquetFile"]:
    """A Parquet file of imported traces.

    Raises:
        Refused: it cannot be read, is no Parquet file, holds something else, or has other columns than this program.
    """
    with ExitStack() as until_read:
        yield _open(file, until_read)


def _open(file: "InputFile", until_read: ExitStack) -> "ParquetFile":
    import pyarrow as pa  # type: ignore[import-untyped] # it has no annotations
    from pyarrow.parquet import ParquetFile

    try:
        source = ParquetFile(until_read.enter_context(opening.opened(file, _BUFFER)))
    except (OSError, pa.ArrowException) as error:
        reason = quote(str(error).partition("\n")[0])
        raise Refused(
            f"this cannot be read as Parquet ({reason}): copy it again, or {_AGAIN}",
            expected="a Parquet file of traces",
            found=reason,
            malformed=True,
        ) from None
    version = (source.metadata.metadata or {}).get(VERSION_KEY.encode())
    if version is None:
        raise Refused(
            f"this Parquet file holds something else than imported traces; {_AGAIN}",
            expected="a Parquet file of traces",
            found="another Parquet file",
        )
    if version != str(VERSION).encode():
        shown = quote(version.decode("utf-8", "replace"))
        raise Refused(
            f"its traces have version {shown} of the columns, this program reads version {VERSION}; {_AGAIN}",
            expected=f"version {VERSION}",
            found=f"version {shown}",
        )
    return source


def is_foreign(file: "InputFile") -> bool:
    """Whether a Parquet file surely holds something else than traces; a broken one may be one of ours."""
    from polars import read_parquet_metadata
    from polars.exceptions import PolarsError

    assert file.path is not None  # noqa: S101 - standard input is a line file
    if is_remote(file.path):
        # Polars would fetch all of it.
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        try:
            with opening.opened(file, _BUFFER) as source:
                return VERSION_KEY.encode() not in (ParquetFile(source).metadata.metadata or {})
        except (OSError, pa.ArrowException):
            return False
    try:
        return VERSION_KEY not in read_parquet_metadata(Path(file.path))
    except (OSError, PolarsError):
        return False


def group_sizes(file: "InputFile") -> list[int]:
    """The bytes of each row group; nothing where the file cannot be read, as reading will say."""
    try:
        with opened(file) as source:
            return [source.metadata.row_group(index).total_byte_size for index in range(source.num_row_groups)]
    except Refused:
        return []
