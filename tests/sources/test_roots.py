"""Contract section 2, Roots: which files a path gives, what they are called, and which root holds them."""

import io
import os
import sys
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.sources.files import NO_ROOT, InputFile, Inputs, find_inputs
from pipeline.sources.read import read_batches


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plant(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def names(inputs: Inputs) -> list[tuple[str, int]]:
    return [(file.name, file.root) for file in inputs.files]


def test_a_folder_is_its_own_root_read_recursively_in_order(here: Path) -> None:
    plant("t/b.json", "t/a/z.jsonl", "t/a/c.ndjson", "t/B.json", "t/a.json", "t/a/d/e.json")
    inputs = find_inputs(["t"])
    assert names(inputs) == [
        (name, 0) for name in ("B.json", "a.json", "a/c.ndjson", "a/d/e.json", "a/z.jsonl", "b.json")
    ]
    assert inputs.roots == (str(here / "t"),)


def test_the_root_of_a_file_is_its_folder(here: Path) -> None:
    plant("t/a.json", "t/u/b.json")
    inputs = find_inputs(["t/a.json", "t/u/b.json"])
    assert names(inputs) == [("a.json", 0), ("b.json", 1)]
    assert inputs.roots == (str(here / "t"), str(here / "t/u"))


EXTENSIONS = {
    "a.json": ("json", ""),
    "a.jsonl": ("lines", ""),
    "a.ndjson": ("lines", ""),
    "a.json.gz": ("json", "gz"),
    "a.jsonl.gz": ("lines", "gz"),
    "a.ndjson.zst": ("lines", "zst"),
    "a.json.zst": ("json", "zst"),
    "A.JSONL.GZ": ("lines", "gz"),
}


@pytest.mark.parametrize("name, kind", EXTENSIONS.items())
def test_the_extension_says_how_a_file_is_read(here: Path, name: str, kind: tuple[str, str]) -> None:
    plant(f"t/{name}")
    assert [(file.kind, file.compression) for file in find_inputs(["t"]).files] == [kind]
    assert [(file.kind, file.compression) for file in find_inputs([f"t/{name}"]).files] == [kind]


def test_hidden_files_hidden_folders_and_other_extensions_are_skipped_and_counted(here: Path) -> None:
    plant("t/a.json", "t/.b.json", "t/.git/c.json", "t/.git/d.json", "t/README.md", "t/e.gz", "t/json", "t/f.json.bak")
    inputs = find_inputs(["t"])
    assert (names(inputs), inputs.skipped, inputs.warnings) == ([("a.json", 0)], 6, ())


def test_what_is_skipped_is_counted_once(here: Path) -> None:
    plant("t/a.json", "t/README.md")
    assert find_inputs(["t", "t"]).skipped == 1


def test_what_is_no_regular_file_is_skipped(here: Path) -> None:
    plant("t/a.json")
    os.mkfifo("t/b.json")
    inputs = find_inputs(["t"])
    assert (names(inputs), inputs.skipped) == ([("a.json", 0)], 1)


def test_a_hidden_file_named_outright_is_read(here: Path) -> None:
    plant("t/.a.json")
    assert names(find_inputs(["t/.a.json"])) == [(".a.json", 0)]


def test_a_pattern_is_expanded(here: Path) -> None:
    plant("t/a.json", "t/b.json", "t/c.jsonl", "t/.d.json", "u/a.json")
    assert names(find_inputs(["t/*.json"])) == [("a.json", 0), ("b.json", 0)]
    assert names(find_inputs(["*/a.json"])) == [("a.json", 0), ("a.json", 1)]
    assert names(find_inputs(["**/*.jsonl"])) == [("c.jsonl", 0)]


def test_what_a_pattern_matches_beside_traces_is_skipped_and_counted(here: Path) -> None:
    plant("t/a.json", "t/README.md")
    inputs = find_inputs(["t/*"])
    assert (names(inputs), inputs.skipped) == ([("a.json", 0)], 1)


def test_a_broken_link_that_a_pattern_matches_is_reported(here: Path) -> None:
    plant("t/a.json")
    Path("t/b.json").symlink_to("nowhere.json")
    inputs = find_inputs(["t/*.json"])
    assert names(inputs) == [("a.json", 0)]
    assert [(row.file, row.kind) for row in inputs.warnings] == [("b.json", "broken-link")]


def test_a_file_whose_name_looks_like_a_pattern_goes_by_its_name(here: Path) -> None:
    plant("t/[a].json", "t/a.json")
    assert names(find_inputs(["t/[a].json"])) == [("[a].json", 0)]


ONCE = {
    "a folder twice": ["t", "t/"],
    "a folder by another path": ["t", "t/../t", "./t"],
    "a folder and a file in it": ["t", "t/a.json", "t/u/b.json"],
    "a file twice": ["t", "t/a.json", "t/a.json"],
    "a pattern too": ["t", "t/*.json"],
    "a folder within": ["t", "t/u"],
}


@pytest.mark.parametrize("paths", ONCE.values(), ids=ONCE)
def test_a_file_reached_twice_is_read_once(here: Path, paths: list[str]) -> None:
    plant("t/a.json", "t/u/b.json")
    inputs = find_inputs(paths)
    assert names(inputs) == [("a.json", 0), ("u/b.json", 0)]
    assert inputs.warnings == ()


REFUSED = {
    "a missing path": (["t/missing.json"], "no such file or folder: t/missing.json"),
    "a pattern without a match": (["t/*.jsonl"], "no such file or folder: t/*.jsonl"),
    "an empty path": ([""], "no such file or folder: "),
    "a path with a NUL": (["t/a\0.json"], "no such file or folder: t/a\0.json"),
    "a broken link": (["t/broken.json"], "no such file or folder: t/broken.json"),
    "an unknown extension": (["t/notes.txt"], "cannot tell what t/notes.txt holds by its name"),
    "a missing path beside a good one": (["t", "u"], "no such file or folder: u"),
}


@pytest.mark.parametrize("paths, message", REFUSED.values(), ids=REFUSED)
def test_a_path_of_no_use_is_refused_with_a_hint(here: Path, paths: list[str], message: str) -> None:
    plant("t/a.json", "t/notes.txt")
    Path("t/broken.json").symlink_to("nowhere.json")
    with pytest.raises(UsageError) as caught:
        find_inputs(paths)
    assert caught.value.message == message
    assert caught.value.hint


def test_a_folder_that_cannot_be_listed_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant("t/u/a.json")

    def forbidden(path: str) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(UsageError, match=r"cannot list the folder .*/t: Permission denied"):
        find_inputs(["t"])


def test_links_that_lead_outside_the_root_are_not_followed(here: Path) -> None:
    plant("t/a.json", "outside/b.json")
    Path("t/file.json").symlink_to("../outside/b.json")
    Path("t/folder").symlink_to("../outside")
    Path("t/README.md").symlink_to("../outside/b.json")
    inputs = find_inputs(["t"])
    assert names(inputs) == [("a.json", 0)]
    assert [(row.file, row.root, row.kind) for row in inputs.warnings] == [
        ("file.json", 0, "link-outside-root"),
        ("folder", 0, "link-outside-root"),
    ]
    assert inputs.skipped == 1


def test_links_within_the_root_give_each_file_once_under_its_own_name(here: Path) -> None:
    plant("t/z.json", "t/u/b.json", "t/.store/c.json")
    Path("t/a.json").symlink_to("z.json")
    Path("t/c.json").symlink_to(".store/c.json")
    Path("t/loop").symlink_to(".")
    Path("t/broken.json").symlink_to("nowhere.json")
    inputs = find_inputs(["t"])
    assert names(inputs) == [("c.json", 0), ("u/b.json", 0), ("z.json", 0)]
    assert [(row.file, row.kind) for row in inputs.warnings] == [
        ("a.json", "second-name"),
        ("broken.json", "broken-link"),
    ]


def test_a_root_may_itself_be_a_link(here: Path) -> None:
    plant("t/a.json")
    Path("link").symlink_to("t")
    inputs = find_inputs(["link", "t"])
    assert (names(inputs), inputs.roots) == ([("a.json", 0)], (str(here / "t"),))


def test_a_fixture_is_found_in_each_root_that_holds_it(here: Path) -> None:
    plant("t/a.json", "t/u/b.json", "v/a.json", "v/b.json")
    inputs = find_inputs(["t", "v"])
    assert {
        name: inputs.where(name) for name in ("a.json", "b.json", "u/b.json", "./u//b.json", "c.json", "../v/a.json")
    } == {
        "a.json": [0, 1],
        "b.json": [1],
        "u/b.json": [0],
        "./u//b.json": [0],
        "c.json": [],
        "../v/a.json": [],
    }


class Stdin:
    """Standard input with bytes in it."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(content))


PRETTY = b'{\n  "traceId": "a"\n}\n'


@pytest.mark.parametrize("content", [b'{"traceId": "a"}', b'{"traceId": "a"}\n', PRETTY, b"\xef\xbb\xbf" + PRETTY])
def test_standard_input_has_no_root_and_holds_lines_or_one_object(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    inputs = find_inputs(["-", "-"])
    assert inputs.files == (InputFile(path=None, name="-", root=NO_ROOT, kind="lines"),)
    assert inputs.where("-") == []
    [batch] = read_batches(inputs)
    assert [(row.trace.traceId, row.file, row.line, row.root) for row in batch.traces] == [("a", "-", 1, NO_ROOT)]


@pytest.mark.skipif(sys.platform == "darwin", reason="this file system takes no names that are not UTF-8")
def test_a_name_that_is_no_utf8_is_shown_as_valid_text(here: Path) -> None:
    Path("t").mkdir()
    with open(b"t/a\xff.json", "wb") as file:  # noqa: PTH123  # a name that no str path can give
        file.write(b'{"finalAnswer": 7}')
    inputs = find_inputs(["t"])
    assert names(inputs) == [("a\ufffd.json", 0)]
    [batch] = read_batches(inputs)
    assert [row.fault.file for row in batch.unreadable] == ["a\ufffd.json"]


def test_no_paths_give_nothing() -> None:
    assert find_inputs([]) == Inputs()


def test_a_table_in_a_folder_that_is_no_formats_own_is_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    (tmp_path / "budget.csv").write_text("month,amount\n1,2\n")
    (tmp_path / "results.csv").write_text("instruction,prediction,row_id,task_index\nq,p,0,task_1\n")
    inputs = find_inputs([str(tmp_path)])
    assert [file.name for file in inputs.files] == ["results.csv", "t.json"]
    assert inputs.skipped == 1
