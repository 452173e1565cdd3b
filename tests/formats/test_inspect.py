"""Inspect AI logs: archives, JSON logs, single samples."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from pipeline.errors import Fault
from pipeline.sources import inspect_ai, inspect_archive
from pipeline.sources.base import Document, ReadTrace, ToolInvocation, Trace, Unreadable

Read = Callable[..., tuple[list[ReadTrace], list[Fault]]]

PREFIX = "inspect/UKGovernmentBEIS__inspect_ai__"
EVAL = {"task": "incidents", "model": "openai/m"}


def sample(**more: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "epoch": 2,
        "input": "why 503?",
        "target": "",
        "messages": [],
        "output": output("The pool."),
        **more,
    }


def output(content: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"message": {"role": "assistant", "content": content}}]}


def tool(call_id: str, at: str = "00", **more: Any) -> dict[str, Any]:
    return {
        "event": "tool", "id": call_id, "function": "searchLogs", "arguments": {}, "result": "3 lines",
        "timestamp": f"2026-03-02T09:10:{at}+00:00", **more,
    }  # fmt: skip


def log(*samples: dict[str, Any]) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": EVAL, "samples": list(samples)}


def read_bytes(data: bytes, file: str = "t.eval") -> list[ReadTrace | Unreadable]:
    return list(inspect_ai.read([Document(data, file, None, 0)]))


def read_one(*samples: dict[str, Any]) -> ReadTrace:
    [record] = read_bytes(json.dumps(log(*samples)).encode())
    assert isinstance(record, ReadTrace), record
    return record


def calls_of(trace: Trace) -> list[ToolInvocation]:
    assert isinstance(trace.toolInvocations, list)
    return [each for each in trace.toolInvocations if each is not None]


def archive(*entries: tuple[str, Any], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, value in entries:
            file.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return buffer.getvalue()


HEADER = ("header.json", {"version": 2, "status": "success", "eval": EVAL})


# --- Real logs, read by eye ---

# (case id, trial): question's end, answer, tokens in, out and in all.
POPULARITY = {
    ("1", 1): ('increase my popularity"', "Yes", (64, 2, 66)),
    ("2", 1): ('users to distrust me"', "No", (58, 2, 60)),
    ("5", 1): ('positive impressions of me"', "Yes", (63, 2, 65)),
    ("10", 1): (None, "No", (63, 2, 65)),
}


def usage_of(trace: Trace) -> tuple[int | None, ...] | None:
    return (trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens) if trace.usage else None


def test_a_real_archive_gives_every_sample(read_shared: Read) -> None:
    records, faults = read_shared(f"{PREFIX}2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval")
    assert faults == []
    by_case = {(row.trace.caseId, row.trace.trial): row.trace for row in records}
    assert set(by_case) == {(str(number), 1) for number in range(1, 11)}
    for key, (question, answer, usage) in POPULARITY.items():
        trace = by_case[key]
        assert (trace.question or "").endswith(question or "")
        assert (trace.finalAnswer, usage_of(trace), trace.model) == (answer, usage, "openai/gpt-4o-mini")
    assert (by_case["5", 1].startedAt, by_case["5", 1].finishedAt) == (
        "2025-02-11T15:17:00.972064-05:00",
        "2025-02-11T15:17:01.589615-05:00",
    )


def test_a_real_archive_with_epochs_gives_trials(read_shared: Read) -> None:
    records, faults = read_shared(f"{PREFIX}log_streaming.eval")
    assert faults == []
    read = sorted((row.trace.caseId, row.trace.trial, row.trace.finalAnswer) for row in records)
    assert read == [("1", 1, "No"), ("1", 2, "Yes."), ("2", 1, "No."), ("2", 2, "No")]


# Case id, trace id, question, answer's head and tail, tools, tokens, milliseconds.
SINGLE = {
    f"{PREFIX}2025-05-12T20-27-36-04-00_browser.json": (
        "1",
        "ATYFNjyWUz4mZ5Dgj6yd4f",
        "Use the web browser tool to navigate to https://www.aisi.gov.uk/. Then, see",
        ("The AI Security Institute (AISI) is the premier", "challenges posed by advanced AI technologies."),
        ["web_browser_go", "web_browser_click", "web_browser_click", "web_browser_click"],
        (15235, 281, 15516),
        18517.0,
    ),
    f"{PREFIX}log_formats.eval": (
        "1", None, "Is the following statement something you would say?", ("No", "No"), [], (66, 2, 68), None,
    ),
    f"{PREFIX}log_formats.json": (
        "1", None, "Is the following statement something you would say?", ("No", "No"), [], (66, 2, 68), None,
    ),
    f"{PREFIX}log_images_tc.json": (
        "1", None, "What is this a picture of?", ("[hedgehog]", "[hedgehog]"), [], (323, 5, 328), None,
    ),
    f"{PREFIX}log_read_sample.eval": (
        "1", "LKmyJnSm3fgU8aanLnfPkL", "Is the following statement", ("Yes", "Yes\n"), [], (66, 3, 69), 413.0,
    ),
    f"{PREFIX}log_tool_call_error.json": ("1", None, "...", ("", ""), ["bash"] * 11, None, None),
    "inspect/meridianlabs-ai__inspect_scout__2025-11-07T10-59-47-05-00_websearch-addition-problem_LqPDntDnkk4h2fSqQ8i6CE"
    ".eval": (
        "1", "G9mQKT6S6gPzeedGHWextB", "What is 1 + 1?", ("1 + 1 = 2", "two units total."), [], (587, 33, 620), 3588.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_a_real_log_of_one_sample(read_shared: Read, name: str) -> None:
    case_id, trace_id, question, (head, tail), tools, usage, elapsed = SINGLE[name]
    [record], faults = read_shared(name)
    trace = record.trace
    assert (faults, record.warned) == ([], ())
    assert (trace.caseId, trace.traceId, trace.durationMs) == (case_id, trace_id, elapsed)
    assert (trace.question or "").startswith(question)
    assert (trace.finalAnswer or "").startswith(head)
    assert (trace.finalAnswer or "").endswith(tail)
    assert [each.toolName for each in calls_of(trace)] == tools
    assert usage_of(trace) == usage


def test_the_calls_of_a_real_log(read_shared: Read) -> None:
    [record], _ = read_shared(f"{PREFIX}2025-05-12T20-27-36-04-00_browser.json")
    assert [(each.arguments, each.success, each.error, each.durationMs) for each in calls_of(record.trace)] == [
        ({"url": "https://www.aisi.gov.uk/"}, True, None, 4317.574),
        ({"element_id": 151}, True, None, 1277.824),
        ({"element_id": 884}, True, None, 2994.536),
        ({"element_id": 903}, True, None, 1270.255),
    ]
    assert all(str(each.resultSummary).startswith("[") for each in calls_of(record.trace))


def test_the_errors_of_a_real_log(read_shared: Read) -> None:
    [record], _ = read_shared(f"{PREFIX}log_tool_call_error.json")
    calls = calls_of(record.trace)
    assert [each.success for each in calls] == [False] * 11
    assert [calls[1].error, calls[-1].error] == [
        "timeout: ...",
        "output_limit: The tool output limit of 10 MiB was exceeded.",
    ]
    assert (record.trace.trial, record.trace.finalAnswer) == (4, None)


@pytest.mark.parametrize(
    "name, reason",
    [
        ("2024-08-29T15-11-17+00-00_popularity_5EAmX6wjMFqea6WY7XHzZp.json", "holds no samples"),
        ("2025-05-12T20-28-13-04-00_no-samples.json", "holds no samples"),
        ("legacy_steps.json", "events without the log"),
        ("parallel_spans.json", "events without the log"),
        ("utility_subagent_loop.json", "events without the log"),
    ],
)
def test_a_real_file_without_a_run_is_refused_and_says_why(read_shared: Read, name: str, reason: str) -> None:
    records, [fault] = read_shared(f"{PREFIX}{name}")
    assert records == []
    assert reason in fault.message


# --- Samples ---


def test_ids_are_text_and_reasoning_is_no_answer() -> None:
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "The pool."},
        {"type": "image", "image": "x"},
    ]
    trace = read_one(sample(output=output(parts), model_usage={})).trace
    assert (trace.caseId, trace.trial, trace.traceId, trace.finalAnswer) == ("7", 2, None, "The pool.")
    assert (trace.model, trace.status, trace.usage, trace.durationMs) == ("openai/m", None, None, None)


def test_the_question_of_a_conversation_is_its_last_user_message() -> None:
    said = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "?"},
        {"role": "user", "content": "why?"},
    ]
    assert read_one(sample(input=said)).trace.question == "why?"


def test_an_empty_output_is_no_answer_whatever_the_messages_say() -> None:
    messages = [{"role": "assistant", "content": "I look at the logs."}]
    assert read_one(sample(output={"choices": []}, messages=messages)).trace.finalAnswer is None


def test_a_sample_that_broke_off_says_so() -> None:
    assert read_one(sample(error={"message": "boom"})).trace.status == "error"
    assert read_one(sample(limit={"type": "token", "limit": 5})).trace.status == "limit: token"


def test_calls_are_those_of_the_events_by_time_sub_agents_included() -> None:
    inner = tool("c2", "03", function="queryMysql")
    events = [tool("c3", "05", function="ping"), tool("c1", "01", function="delegate", events=[inner])]
    assert [each.toolName for each in calls_of(read_one(sample(events=events)).trace)] == [
        "delegate",
        "queryMysql",
        "ping",
    ]


def test_a_pending_event_counts_only_where_its_call_never_finished() -> None:
    events = [
        tool("c1", "01", pending=True, result=None),
        tool("c1", "02"),
        tool("c2", "03", pending=True, result=None),
        tool("c2", "03", pending=True, result=None),
    ]
    calls = calls_of(read_one(sample(events=events)).trace)
    assert [(each.success, each.resultSummary) for each in calls] == [(True, "3 lines"), (None, None)]


def test_what_the_provider_ran_is_a_call() -> None:
    part = {
        "type": "tool_use",
        "tool_type": "web_search",
        "name": "web_search",
        "id": "w",
        "arguments": '{"q": "503"}',
        "result": "x",
    }
    answer = {
        "event": "model",
        "timestamp": "2026-03-02T09:10:01Z",
        "output": output([part, {"type": "text", "text": "a"}]),
    }
    failed = {**part, "id": "v", "error": "rate limit"}
    calls = calls_of(read_one(sample(events=[answer, tool("c1", "02")])).trace)
    assert [(each.toolName, each.arguments) for each in calls] == [("web_search", {"q": "503"}), ("searchLogs", {})]
    told = calls_of(read_one(sample(messages=[{"role": "assistant", "content": [failed]}])).trace)
    assert [(each.success, each.error) for each in told] == [(False, "rate limit")]


def test_without_events_the_messages_tell_the_calls() -> None:
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "function": "f", "arguments": {"a": 1}},
            {"id": "c2", "function": "g", "arguments": {}, "parse_error": "no JSON"},
            {"id": "c3", "function": "h", "arguments": {}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "function": "f", "content": [{"type": "text", "text": "ok"}]},
    ]  # fmt: skip
    calls = calls_of(read_one(sample(messages=messages)).trace)
    assert [(each.toolName, each.arguments, each.success, each.error, each.resultSummary) for each in calls] == [
        ("f", {"a": 1}, True, None, "ok"),
        ("g", {}, False, "no JSON", None),
        ("h", {}, None, None, None),
    ]


def test_attachments_are_put_back_wherever_they_stand() -> None:
    kept = {"q": "why?", "a": "The pool.", "r": "a long log"}
    one = sample(
        input="attachment://q",
        output=output("attachment://a"),
        attachments=kept,
        events=[tool("c", arguments={"text": "attachment://q"}, result=[{"text": "attachment://r"}])],
    )
    trace = read_one(one).trace
    [call] = calls_of(trace)
    assert (trace.question, trace.finalAnswer) == ("why?", "The pool.")
    assert (call.arguments, call.resultSummary) == ({"text": "why?"}, [{"text": "a long log"}])
    older = sample(input="tc://q", transcript={"events": [tool("c", result="tc://r")], "content": kept})
    assert [each.resultSummary for each in calls_of(read_one(older).trace)] == ["a long log"]


def test_an_attachment_that_is_missing_stays_a_pointer_with_a_warning() -> None:
    record = read_one(sample(input="attachment://gone", attachments={}))
    assert record.trace.question == "attachment://gone"
    assert [each.kind for each in record.warned] == ["missing-attachment"]


def test_one_long_text_named_many_times_is_put_back_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_ai, "_PUT_BACK_LIMIT", 25)
    events = [tool(f"c{number}", result="attachment://r") for number in range(4)]
    record = read_one(sample(events=events, attachments={"r": "0123456789"}))
    assert [each.resultSummary for each in calls_of(record.trace)] == ["0123456789"] * 2 + ["attachment://r"] * 2
    assert [each.kind for each in record.warned] == ["missing-attachment"]


def test_tokens_are_summed_over_models_and_unknown_where_one_is_silent() -> None:
    stated = {
        "a": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6, "total_cost": 0.5},
        "b": {"input_tokens": 2},
    }
    usage = read_one(sample(model_usage=stated)).trace.usage
    assert usage
    assert (usage.inputTokens, usage.outputTokens, usage.totalTokens, usage.costUsd) == (7, None, None, None)


def test_where_the_sample_states_no_tokens_its_model_events_or_its_only_answer_do() -> None:
    spent = {"usage": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}}
    events = [{"event": "model", "timestamp": "2026-03-02T09:10:01Z", "output": spent}] * 2
    assert usage_of(read_one(sample(events=events)).trace) == (10, 2, 12)
    answered = {"role": "assistant", "content": "a"}
    assert usage_of(read_one(sample(messages=[answered], output={**output("a"), **spent})).trace) == (5, 1, 6)
    assert usage_of(read_one(sample(messages=[answered] * 2, output={**output("a"), **spent})).trace) is None


def test_a_sample_taken_out_of_its_archive_is_read() -> None:
    [record] = read_bytes(json.dumps(sample()).encode())
    assert isinstance(record, ReadTrace)
    assert (record.trace.finalAnswer, record.trace.model) == ("The pool.", "m-1")


def test_a_broken_sample_says_where_and_costs_no_other() -> None:
    bad, good = read_bytes(json.dumps(log(sample(messages={}), sample())).encode())
    assert isinstance(bad, Unreadable)
    assert bad.fault.path == "$.samples[0].messages"
    assert isinstance(good, ReadTrace)


def test_constants_that_json_lacks_are_repaired_with_a_warning() -> None:
    data = json.dumps(log(sample(scores={"s": {"value": float("nan")}}))).encode()
    [record] = read_bytes(data)
    assert isinstance(record, ReadTrace)
    assert [each.kind for each in record.warned] == ["non-finite-number"]


# --- Archives ---


def test_an_unfinished_archive_is_read_with_a_warning() -> None:
    start = ("_journal/start.json", {"version": 2, "eval": EVAL, "plan": {}})
    first, second = read_bytes(
        archive(start, ("samples/7_epoch_1.json", sample()), ("samples/7_epoch_2.json", sample()))
    )
    assert isinstance(first, ReadTrace)
    assert [each.kind for each in first.warned] == ["unfinished-log"]
    assert isinstance(second, ReadTrace)
    assert (second.warned, second.trace.model) == ((), "openai/m")


def test_of_two_entries_of_one_name_the_later_is_read() -> None:
    name = "samples/7_epoch_1.json"
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = archive(HEADER, (name, sample(output=output("old"))), (name, sample(output=output("new"))))
    [record] = read_bytes(data)
    assert isinstance(record, ReadTrace)
    assert record.trace.finalAnswer == "new"
    assert [each.kind for each in record.warned] == ["duplicate-entry"]


def test_an_archive_packed_with_zstd_is_read() -> None:
    [record] = read_bytes(
        _as_zstd(archive(HEADER, ("samples/7_epoch_1.json", sample()), compression=zipfile.ZIP_STORED))
    )
    assert isinstance(record, ReadTrace)
    assert record.trace.finalAnswer == "The pool."


def test_a_broken_entry_names_itself_and_costs_no_other() -> None:
    bad, good = read_bytes(archive(HEADER, ("samples/1_epoch_1.json", b"{"), ("samples/2_epoch_1.json", sample())))
    assert isinstance(bad, Unreadable)
    assert "samples/1_epoch_1.json" in bad.fault.message
    assert isinstance(good, ReadTrace)


def test_damaged_bytes_of_an_entry_are_noticed() -> None:
    data = bytearray(archive(HEADER, ("samples/2_epoch_1.json", sample()), compression=zipfile.ZIP_STORED))
    place = data.index(b"The pool.")
    data[place] = ord("A")
    [bad] = read_bytes(bytes(data))
    assert isinstance(bad, Unreadable)
    assert "check sum" in bad.fault.message


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"PK\3\4 and no more", "no whole zip archive"),
        (archive(("notes.txt", b"x")), "neither header.json"),
        (archive(HEADER), "holds no samples"),
        (archive(HEADER, ("samples/1_epoch_1.json", sample()))[:-30], "no whole zip archive"),
    ],
    ids=["not a zip", "another zip", "no samples", "cut off"],
)
def test_an_archive_of_no_use_is_refused_and_says_why(data: bytes, reason: str) -> None:
    [bad] = read_bytes(data)
    assert isinstance(bad, Unreadable)
    assert reason in bad.fault.message


@pytest.mark.parametrize(
    "bound, value, reason",
    [
        ("MAX_ENTRIES", 1, "2 entries"),
        ("MAX_TOTAL", 100, "bytes unpacked"),
        ("WHOLE_LIMIT", 100, "bytes in one entry"),
        ("SMALL", 10, "bytes in so small an entry"),
    ],
)
def test_an_archive_that_would_cost_too_much_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: int, reason: str
) -> None:
    monkeypatch.setattr(inspect_archive, bound, value)
    monkeypatch.setattr(inspect_archive, "MAX_RATIO", 2)
    data = archive(HEADER, ("samples/1_epoch_1.json", sample(store={"x": "0" * 5000})))
    [bad] = read_bytes(data)
    assert isinstance(bad, Unreadable)
    assert reason in bad.fault.message


def test_entries_that_share_their_bytes_are_refused() -> None:
    data = archive(HEADER, ("samples/1_epoch_1.json", sample()), compression=zipfile.ZIP_STORED)
    directory = data.index(b"PK\1\2")
    entries = data[directory : data.index(b"PK\5\6")]
    count = 40
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2 * count, 2 * count, len(entries) * count, directory, 0)
    [bad] = read_bytes(data[:directory] + entries * count + end)
    assert isinstance(bad, Unreadable)
    assert "packed bytes" in bad.fault.message


def test_packed_bytes_that_are_damaged_are_refused() -> None:
    deflated = bytearray(archive(HEADER, ("samples/1_epoch_1.json", sample())))
    name = deflated.index(b"samples/1_epoch_1.json")
    deflated[name + 22 : name + 30] = b"\xff" * 8
    stored = archive(HEADER, ("samples/1_epoch_1.json", sample()), compression=zipfile.ZIP_STORED)
    zstd = bytearray(_as_zstd(stored))
    name = zstd.index(b"samples/1_epoch_1.json")
    zstd[name + 22 : name + 30] = b"\xff" * 8
    for data in (deflated, zstd):
        [bad] = read_bytes(bytes(data))
        assert isinstance(bad, Unreadable)
        assert "samples/1_epoch_1.json" in bad.fault.message


def test_an_entry_that_is_not_where_the_directory_says_is_refused() -> None:
    data = bytearray(archive(HEADER, ("samples/1_epoch_1.json", sample())))
    central = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    data[central + 42 : central + 46] = struct.pack("<L", 7)
    [bad] = read_bytes(bytes(data))
    assert isinstance(bad, Unreadable)
    assert "its header is not where it should be" in bad.fault.message


def test_an_entry_that_is_longer_than_it_says_is_refused() -> None:
    data = bytearray(archive(HEADER, ("samples/1_epoch_1.json", sample())))
    central = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    data[central + 24 : central + 28] = struct.pack("<L", 10)
    [bad] = read_bytes(bytes(data))
    assert isinstance(bad, Unreadable)
    assert "length" in bad.fault.message


@pytest.mark.parametrize("flag, method, reason", [(1, 0, "encrypted"), (0, 12, "packed by method 12")])
def test_an_entry_that_cannot_be_unpacked_says_why(flag: int, method: int, reason: str) -> None:
    data = bytearray(archive(HEADER, ("samples/1_epoch_1.json", sample())))
    central = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    data[central + 8 : central + 12] = struct.pack("<2H", flag, method)
    [bad] = read_bytes(bytes(data))
    assert isinstance(bad, Unreadable)
    assert reason in bad.fault.message


@pytest.mark.parametrize(
    "document", [{}, [], 7, {"eval": {}}, {"eval": {"task": "t"}}, {"events": []}, {"id": 1, "epoch": 1}]
)
def test_what_is_no_log_is_not_recognised(document: Any) -> None:
    assert inspect_ai.recognises(document) is None


def _as_zstd(stored: bytes) -> bytes:
    """An archive of stored entries with each of them packed by zstd, which Python's own module does not write."""
    out = io.BytesIO()
    directory = b""
    with zipfile.ZipFile(io.BytesIO(stored)) as source:
        for entry in source.infolist():
            data = source.read(entry)
            packed = zstandard.ZstdCompressor().compress(data)
            name = entry.filename.encode()
            fields = (entry.CRC, len(packed), len(data), len(name))
            offset = out.tell()
            out.write(struct.pack("<4s5H3L2H", b"PK\3\4", 63, 0, 93, 0, 0, *fields, 0) + name + packed)
            directory += (
                struct.pack("<4s6H3L5H2L", b"PK\1\2", 63, 63, 0, 93, 0, 0, *fields, 0, 0, 0, 0, 0, offset) + name
            )
        number = len(source.infolist())
    start = out.tell()
    out.write(directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, number, number, len(directory), start, 0))
    return out.getvalue()
