"""`diagnosis-eval formats`, and what is said of a format that is none."""

from collections.abc import Callable

import pytest

from pipeline.report.base import all_writers
from pipeline.sources.formats import formats

Command = Callable[..., int]
FORMATS = list(formats())


def test_every_format_is_listed(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("formats") == 0
    lines = capsys.readouterr().out.splitlines()
    for entry in FORMATS:
        assert f"  {entry.name}: {entry.summary}" in lines
        assert (f"    recognised by: {entry.recognised_by}" in lines) == bool(entry.recognised_by)
        assert (f"    fills: {', '.join(entry.fields)}" in lines) == bool(entry.fields)
    reports = [" ".join(line.split()) for line in lines[lines.index("Report formats (--format)") + 2 :]]
    assert [line.split()[0] for line in reports] == list(all_writers().names)
    assert "junit junit.xml a test report, one test per case, for CI services and dashboards" in reports
    assert "json report.json, diff.json the whole report for machines (always written)" in reports


def test_a_terminal_gets_lines_that_fit(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cli.columns.sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    command("formats")
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", [entry.name for entry in FORMATS])
def test_one_format_in_full(command: Command, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert command("formats", name) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    entry = formats().get(name)
    assert lines[0] == f"{name}: {' '.join(entry.summary.split())}"
    fields = [f"{key} {' '.join(value.split())}" for key, value in entry.fields.items()]
    assert lines[len(lines) - len(fields) :] == fields


@pytest.mark.parametrize(
    "arguments, said",
    [
        pytest.param(
            ["formats", "otle"],
            "unknown trace format 'otle'\ndid you mean otel? (diagnosis-eval formats lists them)\n",
            id="to show",
        ),
        pytest.param(
            ["run", "--cases", "c.yaml", "--traces", "t.json", "--from", "otle"],
            "--from does not take 'otle': there is no such trace format\n"
            "did you mean otel? (diagnosis-eval formats lists them)\n",
            id="of traces",
        ),
        pytest.param(
            ["run", "--format", "jnit"],
            "--format does not take 'jnit': there is no such report format\n"
            "did you mean junit? (diagnosis-eval formats lists them)\n",
            id="of reports",
        ),
    ],
)
def test_an_unknown_format(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with open("c.yaml", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(
            "{schemaVersion: 1, suite: s, cases: [{id: a, question: q, rootCauseKeywords: [], "
            "requiredEvidenceTools: [], requireVerdict: false}]}"
        )
    with open("t.json", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("{}")
    assert command(*arguments) == 2
    assert capsys.readouterr() == ("", f"diagnosis-eval: {said}")


def test_a_flood_of_a_name_is_cut(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", "--format", "\x1b[2J" * 10_000) == 2
    said = capsys.readouterr().err
    assert ("\x1b" in said, len(said) < 2_000) == (False, True)
