"""`report.md`: the report for a reviewer, fit for a pull request."""

from collections.abc import Iterable, Sequence
from typing import Final

from pipeline.aggregate import ABSENT
from pipeline.figures import counted, duration, figure, percent
from pipeline.report.base import Writer
from pipeline.report.diff_markdown import render_diff
from pipeline.report.markdown_text import code, excerpt, inline, table
from pipeline.report.model import CaseEntry, View, distribution

# Longer tables of all cases are folded away.
FOLD_ROWS: Final = 12
# Of more failed cases than this there is a table first, and of more than that the details are folded away.
GLANCE_CASES: Final = 3
OPEN_CASES: Final = 10
# Code hosts show no file of many megabytes: what is left out stands in report.json.
DETAILED_CASES: Final = 50
LISTED_CASES: Final = 1_000
LISTED_INPUTS: Final = 20
# Free words of traces and cases are cut here.
ANSWER_CHARACTERS: Final = 400
MESSAGE_CHARACTERS: Final = 600
NAME_CHARACTERS: Final = 80
LISTED_NAMES: Final = 5

MARKS: Final = {"passed": "✅ passed", "failed": "❌ failed", "error": "💥 in error", "not_run": "⏸️ not run"}
LEFT_OUT: Final = "left out of this run (`--no-text`)"


def render(view: View) -> bytes:
    """The report as Markdown, UTF-8."""
    blocks = [
        _headline(view),
        _summary(view),
        _failed(view),
        _listed_cases(view, "error", "In error", "What could not be read is not judged, and so does not pass."),
        _listed_cases(view, "not_run", "Not run", "No trace, no result."),
        _known(view),
        _distributions(view),
        _all_cases(view),
        _inputs(view),
        _footer(view),
    ]
    return ("\n\n".join("\n".join(block) for block in blocks if block) + "\n").encode()


def verdict_line(view: View) -> str:
    """One sentence: does it hold, and what stands against it."""
    summary = view.report.summary
    parts = [f"{figure(summary.passed)} of {counted(summary.total_cases, 'case')} passed"]
    parts += [
        f"{count:,} {words}"
        for count, words in (
            (summary.failed - summary.known_failures, "failed"),
            (summary.errors, "in error"),
            (summary.not_run, "not run"),
        )
        if count
    ]
    parts += [
        counted(count, noun)
        for count, noun in (
            (summary.known_failures, "known failure"),
            (summary.unreadable_records, "unreadable record"),
        )
        if count
    ]
    return ("" if summary.traces else "nothing was judged: ") + ", ".join(parts)


def _headline(view: View) -> list[str]:
    mark = "✅ **PASS**" if view.holds else "❌ **FAIL**"
    return [f"# Evaluation of {inline(view.report.suite, NAME_CHARACTERS)}", "", f"{mark} — {verdict_line(view)}"]


def _summary(view: View) -> list[str]:
    summary = view.report.summary
    rows = [
        ("Pass rate", f"**{percent(summary.pass_rate)}** ({figure(summary.passed)} of {figure(summary.total_cases)})")
    ]
    # Nobody misses a line that says 0.
    rows += [
        (words, figure(count))
        for words, count in (
            ("Failed", summary.failed - summary.known_failures),
            ("In error", summary.errors),
            ("Not run", summary.not_run),
            ("Known failures", summary.known_failures),
        )
        if count
    ]
    rows.append(("Traces judged", figure(summary.traces)))
    if summary.traces_with_tool_calls:
        known = _known_of(summary.traces_with_tool_calls, summary.traces)
        rows.append(("Average tool calls", figure(summary.average_tool_calls) + known))
    if summary.traces_with_duration:
        known = _known_of(summary.traces_with_duration, summary.traces)
        rows += [
            ("Average duration", duration(summary.average_duration_ms) + known),
            ("Duration p50 / p95", f"{duration(summary.duration_ms_p50)} / {duration(summary.duration_ms_p95)}"),
        ]
    rows += [
        (words, figure(count))
        for words, count in (
            ("Traces of no case", summary.unmatched_traces),
            ("Unreadable records", summary.unreadable_records),
            ("Input warnings", summary.input_warnings),
        )
        if count
    ]
    return table(("Summary", ""), rows, "lr")


def _known_of(known: int, traces: int) -> str:
    return "" if known == traces else f" (known of {figure(known)} of {figure(traces)})"


