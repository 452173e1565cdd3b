"""`diff.md`: what changed, fit for a comment on a pull request."""

from collections.abc import Sequence
from typing import Final

from pipeline.diff import SEVERITIES, Change, Diff, DiffItem, Severity
from pipeline.figures import figure, percent
from pipeline.report.markdown_text import code, inline, table

# Code hosts refuse longer comments (GitHub's limit is 65,536 characters); what does not fit is cut from the end,
# where the least important items stand.
CHARACTER_LIMIT: Final = 60_000
# A section of which nothing has room: its heading, and the sentence that says so.
CUT_SECTION_CHARACTERS: Final = 200
TABLE_HEAD_LINES: Final = 2
SHORTEST_ROW_CHARACTERS: Final = 20
MESSAGE_CHARACTERS: Final = 400
NAME_CHARACTERS: Final = 120
# A verdict is whatever a trace says; the summary shows the most frequent ones.
SHOWN_VERDICTS: Final = 20
TITLES: Final[dict[Severity, str]] = {
    "regression": "Regressions",
    "improvement": "Improvements",
    "change": "Other changes",
}


def render_diff(diff: Diff) -> bytes:
    """The diff as Markdown, UTF-8, under 60,000 characters."""
    blocks = ["\n".join(block) for block in (_headline(diff), _notes(diff), _figures(diff)) if block]
    left = CHARACTER_LIMIT - sum(len(block) + 2 for block in blocks)
    wanted = {severity: [item for item in diff.items if item.severity == severity] for severity in SEVERITIES}
    sections = [(TITLES[severity], items) for severity, items in wanted.items() if items]
    for number, (title, items) in enumerate(sections, 1):
        shown = _items(items, left - (len(sections) - number + 1) * CUT_SECTION_CHARACTERS)
        cut = len(items) - max(0, len(shown) - TABLE_HEAD_LINES)
        if cut:
            shown += ["", f"… and {figure(cut)} more, cut to fit a comment; all of them stand in `diff.json`."]
            # Nothing less important has room where this had none.
            left = 0
        blocks.append("\n".join([f"## {title} ({figure(len(items))})", "", *(shown if shown[0] else shown[1:])]))
        left -= len(blocks[-1]) + 2
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
    line = f"{mark} against the baseline {code(diff.baseline.source or 'given', NAME_CHARACTERS)}"
    return [f"# Diff of {_name(diff.current.suite)}", "", line + (f", {', '.join(others)}" if others else "")]


def _name(name: str) -> str:
    return inline(name, NAME_CHARACTERS)


def _count(count: int, noun: str) -> str:
    return f"{figure(count)} {noun}{'' if count == 1 else 's'}"


def _notes(diff: Diff) -> list[str]:
    """What must be known before anyone is blamed."""
    old, new, summary = diff.baseline, diff.current, diff.summary
    notes = []
    if old.suite != new.suite:
        notes.append(f"The suite was {_name(old.suite)}, it is {_name(new.suite)} now.")
    if old.tool_version != new.tool_version:
        notes.append(
            f"diagnosis-eval was {_name(old.tool_version)}, it is {_name(new.tool_version)} now: "
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
    verdicts = sorted(
        summary.verdict_distribution.items(),
        key=lambda item: (-item[1].baseline - item[1].current, item[0]),
    )
    rows += [
        (
            f"Verdict {code(verdict, NAME_CHARACTERS)}",
            figure(change.baseline),
            figure(change.current),
            f"{change.delta:+,}",
        )
        for verdict, change in verdicts[:SHOWN_VERDICTS]
    ]
    if len(verdicts) > SHOWN_VERDICTS:
        rows.append((f"… and {figure(len(verdicts) - SHOWN_VERDICTS)} more verdicts, see `diff.json`", "", "", ""))
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


def _items(items: Sequence[DiffItem], room: int) -> list[str]:
    """The lines of a table of as many of the items as have room; none where none has."""
    # No row is shorter than its borders.
    possible = items[: max(0, room) // SHORTEST_ROW_CHARACTERS]
    lines = table(("Kind", "Case", "Tool or check", "Before", "Now", "What to look at"), map(_row, possible))
    used = 0
    for kept, line in enumerate(lines):
        used += len(line) + 1
        if used > room:
            return lines[:kept] if kept > TABLE_HEAD_LINES else []
    return lines if possible else []


def _row(item: DiffItem) -> tuple[str, ...]:
    return (
        item.kind,
        code(item.case_id, NAME_CHARACTERS) if item.case_id else "",
        code(item.tool or item.check or "", NAME_CHARACTERS) if item.tool or item.check else "",
        _value(item, item.baseline),
        _value(item, item.current),
        inline(item.message, MESSAGE_CHARACTERS),
    )


def _value(item: DiffItem, value: str | float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return _name(value)
    return percent(value) if item.kind == "pass-rate" else figure(value)
