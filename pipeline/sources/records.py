"""Documents that hold one run or several: the reading loop of the formats that need no tree of spans."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable, Warned
from pipeline.sources.json_text import ANY, decode_document
from pipeline.sources.nodes import Node
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

_INT64: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run found in a document.

    Attributes:
        trace: the run as a trace.
        warned: what was odd about it.
    """

    trace: Trace
    warned: tuple[Warned, ...] = ()


Found = Run | Refused
"""A run, or why one of the document's runs cannot be read."""


def read_runs(
    documents: Iterable[Document], runs_of: Callable[[Node], Iterable[Found]]
) -> Iterator[ReadTrace | Unreadable]:
    """Read documents that hold any number of runs.

    Args:
        documents: the documents of one file.
        runs_of: the runs of one document; a `Refused` among them costs its run alone, one that is raised costs the
            rest of its document.
    """
    for document in documents:
        repairs = Repairs()
        try:
            root = Node(decode_document(document.data, ANY, repairs))
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        else:
            yield from placed(runs_of(root), document, repairs.warned())


def placed(
    found: Iterable[Found], document: Document, repaired: tuple[Warned, ...]
) -> Iterator[ReadTrace | Unreadable]:
    """Runs with the place of their document; what was repaired in it is told with the first of them."""
    runs = iter(found)
    while True:
        try:
            run = next(runs, None)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            return
        if run is None:
            return
        if isinstance(run, Refused):
            yield Unreadable(fault=run.fault(document.file, document.line), root=document.root)
        else:
            yield ReadTrace(
                trace=run.trace,
                file=document.file,
                line=document.line,
                root=document.root,
                warned=repaired + run.warned,
            )
            repaired = ()


def total(counts: Iterable[int | None]) -> int | None:
    """The sum of counts, None where one of them is unknown, there are none, or it is out of range.

    >>> total([1, 2]), total([1, None]), total([]), total([2**63 - 1, 1])
    (3, None, None, None)
    """
    known = list(counts)
    if not known or None in known:
        return None
    found = sum(filter(None, known))
    return found if found <= _INT64 else None


def iso_text(instant: int | None) -> str | None:
    """A time in nanoseconds since 1970 as ISO 8601 in UTC, to the microsecond; None for none and for no date.

    >>> iso_text(1_500_000_000), iso_text(None), iso_text(2**62)
    ('1970-01-01T00:00:01.500000+00:00', None, '2116-02-20T23:53:38.427387+00:00')
    """
    if instant is None:
        return None
    return (_EPOCH + timedelta(microseconds=instant // 1000)).isoformat(timespec="microseconds")
