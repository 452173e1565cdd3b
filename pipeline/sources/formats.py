"""All trace formats, found on first use: most runs read native traces and need none of the others."""

from functools import cache

import pipeline.sources
from pipeline.registry import Registry
from pipeline.sources.base import FORMATS, Format


@cache
def formats() -> Registry[Format]:
    """All trace formats."""
    FORMATS.discover(pipeline.sources, "FORMAT")
    return FORMATS


@cache
def own_endings() -> frozenset[str]:
    """The file endings that belong to one format alone."""
    return frozenset(ending for entry in formats() for ending in entry.endings)
