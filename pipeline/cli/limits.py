"""The options that limit how much dearer a run may be than its baseline."""

from typing import Annotated

import typer

from pipeline.limits import Limits, parse_limit

TOOL_CALLS = "--max-tool-calls-increase"
DURATION = "--max-duration-increase"
PANEL = "When to fail"

ToolCallsLimit = Annotated[
    list[str] | None,
    typer.Option(
        TOOL_CALLS,
        help="A larger rise of the average tool calls is a regression: 10%, or 0.5 calls, or both as 10%,0.5.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
DurationLimit = Annotated[
    list[str] | None,
    typer.Option(
        DURATION,
        help="A larger rise of the average duration is a regression: 20%, or 500 (milliseconds), or both.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]


def given_limits(tool_calls: list[str] | None, duration: list[str] | None) -> Limits:
    """The limits as given.

    Raises:
        UsageError: one of them is no percentage and no figure.
    """
    return Limits(
        tool_calls=parse_limit(tool_calls or (), TOOL_CALLS),
        duration=parse_limit(duration or (), DURATION),
    )
