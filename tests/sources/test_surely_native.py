"""A file whose keys say that it is native is taken for that without a second decoding; it is read as it would be."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.sources import native, read
from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable
from pipeline.sources.native import is_surely, is_surely_written
from tests.sources.test_decoded_lines import HOSTILE
from tests.sources.test_properties import TOKENS, valid

AI_SDK = [
    b'{"role": "assistant", "toolInvocations": [{"state": "call", "toolCallId": "c"}]}',
    rb'{"role": "assistant", "toolInvocations": [{"state": "call", "\u0074oolCallId": "c"}]}',
    rb'{"role": "assistant", "tool\u0049nvocations": [{"state": "call", "toolCallI\u0064": "c"}]}',
    b'{"toolInvocations": [], "role": "assistant", "toolInvocations": [{"state": "call", "toolCallId": "c"}]}',
]
DOCUMENTS = [
    *HOSTILE,
    *AI_SDK,
    b'{"messages": [{"role": "user", "content": "why?"}], "finalAnswer": "x"}',
    b'{"messages": [], "finalAnswer": "x"',
    b'{"finalAnswer": "x"} {"finalAnswer": "y"}',
    b'{"messages": []}\n{"finalAnswer": "y"}',
    b'"{\\"finalAnswer\\": \\"x\\"}"',
    b'{"finalAnswer": null}',
    b'{"finalAnswer": 7, "traceId": "t", "startTime": "s"}',
    b'{"x": {"finalAnswer": "x"}}',
    b'[{"finalAnswer": "x"}]',
]
FIELDS = st.dictionaries(
    st.sampled_from([*native.OWN_KEYS, "messages", "role", "startTime", "resourceSpans"]),
    valid(Any) | st.just([{"state": "call", "toolCallId": "c"}]),
    max_size=4,
)


def records(data: bytes) -> list[ReadTrace | Unreadable]:
    return list(read._read(iter([Document(data, "t.json", None, 0)]), None))


@given(
    (valid(Trace) | FIELDS).map(lambda trace: json.dumps(trace, ensure_ascii=False).encode())
    | st.sampled_from([text for text in DOCUMENTS if len(text) < 2_000])
    | st.lists(TOKENS, max_size=12).map(b"".join)
)
@example(b'{"finalAnswer": "x", "y": ' + b"[" * 3_000 + b"]" * 3_000 + b"}")
@example(b'{"finalAnswer": "x", "y": 1e999}')
def test_a_file_is_read_the_same_whether_its_keys_are_looked_at_first_or_not(data: bytes) -> None:
    with patch.object(native, "is_surely_written", lambda _: False):
        decoded = records(data)
    assert records(data) == decoded


@pytest.mark.parametrize("data", AI_SDK)
def test_calls_of_the_ai_sdk_are_not_ours_however_they_are_spelled(data: bytes) -> None:
    assert not is_surely(json.loads(data))
    assert not is_surely_written(data)


def test_escapes_of_other_scripts_cost_no_second_decoding() -> None:
    trace = {"toolInvocations": [{"toolName": "searchLogs", "result": "为什么慢"}]}

    assert is_surely_written(json.dumps(trace).encode())
