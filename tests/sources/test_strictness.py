"""Contract section 2, Strictness: what is refused, for one trace only, and how it is said."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import Fault

Read = Callable[..., tuple[list[Any], list[Fault]]]

VERIFIER = "$.selfEvaluation.verifier_evaluation"


def verifier(**fields: object) -> dict[str, object]:
    return {"selfEvaluation": {"verifier_evaluation": fields}}


WRONG_TYPES = {
    "number for text": ({"finalAnswer": 7}, "$.finalAnswer", "text", "number 7"),
    "list for text": ({"finalAnswer": ["a"]}, "$.finalAnswer", "text", "list of 1 value"),
    "object for text": ({"question": {"a": 1}}, "$.question", "text", "object with a"),
    "true for text": ({"status": True}, "$.status", "text", "true"),
    "text for number": ({"durationMs": "12"}, "$.durationMs", "number", 'text "12"'),
    "true for number": ({"durationMs": True}, "$.durationMs", "number", "true"),
    "fraction for whole number": ({"trial": 1.5}, "$.trial", "whole number", "number 1.5"),
    "text for whole number": ({"trial": "1"}, "$.trial", "whole number", 'text "1"'),
    "text for true or false": (
        {"toolInvocations": [{"success": "no"}]},
        "$.toolInvocations[0].success",
        "true or false",
        'text "no"',
    ),
    "object for list": ({"toolInvocations": {}}, "$.toolInvocations", "text or list", "empty object"),
    "text for object": ({"usage": "many"}, "$.usage", "object", 'text "many"'),
    "list for object": ({"selfEvaluation": []}, "$.selfEvaluation", "text or object", "list of 0 values"),
    "null for a claim": ({"executorOutput": {"claims": [None]}}, "$.executorOutput.claims[0]", "object", "null"),
    "number for a tool name": (
        {"toolInvocations": [{}, {"tool": 3}]},
        "$.toolInvocations[1].tool",
        "text",
        "number 3",
    ),
    "number for a summary": (verifier(trace_summary=7), f"{VERIFIER}.trace_summary", "object or list", "number 7"),
    "number in a summary's tools": (
        verifier(traceSummaries={"tools": [{"name": 1}]}),
        f"{VERIFIER}.traceSummaries.tools[0].name",
        "text",
        "number 1",
    ),
    "number for a verification": (
        verifier(claim_checks=[{"verification": 1}]),
        f"{VERIFIER}.claim_checks[0].verification",
        "text",
        "number 1",
    ),
}


@pytest.mark.parametrize("trace, path, expected, found", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_a_wrong_type_is_named_in_plain_words(read: Read, trace: Any, path: str, expected: str, found: str) -> None:
    traces, [fault] = read(json.dumps(trace))
    assert traces == []
    assert (fault.file, fault.line, fault.path, fault.expected, fault.found) == ("t.json", None, path, expected, found)


def test_a_message_says_what_where_and_what_to_do(read: Read) -> None:
    _, [fault] = read('{"finalAnswer": 7}')
    assert str(fault) == (
        "t.json: $.finalAnswer: text is due here, not number 7: correct what writes it\n"
        "    expected: text\n"
        "    found:    number 7"
    )


WHOLE_DOCUMENTS = {
    "nothing": ("", "object", "nothing"),
    "blank lines": (" \n\n", "object", "nothing"),
    "a number": ("42", "object", "number 42"),
    "null": ("null", "object", "null"),
    "true": ("true", "object", "true"),
    "a list": ("[1, 2, 3]", "object", "list of 3 values"),
    "a blank text": ('"  "', "object", "blank text or null"),
    "a plain text": ('"the database is down"', "JSON", "the database is down"),
    "no JSON": ("Traceback (most", "JSON", "Traceback (most"),
    "a trailing comma": ('{"a": 1,}', "JSON", '{"a": 1,}'),
    "single quotes": ("{'a': 1}", "JSON", "{'a': 1}"),
    "a bare control character": ('{"a": "\x01"}', "JSON", '{"a": "\\x01"}'),
    "cut off in a string": ('{"a": "bc', "JSON", 'the end, after {"a": "bc'),
    "cut off in a list": ('{"a": [1, ', "JSON", 'the end, after {"a": [1, '),
    "two documents": ('{"a": 1}\n{"b": 2}', "JSON", '{"a": 1}\\n{"b": 2}'),
    "invalid bytes outside text": (b'{"a": 1 \xff}', "JSON", '{"a": 1 �}'),
}


@pytest.mark.parametrize("content, expected, found", WHOLE_DOCUMENTS.values(), ids=WHOLE_DOCUMENTS)
def test_what_is_no_object_is_refused_as_a_whole(read: Read, content: bytes | str, expected: str, found: str) -> None:
    traces, [fault] = read(content)
    assert traces == []
    assert (fault.path, fault.expected, fault.found) == ("$", expected, found)


def test_a_list_of_objects_is_told_where_it_belongs(read: Read) -> None:
    _, [fault] = read('[{"finalAnswer": "a"}, {"finalAnswer": "b"}]')
    assert fault.message == (
        "a list of 2 values where one trace object is due: write one object per line in a .jsonl file"
    )


def test_two_objects_in_a_json_file_are_told_where_they_belong(read: Read) -> None:
    _, [fault] = read('{"a": 1}\n{"b": 2}')
    assert "in a .jsonl file" in fault.message


RANGE = "number from -1.8e308 to 1.8e308"
INT64 = "whole number from -2^63 to 2^63-1"
OUT_OF_RANGE = {
    "in a field": ('{"durationMs": 1e400}', "$.durationMs", RANGE),
    "in an ignored field": ('{"x": [0, {"y": 1e400}]}', "$.x[1].y", RANGE),
    "with a sign": ('{"x": -1E+309}', "$.x", RANGE),
    "with zeros before its exponent": ('{"x":1e000400}', "$.x", RANGE),
    "with an exponent that is no int64": (f'{{"x":1e{"9" * 50}}}', "$.x", RANGE),
    "with a long exponent": (f'{{"x":1e{"9" * 5000}}}', "$.x", RANGE),
    "as a long integer in an ignored field": (f'{{"x": {"9" * 400}}}', "$.x", RANGE),
    "as a long integer in a free-form field": (
        f'{{"toolInvocations": [{{"arguments": {{"n": {"9" * 400}}}}}]}}',
        "$.toolInvocations[0].arguments.n",
        RANGE,
    ),
    "as an endless integer in a free-form field": (
        f'{{"toolInvocations": [{{"error": {"9" * 9000}}}]}}',
        "$.toolInvocations[0].error",
        RANGE,
    ),
    "by many digits and a small exponent": (f'{{"x": {"9" * 150}e200}}', "$.x", RANGE),
    "under a key that is no name": ('{"a b": {"c.d": 1e999}}', '$["a b"]["c.d"]', RANGE),
    "before text that is malformed": ('{"durationMs": 1e400x}', "$.durationMs", RANGE),
    "above 64 bits": ('{"trial": 9223372036854775808}', "$.trial", INT64),
    "below 64 bits": ('{"usage": {"totalTokens": -9223372036854775809}}', "$.usage.totalTokens", INT64),
    "far above 64 bits": (f'{{"usage": {{"inputTokens": 1{"0" * 30}}}}}', "$.usage.inputTokens", INT64),
}


@pytest.mark.parametrize("content, path, expected", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_a_number_out_of_range_is_refused(read: Read, content: bytes | str, path: str, expected: str) -> None:
    traces, [fault] = read(content)
    assert traces == []
    assert (fault.path, fault.expected) == (path, expected)
    assert re.match(r"number -?[19]", fault.found)
    assert len(fault.found) < 80


IN_RANGE = {
    "the largest double": '{"x": 1.7976931348623157e308}',
    "a wide integer in an ignored field": '{"x": 123456789012345678901234567890}',
    "a wide integer in a free-form field": '{"toolInvocations": [{"arguments": [18446744073709551616]}]}',
    "a wide integer where a fraction may stand": '{"durationMs": 123456789012345678901234567890}',
    "the largest whole number": '{"trial": 9223372036854775807}',
    "the smallest whole number": '{"trial": -9223372036854775808}',
    "a tiny number": '{"x": 1e-400, "durationMs": 1e-999}',
    "many digits after the point": f'{{"x": 0.{"3" * 5000}}}',
    "many digits, a small exponent undone": f'{{"x": 1{"0" * 400}e-400}}',
    "zero with a huge exponent": '{"x": 0e999999}',
    "a huge number that is text": '{"question": "1e999", "x": "9e999 ", "y": ": 1e999,"}',
    "many digits that are text": f'{{"question": "{"9" * 500}"}}',
    "an id that looks like one": '{"traceId": "5e400", "caseId": "17e999 "}',
}


@pytest.mark.parametrize("content", IN_RANGE.values(), ids=IN_RANGE)
def test_a_number_in_range_is_read(read: Read, content: bytes | str) -> None:
    traces, faults = read(content)
    assert (len(traces), faults) == (1, [])


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


DEPTHS = {
    "200 levels in an ignored field": (f'{{"x": {nested(199)}}}', True),
    "201 levels in an ignored field": (f'{{"x": {nested(200)}}}', False),
    "200 levels in a free-form field": (f'{{"toolInvocations": [{{"arguments": {nested(197)}}}]}}', True),
    "201 levels in a free-form field": (f'{{"toolInvocations": [{{"arguments": {nested(198)}}}]}}', False),
    "far more levels": (f'{{"x": {nested(100_000)}}}', False),
    "objects in objects": ('{"a":' * 201 + "1" + "}" * 201, False),
    "many brackets side by side": (f'{{"x": [{",".join(["[{}]"] * 500)}]}}', True),
    "brackets in text": ('{"x": "' + "[" * 500 + '"}', True),
    "brackets in text after an escaped quote": ('{"x": "\\"' + "[" * 500 + '"}', True),
    "brackets after text that ends in a back slash": ('{"y": "\\\\", "x": ' + nested(200) + "}", False),
    "brackets that never close": ("[" * 100_000, False),
}


@pytest.mark.parametrize("content, accepted", DEPTHS.values(), ids=DEPTHS)
def test_nesting_ends_at_200_levels(read: Read, content: bytes | str, accepted: bool) -> None:
    traces, faults = read(content)
    assert (len(traces), len(faults)) == ((1, 0) if accepted else (0, 1))
    assert [fault.expected for fault in faults] == ["up to 200 levels of objects and lists"] * len(faults)


def test_of_duplicate_keys_the_last_wins(read: Read) -> None:
    [trace], _ = read('{"status": "SUCCESS", "status": "FAILED"}')
    assert trace.trace.status == "FAILED"


def test_of_duplicate_keys_the_earlier_are_type_checked(read: Read) -> None:
    traces, [fault] = read('{"status": "a", "status": 7, "status": "b"}')
    assert traces == []
    assert (fault.path, fault.expected, fault.found) == ("$.status", "text", "whole number")


def test_unknown_keys_are_ignored(read: Read) -> None:
    [trace], faults = read('{"traceId": "a", "": 1, "a.b": [null], "Status": 3, "TraceId": 4}')
    assert (trace.trace.traceId, trace.trace.status, faults) == ("a", None, [])


def test_an_empty_object_is_a_trace_without_anything(read: Read) -> None:
    [trace], faults = read("{}")
    assert (trace.trace.finalAnswer, trace.warned, faults) == (None, (), [])


def test_an_escaped_nul_is_a_character(read: Read) -> None:
    [trace], _ = read(r'{"finalAnswer": "a\u0000b"}')
    assert trace.trace.finalAnswer == "a\0b"


ENCODINGS = {
    "UTF-16 with its mark": ("utf-16", "UTF-16"),
    "UTF-16, little end first": ("utf-16-le", "UTF-16"),
    "UTF-16, big end first": ("utf-16-be", "UTF-16"),
    "UTF-32 with its mark": ("utf-32", "UTF-32"),
    "UTF-32, little end first": ("utf-32-le", "UTF-32"),
    "UTF-32, big end first": ("utf-32-be", "UTF-32"),
}


@pytest.mark.parametrize("name, line", [("t.json", None), ("t.jsonl", 1)])
@pytest.mark.parametrize("encoding, named", ENCODINGS.values(), ids=ENCODINGS)
def test_another_encoding_is_named(read: Read, encoding: str, named: str, name: str, line: int | None) -> None:
    traces, [fault] = read('{"traceId": "数据库"}\n{"traceId": "b"}\n'.encode(encoding), name)
    assert traces == []
    assert (fault.message, fault.found, fault.line) == (f"the file is {named}: save it as UTF-8", named, line)


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_one_byte_order_mark_is_dropped(read: Read, name: str) -> None:
    [trace], faults = read(b'\xef\xbb\xbf{"traceId": "a"}', name)
    assert (trace.trace.traceId, faults) == ("a", [])


def test_a_hostile_value_is_quoted_short_and_printable(read: Read) -> None:
    _, [fault] = read(json.dumps({"usage": "\x1b[31m" + "x" * 10_000}))
    assert fault.found.startswith('text "\\x1b[31mxxx')
    assert len(fault.found) < 250
