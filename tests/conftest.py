"""What holds for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more of the machine than of the code: time is measured by the benchmark, never here.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """The folder of real traces, which lies outside the repository."""
    shared = os.environ.get("DIAGNOSIS_EVAL_SHARED")
    folder = (Path(shared) if shared else Path(__file__).parents[1].parent / "shared") / "traces"
    if not folder.is_dir():
        pytest.skip("the real traces are not on this machine: set DIAGNOSIS_EVAL_SHARED to the folder that holds them")
    return folder
