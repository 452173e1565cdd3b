"""`report.html`: one file to hand to a person: what got worse, and every result explained."""

from pipeline.report.base import Writer
from pipeline.report.model import View


def render(view: View) -> bytes:
    """The report as one HTML file, UTF-8: no network, no further files, no script but its own."""
    # great_tables, which draws the figures, takes 0.2 s to load: nobody waits for it who wants no HTML.
    from pipeline.report.html.page import page

    return page(view)


WRITER = Writer(
    name="html",
    file="report.html",
    summary="one self-contained page to search, filter and open every case",
    render=render,
)
