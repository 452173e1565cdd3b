"""Bytes in, traces and faults out, whichever format; and the real files, which lie outside the repository."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import Fault
from pipeline.sources.base import ReadTrace
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def read_path(path: Path, from_format: str = "auto") -> tuple[list[ReadTrace], list[Fault]]:
    """One file: its traces in order, and its faults in order."""
    batches = list(read_batches(find_inputs([str(path)]), from_format))
    traces = [trace for batch in batches for trace in batch.traces]
    return traces, [row.fault for batch in batches for row in batch.unreadable]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write one file and read it."""

    def write_and_read(
        content: bytes | str, name: str = "t.json", from_format: str = "auto"
    ) -> tuple[list[ReadTrace], list[Fault]]:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_path(tmp_path / name, from_format)

    return write_and_read


@pytest.fixture(scope="session")
def read_shared(shared_traces: Path) -> Read:
    """Read one of the real files by its path below their folder."""

    def read_it(name: str, from_format: str = "auto") -> tuple[list[ReadTrace], list[Fault]]:
        if not (shared_traces / name).is_file():
            pytest.skip(f"{name} is not among the real traces on this machine")
        return read_path(shared_traces / name, from_format)

    return read_it
