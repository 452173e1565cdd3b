"""diagnosis-eval: the offline regression gate for LLM agents that diagnose incidents.

The public API; everything else may change between versions. Names are loaded when first used, so that importing the
package costs nothing.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pipeline import frames as frames
    from pipeline import plots as plots
    from pipeline import tables as tables
    from pipeline.diff import Diff as Diff
    from pipeline.diff import diff as diff
    from pipeline.judge import all_checks as all_checks
    from pipeline.report.model import Report as Report
    from pipeline.run import Run as Run
    from pipeline.run import evaluate as evaluate
    from pipeline.snapshot.files import Snapshot as Snapshot
    from pipeline.snapshot.reference import resolve as read_snapshot

_PUBLIC = {
    "Diff": "pipeline.diff",
    "Report": "pipeline.report.model",
    "Run": "pipeline.run",
    "Snapshot": "pipeline.snapshot.files",
    "all_checks": "pipeline.judge",
    "diff": "pipeline.diff",
    "evaluate": "pipeline.run",
    "read_snapshot": "pipeline.snapshot.reference",
}
# Public names that differ from the name in their module.
_RENAMED = {"read_snapshot": "resolve"}
# Modules that are public as a whole.
_MODULES = ("frames", "plots", "tables")

__all__ = [
    "Diff",
    "Report",
    "Run",
    "Snapshot",
    "__version__",
    "all_checks",
    "diff",
    "evaluate",
    "frames",
    "plots",
    "read_snapshot",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), _RENAMED.get(name, name))


def __dir__() -> list[str]:
    """The public names, for whoever completes them before they are loaded."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """This package, in which `diff` is the function, whatever has been imported before."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds a module to its package once it is loaded. `pipeline.diff` would be a function for those who
        # ask before anything has loaded the module of that name, and the module for those who ask later.
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
