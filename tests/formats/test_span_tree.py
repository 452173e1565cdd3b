"""Spans in any state as a tree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable, Usage, Warned
from pipeline.sources.span_tree import Kind, Span, Tree, amount, count, grow, read_spans

MS = 1_000_000


def span(
    name: str, parent: str | None = None, start: int | None = 0, end: int | None = 1, kind: Kind = "other"
) -> Span:
    return Span(
        id=name,
        parent=parent,
        name=name,
        kind=kind,
        start_ns=None if start is None else start * MS,
        end_ns=None if end is None else end * MS,
    )


def names(spans: list[Span]) -> list[str]:
    return [each.name for each in spans]


def kinds(tree: Tree) -> list[str]:
    return [warned.kind for warned in tree.warned]


SHAPES = {
    "nothing": ([], [], [], []),
    "children before parents": ([span("b", "a"), span("a")], ["a", "b"], ["a"], []),
    "siblings by time": ([span("a"), span("c", "a", 2, 3), span("b", "a", 1, 9)], ["a", "b", "c"], ["a"], []),
    "no start, last": ([span("a"), span("b", "a", None, None), span("c", "a", 1)], ["a", "c", "b"], ["a"], []),
    "a missing parent": ([span("a"), span("b", "gone", 1)], ["a", "b"], ["a", "b"], ["orphan-span"]),
    "two roots": ([span("b", None, 5, 6), span("a")], ["a", "b"], ["a", "b"], []),
    "its own parent": ([span("a", "a")], ["a"], ["a"], ["span-cycle"]),
    "a loop, and what hangs on it": (
        [span("a", "c", 3), span("b", "a", 1), span("c", "b", 2), span("d", "a", 0), span("root")],
        ["root", "b", "c", "a", "d"],
        ["root", "b"],
        ["span-cycle"],
    ),
    "two loops": (
        [span("a", "b", 1), span("b", "a", 2), span("c", "c", 0)],
        ["c", "a", "b"],
        ["c", "a"],
        ["span-cycle"],
    ),
    "exported twice": ([span("a"), span("a")], ["a"], ["a"], ["duplicate-span"]),
    "never ended": ([span("a", None, 0, None)], ["a"], ["a"], ["unfinished-span"]),
}


@pytest.mark.parametrize("spans, order, roots, odd", SHAPES.values(), ids=SHAPES)
def test_a_tree_grows_of_anything(spans: list[Span], order: list[str], roots: list[str], odd: list[str]) -> None:
    tree = grow(spans)
    assert (names(tree.spans), names(tree.roots), kinds(tree)) == (order, roots, odd)


def test_a_warning_counts() -> None:
    assert grow([span("a"), span("b", "x"), span("c", "y")]).warned == (
        Warned(
            path="$", kind="orphan-span", message="the parents of 2 spans are not in this file: they are read as roots"
        ),
    )


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_exports_the_finished_one_counts(turned: bool) -> None:
    begun, ended = span("a", None, 0, None), span("a", None, 0, 7)
    ended.attributes = {"answer": 42}
    tree = grow([ended, begun] if turned else [begun, ended])
    assert [(each.end_ns, each.attributes) for each in tree.spans] == [(7 * MS, {"answer": 42})]


def test_spans_without_an_id_are_never_one() -> None:
    assert len(grow([Span(name="a"), Span(name="a")]).spans) == 2


def test_an_addition_brings_its_events_to_its_span_and_is_no_span() -> None:
    tree = grow([Span(id="a", events=["more"], addition=True), span("a"), Span(id="x", events=["lost"], addition=True)])
    assert [(each.name, each.events) for each in tree.spans] == [("a", ["more"])]


DURATIONS = {
    "of the root": ([span("a", None, 1, 9), span("b", "a", 2, 30)], 8.0),
    "of several roots": ([span("a", None, 1, 4), span("b", None, 2, 9)], 8.0),
    "not of an orphan beside a root": ([span("a", None, 1, 4), span("b", "gone", 2, 9)], 3.0),
    "of orphans alone": ([span("a", "gone", 1, 4), span("b", "gone", 2, 9)], 8.0),
    "unknown while a root has no end": ([span("a", None, 1, 4), span("b", None, 2, None)], None),
    "unknown without a start": ([span("a", None, None, 4)], None),
    "negative is told as it is": ([span("a", None, 4, 1)], -3.0),
    "of nothing": ([], None),
}


@pytest.mark.parametrize("spans, duration", DURATIONS.values(), ids=DURATIONS)
def test_the_duration(spans: list[Span], duration: float | None) -> None:
    assert grow(spans).duration_ms() == duration


def test_a_duration_keeps_its_nanoseconds() -> None:
    tree = grow([Span(id="a", start_ns=1_796_054_127_171_460_262, end_ns=1_796_054_127_179_281_562)])
    assert tree.duration_ms() == 7.8213


def test_roots_that_do_not_matter_do_not_count() -> None:
    tree = grow([span("poll", None, 0, 90), span("run", None, 1, 4), span("tool", "run", 2, 3, "tool")])
    assert tree.duration_ms(lambda each: each.kind == "tool") == 3.0


def test_calls_stand_by_time_across_branches() -> None:
    tree = grow(
        [
            span("root"),
            span("one", "root", 1),
            span("late", "one", 9, 10, "tool"),
            span("two", "root", 2),
            span("early", "two", 3, 4, "tool"),
            span("timeless", "two", None, None, "tool"),
        ]
    )
    assert names(tree.calls()) == ["early", "timeless", "late"]


Stated = tuple[str, str | None, Kind, tuple[int, int] | None]
KINDS: tuple[Kind, ...] = ("llm", "tool", "agent", "other")
USAGE: dict[str, tuple[list[Stated], tuple[int, int] | None]] = {
    "nowhere": ([("a", None, "llm", None)], None),
    "one call recorded by three spans": (
        [
            ("agent", None, "agent", (5, 1)),
            ("call", "agent", "llm", (5, 1)),
            ("sdk", "call", "other", None),
            ("http", "sdk", "llm", (5, 1)),
        ],
        (5, 1),
    ),
    "a sum over two calls": (
        [("agent", None, "agent", (8, 3)), ("one", "agent", "llm", (5, 1)), ("two", "agent", "llm", (3, 2))],
        (8, 3),
    ),
    "a call beside a call recorded twice": (
        [
            ("agent", None, "agent", None),
            ("one", "agent", "llm", (5, 1)),
            ("two", "agent", "llm", (3, 2)),
            ("sdk", "two", "llm", (3, 2)),
        ],
        (8, 3),
    ),
    "an agent run by a tool within a call": (
        [
            ("call", None, "llm", (5, 1)),
            ("tool", "call", "tool", None),
            ("agent", "tool", "agent", (7, 7)),
            ("inner", "agent", "llm", (7, 7)),
        ],
        (12, 8),
    ),
    "the same, recorded twice": (
        [
            ("call", None, "llm", (5, 1)),
            ("sdk", "call", "llm", (5, 1)),
            ("tool", "call", "tool", None),
            ("inner", "tool", "llm", (7, 7)),
        ],
        (12, 8),
    ),
    "an agent alone": ([("agent", None, "agent", (5, 1))], (5, 1)),
}


@pytest.mark.parametrize("stated, expected", USAGE.values(), ids=USAGE)
def test_each_call_of_a_model_counts_once(stated: list[Stated], expected: tuple[int, int] | None) -> None:
    figures = {name: figure for name, _, _, figure in stated}
    tree = grow([span(name, parent, kind=kind) for name, parent, kind, _ in stated])

    def own(each: Span) -> Usage | None:
        figure = figures[each.name]
        return None if figure is None else Usage(inputTokens=figure[0], outputTokens=figure[1])

    usage = tree.usage(own)
    assert usage == (
        None
        if expected is None
        else Usage(inputTokens=expected[0], outputTokens=expected[1], totalTokens=sum(expected))
    )


def test_each_figure_is_summed_by_itself() -> None:
    stated = {"agent": Usage(costUsd=0.3), "one": Usage(inputTokens=5), "two": Usage(totalTokens=9, inputTokens=2)}
    tree = grow([span("agent", kind="agent"), span("one", "agent", kind="llm"), span("two", "agent", kind="llm")])
    assert tree.usage(lambda each: stated[each.name]) == Usage(inputTokens=7, totalTokens=9, costUsd=0.3)


def test_costs_add_up_as_they_are_written() -> None:
    stated = {"a": Usage(costUsd=0.1), "b": Usage(costUsd=0.2)}
    tree = grow([span("a", kind="llm"), span("b", kind="llm")])
    assert tree.usage(lambda each: stated[each.name]) == Usage(costUsd=0.3)


def test_a_sum_beyond_all_numbers_is_unknown() -> None:
    tree = grow([span("a", kind="llm"), span("b", kind="llm")])
    usage = tree.usage(lambda _: Usage(inputTokens=2**63 - 1, outputTokens=1))
    assert usage == Usage(outputTokens=2)


def test_a_chain_of_any_depth_is_walked() -> None:
    depth = 15_000
    chain = [
        span(str(n), str(n - 1) if n else None, n, n + 1, "llm" if n == depth - 1 else "other") for n in range(depth)
    ]
    tree = grow(reversed(chain))
    assert (len(tree.spans), tree.duration_ms(), kinds(tree)) == (depth, 1.0, [])
    assert tree.usage(lambda _: Usage(inputTokens=1, outputTokens=1)) == Usage(
        inputTokens=1, outputTokens=1, totalTokens=2
    )


def test_a_loop_of_any_length_is_cut_once() -> None:
    length = 15_000
    loop = [span(str(n), str((n + 1) % length), n, n + 1) for n in range(length)]
    tree = grow(loop)
    assert (len(tree.spans), names(tree.roots), kinds(tree)) == (length, ["0"], ["span-cycle"])


def forest() -> st.SearchStrategy[list[Span]]:
    """Spans with distinct starts, whose parents are any of them, none, or missing."""
    return st.lists(
        st.tuples(st.one_of(st.none(), st.integers(0, 13)), st.booleans(), st.sampled_from(KINDS)),
        max_size=12,
    ).map(
        lambda rows: [
            span(str(n), None if parent is None else str(parent), n, n + 1 if ended else None, kind)
            for n, (parent, ended, kind) in enumerate(rows)
        ]
    )


@given(forest(), st.randoms())
def test_the_order_of_the_spans_changes_nothing(spans: list[Span], random: Any) -> None:
    def own(each: Span) -> Usage:
        return Usage(inputTokens=2 ** int(each.name))

    shuffled = [*spans]
    random.shuffle(shuffled)
    one, two = grow(spans), grow(shuffled)
    assert (names(one.spans), one.above, one.warned) == (names(two.spans), two.above, two.warned)
    assert (one.usage(own), one.duration_ms()) == (two.usage(own), two.duration_ms())


@given(forest())
def test_every_span_stands_once_and_after_its_parent(spans: list[Span]) -> None:
    tree = grow(spans)
    assert sorted(names(tree.spans)) == sorted(names(spans))
    assert all(above < index for index, above in enumerate(tree.above))
    assert names(tree.roots) == [each.name for each, above in zip(tree.spans, tree.above, strict=True) if above < 0]


def read_all(
    lines: list[str], *, limit: int = 1 << 20, matters: bool = False
) -> tuple[list[tuple[Any, ...]], list[Unreadable]]:
    """Lines of span names with their trace's, such as `a1`, as (trace, its spans, its line, kinds of warnings)."""

    def spans_of(value: Any) -> list[Span]:
        return [
            Span(
                id=name,
                trace=name[0] if name[0] != "-" else None,
                name=name,
                end_ns=1,
                kind="llm" if name[-1] != "0" else "other",
            )
            for name in value
        ]

    def trace_of(tree: Tree) -> tuple[Trace, list[Warned]]:
        return Trace(traceId=tree.spans[0].trace, question=" ".join(sorted(names(tree.spans)))), []

    documents = [Document(line.encode(), "f.jsonl", number, 0) for number, line in enumerate(lines, 1)]
    rows = list(
        read_spans(documents, spans_of, trace_of, (lambda each: each.kind == "llm") if matters else None, limit)
    )
    traces = [row for row in rows if isinstance(row, ReadTrace)]
    return (
        [(row.trace.traceId, row.trace.question, row.line, [each.kind for each in row.warned]) for row in traces],
        [row for row in rows if isinstance(row, Unreadable)],
    )


