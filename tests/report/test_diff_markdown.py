"""`diff.md`: a comment on a pull request, whatever stands in the traces (R24)."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.diff import Diff, diff
from pipeline.report.diff_markdown import SHOWN_VERDICTS, render_diff
from tests.snapshot.made import Row, judged, not_run, snapshot, unreadable

SHORT = 60_000


def page(found: Diff) -> str:
    return render_diff(found).decode()


def rendered(before: list[Row], now: list[Row], before_fields: dict[str, Any] | None = None, **fields: Any) -> str:
    old = snapshot(*before, **{"source": "git:main", **(before_fields or {})})
    return page(diff(old, snapshot(*now, **fields)))


def rows_of(text: str) -> list[list[str]]:
    """The cells of every table row; an escaped bar is no border."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]


PAGE = """\
# Diff of demo

❌ **4 regressions** against the baseline `git:main`, 2 improvements, 4 other changes

|  | Baseline | Current | Delta |
| --- | --: | --: | --: |
| Pass rate | 66.7 % | 66.7 % | +0.0 points |
| Average tool calls | 4 | 4.33 | +0.33 |
| Average duration, ms | 100 | 100 | +0.00 |
| Verdict `PASS` | 3 | 2 | -1 |
| Verdict `REVISE` | 0 | 1 | +1 |
| New cases |  | 1 |  |
| Missing cases |  | 1 |  |

## Regressions (4)

| Kind | Case | Tool or check | Before | Now | What to look at |
| --- | --- | --- | --- | --- | --- |
| case-status | `a` |  | passed | failed | the case a passed before and failed now |
| check | `a` | `evidence-coverage` | holds | fails | evidence-coverage of a in trial 1 |
| evidence-coverage | `a` | `searchLogs` | covered | uncovered | \
the required tool searchLogs is no longer covered in case a: look at its tool calls |
| missing-case | `gone` |  | passed | – | \
the case gone is in the baseline and absent now: it is no longer guarded |

## Improvements (2)

| Kind | Case | Tool or check | Before | Now | What to look at |
| --- | --- | --- | --- | --- | --- |
| case-status | `b` |  | failed | passed | the case b failed before and passed now |
| check | `b` | `cost-budget` | fails | holds | \
cost-budget no longer fails in case b; before: cost-budget of b in trial 1 |

## Other changes (4)

| Kind | Case | Tool or check | Before | Now | What to look at |
| --- | --- | --- | --- | --- | --- |
| new-case | `new` |  | – | passed | the case new is new and passed |
| tool-calls |  |  | 4 | 4.33 | the average of tool calls per trace went from 4 to 4.33 |
| verdict-distribution |  |  | 3 | 2 | traces with verdict PASS went from 3 to 2 |
| verdict-distribution |  |  | 0 | 1 | traces with verdict REVISE went from 0 to 1 |
"""


def test_the_whole_page() -> None:
    text = rendered(
        [judged("a", covered=["searchLogs"]), judged("b", failed=["cost-budget"]), judged("gone")],
        [
            judged("a", missing=["searchLogs"], failed=["evidence-coverage"], verdict="REVISE"),
            judged("b", calls=5),
            judged("new", asks="more"),
        ],
        {"traces_digest": "sha256:of other traces"},
    )

    assert text == PAGE


def test_no_difference() -> None:
    text = rendered([judged("a")], [judged("a")])

    assert text.startswith("# Diff of demo\n\n✅ **No difference** against the baseline `git:main`\n\n| ")
    assert "## " not in text
    assert "> " not in text


def test_no_regression() -> None:
    text = rendered([judged("a")], [judged("a"), judged("b")])

    assert "✅ **No regression** against the baseline `git:main`, 2 other changes\n" in text
    assert "## Regressions" not in text


def test_one_regression_is_one() -> None:
    text = rendered([judged("a"), judged("b")], [judged("a")])

    assert "❌ **1 regression** against" in text


