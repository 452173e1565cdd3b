"""Everything that can go wrong, as one tree of exceptions; each carries the exit code of the contract.

A `Fault` is one thing wrong with one input: what, where, expected, found, and what to do. Faults of case files
stop a run before it starts (`CaseFileError` lists them all); faults of single trace records never do, they become
rows of the errors frame and entries of `inputErrors`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Final

import msgspec

# Text quoted back from an input is cut here, so that one hostile value cannot flood a terminal or a report.
QUOTE_LIMIT = 160

# What stands for a piece of an input that may hold half of something that is to be hidden.
NOT_SHOWN: Final = "(not shown)"

_HIDE: ContextVar[Callable[[str], str] | None] = ContextVar("hide", default=None)


@contextmanager
def hiding(hide: Callable[[str], str]) -> Iterator[None]:
    """Let `hide` look at all that is quoted meanwhile, before it is cut and escaped."""
    before = _HIDE.set(hide)
    try:
        yield
    finally:
        _HIDE.reset(before)


def is_hiding() -> bool:
    """Whether something is to be hidden from what is quoted."""
    return _HIDE.get() is not None


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with one input file or record.

    Attributes:
        file: the file as the user knows it, relative to its root, with `/`.
        line: line number from 1 in line formats and case files, else None.
        path: JSON path of the value at fault, `$` for the whole document.
        expected: what the contract asks for there.
        found: what stands there instead.
        message: one sentence for a person, ending in what to do.
    """

    file: str
    line: int | None = None
    path: str = "$"
    expected: str = ""
    found: str = ""
    message: str = ""

    def __str__(self) -> str:
        """The fault as a block of lines for a terminal."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        lines = [f"{place}: {self.path}: {self.message}"]
        if self.expected:
            lines.append(f"    expected: {self.expected}")
        if self.found:
            lines.append(f"    found:    {self.found}")
        return "\n".join(lines)


class DiagnosisEvalError(Exception):
    """Base of all errors that a user can meet.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it, if there is something to say.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """The message, with the hint on a line of its own."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(DiagnosisEvalError):
    """The command or call itself is off: an unknown option value, an empty selection, a missing path."""


class CaseFileError(DiagnosisEvalError):
    """A case file breaks its contract; every fault found is listed, not only the first."""

    files: ClassVar[str] = "the case files"

    def __init__(self, faults: Sequence[Fault]) -> None:
        count = len(faults)
        super().__init__(f"{count} fault{'s' if count != 1 else ''} in {self.files}; nothing was evaluated")
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """All faults, then the count."""
        return "\n".join([*(str(fault) for fault in self.faults), self.message])


class MappingFileError(CaseFileError):
    """The same of a mapping file."""

    files: ClassVar[str] = "the mapping file"


class InputError(DiagnosisEvalError):
    """The traces given cannot be judged as a whole: nothing found, one fixture under two roots, a strict fault."""


class SnapshotError(DiagnosisEvalError):
    """A snapshot or baseline is missing, unreadable, torn or of a foreign schema."""


class OutputError(DiagnosisEvalError):
    """A result cannot be written where the user asked for it."""


def quote(value: str, limit: int = QUOTE_LIMIT) -> str:
    r"""Quote text from an input for a message: one line, printable, cut at `limit` characters.

    Args:
        value: any text, hostile or not.
        limit: the most characters of `value` that are shown.

    Returns:
        The text with control characters (terminal escapes, newlines, bidi overrides) shown as escapes.

    >>> quote("line\nbreak")
    'line\\nbreak'
    >>> quote("x" * 10, limit=4)
    'xxxx… (10 characters)'
    """
    hide = _HIDE.get()
    if hide is not None:
        value = hide(value)
    shown = value[:limit]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
    return shown if len(value) <= limit else f"{shown}… ({len(value)} characters)"


def excerpt(piece: str, limit: int = QUOTE_LIMIT) -> str:
    """Quote a piece cut from the middle of an input, as `quote` does; nothing of it where something is to be hidden.

    Half a secret, or one that the input writes with escapes, would be recognised by nobody.
    """
    return quote(piece, limit) if _HIDE.get() is None else NOT_SHOWN
