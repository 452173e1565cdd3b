"""JSON Schemas of the public formats, made from the structs that declare them."""

from typing import Any, Final

import msgspec

from pipeline.cases.model import CaseFile
from pipeline.diff import Diff
from pipeline.errors import UsageError
from pipeline.report.model import Report
from pipeline.sources.base import Trace

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS: Final[dict[str, tuple[str, type[msgspec.Struct]]]] = {
    "case": ("A case file of diagnosis-eval", CaseFile),
    "trace": ("A trace in the native format of diagnosis-eval", Trace),
    "diff": ("The diff.json of diagnosis-eval", Diff),
    "report": ("The report.json of diagnosis-eval", Report),
}


def json_schema(name: str) -> bytes:
    """The JSON Schema of a format, as indented JSON.

    Args:
        name: `case`, `trace`, `report` or `diff`.

    Raises:
        UsageError: there is no such format.
    """
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}", hint=f"there are: {', '.join(SCHEMAS)}")
    title, declared = SCHEMAS[name]
    schema: dict[str, Any] = {"$schema": DIALECT, "title": title, **msgspec.json.schema(declared)}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2)
