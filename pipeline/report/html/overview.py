"""The part of the page that stands there without a script: the verdict, what got worse or failed, the distributions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pipeline.diff import Change, Diff, DiffItem
from pipeline.figures import counted, duration, figure, percent
from pipeline.report.as_markdown import verdict_line
from pipeline.report.html.figures_table import figures_table
from pipeline.report.html.markup import case_link, lines, link, name, text
from pipeline.report.model import CaseEntry, Status, View, distribution

# More than this nobody reads in a list; the table below has them all.
LISTED_CASES: Final = 40
LISTED_VALUES: Final = 12
LISTED_INPUTS: Final = 50
LISTED_MESSAGES: Final = 6
STATUSES: Final[dict[Status, str]] = {
    "passed": "passed",
    "failed": "failed",
    "error": "in error",
    "not_run": "not run",
}


def head(view: View) -> str:
    """The verdict in one line."""
    word = "PASS" if view.holds else "FAIL"
    return lines(
        (
            '<p class="eyebrow">diagnosis-eval report</p>',
            f"<h1>{name(view.report.suite)}</h1>",
            f'<p class="verdict {word.lower()}"><strong>{word}</strong> {text(verdict_line(view))}</p>',
            _against(view.diff) if view.diff is not None else "",
        )
    )


def _against(diff: Diff) -> str:
    summary = diff.summary
    worse = counted(summary.regressions, "regression") if summary.regressions else "no regression"
    others = [
        counted(count, noun)
        for count, noun in ((summary.improvements, "improvement"), (summary.changes, "other change"))
        if count
    ]
    mark = "worse" if summary.regressions else "same"
    return (
        f'<p class="against"><span class="{mark}">{worse}</span>{"".join(f", {one}" for one in others)} '
        f"against the baseline <code>{name(diff.baseline.source or 'given')}</code></p>"
    )


def overview(view: View) -> str:
    """Everything above the table of cases."""
    return lines(
        (
            _statuses(view),
            _worse(view, view.diff) if view.diff is not None else "",
            _failing(view),
            _compared(view.diff) if view.diff is not None else "",
            _distributions(view),
            _inputs(view),
        )
    )


def _statuses(view: View) -> str:
    """How many cases have which status: a bar, and the figures in words."""
    summary = view.report.summary
    parts: Sequence[tuple[str, str, int, str]] = (
        ("passed", "passed", summary.passed, link(status="passed")),
        ("known", "known failures", summary.known_failures, link(status="known")),
        ("failed", "failed", summary.failed - summary.known_failures, link(status="failed")),
        ("error", "in error", summary.errors, link(status="error")),
        ("not_run", "not run", summary.not_run, link(status="not_run")),
    )
    shown = [part for part in parts if part[2]]
    rects, start = [], 0.0
    for kind, _, count, _ in shown:
        width = 100 * count / summary.total_cases
        rects.append(f'<rect class="fill-{kind}" x="{start:.3f}" width="{width:.3f}" height="10"/>')
        start += width
    words = ", ".join(f"{count:,} {words}" for _, words, count, _ in shown)
    tiles = [
        f'<li class="tile rate"><b>{text(percent(summary.pass_rate))}</b><span>pass rate</span></li>',
        *(
            f'<li class="tile"><a href="{target}"><b class="text-{kind}">{count:,}</b><span>{words}</span></a></li>'
            for kind, words, count, target in shown
        ),
        *(
            f'<li class="tile"><b>{value}</b><span>{words}</span></li>'
            for value, words in (
                (figure(summary.traces), "traces judged"),
                (figure(summary.average_tool_calls), "tool calls on average"),
                (duration(summary.average_duration_ms), "average duration"),
                (duration(summary.duration_ms_p95), "p95 of durations"),
            )
            if value != "–"
        ),
    ]
    return lines(
        (
            '<section aria-labelledby="summary-title" class="summary">',
            '<h2 id="summary-title" class="quiet">Summary</h2>',
            f'<svg class="stack" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{words}">',
            *rects,
            "</svg>",
            f'<ul class="tiles">{"".join(tiles)}</ul>',
            "</section>",
        )
    )


def _worse(view: View, diff: Diff) -> str:
    """What got worse, case by case, in the order of the cases."""
    worse = [item for item in diff.items if item.severity == "regression"]
    if not worse:
        return lines(
            (
                '<section aria-labelledby="worse-title"><h2 id="worse-title">What got worse</h2>',
                "<p>Nothing: no case and no required evidence is worse than in the baseline.</p>",
                *_notes(diff),
                "</section>",
            )
        )
    by_case: dict[str, list[DiffItem]] = {}
    for item in worse:
        if item.case_id is not None:
            by_case.setdefault(item.case_id, []).append(item)
    entries = {case.case_id: case for case in view.report.cases}
    listed = [
        _changed_case(case_id, items, entries.get(case_id)) for case_id, items in list(by_case.items())[:LISTED_CASES]
    ]
    left = len(by_case) - LISTED_CASES
    return lines(
        (
            '<section aria-labelledby="worse-title">',
            f'<h2 id="worse-title">What got worse <span class="count">{counted(len(by_case), "case")}</span></h2>',
            *_notes(diff),
            *_overall([item for item in worse if item.case_id is None]),
            f'<ul class="reasons">{"".join(listed)}</ul>' if listed else "",
            _more(left, "case", link(change="regression")),
            "</section>",
        )
    )


def _more(left: int, noun: str, target: str) -> str:
    if left <= 0:
        return ""
    return f'<p><a href="{target}">… and {counted(left, f"more {noun}")}, in the table</a></p>'


def _overall(items: Iterable[DiffItem]) -> Iterable[str]:
    listed = "".join(f"<li>{text(item.message)}</li>" for item in items)
    return [f'<ul class="overall">{listed}</ul>'] if listed else []


def _notes(diff: Diff) -> Iterable[str]:
    """What must be known before anyone is blamed."""
    old, new, summary = diff.baseline, diff.current, diff.summary
    if old.tool_version != new.tool_version:
        yield (
            f'<p class="note">diagnosis-eval was {name(old.tool_version)}, it is {name(new.tool_version)} now: '
            "rules may have changed with it.</p>"
        )
    if summary.definition_changed_cases:
        yield (
            f'<p class="note">{counted(summary.definition_changed_cases, "case definition")} changed: '
            "what differs there may be the case, not the agent.</p>"
        )


def _changed_case(case_id: str, items: Sequence[DiffItem], entry: CaseEntry | None) -> str:
    """One case that got worse, and why."""
    status = next((item for item in items if item.kind in {"case-status", "missing-case"}), None)
    change = ""
    if status is not None:
        now = "absent" if status.current is None else str(status.current)
        change = (
            f'<span class="change">{_status(str(status.baseline))} <span aria-hidden="true">→ </span>'
            f'<span class="unseen"> to </span>{_status(now)}</span>'
        )
    checks = [(item.check, item.message) for item in items if item.kind == "check" and item.check is not None]
    reasons = [_reason(check, message) for check, message in checks[:LISTED_MESSAGES]]
    if not any(check == "evidence-coverage" for check, _ in checks):
        reasons += [f"<li>{text(item.message)}</li>" for item in items if item.kind == "evidence-coverage"]
    if len(checks) > LISTED_MESSAGES:
        reasons.append(f"<li>… and {counted(len(checks) - LISTED_MESSAGES, 'more check')}</li>")
    if status is not None and not checks:
        reasons.append(f"<li>{text(status.message)}</li>")
    shown = case_link(case_id) if entry is not None else f'<span class="case-id">{name(case_id)}</span>'
    return f'<li class="reason">{shown} {change}<ul>{"".join(reasons)}</ul></li>'


def _status(word: str) -> str:
    status = next((status for status in STATUSES if status == word), None)
    if status is None:
        return f'<span class="status status-error">{name(word)}</span>'
    return f'<span class="status status-{status}">{STATUSES[status]}</span>'


def _reason(check: str, message: str) -> str:
    return f'<li><code class="check">{name(check)}</code> {text(message)}</li>'


def _failing(view: View) -> str:
    """What stands against the run; with a baseline, what stood against it before too."""
    worse = (
        set()
        if view.diff is None
        else {item.case_id for item in view.diff.items if item.severity == "regression" and item.kind == "case-status"}
    )
    against = [
        case
        for status in ("failed", "error", "not_run")
        for case in view.cases(status, known=False)
        if case.case_id not in worse
    ]
    known = list(view.cases("failed", known=True))
    sections = []
    if against:
        title = "What failed" if view.diff is None else "Also failing, as before"
        listed = "".join(_failing_case(case) for case in against[:LISTED_CASES])
        sections += [
            '<section aria-labelledby="failed-title">',
            f'<h2 id="failed-title">{title} <span class="count">{counted(len(against), "case")}</span></h2>',
            f'<ul class="reasons">{listed}</ul>',
            _more(len(against) - LISTED_CASES, "case", link(status="bad")),
            "</section>",
        ]
    if known:
        listed = "".join(
            f'<li class="reason">{case_link(case.case_id)} '
            f"<ul><li>{text(view.details[case.case_id].known_reason or '')}</li>{''.join(_reasons(case))}</ul></li>"
            for case in known[:LISTED_CASES]
        )
        sections += [
            '<section aria-labelledby="known-title">',
            f'<h2 id="known-title">Known failures <span class="count">{counted(len(known), "case")}</span></h2>',
            f'<ul class="reasons known">{listed}</ul>',
            _more(len(known) - LISTED_CASES, "case", link(status="known")),
            "</section>",
        ]
    return lines(sections)


def _reasons(case: CaseEntry) -> list[str]:
    reasons = [_reason(failed.check, failed.message) for failed in case.failed_checks[:LISTED_MESSAGES]]
    if len(case.failed_checks) > LISTED_MESSAGES:
        reasons.append(f"<li>… and {counted(len(case.failed_checks) - LISTED_MESSAGES, 'more check')}</li>")
    return reasons


def _failing_case(case: CaseEntry) -> str:
    reasons = _reasons(case)
    if case.reason is not None:
        reasons.append(f"<li>{text(case.reason)}</li>")
    trials = f" {case.passed_trials} of {counted(case.trials, 'trial')} passed" if case.trials > 1 else ""
    return (
        f'<li class="reason">{case_link(case.case_id)} {_status(case.status)}{trials}<ul>{"".join(reasons)}</ul></li>'
    )


def _compared(diff: Diff) -> str:
    """The figures of both runs side by side, and what is better or merely different."""
    summary = diff.summary
    rows = [
        ("Pass rate", *_change(summary.pass_rate, percent)),
        ("Average tool calls", *_change(summary.average_tool_calls)),
        ("Average duration", *_change(summary.average_duration_ms, duration)),
        *(
            (
                f"Verdict {name(verdict)}",
                figure(change.baseline),
                figure(change.current),
                f"{change.delta:+,}" if change.delta else "0",
            )
            for verdict, change in sorted(
                summary.verdict_distribution.items(), key=lambda item: (-item[1].baseline - item[1].current, item[0])
            )[:LISTED_VALUES]
        ),
        *(
            (words, "", figure(count), "")
            for words, count in (("New cases", summary.new_cases), ("Missing cases", summary.missing_cases))
            if count
        ),
    ]
    body = "".join(
        f'<tr><th scope="row">{label}</th><td>{before}</td><td>{now}</td><td>{delta}</td></tr>'
        for label, before, now, delta in rows
    )
    return lines(
        (
            '<section aria-labelledby="compared-title"><h2 id="compared-title">Against the baseline</h2>',
            '<div class="scroll" tabindex="0" role="region" aria-label="Figures against the baseline">',
            '<table class="plain"><thead><tr><td></td><th scope="col">Baseline</th><th scope="col">Current</th>',
            f'<th scope="col">Change</th></tr></thead><tbody>{body}</tbody></table></div>',
            _others(diff, "improvement", "What got better"),
            _others(diff, "change", "What else changed"),
            "</section>",
        )
    )


def _change(change: Change, show: Callable[[float | None], str] = figure) -> tuple[str, str, str]:
    delta = "–"
    if change.delta is not None and show is percent:
        delta = f"{change.delta * 100:+.1f} points"
    elif change.delta is not None:
        delta = f"{'+' if change.delta > 0 else ''}{show(change.delta)}"
    return show(change.baseline), show(change.current), delta


def _others(diff: Diff, severity: str, title: str) -> str:
    items = [item for item in diff.items if item.severity == severity]
    if not items:
        return ""
    absent = {item.case_id for item in diff.items if item.kind == "missing-case"}
    listed = "".join(
        f"<li>{case_link(item.case_id) if item.case_id is not None and item.case_id not in absent else ''} "
        f"{text(item.message)}</li>"
        for item in items[:LISTED_CASES]
    )
    left = len(items) - LISTED_CASES
    more = f"<p>… and {counted(left, 'more')}, see <code>diff.json</code></p>" if left > 0 else ""
    return f"<details><summary>{title} ({len(items):,})</summary><ul>{listed}</ul>{more}</details>"


def _distributions(view: View) -> str:
    summary = view.report.summary
    blocks = [
        _bars("Failed checks", summary.check_failures, "check"),
        _bars("Verdicts", summary.verdict_distribution, "verdict"),
        _bars("Gatekeeper", summary.gatekeeper_distribution),
        _bars("Composer", summary.composer_distribution),
        _bars("Claim verifications", summary.claim_verification_distribution),
    ]
    return lines(
        (
            '<section aria-labelledby="distributions-title"><h2 id="distributions-title">Distributions</h2>',
            f'<div class="distributions">{"".join(blocks)}</div>',
            figures_table(view),
            "</section>",
        )
    )


def _bars(title: str, counts: dict[str, int], filtered: str = "") -> str:
    """One distribution as bars; each is a link where the table can be filtered by it."""
    if not counts:
        return ""
    ordered = list(distribution(counts))
    most = max(count for _, count in ordered)
    rows = []
    for value, count in ordered[:LISTED_VALUES]:
        label = name(value)
        if filtered:
            label = f'<a href="{link(**{filtered: value})}">{label}</a>'
        rows.append(
            f'<li><span class="label">{label}</span><span class="track"><span class="bar" '
            f'style="width:{100 * count / most:.1f}%"></span></span><span class="n">{count:,}</span></li>'
        )
    left = len(ordered) - LISTED_VALUES
    if left > 0:
        rows.append(f"<li>… and {counted(left, 'more value')}</li>")
    return f'<div class="distribution"><h3>{title}</h3><ul class="bars">{"".join(rows)}</ul></div>'


def _inputs(view: View) -> str:
    report = view.report
    blocks = [
        _input_list(
            "Unreadable records",
            report.summary.unreadable_records,
            [(one.file, one.line, f"{one.path}: {one.message}") for one in report.input_errors[:LISTED_INPUTS]],
        ),
        _input_list(
            "Traces of no case",
            report.summary.unmatched_traces,
            [
                (one.file, one.line, f"trace {one.trace_id or 'without an id'}, case id {one.case_id or 'none'}")
                for one in report.unmatched[:LISTED_INPUTS]
            ],
        ),
        _input_list(
            "Input warnings",
            report.summary.input_warnings,
            [(one.file, one.line, f"{one.path}: {one.message}") for one in report.input_warnings[:LISTED_INPUTS]],
        ),
    ]
    if not any(blocks):
        return ""
    return lines(
        ('<section aria-labelledby="inputs-title"><h2 id="inputs-title">Inputs</h2>', *blocks, "</section>"),
    )


def _input_list(title: str, count: int, entries: Sequence[tuple[str, int | None, str]]) -> str:
    if not count:
        return ""
    listed = "".join(
        f"<li><code>{text(file)}{'' if line is None else f':{line}'}</code> {text(message)}</li>"
        for file, line, message in entries
    )
    left = count - len(entries)
    more = f"<p>… and {left:,} more, see <code>report.json</code></p>" if left > 0 else ""
    return f"<details><summary>{title} ({count:,})</summary><ul>{listed}</ul>{more}</details>"


def foot(view: View) -> str:
    """Where the report comes from."""
    source = view.report.provenance
    return (
        f"<p>{name(source.tool)} {name(source.tool_version)} · cases <code>{name(source.cases_digest[:19])}</code> · "
        f"traces <code>{name(source.traces_digest[:19])}</code></p>"
    )
