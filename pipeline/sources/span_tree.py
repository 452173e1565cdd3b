"""Spans of a trace as a tree: what all formats share that record a run as spans with parents.

Spans come unordered, twice, without their parents, without ends, and in loops. `grow` makes a tree of them all the
same and says what was odd; nothing here recurses, so a chain of any depth is walked.

The spans of one trace may stand anywhere in a file, so a file of spans is read whole before its first trace comes
out; `read_spans` bounds what it may take.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Final, Literal

import msgspec

from pipeline.sources.base import Document, ReadTrace, Trace, Unreadable, Usage, Warned
from pipeline.sources.json_text import ANY, decode_document
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

FILE_LIMIT: Final = 512 << 20
"""The most bytes of one file of spans; more is refused, for a part of a trace must not pass for the whole."""

NANOSECONDS_PER_MS: Final = 1_000_000

Kind = Literal["agent", "llm", "tool", "other"]

_INT64: Final = 2**63 - 1
_HEX: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{11}=|[A-Za-z0-9+/_-]{22}==")
_OK: Final = frozenset({"OK", "1"})
_ERROR: Final = frozenset({"ERROR", "2"})
_WHOLE: Final = re.compile(r"\d{1,18}(?:\.0+)?", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,18}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?", re.ASCII)

_SENTENCES: Final = {
    "duplicate-span": "{} span{s} exported more than once: each counts once, the finished one",
    "orphan-span": "the parents of {} span{s} are not in this file: they are read as roots",
    "span-cycle": "{} loop{s} of spans that are their own ancestors, cut open at the earliest span",
    "unfinished-span": "{} span{s} without an end: their durations are unknown",
}


class Span(msgspec.Struct, kw_only=True, gc=False):
    """One step of a run.

    Attributes:
        id: its own id; None where the format gives none: it then has no children.
        parent: the id of the span that it is part of, None for a root.
        trace: the id of its trace.
        name: its name.
        kind: `llm` for one call of a model, `tool` for one call of a tool, `agent` for a run of an agent (or of a
            workflow of calls), `other` for the rest. Decides what counts as the same usage recorded twice.
        start_ns: nanoseconds since 1970, None where unknown.
        end_ns: nanoseconds since 1970, None where unknown: it never ended.
        failed: whether it failed, None where the format does not say.
        error: why it failed, where that is said.
        status: its end state in the format's words.
        attributes: the format's own attributes, flat.
        events: the format's own events.
        data: anything else that the format keeps for itself.
        addition: these are only further events of the span with this id, which stands elsewhere.
    """

    id: str | None = None
    parent: str | None = None
    trace: str | None = None
    name: str = ""
    kind: Kind = "other"
    start_ns: int | None = None
    end_ns: int | None = None
    failed: bool | None = None
    error: str | None = None
    status: str | None = None
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    events: list[Any] = msgspec.field(default_factory=list)
    data: Any = None
    addition: bool = False

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds, None while either time is unknown."""
        if self.start_ns is None or self.end_ns is None:
            return None
        return (self.end_ns - self.start_ns) / NANOSECONDS_PER_MS


