"""Whatever a draft holds, its file is a valid case file that says the same."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.cases.model import CASE_ID_PATTERN
from pipeline.drafts.base import Draft, Entry, as_case_id, is_case_id
from pipeline.drafts.write import check_file, make_ids_unique, write_drafts
from pipeline.text import normalise_texts

# What YAML may hold: no control characters but line ends, no halves of surrogate pairs, no noncharacters.
PRINTABLE = st.text(
    st.one_of(
        st.characters(min_codepoint=0x20, max_codepoint=0x7E),
        st.characters(min_codepoint=0xA0, max_codepoint=0xD7FF, exclude_categories=["Cn"]),
        st.sampled_from("\n\r\t\x85\u2028\u2029\ufeff'\"\\#:-{}[]&*!|>%@`,?"),
    ),
    min_size=1,
    max_size=60,
).filter(lambda text: bool(text.strip()))


def only(data: bytes) -> Any:
    (case,) = yaml.safe_load(data)["cases"]
    return case


@given(PRINTABLE, PRINTABLE, st.lists(st.text(max_size=80), max_size=3))
def test_texts_come_back_as_they_were(question: str, keyword: str, remarks: list[str]) -> None:
    kept = [keyword] if all(normalise_texts([keyword])) else []
    draft = Draft(id="a", question=question, about=remarks, notes={"question": remarks})
    draft.fields = {"rootCauseKeywords": [Entry(one, "\n".join(remarks)) for one in kept]}
    draft.fields |= {"requiredEvidenceTools": [], "requireVerdict": False}
    for remark in remarks:
        draft.leave_out(remark, "why")
    data = write_drafts([draft], "suite", remarks)
    check_file(data)

    assert (only(data)["question"], only(data)["rootCauseKeywords"]) == (question, kept)


@pytest.mark.parametrize(
    "value", ["NO", "503", "1e3", "2026-11-10", "11:34", "null", "~", "- a", "a: b", "a #b", "", "=", "<<", "*a", "'"]
)
def test_what_yaml_would_take_for_something_else_is_quoted(value: str) -> None:
    draft = Draft(id="a", question="why?", fields={"tags": [value]})

    assert only(write_drafts([draft], "suite"))["tags"] == [value]


def test_a_hostile_remark_stays_a_comment() -> None:
    draft = Draft(id="a", question="why?", about=["x\nrequireVerdict: false"], fields={"tags": [Entry("a", "y\n- z")]})
    draft.leave_out("evil\n  - id: b", "because\r\n  - id: c")
    data = write_drafts([draft], "suite", ["head\ncases: []"])

    assert only(data) == {"id": "a", "question": "why?", "tags": ["a"]}
    assert "\n  # x\\nrequireVerdict: false\n" in data.decode()


def test_a_long_question_is_a_block() -> None:
    data = write_drafts([Draft(id="a", question="one\n\n  two\n")], "suite")

    assert "    question: |\n      one\n\n        two\n" in data.decode()
    assert only(data)["question"] == "one\n\n  two\n"


def test_ids_that_stand_twice_are_numbered() -> None:
    drafts = [Draft(id=name) for name in ("a", "a-2", "a", "b", "a")]
    make_ids_unique(drafts)

    assert [draft.id for draft in drafts] == ["a", "a-2", "a-3", "b", "a-4"]


@given(st.text(max_size=200))
def test_any_text_makes_a_case_id(text: str) -> None:
    assert is_case_id(as_case_id(text))


@pytest.mark.parametrize("text", ["a\n", "", "-a", "连接池", "a b"])
def test_what_is_no_case_id(text: str) -> None:
    assert not is_case_id(text), CASE_ID_PATTERN


def test_verdicts_of_another_verifier_are_declared() -> None:
    draft = Draft(id="a", question="why?", fields={"rootCauseKeywords": [], "requiredEvidenceTools": []})
    draft.fields["allowedVerdicts"] = ["APPROVED"]
    data = write_drafts([draft], "suite", (), ["PASS", "APPROVED"])
    check_file(data)

    assert yaml.safe_load(data)["verifierContract"] == {"verdicts": ["PASS", "APPROVED"]}


def test_equal_values_are_written_out() -> None:
    shared = {"a": [1, 2]}
    draft = Draft(id="a", question="why?", fields={"toolArguments": [shared, shared]})

    assert only(write_drafts([draft], "suite"))["toolArguments"] == [shared, shared]
