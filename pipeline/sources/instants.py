"""Points in time as whole nanoseconds since 1970, out of the notations that trace formats use.

Nanoseconds never go through a float: the counts of today have 19 digits, a float holds 15 of them.
"""

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * SECOND
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DIGITS: Final = 9
# No instant of this era needs more digits; what has more is hostile.
_LONGEST: Final = 40
_MOST: Final = 2**63 - 1

_ISO: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,12}))?)?"
    r"(?: ?(?P<zone>[Zz]|UTC|[+-]\d\d(?::?\d\d)?))?",
    re.ASCII,
)
_PERIOD: Final = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,12})(?:[.,](?P<part>\d{1,12}))?S)?)?",
    re.ASCII,
)
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)


def iso_ns(text: Any) -> int | None:
    """Nanoseconds of an ISO 8601 time; one without a zone is taken as UTC, None where it is no such text.

    >>> iso_ns("1970-01-01T00:00:01.000000002Z"), iso_ns("1970-01-01 02:00:00+02:00"), iso_ns("yesterday")
    (1000000002, 0, None)
    """
    match = _ISO.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= _LONGEST else None
    if match is None:
        return None
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    try:
        days = date.fromisoformat(match["date"]).toordinal() - _EPOCH
    except ValueError:
        return None
    # A leap second, and 24:00 as the end of a day, are times too.
    if hour > 24 or minute > 59 or second > 60:  # noqa: PLR2004
        return None
    seconds = (hour * 60 + minute) * 60 + second - _offset(match["zone"] or "Z")
    return days * _DAY + seconds * SECOND + _fraction(match["part"])


def period_ns(text: Any) -> int | None:
    """Nanoseconds of an ISO 8601 duration of days and less, None where it is no such text.

    >>> period_ns("PT1M24.6S"), period_ns("P1D"), period_ns("1 minute")
    (84600000000, 86400000000000, None)
    """
    match = _PERIOD.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= 2 * _LONGEST else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(match[unit] or 0) for unit in ("days", "hours", "minutes", "seconds"))
    return days * _DAY + ((hours * 60 + minutes) * 60 + seconds) * SECOND + _fraction(match["part"])


def whole_ns(value: Any) -> int | None:
    """A count of nanoseconds written as a number or as text, None where it is neither or out of range.

    >>> whole_ns("1700000000000000001"), whole_ns(5), whole_ns(True), whole_ns("1e9")
    (1700000000000000001, 5, None, None)
    """
    if (isinstance(value, str) and _WHOLE.fullmatch(value.strip())) or (
        isinstance(value, float) and value.is_integer()
    ):
        value = int(value)
    return value if type(value) is int and abs(value) <= _MOST else None


def scaled_ns(value: Any, unit: int) -> int | None:
    """Nanoseconds of a number, or a number as text, of `unit` nanoseconds each: seconds, milliseconds, microseconds.

    >>> scaled_ns(1.5, SECOND), scaled_ns("2.000000001", SECOND), scaled_ns(7, 1000), scaled_ns("soon", SECOND)
    (1500000000, 2000000001, 7000, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > _LONGEST:
        return None
    try:
        exact = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if not exact.is_finite() or abs(exact.adjusted()) > _LONGEST:
        return None
    scaled = int(exact * unit)
    return scaled if abs(scaled) <= _MOST else None


def _fraction(digits: str | None) -> int:
    return int((digits or "0")[:_DIGITS].ljust(_DIGITS, "0"))


def _offset(zone: str) -> int:
    """Seconds east of Greenwich."""
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds
