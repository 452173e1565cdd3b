"""A REF to a snapshot: a path, `git:BRANCH`, or `git:BRANCH:PATH` (contract section 8).

What a branch holds is read from the object store of the repository one stands in: no checkout, no network, nothing
written.
"""

from pathlib import Path
from typing import Final

from pipeline import git
from pipeline.errors import SnapshotError
from pipeline.snapshot.files import Snapshot, open_parts, read_snapshot

DEFAULT_BASELINE: Final = "data/baseline/snapshot.parquet"
_PREFIX: Final = "git:"
_LFS_POINTER: Final = b"version https://git-lfs"


def resolve(reference: str) -> Snapshot:
    """Open the snapshot that a REF names.

    Args:
        reference: a path, `git:REVISION` or `git:REVISION:PATH`.

    Raises:
        SnapshotError: there is no such snapshot, or it cannot be read.
    """
    if not reference.startswith(_PREFIX):
        return read_snapshot(snapshot_path(Path(reference)), source=reference)
    revision, _, path = reference.removeprefix(_PREFIX).partition(":")
    prefix = git.require_repository()
    commit = git.commit_of(revision) if revision else None
    if commit is None:
        raise SnapshotError(f"there is no revision {revision!r} in this repository", hint=_advice(revision))
    # A project may stand in a folder of its repository: there the default is looked for first.
    wanted = [path] if path else list(dict.fromkeys([prefix + DEFAULT_BASELINE, DEFAULT_BASELINE]))
    if path.startswith("./"):
        wanted = [prefix + path.removeprefix("./")]
    for candidate in wanted:
        snapshot = snapshot_at(commit, candidate.rstrip("/"), source=reference)
        if snapshot is not None:
            return snapshot
    raise SnapshotError(
        f"the revision {revision} holds no snapshot at {' or '.join(wanted)}",
        hint="save one there with: diagnosis-eval baseline save, and commit it",
    )


def snapshot_at(commit: str, path: str, *, source: str) -> Snapshot | None:
    """The snapshot at a path of a commit, or None where nothing stands there.

    Raises:
        SnapshotError: what stands there is no snapshot, or cannot be read.
    """
    files = git.files_at(commit, path)
    parts = [git.read_at(commit, file) for file in files if len(files) == 1 or file.endswith(".parquet")]
    if not parts:
        return None
    if any(part.startswith(_LFS_POINTER) for part in parts):
        raise SnapshotError(
            f"{source} is a Git LFS pointer, not the snapshot itself",
            hint="keep baselines out of Git LFS (they are small), or check the file out and give its path",
        )
    return open_parts(parts, source)


def snapshot_path(path: Path) -> Path:
    """The path of a snapshot: the folder of a run stands for the snapshot in it."""
    inside = path / "snapshot.parquet"
    return inside if path.is_dir() and inside.exists() else path


def _advice(revision: str) -> str:
    if revision and git.commit_of(f"origin/{revision}"):
        return f"there is a remote branch of that name: git:origin/{revision}"
    if git.is_shallow():
        return f"this is a shallow clone: fetch the branch first, as with: git fetch --depth=1 origin {revision}:{revision}"
    return "name a branch, tag or commit, as in: git:main, git:v1.2, git:HEAD~1:path/to/snapshot.parquet"
