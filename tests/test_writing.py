"""Files are written whole or not at all."""

import tempfile
from pathlib import Path

import pytest

from pipeline.errors import OutputError
from pipeline.writing import remove_file, scratch_folder, write_file


def test_a_file_and_its_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.json"
    assert write_file(path, b"data\n\xff") == path
    assert path.read_bytes() == b"data\n\xff"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_file(path, b"a longer text")
    write_file(path, b"short")
    assert path.read_bytes() == b"short"


def test_a_link_is_replaced_and_what_it_names_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    write_file(tmp_path / "link", b"new")
    assert ((tmp_path / "other").read_text(), (tmp_path / "link").is_symlink()) == ("kept", False)


def test_a_folder_in_the_way_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "report.md" / "x").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"cannot write .*report\.md: Is a directory") as refused:
        write_file(tmp_path / "report.md", b"data")
    assert refused.value.hint == "name another folder with --out, or make room and give permission there"
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_a_file_for_a_folder_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "file" / "report.md", tmp_path / "file" / "deep" / "report.md"):
        with pytest.raises(OutputError, match="cannot write"):
            write_file(path, b"data")
    assert (tmp_path / "file").read_text() == "kept"


def test_a_write_that_breaks_off_leaves_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.md"
    write_file(path, b"before")

    def no_room(beside: Path, _data: bytes) -> int:
        beside.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", no_room)
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(path, b"after")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"before", [path])


def test_a_file_is_removed_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file", tmp_path / "nowhere" / "file"):
        remove_file(path)
    assert list(tmp_path.iterdir()) == []


def test_there_is_nothing_to_remove_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    remove_file(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "diff.md").mkdir()
    with pytest.raises(OutputError, match=r"cannot remove the old .*diff\.md: Is a directory"):
        remove_file(tmp_path / "diff.md")
    assert (tmp_path / "diff.md").is_dir()


def test_a_scratch_folder_is_gone_afterwards() -> None:
    with scratch_folder() as folder:
        (folder / "a").write_text("x")

    assert not folder.exists()


def test_no_place_for_temporary_files_is_no_reason_for_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with (
        pytest.raises(OutputError, match=r"temporary files .*: No such file or directory") as refused,
        scratch_folder(),
    ):
        pass
    assert "TMPDIR" in refused.value.hint
