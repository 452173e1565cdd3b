"""What the site needs beyond the pages: hooks of MkDocs, named in mkdocs.yml."""

import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
# A file of the repository that pages link to, and the page that it becomes.
CONTRIBUTING: Final = ("CONTRIBUTING.md", "contributing.md")
_FROM_DOCS: Final = re.compile(r"\]\(docs/")
_TO_ROOT: Final = re.compile(rf"\]\(((?:\.\./)+){re.escape(CONTRIBUTING[0])}")
_CELL: Final = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_CODE: Final = re.compile(r"<code>[^<]*</code>")


def on_files(files: Any, *, config: Any) -> Any:
    """Make a page of CONTRIBUTING.md, which stands outside docs/."""
    from mkdocs.structure.files import File

    source, page = CONTRIBUTING
    text = _FROM_DOCS.sub("](", (ROOT / source).read_text("utf-8"))
    files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to CONTRIBUTING.md lead to its page: one folder less far up."""
    return _TO_ROOT.sub(lambda found: f"]({found[1].removeprefix('../')}{CONTRIBUTING[1]}", markdown)


def on_page_content(html: str, **_: Any) -> str:
    r"""A bar in code in a table is written `\|` for code hosts; here the backslash would show."""
    return _CELL.sub(lambda cell: _CODE.sub(lambda code: code[0].replace("\\|", "|"), cell[0]), html)
