"""What always holds of reading, whatever the bytes."""

import json
from typing import Any, get_args, get_type_hints

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.sources import native, openai_chat
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable
from pipeline.sources.json_scan import Walk, deeper_than, path_of
from pipeline.sources.lines import documents

WORDS = st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda text: bool(text.strip()))
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
        str: WORDS.filter(lambda text: text.lstrip()[:1] not in '{["'),
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        bool: st.booleans(),
        type(None): st.none(),
    }
    if kind in simple:
        return simple[kind]
    # A field that may be JSON inside a string is given as what it holds; strings have tests of their own.
    kinds = [each for each in get_args(kind) if each is not str or len(get_args(kind)) == 2]
    return st.one_of([valid(each) for each in kinds])


def one(data: bytes) -> ReadTrace | Unreadable:
    [record] = native.read([Document(data, "t.json", None, 0)])
    return record


@given(valid(Trace))
def test_a_valid_trace_is_read_as_it_is(trace):
    # JSON objects and the decoder's structs are compared as plain data, absent fields being null.
    record = one(json.dumps(trace, ensure_ascii=False).encode())
    assert isinstance(record, ReadTrace), record
    expected = msgspec.convert(trace, Trace)
    for call in expected.toolInvocations or ():
        if isinstance(call, ToolInvocation) and isinstance(call.arguments, str):
            assert call.arguments  # plain words stay as they are
    assert record.trace == expected
    assert record.warned == ()


@given(valid(Trace), st.booleans())
def test_the_way_a_trace_is_printed_changes_nothing(trace, ascii_only):
    compact = one(json.dumps(trace).encode())
    pretty = one(json.dumps(trace, indent=2, ensure_ascii=ascii_only, sort_keys=True).encode())
    assert msgspec.json.encode(compact) == msgspec.json.encode(pretty)


def records_of(data: bytes) -> list[ReadTrace | Unreadable]:
    whole = Document(data, "t.json", None, 0)
    lines = list(documents([data], "t.jsonl", 0))
    cut = [row for row in lines if isinstance(row, Document)]
    rest = [row for row in lines if isinstance(row, Unreadable)]
    return [
        record for entry in (native, openai_chat) for record in (*entry.read([whole]), *entry.read(cut), *rest)
    ]


TOKENS = st.sampled_from(
    [b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"\n", b" ", b"1", b"-", b"e999", b"NaN", b"null", b"\xff", b"\0",
     b'"finalAnswer"', b'"toolInvocations"', b'"selfEvaluation"', b'"arguments"', b'"{}"', b'"a"', b"\\ud83d", b'"role"']
)  # fmt: skip


@given(st.binary(max_size=64) | st.lists(TOKENS, max_size=30).map(b"".join))
@example(b"[" * 3000)
@example(b'{"a":' * 3000)
@example(b'"' * 3001)
@example(b'{"toolInvocations":"' + b"[" * 3000 + b'"}')
@example(b"\xef\xbb\xbf")
def test_any_bytes_give_traces_or_faults(data):
    for record in records_of(data):
        # Whatever comes out can be written as valid JSON.
        assert isinstance(json.loads(msgspec.json.encode(record)), dict)


@given(valid(Trace), st.data())
def test_a_trace_cut_off_anywhere_is_refused(trace, data):
    text = json.dumps(trace).encode()
    record = one(text[: data.draw(st.integers(0, len(text) - 1))])
    assert isinstance(record, Unreadable)


@given(FREE)
def test_the_place_of_every_value_is_known(value):
    text = json.dumps(value)
    paths: list[str] = []

    def visit(item: Any, path: str) -> None:
        if isinstance(item, dict):
            for key, each in item.items():
                step = f".{key}" if key.isidentifier() and key.isascii() else None
                visit(each, path + step if step and path is not None else None)  # type: ignore[arg-type]
        elif isinstance(item, list):
            for index, each in enumerate(item):
                visit(each, path + f"[{index}]" if path is not None else None)  # type: ignore[arg-type]
        else:
            paths.append(path)

    visit(value, "$")
    walk = Walk(text.encode())
    seen = []
    last_key = False
    for kind, start, end in walk:
        last_key = kind == ord('"') and text.encode()[end : end + 1] == b":"
        if not last_key:
            seen.append((walk.path(), text.encode()[start:end]))
    assert len(seen) == len(paths)
    assert all(path is None or path == known for path, (known, _) in zip(paths, seen, strict=True))


@given(FREE, st.integers(0, 6))
def test_depth_is_counted_as_the_brackets_of_the_value(value, limit):
    def depth(item: Any) -> int:
        if isinstance(item, dict | list):
            return 1 + max(map(depth, item.values() if isinstance(item, dict) else item), default=0)
        return 0

    assert deeper_than(json.dumps(value).encode(), limit) == (depth(value) > limit)


def test_a_place_outside_any_value_is_the_document():
    assert [path_of(b' {"a": [1, 2]} ', offset) for offset in (0, 1, 7, 8, 11, 14)] == ["$", "$", "$", "$.a[0]", "$.a[1]", "$"]
