"""How much a figure may rise between two runs (contract section 7): the limits of `--max-…-increase`."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

import msgspec

from pipeline.errors import UsageError, quote

# A limit of more digits before or after the point is a slip of the keyboard.
LIMIT_DIGITS: Final = 30


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """How much a figure may rise before that is a regression; over either one is over the limit.

    Figures are exact: a rise of exactly the limit is within it, and floats would put 4.0 to 4.4 over 10 percent.

    Attributes:
        percent: in percent of the baseline's figure.
        absolute: in the figure's own unit.
    """

    percent: Decimal | None = None
    absolute: Decimal | None = None

    def exceeded(self, baseline: Fraction, current: Fraction) -> bool:
        """Whether a rise goes over the limit. A rise from 0 exceeds every percentage."""
        rise = current - baseline
        # Compared as products, which holds for a baseline of 0 too.
        over_percent = self.percent is not None and rise * 100 > Fraction(self.percent) * baseline
        return over_percent or (self.absolute is not None and rise > Fraction(self.absolute))


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that the user gave."""

    tool_calls: Limit | None = None
    duration: Limit | None = None


def parse_limit(values: Iterable[str], option: str) -> Limit | None:
    """Read `10%`, `2.5`, or both.

    Args:
        values: what was given, once for the percentage and once for the absolute figure at most.
        option: the option's name, for messages.

    Raises:
        UsageError: a value is neither, or is given twice.

    >>> parse_limit(["10%", "2"], "--max-tool-calls-increase")
    Limit(percent=Decimal('10'), absolute=Decimal('2'))
    """
    found: dict[str, Decimal] = {}
    for value in values:
        for part in value.split(","):
            text = part.strip()
            name = "percent" if text.endswith("%") else "absolute"
            try:
                limit = Decimal(text.removesuffix("%").strip())
            except InvalidOperation:
                limit = Decimal("NaN")
            # An exponent beyond any use would make an integer of a billion digits out of a few characters.
            if not limit.is_finite() or limit < 0 or abs(limit.adjusted()) > LIMIT_DIGITS:
                raise UsageError(
                    f"{option} does not take '{quote(value)}'",
                    hint="give a percentage such as 10%, a figure, or both as 10%,2",
                )
            if name in found:
                raise UsageError(
                    f"{option} is given twice as {name}", hint="give one percentage and one figure at most"
                )
            found[name] = limit
    return Limit(**found) if found else None
