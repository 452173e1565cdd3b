"""Snapshots on disk: contract section 6."""

import errno
import importlib
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import ComputeError

from pipeline import evaluate, schemas
from pipeline.errors import OutputError, SnapshotError
from pipeline.report.as_json import render
from pipeline.report.model import build
from pipeline.snapshot import files as snapshot_files
from pipeline.snapshot.files import ROW_GROUP_ROWS, open_parts, read_snapshot, reading, write_snapshot
from pipeline.snapshot.info import InputFault, InputWarning, Unmatched
from pipeline.snapshot.reference import resolve
from tests.snapshot.made import Row, frame, info, judged, not_run, unreadable

ROOT = Path(__file__).parents[2]
ROWS = [judged("a", failed=["token-budget"], covered=["searchLogs"]), unreadable("b"), not_run("c"), judged("d")]


def write(path: Path, *parts: list[Row], **fields: object) -> Path:
    write_snapshot(path, [frame(rows) for rows in parts], info(**fields))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Written and read back


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    told = info(
        suite='名 "demo"',
        unmatched_traces=1,
        unmatched=(Unmatched(file="x.json", line=3, trace_id=None, case_id="?"),),
        input_errors=(InputFault(file="y.json", line=None, path="$", expected="e", found="f", message="m\n"),),
        input_warnings=(InputWarning(file="z.json", line=1, path="$.a", kind="nan", message="ü"),),
    )
    write_snapshot(tmp_path / "s.parquet", [frame(ROWS)], told)

    found = read_snapshot(tmp_path / "s.parquet")

    assert told == found.info
    assert frame(ROWS).equals(found.rows.collect())
    assert str(tmp_path / "s.parquet") == found.source
    assert names(tmp_path) == ["s.parquet"]


def test_nothing_holds_on_to_a_part_while_the_next_one_is_made(tmp_path: Path) -> None:
    held: list[list[bool]] = []
    given: list[weakref.ref[pl.DataFrame]] = []

    def make(number: int) -> pl.DataFrame:
        held.append([part() is not None for part in given])
        made = frame([judged(f"case-{number}")])
        given.append(weakref.ref(made))
        return made

    write_snapshot(tmp_path / "s.parquet", map(make, range(4)), info(), count=4)

    assert held == [[], [False], [False] * 2, [False] * 3]
    assert read_snapshot(tmp_path / "s.parquet").rows.collect().height == 4


def test_the_columns_stand_in_the_order_of_their_documentation(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"finalAnswer": "x"}', "utf-8")
    evaluate(ROOT / "cases", ROOT / "fixtures/traces", out=tmp_path / "run")

    written = pl.read_parquet(tmp_path / "run/snapshot.parquet")

    assert schemas.dtypes_of(schemas.SnapshotRows) == dict(written.schema)
    keys = written.select("case_id", pl.col("trial").fill_null(0)).rows()
    assert keys == sorted(keys)


def test_row_groups_have_a_fixed_size(tmp_path: Path) -> None:
    rows = pl.concat([frame([judged("a")])] * (2 * ROW_GROUP_ROWS + 7))
    write_snapshot(tmp_path / "s.parquet", [rows], info())

    # Polars does not tell the row groups; pyarrow does, and comes without types.
    meta = importlib.import_module("pyarrow.parquet").ParquetFile(tmp_path / "s.parquet").metadata
    sizes = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    assert sizes == [ROW_GROUP_ROWS, ROW_GROUP_ROWS, 7]


def test_the_bytes_do_not_follow_the_chunks_of_the_frame(tmp_path: Path) -> None:
    whole = pl.concat([frame([judged(f"case-{number:05}")]) for number in range(100)] * 30).rechunk()
    chunked = pl.concat([whole[start : start + 700] for start in range(0, 3_000, 700)], rechunk=False)
    for name, rows in (("whole", whole), ("chunked", chunked)):
        write_snapshot(tmp_path / name, [rows], info())

    assert chunked.n_chunks() == 5
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "chunked").read_bytes()


def test_a_folder_of_parts_reads_like_one_file(tmp_path: Path) -> None:
    one = write(tmp_path / "one.parquet", ROWS)
    several = write(tmp_path / "several.parquet", ROWS[:1], ROWS[1:3], ROWS[3:])

    assert one.is_file()
    assert names(several) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    single, parts = read_snapshot(one), read_snapshot(several)
    assert single.info == parts.info
    assert single.rows.collect().equals(parts.rows.collect())
    assert render(build(single)) == render(build(parts))


