"""`import`: traces of any format to native lines, or to rows that judge like the files they are from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from benchmarks.generate import write
from pipeline import schemas
from pipeline.engines.choose import Execution
from pipeline.errors import InputError, OutputError, UsageError
from pipeline.flatten.batches import frame_batches
from pipeline.flatten.parquet import TraceWriter, frames_of, trace_rows
from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.import_traces import Imported, import_traces
from pipeline.run import Options, run
from pipeline.sources.base import ReadTrace, Trace
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches
from pipeline.sources.shards import cut

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
FRAMES = ("traces", "audit", "tool_invocations", "claim_checks", "executor_claims", "errors", "warnings")

CASES: dict[str, Any] = {
    "schemaVersion": 1,
    "suite": "own",
    "defaults": {
        "question": "Why?",
        "rootCauseKeywords": ["pool"],
        "requiredEvidenceTools": [],
        "requireVerdict": False,
    },
    "cases": [
        {"id": "stem"},
        {"id": "lines", "traceFixture": "sub/lines.jsonl"},
        {"id": "broken"},
        {
            "id": "arguments",
            "toolArguments": [{"tool": "search", "arguments": {"q": {"n": 2}}}],
            "maxDurationMs": 10,
        },
        {"id": "missing"},
    ],
}
FILES = {
    "stem.json": '{"finalAnswer": "the pool", "durationMs": -1, "selfEvaluation": {"verifier_evaluation":'
    ' {"verdict": "PASS", "trace_summary": ["a", {"name": "b"}], "claim_checks": [{"claim_id": "c"}]}}}',
    "sub/lines.jsonl": '{"traceId": "1", "finalAnswer": "pool", "toolInvocations": [null, {"error": "x"}]}\n'
    '{"traceId": 2}\n{"traceId": "3", "finalAnswer": "连接", "usage": {"inputTokens": 9223372036854775807}}\n',
    "broken.json": '{"finalAnswer": ',
    "chat.json": '[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a pool"}]',
    "arguments.json": '{"caseId": "arguments", "finalAnswer": "Pool!", "durationMs": 3, "executorOutput":'
    ' {"claims": [{"text": "t", "evidence_bindings": ["search", null]}]}, "toolInvocations":'
    ' [{"toolName": "search", "arguments": {"q": {"n": 2.0, "big": 1e22}}}, {"toolName": "search", "arguments": "raw"}'
    ', {"toolName": "other", "arguments": {"q": 1}}]}',
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Cases and traces of all sorts."""
    (tmp_path / "cases.json").write_text(json.dumps(CASES))
    for name, text in FILES.items():
        path = tmp_path / "traces" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def judged(project: Path, traces: str, out: str, jobs: int = 1, **options: Any) -> dict[str, bytes]:
    wanted = Options(cases=(str(project / "cases.json"),), traces=(str(project / traces),), **options)
    run(wanted, out=project / out, execution=Execution(jobs=jobs), writers=())
    folder = project / out
    return {"snapshot.parquet": (folder / "snapshot.parquet").read_bytes()}


def frames(path: Path) -> TraceFrames:
    found = [batch.frames for batch in frame_batches(find_inputs([str(path)]))]
    return TraceFrames(**{name: pl.concat([getattr(one, name) for one in found]) for name in FRAMES})


def test_rows_judge_like_the_files_they_are_from(project: Path) -> None:
    imported = import_traces([str(project / "traces")], project / "t.parquet")
    assert (imported.traces, imported.unreadable) == (5, 2)
    assert judged(project, "t.parquet", "rows") == judged(project, "traces", "files")


@pytest.mark.parametrize("with_text", [True, False])
def test_so_do_the_shipped_fixtures(with_text: bool, tmp_path: Path) -> None:
    import_traces([str(FIXTURES / "traces")], tmp_path / "t.parquet")
    snapshots = []
    for name, traces in (("files", FIXTURES / "traces"), ("rows", tmp_path / "t.parquet")):
        options = Options(cases=(str(ROOT / "cases"),), traces=(str(traces),), with_text=with_text)
        finished = run(options, out=tmp_path / name, writers=())
        snapshots.append((finished.report, (tmp_path / name / "snapshot.parquet").read_bytes()))
    assert snapshots[0] == snapshots[1]


def test_so_does_any_format(tmp_path: Path) -> None:
    samples = [str(path) for path in sorted((FIXTURES / "formats").iterdir())]
    import_traces(samples[:1], tmp_path / "t.parquet")
    for sample in samples:
        import_traces([sample], tmp_path / "t.parquet")
        direct, imported = frames(Path(sample)), frames(tmp_path / "t.parquet")
        for name in FRAMES:
            order = "trace" not in getattr(direct, name).columns
            assert_frame_equal(getattr(imported, name), getattr(direct, name), check_row_order=not order)