def test_a_baseline_in_memory_has_no_name() -> None:
    assert "against the baseline `given`" in rendered([judged("a")], [judged("a")], {"source": ""})


def test_unknown_figures_are_dashes() -> None:
    text = rendered([judged("a", calls=None, ms=None)], [judged("a", ms=None)])

    assert ["Average tool calls", "–", "4", "–"] in rows_of(text)
    assert ["Average duration, ms", "–", "–", "–"] in rows_of(text)


def test_the_pass_rate_is_in_percent() -> None:
    text = rendered([judged("a"), judged("b")], [judged("a"), not_run("b")])

    assert ["pass-rate", "", "", "100 %", "50 %", "the pass rate fell from 2 of 2 to 1 of 2 cases"] in rows_of(text)
    assert ["Pass rate", "100 %", "50 %", "-50.0 points"] in rows_of(text)


NOTES = {
    "another suite": ({"suite": "old *name*"}, {}, "> The suite was old \\*name\\*, it is demo now."),
    "another version": (
        {"tool_version": "0.9"},
        {},
        "> diagnosis-eval was 0.9, it is 1.0.0 now: rules may have changed with it.",
    ),
    "a changed definition": (
        {},
        {"asks": "more"},
        "> 1 case definition changed: what differs there may be the case, not the agent.",
    ),
}


@pytest.mark.parametrize("fields, now, note", NOTES.values(), ids=NOTES)
def test_what_must_be_known_before_anyone_is_blamed_stands_at_the_top(
    fields: dict[str, Any], now: dict[str, Any], note: str
) -> None:
    text = rendered([judged("a")], [judged("a", **now)], {"cases_digest": "other", **fields})

    assert text.split("\n\n")[2].replace("\\.", ".") == note


def test_the_same_input_with_another_result_is_blamed_on_the_tool() -> None:
    text = rendered([judged("a")], [judged("a", failed=["token-budget"])], {"tool_version": "0.9"})

    assert text.split("\n\n")[2].replace("\\.", ".").splitlines() == [
        "> diagnosis-eval was 0.9, it is 1.0.0 now: rules may have changed with it.",
        "> Cases and traces are the same in both runs: what differs are the rules of the tool.",
    ]
    assert "Cases and traces are the same" not in rendered([judged("a")], [judged("a")])


# Its size

CUT = re.compile(r"^… and ([\d,]+) more, cut to fit a comment; all of them stand in `diff\.json`\.$", re.MULTILINE)


def of_5000_items(message: str) -> Diff:
    """2,500 regressions, 1,250 improvements and 1,250 other changes at least."""
    before = [judged("stays")]
    now = [judged("stays")]
    for number in range(1250):
        before.append(judged(f"worse-{number}"))
        now.append(judged(f"worse-{number}", failed=["token-budget"], message=message))
    for number in range(625):
        before.append(judged(f"better-{number}", failed=["token-budget"], message=message))
        now.append(judged(f"better-{number}"))
    now += [judged(f"new-{number}") for number in range(1250)]
    return diff(snapshot(*before), snapshot(*now))


