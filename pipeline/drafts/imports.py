"""Files of another tool to one case file: what `diagnosis-eval import-cases` does."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pipeline.cases.document import read_document
from pipeline.drafts.base import Draft, Drafted, LeftOut, Origin, Source
from pipeline.drafts.promptfoo_csv import read_csv
from pipeline.drafts.write import check_file, write_drafts
from pipeline.errors import CaseFileError, Fault, UsageError, quote

# Exported results hold whole conversations, but test cases are written by people.
LARGEST: Final = 256 << 20
CSV_SUFFIX: Final = ".csv"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the files.

    Attributes:
        data: the case file; empty where there is no case.
        cases: how many cases it holds.
        files: how many files were read.
        left_out: what no case says, each with its place, ready to print.
        faults: the files that could not be read.
    """

    data: bytes
    cases: int
    files: int
    left_out: tuple[str, ...]
    faults: tuple[Fault, ...]


def import_cases(paths: Sequence[str], origin: Origin, suite: str) -> Imported:
    """Draft a case file.

    Args:
        paths: files, or folders that are searched for the origin's files.
        origin: whose they are.
        suite: the suite's name.

    Raises:
        UsageError: a path does not exist, or a folder holds no such file.
        CaseFileError: the suite's name is no name.
    """
    drafts: list[Draft] = []
    places: list[tuple[str, str, LeftOut]] = []
    faults: list[Fault] = []
    files = list(_files(paths, origin))
    for shown, path in files:
        try:
            drafted = _drafted(shown, path, origin)
        except CaseFileError as error:
            faults += error.faults
            continue
        for draft in drafted.cases:
            draft.about.insert(0, f"from {shown}{'' if draft.line is None else f':{draft.line}'}")
        drafts += drafted.cases
        places += [(shown, "", left) for left in drafted.left_out]
        places += [(shown, draft.id, left) for draft in drafted.cases for left in draft.left_out]
    head = (
        f"Drafted by diagnosis-eval import-cases --from {origin.name}; it guards nothing until a person trimmed it.",
        *origin.losses,
        *(f"not carried over: {shown}: {left}" for shown, case, left in places if not case),
    )
    data = write_drafts(drafts, suite, head) if drafts else b""
    if data:
        check_file(data)
    return Imported(
        data=data,
        cases=len(drafts),
        files=len(files) - len({fault.file for fault in faults}),
        left_out=tuple(_told(*place) for place in places),
        faults=tuple(faults),
    )


def _told(file: str, case: str, left: LeftOut) -> str:
    place = file if left.line is None else f"{file}:{left.line}"
    return f"{place}: {f'case {case}: ' if case else ''}{left}"


def _drafted(shown: str, path: Path, origin: Origin) -> Drafted:
    try:
        if path.stat().st_size > LARGEST:
            raise CaseFileError([_fault(shown, f"{path.stat().st_size:,} bytes", "The file is too large; split it.")])
        data = path.read_bytes()
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise CaseFileError([_fault(shown, found, "The file cannot be read; check its permissions.")]) from None
    if path.name.lower().endswith(CSV_SUFFIX):
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise CaseFileError([_fault(shown, "bytes that are not UTF-8", "Save the file as UTF-8.")]) from None
        return origin.drafts(Source(file=shown, root=read_csv(shown, text), language="CSV"))
    document = read_document(shown, data)
    if document.faults:
        # Of a key that stands twice, nobody knows which one is meant.
        raise CaseFileError(document.faults)
    return origin.drafts(Source(file=shown, root=document.root, language=document.language))


def _fault(file: str, found: str, message: str) -> Fault:
    return Fault(file=file, expected="a file that can be read", found=found, message=message)


def _files(paths: Sequence[str], origin: Origin) -> Iterator[tuple[str, Path]]:
    seen = set()
    for given in paths:
        path = Path(given)
        if "\0" in given or not path.exists():
            raise UsageError(f"no such file or folder: {quote(given)}", hint="give test files, or a folder of them")
        found = [path] if not path.is_dir() else sorted(_below(path, origin))
        if not found:
            raise UsageError(
                f"nothing in the folder {quote(given)} is of {origin.name}: {origin.summary}",
                hint="name the files one by one where they are called otherwise",
            )
        for file in found:
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield quote(file.as_posix(), 4096), file


def _below(folder: Path, origin: Origin) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(root) / name for name in names if not name.startswith(".") and origin.takes(name))
