"""Good traces to a case file: what `diagnosis-eval draft` does.

A case asks for what its trace has: the tools called, the verdict, the audit chain, and the words that tell this answer
from the others. Each draft is judged by its own trace before it is written: an audit field that the trace has but that
does not hold is not asked for, and a trace that fails whatever is asked is no good trace, and gets no case.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
import polars as pl

from pipeline.cases.model import DEFAULT_VERDICTS
from pipeline.drafts.base import Draft, Entry, as_case_id, is_case_id, is_name
from pipeline.drafts.distinctive import distinctive
from pipeline.drafts.wording import as_keyword
from pipeline.drafts.write import check_file, make_ids_unique, write_drafts
from pipeline.errors import Fault, quote
from pipeline.flatten.traces import TraceFrames, flatten_traces
from pipeline.report.model import CaseEntry
from pipeline.run import evaluate
from pipeline.sources.base import ReadTrace, Unreadable
from pipeline.sources.files import find_inputs
from pipeline.sources.read import AUTO, read_batches
from pipeline.text import normalise_texts
from pipeline.writing import scratch_folder

REJECT: Final = "REJECT"
# Which wish of the case a failed check of its own trace takes back.
_WISHES: Final = {
    "audit-fields-present": "required",
    "raw-protocol-leak": "required",
    "claim-checks-auditable": "claimChecks",
    "composer-auditable": "composer",
    "claim-bindings": "claimBindings",
    "unsupported-claims": "maxUnsupportedClaims",
    "unsupported-claim-text": "noUnsupportedClaimText",
}
HEAD: Final = (
    "Drafted by diagnosis-eval draft; a draft guards nothing until a person trimmed it:",
    "- rootCauseKeywords: keep the words without which no right answer can do; add synonyms as a list",
    "- requiredEvidenceTools: keep the tools without which nobody could know the answer",
    "- then break a copy of the trace, and see the case fail",
)


class FromTraces(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the traces.

    Attributes:
        data: the case file; empty where there is no case.
        cases: how many cases it holds.
        told: what was not drafted and why, and what a case lacks, ready to print.
        faults: the records that could not be read.
    """

    data: bytes
    cases: int
    told: tuple[str, ...]
    faults: tuple[Fault, ...]


class _Candidate(msgspec.Struct, kw_only=True):
    """One trace with its draft."""

    record: ReadTrace
    draft: Draft


def draft_cases(paths: Sequence[str], suite: str, from_format: str = AUTO) -> FromTraces:
    """Draft a case for every good trace.

    Args:
        paths: trace files, folders, globs, or `-`.
        suite: the suite's name.
        from_format: name of the trace format, or `auto`.

    Raises:
        UsageError: a path does not exist, or there is no such format.
        CaseFileError: the suite's name is no name.
    """
    records: list[ReadTrace] = []
    unreadable: list[Unreadable] = []
    for batch in read_batches(find_inputs(paths), from_format):
        records += batch.traces
        unreadable += batch.unreadable
    told: list[str] = []
    candidates = _candidates(records, told)
    make_ids_unique([one.draft for one in candidates])
    verdicts = _foreign_verdicts(candidates)
    good = list(_good(candidates, verdicts, told)) if candidates else []
    data = b""
    if good:
        for one in good:
            _say_whose(one, records, told)
        data = write_drafts([one.draft for one in good], suite, HEAD, verdicts)
        check_file(data)
    return FromTraces(data=data, cases=len(good), told=tuple(told), faults=tuple(one.fault for one in unreadable))


def _place(record: ReadTrace) -> str:
    return record.file if record.line is None else f"{record.file}:{record.line}"


def _candidates(records: list[ReadTrace], told: list[str]) -> list[_Candidate]:
    frames = flatten_traces(records)
    rows = frames.traces.join(frames.audit, on="trace").sort("trace").to_dicts()
    tools = _tools(frames)
    kept = []
    seen: set[str] = set()
    for record, row in zip(records, rows, strict=True):
        own = row["own_case_id"]
        if row["answer"] is None:
            told.append(f"{_place(record)}: not drafted: it has no final answer")
        elif own is not None and own in seen:
            told.append(f"{_place(record)}: not drafted: it is a further trial of case {quote(own)}")
        else:
            seen.add(own or "")
            kept.append((record, row))
    answers = [row["answer"] for _, row in kept]
    terms = distinctive(answers, [row["own_question"] or "" for _, row in kept])
    return [
        _Candidate(record=record, draft=_draft(record, row, words, tools.get(row["trace"], [])))
        for (record, row), words in zip(kept, terms, strict=True)
    ]


def _tools(frames: TraceFrames) -> dict[int, list[str]]:
    """The tools that each trace called, in order, each once; else those that its summary names."""
    called = (
        frames.tool_invocations.drop_nulls("tool")
        .sort("trace", "position")
        .group_by("trace", maintain_order=True)
        .agg(pl.col("tool").unique(maintain_order=True))
    )
    found: dict[int, list[str]] = dict(called.iter_rows())
    for trace, summary in frames.traces.select("trace", "summary_tools").iter_rows():
        if summary and trace not in found:
            found[trace] = list(dict.fromkeys(summary))
    return found


