"""Plain JSON values that know where they stand: reading a field of the wrong type says which one, and what is due.

For formats whose shapes vary too much for structs. What is absent reads as nothing at every level, so a chain of
members needs no checks; what is there with another type than its readers know is refused.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.sources.instants import iso_ns
from pipeline.sources.span_tree import count
from pipeline.sources.wording import Refused, describe


class Node:
    """A value and its path.

    Args:
        value: plain JSON data.
        path: its JSON path.
    """

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str = "$") -> None:
        self.value = value
        self.path = path

    def __bool__(self) -> bool:
        """Whether there is a value other than null."""
        return self.value is not None

    def member(self, *names: str) -> "Node":
        """The first of these members that is there and not null; several names are spellings of one field.

        Raises:
            Refused: this is neither an object nor absent.
        """
        fields = self.fields()
        for name in names:
            value = fields.get(name)
            if value is not None:
                return Node(value, f"{self.path}.{name}")
        return Node(None, f"{self.path}.{names[0]}")

    def fields(self) -> dict[str, Any]:
        """The members of an object; none where it is absent.

        Raises:
            Refused: it is something else.
        """
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.refusal("object")
        return self.value

    def items(self) -> Iterator["Node"]:
        """The elements of a list but nulls; none where it is absent.

        Raises:
            Refused: it is something else.
        """
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise self.refusal("list")
        for index, value in enumerate(self.value):
            if value is not None:
                yield Node(value, f"{self.path}[{index}]")

    def text(self) -> str | None:
        """A text, None where it is absent or blank.

        Raises:
            Refused: it is something else.
        """
        if self.value is None:
            return None
        if not isinstance(self.value, str):
            raise self.refusal("text")
        return self.value if self.value.strip() else None

    def name(self) -> str | None:
        """An id: a text, or a whole number as text; None where it is absent or blank.

        Raises:
            Refused: it is something else.
        """
        return str(self.value) if type(self.value) is int else self.text()

    def flag(self) -> bool:
        """Whether it is true; absent is false.

        Raises:
            Refused: it is something else.
        """
        if self.value is None or isinstance(self.value, bool):
            return bool(self.value)
        raise self.refusal("true or false")

    def count(self) -> int | None:
        """A whole number from 0 on, None where it is absent or something else."""
        return count(self.value)

    def instant(self) -> int | None:
        """Nanoseconds since 1970 of an ISO 8601 time, None where it is absent or something else."""
        return iso_ns(self.value)

    def refusal(self, expected: str) -> Refused:
        """The refusal of this value where something else is due."""
        found = describe(self.value)
        return Refused(
            f"{expected} is due here, not {found}: correct what writes it",
            path=self.path,
            expected=expected,
            found=found,
        )
