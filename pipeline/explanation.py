"""Everything a person needs to understand one result, made from a snapshot alone.

An explanation is typed data: `diagnosis-eval explain` prints it, and the HTML report shows the same for every case.
What a run without text (`--no-text`) left out is None here, and `text` says why.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

import msgspec
import polars as pl

from pipeline import text
from pipeline.aggregate import case_results
from pipeline.cases.model import Case, Keyword, KeywordEntry, Pattern, alternatives, label, tool_alternatives
from pipeline.cases.words import suggest
from pipeline.diff import Diff, DiffItem
from pipeline.errors import SnapshotError, UsageError, quote
from pipeline.places import Original, Placed, Span, merged, search_pattern
from pipeline.snapshot.files import ROW_GROUP_ROWS, Snapshot, reading

# What one trace may put in front of a reader; what is left out is counted.
ANSWER_CHARACTERS: Final = 50_000
TEXT_CHARACTERS: Final = 10_000
MOST_ENTRIES: Final = 200
BATCH_ROWS: Final = 512
# A row group of the file: less than one cannot be read.
READ_ROWS: Final = ROW_GROUP_ROWS

Status = Literal["passed", "failed", "error", "not_run"]
Mark = Literal["", "found", "degraded", "forbidden", "leak"]
# Where marks lie on each other, the last of these shows.
_MARKS: Final[tuple[Mark, ...]] = ("", "found", "degraded", "leak", "forbidden")
Purpose = Literal[
    "root-cause", "forbidden-answer", "forbidden-claim", "degraded-required", "degraded-forbidden", "protocol-marker"
]
_MARK_OF: Final[dict[Purpose, Mark]] = {
    "root-cause": "found",
    "degraded-required": "degraded",
    "forbidden-answer": "forbidden",
    "forbidden-claim": "forbidden",
    "degraded-forbidden": "forbidden",
    "protocol-marker": "forbidden",
}
_CHECK_OF: Final[dict[Purpose, str]] = {
    "root-cause": "root-cause-keywords",
    "degraded-required": "degraded-output",
    "degraded-forbidden": "degraded-output",
    "forbidden-answer": "forbidden-answer-keywords",
    "forbidden-claim": "forbidden-confirmed-claims",
    "protocol-marker": "raw-protocol-leak",
}
_UNSUPPORTED: Final = frozenset({"unsupported", "contradicted"})
_WRITE_AGAIN: Final = "write it again with: diagnosis-eval run"


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all parts of an explanation: immutable, camelCase in JSON, what says nothing left out."""


class Piece(Part, frozen=True, kw_only=True):
    """A piece of the answer as written.

    Attributes:
        text: the piece; all pieces together are the answer.
        mark: what it is: a keyword found, a degraded-output text, something forbidden, or a leaked sentence.
        labels: the keyword entries that stand there, as reports write them.
    """

    text: str
    mark: Mark = ""
    labels: tuple[str, ...] = ()


class KeywordFinding(Part, frozen=True, kw_only=True):
    """One keyword entry of the case.

    Attributes:
        purpose: what the entry is for.
        label: the entry as reports write it.
        found: whether the answer has it; None where that is not known any more (a run without text).
        places: how often it is marked in the answer.
        exact: False where only the lines could be marked in which it stands.
    """

    purpose: Purpose
    label: str
    found: bool | None = None
    places: int = 0
    exact: bool = True


class Requirement(Part, frozen=True, kw_only=True):
    """One required evidence entry.

    Attributes:
        label: the entry as reports write it; any one of its tools will do.
        covered: None where nothing was judged.
        calls: numbers of the calls of its tools, those that met it.
        failed_calls: numbers of calls of its tools that are known to have failed.
        summarised: whether the Verifier's trace summary names one of its tools.
    """

    label: str
    covered: bool | None = None
    calls: tuple[int, ...] = ()
    failed_calls: tuple[int, ...] = ()
    summarised: bool = False


