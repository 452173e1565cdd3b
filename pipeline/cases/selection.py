"""Which cases of a suite a run evaluates: `--case` and `--tag`."""

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from pipeline.cases.model import Case, Suite
from pipeline.errors import UsageError, quote

_SHOWN = 10


def select(suite: Suite, case_globs: Sequence[str] = (), tags: Sequence[str] = ()) -> tuple[Case, ...]:
    """The cases that a run evaluates.

    Args:
        suite: the suite.
        case_globs: shell patterns of case ids, case-sensitive; a case matches any of them, or none is given.
        tags: tags; a case has any of them, or none is given.

    Returns:
        The cases that match both, sorted by id.

    Raises:
        UsageError: nothing is selected, or one of the patterns or tags matches no case of the suite: a gate
            that silently leaves out what it was asked for would pass for the wrong reason.
    """
    ids = [case.id for case in suite.cases]
    for glob in case_globs:
        if not any(fnmatchcase(case_id, glob) for case_id in ids):
            raise UsageError(f"No case matches --case {quote(glob)}.", hint=_hint(glob, ids, "case"))
    known_tags = sorted({tag for case in suite.cases for tag in case.tags})
    for tag in tags:
        if tag not in known_tags:
            raise UsageError(f"No case has the tag {quote(tag)}.", hint=_hint(tag, known_tags, "tag"))
    selected = tuple(
        case
        for case in suite.cases
        if (not case_globs or any(fnmatchcase(case.id, glob) for glob in case_globs))
        and (not tags or any(tag in case.tags for tag in tags))
    )
    if not selected:
        raise UsageError(
            "The selection is empty: no case matches both --case and --tag.",
            hint="Remove one of the two, or check the tags of the cases.",
        )
    return selected


def _hint(wanted: str, known: Sequence[str], kind: str) -> str:
    close = difflib.get_close_matches(wanted[:200].strip("*"), known, n=3)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    if not known:
        return f"The suite has no {kind} at all."
    shown = ", ".join(quote(one, 80) for one in known[:_SHOWN])
    return f"The suite's {kind}s are {shown}{', …' if len(known) > _SHOWN else ''}."
