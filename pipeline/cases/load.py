"""Stage 2, load: case files to a Suite (requirements R01, R02, R32; contract section 1).

Every file is checked wholly before anything is built, and all faults of all files are raised at once.
"""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from pipeline.cases.declared import plain_value, struct_type
from pipeline.cases.document import CASE_FILE_SUFFIXES, Document, read_document
from pipeline.cases.fixtures import fixture_name
from pipeline.cases.merge import effective_cases
from pipeline.cases.model import Case, CaseEntry, CaseFile, Origin, Suite
from pipeline.cases.rules import check_file, check_suite
from pipeline.cases.tree import Member
from pipeline.cases.walk import Walker
from pipeline.errors import CaseFileError, Fault, UsageError, quote


def load_suite(paths: Sequence[str], *, known_checks: Collection[str]) -> Suite:
    """Read case files and folders of them.

    Args:
        paths: files, or folders whose `*.yaml`, `*.yml` and `*.json` are read, by name, hidden ones not.
        known_checks: the ids that `knownFailure` may name.

    Returns:
        The suite: all cases with their defaults merged, sorted by id.

    Raises:
        CaseFileError: the files break the contract; all faults of all files, by file, line and path.
        UsageError: there is no such file, or no case file at all.
    """
    faults: list[Fault] = []
    documents: list[Document] = []
    files = _find(paths)
    for file, location in files:
        try:
            document = read_document(file, location.read_bytes())
        except CaseFileError as error:
            faults.extend(error.faults)
            continue
        except OSError as error:
            faults.append(_unreadable(file, error))
            continue
        walker = Walker(file, document.language)
        walker.check(CaseFile, document.root)
        faults.extend([*document.faults, *walker.faults, *check_file(document, known_checks)])
        documents.append(document)
    faults.extend(check_suite(documents))
    if faults:
        raise CaseFileError(sorted(dict.fromkeys(faults), key=_place))
    return _build(documents, [file for file, _ in files])


def _place(fault: Fault) -> tuple[str, int, list[tuple[str, int]], str]:
    # Numbers in a path are compared as numbers: [2] comes before [10].
    steps = re.findall(r"([^0-9]*)([0-9]*)", fault.path)
    return (
        fault.file,
        fault.line or 0,
        [(text, int(digits[:9] or 0)) for text, digits in steps],
        fault.message,
    )


def _find(paths: Sequence[str]) -> list[tuple[str, Path]]:
    if not paths:
        raise UsageError("No case file was given.", hint="Name a case file or a folder of case files.")
    files: list[tuple[str, Path]] = []
    seen: set[str] = set()
    for path in paths:
        for shown, location in _files_at(path):
            # A folder and a file in it reach the same file twice: that is no suite of duplicate ids.
            real = os.path.realpath(location)
            if real not in seen:
                seen.add(real)
                files.append((quote(shown, 4096), location))
    return files


def _files_at(path: str) -> list[tuple[str, Path]]:
    location = Path(path)
    suffixes = ", ".join(CASE_FILE_SUFFIXES)
    if "\x00" in path or not location.exists():
        raise UsageError(
            f"There is no case file or folder {quote(path)}.",
            hint="Check the path; `--cases` names a case file or a folder of case files.",
        )
    if not location.is_dir():
        if not _is_case_file(location.name):
            raise UsageError(f"{quote(path)} is no case file.", hint=f"Case files end in {suffixes}.")
        return [(location.as_posix(), location)]
    try:
        entries = sorted(location.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(
            f"The folder {quote(path)} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from None
    # NOTE: a symbolic link that leads nowhere stays in, to be refused: its cases must not vanish silently.
    found = [
        (entry.as_posix(), entry)
        for entry in entries
        if not entry.name.startswith(".") and _is_case_file(entry.name) and not entry.is_dir()
    ]
    if not found:
        raise UsageError(
            f"There is no case file in the folder {quote(path)}.",
            hint=f"Case files end in {suffixes} and stand directly in the folder.",
        )
    return found


def _is_case_file(name: str) -> bool:
    return name.lower().endswith(CASE_FILE_SUFFIXES)


def _unreadable(file: str, error: OSError) -> Fault:
    return Fault(
        file=file,
        expected="a file that can be read",
        found=error.strerror or type(error).__name__,
        message="The case file cannot be read; check that it exists and its permissions.",
    )


def _build(documents: Sequence[Document], files: Sequence[str]) -> Suite:
    """The suite of documents that have no fault."""
    cases: dict[str, Case] = {}
    origins: dict[str, Origin] = {}
    redact: list[str] = []
    name = ""
    for document in documents:
        written = plain_value(struct_type(CaseFile), document.root)
        name = written["suite"]
        redact += written.get("redact", ())
        shared = {key: written[key] for key in ("verifierContract", "protocolMarkers") if key in written}
        for entry, places in effective_cases(document):
            members = tuple(Member(key, place.node.line, place.node) for key, place in places.items())
            node = msgspec.structs.replace(entry.node, members=members)
            values = plain_value(struct_type(CaseEntry), node)
            if "traceFixture" in values:
                values["traceFixture"] = fixture_name(values["traceFixture"])
            case = msgspec.convert(shared | values, Case)
            cases[case.id] = case
            origins[case.id] = Origin(file=document.file, line=entry.node.line, path=entry.path)
    return Suite(
        name=name,
        cases=tuple(cases[case_id] for case_id in sorted(cases)),
        redact=tuple(dict.fromkeys(redact)),
        files=tuple(files),
        origins={case_id: origins[case_id] for case_id in sorted(origins)},
    )
