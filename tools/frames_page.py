"""The reference of the frames, from their schemas."""

from collections.abc import Mapping

import polars as pl
from polars._typing import PolarsDataType

from pipeline import frames as analysis
from pipeline import schemas
from pipeline.schemas import Column, Schema
from tools.docstrings import summary
from tools.markdown import anchor, code, table

HEADERS = ("Column", "Type", "Null", "Meaning")


def frames() -> list[type[Schema]]:
    """All frame schemas, in the order in which they are declared; those for analysts first."""
    return [
        value
        for module in (analysis, schemas)
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Schema)
        and value is not Schema
        and value.__module__ == module.__name__
    ]


def nested() -> dict[str, dict[str, Column]]:
    """The declared fields of nested columns, by their name in `schemas`."""
    return {
        name: value
        for name, value in vars(schemas).items()
        if isinstance(value, dict) and value and all(isinstance(one, Column) for one in value.values())
    }


def frame_sections() -> str:
    """One section per frame, then one per kind of nested field."""
    own = [f"## {frame.__name__}\n\n{summary(frame)}\n\n{_table(frame.columns())}" for frame in frames()]
    inner = [f"### {_heading(name)}\n\n{_table(fields)}" for name, fields in nested().items()]
    return "\n\n".join([*own, "## Fields of nested columns", *inner])


def _heading(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _table(columns: Mapping[str, Column]) -> str:
    return table(
        HEADERS,
        [
            (
                code(name) + (" (key)" if one.key else ""),
                _type(one.dtype),
                "yes" if one.nullable else "",
                one.description,
            )
            for name, one in columns.items()
        ],
    )


def _type(dtype: PolarsDataType) -> str:
    for name, fields in nested().items():
        if dtype == schemas.list_of(fields):
            return f"List of [{_heading(name).lower()}]({anchor(_heading(name))})"
    if isinstance(dtype, pl.List):
        return f"List of {_type(dtype.inner)}"
    if isinstance(dtype, pl.Enum):
        return f"Enum: {', '.join(code(value) for value in dtype.categories)}"
    return str(dtype)
