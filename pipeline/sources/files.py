# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH122, PTH207  # names may be bytes that are no UTF-8, and folders hold many thousands of files
"""What the user gave, turned into files to read (contract section 2, Roots)."""

import glob
import os
import posixpath
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from pipeline.errors import UsageError
from pipeline.sources import remote
from pipeline.sources.formats import formats, own_endings
from pipeline.sources.opening import opened

STDIN: Final = "-"
NO_ROOT: Final = -1
"""Root index of standard input, which has none."""

Kind = Literal["json", "lines", "raw", "parquet"]

_KINDS: Final[dict[str, Kind]] = {".json": "json", ".jsonl": "lines", ".ndjson": "lines"}
_PARQUET: Final = ".parquet"
_COMPRESSIONS: Final = {".gz": "gz", ".zst": "zst"}
# So much of a file tells whose it is.
_HEAD_BYTES: Final = 4096
ENDINGS: Final = ".json, .jsonl or .ndjson, plain or followed by .gz or .zst"


class InputFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file to read.

    Attributes:
        path: where it is, a path of this machine or an address; None for standard input.
        name: what outputs call it: relative to its root, with `/`, valid Unicode.
        root: index into `Inputs.roots`, `NO_ROOT` for standard input.
        kind: `json` is one document, `lines` one or more, `raw` what a format of its own ending reads whole, `parquet`
            traces that were imported before.
        compression: `gz`, `zst`, or empty.
        start: where a slice of a line file begins, in bytes; of a compressed one where its first member begins, of a
            Parquet file its first row group; 0 for its beginning.
        end: where it ends, just after a line end; of a compressed one just after its last member, whose last line is
            the slice's to its end; of a Parquet file the row group after its last; None for the end of the file.
        size: bytes of a remote file; None where its server gives it as a whole only, and for a file of this machine.
        version: what its store calls the content of a remote file, if it says so.
    """

    path: str | None
    name: str
    root: int
    kind: Kind
    compression: str = ""
    start: int = 0
    end: int | None = None
    size: int | None = None
    version: str | None = None

    @property
    def is_slice(self) -> bool:
        """Whether this is a part of a file only."""
        return self.start > 0 or self.end is not None


class InputWarning(msgspec.Struct, frozen=True, kw_only=True):
    """Something among the inputs that is not read, and that the user may not expect.

    Attributes:
        file: its name, as of `InputFile`.
        root: see `InputFile`.
        kind: stable kebab-case word.
        message: one sentence.
    """

    file: str
    root: int
    kind: str
    message: str


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the paths of one run hold.

    Attributes:
        files: in the order of the paths, within a folder by name; no file twice.
        roots: the real path of each root, or its address.
        skipped: how many entries were left out: other extensions, hidden files, hidden folders (each counts as one).
        warnings: what was left out for another reason.
    """

    files: tuple[InputFile, ...] = ()
    roots: tuple[str, ...] = ()
    skipped: int = 0
    warnings: tuple[InputWarning, ...] = ()

    def where(self, fixture: str) -> list[int]:
        """The indexes of the roots that hold a file of that name, in order; two of them are a fault."""
        name = posixpath.normpath(fixture)
        return sorted({file.root for file in self.files if file.name == name and file.root != NO_ROOT})


def find_inputs(paths: Sequence[str]) -> Inputs:
    """Find the files to read.

    Args:
        paths: folders, files, glob patterns (expanded here where no file has that very name), addresses of the same
            (`s3://`, `gs://`, `az://`) or of one file (`https://`), or `-`.

    Raises:
        UsageError: a path does not exist, a pattern matches nothing, a file named outright has an unknown
            extension, or a folder cannot be listed.
    """
    search = _Search()
    for path in paths:
        if path == STDIN:
            search.add_stdin()
        elif remote.is_remote(path):
            search.add_remote(path)
        elif os.path.exists(path):
            search.add(path, named=True)
        else:
            # Not recursive without `**`, and hidden files only where the pattern says so, as in a shell.
            found = sorted(glob.glob(path, recursive=True)) if "\0" not in path else []
            if not any(map(os.path.exists, found)):
                raise UsageError(
                    f"no such file or folder: {_shown(path)}",
                    hint="give a folder, a file, a pattern in quotes, or - for standard input",
                )
            for match in found:
                search.add(match, named=False)
    return search.inputs()


def kind_of(name: str) -> tuple[Kind, str] | None:
    """How a file of that name is read, and its compression; None where its extension is none of ours.

    >>> kind_of("a.json"), kind_of("b.jsonl.gz"), kind_of("c.txt")
    (('json', ''), ('lines', 'gz'), None)
    """
    stem, ending = os.path.splitext(name.lower())
    compression = _COMPRESSIONS.get(ending, "")
    if ending == _PARQUET:
        return "parquet", ""
    ending = os.path.splitext(stem)[1] if compression else ending
    kind = _KINDS.get(ending) or ("raw" if ending in own_endings() else None)
    return (kind, compression) if kind else None


class _Search:
    """The search under way."""

    def __init__(self) -> None:
        self._files: list[InputFile] = []
        self._roots: dict[str, int] = {}
        self._seen: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._warnings: list[InputWarning] = []

    def inputs(self) -> Inputs:
        """What was found so far."""
        return Inputs(
            files=tuple(self._files),
            roots=tuple(self._roots),
            skipped=len(self._skipped),
            warnings=tuple(self._warnings),
        )

    def add_stdin(self) -> None:
        """Add standard input, once."""
        if STDIN not in self._seen:
            self._seen[STDIN] = STDIN
            self._files.append(InputFile(path=None, name=STDIN, root=NO_ROOT, kind="lines"))

    def add_remote(self, url: str) -> None:
        """Add what an address stands for."""
        found, named = remote.find(url)
        for one in found:
            kind = kind_of(one.name)
            if one.url in self._seen:
                continue
            if kind is None and named:
                raise _unknown(remote.shown(url))
            hidden = any(part.startswith(".") for part in one.name.split("/"))
            if kind is None or (hidden and not named):
                self._skipped.add(one.url)
                continue
            file = InputFile(
                path=one.url,
                name=one.name,
                root=self._roots.setdefault(one.root, len(self._roots)),
                kind=kind[0],
                compression=kind[1],
                size=one.size,
                version=one.version,
            )
            if not (named or _is_wanted(file)):
                self._skipped.add(one.url)
            else:
                self._seen[one.url] = one.name
                self._files.append(file)

    def add(self, path: str, *, named: bool) -> None:
        """Add a path that exists; what only a pattern matched may also be of no use."""
        if os.path.isdir(path):
            self._add_folder(path)
            return
        folder, name = os.path.split(path)
        kind = kind_of(name)
        real = os.path.realpath(path)
        if not os.path.exists(path):
            self._warn(name, self._root(folder or os.curdir), "broken-link", "this link leads nowhere")
        elif kind is not None and (named or not _is_foreign(_made(path, name, kind))):
            if real not in self._seen:
                self._files.append(self._file(path, name, self._root(folder or os.curdir), kind))
        elif named:
            raise _unknown(_shown(path))
        else:
            self._skipped.add(real)

    def _add_folder(self, folder: str) -> None:
        top = os.path.realpath(folder)
        root = self._root(folder)
        files, links = self._listed(top)
        taken = []
        # Of many thousand files each look at the disk counts: no link leads here, so each path is the real one.
        above = len(os.path.join(top, ""))
        for path in files:
            name = path[above:]
            kind = kind_of(name)
            if kind is None or not _is_wanted(file := _made(path, name, kind, root)):
                self._skipped.add(path)
            elif path not in self._seen:
                self._seen[path] = file.name
                taken.append(file)
        # Links come last, so that a file that is there under its own name goes by it.
        for path in links:
            name = os.path.relpath(path, top)
            kind = self._link(path, name, top, root)
            if kind is not None:
                taken.append(self._file(path, name, root, kind))
        self._files += sorted(taken, key=lambda file: os.fsencode(file.path or ""))

    def _listed(self, top: str) -> tuple[list[str], list[str]]:
        """All visible files below a folder, and all visible links, each sorted."""
        files: list[str] = []
        links: list[str] = []
        folders = [top]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            self._skipped.add(entry.path)
                        elif entry.is_symlink():
                            links.append(entry.path)
                        elif entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        elif entry.is_file(follow_symlinks=False):
                            files.append(entry.path)
                        else:
                            self._skipped.add(entry.path)
            except OSError as error:
                raise UsageError(
                    f"cannot list the folder {_shown(folder)}: {error.strerror}",
                    hint="traces in it would be missed: make it readable, or name the files one by one",
                ) from None
        return sorted(files, key=os.fsencode), sorted(links, key=os.fsencode)

    def _link(self, path: str, name: str, top: str, root: int) -> tuple[Kind, str] | None:
        """How the file behind a link found in a folder is read, None where it is not."""
        real = os.path.realpath(path)
        kind = kind_of(name)
        if (kind is None and not os.path.isdir(real)) or (kind is not None and _is_foreign(_made(real, name, kind))):
            self._skipped.add(path)
            return None
        if os.path.commonpath([top, real]) != top:
            self._warn(name, root, "link-outside-root", "this link leads out of its root and is not followed")
        elif os.path.isdir(real):
            # What is in it is read under its own name; following would run in circles.
            self._skipped.add(path)
        elif not os.path.isfile(real):
            self._warn(name, root, "broken-link", "this link leads nowhere")
        elif real in self._seen:
            message = f"this link is a second name of {self._seen[real]}, which is read once"
            self._warn(name, root, "second-name", message)
        else:
            return kind
        return None

    def _warn(self, name: str, root: int, kind: str, message: str) -> None:
        self._warnings.append(InputWarning(file=_shown(name), root=root, kind=kind, message=message))

    def _root(self, folder: str) -> int:
        return self._roots.setdefault(os.path.realpath(folder), len(self._roots))

    def _file(self, path: str, name: str, root: int, kind: tuple[Kind, str]) -> InputFile:
        file = _made(path, name, kind, root)
        self._seen[os.path.realpath(path)] = file.name
        return file


def _unknown(name: str) -> UsageError:
    return UsageError(f"cannot tell what {name} holds by its name", hint=f"traces are {ENDINGS}")


def _made(path: str, name: str, kind: tuple[Kind, str], root: int = NO_ROOT) -> InputFile:
    return InputFile(path=path, name=_shown(name), root=root, kind=kind[0], compression=kind[1])


def _is_wanted(file: InputFile) -> bool:
    """Whether a file of a folder holds traces, as far as its beginning or its end tells."""
    return not _is_foreign(file) and (file.kind != "raw" or _is_owned(file))


def _is_owned(file: InputFile) -> bool:
    """Whether a file of an ending that some format owns is one of its own, and not just any `.csv`."""
    if file.compression:
        return True
    try:
        with opened(file, _HEAD_BYTES) as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        # Reading will say what is wrong with it.
        return True
    name = file.name.lower()
    return any(entry.owns is None or entry.owns(head) for entry in formats() if name.endswith(entry.endings))


def _is_foreign(file: InputFile) -> bool:
    """Whether a file that nobody named is a Parquet file of something else, such as a snapshot."""
    if file.kind != "parquet":
        return False
    from pipeline.sources.row_groups import is_foreign

    return is_foreign(file)


def _shown(path: str) -> str:
    """A path as valid Unicode with `/`, whatever bytes its name is made of."""
    return os.fsencode(path).decode("utf-8", "replace").replace(os.sep, "/")
