"""Which case a trace belongs to (contract section 2, "Which case").

The case whose `traceFixture` names the file; else the trace's own `caseId`; else, for a `.json` file, the file's stem
where that is a case id. A trace that says it is for an unknown case is never given to another one.
"""

from collections.abc import Sequence

import msgspec
import polars as pl

from pipeline import schemas
from pipeline.cases.fixtures import fixture_name
from pipeline.cases.model import Case
from pipeline.errors import quote
from pipeline.flatten.traces import TraceFrames


class Targets(msgspec.Struct, frozen=True):
    """All cases of the suite as something to assign traces to.

    Attributes:
        frame: `case_id`, `fixture` (null where the case names none), `selected`.
    """

    frame: pl.DataFrame


class Assigned(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of traces, each with its case.

    Attributes:
        rows: `row`, `trace`, `case_id` of every pair to judge, of selected cases only.
        errors: the columns of `schemas.Errors` and `case_id` (null where no case can be told): records that are
            unreadable or contradict the case that names them; those of cases left out are dropped.
        unmatched: `file`, `line`, `trace_id`, `own_case_id` of the traces that belong to no case of the suite.
    """

    rows: pl.DataFrame
    errors: pl.DataFrame
    unmatched: pl.DataFrame


def targets(cases: Sequence[Case], selected: Sequence[Case]) -> Targets:
    """Prepare the suite for assigning.

    Args:
        cases: all cases of the suite.
        selected: those to be judged.
    """
    chosen = {case.id for case in selected}
    return Targets(
        pl.DataFrame(
            {
                "case_id": [case.id for case in cases],
                "fixture": [None if case.trace_fixture is None else fixture_name(case.trace_fixture) for case in cases],
                "selected": [case.id in chosen for case in cases],
            },
            schema={"case_id": pl.String, "fixture": pl.String, "selected": pl.Boolean},
        ),
    )


def assign(frames: TraceFrames, suite: Targets) -> Assigned:
    """Give every trace of a batch its case or cases.

    Args:
        frames: the batch.
        suite: from `targets`.
    """
    traces = frames.traces.lazy().select("trace", "file", "line", "trace_id", "own_case_id")
    cases = suite.frame.lazy()
    fixtures = cases.drop_nulls("fixture")
    named = traces.join(fixtures, left_on="file", right_on="fixture")
    # Where the trace itself says a case, only that one will do; the file's name is asked only where it is silent.
    own = traces.join(fixtures, left_on="file", right_on="fixture", how="anti").with_columns(
        claimed=pl.coalesce("own_case_id", _stem(pl.col("file"))),
    )
    found = own.join(cases.select("selected", claimed="case_id", case_id="case_id"), on="claimed", how="left")
    contradicted = (pl.col("own_case_id") != pl.col("case_id")).fill_null(value=False)
    rows = pl.concat(
        [
            named.filter(~contradicted).select("trace", "case_id", "selected"),
            found.drop_nulls("case_id").select("trace", "case_id", "selected"),
        ],
    )
    kept, lost, wrong, unreadable = pl.collect_all(
        [
            rows.filter("selected").select("trace", "case_id").sort("trace", "case_id").with_row_index("row"),
            found.filter(pl.col("case_id").is_null()).sort("trace").select("file", "line", "trace_id", "own_case_id"),
            named.filter(contradicted & pl.col("selected")).sort("trace", "case_id"),
            _cases_of_errors(frames.errors.lazy(), cases),
        ],
        engine=schemas.ENGINE,
    )
    return Assigned(rows=kept, errors=pl.concat([unreadable, _contradictions(wrong)]), unmatched=lost)


def _stem(file: pl.Expr) -> pl.Expr:
    """The name of a `.json` file without folder and extension (in any case of letters); null for line files."""
    return file.str.extract(r"([^/]+)(?i:\.json(?:\.gz|\.zst)?)$", 1)


def _cases_of_errors(errors: pl.LazyFrame, cases: pl.LazyFrame) -> pl.LazyFrame:
    numbered = errors.with_row_index("number").with_columns(stem=_stem(pl.col("file")))
    by_fixture = numbered.join(cases.drop_nulls("fixture"), left_on="file", right_on="fixture")
    others = numbered.join(by_fixture.select("number").unique(), on="number", how="anti").join(
        cases.select("case_id", "selected", stem="case_id"),
        on="stem",
        how="left",
    )
    columns = ["number", *schemas.Errors.column_names(), "case_id", "selected"]
    return (
        pl.concat([by_fixture.select(columns), others.select(columns)])
        .filter(pl.col("selected").fill_null(value=True))
        .sort("number", "case_id")
        .drop("number", "selected")
    )


def _contradictions(wrong: pl.DataFrame) -> pl.DataFrame:
    """Fixtures that say they belong to another case than the one that names them."""
    rows = [
        {
            "file": row["file"],
            "line": row["line"],
            "path": "$.caseId",
            "expected": row["case_id"],
            "found": quote(row["own_case_id"]),
            "message": (
                f"the case {row['case_id']} names this fixture, but the trace says it is of case "
                f"{quote(row['own_case_id'])}: correct caseId or traceFixture"
            ),
            "case_id": row["case_id"],
        }
        for row in wrong.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema={**schemas.dtypes_of(schemas.Errors), "case_id": pl.String()})
