"""The data of the page: an index of all cases, and their explanations in blocks that are read when one is opened."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import polars as pl

from pipeline.diff import SEVERITIES
from pipeline.explanation import Explanation, explanations
from pipeline.judge import all_checks
from pipeline.report.model import View
from pipeline.snapshot.files import Snapshot

# A block is parsed when one of its cases is opened.
BLOCK_BYTES: Final = 512 << 10
# What the explanations may take: the first ones in full, the next without arguments and results, the rest not at all.
# Results that did not pass come first.
FULL_BYTES: Final = 12 << 20
BRIEF_BYTES: Final = 40 << 20
MOST_TRIALS: Final = 1_000
REASON_CHARACTERS: Final = 240
QUESTION_CHARACTERS: Final = 240
BRIEF_CHARACTERS: Final = 300

STATUSES: Final = ("passed", "failed", "error", "not_run")


class Row(msgspec.Struct, frozen=True, array_like=True):
    """One case in the index; the script reads the fields by their order."""

    case_id: str
    status: str
    known: bool
    change: str
    verdict: str | None
    checks: list[int]
    tags: tuple[str, ...]
    evidence: tuple[int, int]
    keywords: tuple[int, int]
    calls: int | None
    duration_ms: float | None
    trials: int
    passed_trials: int
    question: str
    why: str
    # Trial (0 without a trace), block and place in it, of every result that has an explanation; the shown one first.
    places: list[tuple[int, int, int]]


class Data(msgspec.Struct, frozen=True):
    """The index and the blocks, as JSON."""

    index: bytes
    blocks: list[bytes]


def data(view: View) -> Data:
    """Everything that the script of the page shows."""
    checks = {check.name: number for number, check in enumerate(all_checks())}
    changes: dict[str, str] = {}
    for item in view.diff.items if view.diff is not None else ():
        # Items are sorted by severity, the worst first.
        if item.case_id is not None:
            changes.setdefault(item.case_id, item.severity)
    blocks = _Blocks()
    if view.snapshot is not None:
        _fill(blocks, view, view.snapshot, checks)
    rows = []
    for case in view.report.cases:
        detail = view.details[case.case_id]
        why = case.failed_checks[0].message if case.failed_checks else case.reason or ""
        covered, matched = case.evidence_coverage, case.keyword_coverage
        rows.append(
            Row(
                case.case_id,
                case.status,
                case.known_failure,
                changes.get(case.case_id, ""),
                case.verdict,
                [checks.setdefault(failed.check, len(checks)) for failed in case.failed_checks],
                detail.tags,
                (len(covered.covered), len(covered.covered) + len(covered.missing)),
                (len(matched.matched), len(matched.matched) + len(matched.missing)),
                case.tool_call_count,
                case.duration_ms,
                case.trials,
                case.passed_trials,
                _short(detail.question or "", QUESTION_CHARACTERS),
                _short(why, REASON_CHARACTERS),
                blocks.places.get(case.case_id, []),
            )
        )
    index = {
        "suite": view.report.suite,
        "text": view.text,
        "compared": view.diff is not None,
        "severities": SEVERITIES,
        "checks": list(checks),
        "meanings": {check.name: check.meaning for check in all_checks()},
        "brief": blocks.brief,
        "cases": rows,
    }
    return Data(msgspec.json.encode(index), list(blocks.finished()))


def _short(value: str, limit: int) -> str:
    return value if len(value) <= limit else f"{value[:limit].rstrip()}…"


def _fill(blocks: "_Blocks", view: View, snapshot: Snapshot, checks: dict[str, int]) -> None:
    for wanted in _by_importance(snapshot, view):
        if wanted.is_empty():
            continue
        for explanation in explanations(snapshot, wanted, against=view.diff):
            if blocks.full:
                return
            blocks.add(explanation, checks)


def _by_importance(snapshot: Snapshot, view: View) -> Iterator[pl.DataFrame]:
    """`case_id` and `trial` of all results in portions: those shown of cases that did not pass first."""
    shown = pl.LazyFrame(
        {
            "case_id": [case.case_id for case in view.report.cases],
            "shown": [view.details[case.case_id].trial for case in view.report.cases],
            "bad": [case.status != "passed" for case in view.report.cases],
        },
        schema={"case_id": pl.String, "shown": pl.UInt32, "bad": pl.Boolean},
    )
    rows = (
        snapshot.rows.select("case_id", "trial", failing=pl.col("status") != "passed")
        .filter(pl.col("trial").fill_null(0) <= MOST_TRIALS)
        .join(shown, on="case_id", maintain_order="left")
        .with_columns(first=pl.col("trial").eq_missing(pl.col("shown")))
        .collect()
    )
    bad, first, failing = pl.col("bad"), pl.col("first"), pl.col("failing")
    for portion in (first & bad, ~first & failing, first & ~bad, ~first & ~failing):
        yield rows.filter(portion).select("case_id", "trial")


class _Blocks:
    """Explanations on their way into blocks."""

    def __init__(self) -> None:
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        self.brief = 0
        self._bytes = 0
        self._blocks: list[bytes] = []
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    @property
    def full(self) -> bool:
        return self._bytes >= FULL_BYTES + BRIEF_BYTES

    def add(self, explanation: Explanation, checks: dict[str, int]) -> None:
        plain = _plain(explanation, checks)
        if self._bytes >= FULL_BYTES:
            plain = _shortened(plain)
            self.brief += 1
        if explanation.case_id in self.places:
            # The first one of the case has the list of all.
            plain.pop("trials", None)
        encoded = msgspec.json.encode(plain)
        place = (explanation.trial or 0, len(self._blocks), len(self._pending))
        self.places.setdefault(explanation.case_id, []).append(place)
        self._pending.append(encoded)
        self._pending_bytes += len(encoded)
        self._bytes += len(encoded)
        if self._pending_bytes >= BLOCK_BYTES:
            self._close()

    def _close(self) -> None:
        self._blocks.append(b"[" + b",\n".join(self._pending) + b"]")
        self._pending, self._pending_bytes = [], 0

    def finished(self) -> Iterable[bytes]:
        if self._pending:
            self._close()
        return self._blocks


# What the index says already, or the page as a whole.
_IN_INDEX: Final = ("suite", "tags", "text", "caseStatus", "knownFailure", "baseline")


def _plain(explanation: Explanation, checks: dict[str, int]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(explanation)
    for key in _IN_INDEX:
        plain.pop(key, None)
    for key in ("passed", "skipped"):
        plain[key] = [checks.setdefault(check, len(checks)) for check in plain.get(key, ())]
    # An id in an item is that of its case, and one in a claim's check that of the claim.
    for item in plain.get("changes", ()):
        item.pop("caseId", None)
    for claim in plain.get("claims", ()):
        for check in claim.get("checks", ()):
            check.pop("claimId", None)
        claim["tools"] = [[one.get("tool"), one.get("called", False)] for one in claim.get("tools", ())]
    # What there is much of, without the names of its fields: the script knows their order.
    plain["keywords"] = [
        [one["purpose"], one["label"], one.get("found"), one.get("places", 0), one.get("exact", True)]
        for one in plain.get("keywords", ())
    ]
    if plain.get("answer") is not None:
        plain["answer"] = [
            [one["text"], one["mark"], *one.get("labels", ())] if "mark" in one else [one["text"]]
            for one in plain["answer"]
        ]
    return plain


def _shortened(plain: dict[str, Any]) -> dict[str, Any]:
    """An explanation without its longest texts; what a person looks at first stays."""
    plain["brief"] = True
    plain.pop("executorAnswer", None)
    for call in plain.get("calls", ()):
        call.pop("arguments", None)
        call.pop("result", None)
        if "error" in call:
            call["error"] = _short(call["error"], BRIEF_CHARACTERS)
    return plain
