"""Line files: a stream of bytes cut into JSON documents (contract section 2, Lines).

Nearly every line is one whole document and passes on after a syntax check, or after it was decoded where its format is
known: that checks the syntax too. Any other line that opens an object or a
list begins an attempt: lines are added until it closes, which reads pretty-printed and concatenated objects. An
attempt that breaks costs its own lines up to the next that begins a record, and no more; what it may take is
bounded in size, in depth and in how many records it may swallow on the way, so that work stays linear.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.errors import excerpt
from pipeline.sources.base import Document, Unreadable
from pipeline.sources.json_scan import CLOSING, COLON, COMMA, OPENING, QUOTE, TOKEN
from pipeline.sources.json_text import BOM, ENCODING_HEAD, MAX_DEPTH, encoding_of, is_plain, wrong_encoding
from pipeline.sources.wording import Refused

LINE_LIMIT: Final = 256 << 20
"""The most bytes of one line, and of one document over several lines; more is refused, not held in memory."""

# Lines that begin an object in column 0 and may be open at once within one attempt. Objects printed without
# indentation nest so; a record cut off does too, and must not be retried once for each of its followers.
MAX_OPEN_STARTS: Final = 8

# What a line in memory costs beside its bytes.
_LINE_COST: Final = 64
# A bare bracket that breaks on the very next line was no record printed over several.
_CUT_OFF_LINES: Final = 2
_SYNTAX: Final = msgspec.json.Decoder(msgspec.Raw)
_VISIBLE: Final = re.compile(rb"[^ \t\r]")
_OPENS: Final = re.compile(rb"[ \t\r]*[{\[]")
_SCALAR: Final = re.compile(rb"true|false|null|NaN|-?Infinity|-?\d[\d.eE+-]*")
_RECORD_IN_STRING: Final = re.compile(rb'[ \t]*["\\]+[ ]*\{')

_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END = range(6)
_MAY_BEGIN_VALUE: Final = (_VALUE, _VALUE_OR_END)
_MAY_BEGIN_KEY: Final = (_KEY, _KEY_OR_END)
_MAY_CLOSE: Final = (_COMMA_OR_END, _KEY_OR_END, _VALUE_OR_END)
_OPENER: Final = {ord("}"): b"{", ord("]"): b"["}

Line = tuple[int, bytes]
# With whether the line is known to be plain, as `is_plain` says.
Item = tuple[int, bytes | Refused, bool]
# To look at so many lines at once is cheaper than at each by itself.
_MANY_LINES: Final = 32


class Seen:
    """What was seen of a line file, or of a slice of it, once it has been read to its end.

    Attributes:
        line_ends: how many line ends it has.
        open: whether it ends within a document or a broken region: what follows it may belong to it.
        broken_off: whether its stream broke off, or turned out to be of another encoding: what follows it in the file
            is not read.
    """

    def __init__(self) -> None:
        self.line_ends = 0
        self.open = False
        self.broken_off = False

    def counting(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same stream, its line ends counted."""
        for chunk in chunks:
            self.line_ends += chunk.count(b"\n")
            yield chunk


def documents(  # noqa: PLR0913 - where the bytes stand, and how they are read, named
    chunks: Iterable[bytes],
    file: str,
    root: int,
    *,
    limit: int = LINE_LIMIT,
    inside: bool = False,
    seen: Seen | None = None,
    decode: Callable[[bytes], Any] | None = None,
) -> Iterator[Document | Unreadable]:
    """Cut a line file into documents.

    Args:
        chunks: the file's bytes, in pieces of any size.
        file: its name, for documents and faults.
        root: index of its root, for documents and faults.
        limit: the most bytes of one line or document.
        inside: whether it is a slice that begins within the file, where no byte-order mark stands.
        seen: filled in while reading, if wanted.
        decode: see `Format.decode`.

    Yields:
        Documents in order, not yet judged beyond where they end; `Unreadable` for what is no document: lines that
        belong to no closed object, lines over the limit, another encoding, a stream that breaks off.
    """
    seen = seen or Seen()
    counted = seen.counting(chunks)
    items = _split(counted if inside else _without_mark(counted), limit, seen)
    return _Cutter(items, file, root, limit, seen, decode).cut()