class Call(Part, frozen=True, kw_only=True):
    """One tool call.

    Attributes:
        number: its place in the order of calls, from 1.
        tool: None where the call has no name.
        failed: whether it is known to have failed.
        duration_ms: milliseconds.
        arguments: canonical JSON or raw text.
        result: what the tool gave back.
        error: the error as it was given.
        meets: labels of the required evidence it counts for.
        forbidden: whether the case forbids the tool.
    """

    number: int
    tool: str | None = None
    failed: bool = False
    duration_ms: float | None = None
    arguments: str | None = None
    result: str | None = None
    error: str | None = None
    meets: tuple[str, ...] = ()
    forbidden: bool = False


class ClaimCheck(Part, frozen=True, kw_only=True):
    """What the Verifier said of one claim."""

    claim_id: str | None = None
    verification: str | None = None
    detail: str | None = None


class BoundTool(Part, frozen=True, kw_only=True):
    """A tool whose evidence a claim binds, and whether it was really called."""

    tool: str | None = None
    called: bool = False


class Claim(Part, frozen=True, kw_only=True):
    """One claim of the Executor on its way through the Verifier."""

    claim_id: str | None = None
    text: str | None = None
    tools: tuple[BoundTool, ...] = ()
    checks: tuple[ClaimCheck, ...] = ()


class FailedCheck(Part, frozen=True, kw_only=True):
    """One failed check; `known` where the case expects it to fail."""

    check: str
    message: str
    expected: str
    observed: str
    known: bool = False


class Trial(Part, frozen=True, kw_only=True):
    """One of the traces of the case."""

    trial: int
    status: Status
    trace_id: str | None = None
    failed_checks: tuple[str, ...] = ()


class Explanation(Part, frozen=True, kw_only=True):
    """One result explained.

    Attributes:
        suite: name of the suite.
        case_id: id of the case.
        question: the case's question.
        tags: the case's tags.
        case_status: result of the case over all its trials.
        known_failure: whether all failures of the case are known ones.
        known_reason: why they are.
        status: result of this trace.
        reason: why it is in error or was not run.
        trial: which of the case's traces this is; None without a trace.
        trials: all of the case's traces, the first of them, where there are several.
        trace_id: the trace's own id.
        file: its file.
        line: its line in the file.
        text: whether the run kept the free text of the traces.
        failed: checks that failed.
        passed: ids of those that passed.
        skipped: ids of those that the case does not ask for.
        answer: the final answer in pieces; None where there is none, or it was left out.
        answer_length: characters of the whole answer, where it is longer than what is shown.
        keywords: what the case looks for in the answer.
        min_keyword_coverage: least share of root-cause keywords.
        requirements: required evidence.
        evidence_policy: what counts as having used a tool.
        calls: the tool calls, the first of them.
        call_count: number of calls; None where the trace does not say.
        summary_tools: tools named in the Verifier's trace summary.
        executor_answer: the Executor's answer before verification.
        claims: the Executor's claims, each with its checks.
        stray_checks: claim checks of no known claim.
        claim_check_count: None without claim checks.
        gatekeeper_status: the Gatekeeper's status.
        violations: what it objected to.
        verdict: the Verifier's verdict.
        score: its score.
        allowed_verdicts: those the case allows.
        forbidden_verdicts: those it forbids.
        composer_status: parsed, fallback, contradictory, or None.
        run_status: the run's end state.
        model: language model.
        duration_ms: milliseconds.
        total_tokens: all tokens.
        cost_usd: US dollars.
        baseline: name of the baseline it was compared with; None without one.
        changes: what is different from the baseline in this case.
    """

    suite: str
    case_id: str
    question: str | None = None
    tags: tuple[str, ...] = ()
    case_status: Status
    known_failure: bool = False
    known_reason: str | None = None
    status: Status
    reason: str | None = None
    trial: int | None = None
    trials: tuple[Trial, ...] = ()
    trace_id: str | None = None
    file: str | None = None
    line: int | None = None
    text: bool = True
    failed: tuple[FailedCheck, ...] = ()
    passed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    answer: tuple[Piece, ...] | None = None
    answer_length: int | None = None
    keywords: tuple[KeywordFinding, ...] = ()
    min_keyword_coverage: float = 1.0
    requirements: tuple[Requirement, ...] = ()
    evidence_policy: str = "invoked"
    calls: tuple[Call, ...] = ()
    call_count: int | None = None
    summary_tools: tuple[str, ...] | None = None
    executor_answer: str | None = None
    claims: tuple[Claim, ...] = ()
    stray_checks: tuple[ClaimCheck, ...] = ()
    claim_check_count: int | None = None
    gatekeeper_status: str | None = None
    violations: tuple[str, ...] = ()
    verdict: str | None = None
    score: float | None = None
    allowed_verdicts: tuple[str, ...] = ()
    forbidden_verdicts: tuple[str, ...] = ()
    composer_status: str | None = None
    run_status: str | None = None
    model: str | None = None
    duration_ms: float | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    baseline: str | None = None
    changes: tuple[DiffItem, ...] = ()


