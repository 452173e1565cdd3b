"""Stage 1 on one page: files to documents, documents to traces, in batches of bounded size."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any, Final

import msgspec

from pipeline.sources import native, streams
from pipeline.sources.base import Document, Format, ReadTrace, Unreadable
from pipeline.sources.files import InputFile, Inputs
from pipeline.sources.formats import formats
from pipeline.sources.json_text import BOM, encoding_of, plain, wrong_encoding
from pipeline.sources.lines import Seen, is_whole
from pipeline.sources.lines import documents as line_documents
from pipeline.sources.opening import Ahead, Opener, opened
from pipeline.sources.wording import Refused

AUTO: Final = "auto"
# More than a shard: to judge it in two batches would cost its Polars queries twice.
BATCH_BYTES: Final = 24 << 20

# A document that tells no format (a number, a text) is kept until one does; after so many the file is native.
_UNDECIDED_LIMIT: Final = 1000
# What an unreadable record counts for in a batch, so that a file of nothing else cannot fill the memory.
_ROW_BYTES: Final = 1 << 10


class Batch(msgspec.Struct, kw_only=True):
    """A slice of the input, in the order of the files and of the records in them.

    Attributes:
        traces: the traces read.
        unreadable: the records that could not be read.
        bytes: about how many bytes of input, decompressed, were read for it.
    """

    traces: list[ReadTrace] = msgspec.field(default_factory=list)
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    bytes: int = 0


def read_batches(
    inputs: Inputs,
    from_format: str | Format = AUTO,
    batch_bytes: int = BATCH_BYTES,
    *,
    seen: Seen | None = None,
) -> Iterator[Batch]:
    """Read all files.

    Args:
        inputs: the files.
        from_format: the format of all files, its name, or `auto`: each file tells by its first document.
        batch_bytes: a batch ends once its documents add up to so many bytes.
        seen: of a single slice of a line file, filled in while reading.

    Yields:
        Batches that are not empty. How the input is cut into batches changes nothing else.

    Raises:
        UsageError: there is no such format.
    """
    return _batches(inputs.files, named_format(from_format), batch_bytes, seen)


def read_file(file: InputFile, format: Format | None = None) -> Iterator[ReadTrace | Unreadable]:  # noqa: A002
    """Read one file: its traces, and what could not be read, in order.

    Args:
        file: the file.
        format: its format, None to tell by the first document that says so.
    """
    return _read(_documents(file, None, format), format or _of_ending(file))


def named_format(from_format: str | Format) -> Format | None:
    """The format that was asked for, None where each file is to tell its own.

    Raises:
        UsageError: there is no such format.
    """
    if isinstance(from_format, Format):
        return from_format
    return None if from_format == AUTO else format_named(from_format)


def format_named(name: str) -> Format:
    """The format of that name; the native one without loading the others.

    Raises:
        UsageError: there is no such format.
    """
    if name == native.FORMAT.name:
        return native.FORMAT
    return formats().get(name, option="--from", advice="diagnosis-eval formats lists them")


def format_of(file: InputFile) -> Format:
    """The format that a file tells by its content; native where it tells none, or where two fit."""
    return _of_ending(file) or _decide(_documents(file))[0]


def _batches(files: Sequence[InputFile], named: Format | None, batch_bytes: int, seen: Seen | None) -> Iterator[Batch]:
    size = read = 0
    opener = Ahead(files)

    def counted(items: Iterator[Document | Unreadable]) -> Iterator[Document | Unreadable]:
        nonlocal size, read
        for item in items:
            length = len(item.data) if isinstance(item, Document) else 0
            size += _ROW_BYTES + length
            read += length
            yield item

    records = (
        record
        for file in files
        for record in _read(counted(_documents(file, seen, named, opener)), named or _of_ending(file))
    )
    with closing(opener):
        while True:
            batch, size, read = Batch(), 0, 0
            with collector_paused():
                for record in records:
                    if isinstance(record, ReadTrace):
                        batch.traces.append(record)
                    else:
                        batch.unreadable.append(record)
                    if size >= batch_bytes:
                        break
            if not (batch.traces or batch.unreadable):
                return
            batch.bytes = read
            yield batch


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: nothing that is read has cycles, and looking costs as much as decoding."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def documents_of(file: InputFile, named: Format | None = None) -> Iterator[Document | Unreadable]:
    """The documents of a file, and what could not be had of it, before any format has looked at them."""
    return _documents(file, None, named)


def _documents(
    file: InputFile, seen: Seen | None = None, named: Format | None = None, opener: Opener = opened
) -> Iterator[Document | Unreadable]:
    pieces = streams.chunks(file, opener)
    if file.kind == "lines":
        decode = named.decode if named is not None else None
        yield from line_documents(pieces, file.name, file.root, inside=file.start > 0, seen=seen, decode=decode)
        return
    try:
        data = streams.whole(pieces)
        encoding = encoding_of(data) if file.kind == "json" else None
        if encoding:
            raise wrong_encoding(encoding)
    except Refused as refused:
        yield Unreadable(fault=refused.fault(file.name, None), root=file.root)
    else:
        document = Document(data if file.kind == "raw" else data.removeprefix(BOM), file.name, None, file.root)
        several = file.kind == "json" and named is not None and named is not native.FORMAT
        yield from (_concatenated(document) if several else None) or (document,)


def _concatenated(document: Document) -> Iterator[Document | Unreadable] | None:
    """The documents of a `.json` file that is no JSON as a whole, but several objects or lists one after the other.

    None where it is one document, be it a broken one: half a list is not to be taken for the objects in it.
    """
    if is_whole(document.data):
        return None
    items = line_documents([document.data], document.file, document.root)
    first, second = next(items, None), next(items, None)
    if not isinstance(first, Document) or second is None:
        return None
    try:
        value = plain(first.data)
    except Refused:
        return None
    return chain((first, second), items) if isinstance(value, dict | list) else None


def _of_ending(file: InputFile) -> Format | None:
    """The format that a file's ending tells, for files that are no JSON."""
    if file.kind != "raw":
        return None
    name = file.name.lower().removesuffix(".gz").removesuffix(".zst")
    return next(entry for entry in formats() if name.endswith(entry.endings))


