"""Compressed files in slices: cut between members, and together always the whole file."""

import gzip
import struct
from hashlib import shake_256
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pipeline.sources import members, shards, streams
from pipeline.sources.files import InputFile
from pipeline.sources.read import read_file
from pipeline.sources.shards import cut
from tests.sources import packed
from tests.sources.packed import BGZF_END, PACKED, bgzf, bgzf_member, skippable, zstd_frame

LINES = [b'{"traceId": "%d", "finalAnswer": "the pool"}\n' % number for number in range(40)]
QUARTERS = [b"".join(LINES[start : start + 10]) for start in range(0, 40, 10)]


def slices(
    data: bytes, name: str, folder: Path, shard_bytes: int = 300, from_format: str = "native"
) -> list[InputFile]:
    """The slices of a file of such bytes; one that is no slice where it is not cut."""
    path = folder / name
    path.write_bytes(data)
    file = InputFile(path=str(path), name=name, root=0, kind="lines", compression=name.rpartition(".")[2])
    found = cut([file], from_format, shard_bytes=shard_bytes)
    assert sum(shard.size for shard in found) == len(data)
    return [shard.files[0] for shard in found]


def text(file: InputFile) -> bytes:
    return b"".join(streams.chunks(file))


def outcome(file: InputFile) -> list[str]:
    """What comes of a file, in words."""
    return [str(record) for record in read_file(file)]