class Tree(msgspec.Struct, kw_only=True):
    """The spans of one trace.

    Attributes:
        spans: each span once, parents before children, siblings by time (those without a start last, in document
            order).
        above: for each of `spans` the index of its parent in `spans`, -1 for a root.
        roots: the spans without a parent here, by time.
        warned: what was odd, one warning for each kind.
    """

    spans: list[Span]
    above: list[int]
    roots: list[Span]
    warned: tuple[Warned, ...] = ()

    def by_time(self) -> list[Span]:
        """All spans by their start; one without a start stands where it does in the tree."""
        starts: list[int] = []
        for span in self.spans:
            before = starts[-1] if starts else -_INT64
            starts.append(before if span.start_ns is None else span.start_ns)
        # Sorting is stable, so parents stay before children that start with them.
        order = sorted(range(len(self.spans)), key=starts.__getitem__)
        return [self.spans[index] for index in order]

    def calls(self) -> list[Span]:
        """The calls of tools, by time."""
        return [span for span in self.by_time() if span.kind == "tool"]

    def top(self, matters: Callable[[Span], bool] | None = None) -> list[Span]:
        """The roots that the run is made of, by time.

        A span whose parent is missing counts only where there is no other root; where `matters` is given, so does a
        root without any span that matters at or below it.
        """
        roots = self.roots
        if matters is not None:
            below = self.has_descendant(matters)
            roots = [
                span
                for span, above, inside in zip(self.spans, self.above, below, strict=True)
                if above < 0 and (inside or matters(span))
            ] or self.roots
        return [span for span in roots if not span.parent] or roots

    def duration_ms(self, matters: Callable[[Span], bool] | None = None) -> float | None:
        """Milliseconds from the start of the first root to the end of the last; unknown while a root has no end.

        Args:
            matters: see `top`.
        """
        roots = self.top(matters)
        starts = [span.start_ns for span in roots if span.start_ns is not None]
        ends = [span.end_ns for span in roots if span.end_ns is not None]
        if not roots or len(starts) < len(roots) or len(ends) < len(roots):
            return None
        return (max(ends) - min(starts)) / NANOSECONDS_PER_MS

    def has_ancestor(self, wanted: Callable[[Span], bool]) -> list[bool]:
        """For each of `spans`, whether a span above it is wanted."""
        found = [False] * len(self.spans)
        for index, above in enumerate(self.above):
            found[index] = above >= 0 and (found[above] or wanted(self.spans[above]))
        return found

    def has_descendant(self, wanted: Callable[[Span], bool]) -> list[bool]:
        """For each of `spans`, whether a span below it is wanted."""
        found = [False] * len(self.spans)
        for index in range(len(self.spans) - 1, -1, -1):
            above = self.above[index]
            if above >= 0 and (found[index] or wanted(self.spans[index])):
                found[above] = True
        return found

    def usage(self, own: Callable[[Span], Usage | None]) -> Usage | None:
        """The sum of the usage of all calls of a model, each counted once.

        One call is often recorded by several spans, one around the other, and spans around several calls repeat
        their sum. So in each branch only the innermost span that states a figure counts. What happens in a tool or
        an agent that was started within a call of a model is no part of that call, and counts beside it.

        Args:
            own: what a span states, None for nothing.

        Returns:
            The sums, a figure being None where no span states it; None where no span states any.
        """
        stated = [own(span) for span in self.spans]
        for usage in stated:
            if usage is not None and usage.totalTokens is None:
                usage.totalTokens = _sum_of(usage)
        tokens = {
            name: self._innermost([getattr(usage, name, None) for usage in stated])
            for name in ("inputTokens", "outputTokens", "totalTokens")
        }
        costs = self._innermost([getattr(usage, "costUsd", None) for usage in stated])
        sums = {name: _bounded(sum(figures)) for name, figures in tokens.items() if figures}
        if not sums and not costs:
            return None
        # As decimals, which is how prices are written: 0.1 and 0.2 are 0.3.
        cost = float(sum(Fraction(str(figure)) for figure in costs)) if costs else None
        return Usage(**sums, costUsd=cost)

    def _innermost(self, figures: list[Any]) -> list[Any]:
        """The figures that no span further in states again."""
        # Whether one is stated below a span at all, and below it within the same call of a model.
        below, within = [False] * len(figures), [False] * len(figures)
        counted: list[Any] = []
        for index in range(len(figures) - 1, -1, -1):
            kind, above = self.spans[index].kind, self.above[index]
            own = figures[index] is not None
            if own and not (within[index] if kind == "llm" else below[index]):
                counted.append(figures[index])
            if above >= 0 and (own or below[index]):
                below[above] = True
                within[above] |= kind not in ("tool", "agent") and (own or within[index])
        return counted


