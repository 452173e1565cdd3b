"""The explanation of one result as Markdown, fit for an issue or a comment."""

from collections.abc import Iterable
from typing import Final

from pipeline.explanation import Call, Explanation, Mark, Piece
from pipeline.figures import figure
from pipeline.report import explain_words as words
from pipeline.report.markdown_text import code, inline, table

NAME_CHARACTERS: Final = 200
TEXT_CHARACTERS: Final = 1_200
CELL_CHARACTERS: Final = 400
# Code hosts refuse comments of more than 65,536 characters; what does not fit is named.
CHARACTER_LIMIT: Final = 60_000
STATUS: Final = {"passed": "✅ passed", "failed": "❌ failed", "error": "💥 in error", "not_run": "⏸️ not run"}
SEVERITY: Final = {"regression": "❌ regression", "improvement": "✅ improvement", "change": "change"}
MARKS: Final[dict[Mark, str]] = {"found": "✓", "degraded": "✓", "forbidden": "✗", "leak": "!"}
_LEGEND: Final[dict[Mark, str]] = {
    "found": "**✓ …** a root-cause keyword",
    "degraded": "**✓ …** says that this is a degraded answer",
    "forbidden": "**✗ …** must not stand here",
    "leak": "**! …** repeats what was not verified",
}
_GOOD: Final = {True: "✓", False: "✗", None: "·"}


def explain_markdown(explanation: Explanation) -> str:
    """An explanation as Markdown; what goes over 60,000 characters is left out from the end, and said so."""
    blocks = [
        "\n".join(block)
        for block in (
            _head(explanation),
            _failed(explanation),
            _changes(explanation),
            _answer(explanation),
            _keywords(explanation),
            _evidence(explanation),
            _calls(explanation),
            _chain(explanation),
            _other_checks(explanation),
            _trials(explanation),
        )
        if block
    ]
    kept: list[str] = []
    left = CHARACTER_LIMIT
    for block in blocks:
        title = block.partition("\n")[0].strip("# ")
        if len(block) > left:
            kept.append(f"… “{title}” was left out to fit a comment; `diagnosis-eval explain` shows it.")
            continue
        kept.append(block)
        left -= len(block) + 2
    return "\n\n".join(kept) + "\n"


def _head(it: Explanation) -> list[str]:
    known = " (a known failure)" if it.known_failure else ""
    lines = [f"# {code(it.case_id)}: {STATUS[it.status]}{known}", ""]
    if it.known_failure and it.known_reason is not None:
        lines += [f"Known: {inline(it.known_reason, TEXT_CHARACTERS)}", ""]
    if it.case_status != it.status:
        lines += [f"The case as a whole is {words.STATUS_WORDS[it.case_status]}, by its pass policy.", ""]
    if it.question is not None:
        lines += [f"> {inline(it.question, TEXT_CHARACTERS)}", ""]
    lines.append(" · ".join(f"{name} {code(value, NAME_CHARACTERS)}" for name, value in words.facts(it)))
    return lines


def _failed(it: Explanation) -> list[str]:
    lines = []
    if it.reason is not None:
        lines += ["## Why it was not judged", "", inline(it.reason, TEXT_CHARACTERS)]
    if it.failed:
        lines += ["## Why it failed", ""]
    for failed in it.failed:
        lines += [
            f"- **{failed.check}**{' (known)' if failed.known else ''}: {inline(failed.message, TEXT_CHARACTERS)}",
            f"  - expected: {inline(failed.expected, TEXT_CHARACTERS)}",
            f"  - observed: {inline(failed.observed, TEXT_CHARACTERS)}",
        ]
    return lines


def _changes(it: Explanation) -> list[str]:
    if it.baseline is None:
        return []
    lines = [f"## Since the baseline {code(it.baseline, NAME_CHARACTERS)}", ""]
    if not it.changes:
        return [*lines, "Nothing changed in this case."]
    rows = [
        (
            SEVERITY[item.severity],
            item.kind,
            code(item.tool or item.check or "", NAME_CHARACTERS) if item.tool or item.check else "",
            inline(words.change_words(item), CELL_CHARACTERS),
        )
        for item in it.changes
    ]
    return [*lines, *table(("", "Kind", "Tool or check", "What changed"), rows)]


def _answer(it: Explanation) -> list[str]:
    if it.answer is None:
        if it.status not in {"passed", "failed"}:
            return []
        return ["## Answer", "", "left out of this run (`--no-text`)" if not it.text else "none"]
    marks = [_LEGEND[mark] for mark in MARKS if any(piece.mark == mark for piece in it.answer)]
    lines = ["## Answer", "", *([f"{', '.join(marks)}.", ""] if marks else [])]
    # A backslash at its end keeps a line of the answer a line.
    shown = list(_lines(it.answer))
    lines += [f"> {line}{chr(92) if line and following else ''}".rstrip() for line, following in _with_next(shown)]
    if it.answer_length is not None:
        lines += ["", f"… cut: the answer has {figure(it.answer_length)} characters."]
    return lines


def _with_next(lines: list[str]) -> Iterable[tuple[str, str]]:
    return zip(lines, [*lines[1:], ""], strict=True)


def _lines(pieces: Iterable[Piece]) -> Iterable[str]:
    line = ""
    for piece in pieces:
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                yield line.strip()
                line = ""
            line += _marked(text, piece.mark, at_start=not line)
    yield line.strip()


