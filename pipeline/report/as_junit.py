"""`junit.xml`: the report as a test report, which CI services show beside unit tests.

One test case per case, so that a dashboard counts what the report counts:

- A failed case is a failure; its text is one line per failed check.
- A case in error or not run is an *error*. JUnit has `skipped` for tests that did not run, but services show those as
  harmless, and a lost fixture must not look green.
- A known failure is skipped, with its reason: it is reported and stops no merge.
- Unreadable records that belong to no case are an error of their own, `(unreadable records)`.

What the trace showed (verdict, coverage, calls) stands in the properties of a test case. The tool's version and the
digests are those of the suite.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final

from pipeline.report.base import Writer
from pipeline.report.findings import known_reason, place, sentences, untold
from pipeline.report.markdown_text import visible
from pipeline.report.model import CaseEntry, View

if TYPE_CHECKING:
    from junitparser import Error, Failure, Skipped
    from junitparser.xunit2 import TestCase

UNREADABLE: Final = "(unreadable records)"
NAME_CHARACTERS: Final = 200
LISTED_RECORDS: Final = 20
# A trace may state any number; parsers of JUnit do not read exponents.
LONGEST_MS: Final = 1e15


def render(view: View) -> bytes:
    """The report as JUnit XML, UTF-8."""
    from junitparser import JUnitXml, TestSuite

    report = view.report
    suite = TestSuite(visible(report.suite, NAME_CHARACTERS))
    for name, value in (
        ("toolVersion", report.provenance.tool_version),
        ("casesDigest", report.provenance.cases_digest),
        ("tracesDigest", report.provenance.traces_digest),
    ):
        suite.add_property(name, visible(value))
    suite.add_testcases([*(_case(view, case) for case in report.cases), *_unreadable(view)])
    document = JUnitXml(visible(report.suite, NAME_CHARACTERS))
    document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call] # junitparser has types for most functions only
    written = BytesIO()
    # Written by the standard library in either case, so that the bytes do not depend on lxml being there.
    document.write(written, pretty=True)
    return written.getvalue()


def _case(view: View, case: CaseEntry) -> "TestCase":
    one = _test_case(view, case.case_id)
    if case.duration_ms is not None and case.duration_ms < LONGEST_MS:
        one.time = round(case.duration_ms / 1000, 3)
    for name, value in _properties(view, case):
        one.add_property(name, value)
    result = _result(view, case)
    if result is not None:
        result.text = "\n".join(sentences(view, case))
        one.result = [result]
    return one


def _test_case(view: View, name: str) -> "TestCase":
    from junitparser.xunit2 import TestCase

    return TestCase(name, classname=visible(view.report.suite, NAME_CHARACTERS))


def _result(view: View, case: CaseEntry) -> "Failure | Error | Skipped | None":
    from junitparser import Error, Failure, Skipped

    if case.status == "passed":
        return None
    if case.status != "failed":
        return Error("in error" if case.status == "error" else "not run", case.status)
    if case.known_failure:
        return Skipped(f"known failure: {known_reason(view, case)}", "known failure")
    return Failure("failed: " + ", ".join(failed.check for failed in case.failed_checks), "failed checks")


def _properties(view: View, case: CaseEntry) -> Iterator[tuple[str, str]]:
    detail = view.details[case.case_id]
    for name, value in (
        ("verdict", case.verdict),
        ("evidenceCoverage", case.evidence_coverage.ratio),
        ("evidenceMissing", "; ".join(case.evidence_coverage.missing)),
        ("keywordCoverage", case.keyword_coverage.ratio),
        ("keywordsMissing", "; ".join(case.keyword_coverage.missing)),
        ("toolCallCount", case.tool_call_count),
        ("gatekeeperStatus", case.gatekeeper_status),
        ("composerStatus", case.composer_status),
        ("claimCheckCount", case.claim_check_count),
        ("trials", case.trials),
        ("passedTrials", case.passed_trials),
        ("traceId", case.trace_id),
        ("traceFile", None if detail.file is None else place(detail.file, detail.line)),
    ):
        if value is not None and value != "":
            yield name, visible(str(value), NAME_CHARACTERS)


def _unreadable(view: View) -> Iterator["TestCase"]:
    from junitparser import Error

    records, count = untold(view)
    if not count:
        return
    one = _test_case(view, UNREADABLE)
    result = Error(f"records that could not be read: {count}", "error")
    lines = [f"{place(fault.file, fault.line)}: {visible(fault.message)}" for fault in records[:LISTED_RECORDS]]
    left = count - len(lines)
    result.text = "\n".join([*lines, *([f"… and {left} more, see report.json"] if left else [])])
    one.result = [result]
    yield one


WRITER = Writer(
    name="junit",
    file="junit.xml",
    summary="a test report, one test per case, for CI services and dashboards",
    render=render,
)