MESSAGES = {
    "short": "it failed",
    "long": "the answer names none of the keywords; " * 200,
    "hostile": "`|<&>@*_[](#)~$!\\\n\x00\x1b\u202e" * 100,
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_5000_items_fit_a_comment_and_the_least_important_are_cut(message: str) -> None:
    found = of_5000_items(message)
    text = page(found)

    assert len(found.items) >= 5000
    assert len(text) < SHORT
    # GitHub counts characters; bytes may be more. But most of the room is used.
    assert len(text) > SHORT * 0.9
    regressions = [item for item in found.items if item.severity == "regression"]
    shown = [row for row in rows_of(text) if row[0] in {"case-status", "check", "pass-rate"}]
    assert [item.case_id for item in regressions[: len(shown)]] == [row[1].strip("`") or None for row in shown]
    cut = [int(count.replace(",", "")) for count in CUT.findall(text)]
    assert [len(regressions) - len(shown), found.summary.improvements, found.summary.changes] == cut
    assert f"## Improvements ({found.summary.improvements:,})" in text
    assert f"## Other changes ({found.summary.changes:,})" in text


def test_what_fits_is_not_cut() -> None:
    before = [judged(f"case-{number}") for number in range(100)]
    text = rendered(before, [*before[:50], judged("new")])

    assert CUT.findall(text) == []
    assert len([row for row in rows_of(text) if row[0] == "missing-case"]) == 50


def test_of_many_verdicts_the_most_frequent_are_shown() -> None:
    rows = [judged(f"case-{number:03}", verdict=f"V{number:03}" * 100) for number in range(500)]
    text = rendered([*rows, judged("z", verdict="PASS"), judged("zz", verdict="PASS")], [judged("z", verdict="PASS")])

    assert len(text) < SHORT
    figures = [row for row in rows_of(text) if row[0].startswith("Verdict ")]
    assert len(figures) == SHOWN_VERDICTS
    assert figures[0] == ["Verdict `PASS`", "2", "1", "-1"]
    assert ["… and 481 more verdicts, see `diff.json`", "", "", ""] in rows_of(text)


def test_names_of_any_length_leave_room() -> None:
    text = rendered(
        [judged("a" * 50_000, covered=["t" * 50_000])],
        [judged("a" * 50_000, missing=["t" * 50_000], failed=["evidence-coverage"])],
        {"source": "s" * 70_000, "suite": "u" * 70_000, "tool_version": "v" * 70_000},
    )

    assert len(text) < SHORT
    assert len([row for row in rows_of(text) if row[0] == "case-status"]) == 1


# Hostile text

HOSTILE = (
    "| a `b` <script>alert(1)</script> @team #12 https://evil.example [x](y) **z** \x1b[31m\u202e\u2028 \r\n\n# head"
)


def test_nothing_from_a_trace_becomes_markup() -> None:
    reason = f"$.x: {HOSTILE}"
    text = rendered(
        [judged("a", covered=[HOSTILE]), judged("b"), judged("c", verdict=HOSTILE)],
        [judged("a", missing=[HOSTILE], failed=["evidence-coverage"], message=HOSTILE), unreadable("b", reason=reason)],
        {"source": HOSTILE, "suite": HOSTILE, "tool_version": HOSTILE},
        suite=HOSTILE,
    )

    assert [row for row in rows_of(text) if len(row) not in {4, 6}] == []
    assert not re.search(
        r"<script|(?<!\\)\*\*z|\x1b|\u202e|\u2028|\r|@team|(?<!\\)#12|https://|(?<!\\)\[x|[^\\]`tick", text
    )
    assert [line for line in text.splitlines() if line.startswith("# ")] == [text.splitlines()[0]]


hostile_text = st.text(
    alphabet=st.sampled_from("|`*_<>&@#\\~$![]()\n\r\t\x00\x1b\u2028 ax:/.-"), min_size=1, max_size=60
)


@given(hostile_text, hostile_text, hostile_text)
@settings(deadline=None, max_examples=60)
def test_no_text_breaks_a_table(message: str, tool: str, verdict: str) -> None:
    text = rendered(
        [judged("a", covered=[tool])],
        [judged("a", missing=[tool], failed=["evidence-coverage"], message=message, verdict=verdict)],
        {"source": tool, "suite": message},
    )

    lines = text.splitlines()
    assert {len(row) for row in rows_of(text)} == {4, 6}
    assert sum(line.startswith("| evidence-coverage |") for line in lines) == 1
    # A line is a heading, a note, a sentence of ours, or a row: nothing else can begin one.
    assert [line for line in lines if line and line[0] not in "#>❌✅|"] == []
    assert all(character.isprintable() or character == "\n" for character in text)
