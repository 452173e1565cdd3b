"""The turns of OpenRCA's agent: what tells its conversations from those of other agents, which look the same.

Its controller answers with an object as text, `{"analysis": …, "completed": "False", "instruction": …}`, and a second
model writes and runs the code that the instruction asks for.
"""

from typing import Any, Final

import msgspec

_KEYS: Final = ("analysis", "completed", "instruction")


class Step(msgspec.Struct):
    """One answer of the controller; the flag is a text in most files."""

    analysis: Any
    completed: Any
    instruction: Any

    @property
    def is_last(self) -> bool:
        """Whether the controller says that the issue is resolved."""
        return str(self.completed).strip().lower() == "true"


_DECODER: Final = msgspec.json.Decoder(Step)


def step_of(text: Any) -> Step | None:
    """The answer of the controller that a text is, None where it is something else."""
    if not isinstance(text, str) or not all(f'"{key}"' in text for key in _KEYS):
        return None
    # Models wrap it in a block all the same, though they are told not to.
    bare = text.strip().removeprefix("```json").removesuffix("```").strip()
    try:
        return _DECODER.decode(bare)
    except (msgspec.DecodeError, RecursionError):
        # Broken JSON is what models write, too; its keys in this order are not found elsewhere.
        places = [bare.find(f'"{key}"') for key in _KEYS]
        return Step(None, None, None) if bare.startswith("{") and places == sorted(places) else None


def are_openrca(messages: Any) -> bool:
    """Whether messages are a conversation of OpenRCA's agent: the first answer is one of its controller."""
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            return False
        if message.get("role") == "assistant":
            return step_of(message.get("content")) is not None
    return False
