"""What `import`, and `validate --mapping`, print, and how they end."""

from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., int]
MAPPING = "schemaVersion: 1\nname: ours\nfields: {finalAnswer: a, model: m}\n"


@pytest.fixture(autouse=True)
def log(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log/t.jsonl").write_text('{"a": "x"}\n{"a": NaN}\n{"a": "y", "n": NaN}\n')
    (tmp_path / "m.yaml").write_text(MAPPING)


def test_what_is_told(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("import", "log", "--mapping", "m.yaml", "--out", "t.jsonl") == 0
    printed = capsys.readouterr()
    assert printed.out == "t.jsonl: 2 traces, 1 unreadable record, 1 warning\n"
    assert [line for line in printed.err.splitlines() if not line.startswith(" ")] == [
        "warning: t.jsonl:3: $.n: 1 time NaN or Infinity, which JSON does not have, read as null; write null instead",
        (
            "t.jsonl:2: $: none of the mapping's expressions finds anything in this record (object with a): correct "
            "the mapping, or let its `records` leave such records out"
        ),
    ]
    assert Path("t.jsonl").read_text() == '{"finalAnswer":"x"}\n{"finalAnswer":"y"}\n'


def test_strict_ends_with_2_and_writes_all_the_same(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("import", "log", "--mapping", "m.yaml", "--out", "t.parquet", "--strict") == 2
    assert Path("t.parquet").exists()
    assert capsys.readouterr().out == "t.parquet: 2 traces, 1 unreadable record, 1 warning\n"


def test_nothing_read_ends_with_2(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log/t.jsonl").write_text('{"b": 1}\n')
    assert command("import", "log", "--mapping", "m.yaml", "--out", "t.jsonl") == 2
    printed = capsys.readouterr()
    assert printed.out == "nothing written: 0 traces, 1 unreadable record, 0 warnings\n"
    assert printed.err.endswith("diagnosis-eval: no trace could be read\n")
    assert not Path("t.jsonl").exists()


@pytest.mark.parametrize("name", ["run", "validate"])
def test_a_mapping_is_taken_by(name: str, command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.yaml").write_text("schemaVersion: 1\nname: ours\nfields: {finalAnswer: a.}\n")
    Path("cases.json").write_text(
        '{"schemaVersion": 1, "suite": "s", "cases": [{"id": "a", "question": "q", "rootCauseKeywords": [],'
        ' "requiredEvidenceTools": [], "requireVerdict": false}]}'
    )
    assert command(name, "--cases", "cases.json", "--traces", "log", "--mapping", "m.yaml") == 2
    said = capsys.readouterr().err
    assert "m.yaml:3: $.fields.finalAnswer: This JMESPath expression cannot be used at character 3" in said
    assert said.endswith("1 fault in the mapping file; nothing was evaluated\n")


def test_validate_shows_what_a_mapping_finds_before_there_is_a_case(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("validate", "--traces", "log", "--mapping", "m.yaml") == 2
    printed = capsys.readouterr()
    assert printed.out == (
        "mapping ours: the first 3 records\n"
        "  FIELD        EXPRESSION  FOUND   FIRST\n"
        '  finalAnswer  a           2 of 3  text "x"\n'
        "  model        m           0 of 3  nothing: correct the expression, or leave the field out\n"
        "  not mapped: caseId, toolInvocations, verdict, durationMs\n"
        "\n"
    )
    assert "no case file" in printed.err
