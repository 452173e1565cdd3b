"""`cases.csv`: one row per case, for a spreadsheet.

RFC 4180: commas, CRLF, quotes doubled. It begins with a byte-order mark, without which Excel does not read UTF-8, and
every text stands in quotes; an unknown figure is an empty cell without them. For programs there are `report.json` and
`snapshot.parquet`, which lose nothing.

A spreadsheet runs a cell that begins like a formula, and a trace may say anything. So such a cell gets an apostrophe in
front, which spreadsheets take for "this is text". What follows a semicolon gets one too: where the comma is the decimal
point, spreadsheets cut a row there, and quotes in front of it are no protection.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pipeline.report.base import Writer
from pipeline.report.findings import known_reason, sentences
from pipeline.report.markdown_text import visible
from pipeline.report.model import CaseEntry, View

BYTE_ORDER_MARK: Final = "\ufeff"
# Excel takes no more than 32,767 in a cell.
CELL_CHARACTERS: Final = 32_000

COLUMNS: Final = (
    *("caseId", "status", "knownFailure", "knownReason", "failedChecks", "reasons", "verdict"),
    *("evidenceRatio", "evidenceCovered", "evidenceMissing", "keywordRatio", "keywordsMatched", "keywordsMissing"),
    *("toolCallCount", "durationMs", "gatekeeperStatus", "composerStatus", "claimCheckCount"),
    *("trials", "passedTrials", "traceId", "file", "line", "tags", "question"),
)

# The full-width forms count: some spreadsheets normalise them before they look.
_FORMULA: Final = re.compile(r"((?:^|;)[\s\"]*)(?=[=+\-@＝＋－＠])")

Value = str | float | bool | Sequence[str] | None


def render(view: View) -> bytes:
    """The cases as CSV, UTF-8 with a byte-order mark."""
    rows = [COLUMNS, *(_row(view, case) for case in view.report.cases)]
    return (BYTE_ORDER_MARK + "".join(_line(row) for row in rows)).encode()


def _line(row: Iterable[Value]) -> str:
    return ",".join(cell(value) for value in row) + "\r\n"


def cell(value: Value) -> str:
    """A value as it is written: a number as it is, a text in quotes and no formula, nothing for None.

    >>> print(cell('=HYPERLINK("x")'), cell(["a", "-b"]), cell(True), cell(0.5), cell(None), sep=",")
    "'=HYPERLINK(""x"")","a; '-b",true,0.5,
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return '"' + text_cell(value).replace('"', '""') + '"'


def text_cell(value: str | Sequence[str]) -> str:
    """A text, or a list of them, on one line and no formula.

    >>> print(text_cell("=1+1"), text_cell(["a", "-b"]))
    '=1+1 a; '-b
    """
    text = visible(value if isinstance(value, str) else "; ".join(value), CELL_CHARACTERS)
    # What was escaped is longer than before.
    return _FORMULA.sub(r"\1'", text)[:CELL_CHARACTERS]


def _row(view: View, case: CaseEntry) -> list[Value]:
    detail = view.details[case.case_id]
    evidence, keywords = case.evidence_coverage, case.keyword_coverage
    return [
        *(case.case_id, case.status, case.known_failure, known_reason(view, case)),
        *([failed.check for failed in case.failed_checks], sentences(view, case), case.verdict),
        *(evidence.ratio, evidence.covered, evidence.missing),
        *(keywords.ratio, keywords.matched, keywords.missing),
        *(case.tool_call_count, case.duration_ms, case.gatekeeper_status, case.composer_status),
        *(case.claim_check_count, case.trials, case.passed_trials, case.trace_id),
        *(detail.file, detail.line, detail.tags, detail.question),
    ]


WRITER = Writer(
    name="csv",
    file="cases.csv",
    summary="one row per case, for a spreadsheet",
    render=render,
)
