"""YAML text to a tree, with the resolution rules of PyYAML's safe loader.

The events of the parser are read one by one instead of composing the document first: a hostile file is
refused before it costs anything, and the tag that YAML resolved is seen, so that `NO`, `503` and `2024-01-01`
are known for what they are.
"""

from collections.abc import Callable
from typing import TypeAlias

import yaml

from pipeline.cases.tree import Kind, Node, TreeBuilder
from pipeline.errors import quote

_PREFIX = "tag:yaml.org,2002:"
_SCALAR_KINDS: dict[str, Kind] = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "null": "null",
    "timestamp": "date",
}
_COLLECTION_KINDS: dict[str, Kind] = {"map": "object", "seq": "list"}
# No double has more digits worth writing, and turning digits into integers costs the square of their number.
MAX_NUMBER_LENGTH = 400

_AnyLoader: TypeAlias = "yaml.SafeLoader | yaml.CSafeLoader"
_Loader: type[_AnyLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, builder: TreeBuilder) -> None:
    """Read one YAML document into the builder.

    Args:
        text: the file's text.
        builder: receives the nodes and the faults.

    Raises:
        CaseFileError: the text is no YAML, holds no or several documents, or passes a bound.
    """
    # NOTE: libyaml counts the place of such a character in bytes, and PyYAML in characters.
    forbidden = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if forbidden is not None:
        builder.fail(
            text.count("\n", 0, forbidden.start()) + 1,
            path="$",
            expected="printable text",
            found=f"U+{ord(forbidden.group()):04X}",
            message="YAML forbids this character; remove it, or write it as an escape in double quotes.",
        )
    loader = _Loader(text)
    try:
        _read_events(loader, builder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.problem, error.context) if part)
        tabbed = "cannot start any token" in problem and mark is not None and _has_tab(text, mark.line)
        # The end of the text counts as its last line.
        last_line = text.count("\n", 0, len(text.rstrip())) + 1
        builder.fail(
            1 if mark is None else min(mark.line + 1, last_line),
            path="$",
            expected="YAML",
            found=quote(problem),
            message=(
                "YAML allows no tabs in the indentation; use spaces."
                if tabbed
                else "This is not YAML; correct the syntax at or before this line."
            ),
        )
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The scanner in Python lets `chr` of an escape that is no character raise the latter two.
        builder.fail(
            1,
            path="$",
            expected="YAML",
            found=quote(str(error)),
            message="This is not YAML; correct the syntax.",
        )
    finally:
        loader.dispose()


def _has_tab(text: str, line: int) -> bool:
    lines = text.split("\n")
    return line < len(lines) and "\t" in lines[line]


def _read_events(loader: _AnyLoader, builder: TreeBuilder) -> None:
    documents = 0
    while True:
        event = loader.get_event()
        mark = None if event is None else event.start_mark
        line = 1 if mark is None else mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            builder.scalar(_scalar(loader, event, line, builder), event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            kind = "object" if isinstance(event, yaml.MappingStartEvent) else "list"
            if event.tag not in {None, "!"} and _COLLECTION_KINDS.get(_short(event.tag)) != kind:
                _refuse_tag(event.tag, line, builder)
            builder.open("object" if kind == "object" else "list", line, event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            builder.close()
        elif isinstance(event, yaml.AliasEvent):
            builder.alias(event.anchor or "", line)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                builder.fail(
                    line,
                    path="$",
                    expected="one document",
                    found="a second one after ---",
                    message="A case file holds one YAML document; put each into a file of its own.",
                )
        elif isinstance(event, yaml.StreamEndEvent):
            return


def _short(tag: str) -> str:
    return tag.removeprefix(_PREFIX)


def _scalar(loader: _AnyLoader, event: yaml.ScalarEvent, line: int, builder: TreeBuilder) -> Node:
    source = event.value
    tag = event.tag
    if tag is None or tag == "!":
        resolve: Callable[..., str] = loader.resolve  # it has no annotations
        tag = resolve(yaml.ScalarNode, source, event.implicit)
    kind = _SCALAR_KINDS.get(_short(tag), "other")
    if kind == "other" and event.tag not in {None, "!"}:
        _refuse_tag(tag, line, builder)
        kind = "text"
    if kind in {"text", "date", "other", "null"}:
        return Node(kind=kind, line=line, value=source if kind == "text" else None, source=source)
    try:
        return Node(kind=kind, line=line, value=_construct(loader, kind, tag, source), source=source)
    except (ValueError, KeyError, IndexError, OverflowError):
        # Only an explicit tag can claim a scalar to be what it is not: `!!int abc`.
        _refuse_tag(tag, line, builder, source)
        return Node(kind="text", line=line, value=source, source=source)


def _construct(loader: _AnyLoader, kind: Kind, tag: str, source: str) -> float:
    node = yaml.ScalarNode(tag, source)
    if kind == "boolean":
        return bool(loader.construct_yaml_bool(node))
    if len(source) > MAX_NUMBER_LENGTH:
        return float("inf")
    if kind == "number":
        return float(loader.construct_yaml_float(node))
    number = int(loader.construct_yaml_int(node))
    try:
        float(number)
    except OverflowError:
        return float("inf")
    return number


def _refuse_tag(tag: str, line: int, builder: TreeBuilder, source: str = "") -> None:
    shown = tag.replace(_PREFIX, "!!", 1)
    builder.refuse(
        line,
        expected="a value without a YAML tag, or with one that fits it",
        found=quote(f"{shown} {source}".strip()),
        message="The case format knows no such YAML tag here; remove it.",
    )
