"""The judge against the contract, sentence by sentence.

Each row of `rows/*.yaml` quotes a sentence of the contract, gives one case and one fixture, and states the
outcome that the sentence demands. All rows form one suite that is evaluated once; a row marked `ownRun` needs
suite-level keys of its own and is evaluated alone. A row marked `doubt` takes a side where the contract leaves
room.

Keys of a row: name, contract, doubt, ownRun, suite, case, others (further cases of the suite), then the fixture
as one of trace, traces, raw (text), rawHex (bytes as they are) or files, with an optional file name (packed where
it ends in .gz or .zst), and expect.
"""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
import zstandard

import pipeline

ROWS_FOLDER = Path(__file__).parent / "rows"

BASE_CASE: dict[str, Any] = {
    "question": "What happened?",
    "rootCauseKeywords": [],
    "requiredEvidenceTools": [],
    "requireVerdict": False,
}

ROW_KEYS = {
    *("name", "contract", "doubt", "ownRun", "suite", "case", "others", "file"),
    *("trace", "traces", "raw", "rawHex", "files", "expect"),
}
FIXTURE_KEYS = ("trace", "traces", "raw", "rawHex", "files")

# These lists of the report concern files; a row sees the entries of its own files only.
LISTS_BY_FILE = ("inputErrors", "inputWarnings", "unmatched")

# The case key that asks for a check. None: every case does.
ASKED_BY: dict[str, str | None] = {
    "answer-present": None,
    "evidence-coverage": "requiredEvidenceTools",
    "verdict-present": "requireVerdict",
    "verdict-allowed": "allowedVerdicts",
    "root-cause-keywords": "rootCauseKeywords",
    "forbidden-answer-keywords": "forbiddenAnswerKeywords",
    "degraded-output": None,
    "audit-fields-present": "audit.required",
    "gatekeeper-verdict-conflict": None,
    "claim-checks-auditable": "audit.claimChecks",
    "composer-auditable": "audit.composer",
    "forbidden-confirmed-claims": "forbiddenConfirmedClaims",
    "raw-protocol-leak": "audit.required",
    "claim-bindings": "audit.claimBindings",
    "unsupported-claims": "audit.maxUnsupportedClaims",
    "unsupported-claim-text": "audit.noUnsupportedClaimText",
    "forbidden-tools": "forbiddenTools",
    "tool-order": "toolOrder",
    "tool-arguments": "toolArguments",
    "tool-call-budget": "maxToolCalls",
    "duration-budget": "maxDurationMs",
    "token-budget": "maxTotalTokens",
    "cost-budget": "maxCostUsd",
}


class TableLoader(yaml.SafeLoader):
    """Refuses a key given twice: the earlier expectation would vanish without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"given twice: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def file_bytes(name: str, content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        data = content.encode()
    else:
        data = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    if name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    if name.endswith(".zst"):
        return zstandard.ZstdCompressor().compress(data)
    return data


@dataclass(frozen=True)
class Row:
    table: str
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def own_run(self) -> bool:
        return bool(self.fields.get("ownRun", False))

    @property
    def case_id(self) -> str:
        return str(self.fields.get("case", {}).get("id", slug(self.name)))

    @property
    def expect(self) -> dict[str, Any]:
        expect: dict[str, Any] = self.fields["expect"]
        return expect

    def trace_files(self) -> dict[str, bytes]:
        """The row's files, by their name relative to the traces root."""
        row = self.fields
        if "files" in row:
            return {name: file_bytes(name, content) for name, content in row["files"].items()}
        name = row.get("file", slug(self.name) + (".jsonl" if "traces" in row else ".json"))
        if "trace" in row:
            return {name: file_bytes(name, row["trace"])}
        if "traces" in row:
            lines = [json.dumps(trace, ensure_ascii=False, allow_nan=False) for trace in row["traces"]]
            return {name: file_bytes(name, "\n".join(lines) + "\n")}
        if "raw" in row:
            return {name: file_bytes(name, str(row["raw"]))}
        if "rawHex" in row:
            return {name: file_bytes(name, bytes.fromhex(row["rawHex"]))}
        return {}

    def case_definitions(self) -> list[dict[str, Any]]:
        """The row's case, then the others it needs beside it. A `traceFixture` of null leaves the key out."""
        own = {**BASE_CASE, "id": self.case_id, **self.fields.get("case", {})}
        files = [] if "files" in self.fields else list(self.trace_files())
        if files and "traceFixture" not in own:
            own["traceFixture"] = files[0]
        if own.get("traceFixture") is None:
            own.pop("traceFixture", None)
        return [own, *({**BASE_CASE, **other} for other in self.fields.get("others", []))]


