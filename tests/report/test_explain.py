"""An explanation: what it holds, and what it says where something cannot be shown."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

import pipeline
from pipeline.diff import diff
from pipeline.errors import UsageError
from pipeline.explanation import Explanation, Piece, explain, explanations

GOLDEN = Path(__file__).parent / "golden"
Explain = Callable[[str], Explanation]


@pytest.fixture
def explained(golden_run: pipeline.Run) -> Explain:
    return lambda case: explain(golden_run.snapshot, case)


@pytest.fixture(scope="module")
def without_text() -> pipeline.Run:
    return pipeline.evaluate(GOLDEN / "cases.yaml", GOLDEN / "traces", with_text=False)


def test_the_pieces_are_the_answer_as_written(golden_run: pipeline.Run, explained: Explain) -> None:
    answers = dict(golden_run.snapshot.rows.filter(pl.col("trial") == 1).select("case_id", "answer").collect().rows())
    for case in ("passes", "fails", "hostile", "leaks"):
        assert "".join(piece.text for piece in explained(case).answer or ()) == answers[case]


def test_a_found_keyword_is_marked_with_its_entry(explained: Explain) -> None:
    marks = [piece for piece in explained("passes").answer or () if piece.mark]
    assert marks == [
        Piece(text="connection pool", mark="found", labels=("connection pool | 连接池",)),
        Piece(text="exhausted", mark="found", labels=("exhausted",)),
    ]


def test_raw_protocol_is_marked(explained: Explain) -> None:
    marks = {piece.labels[0]: piece.mark for piece in explained("fails").answer or () if piece.mark}
    assert marks == {"executor_evidence_v2": "forbidden", "claim_id": "forbidden"}


def test_a_leaked_sentence_is_marked(explained: Explain) -> None:
    marks = [piece.text for piece in explained("leaks").answer or () if piece.mark == "leak"]
    assert marks == ["The primary database was restarted at 10:05 by the operator"]


def test_required_evidence_names_the_calls_that_met_it(explained: Explain) -> None:
    evidence = {one.label: (one.covered, one.calls, one.failed_calls) for one in explained("fails").requirements}
    assert evidence == {"searchLogs": (True, (1, 3), (1,)), "explainSql": (False, (), ())}


def test_calls_keep_their_order_and_outcome(explained: Explain) -> None:
    calls = [(one.number, one.tool, one.failed, one.forbidden) for one in explained("fails").calls]
    assert calls == [
        (1, "searchLogs", True, False),
        (2, "killMysqlSession", False, True),
        (3, "searchLogs", False, False),
    ]


def test_a_case_with_trials_shows_the_first_that_did_not_pass(explained: Explain) -> None:
    it = explained("trials")
    assert it.status == "failed"
    assert [one.status for one in it.trials].index("failed") + 1 == it.trial


def test_a_case_may_pass_although_a_trial_did_not(explained: Explain) -> None:
    it = explained("enough-trials")
    assert (it.case_status, it.status) == ("passed", "failed")


@pytest.mark.parametrize(
    "case, status, reason",
    [
        pytest.param("broken", "error", "text is due here, not number 7", id="in error"),
        pytest.param("missing", "not_run", "was not found in the traces given", id="not run"),
    ],
)
def test_what_was_not_judged_has_a_reason_and_no_findings(
    explained: Explain, case: str, status: str, reason: str
) -> None:
    it = explained(case)
    assert it.status == status
    assert reason in (it.reason or "")
    assert (it.answer, it.failed, it.passed, it.calls) == (None, (), (), ())
    assert {one.found for one in it.keywords} <= {None}
    assert {one.covered for one in it.requirements} == {None}


@pytest.mark.parametrize(
    "case, found, expected",
    [
        pytest.param("passes", "connection pool | 连接池", True, id="found, from the run"),
        pytest.param("fails", "慢查询", False, id="missing, from the run"),
        pytest.param("fails", "claim_id", None, id="forbidden, and its check failed: which one is not known"),
        pytest.param("passes", "claim_id", False, id="forbidden, and its check passed"),
    ],
)
def test_without_text_what_is_not_known_is_not_guessed(
    without_text: pipeline.Run, case: str, found: str, expected: bool | None
) -> None:
    it = explain(without_text.snapshot, case)
    assert not it.text
    assert it.answer is None
    assert {one.label: one.found for one in it.keywords}[found] is expected


def test_changes_are_those_of_the_case(golden_baseline: pipeline.Run, golden_run: pipeline.Run) -> None:
    against = diff(golden_baseline.snapshot, golden_run.snapshot)
    it = explain(golden_run.snapshot, "leaks", against=against)
    assert it.changes
    assert {item.case_id for item in it.changes} == {"leaks"}


def test_every_result_of_a_run_is_explained_once(golden_run: pipeline.Run) -> None:
    rows = golden_run.snapshot.rows.select("case_id", "trial").collect().rows()
    assert [(one.case_id, one.trial) for one in explanations(golden_run.snapshot)] == rows


def test_only_the_wanted_results_are_explained(golden_run: pipeline.Run) -> None:
    wanted = pl.DataFrame({"case_id": ["missing", "trials"], "trial": pl.Series([None, 2], dtype=pl.UInt32)})
    found = [(one.case_id, one.trial) for one in explanations(golden_run.snapshot, wanted)]
    assert found == [("missing", None), ("trials", 2)]


def test_an_explanation_is_the_same_alone_and_among_all(golden_run: pipeline.Run) -> None:
    among = {(one.case_id, one.trial): one for one in explanations(golden_run.snapshot)}
    for case in ("broken", "fails", "hostile", "missing", "trials"):
        alone = explain(golden_run.snapshot, case)
        assert alone == among[case, alone.trial]


def test_an_explanation_can_be_written_and_read(explained: Explain) -> None:
    it = explained("fails")
    assert msgspec.json.decode(msgspec.json.encode(it), type=Explanation) == it


def test_a_mistyped_case_is_told_the_near_one(golden_run: pipeline.Run) -> None:
    with pytest.raises(UsageError, match=r"has no case 'hostle'; did you mean hostile\?"):
        explain(golden_run.snapshot, "hostle")


@pytest.mark.parametrize(
    "case, asked, words",
    [
        pytest.param("trials", {"trial": 9}, r"no trace with trial 9\nits trials are 1 to 3", id="trial"),
        pytest.param("trials", {"trace_id": "t-9"}, r"trace id 't-9'; did you mean t-\d\?", id="trace id"),
        pytest.param("missing", {"trial": 1}, "the case was not run", id="not run"),
    ],
)
def test_a_trace_that_is_not_there(
    golden_run: pipeline.Run, case: str, asked: dict[str, int | str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        explain(golden_run.snapshot, case, **asked)  # type: ignore[arg-type] # one of the two, by name


def test_a_trace_by_its_id(golden_run: pipeline.Run) -> None:
    assert explain(golden_run.snapshot, "trials", trace_id="t-2").trial == 2


def test_a_redacted_pattern_marks_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(
        'schemaVersion: 1\nsuite: s\nredact: ["secret"]\ncases:\n'
        "  - {id: a, question: q, requiredEvidenceTools: [], allowedVerdicts: [PASS],\n"
        '     rootCauseKeywords: [{regex: "(secret)+"}, plain]}\n'
    )
    (tmp_path / "a.json").write_text(
        '{"finalAnswer": "a secret and plain", "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"}}}'
    )
    run = pipeline.evaluate(tmp_path / "cases.yaml", tmp_path / "a.json")
    it = explain(run.snapshot, "a")
    assert "".join(piece.text for piece in it.answer or ()) == "a [redacted] and plain"
    assert [one.found for one in it.keywords if one.purpose == "root-cause"] == [True, True]
