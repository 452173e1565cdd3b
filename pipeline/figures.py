"""Figures as people read them, the same in every output."""


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
    """
    if value is None:
        return "–"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{shown} {unit}".rstrip()
