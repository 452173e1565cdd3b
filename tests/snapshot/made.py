"""Snapshots made by hand: rows that say only what a test is about, everything else as a run would have it."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from pipeline import schemas
from pipeline.snapshot.files import Snapshot
from pipeline.snapshot.info import SCHEMA_VERSION, SnapshotInfo

Row = dict[str, Any]


def judged(
    case: str,
    *,
    trial: int = 1,
    failed: Sequence[str] = (),
    covered: Sequence[str] = (),
    missing: Sequence[str] = (),
    verdict: str | None = "PASS",
    calls: int | None = 4,
    ms: float | None = 100.0,
    known: Sequence[str] = (),
    policy: object = "all",
    asks: str = "",
    message: str = "",
) -> Row:
    """A trace that was read: passed, unless checks failed.

    Args:
        case: id of the case.
        trial: which trace of the case.
        failed: ids of the failed checks.
        covered: required tools that were used.
        missing: required tools that were not.
        verdict: the Verifier's.
        calls: number of tool calls.
        ms: duration.
        known: checks of the case's `knownFailure`.
        policy: the case's `passPolicy`.
        asks: whatever else the definition holds; another text is another definition.
        message: of the failed checks.
    """
    return {
        **_case(case, known=known, policy=policy, asks=asks),
        "trial": trial,
        "trace_id": f"{case}-{trial}",
        "file": f"{case}.json",
        "status": "failed" if failed else "passed",
        "failed_checks": [
            {
                "check": check,
                "message": message or f"{check} of {case} in trial {trial}",
                "expected": "this",
                "observed": "that",
            }
            for check in failed
        ],
        "verdict": verdict,
        "evidence_required": [*covered, *missing],
        "evidence_covered": list(covered),
        "evidence_missing": list(missing),
        "tool_call_count": calls,
        "duration_ms": ms,
        "content_digest": f"sha256:{case}-{trial}",
    }


def unreadable(case: str, *, trial: int = 1, reason: str = "$.finalAnswer: text was expected", asks: str = "") -> Row:
    """A trace that could not be read."""
    return {
        **_case(case, asks=asks),
        "trial": trial,
        "file": f"{case}.json",
        "status": "error",
        "reason": reason,
    }


def not_run(case: str, *, asks: str = "") -> Row:
    """A case without a trace."""
    return {**_case(case, asks=asks), "status": "not_run", "reason": "its trace fixture was not found"}


def _case(case: str, *, known: Sequence[str] = (), policy: object = "all", asks: str = "") -> Row:
    definition = {
        "id": case,
        "passPolicy": policy,
        "knownFailure": {"checks": list(known), "reason": "it is hard"} if known else None,
    }
    text = json.dumps(definition)
    return {"case_id": case, "question": "Why?", "definition": text, "definition_digest": text + asks}


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows as a frame of `schemas.SnapshotRows`, in key order."""
    columns = schemas.SnapshotRows.columns()
    full = [
        {
            name: row.get(name, [] if isinstance(column.dtype, pl.List) and not column.nullable else None)
            for name, column in columns.items()
        }
        for row in rows
    ]
    made = pl.DataFrame(full, schema=schemas.dtypes_of(schemas.SnapshotRows), orient="row")
    return schemas.checked(schemas.SnapshotRows, made.sort("case_id", "trial", nulls_last=True))


def info(**fields: Any) -> SnapshotInfo:
    """The metadata of a run in which nothing was odd."""
    given = {
        "schema_version": SCHEMA_VERSION,
        "suite": "demo",
        "tool_version": "1.0.0",
        "cases_digest": "sha256:cases",
        "traces_digest": "sha256:traces",
        "unmatched_traces": 0,
        "unreadable_records": 0,
        "input_warnings_count": 0,
        "text": True,
    }
    return SnapshotInfo(**{**given, **fields})


def snapshot(*rows: Row, source: str = "", **fields: Any) -> Snapshot:
    """A snapshot in memory."""
    return Snapshot(info=info(**fields), rows=frame(rows).lazy(), source=source)
