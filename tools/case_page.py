"""The tables of the case format, from the structs that check it."""

from typing import Final

import msgspec.inspect as mi

from pipeline.cases.model import CaseEntry, CaseFile, Expectations, MinPassRate
from pipeline.cases.rules import REQUIRED_CASE_KEYS
from tools.docstrings import attributes, summary
from tools.markdown import code, table
from tools.structs import default, demand, heading, structs_below, words

HEADERS: Final = ("Key", "Type", "Default", "Meaning")
# What a reader looks for first; the rest stands as it is declared.
FIRST: Final = {"id": 0, "question": 1, "trace_fixture": 2}
MIN_PASS_RATE: Final = "traces that passed divided by traces of the case, at least"


def case_tables() -> str:
    """One section per object of a case file, the file itself first."""
    return "\n\n".join(
        f"## {heading(one.cls)}\n\n{summary(one.cls)}\n\n{_table(one)}"
        for one in structs_below(CaseFile)
        # `defaults` takes the keys of a case but two: the section of the case has them all.
        if one.cls is not Expectations
    )


def _table(declared: mi.StructType) -> str:
    meanings = attributes(declared.cls)
    if declared.cls is MinPassRate:
        meanings["min_pass_rate"] = MIN_PASS_RATE
    fields = sorted(declared.fields, key=lambda field: FIRST.get(field.name, len(FIRST)))
    return table(
        HEADERS,
        [
            (
                code(one.encode_name),
                _type(one),
                _default(declared, one),
                "; ".join(filter(None, (meanings[one.name], demand(one.type)))),
            )
            for one in fields
        ],
    )


def _type(field: mi.Field) -> str:
    if field.name == "defaults":
        return "object with the keys of a [case entry](#case-entry), but `id` and `traceFixture`"
    return words(field.type)


def _default(declared: mi.StructType, field: mi.Field) -> str:
    if declared.cls is CaseEntry and field.encode_name in REQUIRED_CASE_KEYS:
        _, comma, more = REQUIRED_CASE_KEYS[field.encode_name].partition(", ")
        return f"required{comma}{more.removeprefix('which ')}"
    return default(field)
