"""What a draft is, and what an origin of drafts is: another tool's test cases.

A draft carries what a case can say, and lists what it cannot: nothing of the original is dropped in silence. It asks
for no verdict, because none of these tools has a Verifier; a person trims it before it guards anything.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

import pipeline.drafts
from pipeline.cases.model import CASE_ID_PATTERN, NAME_PATTERN
from pipeline.cases.tree import Node
from pipeline.errors import CaseFileError, Fault, quote
from pipeline.registry import Registry

LONGEST_ID: Final = 100
# Lists of names, which are compared exactly.
_NAMES: Final = frozenset({"requiredEvidenceTools", "forbiddenTools"})
_NOT_IN_ID: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NAME: Final = re.compile(NAME_PATTERN)
_CASE_ID: Final = re.compile(CASE_ID_PATTERN)


class Entry(msgspec.Struct, frozen=True):
    """One entry of a list in a case, with what a reader should know of it.

    Attributes:
        value: as a case file writes it.
        remark: where it is from; empty for nothing.
    """

    value: Any
    remark: str = ""


class LeftOut(msgspec.Struct, frozen=True):
    """Something that a case cannot say.

    Attributes:
        line: the line it stands on in the original, from 1; None where there is none.
        what: the thing itself, quoted for one line.
        why: why it is not carried over.
    """

    line: int | None
    what: str
    why: str

    def __str__(self) -> str:
        """The thing and the reason."""
        return f"{self.what} ({self.why})"


class Draft(msgspec.Struct, kw_only=True):
    """One case in the making.

    Attributes:
        id: a case id; made unique among all drafts of one file when written.
        question: what the user asked.
        line: the line where it begins in the original; None where there is none.
        fields: further keys of the case in writing order; lists hold `Entry` or plain values.
        about: remarks above the case.
        notes: remarks above a key, by key.
        left_out: what the case cannot say.
    """

    id: str
    question: str = ""
    line: int | None = None
    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    about: list[str] = msgspec.field(default_factory=list)
    notes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    left_out: list[LeftOut] = msgspec.field(default_factory=list)

    def leave_out(self, what: str, why: str, line: int | None = None) -> None:
        """List something that the case cannot say."""
        self.left_out.append(LeftOut(line, quote(what), why))

    def add(self, key: str, *entries: Entry) -> None:
        """Add entries to a list, each value once, whatever the case of its letters; names are told apart by it."""
        listed: list[Entry] = self.fields.setdefault(key, [])
        exact = key in _NAMES
        known = {str(one.value) if exact else str(one.value).lower() for one in listed}
        for entry in entries:
            same = str(entry.value) if exact else str(entry.value).lower()
            if same not in known:
                known.add(same)
                listed.append(entry)

    def add_tool(self, key: str, name: str | None, line: int | None = None) -> bool:
        """Add a tool to a list; a name that no case may hold is listed instead. True where it was taken."""
        if name is None or not is_name(name):
            self.leave_out(f"{key}: {name or 'a call without a name'}", "no case may hold such a name", line)
            return False
        self.add(key, Entry(name))
        return True


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an origin, read.

    Attributes:
        file: its name as the user gave it, with `/`.
        root: its content.
        language: `YAML`, `JSON` or `CSV`.
    """

    file: str
    root: Node
    language: str

    def refused(self, message: str, expected: str, found: str) -> CaseFileError:
        """The fault of a file that holds no test cases."""
        fault = Fault(file=self.file, line=self.root.line, expected=expected, found=found, message=message)
        return CaseFileError([fault])


class Drafted(msgspec.Struct, kw_only=True):
    """What one file gave.

    Attributes:
        cases: the drafts.
        left_out: what belongs to no case of the file.
    """

    cases: list[Draft] = msgspec.field(default_factory=list)
    left_out: list[LeftOut] = msgspec.field(default_factory=list)


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A tool whose test cases can be drafted from.

    Attributes:
        name: what `--from` takes.
        summary: one line for people.
        takes: whether a file found in a folder is looked at; files named outright always are.
        drafts: makes drafts of one file; `CaseFileError` where it holds no test cases.
        losses: what no draft of this origin can say; stands once at the top of the file.
    """

    name: str
    summary: str
    takes: Callable[[str], bool]
    drafts: Callable[[Source], Drafted]
    losses: tuple[str, ...] = ()


ORIGINS: Final[Registry[Origin]] = Registry("origin of test cases")


def origins() -> Registry[Origin]:
    """All origins, discovered on first use."""
    if not len(ORIGINS):
        ORIGINS.discover(pipeline.drafts, "ORIGIN")
    return ORIGINS


def as_case_id(text: str) -> str:
    """A case id made of any text.

    >>> as_case_id("tests/integration/order query.test.json"), as_case_id("连接池")
    ('tests-integration-order-query.test.json', 'case')
    """
    made = _NOT_IN_ID.sub("-", text).strip("-._")[:LONGEST_ID].strip("-._")
    return made or "case"


def is_name(text: str) -> bool:
    """Whether a case may hold a text as the name of a tool or a verdict."""
    return bool(text.strip()) and _NAME.fullmatch(text) is not None


def is_case_id(text: str) -> bool:
    """Whether a text may be a case id as it is."""
    return _CASE_ID.fullmatch(text) is not None


def text_of(node: Node | None) -> str | None:
    """A scalar as it is written, whatever YAML takes it for; None for anything else, null and blank text.

    >>> text_of(Node(kind="integer", line=1, value=694, source="11:34"))
    '11:34'
    """
    if node is None or node.kind in {"object", "list", "null"}:
        return None
    text = node.value if node.kind == "text" else node.source
    return text if text.strip() else None


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The elements of a list; a single value is a list of one."""
    if node is None or node.kind == "null":
        return ()
    return node.items if node.kind == "list" else (node,)


def is_plain(node: Node, most_levels: int = 100) -> bool:
    """Whether a case file can hold a value: no dates, no NaN or infinity, not too deep."""
    if node.height > most_levels:
        return False
    pending = [node]
    while pending:
        one = pending.pop()
        if one.kind in {"date", "other"} or (one.kind in {"integer", "number"} and not math.isfinite(one.value)):
            return False
        pending += [*one.items, *(member.node for member in one.members)]
    return True


def shown(node: Node | None) -> str:
    """A value in a few words."""
    if node is None:
        return "nothing"
    if node.kind == "object":
        return f"{{{', '.join(quote(member.key, 40) for member in node.members[:6])}}}"
    if node.kind == "list":
        return (
            ", ".join(shown(item) for item in node.items[:6] if item.kind != "list") or f"a list of {len(node.items)}"
        )
    return quote(str(text_of(node) or node.source), 100)
