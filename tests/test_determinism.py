"""The same input gives the same bytes: on any machine, in any order, however it is cut and wherever it is judged."""

import hashlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.engines.choose import Execution
from pipeline.report.base import all_writers
from pipeline.run import Options, run
from pipeline.sources.read import read_batches
from pipeline.sources.shards import cut

ROOT = Path(__file__).parents[1]
WRITERS = list(all_writers())
FILES = ("snapshot.parquet", *(writer.file for writer in WRITERS))

Digests = dict[str, str]


def digests(out: Path) -> Digests:
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in FILES}


def trace(number: int, case_id: str) -> dict[str, Any]:
    verdict = ("PASS", "REJECT", "REVISE", None)[number % 4]
    verifier = {
        "verdict": verdict,
        "gatekeeper_result": {"status": ("pass", "fail")[number % 2]},
        "claim_checks": [{"claim_id": f"c{one}", "verification": "supported"} for one in range(number % 3)],
    }
    return {
        "traceId": f"t-{number % 17}",
        "caseId": case_id,
        "trial": number % 3,
        "finalAnswer": f"连接池 pool {number} " * 5,
        # Floats whose sum depends on the order in which they are added.
        "durationMs": 0.1 * 3**number,
        "toolInvocations": [{"toolName": name, "arguments": {"n": number}} for name in ("a", "b")[: number % 3]],
        "selfEvaluation": {"verifier_evaluation": verifier},
    }


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cases, and traces of every kind: readable, broken, odd, of no case, twice the same."""
    folder = tmp_path_factory.mktemp("inputs")
    case = {
        "question": "Why?",
        "rootCauseKeywords": ["pool", "absent"],
        "minKeywordCoverage": 0.5,
        "requiredEvidenceTools": ["a", "b"],
        "allowedVerdicts": ["PASS"],
        "forbiddenTools": ["c"],
    }
    cases = [{**case, "id": f"case-{number}"} for number in range(6)]
    for name, listed in (("one", cases[:3]), ("two", cases[3:])):
        document = {"schemaVersion": 1, "suite": "s", "redact": ["t-1\\b"], "cases": listed}
        (folder / "cases").mkdir(exist_ok=True)
        (folder / "cases" / f"{name}.json").write_text(json.dumps(document))
    for part in ("left", "right"):
        (folder / part / "deep").mkdir(parents=True)
    for number in range(5):
        (folder / "left" / f"case-{number}.json").write_text(json.dumps(trace(number, f"case-{number}")))
    (folder / "right" / "case-5.json").write_text('{"finalAnswer": 7}')
    lines = [json.dumps(trace(number, f"case-{number % 5}"), ensure_ascii=False) for number in range(60)]
    lines += ["{", "NaN", '{"caseId": "zz"}', '{"caseId": "case-1", "score": NaN}', "", lines[3], lines[4]]
    # Documents on several lines, for a cut to fall into.
    lines += json.dumps(trace(99, "case-2"), indent=1).splitlines() * 4
    (folder / "right" / "deep" / "lines.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def options(inputs: Path, *parts: str) -> Options:
    return Options(cases=(str(inputs / "cases"),), traces=tuple(str(inputs / part) for part in parts))


BOTH = ("left", "right")


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Digests:
    out = tmp_path_factory.mktemp("expected")
    summary = run(options(inputs, *BOTH), out=out, writers=WRITERS).report.summary
    assert (summary.total_cases, summary.errors, summary.unmatched_traces) == (6, 1, 1)
    assert min(summary.traces, summary.failed, summary.unreadable_records, summary.input_warnings) > 0
    return digests(out)


def written(out: Path, given: Options, **how: Any) -> Digests:
    run(given, out=out, writers=WRITERS, **how)
    return digests(out)


def test_the_order_of_the_paths_does_not_matter(inputs: Path, expected: Digests, tmp_path: Path) -> None:
    assert written(tmp_path / "a", options(inputs, "right", "left")) == expected
    given = Options(
        cases=(str(inputs / "cases/two.json"), str(inputs / "cases/one.json")),
        traces=(str(inputs / "right"), *(str(inputs / f"left/case-{number}.json") for number in (3, 1, 4, 0, 2))),
    )
    assert written(tmp_path / "b", given) == expected


def test_the_order_on_the_disk_does_not_matter(inputs: Path, expected: Digests, tmp_path: Path) -> None:
    files = sorted(path for part in BOTH for path in (inputs / part).rglob("*") if path.is_file())
    for path in reversed(files):
        copy = tmp_path / "traces" / path.relative_to(inputs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    given = Options(cases=(str(inputs / "cases"),), traces=tuple(str(tmp_path / "traces" / part) for part in BOTH))
    assert written(tmp_path / "out", given) == expected


@pytest.mark.parametrize("batch_bytes", [1, 5_000, 1 << 30])
def test_the_size_of_a_batch_does_not_matter(
    batch_bytes: int, inputs: Path, expected: Digests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.flatten.batches.read_batches", partial(read_batches, batch_bytes=batch_bytes))
    assert written(tmp_path, options(inputs, *BOTH)) == expected


@pytest.mark.parametrize("shard_bytes", [200, 3_000])
def test_the_size_of_a_shard_does_not_matter(
    shard_bytes: int, inputs: Path, expected: Digests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.cut", partial(cut, shard_bytes=shard_bytes))
    assert written(tmp_path, options(inputs, *BOTH)) == expected


def test_the_number_of_processes_does_not_matter(
    inputs: Path, expected: Digests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.cut", partial(cut, shard_bytes=3_000))
    assert written(tmp_path, options(inputs, *BOTH), execution=Execution(jobs=2)) == expected


ENVIRONMENTS = {
    "one thread": {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
    "eight threads": {"POLARS_MAX_THREADS": "8", "PYTHONHASHSEED": "2", "TZ": "America/Lima", "LC_ALL": "tr_TR.UTF-8"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_machine_does_not_matter(name: str, inputs: Path, expected: Digests, tmp_path: Path) -> None:
    traces = [argument for part in BOTH for argument in ("--traces", str(inputs / part))]
    formats = [argument for writer in WRITERS for argument in ("--format", writer.name)]
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from pipeline.cli import main; main()"),
            *("run", "--cases", str(inputs / "cases"), *traces, *formats, "--out", str(tmp_path / "out")),
        ],
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENTS[name], "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
    )
    assert (done.returncode, digests(tmp_path / "out")) == (1, expected)


def test_another_input_gives_other_bytes(inputs: Path, expected: Digests, tmp_path: Path) -> None:
    found = written(tmp_path, options(inputs, "left"))
    assert [name for name in FILES if found[name] == expected[name]] == []
