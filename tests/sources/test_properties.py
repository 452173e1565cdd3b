"""What always holds of reading, whatever the bytes."""

import json
from typing import Any, get_args, get_type_hints

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.sources import native, openai_chat
from pipeline.sources.base import Document, NamedTool, ReadTrace, Trace, Unreadable
from pipeline.sources.json_scan import Walk, deeper_than, path_of
from pipeline.sources.lines import documents

# No blank text, and none that could be JSON inside a string: those have tests of their own.
WORDS = st.text(st.characters(codec="utf-8"), max_size=8).filter(
    lambda text: text.strip()[:1] not in ("", "{", "[", '"')
)
FREE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def valid(kind: Any) -> st.SearchStrategy[Any]:
    """Plain JSON data of a type of the contract, made from the declaration of the structs itself."""
    if kind is Any:
        return FREE
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {name: valid(hint) for name, hint in get_type_hints(kind, include_extras=False).items()}
        return st.fixed_dictionaries({}, optional=fields)
    if getattr(kind, "__origin__", None) is list:
        return st.lists(valid(get_args(kind)[0]), max_size=2)
    simple = {
        str: WORDS,
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        bool: st.booleans(),
        type(None): st.none(),
    }
    if kind in simple:
        return simple[kind]
    kinds = get_args(kind)
    if any(each not in simple and each is not NamedTool for each in kinds):
        kinds = tuple(each for each in kinds if each is not str)
    return st.one_of([valid(each) for each in kinds])


def one(data: bytes) -> ReadTrace | Unreadable:
    [record] = native.read([Document(data, "t.json", None, 0)])
    return record


@given(valid(Trace))
def test_a_valid_trace_is_read_as_it_is(trace: Any) -> None:
    record = one(json.dumps(trace, ensure_ascii=False).encode())
    assert isinstance(record, ReadTrace), record
    assert record.trace == msgspec.convert(trace, Trace)
    assert record.warned == ()


@given(valid(Trace), st.booleans())
def test_the_way_a_trace_is_printed_changes_nothing(trace: Any, ascii_only: bool) -> None:
    compact = one(json.dumps(trace).encode())
    pretty = one(json.dumps(trace, indent=2, ensure_ascii=ascii_only, sort_keys=True).encode())
    assert compact == pretty


def records_of(data: bytes) -> list[ReadTrace | Unreadable]:
    whole = Document(data, "t.json", None, 0)
    lines = list(documents([data], "t.jsonl", 0))
    cut = [row for row in lines if isinstance(row, Document)]
    rest = [row for row in lines if isinstance(row, Unreadable)]
    return [record for entry in (native, openai_chat) for record in (*entry.read([whole]), *entry.read(cut), *rest)]


TOKENS = st.sampled_from(
    [b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"\n", b" ", b"1", b"-", b"e999", b"NaN", b"null", b"\xff", b"\0",
     b'"finalAnswer"', b'"toolInvocations"', b'"selfEvaluation"', b'"arguments"', b'"{}"', b'"a"', b"\\ud83d",
     b'"role"']
)  # fmt: skip


@given(st.binary(max_size=64) | st.lists(TOKENS, max_size=30).map(b"".join))
@example(b"[" * 3000)
@example(b"1e310\x00")
@example(b'{"a":' * 3000)
@example(b'"' * 3001)
@example(b'{"toolInvocations":"' + b"[" * 3000 + b'"}')
@example(b"\xef\xbb\xbf")
def test_any_bytes_give_traces_or_faults(data: bytes) -> None:
    for record in records_of(data):
        # Whatever comes out can be written as valid JSON.
        assert isinstance(json.loads(msgspec.json.encode(record)), dict)


@given(valid(Trace), st.data())
def test_a_trace_cut_off_anywhere_is_refused(trace: Any, data: st.DataObject) -> None:
    text = json.dumps(trace).encode()
    record = one(text[: data.draw(st.integers(0, len(text) - 1))])
    assert isinstance(record, Unreadable)


NAMED: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b_1", "键"]), inner, max_size=3),
    max_leaves=10,
)


@given(NAMED, st.booleans())
def test_the_place_of_every_value_is_known(value: Any, spaced: bool) -> None:
    text = json.dumps(value, separators=(" , ", " : ") if spaced else (",", ":"), ensure_ascii=False).encode()
    paths: list[str] = []

    def visit(item: Any, path: str) -> None:
        if isinstance(item, dict):
            for key, each in item.items():
                visit(each, f"{path}.{key}")
        elif isinstance(item, list):
            for index, each in enumerate(item):
                visit(each, f"{path}[{index}]")
        else:
            paths.append(path)

    visit(value, "$")
    walk = Walk(text)
    # A key has a colon after it; what is left are the values.
    seen = [walk.path() for _, _, end in walk if text[end:].lstrip()[:1] != b":"]
    assert seen == paths


@given(FREE, st.integers(0, 6))
def test_depth_is_counted_as_the_brackets_of_the_value(value: Any, limit: int) -> None:
    def depth(item: Any) -> int:
        if isinstance(item, dict | list):
            return 1 + max(map(depth, item.values() if isinstance(item, dict) else item), default=0)
        return 0

    assert deeper_than(json.dumps(value).encode(), limit) == (depth(value) > limit)


def test_a_place_outside_any_value_is_the_document() -> None:
    assert [path_of(b' {"a": [1, 2]} ', offset) for offset in (0, 1, 7, 8, 11, 14)] == [
        "$",
        "$",
        "$",
        "$.a[0]",
        "$.a[1]",
        "$",
    ]
