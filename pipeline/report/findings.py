"""What stands against a run, in sentences of one line: for the writers whose formats know no Markdown."""

from typing import Final

from pipeline.report.markdown_text import visible
from pipeline.report.model import CaseEntry, View
from pipeline.snapshot.info import InputFault

MESSAGE_CHARACTERS: Final = 600


def sentences(view: View, case: CaseEntry) -> list[str]:
    """Why a case did not pass, one sentence each; none for a case that passed."""
    if case.status == "passed":
        return []
    found = [visible(case.reason, MESSAGE_CHARACTERS)] if case.reason else []
    found += [f"{failed.check}: {visible(failed.message, MESSAGE_CHARACTERS)}" for failed in case.failed_checks]
    if case.trials > 1:
        trial = view.details[case.case_id].trial
        found.append(f"{case.passed_trials} of {case.trials} trials passed; shown is trial {trial}")
    return found


def known_reason(view: View, case: CaseEntry) -> str:
    """Why a failure of this case is known, on one line."""
    return visible(view.details[case.case_id].known_reason or "", MESSAGE_CHARACTERS)


def untold(view: View) -> tuple[list[InputFault], int]:
    """The unreadable records that no case in error tells of: those listed, and how many there are in all."""
    told = {
        (view.details[case.case_id].file, view.details[case.case_id].line)
        for case in view.cases("error")
        if view.details[case.case_id].file is not None
    }
    listed = view.report.input_errors
    rest = [fault for fault in listed if (fault.file, fault.line) not in told]
    return rest, view.report.summary.unreadable_records - (len(listed) - len(rest))


def place(file: str, line: int | None) -> str:
    """A file and line as people and editors write it."""
    return visible(file, MESSAGE_CHARACTERS) if line is None else f"{visible(file, MESSAGE_CHARACTERS)}:{line}"
