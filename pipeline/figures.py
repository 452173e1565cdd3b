"""Figures as people read them, the same in every output."""

from typing import Final

# Longer durations are told in seconds.
LONGEST_IN_MS: Final = 10_000
# A trace may state any number; one with more digits than this is told by its magnitude.
MOST_WRITTEN_OUT: Final = 1e15
# Below this, two decimals would show nothing.
LEAST_IN_DECIMALS: Final = 0.01


def percent(share: float | None) -> str:
    """A share in percent, with one decimal at most; a dash for none.

    >>> percent(0.964286), percent(1.0), percent(None)
    ('96.4 %', '100 %', '–')
    """
    if share is None:
        return "–"
    shown = f"{share * 100:.1f}".removesuffix(".0")
    # Rounding must not turn nearly all into all, or nearly none into none.
    if share < 1 and shown == "100":
        shown = "99.9"
    if share > 0 and shown == "0":
        shown = "0.1"
    return f"{shown} %"


def figure(value: float | None, unit: str = "") -> str:
    """A number for people: thousands apart, two decimals at most; a dash for none.

    >>> figure(5.321429), figure(46318.0, "ms"), figure(None)
    ('5.32', '46,318 ms', '–')
    >>> figure(0.0004), figure(1.5e300)
    ('0.0004', '1.5e+300')
    """
    if value is None:
        return "–"
    if abs(value) >= MOST_WRITTEN_OUT or 0 < abs(value) < LEAST_IN_DECIMALS:
        shown = f"{value:.2g}"
    elif isinstance(value, int):
        shown = f"{value:,}"
    else:
        shown = f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{shown} {unit}".rstrip()


def duration(milliseconds: float | None) -> str:
    """A duration for people: in milliseconds, or in seconds with one decimal where it is longer than 10,000 ms.

    >>> duration(8421.0), duration(10_000), duration(46_318.0), duration(90_000), duration(None)
    ('8,421 ms', '10,000 ms', '46.3 s', '90 s', '–')
    """
    if milliseconds is None or milliseconds <= LONGEST_IN_MS:
        return figure(milliseconds, "ms")
    return figure(round(milliseconds / 1000, 1), "s")


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A number of things in words.

    Args:
        count: how many.
        noun: one of them.
        nouns: several of them; `noun` with an s by default.

    >>> counted(1, "case"), counted(1234, "case"), counted(2, "trace of no case", "traces of no case")
    ('1 case', '1,234 cases', '2 traces of no case')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
