"""`report.json`: the report for machines."""

import msgspec

from pipeline.report.base import Writer
from pipeline.report.model import View


def render(view: View) -> bytes:
    """The report as indented JSON, UTF-8, keys in the order of the contract."""
    return msgspec.json.format(msgspec.json.encode(view.report), indent=2) + b"\n"


WRITER = Writer(
    name="json",
    file="report.json",
    summary="the whole report for machines",
    render=render,
    always=True,
)
