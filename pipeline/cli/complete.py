"""What shells complete: case ids, tags, formats and checks.

A shell calls these at every press of the key, so each imports what it needs when it is called; and none of them says
anything where it finds nothing: a broken case file is no matter of completion.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pipeline.cases.merge import Place


def case_ids(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of the cases in `--cases`, or in the folder where they stand by default."""
    return _beginning(incomplete, _texts(context, "id"))


def judged_case_ids(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of the cases in the snapshot that `--run` names, or in that of the latest run."""
    from pipeline.errors import DiagnosisEvalError
    from pipeline.run import DEFAULT_OUT
    from pipeline.snapshot.files import reading
    from pipeline.snapshot.reference import resolve

    try:
        snapshot = resolve(context.params.get("run") or DEFAULT_OUT)
        with reading(snapshot):
            found = snapshot.rows.select("case_id").unique().collect()["case_id"].to_list()
    except DiagnosisEvalError:
        return []
    return _beginning(incomplete, found)


def tags(context: typer.Context, incomplete: str) -> list[str]:
    """The tags of those cases."""
    return _beginning(incomplete, _texts(context, "tags"))


def check_ids(incomplete: str) -> list[tuple[str, str]]:
    """The checks, each with its meaning."""
    from pipeline.judge import all_checks

    return [(check.name, check.meaning) for check in all_checks() if check.name.startswith(incomplete)]


def trace_formats(incomplete: str) -> list[tuple[str, str]]:
    """The trace formats, each with what it is."""
    from pipeline.sources.formats import formats

    return [(entry.name, entry.summary) for entry in formats() if entry.name.startswith(incomplete)]


def from_formats(incomplete: str) -> list[tuple[str, str]]:
    """What `--from` takes: the trace formats, and `auto`."""
    auto = [("auto", "by content")] if "auto".startswith(incomplete) else []
    return [*auto, *trace_formats(incomplete)]


def report_formats(incomplete: str) -> list[tuple[str, str]]:
    """The report formats, each with what it is."""
    from pipeline.report.base import all_writers

    return [(writer.name, writer.summary) for writer in all_writers() if writer.name.startswith(incomplete)]


def _beginning(incomplete: str, found: Iterable[str]) -> list[str]:
    return sorted({name for name in found if name.startswith(incomplete)})


def _texts(context: typer.Context, key: str) -> Iterator[str]:
    """The texts that the cases have under a key, be it a text or a list of them."""
    for case in _cases(context):
        place = case.get(key)
        if place is not None:
            for node in place.node.items or (place.node,):
                if node.kind == "text":
                    yield node.value


def _cases(context: typer.Context) -> Iterator[dict[str, "Place"]]:
    """The cases as far as they can be read, each with its keys."""
    from pipeline.cases.document import CASE_FILE_SUFFIXES, read_document
    from pipeline.cases.merge import effective_cases
    from pipeline.errors import CaseFileError
    from pipeline.run import DEFAULT_CASES

    for given in context.params.get("cases") or [DEFAULT_CASES]:
        path = Path(given)
        try:
            files = sorted(path.iterdir()) if path.is_dir() else [path]
        except OSError:
            continue
        for file in files:
            if not file.name.lower().endswith(CASE_FILE_SUFFIXES):
                continue
            try:
                document = read_document(file.name, file.read_bytes())
            except (OSError, CaseFileError):
                continue
            yield from (keys for _, keys in effective_cases(document))
