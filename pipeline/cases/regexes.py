"""Whether Polars can search for a regex, and whether it would find something in everything."""

import functools

# An empty match in any of these is an empty match in nearly every answer: `\b`, `^`, `a*`.
_PROBES = ("", "a", "a b", "0", ".", "中")


@functools.cache
def regex_problem(pattern: str) -> str | None:
    """Why a regex cannot be used, None where it can.

    Args:
        pattern: a pattern in Polars' (Rust) syntax, as written; it is applied case-insensitively.

    Returns:
        The engine's reason, or that the pattern matches the empty text, in words for a message.
    """
    # Only suites with regexes pay for the import.
    import polars as pl

    probes = pl.DataFrame({"text": _PROBES})
    try:
        matches = probes.select(pl.col("text").str.extract_all(f"(?i){pattern}")).to_series().explode()
    except pl.exceptions.PolarsError as error:
        first, *more = str(error).splitlines()
        reasons = [line.removeprefix("error: ") for line in more if line.startswith("error: ")]
        return reasons[-1] if reasons else first.removeprefix("regex error: ").removesuffix(".")
    return "it matches the empty text, and so every text" if (matches == "").any() else None
