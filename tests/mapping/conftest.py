"""A mapping and a log in, traces and faults out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.errors import Fault, MappingFileError
from pipeline.mapping_file import format_of, load_mapping
from pipeline.sources.base import ReadTrace
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches

Mapped = Callable[..., tuple[list[ReadTrace], list[Fault]]]
Faults = Callable[[str], list[Fault]]


@pytest.fixture
def mapped(tmp_path: Path) -> Mapped:
    """Read documents, one per line, with a mapping of these fields and top-level keys."""

    def read(fields: dict[str, Any], *documents: Any, **keys: Any) -> tuple[list[ReadTrace], list[Fault]]:
        written = {"schemaVersion": 1, "name": "ours", "fields": fields, **keys}
        (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(written, sort_keys=False), "utf-8")
        log = tmp_path / "log.jsonl"
        lines = [one if isinstance(one, str) else json.dumps(one) for one in documents]
        log.write_text("\n".join(lines), "utf-8")
        named = format_of(load_mapping(str(tmp_path / "mapping.yaml")))
        batches = list(read_batches(find_inputs([str(log)]), named))
        traces = [trace for batch in batches for trace in batch.traces]
        return traces, [one.fault for batch in batches for one in batch.unreadable]

    return read


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    """The faults of a mapping file."""

    def load(text: str) -> list[Fault]:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "m.yaml").write_text(text, "utf-8")
        try:
            load_mapping("m.yaml")
        except MappingFileError as error:
            return list(error.faults)
        return []

    return load
