"""What the command says: runs it in this process, as a user without a terminal would see it."""

import contextlib
import io
import os
import re
import shlex
from pathlib import Path
from typing import Final
from unittest import mock

import msgspec

WIDTH: Final = 100
# Automation services and some shells ask for colours, or say that the output is a terminal.
_ASK_FOR_COLOUR: Final = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_END_OF_LINE: Final = re.compile(r"[ \t]+$", re.MULTILINE)


class Said(msgspec.Struct, frozen=True):
    """What a command gave back.

    Attributes:
        exit_code: its exit code.
        stdout: its standard output, without colours and without white space at the ends of lines.
        stderr: its standard error, likewise.
    """

    exit_code: int
    stdout: str
    stderr: str


def plain_environment() -> dict[str, str]:
    """This process's environment, as of a user without a terminal."""
    kept = {name: value for name, value in os.environ.items() if name not in _ASK_FOR_COLOUR}
    return {**kept, "COLUMNS": str(WIDTH), "TERM": "xterm", "NO_COLOR": "1"}


def say(command: str, *, folder: Path | None = None, stdin: bytes = b"") -> Said:
    """Run `diagnosis-eval`.

    Args:
        command: what follows the program's name, as in a shell.
        folder: the folder it runs in.
        stdin: what it may read.
    """
    from pipeline.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), encoding="utf-8")
    exit_code: object = 0
    with (
        mock.patch.dict(os.environ, plain_environment(), clear=True),
        mock.patch("sys.stdin", given),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(shlex.split(command))
        except SystemExit as ended:
            exit_code = ended.code or 0
    if not isinstance(exit_code, int):
        raise TypeError(f"the exit code is {exit_code!r}")
    return Said(exit_code=exit_code, stdout=_plain(out), stderr=_plain(err))


def _plain(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return _END_OF_LINE.sub("", _COLOUR.sub("", stream.read()))
