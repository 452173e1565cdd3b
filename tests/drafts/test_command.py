"""The two commands: what they print, and where."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cases.load import load_suite
from pipeline.drafts.base import origins
from pipeline.drafts.imports import import_cases
from pipeline.judge import all_checks
from tests.drafts.conftest import cases_of
from tools.command import Said, say

TEST = "user_prompt: Why?\nexpected_output: The host `prod-db:3333` is down\nskip: true\n"
TRACE = {"caseId": "pool", "finalAnswer": "The HikariCP pool is exhausted."}
Say = Callable[[str], Said]


@pytest.fixture
def command(tmp_path: Path) -> Say:
    (tmp_path / "tests/12_job").mkdir(parents=True)
    (tmp_path / "tests/12_job/test_case.yaml").write_text(TEST, "utf-8")
    (tmp_path / "trace.json").write_text(json.dumps(TRACE), "utf-8")
    return lambda text: say(text, folder=tmp_path)


def test_importing_writes_a_file_that_loads_and_lists_the_rest(command: Say, tmp_path: Path) -> None:
    said = command("import-cases --from holmesgpt tests --out cases/imported.yaml --suite holmes")
    suite = load_suite([str(tmp_path / "cases/imported.yaml")], known_checks=all_checks().names)

    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr.splitlines() == [
        "not carried over: tests/12_job/test_case.yaml:3: case 12_job: skip: true (a case has no such key)",
        "cases/imported.yaml",
        "1 case drafted from 1 file; 1 thing was not carried over",
    ]
    assert (suite.name, [case.id for case in suite.cases]) == ("holmes", ["12_job"])


def test_without_a_file_the_draft_is_printed(command: Say) -> None:
    assert "  - id: 12_job\n" in command("import-cases --from holmesgpt tests/12_job/test_case.yaml").stdout
    assert "  - id: pool\n" in command("draft trace.json").stdout


def test_drafting_writes_a_file_on_which_its_trace_passes(command: Say) -> None:
    said = command("draft trace.json --out pool.yaml")

    assert (said.exit_code, said.stdout, said.stderr) == (0, "", "pool.yaml\n1 case drafted\n")
    assert command("run --cases pool.yaml --traces trace.json --out -  --format json").exit_code == 0


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param("draft trace.json --out trace.json", "there already is a trace.json", id="a-file-in-the-way"),
        pytest.param("draft trace.json --out tests", "there already is a tests", id="a-folder-in-the-way"),
        pytest.param("draft trace.json --out new.json", "a case file is drafted in YAML", id="another-ending"),
        pytest.param("draft none.json", "no such file or folder: none.json", id="no-such-trace"),
        pytest.param("draft trace.json --from nativ", "--from does not take 'nativ'", id="no-such-format"),
        pytest.param("import-cases --from holmsgpt tests", "--from does not take 'holmsgpt'", id="no-such-origin"),
        pytest.param("import-cases --from adk tests", "nothing in the folder tests is of adk", id="nothing-of-it"),
        pytest.param("import-cases --from adk none", "no such file or folder: none", id="no-such-file"),
        pytest.param("import-cases --from adk trace.json", "1 fault in what was given", id="no-test-case"),
    ],
)
def test_mistakes_end_in_a_message(command: Say, tmp_path: Path, text: str, message: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = command(text)

    assert (said.exit_code, said.stdout) == (2, "")
    assert f"diagnosis-eval: {message}" in said.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_what_can_be_drafted_is_written_and_the_fault_told(command: Say, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", "utf-8")
    said = command("draft trace.json broken.json --out pool.yaml")

    assert said.exit_code == 2
    assert list(cases_of((tmp_path / "pool.yaml").read_bytes())) == ["pool"]
    assert "broken.json: $: " in said.stderr
    assert said.stderr.endswith("diagnosis-eval: 1 fault in what was given: what is drafted is not all of it\n")


def test_a_trace_without_an_answer_leaves_nothing_to_draft(command: Say, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text('{"caseId": "pool"}', "utf-8")
    said = command("draft trace.json")

    assert said.exit_code == 2
    assert said.stderr == (
        "trace.json: not drafted: it has no final answer\n"
        "0 cases drafted\n"
        "diagnosis-eval: there is nothing to draft a case from\n"
    )


def test_a_file_reached_twice_is_read_once(command: Say, tmp_path: Path) -> None:
    said = command("import-cases --from holmesgpt tests tests/12_job/test_case.yaml")

    assert "1 case drafted from 1 file" in said.stderr


def test_equal_names_in_two_folders_are_two_cases(command: Say, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "tests/12_job", tmp_path / "more/12_job")
    said = command("import-cases --from holmesgpt tests more --out both.yaml")

    assert said.exit_code == 0
    assert list(cases_of((tmp_path / "both.yaml").read_bytes())) == ["12_job", "12_job-2"]


def test_every_origin_is_named_in_the_help(command: Say) -> None:
    said = " ".join(command("import-cases --help").stdout.split())

    assert [entry.name for entry in origins() if entry.name not in said] == []


@pytest.mark.parametrize("name", origins().names)
def test_every_origin_says_what_it_is_and_what_it_loses(name: str) -> None:
    origin = origins().get(name)

    assert all((origin.summary, origin.losses))


@pytest.mark.parametrize("name", origins().names)
def test_a_file_of_any_bytes_is_a_fault_at_most(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00a")
    (tmp_path / "b.csv").write_bytes(b"\xff,__expected\n")
    found = import_cases([str(tmp_path / "a.yaml"), str(tmp_path / "b.csv")], origins().get(name), "s")

    assert (found.cases, len(found.faults)) == (0, 2)