def _read(items: Iterator[Document | Unreadable], named: Format | None) -> Iterator[ReadTrace | Unreadable]:
    if named is None:
        named, before = _decide(items)
        items = chain(before, items)
    unreadable: list[Unreadable] = []

    def readable() -> Iterator[Document]:
        for item in items:
            if isinstance(item, Document):
                yield item
            else:
                unreadable.append(item)

    # A format takes documents only; what was unreadable before a document comes out before its trace.
    for record in named.read(readable()):
        yield from unreadable
        unreadable.clear()
        yield record
    yield from unreadable


def _decide(items: Iterator[Document | Unreadable]) -> tuple[Format, Iterable[Document | Unreadable]]:
    """The format of a file by the first document that tells, and what was taken from `items` so far."""
    taken: list[Document | Unreadable] = []
    for item in items:
        taken.append(item)
        if isinstance(item, Document):
            try:
                found = _format_of(item)
            except Refused as refused:
                taken[-1] = Unreadable(fault=refused.fault(item.file, item.line), root=item.root)
            else:
                if found is not None:
                    return found, taken
                several = _of_concatenated(item) if item.line is None else None
                if several is not None:
                    return several
        if len(taken) == _UNDECIDED_LIMIT:
            break
    return native.FORMAT, taken


def _of_concatenated(document: Document) -> tuple[Format, Iterator[Document | Unreadable]] | None:
    """The format of a `.json` file that holds several documents, and these; a native file holds one and no more."""
    first = next(_concatenated(document) or iter(()), None)
    try:
        found = _format_of(first) if isinstance(first, Document) else None
    except Refused:
        return None
    several = _concatenated(document)
    return None if found is None or found is native.FORMAT or several is None else (found, several)


def _format_of(document: Document) -> Format | None:
    """The format that a document tells, None where it tells nothing: then each format says what is wrong with it."""
    # A file of its own is native in the end even if it cannot be read; of lines, the next ones are asked then.
    if document.line is None and native.is_surely_written(document.data):
        return native.FORMAT
    try:
        value = plain(document.data)
    except Refused:
        return None
    if native.is_surely(value):
        return native.FORMAT
    reasons = {entry.name: reason for entry in formats() if (reason := entry.recognises(value)) is not None}
    if len(reasons) > 1:
        both = " and ".join(f"{name} ({reason})" for name, reason in reasons.items())
        raise Refused(
            f"this may be {both}: say which with --from",
            expected="a document of one format",
            found=f"one of {len(reasons)}",
        )
    if reasons:
        return formats().get(next(iter(reasons)))
    if not isinstance(value, dict):
        return None
    foreign = _foreign(value)
    if foreign:
        raise Refused(
            f"no trace format recognises this document ({foreign}); "
            f"known are {', '.join(formats().names)}: convert it, or say which it is with --from",
            expected="a trace",
            found=foreign,
        )
    return native.FORMAT


def _foreign(value: dict[str, Any]) -> str | None:
    """Why an object is surely no native trace, though all of its fields are optional."""
    for key in ("messages", "role"):
        if key in value:
            return f"object with `{key}`"
    return None