def test_the_folder_of_a_run_stands_for_the_snapshot_in_it(tmp_path: Path) -> None:
    write(tmp_path / "run/snapshot.parquet", ROWS)
    write(tmp_path / "parts/snapshot.parquet", ROWS[:2], ROWS[2:])

    assert resolve(str(tmp_path / "run")).rows.collect().equals(resolve(str(tmp_path / "parts")).rows.collect())


def test_a_snapshot_replaces_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    for parts in ([ROWS], [ROWS[:1], ROWS[1:]], [ROWS[:2], ROWS[2:3], ROWS[3:]], [ROWS]):
        write(path, *parts)
        assert frame(ROWS).equals(read_snapshot(path).rows.collect())
        assert names(tmp_path) == ["s.parquet"]


def test_columns_that_a_snapshot_does_not_have_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    wider = frame(ROWS).with_columns(extra=pl.lit(1)).select("extra", *schemas.SnapshotRows.column_names())
    write_snapshot(path, [wider], info())

    assert frame(ROWS).equals(read_snapshot(path).rows.collect())


def test_a_run_without_rows_is_a_snapshot_too(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s.parquet", [], info())

    assert schemas.empty(schemas.SnapshotRows).equals(read_snapshot(tmp_path / "s.parquet").rows.collect())


# Nothing is lost when writing fails


class UnforeseenError(Exception):
    """What stops a test's write."""


def failing_parts(error: BaseException) -> Iterator[pl.DataFrame]:
    yield frame(ROWS[:1])
    yield frame(ROWS[1:2])
    raise error


BREAKS: dict[str, tuple[BaseException, type[BaseException], str | None]] = {
    "the disk is full": (
        OSError(errno.ENOSPC, "No space left on device"),
        OutputError,
        r"cannot write the snapshot s\.parquet: No space left on device\n.*--out",
    ),
    "Polars cannot go on": (ComputeError("no memory"), OutputError, r"cannot write the snapshot s\.parquet: no memory"),
    "the user interrupts": (KeyboardInterrupt(), KeyboardInterrupt, None),
    "a defect": (UnforeseenError(), UnforeseenError, None),
}


@pytest.mark.parametrize("error, seen, words", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("before", [[ROWS], [ROWS[:2], ROWS[2:]]], ids=["a file before", "a folder before"])
def test_an_interrupted_write_leaves_what_stood_there(
    tmp_path: Path, before: list[list[Row]], error: BaseException, seen: type[BaseException], words: str | None
) -> None:
    path = write(tmp_path / "s.parquet", *before)

    with pytest.raises(seen, match=words):
        write_snapshot(path, failing_parts(error), info())

    assert frame(ROWS).equals(read_snapshot(path).rows.collect())
    assert names(tmp_path) == ["s.parquet"]


def test_an_interrupted_first_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_snapshot(tmp_path / "s.parquet", failing_parts(OSError("stop")), info())

    assert names(tmp_path) == []


@pytest.mark.parametrize("before", [[], [ROWS], [ROWS[:2], ROWS[2:]]], ids=["nothing", "a file", "a folder"])
def test_a_folder_that_cannot_take_its_place_leaves_what_stood_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[list[Row]]
) -> None:
    path = tmp_path / "s.parquet"
    if before:
        write(path, *before)
    rename = Path.rename

    def refuses(self: Path, target: Path) -> Path:
        if self.name.endswith(".writing"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuses)
    with pytest.raises(OutputError, match="Permission denied"):
        write(path, ROWS[:1], ROWS[1:])

    assert names(tmp_path) == (["s.parquet"] if before else [])
    if before:
        assert frame(ROWS).equals(read_snapshot(path).rows.collect())


def test_left_overs_of_a_killed_write_are_in_nobodys_way(tmp_path: Path) -> None:
    for name in (".s.parquet.writing", ".s.parquet.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-00000.parquet").write_bytes(b"half")

    path = write(tmp_path / "s.parquet", ROWS[:2], ROWS[2:])
    write(path, ROWS[:1], ROWS[1:])

    assert frame(ROWS).equals(read_snapshot(path).rows.collect())
    assert names(tmp_path) == ["s.parquet"]


def test_a_place_below_a_file_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(OutputError, match=r"cannot write the snapshot s\.parquet: Not a directory"):
        write(tmp_path / "file/s.parquet", ROWS)


# What is no snapshot is refused


def refused(path: Path) -> str:
    with pytest.raises(SnapshotError) as error:
        read_snapshot(path, source="base")
    assert error.value.exit_code == 2
    assert error.value.hint
    return error.value.message


def with_metadata(path: Path, change: Callable[[dict[str, str]], object]) -> Path:
    metadata = info().to_metadata()
    change(metadata)
    frame(ROWS).write_parquet(path, metadata=metadata)
    return path


def test_a_missing_snapshot(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == "there is no snapshot at base"


def test_an_empty_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == "the folder base holds no Parquet files, so it is no snapshot"


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1", b"{}", b"PAR1" + bytes(500) + b"PAR1"])
def test_what_is_no_parquet_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.parquet"
    path.write_bytes(data)

    assert refused(path).startswith("base cannot be read as Parquet: ")


def test_a_truncated_file(tmp_path: Path) -> None:
    path = write(tmp_path / "s.parquet", ROWS)
    data = path.read_bytes()

    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_bytes(data[: int(len(data) * share)])
        assert refused(path).startswith("base cannot be read as Parquet: ")


def test_a_parquet_file_of_another_program(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "s.parquet")

    assert refused(tmp_path / "s.parquet") == "base is a Parquet file, but no snapshot of diagnosis-eval"


def test_another_schema_version(tmp_path: Path) -> None:
    path = with_metadata(tmp_path / "s.parquet", lambda metadata: metadata.update(schemaVersion="2"))

    assert refused(path) == "base has snapshot schema version 2, this program reads version 1"


DAMAGES: dict[str, Callable[[dict[str, str]], object]] = {
    "a key is missing": lambda metadata: metadata.pop("suite"),
    "a value is no JSON": lambda metadata: metadata.update(suite="demo"),
    "a value is of another type": lambda metadata: metadata.update(unmatchedTraces='"3"'),
    "a list holds something else": lambda metadata: metadata.update(inputErrors="[1]"),
    "a value is nested beyond reason": lambda metadata: metadata.update(unmatched="[" * 100_000),
    "the number of the part is no number": lambda metadata: metadata.update(part="one", lastPart="true"),
    "a part does not say whether it is the last": lambda metadata: metadata.update(part="0"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_metadata(tmp_path: Path, damage: Callable[[dict[str, str]], object]) -> None:
    path = with_metadata(tmp_path / "s.parquet", damage)

    assert refused(path).startswith("the metadata of base are damaged: ")


def test_a_column_is_missing(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s.parquet", [frame(ROWS).drop("verdict")], info())

    assert refused(tmp_path / "s.parquet") == "base lacks the column verdict"


def test_a_column_is_of_another_type(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s.parquet", [frame(ROWS).with_columns(pl.col("duration_ms").cast(pl.String))], info())

    assert refused(tmp_path / "s.parquet") == "the column duration_ms of base is String, not Float64"


def test_a_schema_that_cannot_be_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "s.parquet", ROWS)

    def broken(frame: pl.LazyFrame) -> pl.Schema:
        raise ComputeError("unable to decode the schema")

    monkeypatch.setattr(pl.LazyFrame, "collect_schema", broken)

    assert refused(path) == "base cannot be read as Parquet: unable to decode the schema"


def test_parts_of_different_runs(tmp_path: Path) -> None:
    write(tmp_path / "s", ROWS[:2], ROWS[2:])
    write(tmp_path / "t", ROWS[:2], ROWS[2:], traces_digest="sha256:other")
    (tmp_path / "t/part-00001.parquet").replace(tmp_path / "s/part-00001.parquet")

    assert refused(tmp_path / "s") == "the parts in base are of different runs"


@pytest.mark.parametrize("lost", ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"])
def test_a_lost_part_is_noticed(tmp_path: Path, lost: str) -> None:
    path = write(tmp_path / "s", ROWS[:1], ROWS[1:3], ROWS[3:])
    (path / lost).unlink()

    assert refused(path) == "base lacks parts of its snapshot, or holds some twice"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_one_part_alone_is_no_snapshot(tmp_path: Path, number: int) -> None:
    path = write(tmp_path / "s", ROWS[:1], ROWS[1:3], ROWS[3:])

    assert refused(path / f"part-{number:05}.parquet") == "base lacks parts of its snapshot, or holds some twice"


def test_a_part_that_stands_there_twice_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "s", ROWS[:2], ROWS[2:])
    (path / "part-00001 (copy).parquet").write_bytes((path / "part-00001.parquet").read_bytes())

    assert refused(path) == "base lacks parts of its snapshot, or holds some twice"


def test_a_folder_of_several_snapshots_is_not_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"s/{name}.parquet", ROWS)

    assert refused(tmp_path / "s") == "base holds several snapshots, not the parts of one"


def test_hidden_files_beside_the_parts_are_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "s", ROWS[:2], ROWS[2:])
    (path / "._part-00000.parquet").write_bytes(b"what a desktop leaves behind")

    assert frame(ROWS).equals(read_snapshot(path).rows.collect())


def test_a_name_cannot_write_to_the_terminal() -> None:
    with pytest.raises(SnapshotError) as error:
        open_parts([b"x"], "\x1b[31m" + "n" * 500)

    assert "\x1b" not in str(error.value)
    assert len(error.value.message) < 500


# What was opened stays what it was


@pytest.mark.parametrize("later", [[ROWS[3:]], [ROWS[3:], []], None], ids=["a file", "a folder", "nothing"])
def test_what_was_opened_does_not_change_with_its_files(tmp_path: Path, later: list[list[Row]] | None) -> None:
    path = write(tmp_path / "s.parquet", ROWS)
    opened = read_snapshot(path)

    if later is None:
        path.unlink()
    else:
        write(path, *later)

    with reading(opened):
        assert frame(ROWS).equals(opened.rows.collect())


def test_a_large_snapshot_is_read_from_its_files_and_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_files, "HELD_BYTES", 100)
    path = write(tmp_path / "s.parquet", ROWS)
    opened = read_snapshot(path, source="base")
    with reading(opened):
        assert frame(ROWS).equals(opened.rows.collect())

    for replace in (lambda: write(path, ROWS[3:]), path.unlink):
        replace()
        with pytest.raises(SnapshotError) as error, reading(opened):
            opened.rows.collect()
        assert error.value.message == "base was replaced after it was opened, so it cannot be read to its end"
        assert "--out" in error.value.hint


def test_reading_what_was_replaced_is_refused_even_where_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_files, "HELD_BYTES", 100)
    path = write(tmp_path / "s.parquet", ROWS)
    opened = read_snapshot(path)

    with pytest.raises(SnapshotError, match="was replaced after it was opened"), reading(opened):
        write(path, ROWS)


def test_a_part_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "part-00000.parquet").mkdir()

    assert refused(tmp_path) == "base cannot be read: Is a directory"


