"""Rows of batches, in memory or in files: however they were put in, they come out as one run."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import schemas
from pipeline.errors import OutputError
from pipeline.snapshot.files import read_snapshot, write_snapshot
from pipeline.snapshot.merge import merge
from pipeline.snapshot.store import RowStore, write_rows
from tests.snapshot.made import Row, frame, info, judged, not_run, unreadable

ROWS: list[Row] = [
    *(judged(case, trial=trial, covered=["searchLogs"]) for case in "ab" for trial in (1, 2, 3)),
    unreadable("c"),
    not_run("d"),
    *(judged("e", trial=trial, failed=["token-budget"], message="long " * trial) for trial in range(1, 12)),
]
RUN = frame(ROWS)


def own(rows: list[Row]) -> pl.DataFrame:
    """Rows as a batch gives them: with the trial that the trace says, and none given yet."""
    made = frame(rows)
    return made.with_columns(own_trial=pl.col("trial").cast(pl.Int64), trial=pl.lit(None, dtype=pl.UInt32))


def taken_out(store: RowStore, part_rows: int) -> list[pl.DataFrame]:
    return list(store.in_order(merge(store.keys()).rows, part_rows=part_rows))


@given(st.data(), st.integers(1, 25), st.sampled_from([0, 600, 5_000, 1 << 30]), st.integers(1, 8))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_come_out_in_order_whatever_the_batches_the_memory_and_the_parts(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, part_rows: int, memory_limit: int, batches: int
) -> None:
    folder = tmp_path_factory.mktemp("scratch")
    shuffled = data.draw(st.permutations(ROWS))
    store = RowStore(folder, memory_limit=memory_limit, many_files=data.draw(st.integers(0, 8)))
    for shard in data.draw(st.permutations(range(batches))):
        store.add(own(shuffled[shard::batches]), shard)

    parts = taken_out(store, part_rows)

    assert [part.height for part in parts[:-1]] == [part_rows] * (len(parts) - 1)
    expected = RUN.with_columns(own_trial=pl.col("trial").cast(pl.Int64))
    assert expected.equals(pl.concat(parts))
    assert expected.columns == parts[0].columns


def test_a_folder_of_many_parts_holds_what_one_file_holds(tmp_path: Path) -> None:
    for name, memory_limit, part_rows in (("one", 1 << 30, 1_000), ("many", 0, 3)):
        scratch = tmp_path / f"scratch-{name}"
        scratch.mkdir()
        store = RowStore(scratch, memory_limit=memory_limit)
        for number in range(4):
            store.add(own(ROWS[number::4]))
        order = merge(store.keys()).rows
        parts = store.in_order(order, part_rows=part_rows)
        write_snapshot(tmp_path / name, parts, info(), count=store.parts_of(order, part_rows=part_rows))

    assert (tmp_path / "one").is_file()
    assert len(list((tmp_path / "many").iterdir())) == 7
    one, many = (read_snapshot(tmp_path / name) for name in ("one", "many"))
    assert one.info == many.info
    assert one.rows.collect().equals(many.rows.collect())


@pytest.mark.parametrize("memory_limit", [0, 1 << 30])
def test_repeated_traces_are_left_out(tmp_path: Path, memory_limit: int) -> None:
    store = RowStore(tmp_path, memory_limit=memory_limit)
    store.add(own(ROWS[:2]))
    # The second of these three was seen before, so what is left has a gap.
    store.add(own([ROWS[1], ROWS[2], ROWS[0]]))
    store.add(own([ROWS[3], ROWS[2], ROWS[5], ROWS[4]]))
    # All rows of this batch were seen before.
    store.add(own(ROWS[2:3]))

    (part,) = taken_out(store, 100)

    assert part["trace_id"].to_list() == ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"]


def test_many_rows_in_files_come_out_in_order(tmp_path: Path) -> None:
    """More rows than a block and than a part has, so that slices begin and end within blocks."""
    cases = [judged(f"case-{number % 7}", trial=number // 7 + 1) for number in range(1_500)]
    store = RowStore(tmp_path, memory_limit=0)
    for shard in range(3):
        store.add(own(cases[shard::3]), shard)

    parts = taken_out(store, 400)

    found = pl.concat(parts).select("case_id", "trial", "trace_id").rows()
    assert [part.height for part in parts] == [400, 400, 400, 300]
    assert found == sorted(
        (f"case-{case}", trial, f"case-{case}-{trial}")
        for case in range(7)
        for trial in range(1, 216)
        if (trial - 1) * 7 + case < 1_500
    )


def test_lines_stay_those_of_the_whole_file_where_files_are_joined(tmp_path: Path) -> None:
    store = RowStore(tmp_path, memory_limit=0, many_files=0)
    for shard, rows in enumerate((ROWS[:2], ROWS[2:4])):
        store.add(own(rows).with_columns(line=pl.int_range(1, 3, dtype=pl.UInt32)), shard)

    merged = merge(store.keys({1: 10}))
    (part,) = store.in_order(merged.rows, part_rows=100)

    assert part["line"].to_list() == [1, 2, 11, 12]


def test_the_rows_of_a_shard_may_stand_in_a_file_which_stays(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    write_rows(tmp_path / "shard.arrow", own(ROWS[:3]))
    store = RowStore(scratch)
    store.add(own(ROWS[3:6]), 1)
    store.add_file(tmp_path / "shard.arrow", 0)

    parts = taken_out(store, 2)

    assert pl.concat(parts)["trace_id"].to_list() == ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"]
    assert (tmp_path / "shard.arrow").exists()


def test_a_shard_that_is_read_again_is_forgotten_first(tmp_path: Path) -> None:
    store = RowStore(tmp_path, memory_limit=0)
    store.add(own(ROWS[:1]), 0)
    store.add(own(ROWS[1:3]), 1)
    store.drop(1)
    store.add(own(ROWS[1:2]), 1)

    assert taken_out(store, 100)[0]["trace_id"].to_list() == ["a-1", "a-2"]


def test_lines_of_a_slice_are_counted_in_the_whole_file(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    for shard, rows in enumerate((ROWS[:2], ROWS[2:4])):
        store.add(own(rows).with_columns(line=pl.int_range(1, 3, dtype=pl.UInt32)), shard)

    merged = merge(store.keys({1: 10}))
    (part,) = store.in_order(merged.rows, part_rows=100)

    assert part["line"].to_list() == [1, 2, 11, 12]


def test_an_empty_batch_is_no_batch(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.add(schemas.empty(schemas.SnapshotRows))
    store.add(own(ROWS[:1]))

    assert store.keys()["part"].to_list() == [0]


def test_a_run_without_rows_is_one_empty_part(tmp_path: Path) -> None:
    store = RowStore(tmp_path)

    (part,) = taken_out(store, 100)

    assert schemas.empty(schemas.SnapshotRows).equals(part)
    assert part.schema == schemas.empty(schemas.SnapshotRows).schema


def test_rows_that_cannot_be_kept_are_no_reason_for_a_traceback(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "absent", memory_limit=0)

    with pytest.raises(OutputError, match=r"cannot keep rows in .*absent: ") as refused:
        store.add(own(ROWS[:2]))
    assert "TMPDIR" in refused.value.hint
