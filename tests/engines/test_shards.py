"""Shards: however the input is cut, the result is the same."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.cases.model import Case, Suite
from pipeline.engines.base import Engine
from pipeline.engines.local import LocalEngine
from pipeline.judging import Job, Judging
from pipeline.sources.files import find_inputs
from pipeline.sources.shards import cut
from tests.engines.collected import results
from tests.sources.packed import PACKED, bgzf_member, zstd_frame

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


def judged(path: Path, folder: Path, shard_bytes: int, engine: Engine | None = None) -> tuple[pl.DataFrame, bytes]:
    return results(JUDGING, cut(find_inputs([str(path)]).files, shard_bytes=shard_bytes), engine, folder)


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


def test_a_compressed_file_is_cut_between_its_members_where_they_can_be_told(tmp_path: Path) -> None:
    lines = [b'{"finalAnswer": "x"}\n' * 100] * 3
    for name, data, count in (
        ("t.jsonl.gz", gzip.compress(b"".join(lines)), 1),
        ("t.jsonl.gz", b"".join(map(gzip.compress, lines)), 1),
        ("t.jsonl.zst", zstd_frame(b"".join(lines)), 1),
        ("t.jsonl.zst", b"".join(map(zstd_frame, lines)), 3),
        ("t.jsonl.gz", b"".join(map(bgzf_member, lines)), 3),
    ):
        (tmp_path / name).write_bytes(data)
        shards = cut(find_inputs([str(tmp_path / name)]).files, shard_bytes=4)
        assert len(shards) == count
        assert {shard.is_slice for shard in shards} == {count > 1}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(PACKED)),
    pieces=st.lists(PIECES, min_size=1, max_size=8),
    places=st.lists(st.integers(0, 3000), min_size=1, max_size=6),
    shard_bytes=st.integers(1, 400),
    damage=st.none() | st.tuples(st.integers(0, 5000), st.integers(1, 255)),
    tail=st.sampled_from([b"", b"this is no frame"]),
)
def test_the_cut_of_a_compressed_file_changes_nothing_be_it_sound_or_not(
    *,
    kind: str,
    pieces: list[str],
    places: list[int],
    shard_bytes: int,
    damage: tuple[int, int] | None,
    tail: bytes,
    tmp_path: Path,
) -> None:
    content = "\n".join(['{"finalAnswer": "first", "caseId": "a"}', *pieces]).encode()
    ends = sorted({0, len(content), *(place % len(content) for place in places)})
    data = bytearray(PACKED[kind](content[start:end] for start, end in pairwise(ends)) + tail)
    if damage:
        data[damage[0] % len(data)] ^= damage[1]
    path = tmp_path / f"t.jsonl.{kind}"
    path.write_bytes(data)
    rows, noted = judged(path, tmp_path, 1 << 30)
    their_rows, their_noted = judged(path, tmp_path, shard_bytes)
    assert their_noted == noted
    assert their_rows.equals(rows)


# A member that is wrong in its content only: its checksum, so that its structure shows nothing.
def wrong(kind: str, text: bytes) -> bytes:
    data = zstd_frame(text, checksum=True) if kind == "zst" else bgzf_member(text)
    place = -4 if kind == "zst" else -8
    return data[:place] + bytes([data[place] ^ 1]) + data[place:][1:]


def right(kind: str, text: bytes) -> bytes:
    return zstd_frame(text) if kind == "zst" else bgzf_member(text)


LINES = [b'{"caseId": "%s", "finalAnswer": "%d"}\n' % (b"abc"[n % 3 : n % 3 + 1], n) for n in range(12)]
LONG = b'{"caseId": "a", "finalAnswer": "%s"}\n' % (b"x" * 600)


@pytest.mark.parametrize("kind", sorted(PACKED))
@pytest.mark.parametrize(
    "texts, broken",
    [
        pytest.param([*LINES[:3], *LINES[3:6]], 4, id="between whole lines"),
        pytest.param([LINES[0] + LINES[1][:9], LINES[1][9:] + LINES[2], LINES[3]], 1, id="within a line read on for"),
        pytest.param(
            [LINES[0], LONG[:200], LONG[200:400], LONG[400:], LINES[1]], 2, id="in a slice without a line end"
        ),
        pytest.param([LINES[0], LONG[:200], LONG[200:400], LONG[400:], LINES[1]], 3, id="at the end of a long line"),
        pytest.param([LINES[0], b'{"caseId": "b",\n', b'"finalAnswer": ', b'"x"}\n', LINES[1]], 2, id="in a document"),
        pytest.param([LINES[0], b'{"caseId": "b",\n', b'"finalAnswer":\n', b'"x"}\n', LINES[1]], 3, id="at its end"),
        pytest.param(LINES, 0, id="at the beginning"),
        pytest.param(LINES, 11, id="at the end"),
    ],
)
def test_a_broken_member_ends_its_file_whatever_the_cut(
    kind: str, texts: list[bytes], broken: int, tmp_path: Path
) -> None:
    path = tmp_path / f"t.jsonl.{kind}"
    path.write_bytes(b"".join((wrong if n == broken else right)(kind, text) for n, text in enumerate(texts)))
    rows, noted = judged(path, tmp_path, 1 << 30)
    for shard_bytes in (1, 60):
        assert len(cut(find_inputs([str(path)]).files, "native", shard_bytes=shard_bytes)) > 1
        their_rows, their_noted = judged(path, tmp_path, shard_bytes)
        assert their_noted == noted
        assert their_rows.equals(rows)
    assert noted.count(b"stream is corrupt") == 1


def test_a_broken_member_ends_its_file_where_processes_share_the_work(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(b"".join((wrong if n == 5 else right)("gz", line) for n, line in enumerate(LINES)))
    rows, noted = judged(path, tmp_path, 1 << 30)
    their_rows, their_noted = judged(path, tmp_path, 60, LocalEngine(2))
    assert their_noted == noted
    assert their_rows.equals(rows)
    assert rows.height == 5


def test_members_within_a_member_are_never_read_as_such(tmp_path: Path) -> None:
    # The first says that it is short, and holds what looks like members where they would then stand.
    hidden = bgzf_member(LINES[1]) * 3
    outer = bytearray(bgzf_member(LINES[0] + hidden, level=0))
    begin = outer.index(hidden)
    outer[16:18] = (begin - 1).to_bytes(2, "little")
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(outer[: begin + len(hidden)])
    assert len(cut(find_inputs([str(path)]).files, "native", shard_bytes=1)) == 4
    rows, noted = judged(path, tmp_path, 1 << 30)
    their_rows, their_noted = judged(path, tmp_path, 1)
    assert their_noted == noted
    assert their_rows.equals(rows)
    assert b"a member is not as long as it says" in noted


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_only_the_beginning_of_a_file_tells_its_encoding(ending: str, tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    texts = [mark + LINES[0], mark + LINES[1], mark + LINES[2], b" \0 \0\n", LINES[3]]
    wide = [b"\xff\xfe", *("".join(line.decode() for line in LINES).encode("utf-16-le") for _ in range(3))]
    path = tmp_path / f"t{ending}"
    for parts in (texts, wide):
        packed = parts if ending == ".jsonl" else [right(ending[7:], text) for text in parts]
        path.write_bytes(b"".join(packed))
        rows, noted = judged(path, tmp_path, 1 << 30)
        assert len(cut(find_inputs([str(path)]).files, "native", shard_bytes=20)) > 2
        their_rows, their_noted = judged(path, tmp_path, 20)
        assert their_noted == noted
        assert their_rows.equals(rows)
