"""Contract section 2, Repairs: what is read though it is no JSON, with one warning per record and kind."""

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.errors import Fault
from pipeline.sources import native
from pipeline.sources.base import Document, ReadTrace

Read = Callable[..., tuple[list[Any], list[Fault]]]


def read_one(data: bytes) -> ReadTrace:
    [record] = native.read([Document(data, "t.json", None, 0)])
    assert isinstance(record, ReadTrace), record
    return record


SURROGATE, UTF8, NON_FINITE = "lone-surrogate", "invalid-utf8", "non-finite-number"

REPAIRED = {
    "half a pair": (rb'{"finalAnswer": "a \ud83d"}', "a \ufffd", [(SURROGATE, "$.finalAnswer", 1)]),
    "the other half": (rb'{"finalAnswer": "\uDE00 b"}', "\ufffd b", [(SURROGATE, "$.finalAnswer", 1)]),
    "halves in the wrong order": (rb'{"finalAnswer": "\udc00\ud83d"}', "\ufffd" * 2, [(SURROGATE, "$.finalAnswer", 2)]),
    "two first halves and a second": (
        rb'{"finalAnswer": "\ud83d\ud83d\ude00"}',
        "\ufffd😀",
        [(SURROGATE, "$.finalAnswer", 1)],
    ),
    "a half before another escape": (rb'{"finalAnswer": "\ud83d\n"}', "\ufffd\n", [(SURROGATE, "$.finalAnswer", 1)]),
    "a half after an escaped back slash": (
        rb'{"finalAnswer": "\\\ud83d"}',
        "\\\ufffd",
        [(SURROGATE, "$.finalAnswer", 1)],
    ),
    "a half in an ignored field": (
        rb'{"finalAnswer": "a", "x": [1, {"y": "\ud800"}]}',
        "a",
        [(SURROGATE, "$.x[1].y", 1)],
    ),
    "a half in a key": (rb'{"finalAnswer": "a", "\ud800": 1}', "a", [(SURROGATE, '$["\\ud800"]', 1)]),
    "an invalid byte": (b'{"finalAnswer": "a\xffb"}', "a\ufffdb", [(UTF8, "$.finalAnswer", 1)]),
    "a character cut short": (b'{"finalAnswer": "a\xe6\x95"}', "a\ufffd", [(UTF8, "$.finalAnswer", 1)]),
    "an encoded surrogate": (b'{"finalAnswer": "\xed\xa0\xbd"}', "\ufffd" * 3, [(UTF8, "$.finalAnswer", 3)]),
    "an invalid byte beside a real U+FFFD": (
        b'{"finalAnswer": "\xef\xbf\xbd\xff"}',
        "\ufffd" * 2,
        [(UTF8, "$.finalAnswer", 1)],
    ),
    "an invalid byte in an ignored field": (b'{"finalAnswer": "a", "x": ["\xff"]}', "a", [(UTF8, "$.x[0]", 1)]),
    "an invalid byte in a key": (b'{"finalAnswer": "a", "k\xff": 1}', "a", [(UTF8, '$["k\ufffd"]', 1)]),
    "NaN in an ignored field": (b'{"finalAnswer": "a", "x": {"y": [0, NaN]}}', "a", [(NON_FINITE, "$.x.y[1]", 1)]),
    "NaN where text is due": (b'{"finalAnswer": NaN}', None, [(NON_FINITE, "$.finalAnswer", 1)]),
    "infinities": (
        b'{"finalAnswer": "a", "durationMs": -Infinity, "x": Infinity}',
        "a",
        [(NON_FINITE, "$.durationMs", 2)],
    ),
    "NaN beside the word in text": (b'{"finalAnswer": "NaN, \\"NaN", "x": NaN}', 'NaN, "NaN', [(NON_FINITE, "$.x", 1)]),
    "all kinds at once": (
        b'{"finalAnswer": "a\xff", "x": NaN, "y": "\\ud83d"}',
        "a\ufffd",
        [(UTF8, "$.finalAnswer", 1), (SURROGATE, "$.y", 1), (NON_FINITE, "$.x", 1)],
    ),
}


@pytest.mark.parametrize("data, answer, warned", REPAIRED.values(), ids=REPAIRED)
def test_it_is_repaired_and_reported(data: bytes, answer: str | None, warned: list[tuple[str, str, int]]) -> None:
    record = read_one(data)
    assert record.trace.finalAnswer == answer
    seen = [(row.kind, row.path, int(row.message.split()[0])) for row in record.warned]
    assert seen == [(kind, path, count) for kind, path, count in warned]


NOTHING_TO_REPAIR = {
    "a whole pair": r'{"finalAnswer": "\ud83d\ude00"}',
    "an escaped back slash before ud83d": r'{"finalAnswer": "\\ud83d"}',
    "the words in text": '{"finalAnswer": "NaN Infinity -Infinity"}',
    "U+FFFD itself": '{"finalAnswer": "\ufffd"}',
}


@pytest.mark.parametrize("text", NOTHING_TO_REPAIR.values(), ids=NOTHING_TO_REPAIR)
def test_nothing_is_reported_where_nothing_is_wrong(text: str) -> None:
    record = read_one(text.encode())
    assert (record.trace.finalAnswer, record.warned) == (json.loads(text)["finalAnswer"], ())


