"""Agents' sessions and messages with a value replaced or gone: they are read or told, and never break the reader."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.base import Document, ReadTrace, Unreadable
from pipeline.sources.formats import formats

SAMPLES = Path(__file__).parents[2] / "fixtures" / "formats"
NAMES = [
    "aiopslab", "anthropic", "claude-code", "codex", "copilot", "gemini-cli", "openai-agents", "openai-responses",
    "opencode", "openrca", "stratus",
]  # fmt: skip
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "{",
    [],
    {},
    [None],
    [[]],
    [7],
    {"type": 7},
    "0001-01-01T00:00:00Z",
]


def documents_of(path: Path) -> list[Any]:
    texts = [path.read_bytes()] if path.suffix == ".json" else path.read_bytes().splitlines()
    return [msgspec.json.decode(text) for text in texts if text.startswith((b"{", b"["))]


FILES = {
    f"{name}/{path.name}": documents_of(path)
    for name in NAMES
    for path in sorted((SAMPLES / name).iterdir())
    if path.name != "expected.jsonl" and path.suffix != ".csv"
}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a value, as the container and the key or index in it."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        found += ((inner, key) for key in keys)
        waiting += (inner[key] for key in keys)
    return found


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_sample_is_read_or_told(file: str, data: st.DataObject) -> None:
    documents = copy.deepcopy(FILES[file])
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(documents)))
        if data.draw(st.booleans()) and isinstance(container, dict):
            container.pop(key, None)
        elif isinstance(container, dict) or key < len(container):
            container[key] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
    entry = formats().get(file.partition("/")[0])
    alone = file.endswith(".json")
    for value in documents:
        entry.recognises(value)
    records = entry.read(
        Document(msgspec.json.encode(value), "t.json", None if alone else number, 0)
        for number, value in enumerate(documents, 1)
    )
    for record in records:
        assert isinstance(record, ReadTrace | Unreadable)
        if isinstance(record, ReadTrace):
            # What a trace holds must fit the native format, which every later stage relies on.
            assert msgspec.convert(msgspec.to_builtins(record.trace), type(record.trace)) is not None
