"""A mapping on top of a known format: outside judgements, which must never land on the wrong trace."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.errors import Fault
from pipeline.mapping_file import format_of, load_mapping
from pipeline.sources.base import ReadTrace, SelfEvaluation, VerifierEvaluation
from pipeline.sources.files import find_inputs
from pipeline.sources.read import read_batches

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "fixtures/formats"
Mapped = Callable[..., tuple[list[ReadTrace], list[Fault]]]


def verdict(read: ReadTrace) -> str | None:
    own = read.trace.selfEvaluation
    inner = own.verifier_evaluation if isinstance(own, SelfEvaluation) else None
    return inner.verdict if isinstance(inner, VerifierEvaluation) else None


def read_path(path: Path, tmp_path: Path, **keys: Any) -> tuple[list[ReadTrace], list[Fault]]:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(yaml.safe_dump({"schemaVersion": 1, "name": "ours", **keys}), "utf-8")
    batches = list(read_batches(find_inputs([str(path)]), format_of(load_mapping(str(mapping)))))
    return [one for batch in batches for one in batch.traces], [
        one.fault for batch in batches for one in batch.unreadable
    ]


CHAT = {"id": "c1", "messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "The pool."}]}


def test_what_the_format_reads_stays_and_the_rest_is_added(mapped: Mapped) -> None:
    fields = {"verdict": "grade", "finalAnswer": "other", "durationMs": "ms"}
    document = {**CHAT, "grade": "good", "other": "Not this.", "ms": 5}
    [read], faults = mapped(fields, document, base="openai-chat", verdicts={"good": "PASS"})
    assert faults == []
    assert (read.trace.traceId, read.trace.finalAnswer, read.trace.durationMs) == ("c1", "The pool.", 5.0)
    assert verdict(read) == "PASS"
    assert [(one.kind, one.path) for one in read.warned] == [("mapping-not-needed", "$.finalAnswer")]


def test_without_a_judgement_the_trace_is_what_it_is(mapped: Mapped) -> None:
    [read], faults = mapped({"verdict": "grade"}, CHAT, base="openai-chat")
    assert (read.trace.finalAnswer, verdict(read), read.warned, faults) == ("The pool.", None, (), [])


def test_a_judgement_of_a_wrong_type_costs_its_trace(mapped: Mapped) -> None:
    traces, [fault] = mapped({"verdict": "grade"}, {**CHAT, "grade": 1}, {**CHAT, "grade": "PASS"}, base="openai-chat")
    assert [verdict(read) for read in traces] == ["PASS"]
    assert (fault.line, fault.path, fault.found) == (1, "$.grade", "number 1")


def test_a_document_that_the_format_cannot_read_is_told_once(mapped: Mapped) -> None:
    traces, [fault] = mapped({"verdict": "grade"}, {"messages": 7, "grade": 1}, base="openai-chat")
    assert (traces, fault.path) == ([], "$.messages")


def test_native_traces_keep_their_own_evaluation(mapped: Mapped) -> None:
    own = {"finalAnswer": "x", "selfEvaluation": {"verifierEvaluation": {"composerOutput": "parsed", "verdict": " "}}}
    fields = {"verdict": "v", "gatekeeperStatus": "g", "composerMode": "c"}
    [read], _ = mapped(fields, {**own, "v": "PASS", "g": "pass", "c": "parsed"}, base="native")
    assert verdict(read) == "PASS"
    assert read.warned == ()
    [read], _ = mapped(fields, {**own, "v": "PASS", "g": "pass", "c": "fallback"}, base="native")
    assert [one.path for one in read.warned] == ["$.composerMode"]


INSPECT = {
    "base": "inspect",
    "records": "samples",
    "fields": {"traceId": "uuid", "verdict": "scores.match.value"},
    "verdicts": {"C": "PASS", "I": "REJECT"},
}


def test_the_scores_of_inspect(tmp_path: Path) -> None:
    log = json.loads((SAMPLES / "inspect/a-log.json").read_text("utf-8"))
    log["samples"][1]["scores"]["match"]["value"] = "I"
    # The order of the records is not what joins them.
    (tmp_path / "log.json").write_text(json.dumps({**log, "samples": log["samples"][::-1]}), "utf-8")
    traces, faults = read_path(tmp_path / "log.json", tmp_path, **INSPECT)
    assert faults == []
    assert {read.trace.traceId: verdict(read) for read in traces} == {"uuid-1": "PASS", "uuid-2": "REJECT"}


def test_an_archive_is_no_json_to_look_into(tmp_path: Path) -> None:
    traces, faults = read_path(SAMPLES / "inspect/b-archive.eval", tmp_path, **INSPECT)
    assert traces == []
    assert {fault.message for fault in faults} == {
        "a mapping looks into JSON only, and this file is none: convert it to JSON first"
    }


def test_one_bad_score_costs_its_sample_alone(tmp_path: Path) -> None:
    log = json.loads((SAMPLES / "inspect/a-log.json").read_text("utf-8"))
    log["samples"][1]["scores"]["match"]["value"] = "?"
    (tmp_path / "log.json").write_text(json.dumps(log), "utf-8")
    traces, [fault] = read_path(tmp_path / "log.json", tmp_path, **INSPECT)
    assert [read.trace.traceId for read in traces] == ["uuid-1"]
    assert (fault.path, fault.expected, fault.found) == (
        "$.samples[1].scores.match.value",
        "one of C, I",
        'text "?"',
    )


def test_several_traces_and_no_id_is_refused(tmp_path: Path) -> None:
    keys = {**INSPECT, "fields": {"verdict": "scores.match.value"}}
    traces, faults = read_path(SAMPLES / "inspect/a-log.json", tmp_path, **keys)
    assert traces == []
    assert {(fault.expected, fault.found) for fault in faults} == {("one trace, or a mapping with traceId", "2 traces")}


def test_an_id_that_no_trace_has_is_told(tmp_path: Path) -> None:
    keys = {**INSPECT, "fields": {"traceId": "to_string(id)", "verdict": "scores.match.value"}}
    traces, faults = read_path(SAMPLES / "inspect/a-log.json", tmp_path, **keys)
    assert faults == []
    assert [verdict(read) for read in traces] == [None, None]
    assert [one.kind for read in traces for one in read.warned if one.kind.startswith("mapping")] == [
        "mapping-unmatched"
    ]


def test_an_id_that_cannot_be_read_costs_every_trace_that_may_be_meant(tmp_path: Path) -> None:
    keys = {**INSPECT, "fields": {"traceId": "scores", "verdict": "scores.match.value"}}
    traces, faults = read_path(SAMPLES / "inspect/a-log.json", tmp_path, **keys)
    assert (traces, len(faults)) == ([], 2)


LANGSMITH = {"base": "langsmith", "fields": {"traceId": "trace_id", "verdict": "feedback_stats.correctness.verdict"}}


def langsmith_lines(*verdicts: str | None) -> str:
    lines = (SAMPLES / "langsmith/a-runs.jsonl").read_text("utf-8").splitlines()
    runs = [json.loads(line) for line in lines]
    for run, given in zip(runs, verdicts, strict=False):
        if given is not None:
            run["feedback_stats"] = {"correctness": {"verdict": given}}
    return "\n".join(json.dumps(run) for run in runs)


def test_the_feedback_of_langsmith_stands_on_one_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(langsmith_lines(None, "PASS"), "utf-8")
    traces, faults = read_path(tmp_path / "runs.jsonl", tmp_path, **LANGSMITH)
    assert ([verdict(read) for read in traces], faults) == (["PASS"], [])


def test_two_lines_of_one_trace_that_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(langsmith_lines("PASS", "REJECT"), "utf-8")
    traces, [fault] = read_path(tmp_path / "runs.jsonl", tmp_path, **LANGSMITH)
    assert traces == []
    assert (fault.expected, fault.found) == ("one value", 'text "PASS", and text "REJECT"')


def test_a_real_score_of_langfuse(tmp_path: Path, shared_traces: Path) -> None:
    path = shared_traces / "langfuse/langfuse__langfuse__claude-agent-2025-12-22.trace.json"
    if not path.is_file():
        pytest.skip(f"{path.name} is not among the real traces on this machine")
    fields = {
        "traceId": "not_null(trace.id, id)",
        "verdict": "not_null(trace.scores, scores)[?name == 'correctness'] | [0].value",
    }
    table = {"1": "PASS", "0": "REJECT"}
    [read], faults = read_path(path, tmp_path, base="langfuse", fields=fields, verdicts=table)
    assert (verdict(read), faults) == ("REJECT", [])