def explain(
    snapshot: Snapshot,
    case_id: str,
    *,
    trial: int | None = None,
    trace_id: str | None = None,
    against: Diff | None = None,
) -> Explanation:
    """Explain the result of one case: of its first trace that did not pass, else of its first.

    Args:
        snapshot: the run.
        case_id: the case.
        trial: the trace of that number instead.
        trace_id: the first trace of that id instead.
        against: what changed since a baseline.

    Raises:
        UsageError: there is no such case, trial or trace; near ones are suggested.
        SnapshotError: the rows of the snapshot are damaged.
    """
    with reading(snapshot):
        rows = snapshot.rows.filter(pl.col("case_id") == case_id)
        places = rows.select("trial", "trace_id").collect()
        if places.is_empty():
            known = snapshot.rows.select(pl.col("case_id").unique()).collect()["case_id"].to_list()
            raise UsageError(
                f"the run {quote(snapshot.source)} has no case '{quote(case_id)}'{suggest(case_id, known)}",
                hint=f"its cases are: {_few(sorted(known))}",
            )
        wanted = pl.lit(value=True)
        if trial is not None:
            wanted &= pl.col("trial") == trial
        if trace_id is not None:
            wanted &= pl.col("trace_id") == trace_id
        chosen = places.filter(wanted)
        if (trial is not None or trace_id is not None) and chosen.is_empty():
            raise _no_such_trace(case_id, places, trial, trace_id)
        (shown,) = case_results(rows)["shown_trial"].to_list()
    if trial is not None or trace_id is not None:
        shown = chosen["trial"][0]
    wanted_row = pl.DataFrame(
        {"case_id": [case_id], "trial": [shown]}, schema={"case_id": pl.String, "trial": pl.UInt32}
    )
    (explained,) = _explained(snapshot, rows, wanted_row, against)
    return explained


def _no_such_trace(case_id: str, places: pl.DataFrame, trial: int | None, trace_id: str | None) -> UsageError:
    trials, ids = places["trial"].drop_nulls().to_list(), places["trace_id"].drop_nulls().to_list()
    asked = " and ".join(
        [
            *([f"trial {trial}"] if trial is not None else []),
            *([f"trace id '{quote(trace_id)}'"] if trace_id is not None else []),
        ]
    )
    if not trials:
        hint = "the case was not run: it has no trace"
    else:
        hint = f"its trials are {trials[0]} to {trials[-1]}" + (f", its trace ids: {_few(ids)}" if ids else "")
    near = suggest(trace_id, ids) if trace_id is not None else ""
    return UsageError(f"the case {case_id} has no trace with {asked}{near}", hint=hint)


def _few(names: Sequence[str], most: int = 20) -> str:
    left = len(names) - most
    return ", ".join(quote(name, 80) for name in names[:most]) + (f" and {left} more" if left > 0 else "")


def explanations(
    snapshot: Snapshot, wanted: pl.DataFrame | None = None, *, against: Diff | None = None
) -> Iterator[Explanation]:
    """Explain every result of a run, one after the other, in key order.

    Args:
        snapshot: the run.
        wanted: `case_id` and `trial` of the results to explain; all by default.
        against: what changed since a baseline.

    Raises:
        SnapshotError: the rows of the snapshot are damaged.
    """
    yield from _explained(snapshot, snapshot.rows, wanted, against)


