"""Shards: however the input is cut, the result is the same."""

import gzip
import json
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.cases.model import Case, Suite
from pipeline.engines.collect import judge_shards
from pipeline.judging import Job, Judging
from pipeline.noted import Noted
from pipeline.snapshot.merge import merge
from pipeline.snapshot.store import RowStore
from pipeline.sources.files import find_inputs
from pipeline.sources.shards import cut

SUITE = Suite(
    name="s",
    cases=tuple(Case(id=name, question="Why?", require_verdict=False, root_cause_keywords=("pool",)) for name in "abc"),
)
JUDGING = Judging(Job(suite=SUITE, selected=("a", "b", "c")))

TRACES = st.builds(
    lambda case, answer, calls: {
        "traceId": None,
        "caseId": case,
        "finalAnswer": answer,
        "toolInvocations": [{"toolName": name} for name in calls],
    },
    st.sampled_from(["a", "b", "c", "other"]),
    st.sampled_from(["the pool", "nothing", "", 'line\nend }{ "quoted" \u2028']),
    st.lists(st.sampled_from(["x", "y"]), max_size=3),
)
# What stands in a line file: records on one line or several, blank lines, garbage, records cut off.
PIECES = st.one_of(
    TRACES.map(json.dumps),
    TRACES.map(lambda trace: json.dumps(trace, indent=1)),
    TRACES.map(lambda trace: json.dumps(trace, indent=0)),
    TRACES.map(lambda trace: json.dumps(trace)[:-7]),
    TRACES.map(lambda trace: json.dumps(trace, indent=2)[:-9]),
    st.sampled_from(["", "  ", "not json", "[]", "42", '{"a": ', "}", '{"finalAnswer": NaN}', '{"finalAnswer": 3}']),
)


def judged(path: Path, folder: Path, shard_bytes: int) -> tuple[pl.DataFrame, bytes]:
    store, noted = RowStore(folder), Noted()
    shards = cut(find_inputs([str(path)]).files, shard_bytes=shard_bytes)
    offsets = judge_shards(JUDGING, shards, None, store, noted, folder)
    order = merge(store.keys(offsets)).rows
    return pl.concat(list(store.in_order(order))), msgspec.json.encode(noted, order="sorted")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, min_size=1, max_size=8), shard_bytes=st.integers(1, 400))
def test_the_cut_changes_nothing(pieces: list[str], shard_bytes: int, tmp_path: Path) -> None:
    # The first line tells the format; the sure one is native.
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(['{"finalAnswer": "first", "caseId": "a"}', *pieces]), encoding="utf-8")
    rows, noted = judged(path, tmp_path, 1 << 30)
    their_rows, their_noted = judged(path, tmp_path, shard_bytes)
    assert their_noted == noted
    assert their_rows.equals(rows)


def test_a_document_across_a_cut_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    trace = {"caseId": "a", "finalAnswer": "the pool", "toolInvocations": [{"toolName": str(n)} for n in range(40)]}
    path.write_text('{"finalAnswer": "x", "caseId": "b"}\n' + json.dumps(trace, indent=2) + "\n")
    rows, _ = judged(path, tmp_path, 64)
    assert rows.select("case_id", "status", "line", "tool_call_count").rows() == [
        ("a", "passed", 2, 40),
        ("b", "failed", 1, None),
    ]


@pytest.mark.parametrize("shard_files, expected", [(2, [2, 2, 1]), (10, [5])])
def test_small_files_stand_together(shard_files: int, expected: list[int], tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.json").write_text("{}")
    shards = cut(find_inputs([str(tmp_path)]).files, shard_files=shard_files)
    assert [len(shard.files) for shard in shards] == expected
    assert shards[0].name() == f"shard 0 (0.json to {expected[0] - 1}.json)"


def test_compressed_files_are_not_cut(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(b'{"finalAnswer": "x"}\n' * 100))
    [shard] = cut(find_inputs([str(tmp_path)]).files, shard_bytes=4)
    assert not shard.is_slice