def test_a_trace_is_put_together_from_all_lines_of_a_file() -> None:
    traces, unreadable = read_all(['["b1", "a1"]', '["a2"]', '["b2", "a3"]'])
    assert traces == [("b", "b1 b2", 1, []), ("a", "a1 a2 a3", 1, [])]
    assert unreadable == []


def test_spans_without_a_trace_id_belong_to_their_own_line() -> None:
    traces, _ = read_all(['["-1", "-2"]', '["-3"]'])
    assert traces == [(None, "-1 -2", 1, []), (None, "-3", 2, [])]


def test_a_broken_line_costs_no_other() -> None:
    traces, [broken] = read_all(['["a1"]', "{", '["a2"]'])
    assert traces == [("a", "a1 a2", 1, [])]
    assert (broken.fault.file, broken.fault.line) == ("f.jsonl", 2)


def test_a_file_beyond_the_limit_gives_no_trace_at_all() -> None:
    traces, [refused] = read_all(['["a1"]', '["a2"]', '["a3"]'], limit=15)
    assert traces == []
    assert (refused.fault.line, refused.fault.expected) == (3, "up to 15 bytes")


def test_traces_that_do_not_matter_are_left_out_with_a_warning() -> None:
    traces, _ = read_all(['["x0", "a1", "y0"]'], matters=True)
    assert traces == [("a", "a1", 1, ["trace-without-agent"])]


def test_but_not_where_there_is_no_other() -> None:
    traces, _ = read_all(['["x0", "y0"]'], matters=True)
    assert traces == [("x", "x0", 1, []), ("y", "y0", 1, [])]


FIGURES = {
    "a number": (7, 7, 7.0),
    "a text": ("7", 7, 7.0),
    "a whole float": (7.0, 7, 7.0),
    "a text of a float": ("7.0", 7, 7.0),
    "a fraction": (0.5, None, 0.5),
    "a text of a fraction": ("2.1e-05", None, 2.1e-05),
    "zero": (0, 0, 0.0),
    "true": (True, None, None),
    "negative": (-1, None, None),
    "a negative text": ("-1", None, None),
    "NaN": (float("nan"), None, None),
    "infinite": (float("inf"), None, None),
    "words": ("many", None, None),
    "thousands of digits": ("9" * 5000, None, None),
    "too large": (2**64, None, None),
    "nothing": (None, None, None),
    "a list": ([7], None, None),
}


@pytest.mark.parametrize("value, whole, money", FIGURES.values(), ids=FIGURES)
def test_figures_are_read_or_unknown(value: Any, whole: int | None, money: float | None) -> None:
    assert (count(value), amount(value)) == (whole, money)
