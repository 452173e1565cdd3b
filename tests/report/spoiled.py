"""Views in which every text that a trace or case may choose is hostile, for the tests of the writers."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from pipeline.report.model import Detail, Report, View

# What is the product's own word, and no text of a trace or case.
OURS = {"status", "check", "tool", "kind", "caseId"}

PIECES = [
    *("=", "+", "-", "@", "＝", ";", ",", '"', "'", "\t", "\r\n", "\n", "\r", " ", "%", "%0A", "::", "##[error]"),
    *("::stop-commands::x", "<", ">", "&", "]]>", "<!--", "&#0;", "\x00", "\x1b[2J", "\ud800", "\ufffe", "\u202e"),
    *("\u2028", "\u0085", "=1+1", "<details>", "支付", "x"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join) | st.text(min_size=1)
TEXTS = st.lists(HOSTILE, min_size=1, max_size=9)


def spoiled(view: View, texts: list[str]) -> View:
    """The view with every text that is not ours exchanged, one after another."""
    numbers = iter(range(10**6))

    def change(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            keep_keys = key.endswith("Distribution") or key == "checkFailures"
            return {name: change(one, "" if keep_keys else name) for name, one in value.items()}
        if isinstance(value, list):
            return [change(one, key) for one in value]
        if isinstance(value, str) and key not in OURS:
            return texts[next(numbers) % len(texts)]
        return value

    report = msgspec.convert(change(msgspec.to_builtins(view.report)), Report)
    details = {name: msgspec.convert(change(msgspec.to_builtins(one)), Detail) for name, one in view.details.items()}
    return View(report=report, details=details, text=True)


def many(view: View, case_id: str, count: int) -> View:
    """The view with one of its cases so many times over, and no other."""
    (case,) = [one for one in view.report.cases if one.case_id == case_id]
    ids = [f"{case_id}-{number:05}" for number in range(count)]
    cases = [msgspec.structs.replace(case, case_id=one) for one in ids]
    summary = msgspec.structs.replace(view.report.summary, unreadable_records=0)
    report = msgspec.structs.replace(view.report, cases=cases, input_errors=[], summary=summary)
    return View(report=report, details=dict.fromkeys(ids, view.details[case_id]), text=True)
