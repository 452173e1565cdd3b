"""Where a benchmark run keeps its inputs, and how its commands are started."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

import msgspec

from benchmarks.comparison import Command
from benchmarks.generate import write

DRIVERS: Final = Path(__file__).parent / "drivers"
REPOSITORY: Final = Path(__file__).parents[1]


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of inputs and outputs, and the environments that the two sides run in.

    Attributes:
        root: the folder; what it held is removed at the start of a run.
        python: the interpreter of the environment that diagnosis-eval is installed in.
        peers: the environment of the tools it is measured against.
    """

    root: Path
    python: Path
    peers: Path

    def clear(self) -> None:
        """Begin with an empty folder."""
        rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)

    def made(self, name: str, make: Callable[[Path], None]) -> Path:
        """A folder of that name, filled by `make` the first time it is asked for."""
        folder = self.root / name
        if not folder.exists():
            # Renamed when done: one that was left half made is made again.
            beside = folder.with_name(folder.name + ".part")
            rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
            make(beside)
            beside.rename(folder)
        return folder

    def traces(self, count: int, *, files: bool = False, **looks: Any) -> Path:
        """A folder with `cases.json` and `traces.jsonl`, or `traces/` of one file each; see `generate.Shape`."""
        shown = [
            f"{name}={value if isinstance(value, int | float) else '+'.join(value)}" for name, value in looks.items()
        ]
        name = "-".join(["traces", str(count), *(["files"] if files else []), *shown])
        return self.made(name, lambda folder: write(folder, count, files=files, **looks))

    def command(self, *arguments: str | Path) -> list[str]:
        """Our command line."""
        return [str(self.python.parent / "diagnosis-eval"), *map(str, arguments)]

    def run(
        self,
        name: str,
        cases: Path,
        traces: Path,
        *options: str,
        answer: Callable[[Path], Any],
        label: str = "diagnosis-eval run",
    ) -> Command:
        """Our `run`.

        Args:
            name: of the folder for its outputs.
            cases: the case file.
            traces: the trace file or folder.
            *options: further options.
            answer: what it found, from the folder of its outputs.
            label: who it is.
        """
        out = self.root / "out" / name
        return Command(
            label=label,
            argv=self.command(
                "run", "--cases", cases, "--traces", traces, "--out", out, "--quiet", "--fail-on", "never", *options
            ),
            answer=lambda _: answer(out),
            makes=(out,),
        )

    def driver(self, interpreter: Path, name: str, *arguments: str | Path) -> list[str]:
        """The command line of a script in `benchmarks/drivers/`."""
        # Isolated: the folder of the script would otherwise come first on the path and hide packages.
        return [str(interpreter), "-P", str(DRIVERS / name), *map(str, arguments)]

    @property
    def peers_python(self) -> Path:
        """The interpreter of the peers' environment."""
        return self.peers / "bin/python"

    def peer(self, name: str) -> str:
        """The command of a peer that is a Python package."""
        return str(self.peers / "bin" / name)


def processors() -> int:
    """How many processors this process may use; both sides inherit them."""
    return len(os.sched_getaffinity(0))


def passed_traces(out: Path) -> int:
    """How many traces passed, from the report in a folder."""
    report = json.loads((out / "report.json").read_bytes())
    return sum(case["passedTrials"] for case in report["cases"])


def traces_and_calls(out: Path) -> tuple[int, int]:
    """How many traces and tool calls were read, from the report in a folder."""
    summary = json.loads((out / "report.json").read_bytes())["summary"]
    return summary["traces"], round((summary["averageToolCalls"] or 0) * summary["tracesWithToolCalls"])


def digest_of_outputs(out: Path) -> str:
    """One digest of the report and the snapshot: equal ones are equal byte for byte."""
    digest = sha256((out / "report.json").read_bytes())
    snapshot = out / "snapshot.parquet"
    for part in sorted(snapshot.glob("*.parquet")) if snapshot.is_dir() else [snapshot]:
        digest.update(part.read_bytes())
    return f"outputs {digest.hexdigest()[:12]}"