def _failed(view: View) -> list[str]:
    failed = list(view.cases("failed", known=False))
    if not failed:
        return []
    lines = [f"## What failed ({figure(len(failed))})"]
    if len(failed) > GLANCE_CASES:
        lines += ["", *_glance(failed)]
    details = [line for case in failed[:DETAILED_CASES] for line in ("", *_case(view, case))]
    if len(failed) > OPEN_CASES:
        shown = min(len(failed), DETAILED_CASES)
        title = f"The first {shown} of them one by one" if shown < len(failed) else f"All {shown} of them one by one"
        details = ["", *_folded(title, details[1:])]
    return [*lines, *details]


def _glance(cases: Sequence[CaseEntry]) -> list[str]:
    rows = [
        (
            code(case.case_id),
            ", ".join(failed.check for failed in case.failed_checks),
            _names(case.evidence_coverage.missing) or "–",
            _names(case.keyword_coverage.missing) or "–",
        )
        for case in cases[:LISTED_CASES]
    ]
    return _capped(table(("Case", "Failed checks", "Evidence missing", "Keywords missing"), rows), len(cases))


def _capped(lines: list[str], count: int) -> list[str]:
    left = count - LISTED_CASES
    return [*lines, "", f"… and {figure(left)} more, see `report.json`"] if left > 0 else lines


def _names(names: Sequence[str]) -> str:
    shown = [inline(name, NAME_CHARACTERS) for name in names[:LISTED_NAMES]]
    left = len(names) - len(shown)
    return "; ".join([*shown, *([f"{left} more"] if left else [])])


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    # GitHub reads Markdown inside HTML only between blank lines.
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def _known(view: View) -> list[str]:
    cases = list(view.cases("failed", known=True))
    if not cases:
        return []
    lines = [f"## Known failures ({figure(len(cases))})", "", "Reported, but no reason to stop a merge."]
    for case in cases[:DETAILED_CASES]:
        reason = view.details[case.case_id].known_reason or ""
        lines += ["", *_case(view, case, f"- known: {inline(reason, MESSAGE_CHARACTERS)}")]
    left = len(cases) - DETAILED_CASES
    return [*lines, "", f"… and {figure(left)} more, see `report.json`"] if left > 0 else lines


def _case(view: View, case: CaseEntry, *more: str) -> list[str]:
    detail = view.details[case.case_id]
    lines = [f"### {code(case.case_id)}", "", f"> {inline(detail.question, ANSWER_CHARACTERS)}", ""]
    lines += [f"- **{failed.check}**: {inline(failed.message, MESSAGE_CHARACTERS)}" for failed in case.failed_checks]
    lines += more
    if case.trials > 1:
        lines.append(f"- {case.passed_trials} of {case.trials} trials passed; shown is trial {detail.trial}")
    lines.append(f"- {_seen(case)}; {_place(view, case)}")
    if detail.answer is not None:
        lines.append(f"- answer: {excerpt(detail.answer, ANSWER_CHARACTERS)}")
    elif not view.text:
        lines.append(f"- answer: {LEFT_OUT}")
    return lines


def _seen(case: CaseEntry) -> str:
    parts = [f"verdict {_name(case.verdict)}" if case.verdict is not None else "no verdict"]
    if case.gatekeeper_status is not None:
        parts.append(f"Gatekeeper {_name(case.gatekeeper_status)}")
    if case.composer_status is not None:
        parts.append(f"Composer {_name(case.composer_status)}")
    if case.claim_check_count is not None:
        parts.append(counted(case.claim_check_count, "claim check"))
    if case.tool_call_count is not None:
        parts.append(counted(case.tool_call_count, "tool call"))
    if case.duration_ms is not None:
        parts.append(duration(case.duration_ms))
    return ", ".join(parts)


def _name(value: str | None) -> str:
    return "–" if value is None else code(value, NAME_CHARACTERS)


def _place(view: View, case: CaseEntry) -> str:
    detail = view.details[case.case_id]
    place = _where(detail.file or "", detail.line)
    return f"trace {_name(case.trace_id)} in {place}" if case.trace_id is not None else f"in {place}"


def _listed_cases(view: View, status: str, title: str, note: str) -> list[str]:
    cases = [case for case in view.report.cases if case.status == status]
    if not cases:
        return []
    lines = [f"- {code(case.case_id)}: {inline(case.reason or '', MESSAGE_CHARACTERS)}" for case in cases]
    lines = _capped(lines[:LISTED_CASES], len(lines))
    if len(cases) > FOLD_ROWS:
        lines = _folded(counted(len(cases), "case"), lines)
    return [f"## {title} ({figure(len(cases))})", "", note, "", *lines]


