"""`annotations.txt`: what stands against a run, as workflow commands of GitHub Actions.

On a runner (`GITHUB_ACTIONS`) the command line prints them, and GitHub shows each beside the trace file or on the page
of the run. GitHub takes ten of a kind from one step; the tenth tells of those that have no room. Errors are what is no
known failure, warnings are known failures, and one notice has the headline.

The page of the run shows Markdown that a step appends to the file `GITHUB_STEP_SUMMARY`. `step_summary` makes it from
the diff and the report, cut to what GitHub takes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from pipeline.diff import Diff
from pipeline.report import as_markdown
from pipeline.report.base import Writer
from pipeline.report.diff_markdown import render_diff
from pipeline.report.findings import MESSAGE_CHARACTERS, known_reason, sentences, untold
from pipeline.report.markdown_text import visible
from pipeline.report.model import CaseEntry, Status, View

Level = Literal["error", "warning", "notice"]

# What GitHub takes from one step: annotations of a kind, and bytes of a summary.
ANNOTATIONS: Final = 10
SUMMARY_BYTES: Final = 1024 * 1024
# Lines of one annotation; GitHub shows few.
ANNOTATION_LINES: Final = 12
PROPERTY_CHARACTERS: Final = 255

# What stands against a run, the failures that say something about the agent first.
_AGAINST: Final[tuple[Status, ...]] = ("failed", "error", "not_run")
_CLOSE: Final = b"\n</details>\n"
_CUT: Final = "… cut to what GitHub takes: the whole of it stands in `report.md` and `report.json`."


def render(view: View) -> bytes:
    """The annotations as a file, UTF-8; files are named as the report names them."""
    return annotations(view).encode()


def annotations(view: View, locate: Callable[[str], str] = str) -> str:
    """The annotations, one workflow command per line.

    Args:
        view: the report.
        locate: from the report's name of a trace file, below its root, to its path in the repository.
    """
    errors = [_of_case(view, case, locate) for status in _AGAINST for case in view.cases(status, known=False)]
    records, count = untold(view)
    errors += [
        _command(
            "error", "unreadable record", visible(fault.message, MESSAGE_CHARACTERS), locate(fault.file), fault.line
        )
        for fault in records
    ]
    known = [_of_case(view, case, locate) for case in view.cases("failed", known=True)]
    title = f"diagnosis-eval: {view.report.suite}"
    lines = [
        *_at_most("error", errors, len(errors) + count - len(records)),
        *_at_most("warning", known, len(known)),
        # Neither pass nor fail: that is the gate's to say, and a writer does not know the gate.
        _command("notice", title, as_markdown.verdict_line(view)),
    ]
    return "".join(f"{line}\n" for line in lines)


def _of_case(view: View, case: CaseEntry, locate: Callable[[str], str]) -> str:
    detail = view.details[case.case_id]
    lines = sentences(view, case)
    if len(lines) > ANNOTATION_LINES:
        lines = [*lines[: ANNOTATION_LINES - 1], f"… and {len(lines) - ANNOTATION_LINES + 1} more, see report.md"]
    words = {"error": "in error", "not_run": "not run"}.get(case.status, case.status)
    if case.known_failure:
        lines.insert(0, f"known: {known_reason(view, case)}")
        words = "known failure"
    file = None if detail.file is None else locate(detail.file)
    return _command(
        "warning" if case.known_failure else "error", f"{case.case_id}: {words}", "\n".join(lines), file, detail.line
    )


def _at_most(level: Level, commands: Sequence[str], count: int) -> Iterator[str]:
    if count <= ANNOTATIONS:
        yield from commands
        return
    yield from commands[: ANNOTATIONS - 1]
    left = count - ANNOTATIONS + 1
    yield _command(level, "diagnosis-eval", f"… and {left} more: GitHub takes {ANNOTATIONS} of a step; see report.md")


def _command(level: Level, title: str, message: str, file: str | None = None, line: int | None = None) -> str:
    given = (("file", file), ("line", line), ("title", title))
    properties = ",".join(
        f"{name}={_property(visible(str(value), PROPERTY_CHARACTERS))}" for name, value in given if value is not None
    )
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(view: View, diff: Diff | None = None, *, room: int = SUMMARY_BYTES) -> bytes:
    """What the page of a run is to show: the diff if there is one, then the report, as Markdown.

    Args:
        view: the report.
        diff: the run against its baseline.
        room: how many bytes may be written; what has no room is cut, line by line.
    """
    text = as_markdown.render(view)
    if diff is not None:
        text = render_diff(diff) + b"\n" + text
    if len(text) <= room:
        return text
    # Room for what closes the folds that the cut leaves open, each on a line of its own.
    end = f"\n{_CUT}\n".encode()
    kept: list[bytes] = []
    opened = size = 0
    for line in text.splitlines(keepends=True):
        folds = opened + (line == b"<details>\n") - (line == b"</details>\n")
        if size + len(line) + folds * len(_CLOSE) + len(end) > room:
            break
        kept.append(line)
        size += len(line)
        opened = folds
    return b"".join([*kept, _CLOSE * opened, end]) if len(end) <= room else b""


WRITER = Writer(
    name="github",
    file="annotations.txt",
    summary="annotations and a step summary for GitHub Actions",
    render=render,
)
