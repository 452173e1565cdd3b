"""Whatever text goes into a page, it stays where it was put."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.markdown import anchor, code, fence, table

BAR = re.compile(r"(?<!\\)\|")


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_row_is_one_line_with_as_many_cells_as_were_given(cells: list[str]) -> None:
    clean = [cell.replace("\\", "/") for cell in cells]
    lines = table(["x"] * len(cells), [clean]).split("\n")

    assert len(lines) == 3
    assert len(BAR.findall(lines[2])) == len(cells) + 1


@given(st.text(alphabet="`a \n"))
def test_nothing_ends_a_fence_but_its_own_end(text: str) -> None:
    first, *body, last = fence(text).split("\n")

    assert first == last == "`" * len(first)
    assert all(first not in line for line in body)


@pytest.mark.parametrize(
    "heading, link",
    [
        pytest.param("How text is compared", "#how-text-is-compared", id="words"),
        pytest.param("`diagnosis-eval baseline save`", "#diagnosis-eval-baseline-save", id="code"),
        pytest.param("What is refused?", "#what-is-refused", id="punctuation"),
    ],
)
def test_links_to_headings(heading: str, link: str) -> None:
    assert anchor(heading) == link


def test_code_with_back_ticks() -> None:
    assert [code("a"), code("a`b"), code("")] == ["`a`", "`` a`b ``", ""]
