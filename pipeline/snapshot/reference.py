"""A REF to a snapshot: a path, `git:BRANCH`, or `git:BRANCH:PATH` (contract section 8).

What a branch holds is read from the object store of the repository one stands in: no checkout, no network, nothing
written.
"""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from pipeline import git
from pipeline.errors import SnapshotError, quote
from pipeline.snapshot.files import Snapshot, open_parts, read_snapshot

DEFAULT_BASELINE: Final = "data/baseline/snapshot.parquet"
_PREFIX: Final = "git:"
_LFS_POINTER: Final = b"version https://git-lfs"


def resolve(reference: str | PathLike[str], *, as_baseline: bool = False) -> Snapshot:
    """Open the snapshot that a REF names.

    Args:
        reference: a path, `git:REVISION` or `git:REVISION:PATH`. A path in git counts from the top of the
            repository, as it does for git itself, or from the folder one stands in where it begins with `./`.
        as_baseline: whether it is wanted as a baseline; a message then says how one is saved.

    Raises:
        SnapshotError: there is no such snapshot, or it cannot be read.
    """
    reference = fspath(reference)
    if not reference.startswith(_PREFIX):
        file = snapshot_path(Path(reference))
        if as_baseline and not file.exists():
            raise SnapshotError(
                f"there is no baseline at {quote(reference)}",
                hint="save a run as one with: diagnosis-eval baseline save",
            )
        return read_snapshot(file, source=reference)
    revision, _, path = reference.removeprefix(_PREFIX).partition(":")
    prefix = git.require_repository()
    if not revision:
        raise SnapshotError(f"{quote(reference)} names no branch", hint="name one, as in: git:main")
    commit = git.commit_of(revision)
    if commit is None:
        raise SnapshotError(f"there is no revision '{quote(revision)}' in this repository", hint=_advice(revision))
    if path.startswith("./"):
        wanted = [prefix + path.removeprefix("./")]
    else:
        wanted = [path] if path else baseline_places(prefix)
    snapshot = first_snapshot(commit, wanted, source=reference)
    if snapshot is not None:
        return snapshot
    raise SnapshotError(
        f"the revision {quote(revision)} holds no snapshot at {' or '.join(map(quote, wanted))}",
        hint="save one there with: diagnosis-eval baseline save, and commit it; "
        "a path counts from the top of the repository, or from here with ./ before it",
    )


def baseline_places(prefix: str) -> list[str]:
    """Where a commit may keep its baseline: in the folder one stands in, else at the top of the repository.

    Args:
        prefix: that folder, from the top of the repository, with `/` at its end or empty.
    """
    return list(dict.fromkeys([prefix + DEFAULT_BASELINE, DEFAULT_BASELINE]))


def first_snapshot(commit: str, paths: Sequence[str], *, source: str) -> Snapshot | None:
    """The snapshot at the first of these paths of a commit that holds one, or None.

    Raises:
        SnapshotError: what stands there is no snapshot, or cannot be read.
    """
    found = (snapshot_at(commit, path.rstrip("/"), source=source) for path in paths)
    return next((snapshot for snapshot in found if snapshot is not None), None)


def snapshot_at(commit: str, path: str, *, source: str) -> Snapshot | None:
    """The snapshot at a path of a commit, or None where nothing stands there.

    Raises:
        SnapshotError: what stands there is no snapshot, or cannot be read.
    """
    files = git.files_at(commit, path)
    if files != [path]:
        # The folder of a run stands for the snapshot in it.
        files = git.files_at(commit, f"{path}/snapshot.parquet") or files
    parts = [git.read_at(commit, file) for file in files if file == path or file.endswith(".parquet")]
    if not parts:
        return None
    if any(part.startswith(_LFS_POINTER) for part in parts):
        raise SnapshotError(
            f"{quote(source)} is a Git LFS pointer, not the snapshot itself",
            hint="keep baselines out of Git LFS (they are small), or check the file out and give its path",
        )
    return open_parts(parts, source)


def snapshot_path(path: Path) -> Path:
    """The path of a snapshot: the folder of a run stands for the snapshot in it."""
    inside = path / "snapshot.parquet"
    return inside if path.is_dir() and inside.exists() else path


def _advice(revision: str) -> str:
    """What to do about a revision that is not here: a clone made for CI has one commit of one branch."""
    remotes = git.remotes()
    for remote in remotes:
        if git.commit_of(f"{remote}/{revision}"):
            return f"there is a remote branch of that name: git:{remote}/{revision}"
    if remotes and git.is_branch_name(revision):
        remote = next((name for name in remotes if revision.startswith(f"{name}/")), remotes[0])
        branch = revision.removeprefix(f"{remote}/")
        clone = "this is a shallow clone" if git.is_shallow() else "it may not have been fetched"
        return (
            f"{clone}; fetch the branch with: git fetch --depth=1 {remote} {branch}:refs/remotes/{remote}/{branch}, "
            f"and name it git:{remote}/{branch}"
        )
    if git.is_shallow():
        return "this is a shallow clone, which lacks older commits; fetch more of them with: git fetch --deepen=50"
    return "name a branch, tag or commit, as in: git:main, git:v1.2, git:HEAD~1:path/to/snapshot.parquet"
