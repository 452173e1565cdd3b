"""The page of the checks, from their docstrings and their fixtures."""

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from pipeline.checks.base import Check
from pipeline.judge import all_checks
from tools.markdown import anchor, code, fence, table

# Keys of a fixture's case that say nothing about the check.
NOT_ABOUT_THE_CHECK: Final = ("id", "question", "traceFixture", "tags")
_EXAMPLE: Final = re.compile(r"^(Passes|Fails): ", re.MULTILINE)


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
    return "\n\n".join("\n\n".join(_section(check, fixtures / check.name)) for check in all_checks())


def _section(check: Check, fixture: Path) -> Iterator[str]:
    yield f"## {check.name}"
    yield f"Serves {check.serves}."
    yield _EXAMPLE.sub(r"- \1: ", check.page)
    if (fixture / "case.yaml").exists():
        yield f"Its fixtures, `fixtures/checks/{check.name}/`. The case asks:"
        yield fence(_asked(fixture / "case.yaml"), "yaml")
        yield f"{code('pass.json')} passes. With this change, {code('fail.json')} fails:"
        yield fence(_difference(fixture / "pass.json", fixture / "fail.json"), "diff")


def _asked(file: Path) -> str:
    """What the case of a fixture asks, as short YAML; keys of the whole file only where they are set."""
    written: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    case: dict[str, Any] = {}
    if "cases" in written:
        case = {key: value for key, value in written.items() if key not in {"schemaVersion", "suite", "cases"}}
        written = written["cases"][0]
    case |= {key: value for key, value in written.items() if key not in NOT_ABOUT_THE_CHECK}
    return str(yaml.safe_dump(case, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None))


def _difference(passing: Path, failing: Path) -> str:
    """The changed lines between two traces, with a line around them."""
    before, after = (_lines(file) for file in (passing, failing))
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    return "\n".join("…" if line.startswith("@@") else line for line in lines[1:])


def _lines(file: Path) -> list[str]:
    trace = json.loads(file.read_bytes())
    return json.dumps(trace, indent=2, ensure_ascii=False).splitlines()
