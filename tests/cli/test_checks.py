"""`diagnosis-eval checks` and `explain-check`."""

from collections.abc import Callable

import pytest

from pipeline.judge import all_checks

Command = Callable[..., int]
CHECKS = list(all_checks())


def test_checks_are_listed_one_a_line_for_a_pipe(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("checks") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["CHECK", "SERVES", "ASKS", "FOR"]
    assert [" ".join(line.split()) for line in lines] == [
        f"{check.name} {check.serves} {check.meaning}" for check in CHECKS
    ]
    # The columns stand under each other.
    assert {line.index(check.meaning) for line, check in zip(lines, CHECKS, strict=True)} == {head.index("ASKS FOR")}


def test_a_terminal_gets_lines_that_fit(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cli.columns.sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    command("checks")
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80 or line != line.rstrip()] == []
    assert " ".join(CHECKS[0].meaning.split()) in " ".join(printed.split())


@pytest.mark.parametrize("name", [check.name for check in CHECKS])
def test_a_check_is_explained(command: Command, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert command("explain-check", name) == 0
    check = all_checks().get(name)
    assert capsys.readouterr().out == f"{name} (serves {check.serves})\n\n{check.page}\n"


@pytest.mark.parametrize(
    "name, said",
    [
        ("evidence-coverag", "did you mean evidence-coverage? (diagnosis-eval checks lists them)"),
        ("nothing-like-it", f"known: {', '.join(all_checks().names)} (diagnosis-eval checks lists them)"),
    ],
)
def test_an_unknown_check(command: Command, capsys: pytest.CaptureFixture[str], name: str, said: str) -> None:
    assert command("explain-check", name) == 2
    assert capsys.readouterr() == ("", f"diagnosis-eval: unknown check '{name}'\n{said}\n")
