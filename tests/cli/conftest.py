"""The command line in this process, for tests that look at what it prints."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli import main

Command = Callable[..., int]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in an empty folder, without a terminal: its exit code."""
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> int:
        # Pytest's own streams stand for pipes; they cannot be told their encoding.
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "reconfigure", lambda **_: None, raising=False)
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        return int(str(ended.value.code))

    return run
