"""Baselines kept in the repository: R14-R16."""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import baseline as baselines
from pipeline import evaluate
from pipeline.baseline import REPORTS, check_saveable, save
from pipeline.errors import OutputError, SnapshotError, UsageError
from pipeline.report.model import Report
from pipeline.snapshot.files import write_snapshot
from pipeline.snapshot.reference import DEFAULT_BASELINE
from tests.snapshot.made import Row, frame, info, judged, not_run, snapshot, unreadable
from tools.command import say

ROOT = Path(__file__).parents[1]
FILES = (DEFAULT_BASELINE, f"{REPORTS}/report.json", f"{REPORTS}/report.md")

GOOD = [judged("a"), judged("b")]
WORSE = [judged("a"), judged("b", failed=["token-budget"])]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One stands in an empty project."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, *parts: list[Row]) -> Path:
    write_snapshot(Path(path), [frame(rows) for rows in parts], info())
    return Path(path)


def held(folder: Path) -> dict[str, bytes]:
    """Every file of the project but the runs and the repository."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {"runs", ".git"} & set(path.relative_to(folder).parts)
    }


# Saving


def test_a_baseline_is_three_files(project: Path) -> None:
    source = write("runs/latest", GOOD)

    saved = save(source)

    assert tuple(path.as_posix() for path in saved.files) == FILES
    assert sorted(FILES) == list(held(project))
    assert (saved.previous, saved.problem) == (None, "")
    assert source.read_bytes() == Path(DEFAULT_BASELINE).read_bytes()


def test_the_reports_of_a_baseline_are_those_of_its_run(project: Path) -> None:
    evaluate(ROOT / "cases", ROOT / "fixtures/traces", out="data/runs/latest", case_globs=["mysql-*"])

    said = say("baseline save", folder=project)

    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr == "".join(f"saved: {name}\n" for name in FILES)
    for name in ("report.json", "report.md"):
        assert (project / "data/runs/latest" / name).read_bytes() == (project / REPORTS / name).read_bytes()


def test_saving_twice_changes_no_byte(project: Path) -> None:
    save(write("runs/latest", GOOD))
    first = held(project)

    saved = save(Path("runs/latest"))

    assert first == held(project)
    assert saved.previous is not None
    assert saved.previous.items == []


def test_a_baseline_may_be_saved_onto_itself(project: Path) -> None:
    save(write("runs/latest", GOOD))
    first = held(project)

    save(Path(DEFAULT_BASELINE))

    assert first == held(project)


def test_saving_prints_the_diff_against_the_baseline_before(project: Path) -> None:
    save(write("runs/before", GOOD))
    write("runs/now", WORSE)

    said = say("baseline save runs/now", folder=project)

    assert said.exit_code == 0
    assert said.stdout.startswith(f"# Diff of demo\n\n❌ **3 regressions** against the baseline `{DEFAULT_BASELINE}`\n")
    assert "| case-status | `b` |  | passed | failed |" in said.stdout


def test_the_folder_of_a_run_is_saved_by_its_snapshot(project: Path) -> None:
    write("runs/one/snapshot.parquet", GOOD)

    assert say("baseline save runs/one", folder=project).exit_code == 0
    assert Path(DEFAULT_BASELINE).read_bytes() == Path("runs/one/snapshot.parquet").read_bytes()


def test_a_folder_of_parts_is_saved_as_a_folder_without_what_lies_beside(project: Path) -> None:
    source = write("runs/parts", GOOD[:1], GOOD[1:])
    (source / "notes.txt").write_text("not a part", "utf-8")

    save(source)
    # In turn with one file: each takes the other's place.
    save(write("runs/one", GOOD))
    save(source)

    assert sorted(path.name for path in Path(DEFAULT_BASELINE).iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert not [name for name in held(project) if "/." in name]


PROBLEMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "it is damaged": (lambda path: path.write_bytes(b"?"), "cannot be read as Parquet"),
    "it has no case in common": (lambda path: write(str(path), [judged("z")]), "no case in common"),
    "it judged nothing": (lambda path: write(str(path), [not_run("a")]), "judged no trace"),
}


@pytest.mark.parametrize("spoil, words", PROBLEMS.values(), ids=PROBLEMS)
def test_a_baseline_that_cannot_be_compared_is_replaced_and_that_is_said(
    project: Path, spoil: Callable[[Path], object], words: str
) -> None:
    save(write("runs/latest", GOOD))
    spoil(Path(DEFAULT_BASELINE))

    said = say("baseline save runs/latest", folder=project)

    assert said.exit_code == 0
    assert said.stdout.startswith("The baseline before could not be compared: ")
    assert words in said.stdout
    assert Path(DEFAULT_BASELINE).read_bytes() == Path("runs/latest").read_bytes()


# What would be a bad baseline


BAD = {
    "a case in error": ([judged("a"), unreadable("b")], {}, "1 case in error"),
    "cases not run": ([judged("a"), not_run("b"), not_run("c")], {}, "2 cases not run"),
    "unreadable records": ([judged("a")], {"unreadable_records": 3}, "3 unreadable records"),
    "all of it": (
        [judged("a"), unreadable("b"), unreadable("c"), not_run("d")],
        {"unreadable_records": 1},
        "2 cases in error, 1 case not run, 1 unreadable record",
    ),
}


@pytest.mark.parametrize("rows, fields, words", BAD.values(), ids=BAD)
def test_a_run_with_errors_is_no_baseline_unless_that_is_wanted(
    rows: list[Row], fields: dict[str, int], words: str
) -> None:
    made = snapshot(*rows, source="runs/latest", unreadable_records=fields.get("unreadable_records", 0))

    with pytest.raises(UsageError) as refused:
        check_saveable(made, allow_errors=False)
    assert refused.value.message == f"runs/latest has {words}: as a baseline it would hide what they would show"
    assert "--allow-errors" in refused.value.hint
    assert check_saveable(made, allow_errors=True).report.summary.traces == 1


@pytest.mark.parametrize("allow_errors", [False, True])
def test_a_run_that_judged_nothing_is_never_a_baseline(allow_errors: bool) -> None:
    for rows in ([], [not_run("a")], [unreadable("a")]):
        with pytest.raises(UsageError, match="judged no trace, so it cannot be a baseline"):
            check_saveable(snapshot(*rows, source="runs/latest"), allow_errors=allow_errors)


def test_a_failed_case_may_be_in_a_baseline() -> None:
    assert check_saveable(snapshot(*WORSE), allow_errors=False).report.summary.failed == 1


def test_a_refused_baseline_leaves_the_one_before(project: Path) -> None:
    save(write("runs/before", GOOD))
    before = held(project)
    write("runs/now", [judged("a"), unreadable("b")])

    said = say("baseline save runs/now", folder=project)

    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr.startswith("diagnosis-eval: runs/now has 1 case in error: ")
    assert before == held(project)
    assert say("baseline save runs/now --allow-errors", folder=project).exit_code == 0
    assert before != held(project)


def test_without_a_run_there_is_nothing_to_save(project: Path) -> None:
    said = say("baseline save", folder=project)

    assert said.exit_code == 2
    assert "there is no snapshot at data/runs/latest" in said.stderr
    assert held(project) == {}


# All or nothing


@pytest.mark.parametrize(
    "moment",
    [(name, moment) for name in ("snapshot.parquet", "report.json", "report.md") for moment in ("writing", "moving")],
    ids=" ".join,
)
@pytest.mark.parametrize("before", [None, [GOOD], [GOOD[:1], GOOD[1:]]], ids=["nothing", "a file", "a folder"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failure_leaves_everything_as_it_was(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: tuple[str, str],
    before: list[list[Row]] | None,
    error: BaseException,
) -> None:
    if before:
        save(write("runs/before", *before))
    stood_there = held(project)
    source = write("runs/now", WORSE)
    name, action = moment

    def fails(real: Callable[..., object]) -> Callable[..., object]:
        def instead(*arguments: object) -> object:
            if any(str(argument).endswith(f".{name}.writing") for argument in arguments):
                raise error
            return real(*arguments)

        return instead

    if action == "moving":
        monkeypatch.setattr(os, "rename", fails(os.rename))
    elif name == "snapshot.parquet":
        monkeypatch.setattr(shutil, "copyfile", fails(shutil.copyfile))
    else:
        monkeypatch.setattr(Path, "write_bytes", fails(Path.write_bytes))

    with pytest.raises(OutputError if isinstance(error, OSError) else KeyboardInterrupt) as raised:
        save(source)

    monkeypatch.undo()
    assert stood_there == held(project)
    if isinstance(error, OSError):
        assert str(raised.value) == (
            "the baseline was not saved: No space left on device\n"
            "everything stands as before; make room or give permission and try again"
        )


def test_a_place_that_cannot_be_written_to(project: Path) -> None:
    write("runs/now", GOOD)
    (project / "docs").write_text("a file", "utf-8")

    said = say("baseline save runs/now", folder=project)

    assert said.exit_code == 2
    assert said.stderr.startswith("diagnosis-eval: the baseline was not saved: ")
    assert list(held(project)) == ["docs"]


# Showing and listing


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """One stands in a repository; gives the git command."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.org")

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet", "--initial-branch=main")
    return git


