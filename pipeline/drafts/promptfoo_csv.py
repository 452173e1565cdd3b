"""A table of promptfoo's tests (CSV) as the tree that the same tests would be in YAML.

A column is a variable, but for `__expected` (and `__expected1` and so on), which holds `type: value` or
`type(threshold): value`, or a text that the output must equal, and `__description`. Other columns that begin with two
underscores become keys of the test, so that they are listed.
"""

import csv
import io
import re
from typing import Final

from pipeline.cases.tree import Member, Node
from pipeline.errors import CaseFileError, Fault, quote

MOST_ROWS: Final = 20_000
_EXPECTED: Final = re.compile(r"__expected\d*")
_TYPED: Final = re.compile(r"((?:not-)?[a-z][a-z:-]*)(?:\(([0-9.]+)\))?:\s*(.*)", re.DOTALL)
_SHORT: Final = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_BARE: Final = frozenset({"is-json", "contains-json", "is-refusal", "is-sql", "contains-sql", "is-xml", "is-html"})


def read_csv(file: str, text: str) -> Node:
    """The rows as a list of tests.

    Raises:
        CaseFileError: there is no such table.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    tests: list[Node] = []
    try:
        head = next(reader, [])
        for row in reader:
            if len(tests) >= MOST_ROWS:
                raise _refused(file, reader.line_num, f"more than {MOST_ROWS:,} rows", "split the file")
            if any(cell.strip() for cell in row):
                tests.append(_test(dict(zip(head, row, strict=False)), reader.line_num))
    except csv.Error as error:
        raise _refused(file, reader.line_num, quote(str(error)), "correct this line") from None
    if not any(map(_EXPECTED.fullmatch, head)):
        raise _refused(file, 1, quote(", ".join(head)), "give it a column __expected")
    return Node(kind="list", line=1, items=tuple(tests))


def _refused(file: str, line: int, found: str, advice: str) -> CaseFileError:
    message = f"This is no table of promptfoo's tests; {advice}."
    fault = Fault(file=file, line=line, expected="CSV with a column __expected", found=found, message=message)
    return CaseFileError([fault])


def _test(row: dict[str, str], line: int) -> Node:
    variables = []
    assertions = []
    members = []
    for column, cell in row.items():
        if not cell.strip():
            continue
        if _EXPECTED.fullmatch(column):
            assertions.append(_assertion(cell.strip(), line))
        elif column.startswith("__"):
            members.append(Member(column.removeprefix("__"), line, _text(cell, line)))
        else:
            variables.append(Member(column, line, _text(cell, line)))
    members.append(Member("vars", line, Node(kind="object", line=line, members=tuple(variables))))
    members.append(Member("assert", line, Node(kind="list", line=line, items=tuple(assertions))))
    return Node(kind="object", line=line, members=tuple(members))


def _assertion(cell: str, line: int) -> Node:
    typed = _TYPED.fullmatch(cell)
    if typed is None:
        kind, threshold, value = (cell, None, "") if cell in _BARE else ("equals", None, cell)
    else:
        kind, threshold, value = typed[1], typed[2], typed[3]
    members = [Member("type", line, _text(_SHORT.get(kind, kind), line))]
    if threshold is not None:
        members.append(Member("threshold", line, _number(threshold, line)))
    if value:
        node = _number(value, line) if kind in {"latency", "cost"} else _text(value, line)
        members.append(Member("value", line, node))
    return Node(kind="object", line=line, members=tuple(members))


def _number(text: str, line: int) -> Node:
    try:
        return Node(kind="number", line=line, value=float(text), source=text)
    except ValueError:
        return _text(text, line)


def _text(text: str, line: int) -> Node:
    return Node(kind="text", line=line, value=text, source=text)
