"""`report.json` and `diff.json`: report and diff for machines."""

import msgspec

from pipeline.diff import Diff
from pipeline.report.base import Writer
from pipeline.report.model import View


def render(view: View) -> bytes:
    """The report as indented JSON, UTF-8, keys in the order of the contract."""
    return _indented(view.report)


def render_diff(diff: Diff) -> bytes:
    """The diff as indented JSON, UTF-8, keys in the order of the contract."""
    return _indented(diff)


def _indented(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


WRITER = Writer(
    name="json",
    file="report.json",
    summary="the whole report for machines",
    render=render,
    diff_file="diff.json",
    render_diff=render_diff,
    always=True,
)
