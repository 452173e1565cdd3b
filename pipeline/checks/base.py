"""What a check is, and the facts it may look at.

A check is one function, decorated with `@check`, in one of the modules of this package. It receives the `Facts` of a
batch and returns a `Judgement`: expressions that decide all traces at once. Its docstring is its page in the docs.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import msgspec
import polars as pl

from pipeline import text
from pipeline.flatten.suite import SuiteFrames
from pipeline.flatten.traces import TraceFrames
from pipeline.redact import redact_frame, redacted_part
from pipeline.registry import Registry
from pipeline.schemas import ENGINE

# Names and values quoted from a trace in a message are cut here; lists of them after so many entries.
SHOWN_CHARACTERS: Final = 120
SHOWN_ENTRIES: Final = 20
LEFT_OUT: Final = "(text left out)"

UNSUPPORTED: Final = ("unsupported", "contradicted")
NAMELESS: Final = "a call without a name"


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says of every row, as expressions over the row's columns.

    The rows have the columns of `schemas.Traces`, `schemas.Audit` and `schemas.Cases`, and those of `facts`.

    Attributes:
        asked: False where the case does not ask for this check: the outcome is `skip`.
        holds: True where the row passes. False *and null* fail: what is unknown never passes.
        expected: text, what the case asks for; evaluated for failing rows only.
        observed: text, what the trace shows; evaluated for failing rows only.
        message: text, one sentence that a person can act on; evaluated for failing rows only.
        facts: further columns, at most one line per `row`, of names that no other check uses; joined to the rows.
            Texts in them that a sentence cuts are whole or `Facts.redacted`.
        details: given the numbers of the failing rows, columns for the sentences alone, as `facts`: most rows fail
            nothing.
    """

    asked: pl.Expr
    holds: pl.Expr
    expected: pl.Expr
    observed: pl.Expr
    message: pl.Expr
    facts: pl.LazyFrame | None = None
    details: Callable[[pl.Series], pl.LazyFrame] | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A registered check.

    Attributes:
        name: its stable kebab-case id.
        serves: the requirement or section it serves.
        meaning: the first line of its docstring.
        page: its whole docstring.
        judge: the function.
    """

    name: str
    serves: str
    meaning: str
    page: str
    judge: "Callable[[Facts], Judgement]"


CHECKS: Registry[Check] = Registry("check")


def check(
    name: str,
    *,
    serves: str,
) -> "Callable[[Callable[[Facts], Judgement]], Callable[[Facts], Judgement]]":
    """Register a function as a check.

    Args:
        name: the check's stable kebab-case id.
        serves: the requirement it serves, such as `R03`.
    """

    def register(function: "Callable[[Facts], Judgement]") -> "Callable[[Facts], Judgement]":
        page = inspect.cleandoc(function.__doc__ or "")
        meaning = page.partition("\n")[0]
        CHECKS.register(name, Check(name=name, serves=serves, meaning=meaning, page=page, judge=function))
        return function

    return register


class Facts:
    """What the checks may look at: one batch of traces, each joined with its case.

    Args:
        rows: one row per pair of trace and case: `row`, and the columns of `schemas.Traces`, `schemas.Audit`
            and `schemas.Cases`.
        traces: the batch's frames.
        suite: the cases' frames.
        redact: regexes whose matches no sentence may show.
        with_text: False keeps free text of the traces out of the sentences.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        traces: TraceFrames,
        suite: SuiteFrames,
        redact: Sequence[str] = (),
        *,
        with_text: bool = True,
    ) -> None:
        self.rows = rows.lazy()
        self._traces = traces
        self._suite = suite
        self._redact = tuple(redact)
        self._with_text = with_text

    def redacted(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """A frame of facts as sentences may quote it.

        For facts that are sentences already: decide first, then redact, then cut with `shown`. Half a secret would no
        longer be recognised.
        """
        return redact_frame(frame, self._redact)

    def free_text(self, value: pl.Expr) -> pl.Expr:
        """Free text of a trace as sentences may quote it: a run without text (`--no-text`) does not."""
        return value if self._with_text else pl.when(value.is_not_null()).then(pl.lit(LEFT_OUT))

    def child(self, frame: pl.DataFrame, *columns: str) -> pl.LazyFrame:
        """A child frame with a `row` column: its lines for every row of its trace.

        Args:
            frame: one of the batch's frames with a `trace` column.
            columns: further columns of the rows to bring along.
        """
        return self.rows.select("row", "trace", *columns).join(frame.lazy(), on="trace", maintain_order="left_right")

    def entries(self, frame: pl.DataFrame, *columns: str) -> pl.LazyFrame:
        """A frame of case entries with a `row` column: its lines for every row of their case."""
        return self.rows.select("row", "trace", "case_id", *columns).join(
            frame.lazy(),
            on="case_id",
            maintain_order="left_right",
        )

    @staticmethod
    def _shared(frame: pl.LazyFrame) -> pl.LazyFrame:
        """A frame worked out once, for several checks to go on from."""
        return frame.collect(engine=ENGINE).lazy()

    @cached_property
    def calls(self) -> pl.LazyFrame:
        """The tool calls of every row: `row`, `position`, `tool`, `arguments`, `arguments_parsed`, `failed`."""
        columns = ("trace", "position", "tool", "arguments", "arguments_parsed", "failed")
        return self._shared(self.child(self._traces.tool_invocations.select(columns)))

    @cached_property
    def tools(self) -> pl.LazyFrame:
        """The tools that were called: `row`, `tool` (null for calls without a name), `times`, `failures`."""
        return self._shared(
            self.calls.group_by("row", "tool").agg(times=pl.len(), failures=pl.col("failed").sum()),
        )

    @cached_property
    def claim_checks(self) -> pl.LazyFrame:
        """The claim checks of every row: `row` and the columns of `schemas.ClaimChecks`."""
        return self._shared(self.child(self._traces.claim_checks))

    @cached_property
    def executor_claims(self) -> pl.LazyFrame:
        """The Executor's claims of every row: `row` and the columns of `schemas.ExecutorClaims`."""
        return self._shared(self.child(self._traces.executor_claims))

    @cached_property
    def argument_entries(self) -> pl.LazyFrame:
        """The `toolArguments` of every row's case: `row` and the columns of `schemas.ArgumentEntries`."""
        return self.entries(self._suite.arguments)

    def called(self, rows: pl.Series) -> pl.LazyFrame:
        """What was called, in words: `row`, `called`: a list such as `searchLogs (2, 1 failed)`; none without calls.

        Args:
            rows: of which rows.
        """
        tools = self.tools.filter(pl.col("row").is_in(rows.implode())).sort(
            "row", -pl.col("times").cast(pl.Int64), "tool", nulls_last=True
        )
        return (
            self.redacted(tools)
            .with_columns(
                called=pl.format(
                    "{} ({}{})",
                    shown(pl.col("tool")).fill_null(NAMELESS),
                    "times",
                    pl.when(pl.col("failures") > 0).then(pl.format(", {} failed", "failures")).otherwise(pl.lit("")),
                ),
            )
            .group_by("row", maintain_order=True)
            .agg("called")
        )

    @cached_property
    def mentions(self) -> pl.LazyFrame:
        """The tools of the verifier's trace summary: `row`, `tool`."""
        return (
            self.rows.select("row", tool="summary_tools")
            .explode("tool", empty_as_null=False, keep_nulls=False)
            .drop_nulls("tool")
        )

    @cached_property
    def evidence(self) -> pl.DataFrame:
        """The required evidence of every row, entry by entry: `row`, `entry`, `label`, `covered`."""
        used = pl.concat(
            [
                self.tools.select("row", "tool", succeeded=pl.col("failures") < pl.col("times")),
                self.mentions.with_columns(succeeded=pl.lit(False)),  # noqa: FBT003 - a column's value
            ],
        )
        used = used.group_by("row", "tool").agg(pl.col("succeeded").any())
        asked = self.entries(self._suite.evidence, "evidence_policy")
        return (
            asked.join(used, on=["row", "tool"], how="left")
            .with_columns(
                covered=pl.when(pl.col("evidence_policy") == "succeeded")
                .then(pl.col("succeeded").fill_null(value=False))
                .otherwise(pl.col("succeeded").is_not_null()),
            )
            .group_by("row", "entry", "label")
            .agg(pl.col("covered").any())
            .sort("row", "entry")
            .collect(engine=ENGINE)
        )

    @cached_property
    def keyword_hits(self) -> pl.DataFrame:
        """Every keyword entry that a row's case has, with whether the answer has it.

        Columns `row`, `purpose`, `entry`, `label`, `found`; sorted by row, purpose and entry.
        """
        pairs = self.entries(self._suite.keywords, "answer_text").collect(engine=ENGINE)
        found = text.search(pairs, text="answer_text", literal="literal", pattern="pattern")
        return (
            pairs.select("row", "purpose", "entry", "label")
            .with_columns(found=found)
            .group_by("row", "purpose", "entry", "label")
            .agg(pl.col("found").any())
            .sort("row", "purpose", "entry")
        )

    def keywords(self, purpose: str, prefix: str) -> pl.LazyFrame:
        """The keyword entries of one purpose: `row`, `<prefix>_found`, `<prefix>_missing` (lists of labels)."""
        hits = self.keyword_hits.lazy().filter(pl.col("purpose") == purpose)
        label, found = pl.col("label"), pl.col("found")
        return hits.group_by("row", maintain_order=True).agg(
            label.filter(found).alias(f"{prefix}_found"),
            label.filter(~found).alias(f"{prefix}_missing"),
        )

    @cached_property
    def rejected_answers(self) -> pl.LazyFrame:
        """The Executor's answers that a verdict REJECT keeps from the user: `row`, `text`."""
        rejected = self.rows.filter(pl.col("verdict") == "REJECT")
        return rejected.select("row", text="executor_answer").drop_nulls("text")

    @cached_property
    def unsupported_claims(self) -> pl.LazyFrame:
        """The claim checks that found a claim unsupported or contradicted: `row`, `position`, `claim_id`, `text`.

        A claim id given twice is both claims, a line for each; the text is null where it is not known.
        """
        bad = self.claim_checks.filter(pl.col("verification").is_in(UNSUPPORTED)).select("row", "position", "claim_id")
        texts = self.executor_claims.select("row", "claim_id", "text")
        return self._shared(bad.join(texts, on=["row", "claim_id"], how="left"))

    def leaked_sentences(self, source: str) -> pl.LazyFrame:
        """The sentences of texts that must not reach the user but stand in the answer (contract section 3).

        Args:
            source: `answer`: the rejected answers; `claim`: the texts of unsupported claims.

        Returns:
            `row`, `<source>_leaks` (list of original sentences in order); rows without a leak are absent.
        """
        leaks = self._leaked.lazy().filter(pl.col("source") == source)
        return leaks.select("row", pl.col("leaks").alias(f"{source}_leaks"))

    @cached_property
    def _leaked(self) -> pl.DataFrame:
        """The leaks of both sources, found in one go: `row`, `source`, `leaks`."""
        claims = self.unsupported_claims.drop_nulls("text").sort("row", "position", "text")
        texts = [
            self.rejected_answers.with_columns(source=pl.lit("answer")),
            claims.select("row", "text", source=pl.lit("claim")),
        ]
        asked = (
            pl.concat(texts)
            .join(self.rows.select("row", "question_text", "degraded_required"), on="row", maintain_order="left")
            .collect(engine=ENGINE)
        )
        key = ["row", "source"]
        sentences = text.counting_sentences(
            asked, key=key, text="text", question="question_text", excused="degraded_required"
        )
        pairs = (
            sentences.lazy()
            .join(self.rows.select("row", "answer_text"), on="row", maintain_order="left")
            .with_columns(pattern=text.plain_pattern(pl.col("sentence_text")))
            .collect(engine=ENGINE)
        )
        found = text.search(pairs, text="answer_text", literal="sentence_text", pattern="pattern")
        # A secret may go over the end of a sentence: only beside the whole text can it be recognised.
        whole = asked.lazy().group_by(key).agg(whole=pl.col("text").str.join("\n"))
        return (
            pairs.filter(found)
            .lazy()
            .join(whole, on=key, maintain_order="left")
            .with_columns(sentence=redacted_part(pl.col("sentence"), pl.col("whole"), self._redact))
            .group_by(key, maintain_order=True)
            .agg(leaks=self.free_text(pl.col("sentence")).unique(maintain_order=True))
            .collect(engine=ENGINE)
        )


def shown(value: pl.Expr) -> pl.Expr:
    """A text from a trace as a message may quote it: cut, so that one hostile value cannot flood a report."""
    return (
        pl.when(value.str.len_chars() > SHOWN_CHARACTERS)
        .then(value.str.slice(0, SHOWN_CHARACTERS) + "…")
        .otherwise(value)
    )


def listed(values: pl.Expr, separator: str = ", ") -> pl.Expr:
    """A list of texts from a trace in words: each one cut, and the list after so many entries."""
    return values.list.head(SHOWN_ENTRIES).list.eval(shown(pl.element())).list.join(separator) + _more(values)


def joined(sentences: pl.Expr, separator: str = "; ") -> pl.Expr:
    """A list of our own wording in one text: nothing in it is cut any more, but the list after so many entries."""
    return sentences.list.head(SHOWN_ENTRIES).list.join(separator) + _more(sentences)


def _more(values: pl.Expr) -> pl.Expr:
    more = values.list.len().cast(pl.Int64) - SHOWN_ENTRIES
    return pl.when(more > 0).then(pl.format(" and {} more", more)).otherwise(pl.lit(""))


def number(value: pl.Expr) -> pl.Expr:
    """A figure in words, without a trailing `.0`."""
    return value.cast(pl.String).str.replace(r"\.0$", "")


def counted(count: pl.Expr, noun: str) -> pl.Expr:
    """A number of things in words: `1 claim check`, `2 claim checks`.

    >>> pl.DataFrame({"n": [0, 1, 2]}).select(counted(pl.col("n"), "call")).to_series().to_list()
    ['0 calls', '1 call', '2 calls']
    """
    return pl.format("{} {}", number(count), pl.when(count == 1).then(pl.lit(noun)).otherwise(pl.lit(f"{noun}s")))
