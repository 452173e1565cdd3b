"""Cases and traces judged in memory: from their JSON over all stages to the results."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from pipeline.assign import assign, targets
from pipeline.cases.model import Case
from pipeline.flatten.suite import flatten_suite
from pipeline.flatten.traces import flatten_traces
from pipeline.judge import judge
from pipeline.sources import native
from pipeline.sources.base import Document, ReadTrace

# A row of a table of examples: check, name, fields of the case, trace, and what is expected.
Row = tuple[Any, ...]
Results = dict[str, dict[str, str | None]]


def judge_rows(rows: Sequence[Row], redact: Sequence[str] = ()) -> list[Results]:
    """What every check says of each row's trace by the row's case: outcome, expected, observed and message."""
    cases = []
    documents = []
    for number, (_, _, fields, trace, *_) in enumerate(rows):
        case_id = f"case-{number}"
        case = {"id": case_id, "question": "What happened?", "requireVerdict": False, **fields}
        cases.append(msgspec.convert(case, Case))
        data = json.dumps({**trace, "caseId": case_id}).encode()
        documents.append(Document(data=data, file=f"{number}.json", line=None, root=0))
    read = list(native.read(documents))
    traces = [one for one in read if isinstance(one, ReadTrace)]
    assert len(traces) == len(rows), [one for one in read if one not in traces]
    suite = flatten_suite(cases)
    frames = flatten_traces(traces)
    judged = judge(assign(frames, targets(cases, cases)), frames, suite, redact=redact)
    found: list[Results] = [{} for _ in rows]
    for result in judged.results.iter_rows(named=True):
        words = ("outcome", "expected", "observed", "message")
        found[result["row"]][result["check"]] = {word: result[word] for word in words}
    return found


@pytest.fixture(scope="session")
def judged() -> Callable[..., list[Results]]:
    """Judges a table of examples, once: all its rows in one batch."""
    known: dict[int, tuple[Sequence[Row], list[Results]]] = {}

    def judged_once(rows: Sequence[Row]) -> list[Results]:
        if id(rows) not in known:
            # The table is kept beside its results, so that no other one can take its id.
            known[id(rows)] = (rows, judge_rows(rows))
        return known[id(rows)][1]

    return judged_once


@pytest.fixture(scope="session")
def judged_now() -> Callable[..., list[Results]]:
    """Judges examples that a test makes up, with suite-level `redact` regexes if it likes."""
    return judge_rows
