"""What a suite redacts stands in no output, wherever a trace or a case says it, and changes no result.

The thing to hide begins with ZEUGMA in every test, so that half of it is found in the outputs too.
"""

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.cli import main
from pipeline.redact import MARK, redact_json, redact_texts
from pipeline.report.base import all_writers

Json = Any

# A word with a number, a long word that shows where it ends, a text over several lines, a bank card as a number.
PATTERNS = [r"ZEUGMA-\d{6}", r"ZEUGMA~\d+~", r"ZEUGMA BEGIN[^!]*!", r"\b4111\d{12}\b"]
HIDDEN = re.compile("zeugma|PAYLOAD|4111111111111111", re.IGNORECASE)
LINES = "ZEUGMA BEGIN\nPAYLOAD of a key, long enough to be a sentence.\nPAYLOAD again, as long as the one before it.\n!"

TRACE: Json = {
    "traceId": "t",
    "caseId": "everything",
    "question": "q",
    "finalAnswer": "a",
    "status": "COMPLETED",
    "startedAt": "s",
    "finishedAt": "f",
    "model": "m",
    "executorOutput": {
        "answer_version": "v",
        "answer": "The unverified answer says a lot about it.",
        "claims": [
            {"claim_id": "c1", "text": "The claim has a text of its own to tell.", "evidence_bindings": ["t"]},
            {"claim_id": "c2", "text": "x", "evidence_bindings": [{"toolName": "b"}, {"tool": "d"}]},
        ],
    },
    "toolInvocations": [
        {"toolName": "one", "arguments": {"key": "v", "inner": [{"k": "v"}]}, "resultSummary": "r", "error": "e"},
        {"tool_name": "two", "arguments": "no json", "resultSummary": {"k": ["v"]}, "error": {"k": "v"}},
        {"name": "three", "arguments": {"number": 4111111111111111}, "status": "FAILED", "resultSummary": '{"k":"v"}'},
        {"tool": "four", "arguments": '{"in": "a string"}'},
    ],
    "selfEvaluation": {
        "verifier_evaluation": {
            "verdict": "PASS",
            "trace_summary": ["s", {"toolName": "n", "summary": "s"}],
            "gatekeeper_result": {"status": "pass", "violations": ["v", {"k": "v"}]},
            "claim_checks": [
                {"claim_id": "c1", "verification": "unsupported", "detail": "d"},
                {"claim_id": "zz", "verification": "odd", "detail": "d"},
            ],
            "composer_output": {"mode": "parsed", "status": "s", "rendering": "r"},
        },
    },
}

CASE: Json = {
    "id": "everything",
    "question": "What is ZEUGMA-000001?",
    "tags": ["ZEUGMA-000002"],
    "rootCauseKeywords": [
        ["ZEUGMA-000003", {"word": "ZEUGMA-000004"}],
        {"regex": "ZEUGMA-000005x+"},
        "nowhere ZEUGMA-000006",
    ],
    "requiredEvidenceTools": ["ZEUGMA-000007", ["absent ZEUGMA-000008", "ZEUGMA-000009"]],
    "allowedVerdicts": ["ZEUGMA-000010"],
    "forbiddenVerdicts": ["ZEUGMA-000011"],
    "forbiddenAnswerKeywords": [{"regex": "z.ugma-\\d+"}, {"regex": "payl.ad"}],
    "forbiddenConfirmedClaims": [{"regex": "z.ugma"}],
    "degradedOutput": {"requiredAnyOf": ["ZEUGMA-000012 is unclear"], "forbidden": ["ZEUGMA-123456"]},
    "audit": {
        "required": True,
        "claimChecks": True,
        "minClaimChecks": 5,
        "composer": True,
        "claimBindings": True,
        "maxUnsupportedClaims": 0,
        "noUnsupportedClaimText": True,
    },
    "knownFailure": {"checks": ["evidence-coverage"], "reason": "as ZEUGMA-000013 says"},
    "forbiddenTools": ["ZEUGMA-000014", "one"],
    "toolOrder": ["ZEUGMA-000015", "two"],
    "toolArguments": [
        {"tool": "one", "arguments": {"id": "ZEUGMA-000016", "mode": {"ZEUGMA-000017": 4111111111111111}}},
        {"tool": "ZEUGMA-000018", "mode": "exact", "arguments": {"checks": [LINES]}},
    ],
    "maxToolCalls": 1,
    "traceFixture": "named ZEUGMA-000019.json",
}
# Once more with the verdict that asks for a degraded answer, and judged by the name of the file.
REJECTED = {**CASE, "id": "rejected", "traceFixture": None, "allowedVerdicts": ["PASS"], "knownFailure": None}
ABSENT = {**CASE, "id": "absent", "traceFixture": "missing ZEUGMA-000020.json"}