# The same bytes everywhere

TRACES = [
    {
        "traceId": f"t-{number}",
        "caseId": f"case-{number % 7}",
        "finalAnswer": f"the pool 连接池 {number}" * 20,
        "durationMs": number,
    }
    for number in range(60)
]
SUITE = {
    "schemaVersion": 1,
    "suite": "demo",
    "defaults": {
        "question": "Why?",
        "rootCauseKeywords": ["pool", "7"],
        "requiredEvidenceTools": [],
        "requireVerdict": False,
    },
    "cases": [{"id": f"case-{number}"} for number in range(8)],
}
EVALUATE = """
import sys
from pipeline import run as running
from pipeline.flatten import batches
from pipeline.sources.read import read_batches
from pipeline.snapshot import store

cases, traces, out, batch_bytes = sys.argv[1:]
batches.read_batches = lambda inputs, form, seen: read_batches(inputs, form, int(batch_bytes), seen=seen)
running.evaluate(cases, traces, out=out)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "cases.json").write_text(json.dumps(SUITE), "utf-8")
    for number in range(4):
        path = tmp_path / f"traces/{'xabc'[number]}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(trace) + "\n" for trace in TRACES[number::4]), "utf-8")
    return tmp_path


MACHINES = {
    "another hash seed, time zone and locale": {"PYTHONHASHSEED": "4711", "TZ": "Asia/Shanghai", "LC_ALL": "C"},
    "one thread": {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "1"},
    "eight threads": {"POLARS_MAX_THREADS": "8", "LC_ALL": "C.UTF-8", "TZ": "America/St_Johns"},
}


def evaluated(project: Path, name: str, batch_bytes: int, environment: dict[str, str]) -> dict[str, bytes]:
    out = project / name
    subprocess.run(
        [sys.executable, "-c", EVALUATE, "cases.json", "traces", str(out), str(batch_bytes)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=True,
    )
    return {name: (out / name).read_bytes() for name in ("report.json", "report.md", "snapshot.parquet")}


def test_the_same_input_gives_the_same_bytes_on_any_machine(project: Path) -> None:
    runs = [
        evaluated(project, f"run-{number}", batch_bytes, environment)
        for number, (batch_bytes, environment) in enumerate(zip((1 << 20, 1, 5_000), MACHINES.values(), strict=True))
    ]

    assert runs[0] == runs[1]
    assert runs[0] == runs[2]


def test_the_same_input_gives_the_same_bytes_whatever_the_order_of_its_files(project: Path) -> None:
    traces = project / "traces"
    evaluate(project / "cases.json", sorted(traces.iterdir()), out=project / "one")
    evaluate(project / "cases.json", sorted(traces.iterdir(), reverse=True), out=project / "other")
    evaluate(project / "cases.json", traces, out=project / "folder")

    assert (project / "one/snapshot.parquet").read_bytes() == (project / "other/snapshot.parquet").read_bytes()
    assert (project / "one/snapshot.parquet").read_bytes() == (project / "folder/snapshot.parquet").read_bytes()


def test_a_report_is_rendered_from_the_snapshot_alone(project: Path) -> None:
    from pipeline.report.as_markdown import render as render_markdown

    evaluate(project / "cases.json", project / "traces", out=project / "run")
    for place in ("traces", "cases.json"):
        (project / place).rename(project / f"gone-{place}")

    view = build(resolve(str(project / "run")))

    assert (project / "run/report.json").read_bytes() == render(view)
    assert (project / "run/report.md").read_bytes() == render_markdown(view)


def test_a_snapshot_without_text_says_so_and_holds_none(tmp_path: Path) -> None:
    secret = "s3cr3t"
    trace = (
        '{"finalAnswer": "s3cr3t pool", "toolInvocations": [{"toolName": "t", "arguments": {"a": "s3cr3t"},'
        ' "resultSummary": "s3cr3t", "error": "s3cr3t"}], "executorOutput": {"answer": "s3cr3t", "claims":'
        ' [{"claim_id": "c1", "text": "s3cr3t"}]}, "selfEvaluation": {"verifier_evaluation": {"claim_checks":'
        ' [{"claim_id": "c1", "verification": "supported", "detail": "s3cr3t"}],'
        ' "gatekeeper_result": {"status": "fail", "violations": ["s3cr3t"]}}}}'
    )
    cases = (
        '{"schemaVersion": 1, "suite": "demo", "cases": [{"id": "t", "question": "Why?", "rootCauseKeywords": ["pool"],'
        ' "requiredEvidenceTools": ["t"], "requireVerdict": false}]}'
    )
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/t.json").write_text(trace, "utf-8")
    (tmp_path / "cases.json").write_text(cases, "utf-8")
    with_text = evaluate(tmp_path / "cases.json", tmp_path / "traces", out=tmp_path / "text")
    without = evaluate(tmp_path / "cases.json", tmp_path / "traces", out=tmp_path / "none", with_text=False)

    assert (with_text.view.text, without.view.text) == (True, False)
    assert secret in str(with_text.snapshot.rows.collect().to_dicts())
    assert secret not in str(without.snapshot.rows.collect().to_dicts())
    assert not any(secret.encode() in path.read_bytes() for path in (tmp_path / "none").iterdir())
    assert with_text.report.cases[0] == without.report.cases[0]


def test_nothing_but_the_parts_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write(tmp_path / "s", ROWS[:2], ROWS[2:])
    (path / "README.md").write_text("parts", "utf-8")

    assert [one.name for one in snapshot_files.snapshot_files(path)] == ["part-00000.parquet", "part-00001.parquet"]
