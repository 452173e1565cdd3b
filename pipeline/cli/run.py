"""`diagnosis-eval run`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final

import typer

from pipeline.cli.complete import case_ids, from_formats, report_formats, tags
from pipeline.cli.github import tell_github
from pipeline.cli.limits import DurationLimit, ToolCallsLimit, given_limits
from pipeline.cli.mapped import MappingFile
from pipeline.cli.progress import progress_bar
from pipeline.cli.stdout import STDOUT, only_writer, print_report
from pipeline.cli.terminal import print_reasons, print_run
from pipeline.engines.choose import Execution
from pipeline.gate import Gate, check_gate, decide
from pipeline.run import DEFAULT_CASES, DEFAULT_OUT, DEFAULT_TRACES, Options, wanted_writers
from pipeline.run import run as run_evaluation
from pipeline.snapshot.reference import resolve

WHAT: Final = "What to judge"
HOW: Final = "What to write"
GATE: Final = "When to fail"
SCALE: Final = "For large inputs"


def run(
    cases: Annotated[
        list[str] | None,
        typer.Option(
            "--cases",
            help=f"Case file, or folder of case files. May be given several times. \\[default: {DEFAULT_CASES}]",
            show_default=False,
            rich_help_panel=WHAT,
        ),
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--traces",
            help="Trace file, folder, glob, an address of these (s3://, gs://, az://, https://), or - for standard "
            "input. May be given several times. "
            f"\\[default: {DEFAULT_TRACES}]",
            show_default=False,
            rich_help_panel=WHAT,
        ),
    ] = None,
    from_format: Annotated[
        str,
        typer.Option(
            "--from",
            help="Format of the traces; auto goes by their content.",
            autocompletion=from_formats,
            rich_help_panel=WHAT,
        ),
    ] = "auto",
    mapping: MappingFile = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            help="Only cases whose id matches this glob.",
            autocompletion=case_ids,
            show_default=False,
            rich_help_panel=WHAT,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", help="Only cases with this tag.", autocompletion=tags, show_default=False, rich_help_panel=WHAT
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for the reports and the snapshot; - writes none, and prints the one --format asked for.",
            rich_help_panel=HOW,
        ),
    ] = Path(DEFAULT_OUT),
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Write this format too; see diagnosis-eval formats.",
            autocompletion=report_formats,
            show_default=False,
            rich_help_panel=HOW,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            help="Processes to judge with. \\[default: one per processor, for large inputs]",
            show_default=False,
            rich_help_panel=SCALE,
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option("--engine", help="local: processes of this machine; dask: a Dask cluster.", rich_help_panel=SCALE),
    ] = "local",
    address: Annotated[
        str,
        typer.Option(
            "--address",
            help="Dask scheduler to use, as tcp://host:8786; without it a cluster is started here.",
            show_default=False,
            rich_help_panel=SCALE,
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where a run that broke off had got to.", rich_help_panel=SCALE),
    ] = False,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text",
            help="Leave answers, arguments and results out of what is written.",
            rich_help_panel=HOW,
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print report.json instead of the summary.", rich_help_panel=HOW),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print errors only, and what --json or --out - ask for.", rich_help_panel=HOW
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            help="Compare with this snapshot: a path, git:BRANCH or git:BRANCH:PATH.",
            show_default=False,
            rich_help_panel=GATE,
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            help="fail: a case failed, is in error or was not run, known failures excepted. "
            "regression: something got worse than the baseline. never: exit 0 all the same. "
            "\\[default: fail, and regression where there is a baseline]",
            show_default=False,
            rich_help_panel=GATE,
        ),
    ] = None,
    max_tool_calls_increase: ToolCallsLimit = None,
    max_duration_increase: DurationLimit = None,
    min_pass_rate: Annotated[
        float | None,
        typer.Option(
            "--min-pass-rate",
            help="Ask for this share of passed cases instead of all.",
            show_default=False,
            rich_help_panel=GATE,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Repairs, warnings and traces of no case are faults.", rich_help_panel=GATE),
    ] = False,
) -> None:
    """Judge traces against cases, write the reports, and fail if the gate does not hold.

    With no options it judges fixtures/traces/ against cases/ and writes to data/runs/latest/:
    report.md for people, report.json for machines, snapshot.parquet for diffs and notebooks.
    """
    asked = formats or []
    folder = None if str(out) == STDOUT else out
    printed = only_writer([*asked, *(["json"] if as_json else [])]) if folder is None else None
    if printed is None and as_json:
        printed = only_writer(["json"])
    gate = Gate(fail_on=tuple(fail_on or ()), min_pass_rate=min_pass_rate)
    check_gate(gate, with_baseline=baseline is not None)
    limits = given_limits(max_tool_calls_increase, max_duration_increase)
    # Opened before the work, so that a missing baseline is told at once.
    reference = resolve(baseline, as_baseline=True) if baseline is not None else None
    options = Options(
        cases=tuple(cases or (DEFAULT_CASES,)),
        traces=tuple(traces or (DEFAULT_TRACES,)),
        from_format=from_format,
        mapping=mapping,
        case_globs=tuple(case or ()),
        tags=tuple(tag or ()),
        strict=strict,
        with_text=not no_text,
    )
    execution = Execution(jobs=jobs, engine=engine, address=address, resume=resume)
    writers = wanted_writers(asked)
    with nullcontext() if quiet else progress_bar() as progress:
        finished = run_evaluation(
            options,
            out=folder,
            writers=writers,
            execution=execution,
            baseline=reference,
            limits=limits,
            progress=progress,
        )
    comparison = finished.comparison
    decision = decide(finished, gate, comparison)
    if printed is not None:
        print_report(printed.render(finished.view))
    if printed is None and not quiet:
        print_run(finished, decision, out, comparison)
    elif decision.exit_code or not quiet:
        print_reasons(decision)
    if "github" in asked:
        tell_github(finished.view, None if comparison is None else comparison.diff, options.traces)
    raise typer.Exit(decision.exit_code)