def test_a_free_form_value_is_repaired() -> None:
    record = read_one(b'{"toolInvocations": [{"arguments": {"a": NaN, "b": "\xff"}, "error": "\\ud83d"}]}')
    assert isinstance(record.trace.toolInvocations, list)
    [call] = record.trace.toolInvocations
    assert call is not None
    assert (call.arguments, call.error) == ({"a": None, "b": "\ufffd"}, "\ufffd")
    assert [row.path for row in record.warned] == [
        "$.toolInvocations[0].arguments.b",
        "$.toolInvocations[0].error",
        "$.toolInvocations[0].arguments.a",
    ]


def test_json_inside_a_string_is_repaired_and_counted_with_the_rest() -> None:
    inner = r'{"verifier_evaluation": {"score": NaN, "note": "\ud83d"}}'
    record = read_one(b'{"durationMs": NaN, "selfEvaluation": ' + json.dumps(inner).encode() + b"}")
    seen = [(row.kind, row.path, row.message.split()[0]) for row in record.warned]
    assert seen == [
        (SURROGATE, "$.selfEvaluation.verifier_evaluation.note", "1"),
        (NON_FINITE, "$.durationMs", "2"),
    ]


STILL_REFUSED = {
    "a wrong type before it": b'{"finalAnswer": 7, "durationMs": NaN}',
    "a wrong type after it": b'{"durationMs": NaN, "finalAnswer": 7}',
    "malformed after it": b'{"durationMs": NaN, "finalAnswer": "a",}',
    "out of range after it": b'{"durationMs": NaN, "x": 1e999}',
    "too deep after it": b'{"durationMs": NaN, "x": ' + b"[" * 200 + b"]" * 200 + b"}",
    "NaN glued to a number": b'{"durationMs": 1NaN}',
    "a literal that no writer emits": b'{"durationMs": nan}',
    "NaN as a key": b"{NaN: 1}",
    "an invalid byte after a back slash": b'{"finalAnswer": "\\\xff"}',
}


@pytest.mark.parametrize("data", STILL_REFUSED.values(), ids=STILL_REFUSED)
def test_a_repair_excuses_nothing_else(read: Read, data: bytes) -> None:
    traces, faults = read(data)
    assert (traces, len(faults)) == ([], 1)


def test_no_other_record_is_lost(read: Read) -> None:
    content = (
        b'{"traceId": "a"}\n{"traceId": "b", "x": NaN}\n{"traceId": "c\xff"}\n{"traceId": "d\\ud83d"}\n{"traceId": "e"}'
    )
    traces, faults = read(content, "t.jsonl")
    assert [row.trace.traceId for row in traces] == ["a", "b", "c\ufffd", "d\ufffd", "e"]
    assert [len(row.warned) for row in traces] == [0, 1, 1, 1, 0]
    assert faults == []


DIRT = st.sampled_from(["\\ud83d", "\\udc00", "\\ud83d\\ude00", "\\n", '\\"', "\\\\", "NaN", "a", "é", "[", "{", ":"])
TEXTS = st.lists(DIRT, max_size=6).map("".join)
NUMBERS = st.sampled_from(["NaN", "Infinity", "-Infinity", "1", "-2.5", "null"])
VALUES = st.recursive(
    TEXTS.map('"{}"'.format) | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(TEXTS, inner), max_size=3).map(
            lambda items: "{" + ",".join(f'"k{key}" : {value}' for key, value in items) + "}"
        )
    ),
    max_leaves=8,
)


@example(r'{"k\ud83d": "", "k\udc00": "\ud83d", "k\ud83d": []}')
@given(VALUES)
def test_a_repaired_document_equals_the_document_repaired_beforehand(value: str) -> None:
    def with_clean_keys(pairs: list[tuple[str, object]]) -> dict[object, object]:
        # Pair by pair: of keys that are the same once repaired, the last one in the document counts.
        return {clean(key): each for key, each in pairs}

    def clean(item: object) -> object:
        if isinstance(item, str):
            halves = item.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
            return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in halves)
        if isinstance(item, list):
            return [clean(each) for each in item]
        if isinstance(item, dict):
            return {key: clean(each) for key, each in item.items()}
        return None if isinstance(item, float) and not math.isfinite(item) else item

    text = f'{{"x": {value}, "toolInvocations": [{{"resultSummary": {value}}}]}}'
    # The standard library reads halves and NaN as they are: an independent way to the same document.
    beforehand = msgspec.json.encode(clean(json.loads(text, object_pairs_hook=with_clean_keys)))
    assert read_one(text.encode()).trace == read_one(beforehand).trace
    assert read_one(beforehand).warned == ()


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_invalid_bytes_read_as_their_replacement(before: bytes, after: bytes) -> None:
    def escaped(part: bytes) -> bytes:
        return part.translate(None, bytes(range(32)) + b'"\\')

    content = escaped(before) + escaped(after)
    record = read_one(b'{"x": "' + content + b'", "finalAnswer": "' + content + b'"}')
    assert record.trace.finalAnswer == content.decode("utf-8", "replace")
    try:
        content.decode()
    except UnicodeDecodeError:
        assert [(row.kind, row.path) for row in record.warned] == [(UTF8, "$.x")]
    else:
        assert record.warned == ()
