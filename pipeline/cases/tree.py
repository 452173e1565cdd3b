"""A document as a tree of nodes that know their lines: what both readers build and what the walker checks.

The tree is built by an explicit stack, so that no input can drive recursion, and every node knows its
expanded size and height, so that a few nested YAML aliases cannot stand for a billion nodes.
"""

from typing import Any, Literal, NoReturn

import msgspec

from pipeline.errors import CaseFileError, Fault, quote

MAX_DEPTH = 200
MAX_NODES = 1_000_000
# A key of a JSON path is cut here, so that paths in messages stay readable.
_KEY_LIMIT = 80

Kind = Literal["object", "list", "text", "integer", "number", "boolean", "null", "date", "other"]


class Member(msgspec.Struct, frozen=True):
    """One key of an object with its value; `line` is the key's own."""

    key: str
    line: int
    node: "Node"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a document.

    Attributes:
        kind: what the value is in the words of JSON; `date` and `other` are what only YAML knows.
        line: where it starts, from 1; an aliased value keeps the line it is written on.
        value: the Python value of a scalar, else None.
        source: a scalar as it is written.
        members: the keys of an object in written order, a repeated key each time.
        items: the elements of a list.
        size: the number of nodes from here down, aliases expanded.
        height: the number of levels from here down, aliases expanded.
    """

    kind: Kind
    line: int
    value: Any = None
    source: str = ""
    members: tuple[Member, ...] = ()
    items: tuple["Node", ...] = ()
    size: int = 1
    height: int = 1

    def get(self, key: str) -> "Node | None":
        """The value of a key of an object, None where it is absent."""
        return next((member.node for member in self.members if member.key == key), None)

    def plain(self) -> Any:
        """The value as Python dicts, lists and scalars; at most `MAX_DEPTH` levels deep."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        if self.kind == "list":
            return [item.plain() for item in self.items]
        return self.value


def child(path: str, step: str | int) -> str:
    """The JSON path of a key or element below `path`.

    >>> child("$.cases", 2)
    '$.cases[2]'
    >>> child("$", "suite")
    '$.suite'
    >>> child("$", "a b")
    '$["a b"]'
    """
    if isinstance(step, int):
        return f"{path}[{step}]"
    if len(step) <= _KEY_LIMIT and step.isascii() and step.isidentifier():
        return f"{path}.{step}"
    shown = quote(step, _KEY_LIMIT).replace('"', '\\"')
    return f'{path}["{shown}"]'


class _Frame:
    """A collection whose end has not been seen yet."""

    def __init__(self, kind: Literal["object", "list"], line: int, path: str, anchor: str | None) -> None:
        self.kind: Literal["object", "list"] = kind
        self.line = line
        self.path = path
        self.anchor = anchor
        self.members: list[Member] = []
        self.items: list[Node] = []
        self.first_lines: dict[str, int] = {}
        self.key: Node | None = None
        self.size = 1
        self.height = 1


