"""Lines that are decoded where they are cut, and looked at many at once, are read as if each stood alone."""

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.sources import lines, native
from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable
from pipeline.sources.json_text import is_plain, is_shallow
from pipeline.sources.lines import Seen, documents
from tests.sources.test_properties import TOKENS, valid
from tests.sources.test_strictness import DEPTHS, IN_RANGE, OUT_OF_RANGE

Read = tuple[list[ReadTrace | Unreadable], int, bool, bool]

TABLES = [
    content.encode()
    for content in (
        *(row[0] for row in DEPTHS.values()),
        *IN_RANGE.values(),
        *(row[0] for row in OUT_OF_RANGE.values()),
    )
]
HOSTILE = [
    *TABLES,
    b'{"finalAnswer": "\xff"}',
    b'{"x": "\xff\xed\xa0\x80"}',
    b'{"\xc3": 1}',
    b'{"finalAnswer": "\\ud800"}',
    b'{"x": NaN}',
    b'{"toolInvocations": "[{}]"}',
    b'{"trial": "1"}',
    b'{"trial": 1',
    b'"{}"',
    b'"text"',
    b"null",
    b"[]",
    b" ",
    b'{"x": 1}\r',
]


def pieces_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data: bytes, size: int, *, at_once: bool) -> Read:
    seen = Seen()
    found: list[Document | Unreadable]
    with patch.object(lines, "_MANY_LINES", 0 if at_once else 1 << 30):
        decode = native.FORMAT.decode if at_once else None
        found = list(documents(pieces_of(data, size), "t.jsonl", 0, seen=seen, decode=decode))
    records = [record for one in found for record in (native.read([one]) if isinstance(one, Document) else [one])]
    return records, seen.line_ends, seen.open, seen.broken_off


# The longest would be cut into pieces for minutes; they stand among the examples.
SHORT = [line for line in HOSTILE if len(line) < 2_000]
LINE = (
    valid(Trace).map(lambda trace: json.dumps(trace, ensure_ascii=False).encode())
    | st.sampled_from(SHORT)
    | st.lists(TOKENS, max_size=8).map(b"".join)
)


@given(st.lists(LINE, max_size=8).map(b"\n".join), st.integers(1, 200) | st.just(1 << 20))
@example(b"\n".join(HOSTILE), 1 << 20)
@example(b"\n".join(SHORT), 37)
def test_lines_decoded_at_once_are_read_like_lines_by_themselves(data: bytes, size: int) -> None:
    assert read(data, size, at_once=True) == read(data, size, at_once=False)


PLAIN: dict[str, bytes] = {
    "answer": b'{"finalAnswer": "x"}',
    "text": '{"question": "为什么慢？ 1e5, a1e999b"}'.encode(),
}


@pytest.mark.parametrize("line", PLAIN.values(), ids=PLAIN)
def test_what_is_plain_is_decoded_once(line: bytes) -> None:
    found = list(documents([b"\n".join([line] * 40) + b"\n"], "t.jsonl", 0, decode=native.FORMAT.decode))
    assert [(type(one.value), one.plain) for one in found if isinstance(one, Document)] == [
        (Trace, number > 0) for number in range(40)
    ]


@pytest.mark.parametrize(
    "text",
    [b"\xff", b"1e400,", b"x: 1E+0400\n", b"[" + b"7" * 100 + b"]", b"[0, 1e200]", b"1e999", "热".encode()[:2]],
)
def test_what_a_decoder_may_pass_over_is_not_plain(text: bytes) -> None:
    for before in range(30):
        assert not is_plain(b" " * before + text)


@given(st.integers(100, 400), st.integers(0, 40), st.integers(0, 40))
def test_a_long_number_is_found_wherever_it_stands(digits: int, before: int, after: int) -> None:
    assert not is_plain(b"x" * before + b"9" * digits + b"x" * after)


@given(st.integers(0, 250), st.sampled_from([b"[", b"{", b"[{"]))
def test_what_is_shallow_is_no_deeper_than_is_allowed(levels: int, opening: bytes) -> None:
    assert is_shallow(opening * levels) == (len(opening) * levels <= 200)


def test_a_trace_is_the_same_by_either_way() -> None:
    trace: dict[str, Any] = {"traceId": "t", "toolInvocations": [{"tool": "a", "arguments": '{"n": 1}'}]}
    data = b"\n".join([json.dumps(trace).encode()] * 40)
    records, *_ = read(data, 1 << 20, at_once=True)
    assert records == read(data, 1 << 20, at_once=False)[0]
    assert len(records) == 40
