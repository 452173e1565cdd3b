"""Every format has samples of our own making in `fixtures/formats/<format>/`, and `expected.jsonl` says what they are.

A line of `expected.jsonl` is one trace in the native format; the samples come in the order of their names.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pipeline.sources.base import ReadTrace, Trace
from pipeline.sources.files import find_inputs
from pipeline.sources.formats import formats
from pipeline.sources.read import read_batches

SAMPLES = Path(__file__).parents[2] / "fixtures" / "formats"
EXPECTED = "expected.jsonl"


def read_samples(name: str, from_format: str) -> list[Trace]:
    files = sorted(path for path in (SAMPLES / name).iterdir() if path.name != EXPECTED)
    assert files, f"{name} has no sample: put one into fixtures/formats/{name}/"
    read: list[ReadTrace] = []
    for path in files:
        for batch in read_batches(find_inputs([str(path)]), from_format):
            assert [str(row.fault) for row in batch.unreadable] == []
            read += batch.traces
    return [record.trace for record in read]


def as_json(traces: list[Trace]) -> list[Any]:
    return [msgspec.json.decode(msgspec.json.encode(trace)) for trace in traces]


@pytest.mark.parametrize("name", formats().names)
def test_the_samples_of_a_format_become_the_expected_traces(name: str) -> None:
    lines = (SAMPLES / name / EXPECTED).read_bytes().splitlines()
    assert as_json(read_samples(name, name)) == [msgspec.json.decode(line) for line in lines]


@pytest.mark.parametrize("name", formats().names)
def test_the_samples_of_a_format_are_recognised_as_no_other(name: str) -> None:
    assert as_json(read_samples(name, "auto")) == as_json(read_samples(name, name))
