"""Traces of an object store or a web server: the same results as from files of this machine."""

import errno
import gzip
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from benchmarks.generate import write
from pipeline.cases.load import load_suite
from pipeline.engines.choose import Execution, results_folder
from pipeline.errors import InputError, UsageError
from pipeline.import_traces import import_traces
from pipeline.judge import all_checks
from pipeline.judging import Job
from pipeline.run import Options, run, wanted_writers
from pipeline.sources import opening, remote
from pipeline.sources.files import InputFile, find_inputs
from pipeline.sources.read import read_batches
from pipeline.sources.shards import cut
from tests.sources.remote_servers import served, silent_port, upload

TRACES = Path("fixtures/traces")
SECRET = "signature=c2VjcmV0"

# botocore still asks for the time in a way that Python 3.12 advises against; the S3 server is its own business.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Any]]:
    """An S3 server with an empty bucket, and a client that fills it."""
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    _, port = started.get_host_and_port()
    address = f"http://127.0.0.1:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="bucket")
    upload(client, "bucket", TRACES, "suite/")
    yield address, client
    client.close()
    started.stop()


@pytest.fixture
def s3(server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The same, with an environment that leads there."""
    address, client = server
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "GOOGLE_BASE_URL": address,
        "GOOGLE_SKIP_SIGNATURE": "true",
        "GOOGLE_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    remote._store.cache_clear()
    yield client
    remote._store.cache_clear()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried again, so that what fails fails at once."""
    monkeypatch.setitem(remote._RETRIES, "max_retries", 0)


def outputs(traces: str, out: Path, *, cases: str = "cases", jobs: int = 1) -> tuple[bytes, bytes]:
    """The report and the snapshot of a run."""
    options = Options(cases=(cases,), traces=(traces,))
    run(options, out=out, writers=wanted_writers([]), execution=Execution(jobs=jobs))
    return (out / "report.json").read_bytes(), (out / "snapshot.parquet").read_bytes()


def names(path: str) -> list[str]:
    return [file.name for file in find_inputs([path]).files]


# Buckets


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_folder_in_a_bucket_gives_the_bytes_that_a_folder_here_gives(s3: Any, tmp_path: Path, scheme: str) -> None:
    # Both services list a bucket in the same words, so one server stands for both; what is public needs no signature.
    for file in TRACES.rglob("*.json"):
        key = f"suite/{file.relative_to(TRACES).as_posix()}"
        s3.put_object_acl(Bucket="bucket", Key=key, ACL="public-read")

    assert outputs(f"{scheme}://bucket/suite", tmp_path / "there") == outputs(str(TRACES), tmp_path / "here")


def test_a_large_line_file_is_cut_and_read_by_workers_of_their_own(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 60, cases=7, calls=4)
    upload(s3, "bucket", tmp_path, "large/")
    monkeypatch.setattr("pipeline.sources.shards.cut.__kwdefaults__", {"shard_bytes": 50_000, "shard_files": 10})
    inputs = find_inputs(["s3://bucket/large/traces.jsonl"])
    pieces = [shard.files[0] for shard in cut(inputs.files)]
    data = (tmp_path / "traces.jsonl").read_bytes()

    assert len(pieces) > 2
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    assert all(data[piece.start - 1 : piece.start] == b"\n" for piece in pieces[1:])
    there, here = (
        outputs(path, tmp_path / out, cases=str(tmp_path / "cases.json"), jobs=2)
        for path, out in (("s3://bucket/large/traces.jsonl", "there"), (str(tmp_path / "traces.jsonl"), "here"))
    )
    assert there == here


def test_what_has_no_end_of_ours_or_is_hidden_is_left_out(s3: Any) -> None:
    for key in ("a.json", "notes.txt", ".hidden.json", ".hidden/b.json", "deep/c.jsonl", "d.csv", "é ?.json"):
        s3.put_object(Bucket="bucket", Key=f"mixed/{key}", Body=b"{}")
    found = find_inputs(["s3://bucket/mixed"])

    assert [file.name for file in found.files] == ["a.json", "deep/c.jsonl", "é ?.json"]
    assert found.skipped == 4
    assert found.roots == ("s3://bucket/mixed",)


PATTERNS = {
    "all of a folder": ("mixed2/*", ["a.json", "b.json", "c.jsonl"]),
    "an ending": ("mixed2/*.json", ["a.json", "b.json"]),
    "at any depth": ("mixed2/**/*.jsonl", ["c.jsonl"]),
    "a class": ("mixed2/[!a].json", ["b.json"]),
    "one character": ("mixed2/?.json", ["a.json", "b.json"]),
    "folders": ("mixed*/de*/", ["c.jsonl"]),
    "a file of that very name": ("mixed2/[b].json", ["[b].json"]),
}


@pytest.mark.parametrize("pattern, expected", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_finds_what_it_finds_on_disk(s3: Any, tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for key in ("a.json", "b.json", "deep/c.jsonl", *expected[:1] * expected[0].startswith("[")):
        file = tmp_path / "mixed2" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="mixed2/"):
        for one in page.get("Contents", []):
            s3.delete_object(Bucket="bucket", Key=one["Key"])
    s3.delete_object(Bucket="bucket", Key="mixed/deep/c.jsonl")
    upload(s3, "bucket", tmp_path)

    assert names(f"s3://bucket/{pattern}") == names(f"{tmp_path}/{pattern}") == expected


def test_one_file_is_found_once_and_its_folder_is_its_root(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="one/a.json", Body=b"{}")
    found = find_inputs(["s3://bucket/one/a.json", "s3://bucket/one", "s3://bucket/one/a.json"])

    assert [(file.name, file.root, file.size) for file in found.files] == [("a.json", 0, 2)]
    assert found.roots == ("s3://bucket/one",)


def test_compressed_lines_and_imported_traces_are_read_too(s3: Any, tmp_path: Path) -> None:
    write(tmp_path, 20, cases=5, calls=3)
    data = (tmp_path / "traces.jsonl").read_bytes()
    cases = str(tmp_path / "cases.json")
    expected = outputs(str(tmp_path / "traces.jsonl"), tmp_path / "plain", cases=cases)
    import_traces([str(tmp_path / "traces.jsonl")], tmp_path / "t.parquet")
    for name, body in {
        "gz/traces.jsonl": gzip.compress(data),
        "zst/traces.jsonl": zstandard.compress(data),
        "parquet/t": (tmp_path / "t.parquet").read_bytes(),
    }.items():
        kind = name.partition("/")[0]
        s3.put_object(Bucket="bucket", Key=f"{name}.{kind}", Body=body)
        found = outputs(f"s3://bucket/{kind}/", tmp_path / kind, cases=cases)
        assert re.sub(rb"traces\.jsonl\.\w+", b"traces.jsonl", found[0]) == expected[0], kind


def test_a_snapshot_among_the_traces_is_left_out_unless_it_is_named(s3: Any, tmp_path: Path) -> None:
    outputs(str(TRACES), tmp_path)
    s3.put_object(Bucket="bucket", Key="results/snapshot.parquet", Body=(tmp_path / "snapshot.parquet").read_bytes())
    s3.put_object(Bucket="bucket", Key="results/a.json", Body=b"{}")

    assert names("s3://bucket/results") == ["a.json"]
    assert names("s3://bucket/results/snapshot.parquet") == ["snapshot.parquet"]


def test_a_file_that_was_replaced_meanwhile_is_a_fault_and_never_half_of_each(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="moving/a.jsonl", Body=b'{"caseId": "a"}\n' * 9)
    found = find_inputs(["s3://bucket/moving"])
    s3.put_object(Bucket="bucket", Key="moving/a.jsonl", Body=b'{"caseId": "b"}\n' * 9)
    (batch,) = read_batches(found)

    assert not batch.traces
    assert [one.fault.message for one in batch.unreadable] == [
        "the file cannot be read: it was replaced while it was being read"
    ]


def test_a_file_that_went_away_is_an_input_error(s3: Any, tmp_path: Path) -> None:
    s3.put_object(Bucket="bucket", Key="gone/a.json", Body=b"{}")
    found = find_inputs(["s3://bucket/gone"])
    s3.delete_object(Bucket="bucket", Key="gone/a.json")
    (batch,) = read_batches(found)

    assert [one.fault.message for one in batch.unreadable] == [
        "the file cannot be read: there is nothing at this address"
    ]


def test_small_files_are_fetched_ahead_and_come_in_order(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        s3.put_object(Bucket="bucket", Key=f"many/{number:02}.json", Body=b'{"caseId": "c%d"}' % number)
    most = 0
    waiting: set[str] = set()

    whole = remote._range

    def fetched(url: str, start: int, end: int, version: str | None) -> bytes:
        nonlocal most
        waiting.add(url)
        most = max(most, len(waiting))
        data = whole(url, start, end, version)
        waiting.discard(url)
        return data

    monkeypatch.setattr(remote, "_range", fetched)
    (batch,) = read_batches(find_inputs(["s3://bucket/many"]))

    assert [record.trace.caseId for record in batch.traces] == [f"c{number}" for number in range(40)]
    assert 1 < most <= opening._AHEAD


# Web servers


@pytest.mark.parametrize("ranges", [True, False], ids=["with ranges", "without ranges"])
def test_a_file_of_a_web_server_gives_the_bytes_that_a_file_here_gives(tmp_path: Path, ranges: bool) -> None:
    write(tmp_path, 30, cases=5, calls=3)
    cases = str(tmp_path / "cases.json")
    with served(tmp_path, ranges=ranges, needs=SECRET) as address:
        there = outputs(f"{address}/traces.jsonl?{SECRET}", tmp_path / "there", cases=cases)

    assert there == outputs(str(tmp_path / "traces.jsonl"), tmp_path / "here", cases=cases)
    assert SECRET.encode() not in there[0] + there[1] + (tmp_path / "there/run.json").read_bytes()


@pytest.mark.parametrize("ranges", [True, False], ids=["with ranges", "without ranges"])
def test_a_name_with_odd_characters_and_an_empty_file_are_read(tmp_path: Path, ranges: bool) -> None:
    (tmp_path / "a b é.json").write_text('{"caseId": "x"}')
    (tmp_path / "empty.jsonl").write_text("")
    with served(tmp_path, ranges=ranges) as address:
        found = find_inputs([f"{address}/a%20b%20%C3%A9.json", f"{address}/empty.jsonl"])
        (batch,) = read_batches(found)

    assert [file.name for file in found.files] == ["a b é.json", "empty.jsonl"]
    assert [record.trace.caseId for record in batch.traces] == ["x"]


# What goes wrong


def test_nothing_there_is_said(s3: Any, tmp_path: Path) -> None:
    for path in ("s3://bucket/nothing", "s3://bucket/nothing/*.json", "s3://bucket/suite/nothing.json"):
        with pytest.raises(UsageError, match=rf"^no such file or folder: {re.escape(path)}"):
            find_inputs([path])
    with pytest.raises(UsageError, match="s3://no-bucket/a cannot be read: the server answers 404 Not Found"):
        find_inputs(["s3://no-bucket/a"])
    with served(tmp_path, ranges=True) as address, pytest.raises(UsageError, match="there is nothing at this address"):
        find_inputs([f"{address}/a.json"])


def test_no_access_is_said_with_the_names_of_the_credentials_and_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with served(tmp_path, ranges=True, needs=SECRET) as address, pytest.raises(UsageError) as caught:
        find_inputs([f"{address.replace('//', '//user:word@')}/a.json?other={SECRET}"])

    assert f"{address}/a.json cannot be read: access is denied" in str(caught.value)
    assert not re.search("user|word|signature|other", str(caught.value))


def test_a_server_that_does_not_answer_is_said() -> None:
    port = silent_port()

    with pytest.raises(UsageError, match=rf"^http://127.0.0.1:{port}/a.json cannot be read: the server cannot be "):
        find_inputs([f"http://127.0.0.1:{port}/a.json"])


def test_a_service_without_its_settings_says_what_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)

    with pytest.raises(UsageError, match="Account must be specified") as caught:
        find_inputs(["az://container/traces"])
    assert caught.value.hint is not None
    assert "AZURE_STORAGE_ACCOUNT_NAME" in caught.value.hint


def test_a_file_of_an_unknown_ending_is_refused_where_it_is_named(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="odd/a.txt", Body=b"{}")

    with pytest.raises(UsageError, match=r"^cannot tell what s3://bucket/odd/a\.txt holds by its name"):
        find_inputs(["s3://bucket/odd/a.txt"])


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)

    with pytest.raises(UsageError, match="needs the extra 'remote'") as caught:
        find_inputs(["s3://bucket/traces"])
    assert caught.value.hint == "pip install 'diagnosis-eval[remote]'"


def test_a_fault_of_the_server_reads_the_same_each_time() -> None:
    def fail(_: Any) -> None:
        raise ValueError("it took long at http://x.y/?a=b in 3.2ms")

    with pytest.raises(OSError, match=r"it took long at the address$") as caught:
        remote._call(fail)
    assert caught.value.errno == errno.EIO


def test_an_address_that_ends_early_is_a_fault(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="short/a.json", Body=b"{}")
    file = InputFile(path="s3://bucket/short/a.json", name="a.json", root=0, kind="json", size=9)

    with opening.opened(file) as stream, pytest.raises(OSError, match="ends earlier"):
        stream.read()


def test_a_remote_file_can_be_gone_through_like_any_other(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="seek/a.json", Body=b"0123456789")
    (file,) = find_inputs(["s3://bucket/seek/a.json"]).files
    with opening.opened(file, 4) as stream:
        assert stream.read(3) == b"012"
        assert stream.seek(-2, 2) == 8
        assert stream.read() == b"89"
        assert stream.read(1) == b""
        assert (stream.seek(1), stream.tell(), stream.read(2), stream.seek(1, 1)) == (1, 1, b"12", 4)


def test_a_run_is_resumed_only_where_the_files_are_surely_the_same(s3: Any, tmp_path: Path) -> None:
    def folder(url: str) -> str:
        shards = cut(find_inputs([url]).files)
        with results_folder(
            Job(suite=load_suite(["cases"], known_checks=all_checks().names), selected=()), shards, tmp_path
        ) as found:
            return found.name

    s3.put_object(Bucket="bucket", Key="resumed/a.json", Body=b"{}")
    (tmp_path / "a.json").write_text("{}")
    with served(tmp_path, ranges=True) as address:
        assert folder(f"{address}/a.json") != folder(f"{address}/a.json")
    before = folder("s3://bucket/resumed")
    assert before == folder("s3://bucket/resumed")
    s3.put_object(Bucket="bucket", Key="resumed/a.json", Body=b"[]")
    assert before != folder("s3://bucket/resumed")


def test_a_fixture_of_a_case_may_stand_in_a_bucket_but_under_one_root(s3: Any) -> None:
    with pytest.raises(InputError, match="stands under 2 of the trace folders"):
        run(Options(cases=("cases",), traces=("s3://bucket/suite", str(TRACES))))