def split(content: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    return [content[start:end] for start, end in pairwise(ends)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# A border just after a line end.
@example(kind="zst", lines=["a", "", "b"], end="", places=[2], shard_bytes=1)
# Members without a line end.
@example(kind="gz", lines=["a" * 50], end="\n", places=[10, 20, 30, 51], shard_bytes=1)
# A line over several members.
@example(kind="zst", lines=["a", "b" * 50, "c"], end="", places=[10, 20, 30], shard_bytes=1)
@given(
    kind=st.sampled_from(sorted(PACKED)),
    lines=st.lists(st.text(st.sampled_from('a"{}\u00e4\u4e2d\U0001f600\r\ufeff'), max_size=60), max_size=12),
    end=st.sampled_from(["", "\n", "\r\n"]),
    places=st.lists(st.integers(0, 3000), max_size=12),
    shard_bytes=st.integers(1, 200),
)
def test_the_slices_together_are_the_file(
    *, kind: str, lines: list[str], end: str, places: list[int], shard_bytes: int, tmp_path: Path
) -> None:
    content = "\n".join(lines).encode() + end.encode()
    files = slices(PACKED[kind](split(content, places)), f"t.jsonl.{kind}", tmp_path, shard_bytes)
    texts = [text(file) for file in files]
    assert b"".join(texts) == content
    assert all(one.endswith(b"\n") for one in [one for one in texts if one][:-1])
    # Where a document reaches over several slices, these are read again as one.
    for first, last in pairwise(files):
        both = replace(first, end=last.end)
        assert text(both) == text(first) + text(last)


@pytest.mark.parametrize(
    "name, data",
    [
        ("t.jsonl.zst", b"".join(map(zstd_frame, QUARTERS))),
        ("t.jsonl.zst", b"".join(zstd_frame(part, size=False) for part in QUARTERS)),
        ("t.jsonl.zst", b"".join(zstd_frame(part, checksum=True) for part in QUARTERS)),
        ("t.jsonl.zst", b"".join(zstd_frame(part, size=False, checksum=True) for part in QUARTERS)),
        # The seekable format: a table of the frames at the end.
        ("t.jsonl.zst", b"".join(map(zstd_frame, QUARTERS)) + skippable(bytes(9), 14)),
        # pzstd: each frame announced by a skippable one that tells its size.
        ("t.jsonl.zst", b"".join(skippable(struct.pack("<I", len(f))) + f for f in map(zstd_frame, QUARTERS))),
        ("t.jsonl.gz", bgzf(QUARTERS)),
        ("t.jsonl.gz", b"".join(map(bgzf_member, QUARTERS))),
        # Files that were whole, one after the other.
        ("t.jsonl.gz", bgzf(QUARTERS[:2]) + bgzf(QUARTERS[2:])),
    ],
)
def test_what_tools_write_is_cut_in_about_equal_pieces(name: str, data: bytes, tmp_path: Path) -> None:
    files = slices(data, name, tmp_path)
    # Each but the first leaves its first line to the one before.
    assert [text(file).count(b"\n") for file in files if text(file)] == [11, 10, 10, 9]


def test_frames_of_many_blocks_of_all_kinds(tmp_path: Path) -> None:
    noise = shake_256().digest(300_000).replace(b"\n", b"")
    parts = [noise, b"a" * 400_000 + b"\n", b"".join(LINES) * 200, b"", b"\n" * 1000]
    # What repeats itself is taken for less than it is, where its size is not told.
    for size, count in ((True, 4), (False, 2)):
        data = b"".join(zstd_frame(part, size=size) for part in parts)
        files = slices(data, "t.jsonl.zst", tmp_path, 100_000)
        assert len(files) == count
        assert b"".join(map(text, files)) == b"".join(parts)


@pytest.mark.parametrize("size_of_text", [0, 1, 255, 256, 257, 65_791, 65_792, 200_000])
def test_every_width_of_the_size_is_understood(size_of_text: int, tmp_path: Path) -> None:
    # The size of the text stands in 1, 2 or 4 bytes; the first frame is as long as a slice should be, to the byte.
    data = zstd_frame(b"\n" * size_of_text) + zstd_frame(b"\n")
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(data)
    file = InputFile(path=str(path), name="t", root=0, kind="lines", compression="zst")
    assert members.cuts(file, len(data), size_of_text) == [len(zstd_frame(b"\n" * size_of_text))]
    assert members.cuts(file, len(data), size_of_text + 1) == []


def test_several_threads_and_a_dictionary_change_nothing_of_the_structure(tmp_path: Path) -> None:
    wide = zstandard.ZstdCompressor(threads=2, write_checksum=True).compress(b"".join(LINES) * 100)
    dictionary = zstandard.ZstdCompressionDict(b"the pool, the pool" * 20, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    known = zstandard.ZstdCompressor(dict_data=dictionary).compress(QUARTERS[0])
    for data in (wide + wide, wide + known):
        path = tmp_path / "t.jsonl.zst"
        path.write_bytes(data)
        file = InputFile(path=str(path), name="t", root=0, kind="lines", compression="zst")
        assert members.cuts(file, len(data), 1000) == [len(wide)]


ONE_FRAME = zstd_frame(b"".join(LINES))
FRAMES = b"".join(map(zstd_frame, QUARTERS))
MEMBERS = bgzf(QUARTERS)
# The one block of a frame stands after 4 bytes of magic number, the descriptor and 2 bytes of size.
BLOCK = 7


def changed(data: bytes, place: int, to: bytes) -> bytes:
    return data[:place] + to + data[place + len(to) :]


@pytest.mark.parametrize(
    "name, data",
    [
        pytest.param("t.jsonl.zst", ONE_FRAME, id="one frame"),
        pytest.param("t.jsonl.gz", gzip.compress(b"".join(LINES)), id="plain gzip"),
        pytest.param("t.jsonl.gz", b"".join(map(gzip.compress, QUARTERS)), id="plain gzip of several members"),
        pytest.param("t.jsonl.gz", bgzf(QUARTERS) + gzip.compress(b"{}\n"), id="a plain member after others"),
        pytest.param("t.jsonl.gz", bgzf(QUARTERS) + bytes(512), id="padded"),
        pytest.param("t.jsonl.gz", MEMBERS[:-30], id="cut off"),
        pytest.param("t.jsonl.gz", MEMBERS + BGZF_END[:10], id="cut off in a header"),
        pytest.param("t.jsonl.gz", changed(MEMBERS, 16, b"\0\0"), id="a member of one byte"),
        pytest.param("t.jsonl.gz", b"".join(LINES), id="not compressed"),
        pytest.param("t.jsonl.zst", b"".join(LINES), id="not compressed, zst"),
        pytest.param("t.jsonl.zst", FRAMES[:-1], id="a frame cut off"),
        pytest.param("t.jsonl.zst", FRAMES + b"\x28\xb5", id="a header cut off"),
        pytest.param("t.jsonl.zst", FRAMES + skippable(b"abc")[:-1], id="a skippable frame cut off"),
        pytest.param("t.jsonl.zst", FRAMES + b"this is no frame", id="something else behind"),
        pytest.param("t.jsonl.zst", changed(FRAMES, 4, bytes([FRAMES[4] | 8])), id="a reserved bit"),
        pytest.param("t.jsonl.zst", changed(FRAMES, BLOCK, bytes([FRAMES[BLOCK] | 6])), id="a reserved block"),
        pytest.param("t.jsonl.zst", changed(FRAMES, BLOCK + 2, b"\xff"), id="a block longer than may be"),
    ],
)
def test_what_hides_its_members_or_is_odd_is_not_cut(name: str, data: bytes, tmp_path: Path) -> None:
    [file] = slices(data, name, tmp_path)
    assert not file.is_slice


def test_a_file_of_more_members_than_anybody_writes_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(slices(MEMBERS, "t.jsonl.gz", tmp_path)) > 1
    monkeypatch.setattr(members, "_MOST_HEADERS", 4)
    assert len(slices(MEMBERS, "t.jsonl.gz", tmp_path)) == 1


def test_a_size_that_is_a_lie_makes_no_more_slices_than_there_is_text_for(tmp_path: Path) -> None:
    claimed = (1 << 62).to_bytes(8, "little")
    # A single segment of 2^62 bytes, of one empty block.
    frame = b"\x28\xb5\x2f\xfd\xe0" + claimed + b"\x01\0\0"
    assert len(slices(frame * 100, "t.jsonl.zst", tmp_path, 1 << 20)) == 1
    member = bgzf_member(b"")[:-4] + b"\xff\xff\xff\xff"
    assert len(slices(member * 100, "t.jsonl.gz", tmp_path, 1 << 20)) == 1


@pytest.mark.parametrize("kind", PACKED)
def test_small_files_stay_together(kind: str, tmp_path: Path) -> None:
    [file] = slices(PACKED[kind](QUARTERS), f"t.jsonl.{kind}", tmp_path, 100_000)
    assert not file.is_slice


@pytest.mark.parametrize("kind", PACKED)
def test_a_format_that_spreads_a_trace_over_lines_is_not_cut(kind: str, tmp_path: Path) -> None:
    data = PACKED[kind](QUARTERS)
    assert len(slices(data, f"t.jsonl.{kind}", tmp_path, from_format="claude-code")) == 1
    assert len(slices(data, f"t.jsonl.{kind}", tmp_path, from_format="auto")) > 1


@pytest.mark.parametrize("name", ["t.jsonl.zst", "t.jsonl.gz"])
def test_what_stands_elsewhere_is_not_cut_where_each_header_is_a_request(name: str, tmp_path: Path) -> None:
    (tmp_path / "s3:").mkdir()
    data = PACKED[name.rpartition(".")[2]](QUARTERS)
    files = slices(data, name, tmp_path / "s3:")
    assert len(files) > 1
    [address] = (file.path.replace("s3:/", "s3://") for file in files[:1] if file.path)
    [shard] = cut(
        [InputFile(path=address, name=name, root=0, kind="lines", compression=files[0].compression)], "native"
    )
    assert not shard.is_slice


def test_a_document_of_its_own_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "t.json.zst").write_bytes(FRAMES)
    file = InputFile(path=str(tmp_path / "t.json.zst"), name="t", root=0, kind="json", compression="zst")
    [shard] = cut([file], "native", shard_bytes=1)
    assert not shard.is_slice


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_file_that_cannot_be_opened_is_left_to_the_reader(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    for module in (shards, members):
        monkeypatch.setattr(module, "opened", refuse)
    compression = name.partition("jsonl")[2].lstrip(".")
    (tmp_path / name).write_bytes(MEMBERS)
    file = InputFile(path=str(tmp_path / name), name=name, root=0, kind="lines", compression=compression)
    [shard] = cut([file], "native", shard_bytes=10)
    assert not shard.is_slice


def test_the_name_of_a_slice_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(MEMBERS)
    file = InputFile(path=str(tmp_path / "t.jsonl.gz"), name="t.jsonl.gz", root=0, kind="lines", compression="gz")
    first, *_ = cut([file], "native", shard_bytes=300)
    assert first.name() == f"shard 0 (t.jsonl.gz, bytes 0 to {len(bgzf_member(QUARTERS[0]))})"


def test_a_gzip_file_padded_with_zeros_reads_to_its_end(tmp_path: Path) -> None:
    # Between members and after them, as tapes and block devices leave them; over several steps.
    data = gzip.compress(QUARTERS[0]) + bytes(5000) + gzip.compress(QUARTERS[1]) + bytes(9000)
    [file] = slices(data, "t.jsonl.gz", tmp_path)
    assert text(file) == QUARTERS[0] + QUARTERS[1]
    [file] = slices(bytes(3) + data, "t.jsonl.gz", tmp_path)
    assert "the gzip stream is corrupt (incorrect header check)" in outcome(file)[-1]


@pytest.mark.parametrize("size", [27, 28, 29])
def test_a_member_that_is_not_as_long_as_it_says_is_corrupt(size: int, tmp_path: Path) -> None:
    member = changed(BGZF_END, 16, struct.pack("<H", size - 1))
    [file] = slices(bgzf_member(LINES[0]) + member + bgzf_member(LINES[1]), "t.jsonl.gz", tmp_path, 1 << 20)
    records = outcome(file)
    assert [("is not as long as it says" in record) for record in records] == (
        [False] * 2 if size == 28 else [False, True]
    )


def test_a_member_whose_header_falls_on_two_steps_is_measured_too(tmp_path: Path) -> None:
    noise = shake_256().hexdigest(10_000).encode() + b"\n"
    for room in range(1, 20):
        # A member that ends so many bytes before a step does.
        sizes = (len(noise) - less for less in range(6000))
        first = next(one for size in sizes if len(one := bgzf_member(noise[-size:], level=0)) % 4096 == 4096 - room)
        wrong = changed(BGZF_END, 16, struct.pack("<H", 28))
        [file] = slices(first + wrong, "t.jsonl.gz", tmp_path, 1 << 20)
        assert "is not as long as it says" in outcome(file)[-1]


def test_the_helper_writes_what_others_read() -> None:
    assert gzip.decompress(MEMBERS) == b"".join(LINES)
    assert packed.bgzf_member(b"") == BGZF_END
