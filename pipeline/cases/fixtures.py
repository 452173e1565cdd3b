"""What a `traceFixture` may name: a file below the traces root (requirement R12)."""

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pipeline.cases.model import Suite
from pipeline.errors import Fault, quote

_DRIVE = re.compile(r"[A-Za-z]:")


def fixture_name(written: str) -> str:
    """A fixture as traces are named: without `.` and doubled slashes.

    >>> fixture_name("./mysql//pool.json")
    'mysql/pool.json'
    """
    return str(PurePosixPath(written))


def fixture_problem(written: str) -> str | None:
    """Why a text cannot name a file below any root, None where it can."""
    if "\\" in written:
        return "it has a backslash; write / between folders"
    if written.startswith("/") or _DRIVE.match(written):
        return "it is absolute; write it relative to the traces root"
    parts = written.split("/")
    if ".." in parts:
        return "it leaves the traces root; write it relative to that root, without any `..`"
    if parts[-1].strip() in {"", "."}:
        return "it names a folder; name a file"
    return None


def fixture_escapes(suite: Suite, roots: Iterable[str | Path]) -> list[Fault]:
    """The fixtures that a symbolic link leads out of their traces root.

    Args:
        suite: the suite.
        roots: the folders that `traceFixture` is relative to; the root of a file is its folder, `-` has none.

    Returns:
        One fault for each case and root, by case id.
    """
    faults: list[Fault] = []
    resolved = [(root, os.path.realpath(root)) for root in map(_folder, roots) if root is not None]
    for case in suite.cases:
        if case.trace_fixture is None:
            continue
        for root, real_root in resolved:
            target = os.path.realpath(Path(real_root) / case.trace_fixture)
            if not Path(target).is_relative_to(real_root):
                origin = suite.origins.get(case.id)
                faults.append(
                    Fault(
                        file=origin.file if origin else "",
                        line=origin.line if origin else None,
                        path=f"{origin.path}.traceFixture" if origin else "$",
                        expected="a file inside the traces root",
                        found=f"{quote(case.trace_fixture)}, a symbolic link out of {quote(root.as_posix())}",
                        message=(
                            f"The traceFixture of case {case.id} leaves the traces root;"
                            " copy the file into the root instead of linking to it."
                        ),
                    )
                )
    return faults


def _folder(root: str | Path) -> Path | None:
    if str(root) == "-":
        return None
    path = Path(root)
    return path.parent if path.is_file() else path