def grow(spans: Iterable[Span]) -> Tree:
    """Make a tree of the spans of one trace, in whatever order they come.

    A span exported several times counts once, the finished one; a span whose parent is missing is a root; a loop is
    cut open at its earliest span. The result does not depend on the order, as far as times and ids tell spans apart.
    """
    odd: Counter[str] = Counter()
    kept = _once(spans, odd)
    kept.sort(key=_by_start)
    place = {span.id: index for index, span in enumerate(kept) if span.id is not None}
    children: list[list[int]] = [[] for _ in kept]
    above = [-1] * len(kept)
    roots: list[int] = []
    for index, span in enumerate(kept):
        odd["unfinished-span"] += span.end_ns is None and span.start_ns is not None
        parent = place.get(span.parent) if span.parent else None
        if parent is None:
            odd["orphan-span"] += bool(span.parent)
            roots.append(index)
        else:
            above[index] = parent
            children[parent].append(index)
    order = _walk(roots, children, [False] * len(kept))
    if len(order) < len(kept):
        seen = [False] * len(kept)
        for index in order:
            seen[index] = True
        for index in range(len(kept)):
            if not seen[index]:
                odd["span-cycle"] += 1
                start = _earliest_of_loop(index, above)
                children[above[start]].remove(start)
                above[start] = -1
                roots.append(start)
                order += _walk([start], children, seen)
        roots.sort()
        order = _walk(roots, children, [False] * len(kept))
    moved = {index: to for to, index in enumerate(order)}
    return Tree(
        spans=[kept[index] for index in order],
        above=[moved.get(above[index], -1) for index in order],
        roots=[kept[index] for index in roots],
        warned=tuple(
            Warned(path="$", kind=kind, message=sentence.format(odd[kind], s="s" * (odd[kind] != 1)))
            for kind, sentence in _SENTENCES.items()
            if odd[kind]
        ),
    )


def read_spans(
    documents: Iterable[Document],
    spans_of: Callable[[Any], Iterable[Span]],
    trace_of: Callable[[Tree], tuple[Trace, Iterable[Warned]]],
    matters: Callable[[Span], bool] | None = None,
    limit: int = FILE_LIMIT,
) -> Iterator[ReadTrace | Unreadable]:
    """Read a file of spans: documents to spans, spans to traces by their trace ids.

    Args:
        documents: all documents of one file.
        spans_of: the spans of one document, which is given as plain data; may raise `Refused`, which costs this
            document alone.
        trace_of: one trace of its tree, and what was odd about it beyond the tree; may raise `Refused`, which costs
            this trace alone.
        matters: whether a span is one of an agent, where files hold others too. Traces without one are left out, with
            a warning, unless the file has no other.
        limit: the most bytes that a file may have.

    Yields:
        The documents that could not be read; then the traces, in the order of their first spans in the file, each
        with the line of that span's document. Spans without a trace id belong to a trace of their document.
    """
    groups: dict[Any, tuple[list[Span], Document, Repairs]] = {}
    size = 0
    for number, document in enumerate(documents):
        size += len(document.data)
        if size > limit:
            refused = Refused(
                f"a file of spans is read whole, and this one is longer than {limit} bytes: "
                "write each trace to a file of its own",
                expected=f"up to {limit} bytes",
                found="more",
            )
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            return
        repairs = Repairs()
        try:
            spans = list(spans_of(decode_document(document.data, ANY, repairs)))
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
            continue
        for span in spans:
            group = groups.setdefault(span.trace or number, ([], document, Repairs()))
            group[0].append(span)
            if repairs:
                group[2].merge(repairs, "$")
                repairs = Repairs()
    kept = [group for group in groups.values() if not all(span.addition for span in group[0])]
    traces = len(kept)
    foreign: tuple[Warned, ...] = ()
    if matters is not None:
        kept = [group for group in kept if any(map(matters, group[0]))] or kept
        foreign = _foreign(traces - len(kept))
    for spans, document, repairs in kept:
        tree = grow(spans)
        try:
            trace, warned = trace_of(tree)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        else:
            yield ReadTrace(
                trace=trace,
                file=document.file,
                line=document.line,
                root=document.root,
                warned=(*repairs.warned(), *tree.warned, *warned, *foreign),
            )
            foreign = ()


