"""What the case structs declare, as `msgspec.inspect` tells it, and how a node fits in."""

import functools
import re
from typing import Any, cast

import msgspec
import msgspec.inspect as mi

from pipeline.cases.model import Expectations
from pipeline.cases.tree import Node


@functools.cache
def struct_type(cls: type[msgspec.Struct]) -> mi.StructType:
    """What a struct declares."""
    return cast("mi.StructType", mi.type_info(cls))


@functools.cache
def fields_of(cls: type[msgspec.Struct]) -> dict[str, mi.Field]:
    """The fields of a struct by their keys as files write them."""
    return {field.encode_name: field for field in struct_type(cls).fields}


def keys_of(cls: type[msgspec.Struct]) -> list[str]:
    """The keys of a struct as files write them."""
    return list(fields_of(cls))


def plain_value(declared: mi.Type, node: Node) -> Any:
    """A checked value as dicts, lists and scalars for `msgspec.convert`.

    Keys that are null are left out where that restores a default; inside free-form values null stays.
    """
    chosen = next(option for option in map(bare, options(declared)) if fits(option, node))
    if isinstance(chosen, mi.StructType):
        fields = fields_of(chosen.cls)
        return {
            member.key: plain_value(fields[member.key].type, member.node)
            for member in node.members
            if not (member.node.kind == "null" and restores_default(chosen.cls, fields[member.key]))
        }
    if isinstance(chosen, mi.VarTupleType):
        return [plain_value(chosen.item_type, item) for item in node.items]
    return node.plain()


def options(declared: mi.Type) -> tuple[mi.Type, ...]:
    """The types of which a value may be any one, each with its description where it has one."""
    if isinstance(declared, mi.UnionType):
        # Null comes last: it is seldom what one wants to be told.
        types = sorted(declared.types, key=lambda one: isinstance(one, mi.NoneType))
        return tuple(option for one in types for option in options(one))
    return (declared,)


def bare(option: mi.Type) -> mi.Type:
    """A type without its description."""
    return option.type if isinstance(option, mi.Metadata) else option


def fits(option: mi.Type, node: Node) -> bool:
    """Whether a value is of the kind of a type without description, its content aside."""
    if isinstance(option, mi.LiteralType):
        return node.kind == ("text" if isinstance(option.values[0], str) else "integer")
    return isinstance(option, mi.AnyType) or node.kind in _KINDS.get(type(option), ())


_KINDS: dict[type[mi.Type], tuple[str, ...]] = {
    mi.StrType: ("text",),
    mi.IntType: ("integer",),
    mi.FloatType: ("integer", "number"),
    mi.BoolType: ("boolean",),
    mi.NoneType: ("null",),
    mi.VarTupleType: ("list",),
    mi.StructType: ("object",),
    mi.DictType: ("object",),
}


def restores_default(cls: type, field: mi.Field) -> bool:
    """Whether null may stand for the key: it has a default, or the merged case decides."""
    return not field.required or (issubclass(cls, Expectations) and field.encode_name in fields_of(Expectations))


@functools.cache
def whole(pattern: str) -> re.Pattern[str]:
    """A declared pattern for `fullmatch`."""
    # `$` alone would let a line end pass after the last character.
    return re.compile(pattern.removeprefix("^").removesuffix("$"))
