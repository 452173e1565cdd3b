"""Tables of the keys of a format, from the structs that declare it and from their docstrings."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import msgspec.inspect as mi

from tools.docstrings import attributes, summary
from tools.markdown import anchor, code, table

NUMBERS_ALL: Final = (-(2**63), 2**63 - 1)


def structs_below(top: type[msgspec.Struct]) -> list[mi.StructType]:
    """A struct and all that stand in its fields, each once, the nearest first."""
    waiting: list[mi.Type] = [mi.type_info(top)]
    found: dict[type, mi.StructType] = {}
    for declared in waiting:
        if isinstance(declared, mi.StructType):
            if declared.cls not in found:
                found[declared.cls] = declared
                waiting.extend(field.type for field in declared.fields)
        else:
            waiting.extend(_parts(declared))
    return list(found.values())


def _parts(declared: mi.Type) -> tuple[mi.Type, ...]:
    if isinstance(declared, mi.UnionType):
        return declared.types
    if isinstance(declared, mi.Metadata):
        return (declared.type,)
    if isinstance(declared, mi.ListType | mi.VarTupleType):
        return (declared.item_type,)
    return ()


def heading(cls: type) -> str:
    """The heading of a struct's section.

    >>> heading(mi.StructType)
    'Struct type'
    """
    return re.sub(r"(?<=[a-z])([A-Z])", r" \1", cls.__name__).capitalize()


def words(declared: mi.Type) -> str:
    """A declared type in words; that null stands for nothing goes without saying."""
    return _WORDS[type(declared)](declared)


def _union(declared: mi.UnionType) -> str:
    options = [option for option in declared.types if not isinstance(option, mi.NoneType)]
    *first, last = dict.fromkeys(words(option) for option in options)
    return f"{', '.join(first)} or {last}" if first else last


def _list(declared: mi.ListType | mi.VarTupleType) -> str:
    inner = words(declared.item_type)
    inner = f"({inner})" if " or " in inner else inner
    return f"{'non-empty list' if declared.min_length else 'list'} of {inner}"


def _number(declared: mi.IntType | mi.FloatType) -> str:
    kind = "whole number" if isinstance(declared, mi.IntType) else "number"
    least, most = declared.ge, declared.le
    if least is None or least == NUMBERS_ALL[0]:
        return kind
    if most is None or most == NUMBERS_ALL[1]:
        return f"{kind}, {least:g} or more"
    return f"{kind} from {least:g} to {most:g}"


_WORDS: Final[Mapping[type[mi.Type], Callable[[Any], str]]] = {
    mi.StrType: lambda _: "text",
    mi.BoolType: lambda _: "true or false",
    mi.AnyType: lambda _: "anything",
    mi.DictType: lambda _: "object",
    mi.IntType: _number,
    mi.FloatType: _number,
    mi.LiteralType: lambda declared: " or ".join(code(str(value)) for value in declared.values),
    mi.StructType: lambda declared: f"[object]({anchor(heading(declared.cls))})",
    mi.ListType: _list,
    mi.VarTupleType: _list,
    mi.UnionType: _union,
    mi.Metadata: lambda declared: words(declared.type),
}


class Key(msgspec.Struct, frozen=True):
    """One key of a struct.

    Attributes:
        field: what is declared.
        spellings: other keys that are read for the same.
        meaning: what stands there.
    """

    field: mi.Field
    spellings: tuple[str, ...]
    meaning: str


def keys(declared: mi.StructType, meanings: Mapping[str, str]) -> Iterator[Key]:
    """The keys of a struct, each with its other spellings.

    A key whose meaning is nowhere said is another spelling: of the key that it is in snake_case or camelCase, or of
    the key whose meaning names it in back ticks.

    Args:
        declared: the struct.
        meanings: by attribute, what the docstring leaves out.

    Raises:
        LookupError: a key is neither described nor another spelling, or it is described twice.
    """
    said = attributes(declared.cls)
    if twice := set(said) & set(meanings):
        raise LookupError(f"{declared.cls.__name__}: described in the docstring and in tools: {sorted(twice)}")
    said = {**said, **meanings}
    own = [field for field in declared.fields if field.name in said]
    others: dict[str, list[str]] = {field.name: [] for field in own}
    for field in declared.fields:
        if field.name not in said:
            others[_first_spelling(field.name, {one.name: said[one.name] for one in own}, declared.cls)].append(
                field.encode_name
            )
    for field in own:
        yield Key(field=field, spellings=tuple(others[field.name]), meaning=said[field.name])


def _first_spelling(name: str, said: Mapping[str, str], cls: type) -> str:
    for own, meaning in said.items():
        if _snake(own) == _snake(name) or f"`{name}`" in meaning or f"`{_snake(name)}`" in meaning:
            return own
    raise LookupError(f"{cls.__name__}.{name} is described neither in its docstring nor in tools")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def section(declared: mi.StructType, meanings: Mapping[str, str]) -> str:
    """The section of a struct that is only read: what it is, and its keys."""
    rows = [
        (
            ", ".join(code(key) for key in (one.field.encode_name, *one.spellings)),
            words(one.field.type),
            one.meaning,
        )
        for one in keys(declared, meanings)
    ]
    return "\n\n".join([f"## {heading(declared.cls)}", summary(declared.cls), table(("Key", "Type", "Meaning"), rows)])


def demand(declared: mi.Type) -> str:
    """What a declared type asks of its text, where it says so."""
    options = declared.types if isinstance(declared, mi.UnionType) else (declared,)
    asked = (option.extra_json_schema or {} for option in options if isinstance(option, mi.Metadata))
    return "; ".join(one["description"] for one in asked if "description" in one)


def default(field: mi.Field) -> str:
    """The default of a key as a file would write it."""
    if field.required:
        return "required"
    value: Any = field.default
    if isinstance(value, msgspec.Struct):
        return "its own defaults"
    return code(msgspec.json.encode(value).decode().replace(",", ", "))