def count(value: Any) -> int | None:
    """A count of tokens, written as a number or as text; None where it is no whole number from 0 on.

    >>> count(7), count("7"), count(7.0), count(-1), count("many"), count(True)
    (7, 7, 7, None, None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _INT64 else None


def amount(value: Any) -> float | None:
    """A sum of money, written as a number or as text; None where it is no finite number from 0 on.

    >>> amount("0.0021"), amount(0), amount(-1), amount("free")
    (0.0021, 0.0, None, None)
    """
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _INT64 else None


def outcome(code: Any) -> tuple[bool | None, str | None]:
    """Whether a status of OpenTelemetry says that a span failed, and the status in a word; not set says neither.

    >>> outcome("STATUS_CODE_ERROR"), outcome(1), outcome("StatusCode.UNSET")
    ((True, 'ERROR'), (False, 'OK'), (None, None))
    """
    word = str(code).upper().removeprefix("STATUSCODE.").removeprefix("STATUS_CODE_")
    if word in _ERROR:
        return True, "ERROR"
    return (False, "OK") if word in _OK else (None, None)


def hexadecimal(text: str | None) -> str | None:
    """A trace or span id in lower-case hexadecimal, whether it is written so, with 0x, or in base64.

    Any other text stays as it is; zeros and nothing are no id.

    >>> hexadecimal("0x1C03E258962AC874"), hexadecimal("HAPiWJYqyHQ="), hexadecimal("span-1")
    ('1c03e258962ac874', '1c03e258962ac874', 'span-1')
    """
    if not text:
        return None
    if match := _HEX.fullmatch(text):
        return match[1].lower() if match[1].strip("0") else None
    if _BASE64.fullmatch(text):
        try:
            return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True).hex()
        except binascii.Error:
            return text
    return text


def _foreign(left_out: int) -> tuple[Warned, ...]:
    if not left_out:
        return ()
    message = f"{left_out} other trace{'s' * (left_out != 1)} of this file without any step of an agent, left out"
    return (Warned(path="$", kind="trace-without-agent", message=message),)


def _once(spans: Iterable[Span], odd: Counter[str]) -> list[Span]:
    """Each span once: of several with one id the one that ended last, then the one that says most."""
    kept: dict[Any, Span] = {}
    additions: list[Span] = []
    for number, span in enumerate(spans):
        if span.addition:
            additions.append(span)
            continue
        # A number is no id, so spans without one never meet.
        key = number if span.id is None else span.id
        other = kept.get(key)
        if other is None:
            kept[key] = span
        else:
            odd["duplicate-span"] += 1
            kept[key] = max(other, span, key=_completeness)
    for addition in additions:
        if addition.id in kept:
            kept[addition.id].events += addition.events
    return list(kept.values())


def _completeness(span: Span) -> tuple[int, int, int]:
    return -_INT64 if span.end_ns is None else span.end_ns, len(span.attributes), len(span.events)


def _by_start(span: Span) -> tuple[bool, int]:
    return span.start_ns is None, span.start_ns or 0


def _walk(roots: list[int], children: list[list[int]], seen: list[bool]) -> list[int]:
    """The spans below and with the roots, parents first; marks them as seen."""
    order: list[int] = []
    waiting = roots[::-1]
    while waiting:
        index = waiting.pop()
        seen[index] = True
        order.append(index)
        waiting.extend(reversed(children[index]))
    return order


def _earliest_of_loop(index: int, above: list[int]) -> int:
    """The earliest span of the loop that the parents of a span lead into."""
    passed: set[int] = set()
    while index not in passed:
        passed.add(index)
        index = above[index]
    loop = [index]
    while above[loop[-1]] != index:
        loop.append(above[loop[-1]])
    # Spans stand by their start.
    return min(loop)


def _sum_of(usage: Usage) -> int | None:
    if usage.inputTokens is None or usage.outputTokens is None:
        return None
    return usage.inputTokens + usage.outputTokens


def _bounded(total: int) -> int | None:
    return total if total <= _INT64 else None
