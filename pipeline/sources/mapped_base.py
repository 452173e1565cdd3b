"""What a mapping adds to the traces that another format reads from the same documents: outside judgements above all.

Which record belongs to which trace is told by the trace's id where the mapping says where that stands, else by there
being one trace only. What cannot be told is refused: a judgement must never land on the wrong trace.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, Unreadable, Warned
from pipeline.sources.json_text import plain
from pipeline.sources.mapped_fields import Mapper, fill
from pipeline.sources.wording import Refused, describe


class _Mapped(msgspec.Struct, frozen=True):
    """What a mapping found in one record.

    Attributes:
        key: the id of the trace that it belongs to, if it says so.
        found: the values by field, or why they cannot be had.
    """

    key: str | None
    found: dict[str, Any] | Refused


def read_with_base(documents: Iterable[Document], mapper: Mapper, base: Format) -> Iterator[ReadTrace | Unreadable]:
    """Read documents with a format, and add what a mapping finds in them.

    Args:
        documents: the documents of one file.
        mapper: the mapping, made ready.
        base: the format.
    """
    if base.by_record:
        for document in documents:
            mapped: list[_Mapped] = []
            yield from _joined(list(base.read(_noting([document], mapper, mapped))), mapped, mapper)
    else:
        mapped = []
        yield from _joined(list(base.read(_noting(documents, mapper, mapped))), mapped, mapper)


def _noting(documents: Iterable[Document], mapper: Mapper, mapped: list[_Mapped]) -> Iterator[Document]:
    """The same documents; what the mapping finds in them goes into a list."""
    for document in documents:
        mapped += _records(document, mapper)
        yield document


def _records(document: Document, mapper: Mapper) -> Iterator[_Mapped]:
    try:
        value = plain(document.data)
    except Refused:
        # Where the format itself can read it, it is no JSON.
        yield _Mapped(
            None,
            Refused(
                "a mapping looks into JSON only, and this file is none: convert it to JSON first",
                expected="JSON",
                found="something else",
            ),
        )
        return
    try:
        for record in mapper.records(value):
            try:
                key = mapper.key(record)
            except Refused as refused:
                yield _Mapped(None, refused)
                continue
            found = mapper.values(record)
            yield _Mapped(key, found if isinstance(found, Refused) else found.values)
    except Refused as refused:
        if refused.found != "nothing":
            yield _Mapped(None, refused)


def _joined(
    read: Sequence[ReadTrace | Unreadable], mapped: Sequence[_Mapped], mapper: Mapper
) -> Iterator[ReadTrace | Unreadable]:
    traces = [one for one in read if isinstance(one, ReadTrace)]
    keys = {one.key for one in mapped if one.key is not None}
    known = {one.trace.traceId for one in traces}
    for one in read:
        if isinstance(one, Unreadable):
            yield one
            continue
        try:
            if not mapper.has_key and len(traces) > 1 and mapped:
                raise _untold(len(traces))
            kept = _add(one, mapped, by_key=mapper.has_key)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(one.file, one.line), root=one.root)
            continue
        if keys and not keys & known and one is traces[0]:
            kept = (*kept, _unmatched(keys, one.trace.traceId))
        yield msgspec.structs.replace(one, warned=one.warned + kept) if kept else one


def _add(one: ReadTrace, mapped: Sequence[_Mapped], *, by_key: bool) -> tuple[Warned, ...]:
    """Add to a trace what belongs to it, and say what it had already.

    Raises:
        Refused: a record that belongs to it, or may, cannot be read; or two of its records contradict each other.
    """
    values: dict[str, Any] = {}
    for record in mapped:
        if isinstance(record.found, Refused):
            if not by_key or record.key is None or record.key == one.trace.traceId:
                raise record.found
            continue
        if by_key and (record.key is None or record.key != one.trace.traceId):
            continue
        for name, value in record.found.items():
            if values.setdefault(name, value) != value:
                raise Refused(
                    f"the mapping finds two different values for {name} of this trace: let its expression choose one",
                    expected="one value",
                    found=f"{describe(_plain(values[name]))}, and {describe(_plain(value))}",
                )
    return tuple(
        Warned(
            path=f"$.{name}",
            kind="mapping-not-needed",
            message=f"the trace has {name} itself, so what the mapping finds for it is left out",
        )
        for name in fill(one.trace, values)
    )


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _untold(count: int) -> Refused:
    return Refused(
        f"here are {count} traces, and the mapping does not say which of its values belongs to which: "
        "map traceId to the id that the base format reads, and `records` to what has one",
        expected="one trace, or a mapping with traceId",
        found=f"{count} traces",
    )


def _unmatched(keys: set[str], trace_id: str | None) -> Warned:
    return Warned(
        path="$",
        kind="mapping-unmatched",
        message=(
            f"nothing that the mapping finds here is of a trace that is here: its traceId is {describe(min(keys))}, "
            f"the trace's {describe(trace_id)}; correct the expression for traceId"
        ),
    )