def commit(git: Callable[..., str]) -> str:
    git("add", "--all", "--force")
    git("commit", "--quiet", "--message", "baseline", "--allow-empty")
    return git("rev-parse", "HEAD").strip()[:12]


def test_the_baselines_of_all_branches_are_listed(repository: Callable[..., str], project: Path) -> None:
    save(write("runs/latest", GOOD))
    main = commit(repository)
    repository("checkout", "--quiet", "-b", "worse")
    save(write("runs/latest", WORSE))
    worse = commit(repository)
    repository("checkout", "--quiet", "-b", "torn")
    Path(DEFAULT_BASELINE).write_bytes(b"?")
    torn = commit(repository)
    repository("checkout", "--quiet", "-b", "rows")
    data = Path("runs/latest").read_bytes()
    Path(DEFAULT_BASELINE).write_bytes(data[:4] + bytes(byte ^ 0xFF for byte in data[4:400]) + data[400:])
    rows = commit(repository)
    repository("checkout", "--quiet", "--orphan", "bare")
    repository("rm", "--quiet", "-rf", ".")
    commit(repository)
    repository("update-ref", "refs/remotes/origin/main", "main")
    repository("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    before = repository("status", "--porcelain"), repository("count-objects", "-v")

    said = say("baseline list", folder=project)

    assert (said.exit_code, said.stderr) == (0, "")
    lines = said.stdout.splitlines()
    assert lines[0] == f"git:main  {main}  demo: 2 of 2 cases passed (pass rate 100 %)"
    assert lines[1].startswith(f"git:rows  {rows}  the rows of git:rows are damaged: ")
    assert lines[2].startswith(f"git:torn  {torn}  git:torn cannot be read as Parquet: ")
    assert lines[3] == f"git:worse  {worse}  demo: 1 of 2 cases passed, 1 failed (pass rate 50 %)"
    assert lines[4] == f"git:origin/main  {main}  demo: 2 of 2 cases passed (pass rate 100 %)"
    assert len(lines) == 5
    assert before == (repository("status", "--porcelain"), repository("count-objects", "-v"))


def test_a_repository_without_a_baseline_says_so(repository: Callable[..., str], project: Path) -> None:
    commit(repository)

    said = say("baseline list", folder=project)

    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr == f"no branch holds a baseline at {DEFAULT_BASELINE}\n"


def test_baselines_are_listed_from_a_folder_of_the_repository(
    repository: Callable[..., str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(write("runs/latest", GOOD))
    commit(repository)
    (project / "docs/eval").mkdir(exist_ok=True)

    assert say("baseline list", folder=project / "docs/eval").stdout.startswith("git:main  ")


def test_outside_a_repository_there_is_nothing_to_list(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))

    with pytest.raises(SnapshotError, match="git cannot read a repository here"):
        list(baselines.baselines())


def test_show_prints_the_report(repository: Callable[..., str], project: Path) -> None:
    save(write("runs/latest", GOOD))
    commit(repository)
    report = (project / REPORTS / "report.md").read_text("utf-8")

    assert report.rstrip() == say("baseline show", folder=project).stdout.rstrip()
    assert report.rstrip() == say("baseline show git:main", folder=project).stdout.rstrip()


# The baseline of this repository


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped suite, evaluated now."""
    folder = tmp_path_factory.mktemp("fresh")
    evaluate(ROOT / "cases", ROOT / "fixtures/traces", out=folder)
    return folder


COMMITTED = {
    "snapshot.parquet": DEFAULT_BASELINE,
    "report.json": f"{REPORTS}/report.json",
    "report.md": f"{REPORTS}/report.md",
}


@pytest.mark.parametrize("name", COMMITTED)
def test_the_committed_baseline_is_what_the_suite_gives_now(fresh: Path, name: str) -> None:
    # Where this fails and the change was meant: diagnosis-eval run, diagnosis-eval baseline save, and review the diff.
    assert (ROOT / COMMITTED[name]).read_bytes() == (fresh / name).read_bytes(), COMMITTED[name]


def test_the_committed_baseline_has_one_result_for_every_fixed_case() -> None:
    report = json.loads((ROOT / REPORTS / "report.json").read_bytes())
    page = (ROOT / REPORTS / "report.md").read_text("utf-8")

    from pipeline.cases.load import load_suite
    from pipeline.judge import all_checks

    ids = [case.id for case in load_suite([str(ROOT / "cases")], known_checks=all_checks().names).cases]
    assert ids == [case["caseId"] for case in report["cases"]]
    assert [case for case in ids if f"`{case}`" not in page] == []
    assert sorted(Report.__struct_encode_fields__) == sorted(report)
