"""One small run that shows everything a report can hold, for all tests of the writers."""

from pathlib import Path

import pytest

import pipeline

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def golden_run() -> pipeline.Run:
    """A passed, a failed, a hostile, a known, a broken and a missing case, trials, odd inputs and strays."""
    with pytest.MonkeyPatch.context() as patch:
        # A release changes no golden file.
        patch.setattr("pipeline.run.__version__", "1.2.3")
        return pipeline.evaluate(GOLDEN / "cases.yaml", GOLDEN / "traces")


@pytest.fixture(scope="session")
def golden_baseline(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Run:
    """The same cases before: what fails now passed, and the other way round."""
    folder = tmp_path_factory.mktemp("before")
    for file in (GOLDEN / "traces").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "passes.json").rename(folder / "leaks.json")
    (folder / "missing.json").write_bytes((folder / "known-failure.json").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.run.__version__", "1.2.2")
        return pipeline.evaluate(GOLDEN / "cases.yaml", folder)
