"""What a valid case file may still get wrong: the warnings of `validate` (contract section 1)."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping

from pipeline.cases.model import Audit, Case, DegradedOutput, Suite, alternatives
from pipeline.errors import Fault, quote

_SHORT = re.compile(r"[a-z]{1,3}")


def weak_points(suite: Suite) -> list[Fault]:
    """All warnings about a suite.

    Args:
        suite: the suite, free of faults.

    Returns:
        One fault for each weak point, by case id, each naming its case and what to do.
    """
    points: list[Fault] = []
    rules: tuple[Callable[[Case], Iterator[_Point]], ...] = (
        functools.partial(_short_keywords, _letters_of_short_keywords(suite)),
        *_RULES,
    )
    for case in suite.cases:
        origin = suite.origins.get(case.id)
        for rule in rules:
            for key, expected, found, message in rule(case):
                points.append(
                    Fault(
                        file=origin.file if origin else "",
                        line=origin.line if origin else None,
                        path=f"{origin.path if origin else '$'}{key}",
                        expected=expected,
                        found=found,
                        message=f"Case {case.id}: {message}",
                    )
                )
    return points


# What a rule yields: the key below the case (`.tags`, or nothing for the whole), expected, found, message.
_Point = tuple[str, str, str, str]


def _letters_of_short_keywords(suite: Suite) -> dict[str, int]:
    """The plain keywords that are found inside other words, with the number of their letters."""
    # As for the loader: only what compares texts pays for the import.
    from pipeline.text import normalise_texts

    keywords = sorted({keyword for case in suite.cases for _, keyword in _plain_keywords(case)})
    compared = zip(keywords, normalise_texts(keywords), strict=True)
    return {keyword: len(text) for keyword, text in compared if _SHORT.fullmatch(text)}


def _short_keywords(letters: Mapping[str, int], case: Case) -> Iterator[_Point]:
    for key, keyword in _plain_keywords(case):
        if keyword in letters:
            shown = quote(keyword)
            yield (
                f".{key}",
                "a keyword that does not stand inside other words",
                f'the keyword "{shown}"',
                (
                    f"a keyword of {letters[keyword]} letters is found inside other words (OOM is in room);"
                    f' write {{word: "{shown}"}}.'
                ),
            )


def _plain_keywords(case: Case) -> Iterator[tuple[str, str]]:
    fields = (
        ("rootCauseKeywords", case.root_cause_keywords),
        ("forbiddenAnswerKeywords", case.forbidden_answer_keywords),
        ("forbiddenConfirmedClaims", case.forbidden_confirmed_claims),
    )
    for key, entries in fields:
        for entry in entries:
            yield from ((key, keyword) for keyword in alternatives(entry) if isinstance(keyword, str))


def _asks_for_nothing(case: Case) -> Iterator[_Point]:
    asks = (
        # A coverage of zero is always reached.
        case.root_cause_keywords and case.min_keyword_coverage > 0,
        case.required_evidence_tools,
        case.require_verdict,
        case.allowed_verdicts,
        case.forbidden_verdicts,
        case.forbidden_answer_keywords,
        case.forbidden_confirmed_claims,
        case.degraded_output != DegradedOutput(),
        case.audit != Audit(),
        case.forbidden_tools,
        case.tool_order,
        case.tool_arguments,
        case.max_tool_calls is not None,
        case.max_duration_ms is not None,
        case.max_total_tokens is not None,
        case.max_cost_usd is not None,
    )
    if not any(asks):
        yield (
            "",
            "a case that asks for something",
            "no expectation",
            "it asks for nothing, so that any answer passes; name keywords, tools or verdicts.",
        )


def _degraded_answers_fail(case: Case) -> Iterator[_Point]:
    if (
        case.root_cause_keywords
        and case.min_keyword_coverage > 0
        and "REJECT" in case.allowed_verdicts
        and len(set(case.allowed_verdicts)) > 1
    ):
        yield (
            ".allowedVerdicts",
            "REJECT alone, or no REJECT, beside rootCauseKeywords",
            ", ".join(quote(verdict) for verdict in case.allowed_verdicts),
            (
                "it allows REJECT, but a degraded answer names no root cause and fails root-cause-keywords;"
                " make a case of its own for REJECT, without keywords."
            ),
        )


def _verdict_is_optional(case: Case) -> Iterator[_Point]:
    if not case.require_verdict:
        yield (
            ".requireVerdict",
            "true",
            "false",
            "a lost verdict passes; set requireVerdict to false for agents without a Verifier only.",
        )


_RULES: tuple[Callable[[Case], Iterator[_Point]], ...] = (
    _asks_for_nothing,
    _degraded_answers_fail,
    _verdict_is_optional,
)
