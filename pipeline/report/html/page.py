"""The page put together: template, style, script and data in one file."""

import hashlib
import re
from base64 import b64encode
from importlib.resources import files
from typing import Final

from pipeline.report.html.data import data
from pipeline.report.html.markup import name
from pipeline.report.html.overview import foot, head, overview
from pipeline.report.model import View

# One script of several files, in this order; each uses only what stands before it.
SCRIPTS: Final = ("show.js", "index.js", "filters.js", "table.js", "explanation.js", "main.js")
STYLES: Final = ("page.css", "explanation.css", "print.css")

_SLOT: Final = re.compile(rb"\{\{(\w+)\}\}")
# A closing tag, a comment, and what old scripts take for line ends: none of them may stand in a data block as it is.
_ESCAPES: Final = {
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    b"\xe2\x80\xa8": rb"\u2028",
    b"\xe2\x80\xa9": rb"\u2029",
}


def page(view: View) -> bytes:
    """The report as HTML, UTF-8; the same view gives the same bytes."""
    script = b"\n".join(asset(file) for file in SCRIPTS)
    shown = data(view)
    blocks = [json_block("index", shown.index)]
    blocks += [json_block(f"block-{number}", block) for number, block in enumerate(shown.blocks)]
    slots = {
        b"title": f"{'PASS' if view.holds else 'FAIL'}: {name(view.report.suite)}".encode(),
        # Only this very script may run: whatever a trace smuggles in is refused by the browser, too.
        b"policy": policy(script).encode(),
        b"style": b"\n".join(asset(file) for file in STYLES),
        b"head": head(view).encode(),
        b"overview": overview(view).encode(),
        b"foot": foot(view).encode(),
        b"data": b"\n".join(blocks),
        b"script": script,
    }
    # In one pass, so that nothing put in is taken for a slot.
    return _SLOT.sub(lambda slot: slots[slot[1]], asset("page.html"))


def policy(script: bytes) -> str:
    """The Content-Security-Policy of a page with that script: no network, and no other script."""
    digest = b64encode(hashlib.sha256(script).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def json_block(block_id: str, content: bytes) -> bytes:
    r"""JSON in a script element that no browser runs, and that no text in it can close.

    >>> print(json_block("index", b'["</script>"]').decode())
    <script type="application/json" id="index">["\u003c/script\u003e"]</script>
    """
    for character, escape in _ESCAPES.items():
        content = content.replace(character, escape)
    return b'<script type="application/json" id="' + block_id.encode() + b'">' + content + b"</script>"


def asset(file: str) -> bytes:
    """One of the files beside this module."""
    return (files("pipeline.report.html") / file).read_bytes()
