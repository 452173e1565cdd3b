"""What a mapping finds in the first records of an input, expression by expression, for whoever is writing one."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from pipeline.sources.base import Document
from pipeline.sources.files import InputFile
from pipeline.sources.json_text import plain
from pipeline.sources.mapped_fields import Field, Mapper, Record, elements
from pipeline.sources.mapping import Mapping, mapping_format
from pipeline.sources.read import documents_of
from pipeline.sources.wording import Refused, describe

RECORDS: Final = 20
# Elements of one list that are looked at.
ELEMENTS: Final = 100

# What a case may ask of, and what tells which case it is.
_WANTED: Final = ("caseId", "finalAnswer", "toolInvocations", "verdict", "durationMs")


class LookedField(msgspec.Struct, kw_only=True):
    """One expression.

    Attributes:
        name: the field that it is for.
        expression: the expression.
        asked: of how many records, or elements of the field's list, it was asked.
        found: in how many of them it found a value that the field takes.
        first: the first of these values, in words.
        refused: in how many of them it found something else.
        fault: the first of these, in words.
    """

    name: str
    expression: str
    asked: int = 0
    found: int = 0
    first: str = ""
    refused: int = 0
    fault: str = ""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        name: the mapping's name.
        records: how many records were looked at.
        fields: the expressions, in the order of the fields.
        not_mapped: fields that a case may well ask for, and that the mapping says nothing of.
        refused: documents whose records could not be told, as sentences.
    """

    name: str
    records: int
    fields: tuple[LookedField, ...]
    not_mapped: tuple[str, ...]
    refused: tuple[str, ...]


def look(mapping: Mapping, files: Iterable[InputFile], limit: int = RECORDS) -> Looked:
    """Look at the first records of an input.

    Args:
        mapping: the mapping.
        files: the files.
        limit: how many records.
    """
    mapper = Mapper(mapping)
    fields = list(mapper.fields())
    looked = {field.name: LookedField(name=field.name, expression=field.expression.text) for field, _ in fields}
    refused: list[str] = []
    records = 0
    for record in _records(mapping, mapper, files, refused):
        if records == limit:
            break
        records += 1
        for field, items in fields:
            for asked in _asked(record, items):
                _note(looked[field.name], field, asked)
    mapped = {name.partition(".")[0] for name in looked}
    return Looked(
        name=mapping.name,
        records=records,
        fields=tuple(looked.values()),
        # What a base format fills is no business of the mapping's.
        not_mapped=() if mapping.base is not None else tuple(name for name in _WANTED if name not in mapped),
        refused=tuple(refused),
    )


def _records(mapping: Mapping, mapper: Mapper, files: Iterable[InputFile], refused: list[str]) -> Iterator[Record]:
    """All records of the input, one after the other; what could not be had of it goes into the list."""
    named = mapping_format(mapping)
    for file in files:
        for document in documents_of(file, named):
            try:
                if isinstance(document, Document):
                    yield from mapper.records(plain(document.data))
                    continue
                fault = document.fault
            except Refused as error:
                fault = error.fault(file.name, document.line if isinstance(document, Document) else None)
            if len(refused) < RECORDS:
                refused.append(str(fault).partition("\n")[0])


def _asked(record: Record, items: Field | None) -> Iterator[Record]:
    """What an expression is asked of: the record, or the elements of the list that its field is about."""
    if items is None:
        yield record
        return
    try:
        listed = items.value(record)
    except Refused:
        return
    for element in elements(items, (listed or [])[:ELEMENTS], record):
        if element.value is not None:
            yield element


def _note(looked: LookedField, field: Field, record: Record) -> None:
    looked.asked += 1
    try:
        found = field.value(record)
    except Refused as refused:
        looked.refused += 1
        looked.fault = looked.fault or f"{refused.found}, where {refused.expected} is due"
        return
    if found is not None:
        looked.first = looked.first or describe(found)
        looked.found += 1
