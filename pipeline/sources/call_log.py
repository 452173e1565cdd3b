"""Tool calls and what they gave back, where a format writes the two apart and joins them by an id."""

from typing import Any

import msgspec

from pipeline.sources.base import ToolInvocation, Warned
from pipeline.sources.nested import parsed_arguments
from pipeline.sources.nodes import Node
from pipeline.sources.repair import Repairs


class Outcome(msgspec.Struct, kw_only=True):
    """How a call ended; None where that is not said.

    Attributes:
        result: what it gave back.
        success: whether it worked.
        error: why it failed.
        duration_ms: how long it took.
    """

    result: Any = None
    success: bool | None = None
    error: Any = None
    duration_ms: float | None = None

    def fill(self, call: ToolInvocation) -> None:
        """Write what is said into a call."""
        if self.result is not None:
            call.resultSummary = self.result
        if self.success is not None:
            call.success = self.success
        if self.error is not None:
            call.error = self.error
        if self.duration_ms is not None:
            call.durationMs = self.duration_ms


class CallLog:
    """The calls of one run, in the order in which they were asked for.

    A call written twice under one id counts once, and what the second adds is kept. Results may stand before their
    calls, as lines written at the same time do.
    """

    def __init__(self) -> None:
        self._calls: list[ToolInvocation] = []
        self._by_id: dict[str, ToolInvocation] = {}
        self._waiting: dict[str, Outcome] = {}

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._calls)

    def add(self, call_id: str | None, name: str | None, arguments: Any = None) -> ToolInvocation:
        """Add a call, unless that id was added before.

        Returns:
            The call, to be filled further.
        """
        known = self._by_id.get(call_id) if call_id is not None else None
        if known is not None:
            known.toolName = known.toolName or name
            # A call that is written while it streams has no arguments at first.
            known.arguments = known.arguments or arguments
            return known
        call = ToolInvocation(toolName=name, arguments=arguments)
        self._calls.append(call)
        if call_id is not None:
            self._by_id[call_id] = call
            outcome = self._waiting.pop(call_id, None)
            if outcome is not None:
                outcome.fill(call)
        return call

    def settle(self, call_id: str | None, outcome: Outcome) -> None:
        """Tell how a call ended; of two that say so the later wins where it says something."""
        call = self._by_id.get(call_id) if call_id is not None else None
        if call is not None:
            outcome.fill(call)
        else:
            self._waiting[call_id or f"\0{len(self._waiting)}"] = outcome

    def calls(self) -> list[ToolInvocation | None]:
        """All calls."""
        return list(self._calls)

    def warned(self) -> tuple[Warned, ...]:
        """A warning where results belong to no call."""
        count = len(self._waiting)
        if not count:
            return ()
        message = (
            f"{count} tool result{'s' * (count != 1)} without the call: left out, for the tool's name is not known"
        )
        return (Warned(path="$", kind="orphan-tool-result", message=message),)


def arguments_of(node: Node) -> Any:
    """The arguments of a call: the object or list inside a text where it is one, else what stands there."""
    value = node.value
    return parsed_arguments(value, Repairs(), node.path) if isinstance(value, str) else value
