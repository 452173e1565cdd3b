"""A folder to write case files into, with paths as a user in that folder gives them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cases.load import load_suite
from pipeline.cases.model import Suite
from pipeline.errors import CaseFileError, Fault

KNOWN_CHECKS = ("answer-present", "root-cause-keywords", "verdict-allowed")

Load = Callable[..., Suite]
Refuse = Callable[..., list[Fault]]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write files (name to content) and load them, by default each by its name."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(files: dict[str, str | bytes], *paths: str) -> Suite:
        for name, content in files.items():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_suite(paths or list(files), known_checks=KNOWN_CHECKS)

    return write_and_load


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """Write files and give the faults that loading them raises."""

    def faults(files: dict[str, str | bytes], *paths: str) -> list[Fault]:
        with pytest.raises(CaseFileError) as caught:
            load(files, *paths)
        return list(caught.value.faults)

    return faults