def read_rows() -> list[Row]:
    return [
        Row(table.stem, fields)
        for table in sorted(ROWS_FOLDER.glob("*.yaml"))
        for fields in yaml.load(table.read_text(encoding="utf-8"), Loader=TableLoader)  # noqa: S506 a SafeLoader
    ]


ROWS = read_rows()
SHARED_ROWS = [row for row in ROWS if not row.own_run]


def write_suite(folder: Path, rows: list[Row]) -> tuple[Path, Path]:
    """Writes one case file and one folder of traces. JSON, so that no value is read in a second way."""
    suite_keys = [row.fields.get("suite", {}) for row in rows]
    suite: dict[str, Any] = {"schemaVersion": 1, "suite": "contract"}
    for keys in suite_keys:
        suite |= keys
    suite["cases"] = [case for row in rows for case in row.case_definitions()]
    cases_file = folder / "cases.json"
    cases_file.write_text(json.dumps(suite, ensure_ascii=False, indent=1), encoding="utf-8")
    traces_folder = folder / "traces"
    traces_folder.mkdir()
    for row in rows:
        for name, data in row.trace_files().items():
            path = traces_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return cases_file, traces_folder


def evaluate_rows(folder: Path, rows: list[Row]) -> dict[str, Any]:
    cases_file, traces_folder = write_suite(folder, rows)
    run = pipeline.evaluate(cases=[cases_file], traces=[traces_folder])
    report: dict[str, Any] = msgspec.to_builtins(run.report)
    return report


@pytest.fixture(scope="session")
def shared_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return evaluate_rows(tmp_path_factory.mktemp("contract-rows"), SHARED_ROWS)


@pytest.fixture
def report_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Row], dict[str, Any]]:
    def report(row: Row) -> dict[str, Any]:
        if row.own_run:
            return evaluate_rows(tmp_path, [row])
        shared: dict[str, Any] = request.getfixturevalue("shared_report")
        return shared

    return report


def at(value: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def partial(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    return all(key in actual and actual[key] == value for key, value in expected.items())


def listed(expected: Any, entries: list[dict[str, Any]]) -> Any:
    """One file's entries in the form of the expectation: their number, or each as far as it was asked about."""
    if isinstance(expected, int):
        return len(entries)
    rest = list(entries)
    found = []
    for wanted in expected:
        match = next((entry for entry in rest if partial(wanted, entry)), None)
        if match is not None:
            rest.remove(match)
            found.append(wanted)
    return [*found, *rest]


def observed(expect: dict[str, Any], entry: dict[str, Any], report: dict[str, Any], files: set[str]) -> dict[str, Any]:
    """What the report says on exactly the keys that the expectation names."""
    actual: dict[str, Any] = {}
    for key, wanted in expect.items():
        if key == "others":
            entries = {case["caseId"]: case for case in report["cases"]}
            actual[key] = {
                case_id: observed(other, entries[case_id], report, files) for case_id, other in wanted.items()
            }
        elif key == "failedChecks":
            # In the order of the expectation, so that two equal sets compare equal.
            failed = [failure["check"] for failure in entry["failedChecks"]]
            actual[key] = sorted(failed, key=lambda check: (check not in wanted, check))
        elif key in LISTS_BY_FILE:
            actual[key] = listed(wanted, [found for found in report[key] if found["file"] in files])
        else:
            actual[key] = at(entry, key)
    return actual


def in_order(expect: dict[str, Any]) -> dict[str, Any]:
    ordered = dict(expect)
    if "failedChecks" in expect:
        ordered["failedChecks"] = sorted(expect["failedChecks"])
    if "others" in expect:
        ordered["others"] = {case_id: in_order(other) for case_id, other in expect["others"].items()}
    return ordered


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.table}-{slug(row.name)}" for row in ROWS])
def test_the_report_says_what_the_contract_says(row: Row, report_of: Callable[[Row], dict[str, Any]]) -> None:
    report = report_of(row)
    entries = [case for case in report["cases"] if case["caseId"] == row.case_id]
    assert len(entries) == 1, f"case {row.case_id!r} has {len(entries)} entries in the report"
    expected = in_order(row.expect)
    actual = observed(expected, entries[0], report, set(row.trace_files()))
    assert actual == expected, "\n".join(
        [
            f"{row.table}: {row.name}",
            f"contract: {row.fields['contract']}",
            *([f"doubt:    {row.fields['doubt']}"] if "doubt" in row.fields else []),
            f"expected: {json.dumps(expected, ensure_ascii=False)}",
            f"actual:   {json.dumps(actual, ensure_ascii=False)}",
            f"case:     {json.dumps(row.fields.get('case', {}), ensure_ascii=False)}",
            f"result:   {json.dumps(entries[0], ensure_ascii=False)}",
        ]
    )


def test_every_failure_says_something_to_act_on(shared_report: dict[str, Any]) -> None:
    wordless = [
        (case["caseId"], failure["check"])
        for case in shared_report["cases"]
        for failure in case["failedChecks"]
        if not failure["message"].strip() or "expected" not in failure or "observed" not in failure
    ]
    assert wordless == []


def test_every_case_without_a_judgement_says_why(shared_report: dict[str, Any]) -> None:
    silent = [
        case["caseId"]
        for case in shared_report["cases"]
        if case["status"] in {"error", "not_run"} and not (case["reason"] or "").strip()
    ]
    assert silent == []


def test_every_input_error_says_where_what_was_expected_and_what_was_found(shared_report: dict[str, Any]) -> None:
    wordless = [
        error
        for error in shared_report["inputErrors"]
        if not all((error[key] or "").strip() for key in ("file", "path", "expected", "found", "message"))
        or (error["line"] is None) == (".jsonl" in error["file"] or ".ndjson" in error["file"])
    ]
    assert wordless == []


def test_utf_16_is_named(shared_report: dict[str, Any]) -> None:
    named = ["UTF-16" in error["message"] for error in shared_report["inputErrors"] if "utf16" in error["file"]]
    assert named == [True]


def test_cases_are_sorted_by_id(shared_report: dict[str, Any]) -> None:
    ids = [case["caseId"] for case in shared_report["cases"]]
    assert ids == sorted(ids)


def test_one_entry_per_check_whatever_the_number_of_reasons(shared_report: dict[str, Any]) -> None:
    repeated = [
        case["caseId"]
        for case in shared_report["cases"]
        if len({failure["check"] for failure in case["failedChecks"]}) != len(case["failedChecks"])
    ]
    assert repeated == []


def test_the_summary_counts_the_cases_by_status(shared_report: dict[str, Any]) -> None:
    summary = shared_report["summary"]
    statuses = [case["status"] for case in shared_report["cases"]]
    counted = {
        "totalCases": len(statuses),
        "passed": statuses.count("passed"),
        "failed": statuses.count("failed"),
        "notRun": statuses.count("not_run"),
        "errors": statuses.count("error"),
        "passRate": round(statuses.count("passed") / len(statuses), 6),
    }
    assert {key: summary[key] for key in counted} == counted


# About the tables themselves.


def test_names_slugs_case_ids_and_files_are_unique() -> None:
    case_ids = [case["id"] for row in SHARED_ROWS for case in row.case_definitions()]
    files = [name for row in SHARED_ROWS for name in row.trace_files()]
    for values in ([row.name for row in ROWS], [slug(row.name) for row in ROWS], case_ids, files):
        assert sorted(values) == sorted(set(values))


@pytest.mark.parametrize("row", ROWS, ids=[slug(row.name) for row in ROWS])
def test_a_row_has_known_keys_one_fixture_and_a_stated_status(row: Row) -> None:
    expect = row.expect
    assert set(row.fields) - ROW_KEYS == set()
    assert sum(key in row.fields for key in FIXTURE_KEYS) <= 1
    assert row.fields["contract"].strip()
    assert expect["status"] in {"passed", "failed", "error", "not_run"}
    assert set(expect.get("failedChecks", [])) - set(ASKED_BY) == set()
    assert not (expect["status"] == "passed" and expect.get("failedChecks"))
    assert "suite" not in row.fields or row.own_run


def asks_for(row: Row, check: str) -> bool:
    if check == "degraded-output":
        return any(b"REJECT" in data for data in row.trace_files().values())
    key = ASKED_BY[check]
    return key is None or at(row.fields.get("case", {}), key) not in (None, False, [])


@pytest.mark.parametrize("check", sorted(ASKED_BY))
def test_every_check_fails_in_a_row_and_passes_in_another(check: str) -> None:
    failing = [row.name for row in ROWS if check in row.expect.get("failedChecks", [])]
    passing = [row.name for row in ROWS if row.expect["status"] == "passed" and asks_for(row, check)]
    assert failing, f"no row in which {check} fails"
    assert passing, f"no row in which {check} passes"