def texts_of(document: Json, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every text."""
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in entries:
        if isinstance(value, str):
            yield (*place, key)
        elif isinstance(value, dict | list):
            yield from texts_of(value, (*place, key))


def changed(document: Json, place: tuple[Any, ...], change: Callable[[str], Json]) -> Json:
    """A copy of the document with one text changed."""
    copy = json.loads(json.dumps(document))
    here = copy
    for key in place[:-1]:
        here = here[key]
    here[place[-1]] = change(here[place[-1]])
    return copy


def everywhere(document: Json, change: Callable[[str], str]) -> Json:
    """A copy with every text changed, and every key of what is free-form."""
    copy = json.loads(json.dumps(document))
    for place in texts_of(document):
        if place[-1] != "caseId":
            copy = changed(copy, place, change)
    for call in copy["toolInvocations"]:
        if isinstance(call.get("arguments"), dict):
            call["arguments"] = {change(key): value for key, value in call["arguments"].items()}
    copy["toolInvocations"][1]["resultSummary"] = {change("key"): [change("value")]}
    return copy


def numbered() -> Callable[[str], str]:
    numbers = iter(range(100_000, 999_999))
    return lambda text: f"{text} ZEUGMA-{next(numbers)}"


def across(cut: int) -> Callable[[str], str]:
    # It begins before the cut and ends beyond it, also where a few words of ours stand before the text.
    return lambda text: f"{text} {'x' * (cut - len(text) - 60)} ZEUGMA~{'7' * 100}~ {'y' * 200}"


def of_case(case_id: str, trace: Json) -> Json:
    return {**trace, "caseId": case_id}


def rejecting(trace: Json) -> Json:
    """The trace with verdict REJECT and an answer that repeats what it must not."""
    copy = json.loads(json.dumps(trace))
    copy["selfEvaluation"]["verifier_evaluation"]["verdict"] = "REJECT"
    copy["finalAnswer"] = f"{copy['executorOutput']['answer']}\n{copy['executorOutput']['claims'][0]['text']}"
    return copy


BROKEN_LINES = [
    '{"traceId": "ZEUGMA-000101", "finalAnswer": 7',
    '{"finalAnswer": "ZEUGMA-000102" "and"}',
    '{"caseId": "ZEUGMA BEGIN\\nPAYLOAD \x01 !"}',
    '{"caseId": "ZEUGMA BEGIN\\nPAYLOAD',
    '[{"ZEUGMA~7',
    '{"trial": "ZEUGMA-000103"}',
    '{"trial": 4111111111111111.5, "x": "ZEUGMA-000104"}',
    '{"usage": ["ZEUGMA-000105"]}',
    '{"toolInvocations": "ZEUGMA-000106 is no JSON"}',
    '{"toolInvocations": [{"arguments": {"ZEUGMA-000107": {"k": 1e999}}}]}',
    '{"toolInvocations": [{"resultSummary": {"%s ZEUGMA-000108": 1e999}}]}' % ("k" * 150),
    '{"selfEvaluation": "{\\"verifier_evaluation\\": 7, \\"ZEUGMA-000109\\": 1}"}',
    '{"messages": "ZEUGMA-000110", "role": "ZEUGMA-000111"}',
    '{"ZEUGMA-000112": {"a": 1}, "traceId": ["ZEUGMA-000113"]}',
    "ZEUGMA-000114 is a line of a log",
    '{"traceId": "ZEUGMA-000115", "caseId": "of no case ZEUGMA-000116"}',
    '{"traceId": "ZEUGMA-000117", "caseId": "everything", "score": NaN, "x": {"ZEUGMA-000118": NaN, "y": "\\ud800"}}',
    '{"traceId": "ZEUGMA-000119", "caseId": "ZEUGMA BEGIN\\nPAYLOAD!", "toolInvocations": [null]}',
]


def write_inputs(folder: Path, *, redact: list[str], traces: list[Json]) -> tuple[Path, Path]:
    cases = folder / "cases.json"
    suite = {
        "schemaVersion": 1,
        "suite": "suite of ZEUGMA-000000",
        "verifierContract": {"verdicts": ["PASS", "REJECT", "ZEUGMA-000010", "ZEUGMA-000011"]},
        "protocolMarkers": ["ZEUGMA-000021", "verified"],
        "redact": redact,
        "cases": [CASE, REJECTED, ABSENT],
    }
    cases.write_text(json.dumps(suite))
    place = folder / "traces"
    (place / "in ZEUGMA-000201").mkdir(parents=True)
    # Compact, so that every trace is one line.
    lines = [json.dumps(trace) for trace in traces]
    (place / "in ZEUGMA-000201" / "all ZEUGMA-000202.jsonl").write_text("\n".join(lines) + "\n")
    (place / "broken ZEUGMA-000203.jsonl").write_text("\n".join(BROKEN_LINES) + "\n")
    fixture = everywhere({**TRACE, "caseId": "ZEUGMA-000204"}, numbered())
    (place / "named ZEUGMA-000019.json").write_text(json.dumps({**fixture, "caseId": "ZEUGMA-000205"}))
    (place / "rejected.json").write_text('{"finalAnswer": "ZEUGMA~7777')
    (place / "link ZEUGMA-000207.json").symlink_to(folder / "cases.json")
    return cases, place


def command(*arguments: str | Path) -> tuple[int, str]:
    """Runs the command line in this process: its exit code, and all that it printed."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    printed.seek(0)
    return int(str(ended.value.code)), printed.read()


def outputs(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything in a folder as text, Parquet unpacked."""
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".parquet":
            yield f"{file.name} metadata", json.dumps(pl.read_parquet_metadata(file))
            frame = pl.read_parquet(file)
            yield from (
                (f"{file.name} {name}", json.dumps(frame[name].to_list(), default=str)) for name in frame.columns
            )
        elif file.is_file():
            yield file.name, file.read_text(encoding="utf-8")


def found_in(outputs: dict[str, str]) -> dict[str, list[str]]:
    """Where something shows that is to be hidden, with what stands around it."""
    shown = {
        name: [text[max(0, match.start() - 60) : match.end() + 60] for match in HIDDEN.finditer(text)][:5]
        for name, text in outputs.items()
    }
    return {name: around for name, around in shown.items() if around}


def traces_for(change: Callable[[str], str]) -> list[Json]:
    full = everywhere(TRACE, change)
    return [full, of_case("rejected", rejecting(full)), full]


WAYS: dict[str, list[Json]] = {
    "as they are": traces_for(numbered()),
    "alone": traces_for(lambda _: "ZEUGMA-123456"),
    "over several lines": traces_for(lambda text: f"{text} {LINES}"),
    "in JSON inside strings": [
        of_case(case, {**TRACE, "traceId": LINES, "finalAnswer": json.dumps({"deep": json.dumps([LINES])})})
        for case in ("everything", "rejected")
    ],
    "nested too deep to look into": [of_case("everything", {**TRACE, "finalAnswer": "[" * 9000 + LINES})],
    "across the place of a cut": [
        trace for cut in (24, 40, 80, 120, 160, 200, 400, 500, 600, 3200, 4096) for trace in traces_for(across(cut))
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_hidden_stands_in_any_output(tmp_path: Path, way: str) -> None:
    cases, traces = write_inputs(tmp_path, redact=PATTERNS, traces=WAYS[way])
    out, text_free, diff = tmp_path / "out", tmp_path / "text-free", tmp_path / "diff"
    formats = [argument for writer in all_writers() for argument in ("--format", writer.name)]
    arguments: list[str | Path] = ["run", "--cases", cases, "--traces", traces, *formats]
    printed = {
        "first": command(*arguments, "--out", text_free, "--no-text"),
        "second": command(*arguments, "--out", out, "--baseline", text_free, "--strict"),
        "report": command("report", out),
        "diff": command("diff", text_free, out),
        "diff to files": command("diff", text_free, out, "--out", diff),
        "validate": command("validate", "--cases", cases, "--traces", traces),
    }
    codes = {name: code for name, (code, _) in printed.items()}
    assert codes == {"first": 1, "second": 2, "report": 0, "diff": 0, "diff to files": 0, "validate": 2}
    texts = {name: text for name, (_, text) in printed.items()}
    written = {f"{folder.name}/{name}": text for folder in (out, text_free, diff) for name, text in outputs(folder)}
    assert {"out/report.json", "out/report.md", "out/diff.md", "out/diff.json", "out/run.json"} <= set(written)
    assert found_in({**texts, **written}) == {}
    assert all(MARK in written[f"out/{name}"] for name in ("report.json", "report.md", "snapshot.parquet calls"))


PLACES = {".".join(map(str, place)): place for place in texts_of(TRACE) if place != ("caseId",)}


def test_every_text_of_a_trace_alone_is_hidden(tmp_path: Path) -> None:
    traces = [
        {**changed(TRACE, place, lambda text: f"{text} ZEUGMA-000001"), "trial": number}
        for number, place in enumerate(PLACES.values())
    ]
    cases, folder = write_inputs(tmp_path, redact=PATTERNS, traces=[*traces, *map(rejecting, traces)])
    pipeline.evaluate(cases, folder, out=tmp_path / "out")
    assert found_in(dict(outputs(tmp_path / "out"))) == {}


def results(run: pipeline.Run) -> Json:
    """What an evaluation came to, without any words of the traces."""
    report = msgspec.to_builtins(run.report)
    summary = {
        key: sorted(value.values()) if isinstance(value, dict) else value for key, value in report["summary"].items()
    }
    cases = [
        {
            **{key: case[key] for key in ("caseId", "status", "knownFailure", "trials", "passedTrials")},
            "checks": [failed["check"] for failed in case["failedChecks"]],
            "evidence": case["evidenceCoverage"]["ratio"],
            "keywords": case["keywordCoverage"]["ratio"],
        }
        for case in report["cases"]
    ]
    rows = (
        run.snapshot.rows.select("case_id", "trial", "status", "content_digest", "passed_checks").collect().to_dicts()
    )
    return summary, cases, rows, report["provenance"], [one["line"] for one in report["inputErrors"]]


@pytest.mark.parametrize("way", ["as they are", "alone", "over several lines", "across the place of a cut"])
def test_redaction_changes_no_result(tmp_path: Path, way: str) -> None:
    # Ids that are told apart by what is hidden alone: they must not become repeated exports of one trace.
    alike = [{**TRACE, "traceId": f"ZEUGMA-{number:06}", "finalAnswer": str(number)} for number in (3, 1, 2)]
    found = []
    for name, patterns in (("open", []), ("hidden", PATTERNS)):
        (tmp_path / name).mkdir()
        cases, folder = write_inputs(tmp_path / name, redact=patterns, traces=[*WAYS[way], *alike])
        found.append(results(pipeline.evaluate(cases, folder)))
    assert found[0] == found[1]


def test_a_repeated_export_is_still_recognised(tmp_path: Path) -> None:
    trace = {**TRACE, "traceId": "ZEUGMA-000001"}
    cases, folder = write_inputs(tmp_path, redact=PATTERNS, traces=[trace, trace, {**trace, "finalAnswer": "other"}])
    report = pipeline.evaluate(cases, folder).report
    kinds = [one.kind for one in report.input_warnings if one.path == "$.traceId"]
    assert (kinds, found_in({"warnings": repr(report.input_warnings)})) == (["repeated-trace", "trace-id-reused"], {})


def test_a_sentence_that_is_part_of_something_hidden_is_not_quoted(tmp_path: Path) -> None:
    key = (
        "ZEUGMA BEGIN\nPAYLOAD of a key, long enough to be a sentence.\n!\nThis sentence was leaked, and may be shown."
    )
    trace: Json = {"caseId": "rejected", "executorOutput": key, "finalAnswer": key}
    trace["selfEvaluation"] = {"verifier_evaluation": {"verdict": "REJECT"}}
    cases, folder = write_inputs(tmp_path, redact=PATTERNS, traces=[trace])
    run = pipeline.evaluate(cases, folder, case_globs=["rejected"])
    rows = run.snapshot.rows.filter(pl.col("status") == "failed").collect().to_dicts()
    (message,) = [one["message"] for one in rows[0]["failed_checks"] if one["check"] == "degraded-output"]
    assert message.endswith(
        "it repeats the unverified answer: [redacted] / This sentence was leaked, and may be shown."
    )


# The pieces.


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("a ZEUGMA-123456 b", "a [redacted] b", id="text"),
        pytest.param('{"a": "ZEUGMA-123456"}', '{"a":"[redacted]"}', id="value"),
        pytest.param('{"ZEUGMA-123456": 1}', '{"[redacted]":1}', id="key"),
        pytest.param('{"card": 4111111111111111}', '{"card":"[redacted]"}', id="number"),
        pytest.param('["\\u005aEUGMA-123456", true, null, 1.5]', '["[redacted]",true,null,1.5]', id="escape"),
        pytest.param('"ZEUGMA BEGIN\\n!"', '"[redacted]"', id="JSON text"),
        pytest.param('{"a": "[\\"ZEUGMA BEGIN\\\\n!\\"]"}', '{"a":"[\\"[redacted]\\"]"}', id="JSON in JSON"),
        pytest.param('{"b": 1,  "a": [2.0]}', '{"b": 1,  "a": [2.0]}', id="without a match nothing is rewritten"),
        pytest.param("{not json ZEUGMA-123456", "{not json [redacted]", id="no JSON"),
        pytest.param("", "", id="empty"),
        pytest.param("[" * 100_000, '"[redacted]"', id="nested too deep to look into"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert redact_texts([text], PATTERNS) == [expected]


def test_values_of_our_own_are_kept_by_their_path() -> None:
    document = '{"id":"A1","in":{"id":"A1"},"list":[{"mode":"A1","x":"A1"}]}'
    expected = '{"id":"A1","in":{"id":"[redacted]"},"list":[{"mode":"A1","x":"[redacted]"}]}'
    assert redact_json(document, ["A1"], keep=[("id",), ("list", "*", "mode")]) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text('ZEUGMA-1234567890\n"\\{[ ]}é', max_size=30)
    | st.sampled_from(["ZEUGMA-000001", LINES]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ZK-1", max_size=8), inner, max_size=3),
)  # fmt: skip


@settings(deadline=None)
@given(VALUES)
def test_a_redacted_document_is_a_document_without_a_match(value: Json) -> None:
    text = redact_json(json.dumps(value), PATTERNS)
    leaves = [leaf for leaf in walk(json.loads(text)) if isinstance(leaf, str)]
    assert [leaf for leaf in leaves for pattern in PATTERNS if re.search(pattern, leaf)] == []


@settings(deadline=None)
@given(VALUES, st.integers(0, 2))
def test_no_match_survives_however_it_is_written(value: Json, levels: int) -> None:
    text = json.dumps(value)
    for _ in range(levels):
        text = json.dumps(text)
    (hidden,) = redact_texts([text], PATTERNS)
    assert not any(re.search(pattern, hidden) for pattern in PATTERNS)
    assert redact_texts([hidden], PATTERNS) == [hidden]


def walk(value: Json) -> Iterator[Json]:
    yield value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)