def _draft(record: ReadTrace, row: dict[str, Any], words: list[str], tools: list[str]) -> Draft:
    own = row["own_case_id"]
    stem = PurePosixPath(record.file).name.partition(".")[0]
    draft = Draft(id=as_case_id(own or stem), question=row["own_question"] or "")
    trace_id = f", trace {row['trace_id']}" if row["trace_id"] else ""
    draft.about.append(f"from {_place(record)}{trace_id}")
    if not draft.question:
        draft.question = draft.id
        draft.notes["question"] = ["the trace does not say what was asked: write it here"]
    verdict = row["verdict"]
    draft.fields["rootCauseKeywords"] = []
    if verdict == REJECT:
        draft.notes["rootCauseKeywords"] = ["a degraded answer names no cause"]
    else:
        plain = normalise_texts(words)
        draft.add("rootCauseKeywords", *(Entry(as_keyword(*pair)) for pair in zip(words, plain, strict=True)))
        draft.notes["rootCauseKeywords"] = ["words that tell this answer from the others, and that the question lacks"]
    draft.fields["requiredEvidenceTools"] = []
    for tool in tools:
        draft.add_tool("requiredEvidenceTools", tool)
    if verdict is None:
        draft.fields["requireVerdict"] = False
    elif is_name(verdict):
        draft.fields["allowedVerdicts"] = [verdict]
    else:
        draft.leave_out(f"verdict {verdict}", "no case may hold such a name")
        draft.fields["requireVerdict"] = False
    audit = _audit(row)
    if audit:
        draft.fields["audit"] = audit
    return draft


def _audit(row: dict[str, Any]) -> dict[str, Any]:
    """All that a case may ask of the audit chain that the trace has."""
    checks = bool(row["claim_checks_present"] and row["claim_check_count"])
    wishes: dict[str, Any] = {
        "required": row["gatekeeper_present"] and row["claim_checks_present"] and row["composer_present"],
        "claimChecks": checks,
        "minClaimChecks": row["claim_check_count"] if checks else None,
        "composer": row["composer_present"],
        "claimBindings": row["executor_claims_present"],
        "maxUnsupportedClaims": 0 if checks else None,
        "noUnsupportedClaimText": checks and row["executor_claims_present"],
    }
    return {wish: value for wish, value in wishes.items() if value is not None and value is not False}


def _foreign_verdicts(candidates: list[_Candidate]) -> list[str]:
    """All verdicts, where one of them is not in the default contract."""
    seen = dict.fromkeys(verdict for one in candidates for verdict in one.draft.fields.get("allowedVerdicts", ()))
    return list(dict.fromkeys([*DEFAULT_VERDICTS, *seen])) if seen.keys() - set(DEFAULT_VERDICTS) else []


def _good(candidates: list[_Candidate], verdicts: list[str], told: list[str]) -> Iterator[_Candidate]:
    """Those whose trace passes; wishes that do not hold are taken back first."""
    entries = _judged(candidates, verdicts)
    for one in candidates:
        entry = entries[one.draft.id]
        reasons = [] if entry.reason is None else [entry.reason]
        for failed in entry.failed_checks:
            wish = _WISHES.get(failed.check)
            if wish is None:
                reasons.append(f"{failed.check}: {failed.message}")
                continue
            _take_back(one.draft, wish, failed.message)
        if reasons or entry.status not in {"passed", "failed"}:
            place = _place(one.record)
            told.append(f"{place}: not drafted: it is no good trace; {'; '.join(map(quote, reasons)) or entry.status}")
        else:
            yield one


def _take_back(draft: Draft, wish: str, message: str) -> None:
    audit = draft.fields["audit"]
    audit.pop(wish, None)
    if wish == "claimChecks":
        audit.pop("minClaimChecks", None)
    if not audit:
        del draft.fields["audit"]
    draft.leave_out(f"audit.{wish}", f"its own trace fails it: {quote(message)}")


def _judged(candidates: list[_Candidate], verdicts: list[str]) -> dict[str, CaseEntry]:
    """Every draft judged by its own trace."""
    with scratch_folder() as folder:
        cases, traces = folder / "cases.yaml", folder / "own.jsonl"
        cases.write_bytes(write_drafts([one.draft for one in candidates], "drafts", (), verdicts))
        with traces.open("wb") as file:
            for one in candidates:
                own = msgspec.structs.replace(one.record.trace, caseId=one.draft.id, trial=None)
                file.write(msgspec.json.encode(own) + b"\n")
        return {entry.case_id: entry for entry in evaluate(cases, traces).report.cases}


def _say_whose(one: _Candidate, records: list[ReadTrace], told: list[str]) -> None:
    """Let the case name its trace, where the trace does not name the case."""
    record, draft = one.record, one.draft
    own = record.trace.caseId
    alone = sum(other.file == record.file and other.root == record.root for other in records) == 1
    if own == draft.id and is_case_id(own):
        return
    if (own is None or not own.strip()) and alone and record.root >= 0:
        if record.line is not None or PurePosixPath(record.file).name != f"{draft.id}.json":
            draft.fields = {"traceFixture": record.file, **draft.fields}
        return
    advice = f"give the trace the caseId {draft.id}, or it belongs to no case"
    draft.about.append(advice)
    told.append(f"{_place(record)}: {advice}")
