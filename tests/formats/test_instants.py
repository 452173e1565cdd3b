"""Points in time as whole nanoseconds."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.instants import SECOND, iso_ns, period_ns, scaled_ns, whole_ns

NEW_YEAR = 1_767_225_600 * SECOND
TIMES = {
    "in UTC": ("2026-01-01T00:00:00Z", NEW_YEAR),
    "with nanoseconds": ("2026-01-01T00:00:00.123456789Z", NEW_YEAR + 123_456_789),
    "with more digits than nanoseconds": ("2026-01-01T00:00:00.1234567899Z", NEW_YEAR + 123_456_789),
    "with milliseconds": ("2026-01-01T00:00:00.106Z", NEW_YEAR + 106_000_000),
    "with a comma": ("2026-01-01T00:00:00,5Z", NEW_YEAR + 500_000_000),
    "naive": ("2026-01-01T00:00:00", NEW_YEAR),
    "with a space": ("2026-01-01 00:00:00", NEW_YEAR),
    "without seconds": ("2026-01-01T00:00Z", NEW_YEAR),
    "west": ("2025-12-31T20:00:00-04:00", NEW_YEAR),
    "east, short": ("2026-01-01T05:30:00+0530", NEW_YEAR),
    "a zone in letters": ("2026-01-01 00:00:00 UTC", NEW_YEAR),
    "a leap second": ("2025-12-31T23:59:60Z", NEW_YEAR),
    "no such day": ("2026-02-30T00:00:00Z", None),
    "no such hour": ("2026-01-01T25:00:00Z", None),
    "no such zone": ("2026-01-01T00:00:00 Europe/Berlin", None),
    "a date alone": ("2026-01-01", None),
    "other digits": ("２026-01-01T00:00:00Z", None),
    "a number": (1_767_225_600, None),
    "blank": ("", None),
    "nothing": (None, None),
    "very long": ("2026-01-01T00:00:00." + "0" * 1000, None),
}


@pytest.mark.parametrize("value, expected", TIMES.values(), ids=TIMES)
def test_a_time(value: Any, expected: int | None) -> None:
    assert iso_ns(value) == expected


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_of_the_calendar_is_read_exactly(time: datetime) -> None:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    assert iso_ns(time.isoformat()) == ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000


PERIODS = {
    "minutes and seconds": ("PT1M24.635189S", 84_635_189_000),
    "a part of a second": ("PT0.420S", 420_000_000),
    "hours": ("PT2H", 7_200 * SECOND),
    "a day and an hour": ("P1DT1H", 90_000 * SECOND),
    "nothing of anything": ("PT", None),
    "months have no length": ("P1M", None),
    "a number": (5, None),
}


@pytest.mark.parametrize("value, expected", PERIODS.values(), ids=PERIODS)
def test_a_period(value: Any, expected: int | None) -> None:
    assert period_ns(value) == expected


COUNTS = {
    "a text": ("1796054127171745933", 1_796_054_127_171_745_933),
    "a number": (1_777_555_053_780_274_700, 1_777_555_053_780_274_700),
    "a float, rounded where it was written": (1.7775550537802747e18, 1_777_555_053_780_274_688),
    "a fraction": (0.5, None),
    "thousands of digits": ("9" * 5000, None),
    "beyond all instants": (2**63, None),
    "true": (True, None),
    "words": ("soon", None),
}


@pytest.mark.parametrize("value, expected", COUNTS.values(), ids=COUNTS)
def test_a_count_of_nanoseconds(value: Any, expected: int | None) -> None:
    assert whole_ns(value) == expected


SCALED = {
    "seconds": (1770791052.3681982, SECOND, 1_770_791_052_368_198_200),
    "a text of seconds": ("1.000000001", SECOND, 1_000_000_001),
    "microseconds": (1_771_237_534_577_907, 1_000, 1_771_237_534_577_907_000),
    "NaN": (float("nan"), SECOND, None),
    "a huge exponent": ("1e999999999", SECOND, None),
    "beyond all instants": (1e18, SECOND, None),
    "true": (True, SECOND, None),
    "words": ("soon", SECOND, None),
    "nothing": (None, SECOND, None),
}


@pytest.mark.parametrize("value, unit, expected", SCALED.values(), ids=SCALED)
def test_a_number_of_a_unit(value: Any, unit: int, expected: int | None) -> None:
    assert scaled_ns(value, unit) == expected
