"""One case file's bytes to a tree of nodes."""

import codecs
from typing import NoReturn

import msgspec

from pipeline.cases.read_json import read_json
from pipeline.cases.read_yaml import read_yaml
from pipeline.cases.tree import Node, TreeBuilder
from pipeline.errors import CaseFileError, Fault

JSON_SUFFIXES = (".json",)
YAML_SUFFIXES = (".yaml", ".yml")
CASE_FILE_SUFFIXES = YAML_SUFFIXES + JSON_SUFFIXES

# The 32-bit marks come first: the little-endian one begins with the 16-bit one.
_FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One case file as it was read.

    Attributes:
        file: the file's name for faults.
        language: `YAML` or `JSON`.
        root: the document.
        faults: what was wrong but left a document: repeated keys, keys that are no text, foreign tags.
    """

    file: str
    language: str
    root: Node
    faults: tuple[Fault, ...]


def read_document(file: str, data: bytes, keys: str = "schemaVersion, suite and cases") -> Document:
    """Read a case file, or another one that is written in the same way.

    Args:
        file: the file's name; `.json` must be JSON, everything else is read as YAML.
        data: the file's bytes, UTF-8 with or without a byte-order mark.
        keys: what an empty file lacks, in words.

    Returns:
        The document, with the faults that did not end the reading.

    Raises:
        CaseFileError: there is no document to go on with.
    """
    language = "JSON" if file.lower().endswith(JSON_SUFFIXES) else "YAML"
    text = _decode(file, data)
    builder = TreeBuilder(file, language)
    if not text.strip():
        _refuse_empty(builder, keys)
    if language == "JSON":
        read_json(text, builder)
    else:
        read_yaml(text, builder)
    root = builder.root
    if root is None or (root.kind == "null" and root.source == ""):
        _refuse_empty(builder, keys)
    return Document(file=file, language=language, root=root, faults=tuple(builder.faults))


def _refuse_empty(builder: TreeBuilder, keys: str) -> NoReturn:
    builder.fail(
        1,
        path="$",
        expected=f"an object with {keys}",
        found="nothing",
        message=f"The file is empty; write the {keys.rpartition(' ')[2]} into it, or remove it.",
    )


def _decode(file: str, data: bytes) -> str:
    for mark, name in _FOREIGN_MARKS:
        if data.startswith(mark):
            raise _encoding_error(file, 1, f"{name} (by its byte-order mark)")
    if b"\x00" in data[:4]:
        raise _encoding_error(file, 1, "a zero byte at the start, as in UTF-16")
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        found = " ".join(f"0x{byte:02X}" for byte in body[error.start : error.end])
        raise _encoding_error(file, line, f"{found}, which is not UTF-8") from None


def _encoding_error(file: str, line: int, found: str) -> CaseFileError:
    fault = Fault(
        file=file,
        line=line,
        expected="text in UTF-8",
        found=found,
        message="The file is not UTF-8; save it as UTF-8.",
    )
    return CaseFileError([fault])
