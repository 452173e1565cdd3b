"""`report.md`: the report for a reviewer, fit for a pull request."""

from collections.abc import Iterator
from typing import Final

from pipeline.report.base import Writer
from pipeline.report.diff_markdown import render_diff
from pipeline.report.markdown_text import code, inline, table
from pipeline.report.model import CaseEntry, View, distribution
from pipeline.figures import figure, percent

# Longer tables of passing cases are folded away.
FOLD_ROWS: Final = 12
ANSWER_CHARACTERS: Final = 400
MESSAGE_CHARACTERS: Final = 600
LISTED_INPUTS: Final = 20
MARKS: Final = {"passed": "✅ passed", "failed": "❌ failed", "error": "💥 error", "not_run": "⏸ not run"}


def render(view: View) -> bytes:
    """The report as Markdown, UTF-8."""
    blocks = [
        _headline(view),
        _summary(view),
        _failures(view),
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
    against = [
        f"{count} {words}"
        for count, words in (
            (summary.failed - summary.known_failures, "failed"),
            (summary.errors, "in error"),
            (summary.not_run, "not run"),
        )
        if count
    ]
    total = f"{summary.total_cases} case{'' if summary.total_cases == 1 else 's'}"
    sentence = f"{summary.passed} of {total} passed" + (f", {', '.join(against)}" if against else "")
    if summary.known_failures:
        sentence += f", {summary.known_failures} known failure{'' if summary.known_failures == 1 else 's'}"
    if summary.unreadable_records:
        sentence += f"; {summary.unreadable_records} unreadable record{'' if summary.unreadable_records == 1 else 's'}"
    return sentence


def _headline(view: View) -> list[str]:
    mark = "✅ **PASS**" if view.holds else "❌ **FAIL**"
    return [f"# Evaluation of {inline(view.report.suite)}", "", f"{mark} — {verdict_line(view)}"]


def _summary(view: View) -> list[str]:
    summary = view.report.summary
    rows: list[tuple[str, str]] = [
        ("Pass rate", f"{percent(summary.pass_rate)} ({summary.passed} of {summary.total_cases})"),
        ("Failed", figure(summary.failed)),
        ("In error", figure(summary.errors)),
        ("Not run", figure(summary.not_run)),
        ("Known failures", figure(summary.known_failures)),
        ("Traces judged", figure(summary.traces)),
        (
            "Average tool calls",
            f"{figure(summary.average_tool_calls)} (of {figure(summary.traces_with_tool_calls)} traces)",
        ),
        (
            "Duration, average",
            f"{figure(summary.average_duration_ms, 'ms')} (of {figure(summary.traces_with_duration)} traces)",
        ),
        (
            "Duration, p50 / p95",
            f"{figure(summary.duration_ms_p50, 'ms')} / {figure(summary.duration_ms_p95, 'ms')}",
        ),
    ]
    for words, count in (
        ("Traces of no case", summary.unmatched_traces),
        ("Unreadable records", summary.unreadable_records),
        ("Input warnings", summary.input_warnings),
    ):
        if count > 0:
            rows.append((words, figure(count)))
    return ["## Summary", "", *table(("", ""), rows, "lr")]


def _failures(view: View) -> list[str]:
    lines: list[str] = []
    for case in view.cases("error", "failed", "not_run", known=False):
        lines += ["", *_case(view, case)]
    return ["## What failed", *lines] if lines else []


def _known(view: View) -> list[str]:
    lines: list[str] = []
    for case in view.cases("failed", known=True):
        reason = view.details[case.case_id].known_reason
        lines += ["", *_case(view, case), *([f"- known: {inline(reason)}"] if reason else [])]
    return ["## Known failures", "", "Reported, but no reason to stop a merge.", *lines] if lines else []


def _case(view: View, case: CaseEntry) -> list[str]:
    detail = view.details[case.case_id]
    lines = [
        f"### {MARKS[case.status]} {code(case.case_id)}",
        "",
        f"> {inline(detail.question, ANSWER_CHARACTERS)}",
        "",
    ]
    if case.reason is not None:
        lines.append(f"- {inline(case.reason, MESSAGE_CHARACTERS)}")
    lines += [f"- **{failed.check}**: {inline(failed.message, MESSAGE_CHARACTERS)}" for failed in case.failed_checks]
    if case.trials > 1:
        lines.append(f"- {case.passed_trials} of {case.trials} trials passed; shown is trial {detail.trial}")
    if case.trials:
        lines.append(f"- seen: {_seen(case)}; {_place(view, case)}")
    if detail.answer is not None:
        lines.append(f"- answer: {inline(detail.answer, ANSWER_CHARACTERS)}")
    elif case.trials and not view.text:
        lines.append("- answer: left out of this run (`--no-text`)")
    return lines


def _seen(case: CaseEntry) -> str:
    parts = [f"verdict {code(case.verdict) if case.verdict else 'none'}"]
    if case.gatekeeper_status:
        parts.append(f"Gatekeeper {code(case.gatekeeper_status)}")
    if case.composer_status:
        parts.append(f"Composer {case.composer_status}")
    if case.claim_check_count is not None:
        parts.append(f"{case.claim_check_count} claim checks")
    parts.append(f"{figure(case.tool_call_count)} tool calls")
    parts.append(f"{figure(case.duration_ms, 'ms')}")
    return ", ".join(parts)


def _place(view: View, case: CaseEntry) -> str:
    detail = view.details[case.case_id]
    place = code(detail.file or "") + (f" line {detail.line}" if detail.line else "")
    return f"trace {code(case.trace_id)} in {place}" if case.trace_id else f"in {place}"


def _distributions(view: View) -> list[str]:
    summary = view.report.summary
    rows = [
        (
            title,
            ", ".join(
                f"{code(value) if value != '(none)' else 'none'} {count}" for value, count in distribution(counts)
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
    return ["## Distributions", "", *table(("", "Traces"), rows)] if rows else []


def _all_cases(view: View) -> list[str]:
    cases = view.report.cases
    if not cases:
        return []
    rows = [
        (
            code(case.case_id),
            MARKS[case.status] + (" (known)" if case.known_failure else ""),
            code(case.verdict) if case.verdict else "–",
            _coverage(case.evidence_coverage.covered, case.evidence_coverage.missing),
            _coverage(case.keyword_coverage.matched, case.keyword_coverage.missing),
            f"{case.gatekeeper_status or '–'} / {case.composer_status or '–'} / {figure(case.claim_check_count)}",
            figure(case.tool_call_count),
            figure(case.duration_ms),
            f"{case.passed_trials}/{case.trials}",
        )
        for case in cases
    ]
    headers = (
        "Case",
        "Result",
        "Verdict",
        "Evidence",
        "Keywords",
        "Gatekeeper / Composer / claim checks",
        "Calls",
        "ms",
        "Trials",
    )
    lines = table(headers, ((*row[:5], inline(row[5]), *row[6:]) for row in rows), "lllllrrrr")
    if len(rows) > FOLD_ROWS:
        lines = [f"<details><summary>All {len(rows)} cases</summary>", "", *lines, "", "</details>"]
    return ["## Cases", "", *lines]


def _coverage(found: list[str], missing: list[str]) -> str:
    if not found and not missing:
        return "–"
    share = f"{len(found)}/{len(found) + len(missing)}"
    return f"{share}, missing {'; '.join(inline(one, 60) for one in missing)}" if missing else share


def _inputs(view: View) -> list[str]:
    report = view.report
    lines: list[str] = []
    lines += _listed(
        "Unreadable records",
        report.summary.unreadable_records,
        (
            f"{_where(one.file, one.line)}: {code(one.path)}: {inline(one.message, MESSAGE_CHARACTERS)}"
            for one in report.input_errors
        ),
    )
    lines += _listed(
        "Traces of no case",
        report.summary.unmatched_traces,
        (
            f"{_where(one.file, one.line)}: trace {code(one.trace_id) if one.trace_id else 'without id'}, "
            f"case id {code(one.case_id) if one.case_id else 'not given'}"
            for one in report.unmatched
        ),
    )
    lines += _listed(
        "Input warnings",
        report.summary.input_warnings,
        (f"{_where(one.file, one.line)}: {inline(one.message, MESSAGE_CHARACTERS)}" for one in report.input_warnings),
    )
    return ["## Inputs", *lines] if lines else []


def _listed(title: str, count: int, entries: Iterator[str]) -> list[str]:
    if not count:
        return []
    shown = [entry for entry, _ in zip(entries, range(LISTED_INPUTS), strict=False)]
    more = [f"- … and {figure(count - len(shown))} more, see `report.json`"] if count > len(shown) else []
    return ["", f"### {title} ({figure(count)})", "", *(f"- {entry}" for entry in shown), *more]


def _where(file: str, line: int | None) -> str:
    return code(file) + (f" line {line}" if line is not None else "")


def _footer(view: View) -> list[str]:
    source = view.report.provenance
    return [
        f"<sub>{source.tool} {inline(source.tool_version)} · cases `{source.cases_digest[:19]}` · "
        f"traces `{source.traces_digest[:19]}`</sub>",
    ]


WRITER = Writer(
    name="markdown",
    file="report.md",
    summary="the report for a reviewer",
    render=render,
    diff_file="diff.md",
    render_diff=render_diff,
    always=True,
)
