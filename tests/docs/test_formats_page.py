"""The page of the trace formats says of each what it is, how it is recognised and where its fields are from."""

import pytest

from pipeline.sources.base import Format
from pipeline.sources.formats import formats
from tools.formats_page import format_sections, formats_table

SECTIONS = dict(part.split("\n", 1) for part in f"\n{format_sections()}".split("\n## ")[1:])


@pytest.mark.parametrize("entry", list(formats()), ids=formats().names)
def test_every_format_has_its_row_and_section(entry: Format) -> None:
    section = SECTIONS[entry.name]

    assert f"| [`{entry.name}`](#{entry.name}) | {entry.summary} |" in formats_table()
    assert (f"**Recognised by:** {entry.recognised_by}." in section) is bool(entry.recognised_by)
    assert [field for field in entry.fields if f"\n| `{field}` |" not in section] == []
    assert [ending for ending in entry.endings if f"`{ending}`" not in section] == []


@pytest.mark.parametrize("entry", list(formats()), ids=formats().names)
def test_every_format_says_more_than_its_summary(entry: Format) -> None:
    prose = [line for line in SECTIONS[entry.name].splitlines() if line and not line.startswith(("|", "**"))]

    assert len(" ".join(prose)) > len(entry.summary)


def test_the_native_fields_have_a_page_of_their_own() -> None:
    assert "[trace-format.md](trace-format.md)" in SECTIONS["native"]
