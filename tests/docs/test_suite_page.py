"""docs/eval/README.md tells of every case of the fixed suite, and of no other."""

import re
from pathlib import Path

import yaml

from pipeline.cases.load import load_suite
from pipeline.cases.model import Case
from pipeline.judge import all_checks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/eval/README.md").read_text("utf-8")
ROW = re.compile(r"(?m)^\| `([^`]+)` \| .+ \| (V2|legacy|partial)(?: \([^)]+\))? \| (English|Chinese) \|$")
SUITE = load_suite([str(ROOT / "cases")], known_checks=all_checks().names)


def asks_of_the_chain(case: Case) -> str:
    audit = case.audit
    if audit.required:
        return "V2"
    asked = (audit.claim_checks, audit.min_claim_checks, audit.composer, audit.claim_bindings)
    return "partial" if any(asked) else "legacy"


def language(case: Case) -> str:
    return "Chinese" if re.search(r"[\u4e00-\u9fff]", case.question) else "English"


def test_every_case_has_its_row() -> None:
    assert sorted(row[1] for row in ROW.finditer(PAGE)) == [case.id for case in SUITE.cases]


def test_the_rows_say_what_the_cases_ask() -> None:
    rows = {row[1]: (row[2], row[3]) for row in ROW.finditer(PAGE)}
    assert rows == {case.id: (asks_of_the_chain(case), language(case)) for case in SUITE.cases}


def test_the_examples_of_the_pages_are_as_the_files_have_them() -> None:
    example = yaml.safe_load((ROOT / "docs/eval/examples/holmesgpt.yaml").read_text("utf-8"))
    page = (ROOT / "docs/eval/real-conversations.md").read_text("utf-8")
    (shown,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page)
    excerpt = yaml.safe_load(shown)
    (case,) = (case for case in example["cases"] if case["id"] == excerpt["cases"][0]["id"])

    assert excerpt["defaults"] == example["defaults"]
    assert excerpt["cases"][0] == {key: case[key] for key in excerpt["cases"][0]}
