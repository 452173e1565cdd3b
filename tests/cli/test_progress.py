"""Progress is for people who watch: on standard error, on a terminal, and only where the work takes long."""

import gzip
import io
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from pipeline.cli import progress
from pipeline.run import Options, run
from pipeline.sources.read import read_batches

TRACES = [json.dumps({"caseId": "a", "finalAnswer": f"answer {number}"}) for number in range(9)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Watched = Callable[[float], Terminal]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Make standard error a terminal; pytest would put its own stream back before the test begins."""

    def watch(patience: float) -> Terminal:
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(progress, "PATIENCE_SECONDS", patience)
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return watch


def test_nobody_watches_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar() as tell:
        assert tell is None
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_no_bar(watched: Watched) -> None:
    terminal = watched(3600)
    with progress.progress_bar() as tell:
        assert tell is not None
        tell(1, 2)
    assert terminal.getvalue() == ""


def test_long_work_shows_how_much_is_done(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = watched(-1)
    with progress.progress_bar() as tell:
        assert tell is not None
        tell(1_000, 4_000)
        tell(2_000, 4_000)
    shown = terminal.getvalue()
    assert "judging" in shown
    assert "2.0/4.0 kB" in shown
    # The bar goes away, and standard output is not touched.
    assert shown.rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h"))
    assert capsys.readouterr().out == ""


def test_work_without_a_known_end_shows_what_is_done(watched: Watched) -> None:
    terminal = watched(-1)
    with progress.progress_bar() as tell:
        assert tell is not None
        tell(3_000, 0)
    assert "3.0/? kB" in terminal.getvalue()


def test_the_terminal_is_left_in_order_when_the_work_fails(watched: Watched) -> None:
    terminal = watched(-1)
    with suppress(KeyboardInterrupt), progress.progress_bar() as tell:
        assert tell is not None
        tell(1, 2)
        raise KeyboardInterrupt
    # The cursor is shown again.
    assert "\x1b[?25h" in terminal.getvalue()


def told(folder: Path, traces: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    case = {"id": "a", "question": "q", "rootCauseKeywords": [], "requiredEvidenceTools": [], "requireVerdict": False}
    (folder / "cases.json").write_text(json.dumps({"schemaVersion": 1, "suite": "s", "cases": [case]}))
    monkeypatch.setattr("pipeline.flatten.batches.read_batches", partial(read_batches, batch_bytes=3_100))
    calls: list[tuple[int, int]] = []
    options = Options(cases=(str(folder / "cases.json"),), traces=tuple(traces))
    run(options, progress=lambda done, total: calls.append((done, total)))
    return calls


def test_a_run_tells_the_bytes_read_of_all_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").write_text("".join(f"{line}\n" for line in TRACES))
    length = len(TRACES[0])
    total = 9 * (length + 1)
    # Line ends are not counted as read.
    expected = [(batch * 3 * length, total) for batch in (1, 2, 3)]
    assert told(tmp_path, [str(tmp_path / "t.jsonl")], monkeypatch) == expected


def test_the_end_of_compressed_files_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress("\n".join(TRACES).encode()))
    assert told(tmp_path, [str(tmp_path / "t.jsonl.gz")], monkeypatch)[-1] == (9 * len(TRACES[0]), 0)


def test_the_end_of_standard_input_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(TRACES).encode())))
    assert told(tmp_path, ["-"], monkeypatch)[-1] == (9 * len(TRACES[0]), 0)
