"""Bytes in, traces and faults out: what most tests of the first stage need."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import Fault
from pipeline.sources.base import ReadTrace
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write one file and read it: the traces in order, and the faults in order."""

    def write_and_read(
        content: bytes | str, name: str = "t.json", from_format: str = "auto"
    ) -> tuple[list[ReadTrace], list[Fault]]:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        batches = list(read_batches(find_inputs([str(tmp_path / name)]), from_format))
        traces = [trace for batch in batches for trace in batch.traces]
        return traces, [row.fault for batch in batches for row in batch.unreadable]

    return write_and_read
