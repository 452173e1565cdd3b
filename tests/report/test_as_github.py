"""Annotations and step summary as GitHub Actions reads them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.diff import diff
from pipeline.report import as_markdown
from pipeline.report.as_github import ANNOTATIONS, SUMMARY_BYTES, annotations, render, step_summary
from tests.report.spoiled import TEXTS, many, spoiled

# As the runner reads a line: the command, its properties, and after the second pair of colons the message.
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def unescaped(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def read(written: str) -> list[tuple[str, dict[str, str], str]]:
    """What the runner makes of it."""
    found = []
    for line in written.split("\n")[:-1]:
        command = COMMAND.fullmatch(line)
        assert command is not None, line
        properties = dict(one.split("=", 1) for one in command[2].split(","))
        found.append((command[1], {k: unescaped(v) for k, v in properties.items()}, unescaped(command[3])))
    return found


def test_what_stands_against_the_run(golden_run: pipeline.Run) -> None:
    found = read(render(golden_run.view).decode())
    assert [(level, properties) for level, properties, _ in found] == [
        ("error", {"file": "fails.json", "title": "fails: failed"}),
        ("error", {"file": "hostile.json", "title": "hostile: failed"}),
        ("error", {"file": "leaks.json", "title": "leaks: failed"}),
        ("error", {"file": "trials.jsonl", "line": "2", "title": "trials: failed"}),
        ("error", {"file": "broken.json", "title": "broken: in error"}),
        ("error", {"title": "missing: not run"}),
        ("error", {"file": "other.jsonl", "line": "8", "title": "unreadable record"}),
        ("warning", {"file": "known-failure.json", "title": "known-failure: known failure"}),
        ("notice", {"title": "diagnosis-eval: golden | *suite* @team"}),
    ]


def test_an_annotation_says_why(golden_run: pipeline.Run) -> None:
    messages = {properties["title"]: message for _, properties, message in read(annotations(golden_run.view))}
    assert messages["trials: failed"].splitlines() == [
        (
            "root-cause-keywords: the answer names 0 of 1 root-cause keyword, under the minimum coverage of 1; "
            "missing: pool"
        ),
        "2 of 3 trials passed; shown is trial 2",
    ]
    assert messages["known-failure: known failure"].splitlines() == [
        "known: the agent asks twice | until issue #7 is done",
        "tool-call-budget: the run made 2 tool calls, over the limit of 1",
    ]
    assert messages["diagnosis-eval: golden | *suite* @team"] == (
        "2 of 9 cases passed, 4 failed, 1 in error, 1 not run, 1 known failure, 2 unreadable records"
    )


def test_files_are_named_as_the_repository_names_them(golden_run: pipeline.Run) -> None:
    found = read(annotations(golden_run.view, lambda name: f"fixtures/a,b:c%/{name}"))
    assert [properties.get("file") for _, properties, _ in found][:2] == [
        "fixtures/a,b:c%/fails.json",
        "fixtures/a,b:c%/hostile.json",
    ]


@pytest.mark.parametrize("count, shown", [(9, 9), (10, 10), (11, 10), (500, 10)])
@pytest.mark.parametrize("case_id, level", [("trials", "error"), ("known-failure", "warning")])
def test_no_more_than_github_takes(golden_run: pipeline.Run, count: int, shown: int, case_id: str, level: str) -> None:
    found = [one for one in read(annotations(many(golden_run.view, case_id, count))) if one[0] == level]
    assert len(found) == shown
    _, properties, message = found[-1]
    if count > ANNOTATIONS:
        assert (properties, message) == (
            {"title": "diagnosis-eval"},
            f"… and {count - 9} more: GitHub takes 10 of a step; see report.md",
        )
    else:
        assert properties["title"].startswith(f"{case_id}-{count - 1:05}: ")


@settings(max_examples=40)
@given(texts=TEXTS)
def test_no_text_becomes_a_command(golden_run: pipeline.Run, texts: list[str]) -> None:
    found = read(annotations(spoiled(golden_run.view, texts)))
    # Which unreadable records a case tells of goes by the names of files, which are exchanged too.
    levels = [level for level, _, _ in found]
    assert (levels.count("warning"), levels.count("notice"), levels[-1]) == (1, 1, "notice")
    assert {name for _, properties, _ in found for name in properties} <= {"file", "line", "title"}


# The summary of the step.

FOLDED_CASES = 60
CUT = "… cut to what GitHub takes: the whole of it stands in `report.md` and `report.json`."


def long_summary(run: pipeline.Run, room: int = SUMMARY_BYTES) -> str:
    """Of a run with so many failed cases that most of them are folded away."""
    return step_summary(many(run.view, "trials", FOLDED_CASES), room=room).decode()


def test_the_summary_is_the_report(golden_run: pipeline.Run) -> None:
    assert step_summary(golden_run.view) == as_markdown.render(golden_run.view)


def test_the_diff_comes_first(golden_run: pipeline.Run, golden_baseline: pipeline.Run) -> None:
    summary = step_summary(golden_run.view, diff(golden_baseline.snapshot, golden_run.snapshot)).decode()
    assert [line for line in summary.splitlines() if line.startswith("# ")] == [
        r"# Diff of golden \| \*suite\* @&#8288;team",
        r"# Evaluation of golden \| \*suite\* @&#8288;team",
    ]


@settings(max_examples=30, deadline=None)
@given(room=st.integers(min_value=-1, max_value=40_000))
def test_a_cut_summary_fits_and_leaves_nothing_open(golden_run: pipeline.Run, room: int) -> None:
    whole = long_summary(golden_run)
    cut = long_summary(golden_run, room=room)
    assert len(cut.encode()) <= max(room, 0)
    assert cut.count("<details>") == cut.count("</details>")
    assert (cut == whole) == (len(whole.encode()) <= room)


@pytest.mark.parametrize("room", [2_000, 8_000, 16_000])
def test_a_summary_is_cut_at_lines(golden_run: pipeline.Run, room: int) -> None:
    whole = long_summary(golden_run).splitlines()
    cut = long_summary(golden_run, room=room)
    *kept, said = [line for line in cut.splitlines() if line not in {"", "</details>"}]
    assert said == CUT
    assert kept == [line for line in whole if line not in {"", "</details>"}][: len(kept)]
    # What is left over is less than the longest of its lines.
    assert len(cut.encode()) > room - 1_000
