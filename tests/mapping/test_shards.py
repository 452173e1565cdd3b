"""A mapping goes wherever shards are judged, and how the input is cut changes nothing."""

import json
from pathlib import Path

import msgspec
import pytest

from pipeline.cases.load import load_suite
from pipeline.engines.base import decode_job, encode_job
from pipeline.engines.local import LocalEngine
from pipeline.judge import all_checks
from pipeline.judging import Job, Judging
from pipeline.mapping_file import load_mapping
from pipeline.run import Options, run
from pipeline.sources.files import find_inputs
from pipeline.sources.shards import cut
from tests.engines.collected import results

MAPPING = """\
schemaVersion: 1
name: ours
records: "[@][?kind == 'run']"
fields: {traceId: id, caseId: case, finalAnswer: reply.text, toolInvocations: {items: steps, toolName: "@"}}
"""
RUNS = 60


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cases = {
        "schemaVersion": 1,
        "suite": "own",
        "cases": [
            {
                "id": f"case-{number}",
                "question": "Why?",
                "rootCauseKeywords": ["pool"],
                "requiredEvidenceTools": ["search"],
                "requireVerdict": False,
            }
            for number in range(4)
        ],
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "m.yaml").write_text(MAPPING)
    lines = []
    for number in range(RUNS):
        reply = {"text": number if number % 10 == 9 else f"pool {number}"}
        run_ = {"kind": "run", "id": str(number), "case": f"case-{number % 4}", "reply": reply, "steps": ["search"]}
        # Printed over several lines now and then, so that a cut may fall within one.
        lines += [json.dumps({"kind": "start"}), json.dumps(run_, indent=1 if number % 3 else None)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    return tmp_path


def judging(project: Path) -> Judging:
    suite = load_suite([str(project / "cases.json")], known_checks=all_checks().names)
    mapping = msgspec.json.encode(load_mapping(str(project / "m.yaml"))).decode()
    return Judging(Job(suite=suite, selected=tuple(case.id for case in suite.cases), mapping=mapping))


def test_cut_or_whole_here_or_elsewhere(project: Path) -> None:
    judge = judging(project)
    assert decode_job(encode_job(judge.job)) == judge.job
    files = find_inputs([str(project / "log.jsonl")]).files
    assert judge.mapped is not None
    whole = cut(files, judge.mapped)
    pieces = cut(files, judge.mapped, shard_bytes=(project / "log.jsonl").stat().st_size // 5)
    assert (len(whole), len(pieces)) == (1, 5)
    rows, noted = results(judge, whole, None, project / "whole")
    # Ten in a hundred cannot be read, and are no trace of a case.
    assert (rows.height, msgspec.json.decode(noted)["error_count"]) == (RUNS * 9 // 10, RUNS // 10)
    for name, engine in (("pieces", None), ("processes", LocalEngine(2))):
        their_rows, their_noted = results(judge, pieces, engine, project / name)
        assert their_rows.equals(rows)
        assert their_noted == noted


def test_a_run_with_a_mapping_from_first_to_last(project: Path) -> None:
    options = Options(
        cases=(str(project / "cases.json"),), traces=(str(project / "log.jsonl"),), mapping=str(project / "m.yaml")
    )
    report = run(options).report
    assert (report.summary.traces, report.summary.unreadable_records) == (54, 6)
    assert {entry.status for entry in report.cases} == {"passed"}
    assert {error.path for error in report.input_errors} == {"$"}
