"""Cases as frames: what each entry of a case becomes."""

from typing import Any

import msgspec
import polars as pl
import pytest

from pipeline import schemas
from pipeline.cases.model import Case
from pipeline.flatten.suite import CALL_END, CALL_START, SuiteFrames, flatten_suite


def flattened(*cases: dict[str, Any]) -> SuiteFrames:
    return flatten_suite([msgspec.convert({"id": "a", "question": "Why?", **case}, Case) for case in cases])


def keywords(frames: SuiteFrames, purpose: str) -> list[tuple[Any, ...]]:
    rows = frames.keywords.filter(pl.col("purpose") == purpose)
    return rows.select("entry", "label", "literal", "pattern").rows()


def test_a_keyword_is_a_row_and_a_group_shares_its_entry() -> None:
    frames = flattened(
        {
            "rootCauseKeywords": [
                ["Connection  Pool", "连接 池"],
                {"word": "OOM"},
                {"regex": r"max_\w+"},
                ["503", {"word": "池"}],
            ],
        },
    )
    assert keywords(frames, "root-cause") == [
        (1, "Connection  Pool | 连接 池", "connection pool", None),
        (1, "Connection  Pool | 连接 池", "连接池", None),
        (2, "word:OOM", "oom", "(?:^|[^0-9A-Za-z])oom(?:$|[^0-9A-Za-z])"),
        (3, r"/max_\w+/", None, r"(?i)max_\w+"),
        (4, "503 | word:池", "503", r"(?:^|[^0-9.]|(?:^|[^0-9])\.)503(?:$|[^0-9.]|\.(?:$|[^0-9]))"),
        (4, "503 | word:池", "池", None),
    ]


def test_every_list_of_keywords_has_its_purpose() -> None:
    frames = flattened(
        {
            "rootCauseKeywords": ["root"],
            "forbiddenAnswerKeywords": ["answer"],
            "forbiddenConfirmedClaims": ["claim"],
            "degradedOutput": {"requiredAnyOf": ["unclear"], "forbidden": ["clear"]},
            "protocolMarkers": ["marker"],
        },
    )
    found = {purpose: [row[1] for row in keywords(frames, purpose)] for purpose in schemas.PURPOSES}
    assert found == {
        "root-cause": ["root"],
        "forbidden-answer": ["answer"],
        "forbidden-claim": ["claim"],
        "degraded-required": ["unclear"],
        "degraded-forbidden": ["clear"],
        "protocol-marker": ["marker"],
    }


def test_a_required_tool_is_a_row_and_a_group_shares_its_entry() -> None:
    frames = flattened({"requiredEvidenceTools": ["a", ["b", "c", "b"]]})
    expected = [("a", 1, "a", "a"), ("a", 2, "b | c | b", "b"), ("a", 2, "b | c | b", "c")]
    assert expected == frames.evidence.rows()
    assert frames.cases["evidence_required"].item().to_list() == ["a", "b | c | b"]


def test_arguments_are_canonical() -> None:
    frames = flattened(
        {
            "toolArguments": [
                {"tool": "a", "arguments": {"n": 2.0, "a": []}},
                {"tool": "b", "mode": "exact", "arguments": {}},
            ]
        },
    )
    assert frames.arguments.rows() == [
        ("a", 1, "a", "subset", '{"a":[],"n":2}'),
        ("a", 2, "b", "exact", "{}"),
    ]


# name, case, column, its value
CASE_COLUMNS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("the question is normalised", {"question": "连接池 **Full**?"}, "question_text", "连接池full?"),
    ("a pass rate is a float", {"minKeywordCoverage": 1}, "min_keyword_coverage", 1.0),
    ("entries are counted, not words", {"rootCauseKeywords": [["a", "b"], "c"]}, "keyword_entries", 2),
    (
        "degraded texts are normalised",
        {"degradedOutput": {"requiredAnyOf": ["**No** idea"]}},
        "degraded_required",
        ["no idea"],
    ),
    ("no order, no pattern", {}, "tool_order_pattern", None),
    (
        "an order is a pattern of whole names",
        {"toolOrder": ["a.b", "c"]},
        "tool_order_pattern",
        f"(?s){CALL_START}a\\.b{CALL_END}.*{CALL_START}c{CALL_END}",
    ),
    ("claim checks are not asked for", {}, "claim_checks_asked", False),
    ("claim checks are asked for", {"audit": {"claimChecks": True}}, "claim_checks_asked", True),
    ("a minimum asks for claim checks", {"audit": {"minClaimChecks": 3}}, "claim_checks_asked", True),
    ("a minimum of none asks for them too", {"audit": {"minClaimChecks": 0}}, "claim_checks_asked", True),
    ("the minimum is one", {"audit": {"claimChecks": True}}, "min_claim_checks", 1),
    ("a minimum of none is none", {"audit": {"minClaimChecks": 0}}, "min_claim_checks", 0),
    ("no limit", {}, "max_tool_calls", None),
    ("a limit of nothing", {"maxToolCalls": 0}, "max_tool_calls", 0),
    ("the largest limit", {"maxTotalTokens": 2**63 - 1}, "max_total_tokens", 2**63 - 1),
]


@pytest.mark.parametrize(
    "case, column, expected", [row[1:] for row in CASE_COLUMNS], ids=[row[0] for row in CASE_COLUMNS]
)
def test_a_case_is_a_row(case: dict[str, Any], column: str, expected: Any) -> None:
    value = flattened(case).cases[column].item()
    assert expected == (value.to_list() if isinstance(value, pl.Series) else value)


def test_each_case_keeps_its_own_texts() -> None:
    frames = flattened(
        {"id": "a", "question": "One?", "degradedOutput": {"requiredAnyOf": ["A", "B"]}},
        {"id": "b", "question": "Two?", "degradedOutput": {"requiredAnyOf": []}},
        {"id": "c", "question": "Three?", "degradedOutput": {"requiredAnyOf": ["C"]}},
    )
    expected = [("a", "one?", ["a", "b"]), ("b", "two?", []), ("c", "three?", ["c"])]
    assert expected == frames.cases.select("case_id", "question_text", "degraded_required").rows()


def test_no_cases_give_empty_frames_of_the_same_columns() -> None:
    frames = flatten_suite([])
    for name, schema in (
        ("cases", schemas.Cases),
        ("keywords", schemas.Keywords),
        ("evidence", schemas.EvidenceEntries),
        ("arguments", schemas.ArgumentEntries),
    ):
        frame: pl.DataFrame = getattr(frames, name)
        assert frame.is_empty()
        assert frame.schema == schemas.empty(schema).schema
