"""Compressed files: read in a stream, refused from where they break, never more in memory than a step."""

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipeline.errors import Fault
from pipeline.sources import streams
from pipeline.sources.files import NO_ROOT, InputFile, find_inputs
from pipeline.sources.wording import Refused

Read = Callable[..., tuple[list[Any], list[Fault]]]

LINES = b"".join(b'{"traceId": "%d", "x": "%s"}\n' % (n, b"pool exhausted " * 20) for n in range(2000))
PACK = {"gz": gzip.compress, "zst": lambda data: zstandard.ZstdCompressor().compress(data)}


def scrambled(size: int) -> bytes:
    """Text that does not compress well, the same each time."""
    value, out = 1, bytearray()
    for _ in range(size):
        value = value * 1103515245 + 12345 & 0x7FFFFFFF
        out.append(97 + (value >> 16) % 26)
    return bytes(out)


NOISE = b"".join(b'{"traceId": "%d", "x": "%s"}\n' % (n, scrambled(4000 + n)) for n in range(60))


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson"])
def test_a_compressed_file_reads_like_the_plain_one(read: Read, name: str, kind: str) -> None:
    [packed], faults = read(PACK[kind](b'\xef\xbb\xbf{"traceId": "a"}'), f"{name}.{kind}")
    [plain], _ = read(b'\xef\xbb\xbf{"traceId": "a"}', name)
    assert (packed.trace, packed.line, packed.file, faults) == (plain.trace, plain.line, f"{name}.{kind}", [])


@pytest.mark.parametrize("kind", PACK)
def test_members_and_frames_follow_one_another(read: Read, kind: str) -> None:
    half = LINES.index(b"\n", len(LINES) // 2) - 5
    traces, faults = read(PACK[kind](LINES[:half]) + PACK[kind](b"") + PACK[kind](LINES[half:]), f"t.jsonl.{kind}")
    assert ([row.trace.traceId for row in traces], faults) == ([str(n) for n in range(2000)], [])


def test_a_skippable_zstd_frame_is_skipped(read: Read) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"about"
    traces, faults = read(skippable + PACK["zst"](b'{"traceId": "a"}') + skippable, "t.jsonl.zst")
    assert ([row.trace.traceId for row in traces], faults) == (["a"], [])


@pytest.mark.parametrize(
    "kind, words", [("gz", "the gzip stream ends too early"), ("zst", "the zstd stream ends too early")]
)
def test_a_file_cut_off_keeps_the_records_before(read: Read, kind: str, words: str) -> None:
    packed = PACK[kind](NOISE) + PACK[kind](NOISE)
    first_frame = len(PACK[kind](NOISE))
    traces, [fault] = read(packed[: first_frame + 40], f"t.jsonl.{kind}")
    assert [row.trace.traceId for row in traces[:60]] == [str(n) for n in range(60)]
    assert fault.message.startswith(words)
    assert fault.line == len(traces) + 1


@pytest.mark.parametrize("kind, words", [("gz", "the gzip stream is corrupt"), ("zst", "the zstd stream is corrupt")])
def test_a_corrupt_file_keeps_the_records_before(read: Read, kind: str, words: str) -> None:
    traces, [fault] = read(PACK[kind](NOISE) + b"this is no frame", f"t.jsonl.{kind}")
    assert [row.trace.traceId for row in traces] == [str(n) for n in range(60)]
    assert fault.message.startswith(words)
    assert fault.line == 61


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_what_is_not_compressed_at_all_is_refused(read: Read, name: str, kind: str) -> None:
    traces, [fault] = read(b'{"traceId": "a"}', f"{name}.{kind}")
    assert traces == []
    assert "stream is corrupt" in fault.message


@pytest.mark.parametrize("kind", PACK)
def test_an_empty_compressed_file_is_read_like_an_empty_one(read: Read, kind: str) -> None:
    assert read(PACK[kind](b""), f"t.jsonl.{kind}") == ([], [])
    assert len(read(PACK[kind](b""), f"t.json.{kind}")[1]) == 1


@pytest.mark.parametrize("kind", PACK)
def test_a_bomb_unfolds_in_bounded_steps(kind: str) -> None:
    bomb = PACK[kind](b"a" * (64 << 20))
    source = io.BytesIO(bomb)
    sizes = [len(piece) for piece in streams._decompressed(source, kind)]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= 48 << 20


def test_a_document_over_the_limit_is_refused_not_held() -> None:
    with pytest.raises(Refused, match="longer than 100 bytes"):
        streams.whole(iter([b"x" * 60, b"x" * 60]), 100)
    assert streams.whole(iter([b"x" * 60, b"x" * 40]), 100) == b"x" * 100


@pytest.mark.parametrize("kind", PACK)
def test_standard_input_tells_its_compression(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(PACK[kind](LINES)))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert b"".join(streams.chunks(InputFile(path=None, name="-", root=NO_ROOT, kind="lines"))) == LINES


def test_a_disk_that_fails_does_not_cost_what_was_read_before() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if data := super().read(size):
                return data
            raise OSError(5, "Input/output error")

    pieces = streams._decompressed(Failing(PACK["zst"](LINES)), "zst")
    assert next(pieces) == LINES
    with pytest.raises(OSError, match="Input/output error"):
        next(pieces)


@pytest.mark.parametrize("ending", ["", *(f".{kind}" for kind in PACK)])
def test_a_pipe_with_a_name_is_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.jsonl{ending}"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(PACK[ending[1:]](LINES) if ending else LINES,))
    writer.start()
    [file] = find_inputs([str(path)]).files
    assert b"".join(streams.chunks(file)) == LINES
    writer.join()


def test_a_file_that_cannot_be_opened_is_a_fault_of_that_file(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the file cannot be read: No such file or directory"):
        list(streams.chunks(InputFile(path=str(tmp_path / "gone.json"), name="gone.json", root=0, kind="json")))
