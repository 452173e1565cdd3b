"""Snapshots read from branches: never a checkout, never the network, nothing written (contract section 8)."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline import git
from pipeline.errors import SnapshotError
from pipeline.snapshot.files import Snapshot, write_snapshot
from pipeline.snapshot.reference import DEFAULT_BASELINE, resolve
from tests.snapshot.made import Row, frame, info, judged

# The first commit of every repository made here; each snapshot has one case, named after what it stands for.
LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 12345\n"


@pytest.fixture(autouse=True)
def nobodys_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the machine, and a user of our own."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.org")


class Repository:
    """A scratch repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder or self.folder, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace").strip()

    def snapshot(self, path: str, *cases: str) -> None:
        """A snapshot of these cases; of more than one case a folder with a part for each."""
        parts: Sequence[Sequence[Row]] = [[judged(case)] for case in cases]
        write_snapshot(self.folder / path, [frame(rows) for rows in parts], info())

    def commit(self, message: str = "change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def state(self) -> tuple[str, str, str, list[str]]:
        """What must be the same after a question as it was before."""
        objects = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()]
        return (
            self.git("status", "--porcelain"),
            self.git("for-each-ref"),
            self.git("count-objects", "-v"),
            sorted(objects),
        )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """One stands in it; main has the baseline `new`, the commit and tag before it `old`, the branch topic `topic`."""
    made = Repository(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    made.snapshot(DEFAULT_BASELINE, "old")
    made.commit()
    made.git("tag", "v1")
    made.git("checkout", "--quiet", "-b", "topic")
    made.snapshot(DEFAULT_BASELINE, "topic")
    made.snapshot("runs/一 二/s ü.parquet", "elsewhere")
    made.snapshot("runs/parts", "p1", "p2", "p3")
    made.snapshot("runs/latest/snapshot.parquet", "r1", "r2")
    made.snapshot("runs/small/snapshot.parquet", "r3")
    (made.folder / "runs/parts/README.md").write_text("three parts", "utf-8")
    made.commit()
    made.git("checkout", "--quiet", "main")
    made.snapshot(DEFAULT_BASELINE, "new")
    made.commit()
    return made


def cases(found: Snapshot) -> list[str]:
    return found.rows.collect()["case_id"].to_list()


REFERENCES = {
    "a branch": ("git:main", ["new"]),
    "another branch": ("git:topic", ["topic"]),
    "a branch by its full name": ("git:refs/heads/topic", ["topic"]),
    "a tag": ("git:v1", ["old"]),
    "a commit before": ("git:HEAD~1", ["old"]),
    "a commit by another notation": ("git:main^", ["old"]),
    "a path": (f"git:topic:{DEFAULT_BASELINE}", ["topic"]),
    "a path with blanks and other scripts": ("git:topic:runs/一 二/s ü.parquet", ["elsewhere"]),
    "a path from here": ("git:topic:./runs/parts", ["p1", "p2", "p3"]),
    "a folder of parts": ("git:topic:runs/parts", ["p1", "p2", "p3"]),
    "a folder of parts with a slash": ("git:topic:runs/parts/", ["p1", "p2", "p3"]),
    "the folder of a run": ("git:topic:runs/small", ["r3"]),
    "the folder of a large run": ("git:topic:runs/latest", ["r1", "r2"]),
    "a part alone": ("git:topic:runs/parts/part-00001.parquet", None),
}


@pytest.mark.parametrize("reference, expected", REFERENCES.values(), ids=REFERENCES)
def test_a_reference_names_a_snapshot(repository: Repository, reference: str, expected: list[str] | None) -> None:
    before = repository.state()

    if expected is None:
        with pytest.raises(SnapshotError, match="lacks parts"):
            resolve(reference)
    else:
        found = resolve(reference)
        assert expected == cases(found)
        assert reference == found.source
    assert before == repository.state()


def test_a_commit_is_named_by_its_id(repository: Repository) -> None:
    assert cases(resolve(f"git:{repository.git('rev-parse', 'v1')}")) == ["old"]
    assert cases(resolve(f"git:{repository.git('rev-parse', '--short', 'v1')}")) == ["old"]


def test_an_annotated_tag_names_its_commit(repository: Repository) -> None:
    repository.git("tag", "--annotate", "v2", "--message", "second", "topic")

    assert cases(resolve("git:v2")) == ["topic"]


def test_what_is_changed_but_not_committed_is_not_seen(repository: Repository) -> None:
    repository.snapshot(DEFAULT_BASELINE, "dirty")

    assert cases(resolve("git:HEAD")) == ["new"]
    assert cases(resolve(DEFAULT_BASELINE)) == ["dirty"]


def test_a_detached_head_is_a_revision_like_any_other(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--detach", "v1")

    assert cases(resolve("git:HEAD")) == ["old"]
    assert (repository.git("rev-parse", "v1"), None) == git.git_head()


def test_head_has_commit_and_branch(repository: Repository) -> None:
    assert (repository.git("rev-parse", "HEAD"), "main") == git.git_head()


# Where one stands


@pytest.fixture
def project(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """One stands in a project that is a folder of its repository, with a baseline of its own on the branch app."""
    repository.git("checkout", "--quiet", "-b", "app")
    repository.snapshot(f"apps/diagnosis/{DEFAULT_BASELINE}", "app")
    repository.commit()
    monkeypatch.chdir(repository.folder / "apps/diagnosis")
    return repository


PLACES = {
    "the baseline of the folder one stands in": ("git:app", ["app"]),
    "else that of the repository": ("git:main", ["new"]),
    "a path counts from the top": (f"git:app:{DEFAULT_BASELINE}", ["new"]),
    "a path counts from here where it says so": (f"git:app:./{DEFAULT_BASELINE}", ["app"]),
}


@pytest.mark.parametrize("reference, expected", PLACES.values(), ids=PLACES)
def test_a_project_in_a_folder_of_its_repository(project: Repository, reference: str, expected: list[str]) -> None:
    assert expected == cases(resolve(reference))


def test_a_missing_snapshot_names_the_places_that_were_looked_at(project: Repository) -> None:
    project.git("rm", "--quiet", "-r", DEFAULT_BASELINE, f"./apps/diagnosis/{DEFAULT_BASELINE}", folder=project.folder)
    project.commit()
    (project.folder / "apps/diagnosis").mkdir(parents=True, exist_ok=True)
    os.chdir(project.folder / "apps/diagnosis")

    assert refused("git:app") == (
        "the revision app holds no snapshot at apps/diagnosis/data/baseline/snapshot.parquet or "
        "data/baseline/snapshot.parquet"
    )
    assert refused("git:app:./x") == "the revision app holds no snapshot at apps/diagnosis/x"


def test_a_worktree(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "topic")
    monkeypatch.chdir(tmp_path / "tree")

    assert cases(resolve("git:HEAD")) == ["topic"]
    assert cases(resolve("git:main")) == ["new"]
    assert git.git_head()[1] == "topic"


def test_a_bare_repository(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.git("clone", "--quiet", "--bare", str(repository.folder), str(tmp_path / "bare.git"))
    monkeypatch.chdir(tmp_path / "bare.git")

    assert cases(resolve("git:topic")) == ["topic"]
    assert cases(resolve("git:topic:./runs/parts")) == ["p1", "p2", "p3"]


def test_a_branch_named_in_bytes_that_are_no_text(repository: Repository) -> None:
    subprocess.run([b"git", b"checkout", b"--quiet", b"-b", b"caf\xe9"], cwd=repository.folder, check=True)

    assert git.git_head()[1] == "caf\N{REPLACEMENT CHARACTER}"
    assert cases(resolve("git:caf\udce9")) == ["new"]


def test_a_branch_that_looks_like_an_option_is_a_branch(repository: Repository) -> None:
    repository.git("update-ref", "refs/heads/--all", "topic")

    assert cases(resolve("git:--all")) == ["topic"]


def test_an_alternative_object_store_is_read_too(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("clone", "--quiet", "--shared", str(repository.folder), str(tmp_path / "shared"))
    monkeypatch.chdir(tmp_path / "shared")

    assert cases(resolve("git:origin/topic")) == ["topic"]


# Clones made for CI have one commit of one branch


def cloned(repository: Repository, folder: Path, *options: str) -> Repository:
    repository.git("clone", "--quiet", *options, f"file://{repository.folder}", str(folder))
    clone = Repository.__new__(Repository)
    clone.folder = folder
    return clone


def refused(reference: str) -> str:
    with pytest.raises(SnapshotError) as error:
        resolve(reference)
    assert error.value.exit_code == 2
    assert error.value.hint
    return error.value.message


def advice(reference: str) -> str:
    with pytest.raises(SnapshotError) as error:
        resolve(reference)
    return error.value.hint


@pytest.mark.parametrize("name", ["topic", "origin/topic"])
def test_a_shallow_clone_says_how_to_fetch_the_branch_and_that_works(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    clone = cloned(repository, tmp_path / "shallow", "--depth=1")
    monkeypatch.chdir(clone.folder)
    before = clone.state()

    assert refused(f"git:{name}") == f"there is no revision '{name}' in this repository"
    hint = advice(f"git:{name}")
    assert hint == (
        "this is a shallow clone; fetch the branch with: "
        "git fetch --depth=1 origin topic:refs/remotes/origin/topic, and name it git:origin/topic"
    )
    assert before == clone.state()

    command = hint.partition("git fetch ")[2].partition(",")[0]
    clone.git("fetch", "--quiet", *command.split())
    assert cases(resolve("git:origin/topic")) == ["topic"]


def test_a_shallow_clone_says_that_it_lacks_older_commits(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = cloned(repository, tmp_path / "shallow", "--depth=1")
    monkeypatch.chdir(clone.folder)

    assert "fetch more of them with: git fetch --deepen=50" in advice("git:HEAD~1")
    clone.git("fetch", "--quiet", "--deepen=50")
    assert cases(resolve("git:HEAD~1")) == ["old"]


def test_a_clone_of_one_branch_says_how_to_fetch_another(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = cloned(repository, tmp_path / "single", "--single-branch")
    monkeypatch.chdir(clone.folder)

    assert advice("git:topic") == (
        "it may not have been fetched; fetch the branch with: "
        "git fetch --depth=1 origin topic:refs/remotes/origin/topic, and name it git:origin/topic"
    )


def test_a_remote_branch_is_suggested_by_its_name(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = cloned(repository, tmp_path / "full")
    clone.git("remote", "rename", "origin", "upstream")
    monkeypatch.chdir(clone.folder)

    assert cases(resolve("git:upstream/topic")) == ["topic"]
    assert advice("git:topic") == "there is a remote branch of that name: git:upstream/topic"


@pytest.mark.parametrize("filtered, words", [("blob:none", "git cannot read"), ("tree:0", "git cannot look for")])
def test_a_partial_clone_is_not_fetched_behind_the_users_back(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filtered: str, words: str
) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = cloned(repository, tmp_path / "partial", f"--filter={filtered}", "--no-checkout")
    monkeypatch.chdir(clone.folder)
    before = clone.git("count-objects", "-v")

    assert refused("git:origin/topic").startswith(words)
    assert "in a partial clone" in advice("git:origin/topic")
    assert before == clone.git("count-objects", "-v")


# What is refused

UNKNOWN = {
    "an unknown branch": "git:nowhere",
    "an option": "git:--output=x",
    "a short option": "git:-n",
    "an option with a path": "git:--help:x",
    "no name for a branch": "git:a..b",
    "a tree": "git:HEAD^{tree}",
    "too far back": "git:HEAD~99",
    "a terminal escape": "git:\x1b[31m",
}


@pytest.mark.parametrize("reference", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_revision(repository: Repository, reference: str) -> None:
    before = repository.state()

    message = refused(reference)

    assert message.startswith("there is no revision '")
    assert message.endswith("' in this repository")
    assert "\x1b" not in message
    assert advice(reference) == (
        "name a branch, tag or commit, as in: git:main, git:v1.2, git:HEAD~1:path/to/snapshot.parquet"
    )
    assert before == repository.state()


@pytest.mark.parametrize("reference", ["git:", "git::data"])
def test_no_revision_at_all(repository: Repository, reference: str) -> None:
    assert refused(reference) == f"{reference} names no branch"


ELSEWHERE = {
    "a path that is not there": "nowhere.parquet",
    "a path that leaves the repository": "../x",
    "an absolute path": "/etc/passwd",
    "a pattern": "data/*/snapshot.parquet",
    "magic": ":(glob)**/snapshot.parquet",
    "a path with a blank name in it": "data//baseline/snapshot.parquet",
    "a file below a file": f"{DEFAULT_BASELINE}/x",
    "a folder without parts": "data",
    "nothing": "./",
}


@pytest.mark.parametrize("path", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_path_without_a_snapshot(repository: Repository, path: str) -> None:
    assert refused(f"git:main:{path}").startswith("the revision main holds no snapshot at ")


def test_a_git_lfs_pointer(repository: Repository) -> None:
    (repository.folder / DEFAULT_BASELINE).write_text(LFS_POINTER, "utf-8")
    repository.commit()

    assert refused("git:HEAD") == "git:HEAD is a Git LFS pointer, not the snapshot itself"


def test_what_is_no_snapshot(repository: Repository) -> None:
    (repository.folder / DEFAULT_BASELINE).write_text("no Parquet", "utf-8")
    repository.commit()

    assert refused("git:HEAD").startswith("git:HEAD cannot be read as Parquet: ")


def test_a_link_is_not_followed(repository: Repository) -> None:
    (repository.folder / "link.parquet").symlink_to(DEFAULT_BASELINE)
    repository.commit()

    assert refused("git:HEAD:link.parquet") == "the revision HEAD holds no snapshot at link.parquet"


def test_a_submodule_holds_no_snapshot(repository: Repository, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    other.snapshot("s.parquet", "x")
    other.commit()
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.folder), "sub")
    repository.commit()

    assert refused("git:HEAD:sub") == "the revision HEAD holds no snapshot at sub"
    assert refused("git:HEAD:sub/s.parquet") == "the revision HEAD holds no snapshot at sub/s.parquet"


def test_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert refused("git:main").startswith("git cannot read a repository here: not a git repository")
    assert git.git_head() == (None, None)


def test_a_repository_without_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Repository(tmp_path / "empty")
    monkeypatch.chdir(empty.folder)

    assert refused("git:main") == "there is no revision 'main' in this repository"
    assert git.git_head() == (None, None)
    assert git.branches() == []


def test_without_git(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert refused("git:main") == "the git command was not found"
    assert git.git_head() == (None, None)


def test_a_failure_without_words_gives_its_exit_code(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mute = tmp_path / "bin/git"
    mute.parent.mkdir()
    mute.write_text("#!/bin/sh\nexit 42\n", "utf-8")
    mute.chmod(0o755)
    monkeypatch.setenv("PATH", str(mute.parent))

    assert refused("git:main") == "git cannot read a repository here: exit code 42"


# Branches


def test_branches_local_ones_first(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = cloned(repository, tmp_path / "clone")
    monkeypatch.chdir(clone.folder)

    head, topic = repository.git("rev-parse", "main"), repository.git("rev-parse", "topic")
    assert [("main", head), ("origin/main", head), ("origin/topic", topic)] == git.branches()


@pytest.mark.parametrize(
    "names, expected",
    [([], []), (["upstream", "origin", "fork"], ["origin", "fork", "upstream"])],
    ids=["none", "three"],
)
def test_origin_is_the_first_remote(repository: Repository, names: list[str], expected: list[str]) -> None:
    for name in names:
        repository.git("remote", "add", name, "https://example.org/x.git")

    assert expected == git.remotes()
