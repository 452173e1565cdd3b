"""The pure function from one shard to its results: read, flatten, assign, judge, as snapshot rows.

It knows nothing of the other shards, nor where it runs: in this process, in a pool of processes, on a cluster.
"""

from collections.abc import Callable
from typing import Final

import msgspec
import polars as pl

from pipeline.assign import Targets, assign, targets
from pipeline.cases.model import Suite
from pipeline.flatten.batches import frame_batches
from pipeline.flatten.suite import SuiteFrames, flatten_suite
from pipeline.flatten.traces import TraceFrames
from pipeline.judge import judge
from pipeline.noted import Noted
from pipeline.redact import redact_frame, redact_json, redacting
from pipeline.schemas import ENGINE
from pipeline.snapshot.rows import error_rows, snapshot_rows
from pipeline.sources.base import Format
from pipeline.sources.files import Inputs
from pipeline.sources.lines import Seen
from pipeline.sources.shards import Shard

# Columns and fields that hold our own words and ids; redaction leaves them alone.
OWN_WORDS: Final = (
    "case_id",
    "check",
    "passed_checks",
    "skipped_checks",
    "definition_digest",
    "content_digest",
)
# The same in a case definition, by path.
OWN_VALUES: Final = (
    ("id",),
    ("evidencePolicy",),
    ("passPolicy",),
    ("knownFailure", "checks"),
    ("toolArguments", "*", "mode"),
)
# What rows are put in order and told apart by; redacted once that is done, or redaction could change the result.
KEYS: Final = ("trace_id", "file")
# Written in lower case where it is flattened.
LOWERED: Final = ("gatekeeper_status",)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What all shards of a run have in common.

    Attributes:
        suite: all cases of the suite.
        selected: ids of the cases to judge.
        with_text: keep the free text of the traces.
        mapping: where the fields of a trace stand, in place of a format; a `Mapping` as JSON.
    """

    suite: Suite
    selected: tuple[str, ...]
    with_text: bool = True
    mapping: str | None = None


class Partial(msgspec.Struct, kw_only=True):
    """What became of one shard, beside its rows.

    Attributes:
        number: the shard.
        noted: what was noticed while reading.
        line_ends: line ends in a slice of a file.
        open: whether a slice ends within a document, so that it must be read again with the next one.
        broken_off: whether a slice broke off, so that nothing after it in its file counts.
        has_rows: whether it gave any rows.
        size: bytes read.
    """

    number: int
    noted: Noted
    has_rows: bool = False
    line_ends: int = 0
    open: bool = False
    broken_off: bool = False
    size: int = 0


class Judging:
    """A job made ready: its cases as frames.

    Args:
        job: the job.

    Attributes:
        mapped: the trace format that its mapping makes, if it has one.
    """

    def __init__(self, job: Job) -> None:
        chosen = set(job.selected)
        selected = [case for case in job.suite.cases if case.id in chosen]
        self.job = job
        self.suite_frames: SuiteFrames = flatten_suite(selected)
        self.mapped = None if job.mapping is None else _format_of(job.mapping)
        self._targets: Targets = targets(job.suite.cases, selected)

    def shard(
        self,
        shard: Shard,
        take: Callable[[pl.DataFrame], None],
        progress: Callable[[int], None] | None = None,
    ) -> Partial:
        """Judge one shard.

        Args:
            shard: the slice of the input.
            take: given the rows (columns of `schemas.SnapshotRows`, redacted but for the keys), batch by batch.
            progress: told the bytes of each batch.
        """
        noted = Noted()
        seen = Seen()
        size = 0
        has_rows = False

        def taking(rows: pl.DataFrame) -> None:
            nonlocal has_rows
            has_rows = True
            take(rows)

        with redacting(self.job.suite.redact, with_text=self.job.with_text):
            for batch in frame_batches(
                Inputs(files=shard.files),
                self.mapped or shard.format,
                seen=seen,
            ):
                self._batch(batch.frames, taking, noted)
                size += batch.bytes
                if progress is not None:
                    progress(batch.bytes)
        return Partial(
            number=shard.number,
            noted=noted,
            has_rows=has_rows,
            line_ends=seen.line_ends,
            open=seen.open,
            broken_off=seen.broken_off,
            size=size,
        )

    def _batch(self, frames: TraceFrames, take: Callable[[pl.DataFrame], None], noted: Noted) -> None:
        job = self.job
        assigned = assign(frames, self._targets)
        judged = judge(assigned, frames, self.suite_frames, redact=job.suite.redact, with_text=job.with_text)
        for rows in (
            snapshot_rows(judged, frames, redact=job.suite.redact, with_text=job.with_text),
            error_rows(assigned, self.suite_frames.cases),
        ):
            if not rows.is_empty():
                noted.cases_seen.update(rows["case_id"].unique())
                take(redacted_rows(rows, job.suite))
        noted.add_errors(assigned.errors)
        noted.add_unmatched(assigned.unmatched)
        noted.add_warnings(frames.warnings)


def _format_of(mapping: str) -> Format:
    # Only a run with a mapping pays for the import.
    from pipeline.mapping_file import format_of
    from pipeline.sources.mapping import Mapping

    return format_of(msgspec.json.decode(mapping, type=Mapping))


def redacted_rows(rows: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Snapshot rows with every text redacted but our own words, and the keys that order the rows."""
    if not suite.redact:
        return rows
    definitions = rows["definition"].unique().to_list()
    hidden = [redact_json(text, suite.redact, keep=OWN_VALUES) for text in definitions]
    rows = rows.with_columns(pl.col("definition").replace_strict(definitions, hidden, return_dtype=pl.String))
    keep = (*OWN_WORDS, *KEYS, "definition")
    return redact_frame(rows.lazy(), suite.redact, keep=keep, any_case=LOWERED).collect(engine=ENGINE)


def with_redacted_keys(rows: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Snapshot rows in their final order, their keys redacted too."""
    keep = [name for name in rows.columns if name not in KEYS]
    return redact_frame(rows.lazy(), suite.redact, keep=keep).collect(engine=ENGINE)
