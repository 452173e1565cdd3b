"""The excerpt of a failing report in the README: made by really breaking a copy of a fixture."""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pipeline
from tools.markdown import fence

# As the README's own commands do it.
BROKEN_CASE: Final = "mysql-connection-pool-exhausted"
TOOL: Final = "queryMysqlStatus"
OTHER_TOOL: Final = "queryMetrics"
_REGION: Final = re.compile(r"(<!-- excerpt: [^>]*-->\n).*?(<!-- end of excerpt -->)", re.DOTALL)


def with_excerpt(readme: str, root: Path) -> str:
    """The README with the excerpt as the report says it now.

    Raises:
        LookupError: the README has no place for it.
    """
    text, places = _REGION.subn(lambda marks: f"{marks[1]}\n{fence(_excerpt(root), 'markdown')}\n\n{marks[2]}", readme)
    if places != 1:
        raise LookupError(f"the README has {places} places for the excerpt of a report, not 1")
    return text


def _excerpt(root: Path) -> str:
    """The headline, and what the report says of the broken case, its question and answer left out."""
    with tempfile.TemporaryDirectory(prefix="excerpt-") as folder:
        traces = shutil.copytree(root / "fixtures/traces", Path(folder) / "traces")
        fixture = traces / f"{BROKEN_CASE}.json"
        fixture.write_text(fixture.read_text("utf-8").replace(TOOL, OTHER_TOOL), "utf-8")
        pipeline.evaluate(root / "cases", traces, out=Path(folder) / "out")
        report = (Path(folder) / "out/report.md").read_text("utf-8")
    headline = next(line for line in report.splitlines() if "**FAIL**" in line)
    section = next(part for part in re.split(r"(?m)^(?=#+ )", report) if BROKEN_CASE in part.split("\n")[0])
    heading, *lines = section.splitlines()
    said = [line for line in lines if line.startswith("- ") and not line.startswith("- answer")]
    return "\n".join([headline, "", heading, "", *said])
