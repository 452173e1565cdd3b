import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks import history
from benchmarks.comparison import Command, Comparison, UnavailableError
from benchmarks.suite import Planned
from benchmarks.workspace import Workspace


def printing(number: int) -> Command:
    return Command(label=f"prints {number}", argv=[sys.executable, "-I", "-S", "-c", f"print({number})"], answer=int)


def planned(name: str, ours: int, theirs: int) -> Planned:
    comparison = Comparison(ours=printing(ours), theirs=printing(theirs))
    return Planned(group="peers", name=name, title=name, size=0, prepare=lambda *_: comparison)


def unavailable(place: Workspace, size: int) -> Comparison:
    raise UnavailableError("npm is not installed")


ABSENT = Planned(group="peers", name="absent", title="absent", size=0, prepare=unavailable)


Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    def run(measurements: Sequence[Planned], *options: str) -> int:
        monkeypatch.setattr(bench, "plan", lambda _: measurements)
        places = {name: str(tmp_path / name) for name in ("work", "peers", "history", "page")}
        return bench.main([*(word for name, path in places.items() for word in (f"--{name}", path)), *options])

    return run


def test_a_run_is_recorded_and_its_page_written(run: Run, tmp_path: Path) -> None:
    code = run([planned("equal", 3, 3), ABSENT], "--record")

    (record,) = history.read(tmp_path / "history")
    assert code == 0
    assert [(outcome.key, outcome.answer) for outcome in record.outcomes] == [("peers/equal", "3")]
    assert record.skipped == {"peers/absent": "npm is not installed"}
    assert "- `peers/absent`: npm is not installed\n" in (tmp_path / "page").read_text("utf-8")


def test_nothing_is_recorded_unless_asked_for(run: Run, tmp_path: Path) -> None:
    assert run([planned("equal", 3, 3)]) == 0
    assert not (tmp_path / "history").exists()
    assert not (tmp_path / "page").exists()


def test_a_run_whose_answers_differ_fails_and_is_not_recorded(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([planned("unequal", 3, 4), planned("equal", 3, 3)], "--record")

    said = capsys.readouterr().err
    assert code == 1
    assert "FAILED: prints 4 found 4, but 3 was found before" in said
    assert "Nothing is recorded, as 1 of 2 measurements failed: peers/unequal" in said
    assert not (tmp_path / "history").exists()


def test_the_change_against_the_last_run_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run([planned("equal", 3, 3)], "--record")
    assert "No earlier run on such a machine" in capsys.readouterr().err

    run([planned("equal", 3, 3)])
    changes = [line.split() for line in capsys.readouterr().err.splitlines() if line.startswith("  peers/equal")]
    assert [words[:2] for words in changes] == [["peers/equal", "ratio"], ["peers/equal", "memory"]]


def test_only_what_is_asked_for_is_measured(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run([planned("one", 1, 1), planned("two", 2, 2)], "--only", "two")

    said = capsys.readouterr().err
    assert ("[ 1/1]" in said, "peers/one" in said) == (True, False)


def test_a_size_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--sizes", "many"])

    assert "a size is a number such as 500, 10k or 1M, not 'many'" in capsys.readouterr().err


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_commit_is_marked_where_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "file").write_text("1", "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    clean = git(tmp_path, "rev-parse", "--short=10", "HEAD")

    # What a run itself writes makes no difference.
    (tmp_path / "benchmarks/history.jsonl").write_text("{}", "utf-8")
    assert bench.commit(tmp_path) == clean

    (tmp_path / "file").write_text("2", "utf-8")
    assert bench.commit(tmp_path) == f"{clean}+"


def test_outside_a_repository_the_commit_is_unknown(tmp_path: Path) -> None:
    assert bench.commit(tmp_path) == "unknown"
