"""What git knows, asked of the git command; never written to."""

import subprocess


def git_head() -> tuple[str | None, str | None]:
    """Commit and branch of the repository one stands in; None for what cannot be told.

    A detached head has no branch.
    """
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD", "--abbrev-ref", "HEAD"],  # noqa: S607 - the git of the user's PATH
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    if done.returncode:
        return None, None
    commit, branch = done.stdout.split()
    return commit, None if branch == "HEAD" else branch
