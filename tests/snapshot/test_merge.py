"""The rows of all batches as one run: contract section 2, "Trials"."""

from typing import Any, NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import schemas
from pipeline.snapshot.merge import KEY_COLUMNS, merge

TYPES = schemas.dtypes_of(schemas.SnapshotRows)


class Key(NamedTuple):
    """The keys of one row; by default a readable trace without an id."""

    case_id: str = "a"
    own_trial: int | None = None
    trace_id: str | None = None
    file: str | None = "f.json"
    line: int | None = None
    content_digest: str | None = "d"
    status: str = "passed"


def keys(rows: list[Key], parts: list[int] | None = None) -> pl.DataFrame:
    """The frame that `merge` takes; all rows in one part, or each in the part given."""
    parts = parts or [0] * len(rows)
    index: dict[int, int] = {}
    records: list[dict[str, Any]] = []
    for row, part in zip(rows, parts, strict=True):
        records.append({"part": part, "index": index.setdefault(part, 0), **row._asdict()})
        index[part] += 1
    schema = {"part": pl.UInt32, "index": pl.UInt32, **{name: TYPES[name] for name in KEY_COLUMNS}}
    return pl.DataFrame(records, schema=schema)


def ordered(rows: list[Key]) -> list[tuple[Key, int | None]]:
    """What is kept, in the final order, with the number of the trial."""
    merged = merge(keys(rows)).rows.sort("position")
    assert merged["position"].to_list() == list(range(merged.height))
    return [(rows[index], trial) for index, trial in merged.select("index", "trial").rows()]


ORDER = {
    "by their own trial": [
        Key(own_trial=1, trace_id="z"),
        Key(own_trial=2, trace_id="b"),
        Key(own_trial=10, trace_id="a"),
    ],
    "without a trial last": [Key(own_trial=7, trace_id="z"), Key(trace_id="a")],
    "then by id": [Key(own_trial=1, trace_id="a", file="z"), Key(own_trial=1, trace_id="b", file="y")],
    "without an id last": [Key(own_trial=1, trace_id="z"), Key(own_trial=1)],
    "then by file": [Key(file="a.json", line=9), Key(file="b.json", line=1)],
    "then by line": [Key(line=2), Key(line=10), Key(line=11)],
    "then by content": [Key(content_digest="a"), Key(content_digest="b"), Key(content_digest=None, status="error")],
    "negative trials first": [Key(own_trial=-1), Key(own_trial=0)],
}


@pytest.mark.parametrize("rows", ORDER.values(), ids=ORDER)
def test_trials_are_ordered_and_numbered_from_1(rows: list[Key]) -> None:
    expected = [(row, number) for number, row in enumerate(rows, 1)]

    assert expected == ordered(rows)
    assert expected == ordered(rows[::-1])


def test_each_case_is_numbered_for_itself() -> None:
    rows = [Key("b", trace_id="x"), Key("a", trace_id="y"), Key("b", trace_id="w"), Key("a", status="error")]

    assert [(rows[1], 1), (rows[3], 2), (rows[2], 1), (rows[0], 2)] == ordered(rows)


def test_a_case_that_was_not_run_has_no_trial() -> None:
    rows = [Key("b", status="not_run", file=None, content_digest=None), Key("a")]

    assert [(rows[1], 1), (rows[0], None)] == ordered(rows)


def warnings(rows: list[Key]) -> list[tuple[str, str, int | None]]:
    found = merge(keys(rows)).warnings
    return found.select("kind", "file", "line").rows()


def test_a_trace_exported_twice_counts_once_with_a_warning() -> None:
    rows = [Key(trace_id="t", line=1), Key(trace_id="t", line=2), Key(trace_id="t", file="g.json")]

    assert [(rows[0], 1)] == ordered(rows)
    assert warnings(rows) == [("repeated-trace", "f.json", 2), ("repeated-trace", "g.json", None)]


def test_an_id_with_other_content_is_another_trial_with_a_warning() -> None:
    rows = [Key(trace_id="t", line=1, content_digest="x"), Key(trace_id="t", line=2, content_digest="y")]

    assert [(rows[0], 1), (rows[1], 2)] == ordered(rows)
    assert warnings(rows) == [("trace-id-reused", "f.json", 2)]


def test_repeats_of_both_contents_are_told_apart_from_the_second_content() -> None:
    rows = [Key(trace_id="t", line=number, content_digest=digest) for number, digest in enumerate("xyxy", 1)]

    assert [(rows[0], 1), (rows[1], 2)] == ordered(rows)
    assert warnings(rows) == [
        ("trace-id-reused", "f.json", 2),
        ("repeated-trace", "f.json", 3),
        ("repeated-trace", "f.json", 4),
    ]


def test_the_words_of_a_warning_name_trace_and_case() -> None:
    rows = [Key(trace_id="t", content_digest=digest) for digest in "xxy"]

    assert merge(keys(rows)).warnings["message"].to_list() == [
        "the trace t of case a was exported before with the same content; it counts once",
        "the trace id t of case a was seen before with other content; both count, as two trials",
    ]


NEVER_MERGED = {
    "traces without an id": [Key(line=1), Key(line=2)],
    "one trace of two cases": [Key("a", trace_id="t"), Key("b", trace_id="t")],
    "unreadable records": [
        Key(line=1, content_digest=None, status="error"),
        Key(line=2, content_digest=None, status="error"),
    ],
}


@pytest.mark.parametrize("rows", NEVER_MERGED.values(), ids=NEVER_MERGED)
def test_what_is_never_merged(rows: list[Key]) -> None:
    assert rows == [row for row, _ in ordered(rows)]
    assert warnings(rows) == []


def test_no_row_at_all() -> None:
    merged = merge(keys([]))

    assert (merged.rows.height, merged.warnings.height) == (0, 0)


some_keys = st.builds(
    Key,
    case_id=st.sampled_from("abc"),
    own_trial=st.none() | st.integers(1, 2),
    trace_id=st.none() | st.sampled_from("tu"),
    file=st.sampled_from(["f.json", "g.json"]),
    line=st.none() | st.integers(1, 3),
    content_digest=st.sampled_from("xy"),
    status=st.just("passed"),
)


@given(st.data(), st.lists(some_keys, max_size=12, unique=True), st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_neither_the_order_nor_the_batches_of_the_rows_matter(
    data: st.DataObject, rows: list[Key], rows_at_once: int
) -> None:
    shuffled = data.draw(st.permutations(rows))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    frame = keys(shuffled, parts)

    merged = merge(frame, rows_at_once=rows_at_once)

    assert merged.rows.schema == merge(frame).rows.schema
    assert merged.rows["position"].to_list() == list(range(merged.rows.height))
    names = list(KEY_COLUMNS)
    placed = frame.join(merged.rows, on=["part", "index"]).sort("position").select(*names, "trial").rows()
    assert [(*row, trial) for row, trial in ordered(rows)] == placed
    assert merge(keys(rows)).warnings.rows() == merged.warnings.rows()
