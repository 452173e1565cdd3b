"""diagnosis-eval: the offline regression gate for LLM agents that diagnose incidents.

The public API; everything else may change between versions. Names are loaded when first used, so that importing the
package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
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

__all__ = [
    "Diff",
    "Report",
    "Run",
    "Snapshot",
    "__version__",
    "all_checks",
    "diff",
    "evaluate",
    "read_snapshot",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), _RENAMED.get(name, name))