def _marked(text: str, mark: Mark, *, at_start: bool) -> str:
    inner = text.strip()
    if not inner:
        return " " if text else ""
    before, after = (" " if text[0].isspace() else ""), (" " if text[-1].isspace() else "")
    if not mark:
        # Only at the start of a line can a character start a block.
        safe = inline(inner) if at_start else inline(f"x{inner}")[1:]
        return f"{before}{safe}{after}"
    return f"{before}**{MARKS[mark]} {inline(f'x{inner}')[1:]}**{after}"


def _keywords(it: Explanation) -> list[str]:
    if not it.keywords:
        return []
    rows = [
        (_GOOD[good], inline(name, TEXT_CHARACTERS), purpose, said)
        for good, name, purpose, said in words.keyword_lines(it)
    ]
    coverage = words.coverage_words(it)
    return [
        "## Keywords",
        "",
        *([f"{coverage}.", ""] if coverage else []),
        *table(("", "Keyword", "What for", "In the answer"), rows),
    ]


def _evidence(it: Explanation) -> list[str]:
    if not it.requirements:
        return []
    rows = [
        (
            _GOOD[requirement.covered],
            inline(requirement.label, NAME_CHARACTERS),
            words.requirement_words(requirement, it.evidence_policy),
        )
        for requirement in it.requirements
    ]
    return ["## Required evidence", "", *table(("", "Tool", f"Policy: {it.evidence_policy}"), rows)]


def _calls(it: Explanation) -> list[str]:
    if it.call_count is None:
        if it.status not in {"passed", "failed"}:
            return []
        return ["## Tool calls", "", "The trace does not say (no `toolInvocations`)."]
    lines = [f"## Tool calls ({figure(it.call_count)})", ""]
    if not it.calls:
        return [*lines, "None."]
    lines += table(("#", "Tool", "Outcome", "Meets", "Arguments", "Result"), map(_call, it.calls), "r")
    if it.call_count > len(it.calls):
        lines += ["", f"… and {figure(it.call_count - len(it.calls))} more"]
    if not it.text:
        lines += ["", "Arguments and results are left out of this run (`--no-text`)."]
    return lines


def _call(call: Call) -> tuple[str, ...]:
    outcome = words.call_words(call)
    result = call.error if call.error is not None else call.result
    return (
        str(call.number),
        (code(call.tool, NAME_CHARACTERS) if call.tool is not None else words.NAMELESS)
        + (" **forbidden**" if call.forbidden else ""),
        f"**{outcome}**" if call.failed else outcome,
        inline(", ".join(call.meets), NAME_CHARACTERS),
        inline(call.arguments, CELL_CHARACTERS) if call.arguments is not None else "",
        inline(result, CELL_CHARACTERS) if result is not None else "",
    )


def _chain(it: Explanation) -> list[str]:
    if it.status not in {"passed", "failed"}:
        return []
    lines = ["## Audit chain", "", f"- **Executor**: {words.executor_words(it)}"]
    if it.executor_answer is not None:
        lines.append(f"  > {inline(it.executor_answer, TEXT_CHARACTERS)}")
    lines.append(f"- **Gatekeeper**: {inline(words.gatekeeper_words(it), NAME_CHARACTERS)}")
    lines += [f"  - ✗ {inline(violation, TEXT_CHARACTERS)}" for violation in it.violations]
    lines.append(f"- **Verifier**: {inline(words.verdict_words(it), TEXT_CHARACTERS)}; {words.checks_words(it)}")
    lines.append(f"- **Composer**: {inline(words.composer_words(it), NAME_CHARACTERS)}")
    rows = [
        (
            code(claim.claim_id, NAME_CHARACTERS) if claim.claim_id is not None else "–",
            inline(claim.text, CELL_CHARACTERS) if claim.text is not None else "" if it.text else "left out",
            inline(words.bound_words(claim), CELL_CHARACTERS),
            "; ".join(inline(check.verification or "no verification", NAME_CHARACTERS) for check in claim.checks)
            or "not checked",
            "; ".join(inline(check.detail, CELL_CHARACTERS) for check in claim.checks if check.detail is not None),
        )
        for claim in it.claims
    ]
    rows += [
        (
            code(check.claim_id, NAME_CHARACTERS) if check.claim_id is not None else "–",
            "*no known claim*",
            "",
            inline(check.verification or "no verification", NAME_CHARACTERS),
            inline(check.detail, CELL_CHARACTERS) if check.detail is not None else "",
        )
        for check in it.stray_checks
    ]
    return [*lines, "", *table(("Claim", "Text", "Evidence", "Verification", "Detail"), rows)] if rows else lines


def _other_checks(it: Explanation) -> list[str]:
    lines = [
        f"- {title} ({len(checks)}): {', '.join(checks)}"
        for title, checks in (("passed", it.passed), ("not asked for", it.skipped))
        if checks
    ]
    return ["## Other checks", "", *lines] if lines else []


def _trials(it: Explanation) -> list[str]:
    if len(it.trials) < 2:  # noqa: PLR2004 - one trial is no choice
        return []
    rows = [
        (
            str(trial.trial) + (" (this one)" if trial.trial == it.trial else ""),
            STATUS[trial.status],
            inline(trial.trace_id, NAME_CHARACTERS) if trial.trace_id is not None else "",
            ", ".join(trial.failed_checks),
        )
        for trial in it.trials
    ]
    return ["## All trials", "", *table(("Trial", "Result", "Trace", "Failed checks"), rows)]
