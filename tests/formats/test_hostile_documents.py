"""Documents that are nearly right: whatever stands at one place, nothing but a trace or a fault comes out."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.base import Document, ReadTrace, Trace
from pipeline.sources.files import kind_of
from pipeline.sources.formats import formats

SAMPLES = Path(__file__).parents[2] / "fixtures" / "formats"
NAMES = ["adk", "atif", "inspect", "langfuse", "langsmith"]

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**63 - 1, 2**70, 1.5, -0.5, 1e300]),
    st.sampled_from(["", " ", "x", "{", '{"a": 1}', '"x"', "2026-13-01T00:00:00Z", "attachment://x", "9" * 5000]),
    st.sampled_from([[], {}, [None], [[]], [{}], {"": {}}, {"role": []}, {"type": {}}, ["a", "b"], [1, "a", {}]]),
)


def documents_of(name: str) -> list[Any]:
    found: list[Any] = []
    for path in sorted((SAMPLES / name).iterdir()):
        kind = kind_of(path.name)
        if path.name == "expected.jsonl" or kind is None or kind[0] == "raw":
            continue
        text = path.read_text(encoding="utf-8")
        found += map(json.loads, text.splitlines()) if kind[0] == "lines" else [json.loads(text)]
    return [json.loads(each) if isinstance(each, str) else each for each in found]


def places(value: Any) -> list[tuple[Any, ...]]:
    """The paths of everything in a value, itself left out."""
    found: list[tuple[Any, ...]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting:
        path, here = waiting.pop()
        inner = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        for key, each in inner:
            found.append((*path, key))
            waiting.append(((*path, key), each))
    return found


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    copy = json.loads(json.dumps(value))
    here = copy
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = odd
    return copy


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_an_odd_value_anywhere_gives_traces_of_the_contract_or_faults(name: str, data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(documents_of(name)))
    path = data.draw(st.sampled_from(places(document)))
    odd = with_odd(document, path, data.draw(ODD))
    entry = formats().get(name)
    entry.recognises(odd)
    for record in entry.read([Document(json.dumps(odd).encode(), "t.json", None, 0)]):
        if isinstance(record, ReadTrace):
            # The structs are filled by hand: what they hold must be what they declare.
            assert msgspec.json.decode(msgspec.json.encode(record.trace), type=Trace) == record.trace
        else:
            assert record.fault.message
            assert record.fault.path.startswith("$")
