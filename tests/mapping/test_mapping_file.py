"""Mapping files: all faults of a file at once, each with line, path, expected and found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import Fault, UsageError
from pipeline.mapping_file import load_mapping, wanted_mapping
from pipeline.sources.files import Inputs, find_inputs
from pipeline.sources.mapping import CallFields, MappedFields, Mapping, UsageFields

Faults = Callable[[str], list[Fault]]

ALL_AT_ONCE = """\
schemaVersion: 1
name: ours
records: runs[
base: langfus
fields:
  finalAnswer: answer.
  finalAnswer: reply
  question: 12
  usage: {inputTokens: a, cost: b}
  toolInvocations: {toolName: name}
verdicts: {ok: yes, no: [PASS]}
"""


def test_all_faults_at_once(faults: Faults) -> None:
    assert [(fault.file, fault.line, fault.path, fault.found) for fault in faults(ALL_AT_ONCE)] == [
        ("m.yaml", 3, "$.records", "runs["),
        ("m.yaml", 4, "$.base", 'the text "langfus"'),
        ("m.yaml", 6, "$.fields.finalAnswer", "answer."),
        ("m.yaml", 7, "$.fields.finalAnswer", "finalAnswer again, first on line 6"),
        ("m.yaml", 8, "$.fields.question", "the number 12"),
        ("m.yaml", 9, "$.fields.usage.cost", "the key cost"),
        ("m.yaml", 10, "$.fields.toolInvocations.items", "nothing"),
        ("m.yaml", 11, "$.verdicts", "no (boolean)"),
        ("m.yaml", 11, "$.verdicts", "nothing"),
        ("m.yaml", 11, "$.verdicts.ok", "the boolean yes"),
    ]


HEAD = "schemaVersion: 1\nname: ours\n"
# name, file, path, expected, message
FAULTS: list[tuple[str, str, str, str, str]] = [
    (
        "nothing",
        "",
        "$",
        "an object with schemaVersion, name and fields",
        "The file is empty; write the fields into it, or remove it.",
    ),
    (
        "comments only",
        "# todo\n",
        "$",
        "an object with schemaVersion, name and fields",
        "The file is empty; write the fields into it, or remove it.",
    ),
    ("no fields", HEAD, "$.fields", "an object", "The key fields is missing; add it."),
    (
        "only ids",
        HEAD + "fields: {traceId: id, caseId: case, finalAnswer: null}\n",
        "$.fields",
        "an expression for at least one of finalAnswer, toolInvocations, verdict and the like",
        "The mapping finds nothing that could be judged; say where finalAnswer stands.",
    ),
    (
        "a version of later",
        "schemaVersion: 2\nname: ours\nfields: {finalAnswer: a}\n",
        "$.schemaVersion",
        "1",
        (
            "This version of the format is not known; write 1, the one that is, or use the diagnosis-eval that the "
            "file was written for."
        ),
    ),
    (
        "an expression that cannot be used",
        HEAD + "fields: {finalAnswer: foo(a}\n",
        "$.fields.finalAnswer",
        "a JMESPath expression",
        "This JMESPath expression cannot be used at character 6: it ends too early; correct it.",
    ),
    (
        "a function of that name",
        HEAD + "fields: {toolInvocations: {items: steps, toolName: 'lower(name)'}}\n",
        "$.fields.toolInvocations.toolName",
        "floor",
        "This JMESPath expression cannot be used at character 1: there is no function lower; correct it.",
    ),
    (
        "verdicts of nothing",
        HEAD + "fields: {finalAnswer: a}\nverdicts: {ok: PASS}\n",
        "$.verdicts",
        "an expression under fields.verdict",
        "The table says what values mean that nothing looks for; say where the verdict stands, or remove the table.",
    ),
    (
        "an empty table",
        HEAD + "fields: {verdict: a}\nverdicts: {}\n",
        "$.verdicts",
        "at least one value with its verdict",
        "No value means a verdict, so that every record would be refused; fill the table, or remove it.",
    ),
    (
        "a key that is no text",
        HEAD + "fields: {verdict: a}\nverdicts: {1: PASS}\n",
        "$.verdicts",
        "a key that is text",
        "YAML does not read this key as text; quote it.",
    ),
]


@pytest.mark.parametrize("text, path, expected, message", [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault(text: str, path: str, expected: str, message: str, faults: Faults) -> None:
    assert (path, expected, message) in [(fault.path, fault.expected, fault.message) for fault in faults(text)]


def test_a_whole_mapping(tmp_path: Path) -> None:
    text = (
        HEAD + "records: runs\nfields:\n  finalAnswer: reply\n  verdict: label\n  usage: {costUsd: cost}\n"
        "  toolInvocations: {items: steps, toolName: fn}\nverdicts: {ok: PASS, 'null': REVISE}\n"
    )
    (tmp_path / "m.yaml").write_text(text)
    assert load_mapping(str(tmp_path / "m.yaml")) == Mapping(
        schema_version=1,
        name="ours",
        records="runs",
        fields=MappedFields(
            final_answer="reply",
            verdict="label",
            usage=UsageFields(cost_usd="cost"),
            tool_invocations=CallFields(items="steps", tool_name="fn"),
        ),
        verdicts={"ok": "PASS", "null": "REVISE"},
    )


def test_a_mapping_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"the mapping file nowhere\.yaml cannot be read: No such file or directory"):
        load_mapping("nowhere.yaml")


def test_a_mapping_and_a_format_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(HEAD + "fields: {finalAnswer: a}\n")
    with pytest.raises(UsageError, match="--mapping and --from langfuse each say how the traces are read"):
        wanted_mapping(str(tmp_path / "m.yaml"), "langfuse", Inputs())


def test_a_mapping_has_nothing_to_look_for_in_imported_traces(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(HEAD + "fields: {finalAnswer: a}\n")
    (tmp_path / "t.parquet").touch()
    with pytest.raises(UsageError, match=r"t\.parquet holds imported traces"):
        wanted_mapping(str(tmp_path / "m.yaml"), "auto", find_inputs([str(tmp_path / "t.parquet")]))
