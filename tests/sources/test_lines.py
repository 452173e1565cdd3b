# ruff: noqa: E501  # a row of a table is one line, as are the files in it
"""Contract section 2, Lines: how a stream is cut into records, and what a bad line costs."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.sources import native
from pipeline.sources.base import Document, ReadTrace, Unreadable
from pipeline.sources.lines import documents
from pipeline.sources.wording import Refused

Seen = list[tuple[str, int | None]]


def cut(content: bytes, step: int = 1 << 20, limit: int = 1 << 20) -> list[Document | Unreadable]:
    pieces = (content[start : start + step] for start in range(0, len(content), step))
    return list(documents(pieces, "t.jsonl", 0, limit=limit))


def place(row: Document | Unreadable) -> tuple[type, int | None]:
    return type(row), row.line if isinstance(row, Document) else row.fault.line


def read(content: bytes | str, step: int = 1 << 20, limit: int = 1 << 20) -> Seen:
    """The ids of the traces, and `!` for what is unreadable, each with its line."""
    seen: Seen = []
    for item in cut(content if isinstance(content, bytes) else content.encode(), step, limit):
        record = item if isinstance(item, Unreadable) else next(native.read([item]))
        if isinstance(record, ReadTrace):
            seen.append((record.trace.traceId or "-", record.line))
        else:
            seen.append(("!", record.fault.line))
    return seen


PRETTY = json.dumps({"traceId": "p", "toolInvocations": [{"toolName": "a"}, {"toolName": "b"}]}, indent=2)
FLAT = json.dumps({"traceId": "f", "toolInvocations": [{"toolName": "a"}, {"toolName": "b"}]}, indent=0)

CUTS: dict[str, tuple[bytes | str, Seen]] = {
    "nothing": ("", []),
    "blank lines only": ("\n \r\n\t\n", []),
    "a mark only": (b"\xef\xbb\xbf", []),
    "no last line end": ('{"traceId":"a"}\n{"traceId":"b"}', [("a", 1), ("b", 2)]),
    "carriage returns": ('{"traceId":"a"}\r\n\r\n{"traceId":"b"}\r\n', [("a", 1), ("b", 3)]),
    "a carriage return inside a line is white space": ('{"traceId":\r"a"}\n', [("a", 1)]),
    "white space around": ('  {"traceId":"a"}\t\n\n \t{"traceId":"b"} ', [("a", 1), ("b", 3)]),
    "one mark": (b'\xef\xbb\xbf{"traceId":"a"}\n{"traceId":"b"}', [("a", 1), ("b", 2)]),
    "a second mark": (b'\xef\xbb\xbf\xef\xbb\xbf{"traceId":"a"}\n{"traceId":"b"}', [("!", 1), ("b", 2)]),
    "separators in text": ('{"traceId":"a\u2028b\u2029c\u0085d\x7f"}\n{"traceId":"b"}', [("a\u2028b\u2029c\u0085d\x7f", 1), ("b", 2)]),
    "pretty-printed": (f"{PRETTY}\n{PRETTY}", [("p", 1), ("p", 12)]),
    "pretty-printed with carriage returns": (PRETTY.replace("\n", "\r\n"), [("p", 1)]),
    "pretty-printed with blank lines": (PRETTY.replace("\n", "\n\n"), [("p", 1)]),
    "printed without indentation": (f"{FLAT}\n{FLAT}", [("f", 1), ("f", 12)]),
    "pretty-printed among others": (f'{{"traceId":"a"}}\n{PRETTY}\n{{"traceId":"b"}}', [("a", 1), ("p", 2), ("b", 13)]),
    "pretty-printed with half a pair and NaN": ('{\n"traceId":\n"a\\ud83d",\n"x":\nNaN\n}', [("a\ufffd", 1)]),
    "concatenated": ('{"traceId":"a"}{"traceId":"b"} {"traceId":"c"}', [("a", 1), ("b", 1), ("c", 1)]),
    "concatenated over lines": ('{"traceId":"a"}{"traceId":\n"b"}{"traceId":"c"}\n{"traceId":"d"}', [("a", 1), ("b", 1), ("c", 2), ("d", 3)]),
    "concatenated, pretty-printed": (PRETTY + PRETTY + "\n", [("p", 1), ("p", 11)]),
    "braces in text": ('{"traceId":"}{"}{"traceId":"\\"}"}', [("}{", 1), ('"}', 1)]),
    "inside strings": ('"{\\"traceId\\": \\"a\\"}"\n{"traceId":"b"}', [("a", 1), ("b", 2)]),
    "another program's line": ('{"traceId":"a"}\nWARNING: pool full\n{"traceId":"b"}', [("a", 1), ("!", 2), ("b", 3)]),
    "another program's line with a bracket": ('{"traceId":"a"}\n[2026-01-01 12:00] up\n[INFO] up\n{"traceId":"b"}', [("a", 1), ("!", 2), ("!", 3), ("b", 4)]),
    "two bad lines in a row": ('x\n{"traceId":\ny\n{"traceId":"b"}', [("!", 1), ("!", 2), ("b", 4)]),
    "what is no object": ('[]\n"text"\n42\nnull\ntrue\n{}', [("!", 1), ("!", 2), ("!", 3), ("!", 4), ("!", 5), ("-", 6)]),
    "a comma after each": ('{"traceId":"a"},\n{"traceId":"b"},\n', [("a", 1), ("!", 1), ("b", 2), ("!", 2)]),
    "text after an object": ('{"traceId":"a"} done\n{"traceId":"b"}', [("a", 1), ("!", 1), ("b", 2)]),
    "a NUL-padded end": (b'{"traceId":"a"}\n' + b"\0" * 64, [("a", 1), ("!", 2)]),
    "cut off in text": ('{"traceId":"a"}\n{"traceId":"b\n{"traceId":"c"}', [("a", 1), ("!", 2), ("c", 3)]),
    "cut off in a list": ('{"x":[\n{"traceId":"b"}\n{"traceId":"c"}', [("!", 1), ("b", 2), ("c", 3)]),
    "cut off after a comma": ('{"x":[1,\n{"traceId":"b"}\n{"traceId":"c"}', [("!", 1), ("b", 2), ("c", 3)]),
    "cut off before a value": ('{"x":\n{"traceId":"b"}\n', [("!", 1), ("b", 2)]),
    "cut off before indented ones": ('{"x":[\n  {"traceId":"b"}\n  {"traceId":"c"}', [("!", 1), ("b", 2), ("c", 3)]),
    "a lone bracket before indented ones": ('{\n  {"traceId":"b"}\n  {"traceId":"c"}', [("!", 1), ("b", 2), ("c", 3)]),
    "cut off before one inside a string": ('{"x":[\n"{\\"traceId\\":\\"b\\"}"\n"{\\"traceId\\":\\"c\\"}"', [("!", 1), ("b", 2), ("c", 3)]),
    "cut off twice": ('{"x":[\n{"y":[\n{"traceId":"c"}\n{"traceId":"d"}', [("!", 1), ("!", 2), ("c", 3), ("d", 4)]),
    "cut off at the end": ('{"traceId":"a"}\n{"x":[1,\n2,\n\n', [("a", 1), ("!", 2)]),
    "pretty-printed and broken": ('{\n  "x": [\n    {"traceId": "no"},\n    {"traceId": "no"}\n  ],\n  oops\n}\n' + PRETTY, [("!", 1), ("p", 8)]),
    "pretty-printed and cut off": (PRETTY[:40] + "\n" + PRETTY, [("!", 1), ("p", 4)]),
    "a line of log inside a pretty-printed one": (PRETTY.replace("\n", "\nWARNING: up\n", 1) + "\n" + PRETTY, [("!", 1), ("p", 13)]),
    "a wrong type in a pretty-printed one": ('{\n"traceId": 7\n}\n{"traceId":"b"}', [("!", 1), ("b", 4)]),
    "too deep on one line": ('{"x":' + "[" * 300 + "]" * 300 + '}\n{"traceId":"b"}', [("!", 1), ("b", 2)]),
    "far too deep on one line": ('{"x":' + "[" * 90_000 + "]" * 90_000 + '}\n{"traceId":"b"}', [("!", 1), ("b", 2)]),
    "too deep over lines": ("[\n" * 300 + '{"traceId":"b"}', [("!", 1), ("b", 301)]),
    "a list over lines is one document": ('[\n{"traceId":"a"},\n{"traceId":"b"}\n]\n{"traceId":"c"}', [("!", 1), ("c", 5)]),
}  # fmt: skip


@pytest.mark.parametrize("content, seen", CUTS.values(), ids=CUTS)
def test_a_file_is_cut_into_records(content: bytes | str, seen: Seen) -> None:
    assert read(content) == seen


@pytest.mark.parametrize("content, seen", CUTS.values(), ids=CUTS)
def test_the_size_of_the_pieces_changes_nothing(content: bytes | str, seen: Seen) -> None:
    assert read(content[:2000], step=1) == read(content[:2000])


def test_a_broken_region_says_where_it_broke() -> None:
    [row, _] = cut(b'{\n  "x": [1\n  oops\n}\n{}')
    assert isinstance(row, Unreadable)
    assert row.fault.message == (
        "what begins here never becomes a whole object: `oops` cannot stand in its line 3; correct or remove it"
    )


def test_a_line_over_the_limit_costs_only_itself() -> None:
    content = b'{"traceId":"a"}\n{"x":"' + b"y" * 500 + b'"}\n{"traceId":"c"}\n' + b"z" * 500
    assert read(content, step=7, limit=100) == [("a", 1), ("!", 2), ("c", 3), ("!", 4)]
    assert read(content, limit=100) == [("a", 1), ("!", 2), ("c", 3), ("!", 4)]


def test_a_line_over_the_limit_is_not_kept_in_memory() -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"y" * (1 << 20)
        yield b'\n{"traceId":"b"}'

    tracemalloc.start()
    [too_long, document] = documents(endless(), "t.jsonl", 0, limit=1 << 21)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert isinstance(too_long, Unreadable)
    assert (too_long.fault.line, too_long.fault.expected) == (1, "up to 2097152 bytes")
    assert isinstance(document, Document)
    assert document.line == 2


def test_an_object_over_many_lines_is_limited_too() -> None:
    content = b"{\n" + b'"x": [\n' + b"1,\n" * 100 + b'1]}\n{"traceId":"c"}'
    assert read(content, limit=1000) == [("!", 1), ("c", 104)]


def test_many_objects_may_not_begin_inside_one() -> None:
    swallowed = '{"x":[\n' * 10
    assert read(swallowed + '{"traceId":"c"}\n{"traceId":"d"}')[-2:] == [("c", 11), ("d", 12)]
    [first, *_] = cut(swallowed.encode() + b"]}" * 10)
    assert isinstance(first, Document)
    assert first.data == b'{"x":['


def test_a_stream_that_breaks_off_keeps_what_came_before() -> None:
    def broken(content: bytes) -> Iterator[bytes]:
        yield content
        raise Refused("it ends too early")

    seen = list(documents(broken(b'{"traceId":"a"}\n{"traceId":"b"}\n{"trac'), "t.jsonl", 0))
    assert [place(row) for row in seen] == [(Document, 1), (Document, 2), (Unreadable, 3)]
    seen = list(documents(broken(b'{"traceId":"a"}\n{\n"x": 1,\n"y'), "t.jsonl", 0))
    assert [place(row) for row in seen] == [(Document, 1), (Unreadable, 2), (Unreadable, 4)]


def test_many_concatenated_objects_take_one_pass() -> None:
    assert len(cut(b"{}" * 20_000)) == 20_000


IDS = st.text(st.characters(codec="utf-8"), max_size=4)
RECORDS = st.builds(
    lambda trace_id, extra, indent, pad: pad + json.dumps({"traceId": f"id{trace_id}", **extra}, indent=indent, ensure_ascii=False),
    IDS,
    st.dictionaries(st.sampled_from(["x", "question"]), IDS, max_size=2),
    st.none(),
    st.sampled_from(["", " ", "\t"]),
)  # fmt: skip
WHOLE = '{"traceId": "z", "x": [{"y": "a b"}, [1, null]], "question": "\\" {["}'
BAD_LINES = st.one_of(
    st.integers(1, len(WHOLE) - 1).map(lambda end: WHOLE[:end]),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=12),
    st.text('{}[]:,"\\ a1\t', min_size=1, max_size=8),
    st.sampled_from(["{", "[", "}", "]", '"', "{[", '{"a":', '{"a":[', '{"a":[1,', "[{", '{"a":{"b":', "NaN", "-"]),
)


def good_ids(lines: list[str]) -> list[str]:
    return [trace_id for trace_id, _ in read("\n".join(lines)) if trace_id.startswith("id")]


@given(st.lists(RECORDS, min_size=1, max_size=5), BAD_LINES, st.data())
@example([' {"traceId": "id1"}', ' {"traceId": "id2"}'], "[", None)
@example(['{"traceId": "id1"}'], "\0", None)
@example([' {"traceId": "id1"}', ' {"traceId": "id2"}'], "{", None)
def test_a_bad_line_anywhere_costs_no_other_record(records: list[str], bad: str, data: st.DataObject | None) -> None:
    places = range(len(records) + 1) if data is None else [data.draw(st.integers(0, len(records)))]
    for place in places:
        assert good_ids([*records[:place], bad, *records[place:]]) == good_ids(records)


@given(st.lists(RECORDS, max_size=5), st.integers(1, 9))
def test_every_record_is_read_on_its_own_line(records: list[str], step: int) -> None:
    seen = read("\n".join(records).encode(), step=step)
    assert seen == [(json.loads(record)["traceId"], line) for line, record in enumerate(records, 1)]


@given(st.lists(st.tuples(RECORDS.map(json.loads), st.sampled_from([None, 0, 1, 2])), max_size=4), st.sampled_from(["\n", "", " ", "\r\n"]))  # fmt: skip
def test_objects_printed_in_any_way_are_read(objects: list[Any], between: str) -> None:
    printed = between.join(json.dumps(value, indent=indent) for value, indent in objects)
    assert [trace_id for trace_id, _ in read(printed)] == [value["traceId"] for value, _ in objects]


@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b'"', b":", b",", b"1", b"\n", b"\\", b"a", b" ", b'{"traceId":"a"}', b"\xff", b"NaN", b"\0"]), max_size=24).map(b"".join))  # fmt: skip
def test_any_bytes_give_documents_in_order(content: bytes) -> None:
    lines = [line or 0 for _, line in map(place, cut(content, step=3))]
    assert lines == sorted(lines)
    assert all(1 <= line <= content.count(b"\n") + 1 for line in lines)
