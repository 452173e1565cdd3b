"""What git knows, asked of the git command: never over the network, and never writing anything."""

import os
import subprocess
from collections.abc import Sequence
from typing import Final

from pipeline.errors import SnapshotError, quote

# A partial clone would otherwise fetch what it lacks; a question of ours must not wait for a password either.
_QUIET: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _git(arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - no shell, and revisions come after --end-of-options
            ["git", "-c", "protocol.allow=never", *arguments],  # noqa: S607 - the git of the user's PATH
            capture_output=True,
            check=False,
            env={**os.environ, **_QUIET},
        )
    except OSError as error:
        raise SnapshotError(
            "the git command was not found", hint="install git, or name a snapshot by its path"
        ) from error


def git_head() -> tuple[str | None, str | None]:
    """Commit and branch of the repository one stands in; None for what cannot be told.

    A detached head has no branch.
    """
    try:
        done = _git(["rev-parse", "HEAD", "--abbrev-ref", "HEAD"])
    except SnapshotError:
        return None, None
    if done.returncode:
        return None, None
    # A branch may be named in any bytes; run.json is UTF-8.
    commit, branch = done.stdout.decode("utf-8", "replace").split()
    return commit, None if branch == "HEAD" else branch


def require_repository() -> str:
    """The folder one stands in, relative to the top of its repository, with a `/` at its end or empty.

    Raises:
        SnapshotError: there is no repository here, or git refuses to read it.
    """
    done = _git(["rev-parse", "--show-prefix"])
    if done.returncode:
        reason = _reason(done)
        raise SnapshotError(
            f"git cannot read a repository here: {reason}",
            hint="run this inside the repository, or name a snapshot by its path",
        )
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def commit_of(revision: str) -> str | None:
    """The commit that a revision names, or None where it names none here."""
    done = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])
    return None if done.returncode else done.stdout.decode().strip()


def is_shallow() -> bool:
    """Whether the repository is a shallow clone, which lacks older commits."""
    return _git(["rev-parse", "--is-shallow-repository"]).stdout.strip() == b"true"


def files_at(commit: str, path: str) -> list[str]:
    """The files at or directly below a path in a commit, sorted: the file itself, or those of the folder.

    Links are not followed, and what hidden files there are is nobody's data.

    Args:
        commit: a full commit id.
        path: from the top of the repository.

    Raises:
        SnapshotError: git cannot tell, as in a partial clone that lacks the folder.
    """
    if {"", ".", ".."} & set(path.split("/")):
        return []
    if path in _files(commit, path):
        return [path]
    return sorted(name for name in _files(commit, f"{path}/") if not name.rpartition("/")[2].startswith("."))


def _files(commit: str, path: str) -> list[str]:
    done = _git(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path])
    if done.returncode:
        raise SnapshotError(
            f"git cannot look for {quote(path)} in commit {commit[:12]}: {_reason(done)}",
            hint="in a partial clone, fetch the commit's files first, as with: git checkout",
        )
    entries = [entry.partition("\t") for entry in done.stdout.decode("utf-8", "surrogateescape").split("\0")]
    # Mode, type and id, a tab, the name; 100644 and 100755 are files.
    return [name for facts, _, name in entries if facts.startswith("100")]


def read_at(commit: str, path: str) -> bytes:
    """The bytes of a file in a commit.

    Raises:
        SnapshotError: git cannot give them, as in a partial clone that lacks the file.
    """
    done = _git(["cat-file", "blob", f"{commit}:{path}"])
    if done.returncode:
        raise SnapshotError(
            f"git cannot read {quote(path)} of commit {commit[:12]}: {_reason(done)}",
            hint="in a partial clone, fetch the file first (git fetch, or git checkout of that path)",
        )
    return done.stdout


def remotes() -> list[str]:
    """The names of the remotes, `origin` first."""
    names = _git(["remote"]).stdout.decode("utf-8", "surrogateescape").split()
    return sorted(names, key=lambda name: (name != "origin", name))


def is_branch_name(name: str) -> bool:
    """Whether a branch could have that name."""
    return _git(["check-ref-format", "--branch", name]).returncode == 0


def branches() -> list[tuple[str, str]]:
    """All branches, local ones first, then remote ones: name and commit."""
    done = _git(["for-each-ref", "--format=%(refname:short)%00%(objectname)%00%(symref)", "refs/heads", "refs/remotes"])
    rows = [line.split("\0") for line in done.stdout.decode("utf-8", "surrogateescape").splitlines()]
    # origin/HEAD only points at another branch of the list.
    return [(name, commit) for name, commit, points_at in rows if not points_at]


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return quote(text.removeprefix("fatal: ")) or f"exit code {done.returncode}"
