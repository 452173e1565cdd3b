"""Mapping files: YAML (or JSON) to a mapping, checked wholly before anything is read; all faults are raised at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from pipeline.cases.declared import plain_value, struct_type
from pipeline.cases.document import Document, read_document
from pipeline.cases.tree import Node, child
from pipeline.cases.walk import Walker
from pipeline.cases.words import found, quote_it
from pipeline.errors import CaseFileError, Fault, MappingFileError, UsageError, quote
from pipeline.sources.base import Format
from pipeline.sources.expressions import problem_of
from pipeline.sources.files import Inputs
from pipeline.sources.formats import formats
from pipeline.sources.mapping import Mapping, mapping_format
from pipeline.sources.read import AUTO

# Texts of a mapping that are no expressions, by path.
_NO_EXPRESSIONS: Final = ("$.name", "$.base")
# Keys that cannot be all that a mapping maps: they say which trace it is, and nothing of it.
_WHICH: Final = frozenset({"traceId", "caseId", "trial"})


def load_mapping(path: str) -> Mapping:
    """Read a mapping file.

    Args:
        path: the file; `.json` is read as JSON, everything else as YAML.

    Raises:
        MappingFileError: the file breaks its contract; all its faults, by line.
        UsageError: there is no such file.
    """
    shown = quote(path, 4096)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise UsageError(
            f"the mapping file {shown} cannot be read: {reason}",
            hint="--mapping names a YAML file that says where the fields of a trace stand",
        ) from None
    try:
        document = read_document(shown, data, "schemaVersion, name and fields")
    except CaseFileError as error:
        raise MappingFileError(error.faults) from None
    walker = Walker(shown, document.language)
    walker.check(Mapping, document.root)
    faults = [*document.faults, *walker.faults, *_expressions(document), *_rules(document)]
    if faults:
        # A missing key stands at the line of its object, before what is wrong inside.
        raise MappingFileError(sorted(dict.fromkeys(faults), key=lambda fault: (fault.line or 0, fault.path)))
    return msgspec.convert(plain_value(struct_type(Mapping), document.root), Mapping)


def wanted_mapping(path: str | None, from_format: str, inputs: Inputs) -> Mapping | None:
    """The mapping that was asked for, if there is one.

    Args:
        path: the mapping file, or None.
        from_format: what was asked for as the format.
        inputs: what is to be read.

    Raises:
        MappingFileError: see `load_mapping`.
        UsageError: there is no such file; a format was asked for too; or a file holds traces that were imported before.
    """
    if path is None:
        return None
    mapping = load_mapping(path)
    if from_format != AUTO:
        raise UsageError(
            f"--mapping and --from {quote(from_format)} each say how the traces are read",
            hint=f"leave --from out, or write `base: {quote(from_format)}` into the mapping to add to that format",
        )
    for file in inputs.files:
        if file.kind == "parquet":
            raise UsageError(
                f"{file.name} holds imported traces, in which a mapping has nothing to look for",
                hint="give --mapping to the import instead",
            )
    return mapping


def format_of(mapping: Mapping) -> Format:
    """The trace format that a mapping makes."""
    return mapping_format(mapping, None if mapping.base is None else formats().get(mapping.base))


def _expressions(document: Document) -> Iterator[Fault]:
    """The texts that are no expressions. What is no text is the walker's to report."""
    pending = [("$", document.root)]
    while pending:
        path, node = pending.pop()
        if node.kind == "text" and path not in _NO_EXPRESSIONS and node.value.strip():
            problem = problem_of(node.value)
            if problem is not None:
                place = "" if problem.column is None else f" at character {problem.column}"
                yield Fault(
                    file=document.file,
                    line=node.line,
                    path=path,
                    expected=problem.expected,
                    found=quote(node.value),
                    message=f"This JMESPath expression cannot be used{place}: {quote(problem.what)}; correct it.",
                )
        inner = ((child(path, member.key), member.node) for member in node.members)
        pending.extend(entry for entry in inner if entry[0] != "$.verdicts")


def _rules(document: Document) -> Iterator[Fault]:
    """What the structs cannot say."""
    root, file = document.root, document.file
    base = root.get("base")
    if base is not None and base.kind == "text" and base.value not in formats():
        yield Fault(
            file=file,
            line=base.line,
            path="$.base",
            expected=f"one of {', '.join(formats().names)}",
            found=found(base),
            message=f"There is no such trace format; {formats().suggest(base.value)}",
        )
    fields = root.get("fields")
    if fields is not None and fields.kind == "object":
        mapped = [member for member in fields.members if member.node.kind != "null" and member.key not in _WHICH]
        if not mapped:
            yield Fault(
                file=file,
                line=fields.line,
                path="$.fields",
                expected="an expression for at least one of finalAnswer, toolInvocations, verdict and the like",
                found=found(fields),
                message="The mapping finds nothing that could be judged; say where finalAnswer stands.",
            )
        verdicts = root.get("verdicts")
        if verdicts is not None and verdicts.kind == "object":
            yield from _verdicts(file, verdicts, fields)


def _verdicts(file: str, verdicts: Node, fields: Node) -> Iterator[Fault]:
    verdict = fields.get("verdict")
    if verdict is None or verdict.kind == "null":
        yield Fault(
            file=file,
            line=verdicts.line,
            path="$.verdicts",
            expected="an expression under fields.verdict",
            found="nothing",
            message="The table says what values mean that nothing looks for; say where the verdict stands, "
            "or remove the table.",
        )
    if not verdicts.members:
        yield Fault(
            file=file,
            line=verdicts.line,
            path="$.verdicts",
            expected="at least one value with its verdict",
            found="an empty object",
            message="No value means a verdict, so that every record would be refused; fill the table, or remove it.",
        )
    for member in verdicts.members:
        node = member.node
        if node.kind != "text" or not node.value.strip():
            scalar = node.kind not in {"object", "list", "text"}
            yield Fault(
                file=file,
                line=node.line,
                path=child("$.verdicts", member.key),
                expected="a verdict, as text",
                found=found(node),
                message=quote_it(node) if scalar else "A verdict is a word; write one.",
            )
