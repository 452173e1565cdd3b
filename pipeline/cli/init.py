"""`diagnosis-eval init`."""

import os
import shlex
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer

from pipeline.errors import OutputError, UsageError, quote

# What is written, and which file of pipeline/example/ it is. Names there have no dot in front: a packager may leave
# hidden files out, and git would heed a .gitignore.
FILES: Final = {
    "cases/example.yaml": "cases.yaml",
    "fixtures/traces/pool-exhausted.json": "traces/pool-exhausted.json",
    "fixtures/traces/no-evidence.json": "traces/no-evidence.json",
    "fixtures/traces/cache-eviction.json": "traces/cache-eviction.json",
    ".github/workflows/diagnosis-eval.yml": "workflow.yml",
    ".gitignore": "gitignore",
    "README.md": "readme.md",
}
# Whatever stands in these would be judged together with the example.
MUST_BE_EMPTY: Final = ("cases", "fixtures/traces")


def init(
    folder: Annotated[Path, typer.Argument(help="Where to; it is made if it does not exist.")] = Path(),
) -> None:
    """Write a working example suite: three cases, their traces, and a workflow for GitHub Actions.

    Nothing that stands there is replaced: where one of the files is in the way, nothing is written.
    """
    taken = _in_the_way(folder)
    if taken:
        raise UsageError(
            f"nothing was written, because there already is: {', '.join(map(quote, taken))}",
            hint="name an empty folder, as in: diagnosis-eval init my-suite",
        )
    for path in _write(folder):
        typer.echo(str(path), err=True)
    there = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    typer.echo(f"now run: {there}diagnosis-eval run", err=True)


def _in_the_way(folder: Path) -> list[str]:
    """What stands where something is to be written, below the folder; the folder itself where it is none."""
    if os.path.lexists(folder) and not folder.is_dir():
        return [str(folder)]
    taken = {name for name in FILES if os.path.lexists(folder / name)}
    for name in FILES:
        parents = [parent.as_posix() for parent in Path(name).parents if parent != Path()]
        taken |= {parent for parent in parents if os.path.lexists(folder / parent) and not (folder / parent).is_dir()}
    for name in MUST_BE_EMPTY:
        if (folder / name).is_dir():
            taken |= {f"{name}/{entry.name}" for entry in (folder / name).iterdir()}
    return sorted(taken)


def _write(folder: Path) -> list[Path]:
    """Write all files, or none: what was written before a fault is removed again."""
    source = files("pipeline") / "example"
    written: list[Path] = []
    try:
        for name, example in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # Exclusive: what came here since it was looked for is not replaced either.
            with path.open("xb") as file:
                written.append(path)
                file.write((source / example).read_bytes())
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise OutputError(
            f"cannot write {quote(str(error.filename or folder))}: {error.strerror or error}",
            hint="name another folder, or make room and give permission there",
        ) from error
    return written
