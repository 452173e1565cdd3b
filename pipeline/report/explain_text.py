"""The explanation of one result for a terminal: as wide as it is, in colour where it has colours.

Every mark is a character too, so that nothing is lost without colours. Text of a trace is shown printable: no escape
reaches the terminal.
"""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from pipeline.explanation import Call, Claim, ClaimCheck, Explanation, Mark
from pipeline.figures import counted, figure
from pipeline.report import explain_words as words
from pipeline.report.markdown_text import visible

LEAST_WIDTH: Final = 20
TEXT_CHARACTERS: Final = 1_200
NAME_CHARACTERS: Final = 200
# Of an answer in pieces, a line is cut here before it is wrapped.
SHOWN_CHANGES: Final = 50
TAB: Final = "    "

_GOOD: Final = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}
_STATUS: Final = {"passed": ("✓", "green"), "failed": ("✗", "red"), "error": ("!", "red"), "not_run": ("-", "yellow")}
_SEVERITY: Final = {"regression": ("▼", "red"), "improvement": ("▲", "green"), "change": ("•", "yellow")}
# How a mark opens, and its style; every one closes with a bracket.
MARKS: Final[dict[Mark, tuple[str, str]]] = {
    "found": ("[✓ ", "bold green"),
    "degraded": ("[✓ ", "bold green"),
    "forbidden": ("[✗ ", "bold red"),
    "leak": ("[! ", "bold magenta"),
}
_LEGEND: Final[dict[Mark, str]] = {
    "found": "a root-cause keyword",
    "degraded": "says that this is a degraded answer",
    "forbidden": "must not stand here",
    "leak": "repeats what was not verified",
}


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print an explanation.

    Args:
        explanation: the result explained.
        console: where to; its width is kept.
    """
    _Page(console, explanation).print()


class _Page:
    """One explanation on a console."""

    def __init__(self, console: Console, explanation: Explanation) -> None:
        self._console = console
        self._it = explanation

    def print(self) -> None:
        self._head()
        self._failed()
        self._changes()
        self._answer()
        self._keywords()
        self._evidence()
        self._calls()
        self._chain()
        self._other_checks()
        self._trials()

    def _line(self, text: Text, *, indent: int = 0, hang: int = 2) -> None:
        """Print one line; where it is too long, what continues it is indented by `hang` more."""
        width = max(self._console.width - indent - hang, LEAST_WIDTH)
        first, *rest = text.wrap(self._console, width + hang) or [Text("")]
        if rest:
            whole = text[len(first.plain) :]
            # Without the space at which the first line was broken.
            whole = whole[len(whole.plain) - len(whole.plain.lstrip(" ")) :]
            rest = list(whole.wrap(self._console, width))
        for number, piece in enumerate([first, *rest]):
            piece.rstrip()
            line = Text(" " * (indent + (hang if number else 0))) + piece
            self._console.print(line, no_wrap=True, overflow="ignore", crop=False)

    def _section(self, title: str, note: str = "") -> None:
        self._console.print()
        self._line(Text.assemble((title, "bold"), ("  " + note if note else "", "dim")))

    def _head(self) -> None:
        it = self._it
        mark, style = _STATUS[it.status]
        known = "  (a known failure)" if it.known_failure else ""
        self._line(
            Text.assemble(
                (f"{mark} ", style), (it.case_id, "bold"), (f"  {words.STATUS_WORDS[it.status]}{known}", style)
            )
        )
        if it.known_reason is not None and it.known_failure:
            self._line(Text(f"known: {_shown(it.known_reason)}"), indent=2)
        if it.case_status != it.status:
            self._line(
                Text(f"the case as a whole is {words.STATUS_WORDS[it.case_status]}, by its pass policy"), indent=2
            )
        for name, value in words.facts(it):
            self._line(Text.assemble((f"{name}: ", "dim"), _shown(value, NAME_CHARACTERS)), indent=2)
        if it.question is not None:
            self._section("Question")
            self._line(Text(_shown(it.question)), indent=2, hang=0)

    def _failed(self) -> None:
        it = self._it
        if it.reason is not None:
            self._section("Why it was not judged")
            self._line(Text(_shown(it.reason)), indent=2, hang=0)
        if not it.failed:
            return
        self._section("Why it failed", counted(len(it.failed), "failed check"))
        for failed in it.failed:
            known = "  (known)" if failed.known else ""
            self._line(Text.assemble(("✗ ", "red"), (failed.check, "bold red"), (known, "dim")), indent=2)
            self._line(Text(_shown(failed.message)), indent=4, hang=0)
            self._line(Text.assemble(("expected: ", "dim"), _shown(failed.expected)), indent=6)
            self._line(Text.assemble(("observed: ", "dim"), _shown(failed.observed)), indent=6)

    def _changes(self) -> None:
        it = self._it
        if it.baseline is None:
            return
        self._section("Since the baseline", _shown(it.baseline, NAME_CHARACTERS))
        for item in it.changes[:SHOWN_CHANGES]:
            mark, style = _SEVERITY[item.severity]
            what = item.tool or item.check
            head = f"{item.kind} {_shown(what, NAME_CHARACTERS)}" if what else item.kind
            self._line(
                Text.assemble((f"{mark} {item.severity}: ", style), f"{head}: ", _shown(words.change_words(item))),
                indent=2,
            )
        if not it.changes:
            self._line(Text("nothing changed in this case"), indent=2)

    def _answer(self) -> None:
        it = self._it
        if it.answer is None:
            if it.status in {"passed", "failed"}:
                self._section("Answer")
                self._line(Text(words.LEFT_OUT if not it.text else "none"), indent=2)
            return
        marks = [mark for mark in MARKS if any(piece.mark == mark for piece in it.answer)]
        legend = ", ".join(f"{MARKS[mark][0].strip()} …] {_LEGEND[mark]}" for mark in marks)
        self._section("Answer", legend)
        line = Text()
        for piece in it.answer:
            opening, style = MARKS.get(piece.mark, ("", ""))
            for number, text in enumerate(piece.text.split("\n")):
                if number:
                    self._line(Text.assemble(("│ ", "dim"), line), indent=2, hang=2)
                    line = Text()
                if text:
                    line.append_text(Text(f"{opening}{_kept(text)}{']' if opening else ''}", style=style))
        self._line(Text.assemble(("│ ", "dim"), line), indent=2, hang=2)
        if it.answer_length is not None:
            self._line(Text(f"… cut: the answer has {figure(it.answer_length)} characters", style="dim"), indent=2)

    def _keywords(self) -> None:
        it = self._it
        if not it.keywords:
            return
        self._section("Keywords", words.coverage_words(it))
        for good, name, purpose, said in words.keyword_lines(it):
            mark, style = _GOOD[good]
            note = said if purpose == words.PURPOSES["root-cause"] else f"{said} ({purpose})"
            self._line(Text.assemble((f"{mark} ", style), _shown(name), (f"  {note}", "dim")), indent=2)

    def _evidence(self) -> None:
        it = self._it
        if not it.requirements:
            return
        policy = "a call not known to have failed" if it.evidence_policy == "succeeded" else "a call or a mention"
        self._section("Required evidence", f"counts: {policy}")
        for requirement in it.requirements:
            mark, style = _GOOD[requirement.covered]
            self._line(
                Text.assemble(
                    (f"{mark} ", style),
                    _shown(requirement.label, NAME_CHARACTERS),
                    (f"  {words.requirement_words(requirement, it.evidence_policy)}", "dim"),
                ),
                indent=2,
            )

    def _calls(self) -> None:
        it = self._it
        if it.call_count is None:
            if it.status in {"passed", "failed"}:
                self._section("Tool calls")
                self._line(Text("the trace does not say (no toolInvocations)"), indent=2)
            return
        self._section("Tool calls", figure(it.call_count) + ("" if it.text else f"; texts are {words.LEFT_OUT}"))
        for call in it.calls:
            self._call(call)
        if it.call_count > len(it.calls):
            self._line(Text(f"… and {figure(it.call_count - len(it.calls))} more", style="dim"), indent=2)

    def _call(self, call: Call) -> None:
        mark, style = _GOOD[not call.failed]
        meets = f"  meets {', '.join(_shown(one, NAME_CHARACTERS) for one in call.meets)}" if call.meets else ""
        self._line(
            Text.assemble(
                (f"{call.number:>3} {mark} ", style),
                (_shown(call.tool, NAME_CHARACTERS) if call.tool is not None else words.NAMELESS, "bold"),
                (f"  {words.call_words(call)}", "red" if call.failed else "dim"),
                (meets, "green"),
                ("  a forbidden tool" if call.forbidden else "", "bold red"),
            )
        )
        for name, value in (("arguments", call.arguments), ("error", call.error), ("result", call.result)):
            if value is not None:
                self._line(Text.assemble((f"{name}: ", "dim"), _shown(value)), indent=6)

    def _chain(self) -> None:
        it = self._it
        if it.status not in {"passed", "failed"}:
            return
        self._section("Audit chain")
        self._link("Executor", words.executor_words(it))
        if it.executor_answer is not None:
            self._line(Text(_shown(it.executor_answer)), indent=6, hang=0)
        for claim in it.claims:
            self._claim(claim)
        self._link("Gatekeeper", words.gatekeeper_words(it), it.gatekeeper_status == "fail")
        for violation in it.violations:
            self._line(Text(f"✗ {_shown(violation)}"), indent=6)
        bad = bool({"verdict-allowed", "verdict-present"} & {failed.check for failed in it.failed})
        self._link("Verifier", f"{words.verdict_words(it)}; {words.checks_words(it)}", bad)
        for check in it.stray_checks:
            self._check(check, "judges no known claim: ")
        self._link("Composer", words.composer_words(it))

    def _link(self, name: str, said: str, bad: bool = False) -> None:  # noqa: FBT001, FBT002 - how it looks
        self._line(Text.assemble((f"{name:<10} ", "bold"), (_shown(said), "red" if bad else "")), indent=2, hang=11)

    def _claim(self, claim: Claim) -> None:
        name = _shown(claim.claim_id, NAME_CHARACTERS) if claim.claim_id is not None else "a claim without an id"
        said = (
            _shown(claim.text)
            if claim.text is not None
            else f"text {words.LEFT_OUT if not self._it.text else 'absent'}"
        )
        self._line(Text.assemble((f"{name}: ", "bold"), said), indent=4)
        self._line(Text.assemble(("evidence: ", "dim"), _shown(words.bound_words(claim))), indent=8)
        for check in claim.checks:
            self._check(check)
        if not claim.checks and self._it.claim_check_count is not None:
            self._line(Text("not checked by the Verifier", style="yellow"), indent=8)

    def _check(self, check: ClaimCheck, before: str = "") -> None:
        bad = check.verification in {"unsupported", "contradicted"}
        name = f"{before}{_shown(check.claim_id, NAME_CHARACTERS)}: " if before and check.claim_id else before
        said = "no verification" if check.verification is None else _shown(check.verification, NAME_CHARACTERS)
        detail = f": {_shown(check.detail)}" if check.detail is not None else ""
        self._line(Text.assemble(name, (said, "red" if bad else "green"), detail), indent=8)

    def _other_checks(self) -> None:
        it = self._it
        for title, checks in (("Checks passed", it.passed), ("Checks not asked for", it.skipped)):
            if checks:
                self._section(title, str(len(checks)))
                self._line(Text(", ".join(checks)), indent=2, hang=0)

    def _trials(self) -> None:
        it = self._it
        if len(it.trials) < 2:  # noqa: PLR2004 - one trial is no choice
            return
        self._section("All trials", "explain another one with --trial N")
        for trial in it.trials:
            mark, style = _STATUS[trial.status]
            here = "  (this one)" if trial.trial == it.trial else ""
            self._line(
                Text.assemble(
                    (f"{trial.trial:>3} {mark} ", style),
                    _shown(trial.trace_id, NAME_CHARACTERS) if trial.trace_id is not None else "no trace id",
                    _listed(trial.failed_checks),
                    (here, "dim"),
                )
            )


def _listed(checks: Iterable[str]) -> str:
    names = ", ".join(checks)
    return f"  {names}" if names else ""


def _shown(value: str, limit: int = TEXT_CHARACTERS) -> str:
    """Hostile text on one line, printable and cut."""
    return visible(value, limit)


def _kept(value: str) -> str:
    """A piece of one line of the answer, its spaces as they are, what cannot be seen written as an escape."""
    value = value.removesuffix("\r").replace("\t", TAB)
    return "".join(c if c.isprintable() or c == "\u3000" else visible(c) or " " for c in value)
