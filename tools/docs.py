"""Writes the generated pages of docs/: `python -m tools.docs`, or with `--check` only tells which are out of step.

A page is a template in tools/pages/ with `{{name}}` where something generated goes. In the README, the excerpt of a
report is kept in step too.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools.api_page import api_sections
from tools.case_page import case_tables
from tools.checks_page import check_sections, checks_table
from tools.cli_page import help_pages
from tools.excerpt import with_excerpt
from tools.formats_page import format_sections, formats_table
from tools.frames_page import frame_sections
from tools.messages import base_files, message_sections
from tools.trace_page import trace_tables

ROOT: Final = Path(__file__).parents[1]
TEMPLATES: Final = ROOT / "tools/pages"
HEAD: Final = "<!-- Written by `make docs`; what is not from the code stands in tools/pages/{page}. -->\n\n"

PIECES: Final[Mapping[str, Callable[[], str]]] = {
    "checks": checks_table,
    "check-sections": lambda: check_sections(ROOT / "fixtures/checks"),
    "trace-tables": trace_tables,
    "case-tables": case_tables,
    "command-help": help_pages,
    "frames": frame_sections,
    "api": api_sections,
    "formats": formats_table,
    "format-sections": format_sections,
    "base-files": base_files,
    "messages": message_sections,
}
_PIECE: Final = re.compile(r"\{\{([a-z-]+)\}\}")


def pages() -> dict[str, str]:
    """Every generated page by its path, as it should be."""
    found = {
        f"docs/{page}": HEAD.format(page=page)
        + _PIECE.sub(lambda piece: PIECES[piece[1]](), template.read_text("utf-8"))
        for template in sorted(TEMPLATES.rglob("*.md"))
        for page in [template.relative_to(TEMPLATES).as_posix()]
    }
    readme = ROOT / "README.md"
    if readme.is_file():
        found["README.md"] = with_excerpt(readme.read_text("utf-8"), ROOT)
    return found


def out_of_step(wanted: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """The pages that are absent or differ."""
    return [
        page
        for page, text in wanted.items()
        if not (root / page).is_file() or (root / page).read_bytes() != text.encode()
    ]


def main() -> int:
    """Write or check the pages; the exit code is 1 where a check finds one out of step."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a page is out of step")
    checking: bool = parser.parse_args().check
    wanted = pages()
    stale = out_of_step(wanted, ROOT)
    if checking and stale:
        print("Out of step with the code:", *(f"  {page}" for page in stale), "Run: make docs", sep="\n")
        return 1
    for page in stale:
        place = ROOT / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(wanted[page].encode())
        print(f"wrote {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