def is_whole(text: bytes) -> bool:
    """Whether the text is one JSON value, by syntax alone."""
    try:
        _SYNTAX.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class _Attempt:
    """A document being put together from one or more lines."""

    def __init__(self, line: int, start: int, limit: int) -> None:
        self.line = line
        self.lines: list[Line] = []
        self.broken = ""
        self._start = start
        self._limit = limit
        self._size = 0
        self._open = bytearray()
        self._due = _VALUE
        self._starts: list[int] = []

    def feed(self, number: int, line: bytes, start: int) -> int:
        """Take one more line, from `start` on.

        Returns:
            The index just after the document where it closes in this line, else -1; `broken` then says why, if it
            can never close.
        """
        self.lines.append((number, line))
        self._size += len(line) - start + _LINE_COST
        if self._size > self._limit:
            self.broken = f"it is longer than {self._limit} bytes"
        elif self._open and line.startswith(b"{"):
            self._count_start()
        if self.broken:
            return -1
        for token in TOKEN.finditer(line, start):
            kind = line[token.start()]
            if token[1] == b"":
                self.broken = "a string does not end on its line"
                break
            if not self._step(kind, token[0]):
                near = excerpt(token[0][:20].decode("utf-8", "replace"))
                deep = len(self._open) > MAX_DEPTH
                # Counted from where it begins: a slice of a file does not know the lines before it.
                place = number - self.line + 1
                self.broken = f"more than {MAX_DEPTH} levels" if deep else f"`{near}` cannot stand in its line {place}"
                break
            if not self._open:
                return token.end()
        return -1

    def text(self, end: int) -> bytes:
        """The document, which closes before index `end` of the last line."""
        (_, first), *between = self.lines
        if not between:
            return first[self._start : end]
        *middle, (_, last) = between
        return b"\n".join([first[self._start :], *(line for _, line in middle), last[:end]])

    def first(self) -> bytes:
        """What stands of it on its first line."""
        return self.lines[0][1][self._start :]

    def is_followed_by(self, line: bytes) -> bool:
        """Whether a line begins a new record, if this one is broken.

        A record printed over several lines holds whole objects further in; any other is cut off, and whatever is
        whole after it is a record of its own.
        """
        if line.startswith(b"{"):
            return True
        place = _indent(line)
        first = self.lines[0][1]
        if first[self._start :].strip() == b"{" and len(self.lines) > _CUT_OFF_LINES:
            return line[place : place + 1] == b"{" and place <= _indent(first)
        return (line[place : place + 1] == b"{" or _RECORD_IN_STRING.match(line) is not None) and is_whole(line)

    def _count_start(self) -> None:
        while self._starts and self._starts[-1] >= len(self._open):
            self._starts.pop()
        self._starts.append(len(self._open))
        if len(self._starts) > MAX_OPEN_STARTS:
            self.broken = f"more than {MAX_OPEN_STARTS} objects begin before it closes"

    def _step(self, kind: int, token: bytes) -> bool:
        """Take one token; False where the grammar has no place for it."""
        due, inside = self._due, self._open[-1:]
        if kind in CLOSING:
            fits = inside == _OPENER[kind] and due in _MAY_CLOSE
            del self._open[-1:]
            self._due = _COMMA_OR_END
        elif kind in OPENING:
            fits = due in _MAY_BEGIN_VALUE and len(self._open) < MAX_DEPTH
            self._open.append(kind)
            self._due = _KEY_OR_END if kind == OPENING[0] else _VALUE_OR_END
        elif kind == COMMA:
            fits = due == _COMMA_OR_END
            self._due = _KEY if inside == b"{" else _VALUE
        elif kind == COLON:
            fits = due == _COLON
            self._due = _VALUE
        elif kind == QUOTE and due in _MAY_BEGIN_KEY:
            fits = True
            self._due = _COLON
        else:
            fits = due in _MAY_BEGIN_VALUE and (kind == QUOTE or _SCALAR.fullmatch(token) is not None)
            self._due = _COMMA_OR_END
        return fits


