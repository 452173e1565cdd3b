import doctest
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import comparison, page, suite
from benchmarks.peers import promptfoo
from benchmarks.suite import PEERS, parse_sizes, plan
from benchmarks.workspace import REPOSITORY, Workspace

QUICK = [
    "start/suite",
    "limits/duckdb/1k",
    "limits/simdjson/1k",
    "limits/join/100k",
    "peers/pydantic-evals/1k",
    "peers/promptfoo/1k",
    "peers/agent-trace-eval/1k",
    "peers/agent-reliability-harness/1k",
    "peers/kalibra/1k",
    "peers/agent-run-diff/1k",
    "processes/jobs/1k",
    "processes/single-threaded-jobs/1k",
    "processes/dask/1k",
    "growth/run/1k",
    "growth/run/10k",
]


def keys(*sizes: int) -> list[str]:
    return [planned.key for planned in plan(sizes)]


def test_the_quick_plan() -> None:
    assert keys(1_000) == QUICK


def test_the_usual_plan_compares_a_million_rows_and_grows_to_a_hundred_thousand_traces() -> None:
    usual = keys(1_000, 10_000)

    assert [key for key in usual if key.startswith(("limits/join", "growth"))] == [
        "limits/join/100k",
        "limits/join/1M",
        "growth/run/1k",
        "growth/run/10k",
        "growth/run/100k",
    ]


def test_peers_are_spared_the_largest_sizes() -> None:
    full = keys(10_000, 100_000)

    assert [key for key in full if key.startswith("peers") and not key.endswith("/10k")] == [
        "peers/pydantic-evals/100k",
        "peers/kalibra/100k",
        "peers/agent-run-diff/100k",
    ]
    assert [key for key in keys(1_000_000) if key.startswith("peers")] == []
    assert "growth/run/1M" in full


def test_no_key_is_used_twice() -> None:
    full = keys(1_000, 10_000, 100_000)

    assert len(set(full)) == len(full)


def test_only_the_start_and_the_diff_have_targets() -> None:
    targets = {planned.key: planned.target for planned in plan([10_000]) if planned.target is not None}

    assert targets == {"start/suite": 3.0, "limits/join/1M": 2.0}


@pytest.mark.parametrize("text", ["", "0", "ten", "1g", "-1", "1k;2k", "k", "1.5k"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a size is a number such as 500, 10k or 1M, not "):
        parse_sizes(text)


def test_every_peer_is_pinned() -> None:
    asked = (REPOSITORY / "requirements/bench.in").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in (REPOSITORY / "requirements/bench.txt").read_text("utf-8").split()}

    packages = {peer.PACKAGE for peer in PEERS} - {promptfoo.PACKAGE}
    assert packages <= set(asked)
    assert packages <= pinned


def test_inputs_are_made_once(tmp_path: Path) -> None:
    place = Workspace(root=tmp_path / "work", python=Path(sys.executable), peers=tmp_path)
    place.clear()
    made: list[Path] = []

    folders = {place.made("name", made.append) for _ in range(3)}

    assert (len(made), folders) == (1, {tmp_path / "work/name"})


def test_inputs_that_were_left_half_made_are_made_again(tmp_path: Path) -> None:
    place = Workspace(root=tmp_path / "work", python=Path(sys.executable), peers=tmp_path)
    place.clear()

    def stops(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place.made("name", stops)

    folder = place.made("name", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


@pytest.mark.parametrize("module", [comparison, page, suite], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_hold(module: ModuleType) -> None:
    found = doctest.testmod(module)

    assert (found.failed, found.attempted > 0) == (0, True)
