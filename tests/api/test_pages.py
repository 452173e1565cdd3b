"""The pages for analysts and for large inputs: their code runs, and their figures and words are the program's."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import pipeline as de
from pipeline.engines.choose import POOL_BYTES, SHARD_RESULTS
from pipeline.engines.dask import SETTINGS
from pipeline.sources.shards import SHARD_BYTES, SHARD_FILES
from tools import api_page
from tools.command import say

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
SCALE = (DOCS / "eval/at-scale.md").read_text("utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text("utf-8")) if found == language]


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "page, said",
    [
        pytest.param(
            "eval/notebooks.md",
            ("mysql-connection-pool-exhausted", "case-status", "True ['color', 'tooltip', 'x', 'y']"),
            id="notebooks.md",
        ),
        pytest.param("reference/api.md", ("0.964286", "tool-call-budget"), id="api.md"),
    ],
)
def test_the_python_of_a_page_runs(
    page: str, said: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "__main__"}
    with pl.Config(tbl_rows=-1, fmt_str_lengths=100, tbl_width_chars=200):
        for block in blocks(DOCS / page, "python"):
            exec(compile(block, page, "exec"), names)  # noqa: S102 - our own page

    shown = capsys.readouterr().out
    assert [text for text in said if text not in shown] == []


def test_the_page_of_the_api_has_every_public_name() -> None:
    page = (DOCS / "reference/api.md").read_text("utf-8")
    modules = {name: getattr(de, name) for name in ("frames", "tables", "plots")}
    single = [name for name in de.__all__ if name not in modules and name != "__version__"]
    functions = [f"{module}.{name}" for module, loaded in modules.items() for name in api_page.public_functions(loaded)]

    assert [name for name in single if f"\n### {name}\n" not in page] == []
    assert [name for name in functions if f"\n| `{name}(" not in page] == []
    assert [name for name in modules if f"\n## `{name}`\n" not in page] == []


def test_the_page_of_the_api_leaves_no_argument_undescribed() -> None:
    """Every argument of a function with a section of its own has its entry there."""
    page = (DOCS / "reference/api.md").read_text("utf-8")
    (section,) = re.findall(r"(?ms)^### evaluate$(.*?)^### ", page)
    signature = BLOCK.findall(section)[0][1]
    arguments = re.findall(r"(?m)^    (\w+):", signature)

    assert len(arguments) > 10
    assert [name for name in arguments if f"\n- `{name}`: " not in section] == []


def test_every_frame_of_the_package_is_on_the_notebooks_page() -> None:
    page = (DOCS / "eval/notebooks.md").read_text("utf-8")
    functions = api_page.public_functions(de.frames)

    assert [name for name in functions if f"`de.frames.{name}`" not in page and f"`{name}`" not in page] == []


def test_every_notebook_is_on_the_notebooks_page() -> None:
    page = (DOCS / "eval/notebooks.md").read_text("utf-8")
    assert re.findall(r"\| `notebooks/(\w+)\.py`", page) == [
        "one_run",
        "compare_branches",
        "hunt_a_regression",
        "verifier_reliability",
    ]


def flat(settings: Mapping[str, Any], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        name = f"{above}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, dict) else {name: str(value)}
    return found


WANTED = {name: str(value) for name, value in SETTINGS.items()}


def test_the_settings_of_a_scheduler_are_those_that_the_engine_needs() -> None:
    settings, _ = (yaml.safe_load(block) for block in blocks(DOCS / "eval/at-scale.md", "yaml"))
    table = dict(re.findall(r"(?m)^\| `(distributed\.[\w.-]+)` \| ([^|]+) \|", SCALE))

    assert flat(settings) == WANTED
    assert {name: value.strip() for name, value in table.items()} == WANTED


def test_the_manifest_has_the_same_settings() -> None:
    _, manifest = (yaml.safe_load(block) for block in blocks(DOCS / "eval/at-scale.md", "yaml"))
    containers = [manifest["spec"][part]["spec"]["containers"][0] for part in ("scheduler", "worker")]
    given = {one["name"]: one["value"] for container in containers for one in container["env"]}

    def variable(setting: str) -> str:
        # What Dask reads from the environment; a worker's own process needs no nanny to have its threads counted.
        if setting.startswith("distributed.nanny.pre-spawn-environ."):
            return setting.rpartition(".")[2]
        return "DASK_" + setting.upper().replace(".", "__").replace("-", "_")

    assert given == {variable(name): value for name, value in WANTED.items()}
    assert [container["args"][:2] for container in containers] == [["dask", "scheduler"], ["dask", "worker"]]


def test_the_figures_of_the_shards_are_the_programs() -> None:
    assert (SHARD_BYTES, SHARD_FILES, POOL_BYTES, SHARD_RESULTS) == (16 << 20, 2_000, 48 << 20, ".shards")
    assert [text for text in ("about 16 MiB", "up to 2,000 small files", "48 MiB or more") if text not in SCALE] == []


def test_the_options_are_the_programs() -> None:
    said = say("run --help").stdout
    commands = re.findall(r"diagnosis-eval run [^\n]*(?:\\\n[^\n]*)*", SCALE)
    options = {option for command in commands for option in re.findall(r"--[\w-]+", command)}

    assert options >= {"--jobs", "--engine", "--address", "--resume", "--out", "--traces"}
    assert [option for option in sorted(options) if option not in said] == []


def test_the_messages_of_the_troubleshooting_page_are_the_programs() -> None:
    known = words((DOCS / "eval/errors.md").read_text("utf-8"))
    page = DOCS / "eval/troubleshooting.md"
    quoted = [words(block) for block in blocks(page, "text")]

    assert len(quoted) >= 10
    assert [message for message in quoted if message not in known] == []
    assert len(re.findall(r"(?m)^## \d+\. ", page.read_text("utf-8"))) == 10
