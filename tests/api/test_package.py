"""`import pipeline as de`: costs nothing, and its names are what they say, whatever was imported before."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import pipeline as de

ROOT = Path(__file__).parents[2]
HEAVY = ("altair", "great_tables", "marimo", "msgspec", "polars", "pyarrow")


def python(code: str) -> Sequence[str]:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_the_import_loads_nothing_heavy() -> None:
    assert python(f"import sys, pipeline; print(*[name for name in {HEAVY} if name in sys.modules])") == []


def test_frames_and_charts_load_no_tables_and_no_charts_until_they_are_drawn() -> None:
    code = "import sys, pipeline as de; de.frames, de.tables, de.plots; print(*[n for n in {} if n in sys.modules])"
    assert python(code.format(("altair", "great_tables"))) == []


def test_every_public_name_can_be_had_first() -> None:
    code = """
import importlib, sys, pipeline
for name in pipeline.__all__:
    for loaded in [one for one in sys.modules if one.partition(".")[0] == "pipeline"]:
        del sys.modules[loaded]
    fresh = importlib.import_module("pipeline")
    print(name, getattr(fresh, name) is not None)
"""
    assert python(code) == [word for name in de.__all__ for word in (name, "True")]


def test_every_public_name_is_completed_before_it_is_loaded() -> None:
    code = "import pipeline; print(*[name for name in pipeline.__all__ if name not in dir(pipeline)])"
    assert python(code) == []


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", id="first of all"),
        pytest.param("import pipeline.diff", id="after the module of that name"),
        pytest.param("import pipeline; pipeline.evaluate", id="after evaluate, which loads that module"),
        pytest.param("from pipeline.diff import compare", id="after a name of that module"),
    ],
)
def test_diff_is_the_function(before: str) -> None:
    assert python(f"{before}\nimport pipeline\nprint(type(pipeline.diff).__name__)") == ["function"]


def test_modules_are_modules() -> None:
    assert [type(one) for one in (de.frames, de.tables, de.plots)] == [ModuleType] * 3
    assert type(de.evaluate) is FunctionType


def test_an_unknown_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"^module 'pipeline' has no attribute 'evaluat'$"):
        _ = de.evaluat
