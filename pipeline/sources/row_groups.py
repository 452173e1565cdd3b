"""Parquet files of imported traces, seen from outside: which files they are, and how they may be cut."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.errors import quote
from pipeline.sources.wording import Refused

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped] # it has no annotations

VERSION_KEY: Final = "diagnosisEvalTraces"
"""The key of the file's metadata under which the version of its columns stands."""

VERSION: Final = 1
_AGAIN: Final = "write it again with: diagnosis-eval import"


@contextmanager
def opened(path: str) -> Iterator["ParquetFile"]:
    """A Parquet file of imported traces.

    Raises:
        Refused: it cannot be read, is no Parquet file, holds something else, or has other columns than this program.
    """
    with ExitStack() as until_read:
        yield _open(path, until_read)


def _open(path: str, until_read: ExitStack) -> "ParquetFile":
    import pyarrow as pa  # type: ignore[import-untyped] # it has no annotations
    from pyarrow.parquet import ParquetFile

    try:
        # A file of its own: the path may hold surrogates for bytes that are no UTF-8.
        raw = until_read.enter_context(open(path, "rb"))  # noqa: PTH123, SIM115 - see above; the stack closes it
        file = ParquetFile(raw)
    except (OSError, pa.ArrowException) as error:
        reason = quote(str(error).partition("\n")[0])
        raise Refused(
            f"this cannot be read as Parquet ({reason}): copy it again, or {_AGAIN}",
            expected="a Parquet file of traces",
            found=reason,
            malformed=True,
        ) from None
    version = (file.metadata.metadata or {}).get(VERSION_KEY.encode())
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
    return file


def is_foreign(path: str) -> bool:
    """Whether a Parquet file surely holds something else than traces; a broken one may be one of ours."""
    from polars import read_parquet_metadata
    from polars.exceptions import PolarsError

    try:
        return VERSION_KEY not in read_parquet_metadata(Path(path))
    except (OSError, PolarsError):
        return False


def group_sizes(path: str) -> list[int]:
    """The bytes of each row group; nothing where the file cannot be read, as reading will say."""
    try:
        with opened(path) as file:
            return [file.metadata.row_group(index).total_byte_size for index in range(file.num_row_groups)]
    except Refused:
        return []