class _Cutter:
    """Cuts one file; lines of a broken attempt that may hold records are gone through again."""

    def __init__(  # noqa: PLR0913, PLR0917 - see `documents`
        self,
        items: Iterator[Item],
        file: str,
        root: int,
        limit: int,
        seen: Seen,
        decode: Callable[[bytes], Any] | None,
    ) -> None:
        self._items = items
        self._decode = decode
        self._seen = seen
        self._file = file
        self._root = root
        self._limit = limit
        self._again: deque[Item] = deque()
        self._broken: _Attempt | None = None

    def cut(self) -> Iterator[Document | Unreadable]:
        """All documents of the file."""
        while item := self._next():
            number, line, plain = item
            if isinstance(line, Refused):
                yield self._unreadable(number, line)
            elif not line or line.isspace() or self._is_skipped(line):
                continue
            elif (value := self._decoded(line)) is not None:
                yield Document(line, self._file, number, self._root, value, plain)
            elif is_whole(line) or not _OPENS.match(line):
                yield Document(line, self._file, number, self._root)
            else:
                yield from self._assemble(number, line)
        self._seen.open |= self._broken is not None

    def _decoded(self, line: bytes) -> Any:
        """What a line holds, where its format can say so and it is a whole document; else None."""
        if self._decode is None:
            return None
        try:
            return self._decode(line)
        except (msgspec.DecodeError, RecursionError):
            # What is wrong with it is told by those who look closer.
            return None

    def _next(self) -> Item | None:
        return self._again.popleft() if self._again else next(self._items, None)

    def _assemble(self, number: int, line: bytes) -> Iterator[Document | Unreadable]:
        """What begins in a line that is no document by itself, with as many lines more as it takes."""
        start = _indent(line)
        attempt = _Attempt(number, start, self._limit)
        while True:
            end = attempt.feed(number, line, start)
            if end >= 0:
                yield Document(attempt.text(end), self._file, attempt.line, self._root)
                start = _indent(line, end)
                if start == len(line):
                    return
                if line[start] not in OPENING:
                    yield Document(line[start:], self._file, number, self._root)
                    return
                attempt = _Attempt(number, start, self._limit)
                continue
            if not attempt.broken:
                item = self._next()
                if item is not None and not isinstance(item[1], Refused):
                    number, line = item[0], item[1]
                    start = 0
                    continue
                if item is not None:
                    self._again.appendleft(item)
                attempt.broken = "the file ends or breaks off first"
                self._seen.open = True
            yield self._give_up(attempt)
            return

    def _is_skipped(self, line: bytes) -> bool:
        """Whether a line still belongs to the broken region before it."""
        if self._broken is None:
            return False
        if self._broken.is_followed_by(line):
            self._broken = None
            return False
        return True

    def _give_up(self, attempt: _Attempt) -> Document | Unreadable:
        """Report a broken attempt, and go back to the first of its lines that begins a record.

        A region of one line is left to the reader, whose decoder names the fault best.
        """
        rest = [(number, line) for number, line in attempt.lines[1:] if line and not line.isspace()]
        resume = next((index for index, (_, line) in enumerate(rest) if attempt.is_followed_by(line)), len(rest))
        if resume == len(rest) and rest:
            self._broken = attempt
            del attempt.lines[_CUT_OFF_LINES + 1 :]
        self._again.extendleft((*line, False) for line in reversed(rest[resume:]))
        if resume == 0:
            return Document(attempt.first(), self._file, attempt.line, self._root)
        return self._unreadable(
            attempt.line,
            Refused(
                f"what begins here never becomes a whole object: {attempt.broken}; correct or remove it",
                expected="a JSON object, on one line or several",
                found=excerpt(attempt.first()[:200].decode("utf-8", "replace").strip()),
                malformed=True,
            ),
        )

    def _unreadable(self, line: int, refused: Refused) -> Unreadable:
        return Unreadable(fault=refused.fault(self._file, line), root=self._root)


def _indent(line: bytes, start: int = 0) -> int:
    """Index of the first character from `start` on that is no white space."""
    found = _VISIBLE.search(line, start)
    return found.start() if found else len(line)


def _split(chunks: Iterable[bytes], limit: int, seen: Seen) -> Iterator[Item]:
    """Number the lines of a stream, from 1; what cannot be had of it stands in its place as a refusal."""
    number = 1
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            pieces = chunk.split(b"\n")
            # The first line may have begun in the chunk before, and so is looked at by itself.
            within = len(pieces) > _MANY_LINES and is_plain(chunk[len(pieces[0]) : len(chunk) - len(pieces[-1])])
            plain = False
            for piece in pieces[:-1]:
                size += len(piece)
                if size > limit:
                    yield number, _too_long(limit), False
                else:
                    yield number, b"".join([*parts, piece]) if parts else piece, plain
                number += 1
                size = 0
                parts = []
                plain = within
            size += len(pieces[-1])
            if size > limit:
                parts = []
            elif pieces[-1]:
                parts.append(pieces[-1])
    except Refused as refused:
        seen.broken_off = True
        yield number, refused, False
        return
    if size > limit:
        yield number, _too_long(limit), False
    elif parts:
        yield number, b"".join(parts), False


def _without_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same stream without its byte-order mark.

    Raises:
        Refused: the mark, or the first characters, tell another encoding.
    """
    head = b""
    rest = iter(chunks)
    for chunk in rest:
        head += chunk
        if len(head) >= ENCODING_HEAD:
            break
    encoding = encoding_of(head)
    if encoding:
        raise wrong_encoding(encoding)
    yield head.removeprefix(BOM)
    yield from rest


def _too_long(limit: int) -> Refused:
    return Refused(
        f"this line is longer than {limit} bytes: split it, or leave out what no check reads",
        expected=f"up to {limit} bytes",
        found="more",
    )
