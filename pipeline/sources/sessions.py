"""Session files: one run written line by line, which is what command-line agents keep of their work.

A line is an event, not a trace, so a file is read whole before its first trace comes out; what one file may take is
bounded. A broken line costs itself and not the session, and stays an unreadable record: a session with a hole in it
must not pass for the whole.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import msgspec

from pipeline.sources.base import Document, ReadTrace, Unreadable, Warned
from pipeline.sources.json_text import ANY, decode_document
from pipeline.sources.nodes import Node
from pipeline.sources.records import Found, placed
from pipeline.sources.repair import Repairs
from pipeline.sources.span_tree import FILE_LIMIT
from pipeline.sources.wording import Refused

# How the line of a record, or what is left of one, begins; any other text was printed by a program around the agent.
_BEGINS_RECORD: Final = (b"{", b"[", b'"', b"}", b"]")
_TEXT_LINES: Final = "text-line"


class Session(Protocol):
    """One session while its lines come in."""

    def take(self, line: Node) -> None:
        """Take the next line, an object.

        Raises:
            Refused: the line is broken inside; the session goes on without it.
        """

    def runs(self) -> Iterable[Found]:
        """The runs of the session, once all of its lines were taken."""


class _Lines(msgspec.Struct):
    """The lines of one session so far.

    Attributes:
        first: the document that it begins in, without its bytes.
        lines: its lines with their documents, also without bytes.
        repairs: what was repaired in them.
    """

    first: Document
    lines: list[tuple[Node, Document]] = msgspec.field(default_factory=list)
    repairs: Repairs = msgspec.field(default_factory=Repairs)


def read_sessions(
    documents: Iterable[Document],
    session: Callable[[], Session],
    key_of: Callable[[Node], str | None],
    *,
    time_of: Callable[[Node], int | None] | None = None,
    limit: int = FILE_LIMIT,
) -> Iterator[ReadTrace | Unreadable]:
    """Read a file of session lines.

    Args:
        documents: all documents of one file.
        session: begins a session.
        key_of: the id of the session that a line belongs to; None where it does not say, and belongs to the one
            before. May raise `Refused`.
        time_of: the nanoseconds of a line, by which lines are ordered (those without stay after the line before
            them); None leaves the order of the file.
        limit: the most bytes of one file.
    """
    sessions: dict[str | None, _Lines] = {}
    key: str | None = None
    size = printed = 0
    for document in documents:
        size += len(document.data)
        if size > limit:
            refused = Refused(
                f"a session is read whole, and this file is longer than {limit} bytes: write each to a file of its own",
                expected=f"up to {limit} bytes",
                found="more",
            )
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            return
        place = Document(b"", document.file, document.line, document.root)
        repairs = Repairs()
        try:
            lines = _lines_of(document, repairs)
        except Refused as refused:
            if refused.malformed and not document.data.lstrip().startswith(_BEGINS_RECORD):
                printed += 1
            else:
                yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            continue
        for line in lines:
            try:
                line.fields()
                key = key_of(line) or key
            except Refused as refused:
                yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
                continue
            if key is not None and None in sessions:
                # What came before the first line that names its session belongs to that one.
                sessions[key] = sessions.pop(None)
            group = sessions.setdefault(key, _Lines(place))
            group.lines.append((line, place))
            group.repairs.merge(repairs, "$")
            repairs = Repairs()
    odd = (_printed(printed),) if printed else ()
    for group in sessions.values():
        yield from _session(group, session(), time_of, odd)
        odd = ()


def _lines_of(document: Document, repairs: Repairs) -> list[Node]:
    """The lines in a document: itself, or the elements of a list that is a whole file."""
    value = decode_document(document.data, ANY, repairs)
    if document.line is None and isinstance(value, list):
        return [Node(element, f"$[{index}]") for index, element in enumerate(value)]
    return [Node(value)]


def _session(
    group: _Lines, session: Session, time_of: Callable[[Node], int | None] | None, odd: tuple[Warned, ...]
) -> Iterator[ReadTrace | Unreadable]:
    for line, place in _ordered(group.lines, time_of) if time_of else group.lines:
        try:
            session.take(line)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(place.file, place.line), root=place.root)
    yield from placed(session.runs(), group.first, group.repairs.warned() + odd)


def _ordered(
    lines: list[tuple[Node, Document]], time_of: Callable[[Node], int | None]
) -> Iterator[tuple[Node, Document]]:
    times: list[int] = []
    for line, _ in lines:
        time = time_of(line)
        times.append(time if time is not None else times[-1] if times else -(2**63))
    return (lines[index] for index in sorted(range(len(lines)), key=times.__getitem__))


def _printed(count: int) -> Warned:
    s = "s" * (count != 1)
    return Warned(
        path="$",
        kind=_TEXT_LINES,
        message=f"{count} line{s} of plain text between the records, as a program around the agent prints: left out",
    )
