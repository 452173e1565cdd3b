"""What a report writer is: a name, a file, and a function from the view to bytes."""

from collections.abc import Callable
from typing import Final

import msgspec

import pipeline.report
from pipeline.diff import Diff
from pipeline.registry import Registry
from pipeline.report.model import View


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """One output format.

    Attributes:
        name: what `--format` takes.
        file: name of the file it writes in the output folder.
        summary: one line for people.
        render: makes the file's bytes; writers compute nothing and escape everything.
        diff_file: name of the file it writes a diff to; empty where it writes none.
        render_diff: makes that file's bytes.
        always: written by every run, asked for or not.
    """

    name: str
    file: str
    summary: str
    render: Callable[[View], bytes]
    diff_file: str = ""
    render_diff: Callable[[Diff], bytes] | None = None
    always: bool = False


WRITERS: Final[Registry[Writer]] = Registry("report format")


def all_writers() -> Registry[Writer]:
    """The report writers, discovered on first use."""
    if not len(WRITERS):
        WRITERS.discover(pipeline.report, "WRITER", prefix="as_")
    return WRITERS