def _explained(
    snapshot: Snapshot, rows: pl.LazyFrame, wanted: pl.DataFrame | None, against: Diff | None
) -> Iterator[Explanation]:
    """Explain the wanted ones of some rows, which are all those of their cases."""
    with reading(snapshot):
        results = {row["case_id"]: row for row in case_results(rows).iter_rows(named=True)}
        trials = _trials(rows)
    changes: dict[str, list[DiffItem]] = {}
    for item in against.items if against is not None else ():
        if item.case_id is not None:
            changes.setdefault(item.case_id, []).append(item)
    for batch in _batches(snapshot, rows, wanted):
        for row in _rows(batch, snapshot):
            case_id = row.case_id
            yield row.explained(
                suite=snapshot.info.suite,
                case_status=results[case_id]["status"],
                known_failure=results[case_id]["known_failure"],
                known_reason=results[case_id]["known_reason"],
                trials=trials.get(case_id, ()),
                baseline=None if against is None else against.baseline.source or "given",
                changes=tuple(changes.get(case_id, ())),
            )


def _batches(snapshot: Snapshot, rows: pl.LazyFrame, wanted: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
    """The wanted rows, a few at a time; of the file, only the stretches are read in which there are some."""
    with reading(snapshot):
        keys = rows.select("case_id", "trial").with_row_index("place").collect()
    if wanted is not None:
        keys = keys.join(wanted, on=["case_id", "trial"], how="semi", nulls_equal=True, maintain_order="left")
    stretches = keys.select("place", stretch=pl.col("place") // READ_ROWS)
    for (stretch,), places in stretches.partition_by("stretch", as_dict=True, maintain_order=True).items():
        start = int(stretch) * READ_ROWS
        with reading(snapshot):
            read = rows.slice(start, READ_ROWS).collect()
        yield from read[places["place"] - start].iter_slices(BATCH_ROWS)


def _rows(batch: pl.DataFrame, snapshot: Snapshot) -> list["_Row"]:
    """The rows of a batch, each regex searched in all answers at once."""
    answers = batch["answer"].str.head(ANSWER_CHARACTERS)
    normalised = pl.DataFrame({"answer": answers}).select(text.normalise(pl.col("answer")))["answer"]
    rows = []
    searched: dict[str, list[Original]] = {}
    for row, answer, answer_text in zip(batch.iter_rows(named=True), answers, normalised, strict=True):
        known = _definition(row["definition"], snapshot.source)
        original = None if answer is None else Original(answer, answer_text)
        if original is not None:
            for regex in known.regexes:
                searched.setdefault(regex, []).append(original)
        rows.append(_Row(row, known, original, text_kept=snapshot.info.text))
    for regex, originals in searched.items():
        search_pattern(originals, regex)
    return rows


def _trials(rows: pl.LazyFrame) -> dict[str, tuple[Trial, ...]]:
    """The traces of all cases that have several."""
    frame = (
        rows.filter(pl.col("trial").is_not_null())
        .filter(pl.len().over("case_id") > 1)
        .select(
            "case_id",
            "trial",
            "status",
            "trace_id",
            failed=pl.col("failed_checks").list.eval(pl.element().struct.field("check")),
        )
        .sort("case_id", "trial")
        .collect()
    )
    found: dict[str, list[Trial]] = {}
    for case_id, trial, status, trace_id, failed in frame.iter_rows():
        one = Trial(trial=trial, status=status, trace_id=trace_id, failed_checks=tuple(failed))
        found.setdefault(case_id, []).append(one)
    return {case_id: tuple(listed[:MOST_ENTRIES]) for case_id, listed in found.items()}


class _Known(msgspec.Struct, frozen=True):
    """A case with its keywords ready to be searched."""

    case: Case
    entries: tuple[tuple[Purpose, str, tuple["_Needle", ...]], ...]
    regexes: tuple[str, ...]


class _Needle(msgspec.Struct, frozen=True):
    """One keyword, normalised; a regex as written."""

    literal: str | None
    edges: Literal["plain", "word"] = "plain"
    regex: str = ""

    def placed(self, original: Original) -> Placed:
        if self.literal is None:
            return original.pattern(self.regex)
        return original.literal(self.literal, self.edges)


@lru_cache(maxsize=1024)
def _definition(definition: str, source: str) -> _Known:
    # NOTE: a redacted definition is still one of the case's shape.
    try:
        case = msgspec.json.decode(definition, type=Case, strict=False)
    except msgspec.DecodeError as error:
        raise SnapshotError(
            f"{quote(source)} holds a case definition that cannot be read: {quote(str(error))}", hint=_WRITE_AGAIN
        ) from error
    listed: list[tuple[Purpose, KeywordEntry]] = [
        *(("root-cause", entry) for entry in case.root_cause_keywords),
        *(("forbidden-answer", entry) for entry in case.forbidden_answer_keywords),
        *(("forbidden-claim", entry) for entry in case.forbidden_confirmed_claims),
        *(("degraded-required", entry) for entry in case.degraded_output.required_any_of),
        *(("degraded-forbidden", entry) for entry in case.degraded_output.forbidden),
        *(("protocol-marker", entry) for entry in case.protocol_markers),
    ]
    entries = tuple((purpose, label(entry), tuple(map(_needle, alternatives(entry)))) for purpose, entry in listed)
    regexes = {needle.regex for _, _, needles in entries for needle in needles if needle.literal is None}
    return _Known(case, entries, tuple(sorted(regexes)))


@lru_cache(maxsize=65_536)
def _needle(keyword: Keyword) -> _Needle:
    if isinstance(keyword, Pattern):
        if keyword.word is None:
            return _Needle(None, regex=keyword.regex or "")
        return _Needle(text.normalise_texts([keyword.word])[0], "word")
    return _Needle(text.normalise_texts([keyword])[0])


class _Row:
    """One row of a snapshot on its way to an explanation."""

    def __init__(self, row: dict[str, Any], known: _Known, original: Original | None, *, text_kept: bool) -> None:
        self._row = row
        self._case = known.case
        self._entries = known.entries
        self._original = original
        self._text_kept = text_kept
        self._failed = {failed["check"] for failed in row["failed_checks"]}
        self._passed = frozenset(row["passed_checks"])
        self._marks: list[tuple[Span, Mark, str]] = []

    @property
    def case_id(self) -> str:
        return str(self._row["case_id"])

    def explained(self, **case_level: Any) -> Explanation:
        row, case = self._row, self._case
        keywords = self._keywords()
        self._mark_leaks()
        known_checks = case.known_failure.checks if case.known_failure is not None else ()
        requirements, meets = self._requirements()
        claims, strays = self._claims()
        length = None if row["answer"] is None else len(row["answer"])
        return Explanation(
            **case_level,
            case_id=self.case_id,
            question=row["question"],
            tags=tuple(row["tags"]),
            status=row["status"],
            reason=row["reason"],
            trial=row["trial"],
            trace_id=row["trace_id"],
            file=row["file"],
            line=row["line"],
            text=self._text_kept,
            failed=tuple(FailedCheck(**one, known=one["check"] in known_checks) for one in row["failed_checks"]),
            passed=tuple(row["passed_checks"]),
            skipped=tuple(row["skipped_checks"]),
            answer=self._pieces(),
            answer_length=length if length is not None and length > ANSWER_CHARACTERS else None,
            keywords=keywords,
            min_keyword_coverage=float(case.min_keyword_coverage),
            requirements=requirements,
            evidence_policy=case.evidence_policy,
            calls=self._calls(meets),
            call_count=row["tool_call_count"],
            summary_tools=None if row["summary_tools"] is None else tuple(row["summary_tools"][:MOST_ENTRIES]),
            executor_answer=_cut(row["executor_answer"]),
            claims=claims,
            stray_checks=strays,
            claim_check_count=row["claim_check_count"],
            gatekeeper_status=row["gatekeeper_status"],
            violations=_violations(row["gatekeeper_violations"]),
            verdict=row["verdict"],
            score=row["score"],
            allowed_verdicts=case.allowed_verdicts,
            forbidden_verdicts=case.forbidden_verdicts,
            composer_status=row["composer_status"],
            run_status=row["run_status"],
            model=row["model"],
            duration_ms=row["duration_ms"],
            total_tokens=row["total_tokens"],
            cost_usd=row["cost_usd"],
        )

    @property
    def _judged(self) -> bool:
        return str(self._row["status"]) in {"passed", "failed"}

    @cached_property
    def _called(self) -> set[str]:
        return {call["tool"] for call in self._row["calls"] if call["tool"] is not None}

    def _asked(self, purpose: Purpose) -> bool:
        if purpose == "protocol-marker":
            return bool(self._case.audit.required)
        if purpose in {"degraded-required", "degraded-forbidden"}:
            return str(self._row["verdict"]) == "REJECT"
        return True

    def _keywords(self) -> tuple[KeywordFinding, ...]:
        """Look for every keyword entry; where the judge knows, the judge is right."""
        findings = []
        matched, missing = set(self._row["keywords_matched"]), set(self._row["keywords_missing"])
        for purpose, name, needles in self._entries:
            if not self._asked(purpose):
                continue
            placed = [] if self._original is None else [needle.placed(self._original) for needle in needles]
            spans = merged([span for one in placed for span in one.spans])
            found: bool | None = bool(spans) if self._original is not None or not self._judged else None
            if purpose == "root-cause" and self._judged:
                found = True if name in matched else False if name in missing else found
            elif purpose != "degraded-required" and _CHECK_OF[purpose] in self._passed:
                found = False
            elif not self._judged:
                found = None
            if found:
                self._marks += [(span, _MARK_OF[purpose], name) for span in spans]
            findings.append(
                KeywordFinding(
                    purpose=purpose,
                    label=name,
                    found=found,
                    places=len(spans) if found else 0,
                    exact=all(one.exact for one in placed),
                )
            )
        return tuple(findings)

    def _mark_leaks(self) -> None:
        """Mark the sentences that the answer must not repeat, where a check failed on them."""
        if self._original is None:
            return
        texts = []
        if "degraded-output" in self._failed:
            texts.append(self._row["executor_answer"])
        if "unsupported-claim-text" in self._failed:
            bad = {one["claim_id"] for one in self._row["claim_checks"] if one["verification"] in _UNSUPPORTED}
            texts += [one["text"] for one in self._row["executor_claims"] if one["claim_id"] in bad]
        texts = [_cut(one) for one in texts[:MOST_ENTRIES] if one is not None]
        if not texts:
            return
        frame = pl.DataFrame(
            {
                "row": [0] * len(texts),
                "text": texts,
                "question": text.normalise_texts([self._row["question"] or ""]) * len(texts),
                "excused": [text.normalise_texts(self._case.degraded_output.required_any_of)] * len(texts),
            },
            schema={"row": pl.UInt32, "text": pl.String, "question": pl.String, "excused": pl.List(pl.String)},
        )
        for sentence in text.counting_sentences(frame, key="row", text="text", question="question", excused="excused")[
            "sentence_text"
        ]:
            for span in self._original.literal(sentence, "plain").spans:
                self._marks.append((span, "leak", "a sentence of the unverified answer"))

    def _pieces(self) -> tuple[Piece, ...] | None:
        """The answer cut at the ends of all marks."""
        if self._original is None:
            return None
        written = self._original.written
        cuts = sorted({0, len(written), *(end for span, _, _ in self._marks for end in span)})
        starting: dict[int, list[int]] = {}
        for number, (span, _, _) in enumerate(self._marks):
            starting.setdefault(span[0], []).append(number)
        open_marks: list[int] = []
        pieces: list[Piece] = []
        before: set[int] = set()
        for start, end in pairwise(cuts):
            open_marks = [number for number in open_marks if self._marks[number][0][1] > start]
            open_marks += starting.get(start, ())
            strongest: Mark = max((self._marks[number][1] for number in open_marks), key=_MARKS.index, default="")
            here = {number for number in open_marks if self._marks[number][1] == strongest}
            labels = dict.fromkeys(self._marks[number][2] for number in sorted(here))
            piece = Piece(text=written[start:end], mark=strongest, labels=tuple(labels))
            if before & here:
                # One mark that something weaker begins or ends in is one piece all the same.
                last = pieces.pop()
                labels = dict.fromkeys((*last.labels, *labels))
                piece = Piece(text=last.text + piece.text, mark=strongest, labels=tuple(labels))
            pieces.append(piece)
            before = here
        return tuple(pieces)

    def _requirements(self) -> tuple[tuple[Requirement, ...], dict[int, list[str]]]:
        """The required evidence, and which calls meet which of it."""
        row, case = self._row, self._case
        covered, missing = set(row["evidence_covered"]), set(row["evidence_missing"])
        summarised = set(row["summary_tools"] or ())
        meets: dict[int, list[str]] = {}
        found = []
        for entry in case.required_evidence_tools:
            name, tools = label(entry), set(tool_alternatives(entry))
            numbers = [
                (number, call["failed"]) for number, call in enumerate(row["calls"], start=1) if call["tool"] in tools
            ]
            succeeded = case.evidence_policy == "succeeded"
            met = [number for number, failed in numbers if not (failed and succeeded)]
            for number in met:
                meets.setdefault(number, []).append(name)
            found.append(
                Requirement(
                    label=name,
                    covered=True if name in covered else False if name in missing else None,
                    calls=tuple(met[:MOST_ENTRIES]),
                    failed_calls=tuple(number for number, failed in numbers if failed)[:MOST_ENTRIES],
                    summarised=bool(tools & summarised),
                )
            )
        return tuple(found), meets

    def _calls(self, meets: dict[int, list[str]]) -> tuple[Call, ...]:
        forbidden = set(self._case.forbidden_tools)
        return tuple(
            Call(
                number=number,
                tool=call["tool"],
                failed=call["failed"],
                duration_ms=call["duration_ms"],
                arguments=call["arguments"],
                result=call["result"],
                error=call["error"],
                meets=tuple(meets.get(number, ())),
                forbidden=call["tool"] in forbidden,
            )
            for number, call in enumerate(self._row["calls"][:MOST_ENTRIES], start=1)
        )

    def _claims(self) -> tuple[tuple[Claim, ...], tuple[ClaimCheck, ...]]:
        """The Executor's claims, each with what the Verifier said of it; and what it said of no known claim."""
        claims = self._row["executor_claims"][:MOST_ENTRIES]
        known = {claim["claim_id"] for claim in claims} - {None}
        checks: dict[str | None, list[ClaimCheck]] = {}
        strays = []
        for one in self._row["claim_checks"][:MOST_ENTRIES]:
            check = ClaimCheck(claim_id=one["claim_id"], verification=one["verification"], detail=_cut(one["detail"]))
            if one["claim_id"] in known:
                checks.setdefault(one["claim_id"], []).append(check)
            else:
                strays.append(check)
        return tuple(
            Claim(
                claim_id=claim["claim_id"],
                text=_cut(claim["text"]),
                tools=tuple(
                    BoundTool(tool=tool, called=tool in self._called) for tool in (claim["tools"] or ())[:MOST_ENTRIES]
                ),
                checks=tuple(checks.get(claim["claim_id"], ())),
            )
            for claim in claims
        ), tuple(strays)


def _cut(value: str | None) -> str | None:
    if value is None or len(value) <= TEXT_CHARACTERS:
        return value
    return f"{value[:TEXT_CHARACTERS]}… [cut: {len(value)} characters in all]"


def _violations(document: str | None) -> tuple[str, ...]:
    """What the Gatekeeper objected to, one text each, however the trace wrote it."""
    if document is None:
        return ()
    try:
        listed = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError):
        listed = document
    entries: Iterable[Any] = listed if isinstance(listed, list) else [listed] if listed not in (None, "", {}) else []
    return tuple(filter(None, (_cut(_in_words(entry)) for entry in list(entries)[:MOST_ENTRIES])))


def _in_words(entry: Any) -> str:
    return entry if isinstance(entry, str) else msgspec.json.encode(entry).decode()
