"""Whatever stands where in a file of spans: it becomes traces or faults, never an exception."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources import mlflow, openinference, otel
from pipeline.sources.base import Document, Format, ReadTrace

SAMPLES = Path(__file__).parents[2] / "fixtures" / "formats"
FORMATS: dict[str, Format] = {"otel": otel.FORMAT, "openinference": openinference.FORMAT, "mlflow": mlflow.FORMAT}


def documents_of(name: str) -> list[Any]:
    found: list[Any] = []
    decoder = json.JSONDecoder()
    for path in sorted((SAMPLES / name).iterdir()):
        text = path.read_text() if path.name != "expected.jsonl" else ""
        while text := text.lstrip():
            value, end = decoder.raw_decode(text)
            found.append(value)
            text = text[end:]
    return found


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


DOCUMENTS = {name: documents_of(name) for name in FORMATS}

odd = st.recursive(
    st.sampled_from([None, True, 0, -1, 2**63, 1e300, "", "a", "[", "{}", '"a"', "0" * 32, "9" * 5000]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["role", "content", "key", "value", "stringValue", "spans", "id"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_value_replaced_by_any_other_costs_no_more_than_its_own_trace(name: str, data: st.DataObject) -> None:
    document = json.loads(json.dumps(data.draw(st.sampled_from(DOCUMENTS[name]))))
    place: Any = document
    while True:
        steps: Any = list(place) if isinstance(place, dict) else range(len(place))
        step = data.draw(st.sampled_from(steps))
        inner = place[step]
        # Strings that hold JSON are changed inside too.
        if isinstance(inner, str) and inner[:1] in ("{", "[") and is_json(inner) and data.draw(st.booleans()):
            inner = place[step] = json.loads(inner)
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 5)) == 0:
            place[step] = data.draw(odd)
            break
        place = inner
    FORMATS[name].recognises(document)
    for record in FORMATS[name].read([Document(json.dumps(document).encode(), "f.json", None, 0)]):
        if isinstance(record, ReadTrace):
            assert msgspec.json.decode(msgspec.json.encode(record.trace)) is not None
        else:
            assert record.fault.message
