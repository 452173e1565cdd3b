"""`diff.md`: what changed, fit for a comment on a pull request."""

from collections.abc import Sequence
from typing import Final

from pipeline.diff import SEVERITIES, Change, Diff, DiffItem, Severity
from pipeline.report.markdown_text import code, inline, table
from pipeline.figures import figure, percent

# Code hosts refuse longer comments (GitHub's limit is 65,536 characters); what does not fit is cut from the end,
# where the least important items stand.
CHARACTER_LIMIT: Final = 60_000
MESSAGE_CHARACTERS: Final = 400
TITLES: Final[dict[Severity, str]] = {
    "regression": "Regressions",
    "improvement": "Improvements",
    "change": "Other changes",
}


def render_diff(diff: Diff) -> bytes:
    """The diff as Markdown, UTF-8, under 60,000 characters."""
    blocks = ["\n".join(block) for block in (_headline(diff), _notes(diff), _figures(diff)) if block]
    left = CHARACTER_LIMIT - sum(len(block) + 2 for block in blocks)
    for severity in SEVERITIES:
        items = [item for item in diff.items if item.severity == severity]
        if items:
            block = _items(TITLES[severity], items, left)
            blocks.append(block)
            left -= len(block) + 2
    return ("\n\n".join(blocks) + "\n").encode()


def _headline(diff: Diff) -> list[str]:
    summary = diff.summary
    if summary.regressions:
        mark = f"❌ **{_count(summary.regressions, 'regression')}**"
    elif diff.items:
        mark = "✅ **No regression**"
    else:
        mark = "✅ **No difference**"
    others = [
        _count(count, words)
        for count, words in ((summary.improvements, "improvement"), (summary.changes, "other change"))
        if count
    ]
    line = f"{mark} against the baseline {code(diff.baseline.source or 'given')}"
    return [f"# Diff of {inline(diff.current.suite)}", "", line + (f", {', '.join(others)}" if others else "")]


def _count(count: int, noun: str) -> str:
    return f"{figure(count)} {noun}{'' if count == 1 else 's'}"


def _notes(diff: Diff) -> list[str]:
    """What must be known before anyone is blamed."""
    old, new, summary = diff.baseline, diff.current, diff.summary
    notes = []
    if old.suite != new.suite:
        notes.append(f"The suite was {inline(old.suite)}, it is {inline(new.suite)} now.")
    if old.tool_version != new.tool_version:
        notes.append(
            f"diagnosis-eval was {inline(old.tool_version)}, it is {inline(new.tool_version)} now: "
            "rules may have changed with it.",
        )
    if summary.definition_changed_cases:
        notes.append(
            f"{_count(summary.definition_changed_cases, 'case definition')} changed: "
            "what differs there may be the case, not the agent.",
        )
    if old.cases_digest == new.cases_digest and old.traces_digest == new.traces_digest and diff.items:
        notes.append("Cases and traces are the same in both runs: what differs are the rules of the tool.")
    return [f"> {note}" for note in notes]


def _figures(diff: Diff) -> list[str]:
    summary = diff.summary
    rows: list[Sequence[str]] = [
        ("Pass rate", *_change(summary.pass_rate, as_percent=True)),
        ("Average tool calls", *_change(summary.average_tool_calls)),
        ("Average duration, ms", *_change(summary.average_duration_ms)),
    ]
    rows += [
        (f"Verdict {code(verdict)}", figure(change.baseline), figure(change.current), f"{change.delta:+,}")
        for verdict, change in summary.verdict_distribution.items()
    ]
    for words, count in (("New cases", summary.new_cases), ("Missing cases", summary.missing_cases)):
        if count:
            rows.append((words, "", figure(count), ""))
    return table(("", "Baseline", "Current", "Delta"), rows, "lrrr")


def _change(change: Change, *, as_percent: bool = False) -> tuple[str, str, str]:
    show = percent if as_percent else figure
    delta = "–"
    if change.delta is not None:
        delta = f"{change.delta * 100:+.1f} points" if as_percent else f"{change.delta:+,.2f}"
    return show(change.baseline), show(change.current), delta


def _items(title: str, items: Sequence[DiffItem], room: int) -> str:
    head = f"## {title} ({figure(len(items))})\n\n"
    lines = table(("Kind", "Case", "Tool or check", "Before", "Now", "What to look at"), map(_row, items))
    # Kept back for the sentence that says what was cut, of this table and of one that has no room at all.
    room -= len(head) + 200
    kept = lines[:2]
    used = sum(len(line) + 1 for line in kept)
    for line in lines[2:]:
        if used + len(line) + 1 > room:
            break
        kept.append(line)
        used += len(line) + 1
    cut = len(lines) - len(kept)
    if not cut:
        return head + "\n".join(kept)
    note = f"… and {figure(cut)} more, cut to fit a comment; all of them stand in `diff.json`."
    return head + ("\n".join([*kept, "", note]) if len(kept) > len(lines[:2]) else note)


def _row(item: DiffItem) -> tuple[str, ...]:
    return (
        item.kind,
        code(item.case_id) if item.case_id else "",
        code(item.tool or item.check or "") if item.tool or item.check else "",
        _value(item, item.baseline),
        _value(item, item.current),
        inline(item.message, MESSAGE_CHARACTERS),
    )


def _value(item: DiffItem, value: str | float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return inline(value)
    return percent(value) if item.kind == "pass-rate" else figure(value)
