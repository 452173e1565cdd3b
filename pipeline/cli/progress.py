"""Progress of long work, on standard error, and only where a person watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress

# Work that is done before this many seconds shows no bar.
PATIENCE_SECONDS: Final = 1.0


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function to tell of bytes read and bytes in all, or None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    started = time.monotonic()
    shown: list[Progress] = []

    def tell(done: int, total: int) -> None:
        if not shown and time.monotonic() - started > PATIENCE_SECONDS:
            shown.append(_bar())
            shown[0].start()
            shown[0].add_task("judging", total=None)
        if shown:
            # Line ends and blank lines are not counted as read, so the end may come before the bar is full.
            shown[0].update(shown[0].task_ids[0], completed=min(done, total or done), total=total or None)

    try:
        yield tell
    finally:
        for bar in shown:
            bar.stop()


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
