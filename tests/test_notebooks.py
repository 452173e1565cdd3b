"""The notebooks run, cell by cell and as scripts, on what the repository ships; and their .ipynb are in step."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tools.command import plain_environment

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py"))
Json = Any

# What each says when it is run as a script.
SAID = {
    "compare_branches": ["25 regressions, 2 improvements", "pass rate 0.964286 to 0.642857"],
    "hunt_a_regression": [
        "mysql-connection-pool-exhausted: no longer called: queryMysqlStatus",
        "claims that rest on other evidence now: c2, c4",
    ],
    "one_run": [
        "27 of 28 cases passed",
        "slowest: milvus-retrieval-timeout, 52.9 s",
        "traces with repeated calls: 3",
    ],
    "verifier_reliability": [
        "of the traces that the Verifier passed, 65% pass the checks",
        "let through, budgets left aside: 6 cases",
    ],
}


def python(*arguments: str, cwd: Path) -> str:
    environment = {**plain_environment(), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def ipynb(name: str) -> list[Json]:
    """The cells of the Jupyter notebook beside a notebook."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return list(cells)


def source(cell: Json) -> str:
    return "".join(cell["source"])


def ran(name: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What the cells of a notebook show, and the names that they define."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs, names = module.app.run()
    return outputs, names


def test_all_notebooks_are_known() -> None:
    assert list(SAID) == NAMES
    assert sorted(file.stem for file in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_as_a_script_from_anywhere(name: str, tmp_path: Path) -> None:
    assert python(str(FOLDER / f"{name}.py"), cwd=tmp_path).splitlines() == SAID[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_jupyter_notebook_runs_in_its_folder(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Jupyter starts a notebook in the folder where it stands.
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in ipynb(name):
        if cell["cell_type"] == "code":
            exec(compile(source(cell), f"{name}.ipynb", "exec"), names)  # noqa: S102 - our own file

    assert capsys.readouterr().out.splitlines() == SAID[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_jupyter_notebook_is_in_step(name: str, tmp_path: Path) -> None:
    python("-m", "marimo", "-q", "export", "ipynb", str(FOLDER / f"{name}.py"), "-o", "exported.ipynb", cwd=tmp_path)

    # Its cells: which version of marimo wrote it is no difference.
    exported = json.loads((tmp_path / "exported.ipynb").read_text("utf-8"))["cells"]
    wanted = [(cell["cell_type"], source(cell)) for cell in exported]
    assert [(cell["cell_type"], source(cell)) for cell in ipynb(name)] == wanted, "run: make notebooks"


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_explained(name: str) -> None:
    kinds = [cell["cell_type"] for cell in ipynb(name)]

    # First what it imports, then by turns; the text above the first cell may be two: what this is, and the cell.
    assert kinds[:3] == ["code", "markdown", "markdown"]
    assert kinds[2:] == ["markdown", "code"] * ((len(kinds) - 2) // 2)


def test_one_run_shows_the_run() -> None:
    outputs, names = ran("one_run")

    assert names["cases"].height == 28
    assert names["slowest"]["case_id"][0] == "milvus-retrieval-timeout"
    assert names["repeated"].columns == ["case_id", "trial", "tool", "arguments", "calls", "failed"]
    assert {type(shown).__name__ for shown in outputs} >= {"GT", "Chart", "DataFrame"}


def test_compare_branches_tells_what_got_worse() -> None:
    _, names = ran("compare_branches")

    assert names["figures"].filter(figure="pass-rate").row(0) == ("pass-rate", None, 0.964286, 0.642857, -0.321429)
    assert names["items"]["severity"].value_counts(sort=True).rows() == [
        ("regression", 25),
        ("change", 4),
        ("improvement", 2),
    ]
    assert names["changed"].select("status", "status_now").rows().count(("passed", "failed")) == 10
    assert names["changed"].select("status", "status_now").rows().count(("failed", "passed")) == 1
    assert names["worse"].row(0) == ("v2", 8)


def test_hunt_a_regression_ends_at_the_claims() -> None:
    _, names = ran("hunt_a_regression")

    assert names["calls"].filter(tool="queryMysqlStatus").row(0) == ("queryMysqlStatus", 1, 0, None, None)
    assert names["moved"].select("claim_id", "verification_now", "tools", "tools_now").rows() == [
        ("c2", "supported", "queryMysqlStatus", "queryMetrics"),
        ("c4", "unsupported", "queryMysqlStatus", "queryMetrics"),
    ]


def test_verifier_reliability_counts_what_was_let_through() -> None:
    _, names = ran("verifier_reliability")

    assert names["outcomes"].filter(verdict="PASS").rows() == [("PASS", "passed", 15), ("PASS", "failed", 8)]
    assert names["precision"] == pytest.approx(15 / 23)
    assert names["own_misses"]["check"].to_list() == [
        "raw-protocol-leak",
        "gatekeeper-verdict-conflict",
        "verdict-allowed",
        "root-cause-keywords",
        "evidence-coverage",
        "forbidden-confirmed-claims",
        "evidence-coverage",
    ]
