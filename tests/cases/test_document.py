"""What is refused before there is a document: encodings, syntax, bounds, and what YAML has beyond JSON."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pipeline.cases import read_yaml, tree
from pipeline.cases.document import read_document
from pipeline.errors import CaseFileError, Fault

Refuse = Callable[..., list[Fault]]

NOT_UTF8 = "The file is not UTF-8; save it as UTF-8."
NOT_YAML = "This is not YAML; correct the syntax at or before this line."
NOT_JSON = (
    "This is not JSON; correct the syntax at or before this line"
    " (JSON knows no comments and no comma before a closing bracket)."
)
EMPTY = "The file is empty; write the cases into it, or remove it."
OBJECT_DUE = "an object with schemaVersion, suite and cases"

# Name, file, bytes, and the fault: line, path, expected, found, message.
BROKEN = [
    ("empty YAML", "a.yaml", b"", (1, "$", OBJECT_DUE, "nothing", EMPTY)),
    ("empty JSON", "a.json", b"", (1, "$", OBJECT_DUE, "nothing", EMPTY)),
    ("blank", "a.yaml", b"\n\n  \n", (1, "$", OBJECT_DUE, "nothing", EMPTY)),
    ("only comments", "a.yaml", b"# nothing\n", (1, "$", OBJECT_DUE, "nothing", EMPTY)),
    ("an empty document", "a.yaml", b"---\n...\n", (1, "$", OBJECT_DUE, "nothing", EMPTY)),
    (
        "UTF-16 with a mark",
        "a.yaml",
        "suite: s".encode("utf-16"),
        (1, "$", "text in UTF-8", "UTF-16 (by its byte-order mark)", NOT_UTF8),
    ),
    (
        "UTF-32 with a mark",
        "a.json",
        "{}".encode("utf-32"),
        (1, "$", "text in UTF-8", "UTF-32 (by its byte-order mark)", NOT_UTF8),
    ),
    (
        "UTF-16 without a mark",
        "a.yaml",
        "suite: s".encode("utf-16-le"),
        (1, "$", "text in UTF-8", "a zero byte at the start, as in UTF-16", NOT_UTF8),
    ),
    (
        "Latin-1",
        "a.yaml",
        b"suite: s\n# caf\xe9\n",
        (2, "$", "text in UTF-8", "0xE9, which is not UTF-8", NOT_UTF8),
    ),
    (
        "a control character",
        "a.yaml",
        "# 连接池\nx: \x07\n".encode(),
        (
            2,
            "$",
            "printable text",
            "U+0007",
            "YAML forbids this character; remove it, or write it as an escape in double quotes.",
        ),
    ),
    (
        "a tab as indentation",
        "a.yaml",
        b"cases:\n\t- id: a\n",
        (
            2,
            "$",
            "YAML",
            "found character that cannot start any token while scanning for the next token",
            "YAML allows no tabs in the indentation; use spaces.",
        ),
    ),
    (
        "a bracket that stays open",
        "a.yaml",
        b"suite: s\ncases: [\n\n",
        (2, "$", "YAML", "did not find expected node content while parsing a flow node", NOT_YAML),
    ),
    (
        "two colons",
        "a.yaml",
        b"suite: s\nquestion: why: not\n",
        (2, "$", "YAML", "mapping values are not allowed in this context", NOT_YAML),
    ),
    (
        "two documents",
        "a.yaml",
        b"suite: s\n---\nsuite: t\n",
        (
            2,
            "$",
            "one document",
            "a second one after ---",
            "A case file holds one YAML document; put each into a file of its own.",
        ),
    ),
    (
        "an alias without an anchor",
        "a.yaml",
        b"suite: s\ncases:\n  - *base\n",
        (
            3,
            "$.cases[0]",
            "an anchor &base that ends before this line",
            "*base",
            "The alias has no anchor before it; write the value out.",
        ),
    ),
    (
        "an alias inside its own anchor",
        "a.yaml",
        b"suite: s\ncases: &all\n  - *all\n",
        (
            3,
            "$.cases[0]",
            "an anchor &all that ends before this line",
            "*all",
            "The alias refers to a collection that it stands in itself; write the value out.",
        ),
    ),
    (
        "an anchor given twice",
        "a.yaml",
        b"suite: &x s\nredact: [&x t]\n",
        (
            2,
            "$.redact[0]",
            "each anchor once",
            "&x for the second time",
            "The anchor is given twice, so that an alias could mean either; rename one.",
        ),
    ),
    (
        "201 levels of YAML",
        "a.yaml",
        b"\n" + b"[" * 201 + b"]" * 201,
        (
            2,
            "$",
            "at most 200 levels of objects and lists",
            "deeper nesting",
            "The file is nested too deep; flatten it.",
        ),
    ),
    (
        "201 levels of JSON",
        "a.json",
        b"[" * 100_000,
        (
            1,
            "$",
            "at most 200 levels of objects and lists",
            "deeper nesting",
            "The file is nested too deep; flatten it.",
        ),
    ),
    (
        "201 levels by an alias",
        "a.yaml",
        b"x: &a " + b"[" * 100 + b"]" * 100 + b"\ny: " + b"[" * 100 + b"*a" + b"]" * 100,
        (
            2,
            "$",
            "at most 200 levels of objects and lists",
            "deeper nesting",
            "The file is nested too deep; flatten it.",
        ),
    ),
    *(
        (f"JSON: {text.decode()}", "a.json", text, (1, "$", expected, found, NOT_JSON))
        for text, expected, found in (
            (b"# a", "a value", "# a"),
            (b"{", "a key in double quotes or }", "the end of the file"),
            (b"[", "a value or ]", "the end of the file"),
            (b"{]", "a key in double quotes or }", "]"),
            (b"[}", "a value or ]", "}"),
            (b"{a: 1}", "a key in double quotes or }", "a: 1}"),
            (b"{'a': 1}", "a key in double quotes or }", "'a': 1}"),
            (b"{1: 1}", "a key in double quotes or }", "1"),
            (b'{"a" 1}', ":", "1"),
            (b'{"a": }', "a value", "}"),
            (b'{"a": 1,}', "a key in double quotes", "}"),
            (b"[1,]", "a value", "]"),
            (b"[1 2]", ", or ]", "2"),
            (b"[1}", ", or ]", "}"),
            (b"[,1]", "a value or ]", ","),
            (b"1 2", "the end of the file", "2"),
            (b"{} {}", "the end of the file", "{"),
            (b"1 ]", "the end of the file", "]"),
            (b"01", "the end of the file", "1"),
            (b"1.", "the end of the file", "."),
            (b"-", "a value", "-"),
            (b"+1", "a value", "+1"),
            (b"True", "a value", "True"),
            (b"truest", "a value", "truest"),
            (b"yes", "a value", "yes"),
            (b'"\t"', "a value", '"\\t"'),
            (b'"\\x"', "a value", '"\\x"'),
            (b'"a', "a value", '"a'),
        )
    ),
]


@pytest.mark.parametrize("file, data, wanted", [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_no_document(refuse: Refuse, file: str, data: bytes, wanted: tuple[int, str, str, str, str]) -> None:
    line, path, expected, found, message = wanted
    fault = Fault(file=file, line=line, path=path, expected=expected, found=found, message=message)
    assert [fault] == refuse({file: data})


def test_line_of_a_json_fault(refuse: Refuse) -> None:
    (fault,) = refuse({"a.json": '{"a": "\\n",\r\n "b":\n]'})
    assert fault.line == 3


def test_a_few_aliases_do_not_stand_for_a_billion_values(refuse: Refuse) -> None:
    levels = ["l0: &l0 [a, a, a, a, a, a, a, a, a, a]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert [
        Fault(
            file="a.yaml",
            line=6,
            path="$.l5[9]",
            expected="at most 1,000,000 values, aliases counted wherever they stand",
            found="more",
            message="The file stands for too many values; split it, or write fewer aliases.",
        )
    ] == [fault for fault in refuse({"a.yaml": "\n".join(levels)}) if "too many" in fault.message]


def test_the_bound_on_values_holds_for_plain_lists_too(refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NODES", 10)
    assert [fault.path for fault in refuse({"a.json": f"[{','.join('1' * 20)}]"})] == ["$[9]"]


def test_aliases_within_the_bound_are_what_they_stand_for() -> None:
    document = read_document("a.yaml", b"a: &x {b: [1]}\nc: *x\nd: &y e\n*y : *y\n")
    assert document.root.plain() == {"a": {"b": [1]}, "c": {"b": [1]}, "d": "e", "e": "e"}


def test_half_of_a_surrogate_pair_is_a_fault() -> None:
    document = read_document("a.json", b'{"a": "\\ud83d"}')
    fault = Fault(
        file="a.json",
        line=1,
        path="$.a",
        expected="text of whole characters",
        found='"\\ud83d"',
        message="The text holds half of a surrogate pair; write the character itself.",
    )
    assert (fault,) == document.faults


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert read_document("a.json", b'"\\ud83d\\ude00"').root.value == "\N{GRINNING FACE}"


def test_one_byte_order_mark_is_no_part_of_the_text() -> None:
    assert read_document("a.yaml", b"\xef\xbb\xbfa: 1").root.plain() == {"a": 1}
    assert read_document("a.json", b'\xef\xbb\xbf{"a": 1}').root.plain() == {"a": 1}


def test_json_text_is_kept_where_yaml_would_fold_it() -> None:
    text = b'"a\\/b\\u2028 c  \xe2\x80\xa8 d\\t"'
    assert read_document("a.json", text).root.value == "a/b\u2028 c  \u2028 d\t"


# (YAML, kind, value): how SafeLoader's rules read a plain scalar
SCALARS = [
    ("NO", "boolean", False),
    ("yes", "boolean", True),
    ("On", "boolean", True),
    ("y", "text", "y"),
    ("12:30:45", "integer", 45045),
    ("2024-01-01", "date", None),
    ("2024-01-01T10:00:00Z", "date", None),
    ("0x1F", "integer", 31),
    ("1_000", "integer", 1000),
    ("010", "integer", 8),
    ("0o17", "text", "0o17"),
    ("1.5", "number", 1.5),
    ("1e3", "text", "1e3"),
    ("1.0e+3", "number", 1000.0),
    ("~", "null", None),
    ("Null", "null", None),
    ("=", "other", None),
    ("<<", "other", None),
    ("'NO'", "text", "NO"),
    ("!!str 503", "text", "503"),
    ("! 503", "integer", 503),
    ("!!float 1", "number", 1.0),
    (f"1{'0' * 5000}", "integer", float("inf")),
    ("1:1" * 200, "integer", float("inf")),
]


@pytest.mark.parametrize("loader", ["SafeLoader", "CSafeLoader"])
@pytest.mark.parametrize("source, kind, value", SCALARS, ids=[row[0][:20] for row in SCALARS])
def test_scalars_are_seen_as_yaml_resolves_them(
    monkeypatch: pytest.MonkeyPatch, loader: str, source: str, kind: str, value: object
) -> None:
    if not hasattr(yaml, loader):
        pytest.skip("this PyYAML was built without libyaml")
    monkeypatch.setattr(read_yaml, "_Loader", getattr(yaml, loader))
    node = read_document("a.yaml", f"x: {source}".encode()).root.members[0].node
    assert (kind, value) == (node.kind, node.value)


@pytest.mark.parametrize(
    "text", ['x: "\\uZZZZ"', 'x: "\\UFFFFFFFF"', "x: \x07", "x: [", "\tx: 1", "%YAML 3.0\n--- x", "x: \ufffe"]
)
def test_the_parser_in_python_has_no_error_of_its_own(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(read_yaml, "_Loader", yaml.SafeLoader)
    with pytest.raises(CaseFileError) as caught:
        read_document("a.yaml", text.encode())
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [("a.yaml", 1)]


def test_a_file_that_cannot_be_opened_is_a_fault(refuse: Refuse, tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "gone.yaml").symlink_to("nowhere")
    assert [
        Fault(
            file="suite/gone.yaml",
            expected="a file that can be read",
            found="No such file or directory",
            message="The case file cannot be read; check that it exists and its permissions.",
        )
    ] == refuse({}, "suite")
