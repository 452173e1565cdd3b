"""Records for the tests of history and page."""

from typing import Any

from benchmarks.comparison import Outcome, Side
from benchmarks.history import Record
from benchmarks.machine import Machine

MACHINE = Machine(cpu="Example CPU 3", processors=2, memory_gb=24, system="Linux", python="3.11.7")


def side(label: str, wall_s: float, memory_mb: float) -> Side:
    return Side(label=label, wall_s=wall_s, cpu_s=wall_s, memory_mb=memory_mb, walls_s=[wall_s])


def outcome(key: str, ours: tuple[float, float], theirs: tuple[float, float] | None = None, **more: Any) -> Outcome:
    group = key.split("/", maxsplit=1)[0]
    return Outcome(
        **{
            "key": key,
            "group": group,
            "title": f"title of {key}",
            "size": 0,
            "ours": side("diagnosis-eval run", *ours),
            "theirs": None if theirs is None else side("theirs", *theirs),
            **more,
        }
    )


def record(*outcomes: Outcome, **more: Any) -> Record:
    return Record(
        **{
            "commit": "0123456789",
            "date": "2026-01-31",
            "machine": MACHINE,
            "load": 0.0,
            "versions": {"polars": "2.1.0", "diagnosis-eval": "0.1.0"},
            "outcomes": list(outcomes),
            **more,
        }
    )
