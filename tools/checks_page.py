"""The page of the checks, from their docstrings and their fixtures."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

import pipeline
from pipeline.checks.base import Check
from pipeline.judge import all_checks
from tools.markdown import anchor, code, fence, table

# Keys of a fixture's case that say nothing about the check.
NOT_ABOUT_THE_CHECK: Final = ("id", "question", "traceFixture", "tags")
NOT_ABOUT_THE_CASE: Final = ("schemaVersion", "suite", "cases")
_EXAMPLE: Final = re.compile(r"^(Passes|Fails): ", re.MULTILINE)
_STORY: Final = re.compile(r"# [^:]+: (.*)")


def checks_table() -> str:
    """One row per check."""
    return table(
        ("Check", "Meaning", "Serves"),
        [(f"[`{check.name}`]({anchor(check.name)})", check.meaning, check.serves) for check in all_checks()],
    )


def check_sections(fixtures: Path) -> str:
    """One section per check, with its pair of fixtures where there is one.

    Args:
        fixtures: the folder that holds one folder per check: `case.yaml`, `pass.json`, `fail.json`.
    """
    said = _sentences(fixtures)
    return "\n\n".join("\n\n".join(_section(check, fixtures / check.name, said)) for check in all_checks())


def _sentences(fixtures: Path) -> Mapping[tuple[str, str], str]:
    """What the failing fixtures are told, by case and check: one run for all of them."""
    cases = sorted(fixtures.glob("*/case.yaml"))
    if not cases:
        return {}
    run = pipeline.evaluate(cases, [case.with_name("fail.json") for case in cases])
    return {(case.case_id, failed.check): failed.message for case in run.report.cases for failed in case.failed_checks}


def _section(check: Check, fixture: Path, said: Mapping[tuple[str, str], str]) -> Iterator[str]:
    yield f"## {check.name}"
    yield f"Serves {check.serves}."
    yield _EXAMPLE.sub(r"- \1: ", check.page)
    if not (fixture / "case.yaml").exists():
        return
    text = (fixture / "case.yaml").read_text("utf-8")
    written: dict[str, Any] = yaml.safe_load(text)
    (case,) = written["cases"]
    story = _STORY.match(text)
    yield f"**Its fixtures** in `fixtures/checks/{check.name}/`{f': {story[1]}' if story else '.'}"
    asked = _asked(written, case)
    if asked:
        yield f"The case asks:\n\n{fence(_yaml(asked), 'yaml')}"
    yield f"{code('pass.json')} passes, {code('fail.json')} fails. The difference:"
    yield fence(_difference(fixture / "pass.json", fixture / "fail.json"), "diff")
    yield f"What the report says:\n\n{fence(said[case['id'], check.name], 'text')}"


def _asked(written: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """What a case asks: keys of the whole file where they are set, no list that asks for nothing."""
    around = {key: value for key, value in written.items() if key not in NOT_ABOUT_THE_CASE}
    own = {key: value for key, value in case.items() if key not in NOT_ABOUT_THE_CHECK and value != []}
    return around | own


def _yaml(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None))


def _difference(passing: Path, failing: Path) -> str:
    """The changed lines between two traces, with a line around them."""
    before, after = (_lines(file) for file in (passing, failing))
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[3:]
    return "\n".join("…" if line.startswith("@@") else line for line in lines)


def _lines(file: Path) -> list[str]:
    trace = json.loads(file.read_bytes())
    return json.dumps(trace, indent=2, ensure_ascii=False).splitlines()
