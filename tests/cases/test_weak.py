"""The warnings of `validate`, exactly as a user sees them."""

import pytest

from pipeline.cases.model import Audit, Case, DegradedOutput, Origin, Pattern, Suite
from pipeline.cases.weak import weak_points
from pipeline.errors import Fault

SOUND = Case(
    id="a",
    question="q",
    root_cause_keywords=("pool",),
    required_evidence_tools=("t",),
    allowed_verdicts=("PASS",),
)


def suite_of(*cases: Case) -> Suite:
    origins = {case.id: Origin(file="a.yaml", line=4 + n, path=f"$.cases[{n}]") for n, case in enumerate(cases)}
    return Suite(name="s", cases=cases, origins=origins)


def varied(**fields: object) -> Case:
    return Case(**{name: getattr(SOUND, name) for name in SOUND.__struct_fields__} | fields)


def warning(path: str, expected: str, found: str, message: str) -> Fault:
    return Fault(
        file="a.yaml",
        line=4,
        path=f"$.cases[0]{path}",
        expected=expected,
        found=found,
        message=f"Case a: {message}",
    )


def short(path: str, keyword: str, letters: int) -> Fault:
    return warning(
        path,
        "a keyword that does not stand inside other words",
        f'the keyword "{keyword}"',
        f'a keyword of {letters} letters is found inside other words (OOM is in room); write {{word: "{keyword}"}}.',
    )


NOTHING_ASKED = warning(
    "",
    "a case that asks for something",
    "no expectation",
    "it asks for nothing, so that any answer passes; name keywords, tools or verdicts.",
)
NO_VERDICT = warning(
    ".requireVerdict",
    "true",
    "false",
    "a lost verdict passes; set requireVerdict to false for agents without a Verifier only.",
)


def degraded(verdicts: str) -> Fault:
    return warning(
        ".allowedVerdicts",
        "REJECT alone, or no REJECT, beside rootCauseKeywords",
        verdicts,
        "it allows REJECT, but a degraded answer names no root cause and fails root-cause-keywords;"
        " make a case of its own for REJECT, without keywords.",
    )


BARE = {
    "root_cause_keywords": (),
    "required_evidence_tools": (),
    "allowed_verdicts": (),
    "require_verdict": False,
}

POINTS: list[tuple[str, dict[str, object], list[Fault]]] = [
    ("a sound case", {}, []),
    ("three letters", {"root_cause_keywords": ("OOM",)}, [short(".rootCauseKeywords", "OOM", 3)]),
    ("three wide letters", {"root_cause_keywords": ("ＯＯＭ",)}, [short(".rootCauseKeywords", "ＯＯＭ", 3)]),
    ("three marked letters", {"root_cause_keywords": ("`oom`",)}, [short(".rootCauseKeywords", "`oom`", 3)]),
    ("one letter", {"forbidden_answer_keywords": ("x",)}, [short(".forbiddenAnswerKeywords", "x", 1)]),
    (
        "two letters in a group",
        {"forbidden_confirmed_claims": (("cpu load", "io"),)},
        [short(".forbiddenConfirmedClaims", "io", 2)],
    ),
    ("four letters", {"root_cause_keywords": ("pool",)}, []),
    ("three letters as a word", {"root_cause_keywords": (Pattern(word="OOM"),)}, []),
    ("three letters as a regex", {"root_cause_keywords": (Pattern(regex="OOM"),)}, []),
    ("digits have boundaries of their own", {"root_cause_keywords": ("503", "a1b")}, []),
    ("two Chinese characters", {"root_cause_keywords": ("死锁",)}, []),
    ("nothing asked", BARE, [NOTHING_ASKED, NO_VERDICT]),
    (
        "keywords whose coverage may be zero",
        BARE | {"root_cause_keywords": ("pool",), "min_keyword_coverage": 0.0},
        [NOTHING_ASKED, NO_VERDICT],
    ),
    ("a verdict asked", BARE | {"require_verdict": True, "allowed_verdicts": ("PASS",)}, []),
    ("a limit asked", BARE | {"max_tool_calls": 0}, [NO_VERDICT]),
    ("an audit asked", BARE | {"audit": Audit(composer=True)}, [NO_VERDICT]),
    ("a degraded answer asked", BARE | {"degraded_output": DegradedOutput(forbidden=("x",))}, [NO_VERDICT]),
    ("REJECT beside another", {"allowed_verdicts": ("PASS", "REJECT")}, [degraded("PASS, REJECT")]),
    ("REJECT alone", {"allowed_verdicts": ("REJECT",)}, []),
    ("REJECT twice is alone", {"allowed_verdicts": ("REJECT", "REJECT")}, []),
    ("REJECT without keywords", {"allowed_verdicts": ("PASS", "REJECT"), "root_cause_keywords": ()}, []),
    (
        "REJECT with keywords that need not be there",
        {"allowed_verdicts": ("PASS", "REJECT"), "min_keyword_coverage": 0.0},
        [],
    ),
    ("no verdict required", {"require_verdict": False}, [NO_VERDICT]),
]


@pytest.mark.parametrize("fields, expected", [row[1:] for row in POINTS], ids=[row[0] for row in POINTS])
def test_weak_points(fields: dict[str, object], expected: list[Fault]) -> None:
    assert expected == weak_points(suite_of(varied(**fields)))


def test_weak_points_come_by_case() -> None:
    suite = suite_of(varied(id="b", require_verdict=False), SOUND, varied(id="c", root_cause_keywords=("io",)))
    found = [(point.line, point.path, point.message[:7]) for point in weak_points(suite)]
    assert found == [
        (4, "$.cases[0].requireVerdict", "Case b:"),
        (6, "$.cases[2].rootCauseKeywords", "Case c:"),
    ]


def test_a_suite_that_was_not_read_from_files_has_weak_points_too() -> None:
    (point,) = weak_points(Suite(name="s", cases=(varied(require_verdict=False),)))
    assert (point.file, point.line, point.path) == ("", None, "$.requireVerdict")