class TreeBuilder:
    """Builds a tree from the events of a reader.

    Args:
        file: the file's name for faults.
        language: `YAML` or `JSON`, for messages.

    Attributes:
        root: the finished document, None until it is.
        faults: what is wrong but does not end the reading: repeated keys, keys that are no text.
    """

    def __init__(self, file: str, language: str) -> None:
        self.file = file
        self.language = language
        self.root: Node | None = None
        self.faults: list[Fault] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node | None] = {}

    def open(self, kind: Literal["object", "list"], line: int, anchor: str | None = None) -> None:
        """An object or a list begins."""
        if len(self._stack) >= MAX_DEPTH:
            self._too_deep(line)
        if anchor is not None:
            self._declare(anchor, None, line)
        self._stack.append(_Frame(kind, line, self.path(), anchor))

    def close(self) -> None:
        """The innermost object or list ends."""
        frame = self._stack.pop()
        node = Node(
            kind=frame.kind,
            line=frame.line,
            members=tuple(frame.members),
            items=tuple(frame.items),
            size=frame.size,
            height=frame.height,
        )
        if frame.anchor is not None:
            self._anchors[frame.anchor] = node
        self._add(node, node.line)

    def scalar(self, node: Node, anchor: str | None = None) -> None:
        """A scalar, as a value or as a key."""
        if isinstance(node.value, str) and any("\ud800" <= character <= "\udfff" for character in node.value):
            self.refuse(
                node.line,
                expected="text of whole characters",
                found=quote(node.source),
                message="The text holds half of a surrogate pair; write the character itself.",
            )
            node = msgspec.structs.replace(node, value=node.value.encode("utf-8", "replace").decode())
        if anchor is not None:
            self._declare(anchor, node, node.line)
        self._add(node, node.line)

    def alias(self, anchor: str, line: int) -> None:
        """A YAML alias: the anchored node once more."""
        node = self._anchors.get(anchor)
        if node is None:
            known = anchor in self._anchors
            what = "refers to a collection that it stands in itself" if known else "has no anchor before it"
            self.fail(
                line,
                expected=f"an anchor &{quote(anchor)} that ends before this line",
                found=f"*{quote(anchor)}",
                message=f"The alias {what}; write the value out.",
            )
        self._add(node, line)

    def path(self) -> str:
        """The JSON path of the node that comes next; of a key's object while a key is due."""
        if not self._stack:
            return "$"
        frame = self._stack[-1]
        if frame.kind == "list":
            return child(frame.path, len(frame.items))
        if frame.key is None:
            return frame.path
        return child(frame.path, frame.key.value if frame.key.kind == "text" else quote(frame.key.source))

    def refuse(self, line: int, *, expected: str, found: str, message: str, path: str | None = None) -> None:
        """Note a fault and read on; `path` is where the next node goes unless it is given."""
        self.faults.append(
            Fault(
                file=self.file,
                line=line,
                path=self.path() if path is None else path,
                expected=expected,
                found=found,
                message=message,
            )
        )

    def fail(self, line: int, *, expected: str, found: str, message: str, path: str | None = None) -> NoReturn:
        """End the reading with a fault that leaves no document to go on with.

        Raises:
            CaseFileError: always, with all faults so far.
        """
        self.refuse(line, expected=expected, found=found, message=message, path=path)
        raise CaseFileError(self.faults)

    def _declare(self, anchor: str, node: Node | None, line: int) -> None:
        if anchor in self._anchors:
            self.fail(
                line,
                expected="each anchor once",
                found=f"&{quote(anchor)} for the second time",
                message="The anchor is given twice, so that an alias could mean either; rename one.",
            )
        self._anchors[anchor] = node

    def _add(self, node: Node, line: int) -> None:
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.size += node.size
        frame.height = max(frame.height, node.height + 1)
        if frame.size > MAX_NODES:
            self.fail(
                line,
                expected=f"at most {MAX_NODES:,} values, aliases counted wherever they stand",
                found="more",
                message="The file stands for too many values; split it, or write fewer aliases.",
            )
        if len(self._stack) + node.height > MAX_DEPTH:
            self._too_deep(line)
        if frame.kind == "list":
            frame.items.append(node)
        elif frame.key is None:
            frame.key = node
            self._check_key(frame, node)
        else:
            if frame.key.kind == "text":
                frame.members.append(Member(frame.key.value, frame.key.line, node))
            frame.key = None

    def _check_key(self, frame: _Frame, key: Node) -> None:
        if key.kind != "text":
            merge = key.kind == "other" and key.source == "<<"
            collection = key.kind in {"object", "list"}
            what = "a collection" if collection else f"{quote(key.source) or 'nothing'} ({key.kind})"
            self.refuse(
                key.line,
                path=frame.path,
                expected="a key that is text",
                found="the merge key <<" if merge else what,
                message=(
                    "Merge keys are not part of the case format; write the keys out, or use `defaults`."
                    if merge
                    else f"{self.language} does not read this key as text; quote it."
                ),
            )
            return
        first_line = frame.first_lines.get(key.value)
        if first_line is None:
            frame.first_lines[key.value] = key.line
            return
        self.refuse(
            key.line,
            path=child(frame.path, key.value),
            expected="each key once",
            found=f"{quote(key.value)} again, first on line {first_line}",
            message="The key is given twice, so that one of its values would be lost; remove one.",
        )

    def _too_deep(self, line: int) -> NoReturn:
        self.fail(
            line,
            expected=f"at most {MAX_DEPTH} levels of objects and lists",
            found="deeper nesting",
            path="$",
            message="The file is nested too deep; flatten it.",
        )
