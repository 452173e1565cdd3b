"""The words that the explanation of a result is told in, the same in the terminal and in Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.diff import DiffItem
from pipeline.explanation import Call, Claim, Explanation, KeywordFinding, Purpose, Requirement
from pipeline.figures import counted, duration, figure

LEFT_OUT: Final = "left out of this run (--no-text)"
NAMELESS: Final = "a call without a name"
STATUS_WORDS: Final = {"passed": "passed", "failed": "failed", "error": "in error", "not_run": "not run"}
PURPOSES: Final[dict[Purpose, str]] = {
    "root-cause": "root cause",
    "forbidden-answer": "forbidden in the answer",
    "forbidden-claim": "must not be confirmed",
    "degraded-required": "degraded output, any one of these",
    "degraded-forbidden": "forbidden in a degraded answer",
    "protocol-marker": "raw protocol",
}
WANTED: Final[frozenset[Purpose]] = frozenset({"root-cause", "degraded-required"})
_NUMBERS_SHOWN: Final = 10
_ABSENT_SHOWN: Final = 20


def keyword_words(finding: KeywordFinding) -> tuple[str, bool | None]:
    """What became of a keyword, and whether that is good; None where it is neither."""
    wanted = finding.purpose in WANTED
    if finding.found is None:
        return "not known", None
    if not finding.found:
        missing = "missing" if finding.purpose == "root-cause" else "not found"
        return missing, (None if finding.purpose == "degraded-required" else not wanted)
    if not finding.places:
        return "found, its place cannot be shown", wanted
    places = f"{finding.places} {'place' if finding.places == 1 else 'places'}"
    return (f"found in {places}" if finding.exact else f"found, its lines are marked ({places})"), wanted


def keyword_lines(explanation: Explanation) -> Iterator[tuple[bool | None, str, str, str]]:
    """What the answer was searched for: whether that is good, the keywords, what they are for, and what was found.

    Forbidden ones that were not found are told together.
    """
    for purpose, name in PURPOSES.items():
        entries = [one for one in explanation.keywords if one.purpose == purpose]
        absent = [] if purpose in WANTED else [one for one in entries if one.found is False]
        for finding in entries:
            if finding not in absent:
                said, good = keyword_words(finding)
                if purpose == "degraded-required" and all(one.found is False for one in entries):
                    good = False
                yield good, finding.label, name, said
        if absent:
            shown = "; ".join(finding.label for finding in absent[:_ABSENT_SHOWN])
            more = f" and {len(absent) - _ABSENT_SHOWN} more" if len(absent) > _ABSENT_SHOWN else ""
            yield True, shown + more, name, "not found" if len(absent) == 1 else "none found"


def change_words(item: DiffItem) -> str:
    """What changed; a check that begins to fail has had its say where the failed checks are told."""
    if item.kind == "check" and item.severity == "regression":
        return "held in the baseline and fails now"
    return item.message


def requirement_words(requirement: Requirement, policy: str) -> str:
    """How a required evidence entry was met, or why it was not."""
    if requirement.covered is None:
        return "not judged"
    parts = []
    if requirement.covered and requirement.calls:
        parts.append(f"met by {_calls(requirement.calls)}")
    elif requirement.covered:
        parts.append("met by the Verifier's trace summary, without a call")
    elif requirement.failed_calls and policy == "succeeded":
        parts.append(f"called, but {_calls(requirement.failed_calls)} failed")
    elif requirement.summarised:
        parts.append("only in the Verifier's trace summary, which is no successful call")
    else:
        parts.append("never called")
    if requirement.covered and requirement.failed_calls:
        parts.append(f"{_calls(requirement.failed_calls)} failed")
    return "; ".join(parts)


def _calls(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:_NUMBERS_SHOWN])
    more = len(numbers) - _NUMBERS_SHOWN
    return f"{'call' if len(numbers) == 1 else 'calls'} {shown}" + (f" and {more} more" if more > 0 else "")


def call_words(call: Call) -> str:
    """The outcome and time of a call."""
    return ("failed" if call.failed else "ok") + (
        f", {duration(call.duration_ms)}" if call.duration_ms is not None else ""
    )


def bound_words(claim: Claim) -> str:
    """The tools whose evidence a claim binds; those that were never called are told so."""
    tools = [
        f"{tool.tool if tool.tool is not None else NAMELESS}{'' if tool.called else ' (never called)'}"
        for tool in claim.tools
    ]
    return ", ".join(tools) if tools else "no evidence"


def coverage_words(explanation: Explanation) -> str:
    """How many root-cause keywords were found, and how many had to be."""
    entries = [one for one in explanation.keywords if one.purpose == "root-cause"]
    if not entries or any(one.found is None for one in entries):
        return ""
    found = sum(bool(one.found) for one in entries)
    return (
        f"{found} of {counted(len(entries), 'root-cause keyword')}; "
        f"the case asks for a coverage of {figure(explanation.min_keyword_coverage)}"
    )


def facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Figures and names of the trace, each with its name; only those that are known."""
    place = explanation.file
    if place is not None and explanation.line is not None:
        place = f"{place}:{explanation.line}"
    trials = len(explanation.trials)
    trial = f"{explanation.trial} of {trials}" if trials > 1 and explanation.trial is not None else None
    tokens = figure(explanation.total_tokens) if explanation.total_tokens is not None else None
    time = duration(explanation.duration_ms) if explanation.duration_ms is not None else None
    cost = f"${figure(explanation.cost_usd)}" if explanation.cost_usd is not None else None
    for name, value in (
        ("suite", explanation.suite),
        ("trace", explanation.trace_id),
        ("file", place),
        ("trial", trial),
        ("tags", ", ".join(explanation.tags) or None),
        ("run status", explanation.run_status),
        ("model", explanation.model),
        ("duration", time),
        ("tokens", tokens),
        ("cost", cost),
    ):
        if value is not None:
            yield name, value


def verdict_words(explanation: Explanation) -> str:
    """The Verifier's verdict and what the case thinks of it."""
    if explanation.verdict is None:
        said = "no verdict"
    else:
        score = f" (score {figure(explanation.score)})" if explanation.score is not None else ""
        said = f"{explanation.verdict}{score}"
    allowed = f"; allowed: {', '.join(explanation.allowed_verdicts)}" if explanation.allowed_verdicts else ""
    forbidden = f"; forbidden: {', '.join(explanation.forbidden_verdicts)}" if explanation.forbidden_verdicts else ""
    return said + allowed + forbidden


def gatekeeper_words(explanation: Explanation) -> str:
    """The Gatekeeper's status."""
    return "nothing recorded" if explanation.gatekeeper_status is None else explanation.gatekeeper_status


def composer_words(explanation: Explanation) -> str:
    """How the Composer rendered the answer."""
    return "nothing recorded" if explanation.composer_status is None else explanation.composer_status


def executor_words(explanation: Explanation) -> str:
    """How much the Executor claimed."""
    claims = counted(len(explanation.claims), "claim") if explanation.claims else "no claims recorded"
    if not explanation.text and explanation.executor_answer is None:
        return f"{claims}; its own answer is {LEFT_OUT}"
    return claims if explanation.executor_answer is None else f"{claims}; its own answer:"


def checks_words(explanation: Explanation) -> str:
    """How much of the claims the Verifier checked."""
    count = explanation.claim_check_count
    return "no claim checks" if count is None else counted(count, "claim check")