def test_rows_are_cut_into_shards_and_judged_by_several_processes(tmp_path: Path) -> None:
    write(tmp_path, 200, cases=7, calls=4)
    lines = tmp_path / "traces.jsonl"
    out = tmp_path / "t.parquet"
    with TraceWriter(out) as writer:
        for batch in read_batches(find_inputs([str(lines)]), batch_bytes=lines.stat().st_size // 8):
            writer.add(flatten_traces(batch.traces, batch.unreadable))
    shards = cut(find_inputs([str(out)]).files, shard_bytes=out.stat().st_size // 3)
    assert len(shards) > 3
    assert [(shard.files[0].start, shard.is_slice) for shard in shards[:2]] == [
        (0, True),
        (shards[0].files[0].end, True),
    ]
    assert "row groups 0 to" in shards[0].name()
    whole = frames(out)
    pieces = [
        batch.frames.traces
        for shard in shards
        for batch in frame_batches(msgspec.structs.replace(find_inputs([]), files=shard.files))
    ]
    assert pl.concat(pieces)["content_digest"].to_list() == whole.traces["content_digest"].to_list()
    snapshots = []
    for name, traces, jobs in (("files", lines, 1), ("rows", out, 1), ("processes", out, 2)):
        options = Options(cases=(str(tmp_path / "cases.json"),), traces=(str(traces),))
        run(options, out=tmp_path / name, execution=Execution(jobs=jobs), writers=())
        snapshots.append((tmp_path / name / "snapshot.parquet").read_bytes())
    assert snapshots[1:] == [snapshots[0]] * 2


def test_rows_keep_their_schema_and_the_file_says_which(project: Path) -> None:
    import_traces([str(project / "traces")], project / "t.parquet")
    rows = pl.read_parquet(project / "t.parquet")
    assert dict(rows.schema) == schemas.dtypes_of(schemas.TraceRows)
    assert pl.read_parquet_metadata(project / "t.parquet")["diagnosisEvalTraces"] == "1"


def test_the_same_input_gives_the_same_bytes(project: Path) -> None:
    for name in ("one.parquet", "two.parquet", "one.jsonl", "two.jsonl"):
        import_traces([str(project / "traces")], project / name)
    assert (project / "one.parquet").read_bytes() == (project / "two.parquet").read_bytes()
    assert (project / "one.jsonl").read_bytes() == (project / "two.jsonl").read_bytes()


def test_native_lines(project: Path) -> None:
    imported = import_traces([str(project / "traces")], project / "t.jsonl")
    lines = [json.loads(line) for line in (project / "t.jsonl").read_text("utf-8").splitlines()]
    assert [(line.get("caseId"), line.get("finalAnswer")) for line in lines] == [
        ("arguments", "Pool!"),
        # A file's name is the case where the trace does not say one.
        ("chat", "a pool"),
        ("stem", "the pool"),
        # A line file's name is none.
        (None, "pool"),
        (None, "连接"),
    ]
    assert list(lines[0]) == ["caseId", "finalAnswer", "durationMs", "executorOutput", "toolInvocations"]
    assert [(fault.file, fault.line) for fault in imported.faults] == [("broken.json", None), ("sub/lines.jsonl", 2)]


def test_native_lines_hold_the_same_traces(tmp_path: Path) -> None:
    import_traces([str(FIXTURES / "traces")], tmp_path / "t.jsonl")
    direct = [read.trace for batch in read_batches(find_inputs([str(FIXTURES / "traces")])) for read in batch.traces]
    again = [read.trace for batch in read_batches(find_inputs([str(tmp_path / "t.jsonl")])) for read in batch.traces]
    without = [msgspec.structs.replace(trace, caseId=None) for trace in again]
    assert without == [msgspec.structs.replace(trace, caseId=None) for trace in direct]
    assert all(trace.caseId for trace in again)


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_nothing_read_is_nothing_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{")
    (tmp_path / name).write_text("what stood there")
    imported = import_traces([str(tmp_path / "t.json")], tmp_path / name)
    assert (imported.traces, imported.unreadable) == (0, 1)
    assert (tmp_path / name).read_text() == "what stood there"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["t.json", name])


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_place_that_cannot_be_written_to(name: str, project: Path) -> None:
    (project / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*: Not a directory|cannot write .*: File exists"):
        import_traces([str(project / "traces")], project / "file" / name)
    (project / name).mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        import_traces([str(project / "traces")], project / name)
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


def test_an_ending_that_says_nothing(project: Path) -> None:
    with pytest.raises(UsageError, match=r"--out t\.csv does not say what to write"):
        import_traces([str(project / "traces")], Path("t.csv"))


def test_two_files_of_one_name_would_be_one(project: Path) -> None:
    (project / "more").mkdir()
    (project / "more/stem.json").write_text(FILES["stem.json"])
    both = [str(project / "traces"), str(project / "more")]
    with pytest.raises(InputError, match=r"stem\.json stands under two of the folders"):
        import_traces(both, project / "t.parquet")
    assert import_traces(both, project / "t.jsonl").traces == 6


def test_imported_traces_are_not_imported_again(project: Path) -> None:
    import_traces([str(project / "traces")], project / "t.parquet")
    with pytest.raises(UsageError, match=r"t\.parquet holds imported traces already"):
        import_traces([str(project / "t.parquet")], project / "t.jsonl")


def test_a_folder_is_searched_for_imported_traces_only(project: Path) -> None:
    folder = project / "traces"
    import_traces([str(folder)], project / "t.parquet")
    before = find_inputs([str(folder)])
    pl.DataFrame({"a": [1]}).write_parquet(folder / "foreign.parquet")
    (project / "t.parquet").rename(folder / "ours.parquet")
    after = find_inputs([str(folder)])
    assert {file.name for file in after.files} - {file.name for file in before.files} == {"ours.parquet"}
    assert after.skipped == before.skipped + 1


def broken_bytes(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def another_table(path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(path)


def a_later_version(path: Path) -> None:
    pl.read_parquet(path).write_parquet(path, metadata={"diagnosisEvalTraces": "2"})


def a_column_less(path: Path) -> None:
    pl.read_parquet(path).drop("calls").write_parquet(path, metadata={"diagnosisEvalTraces": "1"})


def a_null_too_many(path: Path) -> None:
    rows = pl.read_parquet(path).with_columns(content_digest=pl.lit(None, dtype=pl.String))
    rows.write_parquet(path, metadata={"diagnosisEvalTraces": "1"})


@pytest.mark.parametrize(
    "spoil, found",
    [
        (broken_bytes, "Parquet"),
        (another_table, "another Parquet file"),
        (a_later_version, "version 2"),
        (a_column_less, "calls is absent"),
        (a_null_too_many, "content_digest holds 5 nulls"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_an_unreadable_record(
    spoil: Callable[[Path], None], found: str, project: Path
) -> None:
    import_traces([str(project / "traces")], project / "t.parquet")
    spoil(project / "t.parquet")
    read = frames(project / "t.parquet")
    [error] = read.errors.to_dicts()
    assert (read.traces.height, error["file"], error["line"]) == (0, "t.parquet", None)
    assert found in error["found"]


def test_what_a_suite_redacts_does_not_come_out_of_what_was_quoted_at_the_import(project: Path) -> None:
    secret = "s3cr3t" * 40
    (project / "traces/sub/lines.jsonl").write_text(json.dumps({"traceId": {secret: 1}}) + "\n")
    (project / "traces/stem.json").write_text(json.dumps({"finalAnswer": "pool", "durationMs": -1}))
    import_traces([str(project / "traces")], project / "t.parquet")
    (project / "cases.json").write_text(json.dumps({**CASES, "redact": ["(s3cr3t)+(?:x|$)"]}))
    options = Options(cases=(str(project / "cases.json"),), traces=(str(project / "t.parquet"),))
    report = run(options).report
    assert {error.found for error in report.input_errors} == {"(not shown)"}
    assert "s3cr3t" not in msgspec.json.encode(report).decode()


def test_frames_survive_the_way_through_rows() -> None:
    records = [
        ReadTrace(trace=Trace(traceId="1", toolInvocations=[]), file="a.json", line=None, root=0),
        ReadTrace(trace=Trace(traceId="2"), file="a.json", line=None, root=0),
    ]
    direct = flatten_traces(records)
    again = frames_of(trace_rows(direct))
    for name in FRAMES:
        assert_frame_equal(getattr(again, name), getattr(direct, name))


def test_faults_beyond_a_thousand_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"finalAnswer": "x"}\n' + '{"traceId": 1}\n' * 1_200)
    imported: Imported = import_traces([str(tmp_path / "t.jsonl")], tmp_path / "out.jsonl")
    assert (imported.traces, imported.unreadable, len(imported.faults)) == (1, 1_200, 1_000)
