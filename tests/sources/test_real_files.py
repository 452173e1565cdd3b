"""Real and edge files, read as they are (EDGE.md beside the real traces says what each is about)."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.files import find_inputs
from pipeline.sources.read import Batch, read_batches


def batch_of(path: Path) -> Batch:
    [batch] = read_batches(find_inputs([str(path)]))
    return batch


# name: traces read, lines or paths that are unreadable, kinds of repair
EDGE = {
    "b01_late_key.jsonl": (121, [], []),
    "b02_nan.jsonl": (5, [], ["non-finite-number"] * 3),
    "b02_nan_in_string.json": (1, [], []),
    "b03_mixed_types.jsonl": (3, [(3, "$.durationMs"), (5, "$.traceId")], []),
    "b04_empty_array_first.jsonl": (5, [], []),
    "b05_empty_struct.jsonl": (1, [], []),
    "b06_big_ints.jsonl": (3, [], []),
    "b07_bom.json": (0, [(None, "$")], []),
    "b07_bom.jsonl": (2, [], []),
    "b07_crlf_blank_lines_no_final_newline.jsonl": (3, [], []),
    "b07_utf16.jsonl": (0, [(1, "$")], []),
    "b08_line_separators.jsonl": (3, [], []),
    "b09_lone_surrogate.jsonl": (3, [], ["lone-surrogate"] * 2),
    "b09_nul.jsonl": (1, [], []),
    "b10_duplicate_trace_ids_across_lines.jsonl": (3, [], []),
    "b13_double_encoded.json": (1, [], []),
    "b19_deep_nesting_2000.json": (0, [(None, "$")], []),
    "b21_garbage_and_truncated.jsonl": (3, [(line, "$") for line in (2, 4, 5, 6, 7, 9)], []),
    "b21_trailing_commas.json": (0, [(None, "$")], []),
    "b24_duplicate_and_clashing_keys.jsonl": (2, [], []),
    "b25_long_line_3mb.jsonl": (2, [], []),
}


@pytest.mark.parametrize("name, read, unreadable, repairs", [(name, *row) for name, row in EDGE.items()], ids=EDGE)
def test_an_edge_file(shared_traces: Path, name: str, read: int, unreadable: list[Any], repairs: list[str]) -> None:
    batch = batch_of(shared_traces / "edge" / name)
    assert len(batch.traces) == read
    assert [(row.fault.line, row.fault.path) for row in batch.unreadable] == unreadable
    assert [warned.kind for row in batch.traces for warned in row.warned] == repairs


def test_a_key_first_seen_late_is_kept(shared_traces: Path) -> None:
    batch = batch_of(shared_traces / "edge" / "b01_late_key.jsonl")
    assert [row.line for row in batch.traces if row.trace.selfEvaluation is not None] == [121]


def test_of_duplicate_keys_the_last_is_read(shared_traces: Path) -> None:
    batch = batch_of(shared_traces / "edge" / "b24_duplicate_and_clashing_keys.jsonl")
    assert [row.trace.status for row in batch.traces] == ["FAILED", "FAILED"]


def test_saved_conversations_are_recognised_as_chats(shared_traces: Path) -> None:
    folder = shared_traces / "holmesgpt"
    for path in sorted(folder.glob("*conversation_history.json")):
        batch = batch_of(path)
        assert batch.unreadable == []
        [record] = batch.traces
        assert record.trace.question
        assert record.trace.finalAnswer
        assert isinstance(record.trace.toolInvocations, list)
        assert any(call.resultSummary for call in record.trace.toolInvocations if call)


def test_an_ai_sdk_chat_is_no_format_of_ours(shared_traces: Path) -> None:
    batch = batch_of(shared_traces / "synthetic" / "vercel_ai_sdk_toolInvocations_name_clash.json")
    assert batch.traces == []
    assert [row.fault.found for row in batch.unreadable] == ["object with `messages`"]


def test_no_real_file_ends_the_run(shared_traces: Path) -> None:
    inputs = find_inputs([str(shared_traces)])
    batches = list(read_batches(inputs))
    named = {row.file for batch in batches for row in batch.traces}
    named |= {row.fault.file for batch in batches for row in batch.unreadable}
    assert named == {file.name for file in inputs.files}
