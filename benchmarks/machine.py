"""What a run was made on: the machine, without its name, and the versions."""

import json
import os
import platform
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.measure import CommandFailedError, measure
from benchmarks.peers import promptfoo
from benchmarks.suite import PEERS
from benchmarks.workspace import Workspace, processors

OURS: Final = ("diagnosis-eval", "polars", "msgspec", "distributed")
LIMITS: Final = ("duckdb", "pysimdjson")

_VERSIONS: Final = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


class Machine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A machine: figures of two runs are compared where all of this is the same.

    Attributes:
        cpu: model of the processor.
        processors: how many of them the run could use.
        memory_gb: memory in GB of 1,000,000,000 bytes.
        system: kind of operating system.
        python: version of the interpreter.
    """

    cpu: str
    processors: int
    memory_gb: int
    system: str
    python: str

    def in_words(self) -> str:
        """All of it in one line."""
        return (
            f"{self.processors} processors ({self.cpu}), {self.memory_gb} GB of memory, {self.system}, "
            f"Python {self.python}"
        )


def this_machine() -> Machine:
    """The machine that this runs on."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu(),
        processors=processors(),
        memory_gb=round(pages / 1_000_000_000),
        system=platform.system(),
        python=platform.python_version(),
    )


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(place: Workspace) -> dict[str, str]:
    """The versions of both sides, by package; what is not installed is left out."""
    found = _installed(place.python, OURS)
    found |= _installed(place.peers_python, [*LIMITS, *(peer.PACKAGE for peer in PEERS)])
    manifest = place.peers / "npm/node_modules/promptfoo/package.json"
    if manifest.is_file():
        found[promptfoo.PACKAGE] = json.loads(manifest.read_bytes())["version"]
    return found


def _installed(interpreter: Path, names: "list[str] | tuple[str, ...]") -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(measure([str(interpreter), "-c", _VERSIONS, *names]).stdout)
    except CommandFailedError:
        return {}
    return found


def load_per_processor() -> float:
    """How busy the machine is with other work: processes that want to run, per processor."""
    return os.getloadavg()[0] / processors()
