"""Hostile text stays text: in every place of a page it reads as it is, and becomes nothing else."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.report.markdown_text import code, excerpt, inline, table, visible

JOINER = "\u2060"
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])

# What Markdown, HTML, code hosts and terminals make something of.
PIECES = [
    *("`", "``", "```", "*", "**", "_", "__", "~~", "|", "\\", "\\|", "[x](y)", "![x](y)", "[ ] ", "[^1]", "[!NOTE]"),
    *("<b>", "</details>", "<!--", "-->", "<script>", "&amp;", "&#124;", "&", "<https://e.example>", "<a@e.example>"),
    *(
        "https://e.example/x",
        "HTTP://e.example",
        "www.e.example",
        "_https://e.example",
        "ftp://e",
        "mailto:a@e.example",
    ),
    *("xmpp:a@e.example", "a@e.example", "@team", "#12", "GH-12", "gh-1", "o/r#1", "o/r@1a2b3c4", "$x$", "$$", ":+1:"),
    *(
        "# ",
        "- ",
        "+ ",
        "1. ",
        "1) ",
        "12.5",
        "=",
        "---",
        "===",
        "> ",
        "    ",
        "\n",
        "\n\n",
        "\r",
        "\t",
        "\u2028",
        "\xa0",
    ),
    *("\x1b[31m", "\x1b]8;;x\x07", "\x00", "\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\ud800", "\U000e0041"),
    *("a", "b ", " c", "支付", "é", "👍"),
]
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)

# Where the report puts text, and what stands around it there.
PLACES = {
    "paragraph": "{}",
    "item": "- {}",
    "item after words": "- **check**: {}",
    "quote": "> {}",
    "heading": "# Evaluation of {}",
    "cell": "| a | b |\n| --- | --: |\n| {} | x |",
    "only cell": "| a |\n| --- |\n| {} |",
}
AROUND = {"item after words": "check: ", "heading": "Evaluation of ", "cell": "abx", "only cell": "a"}


def leaves(tokens: list[Token]) -> list[Token]:
    return [leaf for token in tokens for leaf in (leaves(token.children) if token.children else [token])]


def shape(markdown: str) -> list[str]:
    """What a page is made of, apart from its words."""
    return [
        token.type for token in leaves(MARKDOWN.parse(markdown)) if token.type not in {"text", "code_inline", "inline"}
    ]


def words(markdown: str) -> str:
    return "".join(token.content for token in leaves(MARKDOWN.parse(markdown)))


@pytest.mark.parametrize("place", PLACES)
@settings(deadline=None)
@given(text=HOSTILE.filter(visible))
@example(text="a|b")
@example(text="\\|")
@example(text="-")
@example(text="1. one")
@example(text="[ ] task")
def test_text_reads_as_it_is_and_is_nothing_else(place: str, text: str) -> None:
    template = PLACES[place]
    for escape in (inline, code):
        shown = template.format(escape(text))
        assert shape(shown) == shape(template.format("x"))
        around = AROUND.get(place, "")
        expected = around[:2] + visible(text) + around[2:] if place == "cell" else around + visible(text)
        assert words(shown).replace(JOINER, "") == expected


@settings(deadline=None)
@given(HOSTILE)
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert shown == " ".join(shown.split())


@settings(deadline=None)
@given(HOSTILE, st.integers(1, 20))
def test_visible_text_is_cut_with_a_mark(text: str, limit: int) -> None:
    plain = " ".join(re.sub(r"[^ -~]", "x", text).split())
    shown = visible(plain, limit)
    assert shown == plain if len(plain) <= limit else shown == plain[:limit].rstrip() + "…"


@settings(deadline=None)
@given(HOSTILE)
def test_code_hosts_find_nothing_to_link(text: str) -> None:
    # They look at the text that readers see, so that no escape helps.
    seen = words(inline(text))
    assert re.findall(r"@\w|#\d|\bgh-\d|\w://|www\.|mailto:\w|xmpp:\w", seen, re.IGNORECASE) == []


@settings(deadline=None)
@given(HOSTILE)
def test_what_is_code_holds_no_joiner(text: str) -> None:
    shown = code(text)
    assert not shown.startswith("`") or shown == f"`{text}`"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("searchLogs", "`searchLogs`"),
        ("sha256:12ab", "`sha256:12ab`"),
        ("支付", "`支付`"),
        ("a b", "`a b`"),
        ("<b>@x#1\\", "`<b>@x#1\\`"),
        ("a`b", "a\\`b"),
        ("a|b", "a\\|b"),
        (" a", "a"),
        ("a\u202eb", "a\\\\u202eb"),
        ("", ""),
    ],
)
def test_code(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    "answer, expected",
    [
        pytest.param("## Root cause\nThe pool.", "Root cause: The pool.", id="heading"),
        pytest.param("# 根因：\n连接池", "根因： 连接池", id="heading with a colon of its own"),
        pytest.param("### Closed ###\nx", "Closed: x", id="closed heading"),
        pytest.param("#12 is open", "\\#&#8288;12 is open", id="no heading"),
        pytest.param("**Bold**, __bold__, *thin*, ~~gone~~", "Bold, bold, thin, gone", id="emphasis"),
        pytest.param("`code` and ``co de``", "code and co de", id="code"),
        pytest.param("snake_case_name and 2 * 3 * 4", "snake\\_case\\_name and 2 \\* 3 \\* 4", id="no emphasis"),
        pytest.param("see [the log](https://e.example/x)", "see the log", id="link"),
        pytest.param("![chart](https://e.example/x.png)", "chart", id="image"),
        pytest.param("- one\n* two\n+ [x] three\n1. four", "• one • two • three 1. four", id="list"),
        pytest.param("> quoted\n>> twice", "quoted twice", id="quote"),
        pytest.param("```sql\nSELECT 1\n```\nafter", "SELECT 1 after", id="fence"),
        pytest.param("a\n\n---\n\nb\n***\nc", "a b c", id="rules"),
        pytest.param("| a | b |\n| --- | :-: |\n| 1 | 2 |", "\\| a \\| b \\| \\| 1 \\| 2 \\|", id="table"),
        pytest.param("**never closed", "\\*\\*never closed", id="no pair"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_an_excerpt_takes_the_markdown_off(answer: str, expected: str) -> None:
    assert excerpt(answer, 200) == f"“{expected}”"


def test_an_excerpt_is_cut_with_a_mark() -> None:
    assert excerpt("one two three", 8) == "“one two…”"


def test_an_excerpt_says_that_the_answer_goes_on_beyond_what_it_looked_at() -> None:
    assert excerpt("#" * 5000 + " x", 10) == "“" + "\\#" * 10 + "…”"
    assert excerpt("x\n" + "\n" * 5000 + "y", 10) == "“x…”"


@settings(deadline=None)
@given(HOSTILE)
def test_an_excerpt_is_text_and_nothing_else(answer: str) -> None:
    assert shape(f"- answer: {excerpt(answer, 30)}") == shape("- answer: x")


def test_a_table_aligns_its_columns() -> None:
    assert table(("a", "b", "c"), [("1", "2", "3")], "lr") == ["| a | b | c |", "| --- | --: | --- |", "| 1 | 2 | 3 |"]
