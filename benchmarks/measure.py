"""Runs a command and says what it cost: the whole process, from its start to its end, children included."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import msgspec

# The kernel counts the peak in KiB on Linux, in bytes on macOS.
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_MB: Final = 1_000_000

LAUNCHER: Final = Path(__file__).parent / "launch.py"

# Processes are looked at so often where their memory is added up.
LOOK_SECONDS: Final = 0.02

# How much of a failed command's words an error repeats.
WORDS_SHOWN: Final = 2_000


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a command cost.

    Attributes:
        wall_s: seconds from start to end.
        cpu_s: processor seconds of it and of the children that it waited for.
        rss_mb: peak resident set of the largest single process, in MB of 1,000,000 bytes, as the kernel counted it.
        pss_mb: peak of the memory of all its processes at one time, pages that they share counted once; None where
            it was not looked at, or the system does not say.
        processes: how many were seen at one time; 1 where nobody looked.
        exit_code: its exit code.
        stdout: what it printed.
    """

    wall_s: float
    cpu_s: float
    rss_mb: float
    pss_mb: float | None
    processes: int
    exit_code: int
    stdout: str

    @property
    def memory_mb(self) -> float:
        """Peak memory in MB: the kernel's own figure for one process, the sampled sum for several."""
        return self.rss_mb if self.pss_mb is None or self.processes == 1 else max(self.pss_mb, self.rss_mb)


class CommandFailedError(Exception):
    """A command did not end as it should, so its cost says nothing."""


def measure(  # noqa: PLR0913 - what a command may need, by name
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    codes: frozenset[int] = frozenset({0}),
    timeout_s: float = 3_600,
    look: bool = False,
) -> Usage:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        cwd: folder to run it in.
        env: variables on top of this process's own (of which PYTHONDONTWRITEBYTECODE is dropped: whoever installs a
            package has its bytecode).
        codes: exit codes that are no failure.
        timeout_s: after so many seconds it and its children are killed.
        look: add up the memory of all its processes while it runs. That disturbs it a little, so don't time such a run.

    Raises:
        CommandFailedError: it could not be started, took too long, or ended with another code.
    """
    with tempfile.TemporaryDirectory(prefix="measure-") as folder, ExitStack() as files:
        out, err = (files.enter_context((Path(folder) / name).open("w+b")) for name in ("out", "err"))
        report = Path(folder) / "report"
        process = subprocess.Popen(  # noqa: S603 - the benchmark's own commands
            [sys.executable, "-I", "-S", str(LAUNCHER), str(report), *command],
            cwd=cwd,
            env={**_inherited(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        looker = _Looker(process.pid) if look else None
        late = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if looker is not None:
                looker.stop()
            if process.returncode is None:
                _kill(process.pid)
                process.wait()
        shown = " ".join(command)[:WORDS_SHOWN]
        if late:
            raise CommandFailedError(f"{shown} took more than {timeout_s:g} s")
        if not report.exists():
            raise CommandFailedError(_words(err))
        wall, cpu, peak, status = report.read_text("ascii").split()
        code = os.waitstatus_to_exitcode(int(status))
        if code not in codes:
            raise CommandFailedError(f"{shown} ended with code {code}: {_words(err) or _words(out)}")
        out.seek(0)
        return Usage(
            wall_s=float(wall),
            cpu_s=float(cpu),
            rss_mb=int(peak) * _RSS_UNIT / _MB,
            pss_mb=looker.peak_mb if looker is not None else None,
            processes=looker.most if looker is not None else 1,
            exit_code=code,
            stdout=out.read().decode("utf-8", "replace"),
        )


def _inherited() -> dict[str, str]:
    """This process's variables, but for the one that makes Python compile a package anew at every start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _kill(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return


def _words(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode("utf-8", "replace").strip()[-WORDS_SHOWN:]


class _Looker(threading.Thread):
    """Adds up the memory of all descendants of a process, again and again.

    Args:
        pid: the process; it is not counted itself.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.most = 1
        self.peak_mb: float | None = None
        self._pid = pid
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._ended.wait(LOOK_SECONDS):
            _, *pids = descendants(self._pid)
            found = [memory for pid in pids if (memory := proportional_mb(pid)) is not None]
            if found:
                self.most = max(self.most, len(found))
                self.peak_mb = max(self.peak_mb or 0.0, sum(found))

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join()


def descendants(pid: int) -> Iterator[int]:
    """A process and all processes under it, as far as the system tells; one that ends meanwhile is left out."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        try:
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                waiting.extend(int(child) for child in children.read_text("ascii").split())
        except OSError:
            continue


def proportional_mb(pid: int) -> float | None:
    """The memory of a process, what it shares with others in proportion; None where the system does not say."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / _MB
    except OSError:
        return None
    return None
