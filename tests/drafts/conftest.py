"""Test files in, case files out; and the real files, which lie outside the repository."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.drafts.base import origins
from pipeline.drafts.imports import Imported, import_cases

Import = Callable[..., Imported]


def cases_of(data: bytes) -> dict[str, dict[str, Any]]:
    """The cases of a case file by id."""
    return {case.pop("id"): case for case in yaml.safe_load(data)["cases"]}


def comments_of(data: bytes) -> list[str]:
    """The whole-line comments of a case file."""
    return [line.strip().removeprefix("# ") for line in data.decode().splitlines() if line.strip().startswith("#")]


@pytest.fixture
def drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Write one file and draft from it, by its name alone."""
    monkeypatch.chdir(tmp_path)

    def write_and_draft(origin: str, name: str, content: str) -> Imported:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, "utf-8")
        return import_cases([name], origins().get(origin), "imported")

    return write_and_draft