def _distributions(view: View) -> list[str]:
    summary = view.report.summary
    rows = [
        (
            title,
            " · ".join(
                f"{_name(value) if value != ABSENT else 'none'} {figure(count)}"
                for value, count in list(distribution(counts))[:LISTED_INPUTS]
            ),
        )
        for title, counts in (
            ("Verdicts", summary.verdict_distribution),
            ("Gatekeeper", summary.gatekeeper_distribution),
            ("Composer", summary.composer_distribution),
            ("Claim verifications", summary.claim_verification_distribution),
            ("Failed checks", summary.check_failures),
        )
        if counts
    ]
    return ["## Distributions", "", *table(("Of the traces judged", "Count"), rows)] if rows else []


def _all_cases(view: View) -> list[str]:
    cases = view.report.cases
    with_trials = any(case.trials > 1 for case in cases)
    headers = ["Case", "Result", "Verdict", "Evidence", "Keywords", "Gatekeeper", "Composer", "Claims", "Calls", "Time"]
    rows = [
        [
            code(case.case_id),
            MARKS[case.status] + (" (known)" if case.known_failure else ""),
            _name(case.verdict),
            _coverage(case.evidence_coverage.covered, case.evidence_coverage.missing),
            _coverage(case.keyword_coverage.matched, case.keyword_coverage.missing),
            _name(case.gatekeeper_status),
            _name(case.composer_status),
            figure(case.claim_check_count),
            figure(case.tool_call_count),
            duration(case.duration_ms),
            *([f"{case.passed_trials}/{case.trials}"] if with_trials else []),
        ]
        for case in cases[:LISTED_CASES]
    ]
    lines = _capped(table([*headers, *(["Trials"] if with_trials else [])], rows, "lllllllrrrr"), len(cases))
    if len(rows) > FOLD_ROWS:
        lines = _folded(f"All {counted(len(cases), 'case')}", lines)
    return ["## Cases", "", *lines]


def _coverage(found: Sequence[str], missing: Sequence[str]) -> str:
    if not found and not missing:
        return "–"
    share = f"{len(found)}/{len(found) + len(missing)}"
    return f"{share}, missing {_names(missing)}" if missing else share


def _inputs(view: View) -> list[str]:
    report = view.report
    lines = [
        *_listed(
            "Unreadable records",
            report.summary.unreadable_records,
            [
                f"{_where(one.file, one.line)}: {_name(one.path)}: {inline(one.message, MESSAGE_CHARACTERS)}"
                for one in report.input_errors[:LISTED_INPUTS]
            ],
        ),
        *_listed(
            "Traces of no case",
            report.summary.unmatched_traces,
            [
                f"{_where(one.file, one.line)}: {_described('trace', one.trace_id, 'trace without an id')}, "
                f"{_described('case id', one.case_id, 'no case id')}"
                for one in report.unmatched[:LISTED_INPUTS]
            ],
        ),
        *_listed(
            "Input warnings",
            report.summary.input_warnings,
            [
                f"{_where(one.file, one.line)}: {inline(one.message, MESSAGE_CHARACTERS)}"
                for one in report.input_warnings[:LISTED_INPUTS]
            ],
        ),
    ]
    return ["## Inputs", *lines] if lines else []


def _described(noun: str, name: str | None, absent: str) -> str:
    return absent if name is None else f"{noun} {_name(name)}"


def _listed(title: str, count: int, entries: Iterable[str]) -> list[str]:
    if not count:
        return []
    lines = [f"- {entry}" for entry in entries]
    left = count - len(lines)
    more = [f"- … and {figure(left)} more, see `report.json`"] if left else []
    return ["", f"### {title} ({figure(count)})", "", *lines, *more]


def _where(file: str, line: int | None) -> str:
    return code(file, MESSAGE_CHARACTERS) + (f" line {line}" if line is not None else "")


def _footer(view: View) -> list[str]:
    source = view.report.provenance
    digests = f"cases {code(source.cases_digest[:19])} · traces {code(source.traces_digest[:19])}"
    tool = f"{inline(source.tool, NAME_CHARACTERS)} {inline(source.tool_version, NAME_CHARACTERS)}"
    return [f"<sub>{tool} · {digests}</sub>"]


WRITER = Writer(
    name="markdown",
    file="report.md",
    summary="the report for a reviewer",
    render=render,
    diff_file="diff.md",
    render_diff=render_diff,
    always=True,
)
