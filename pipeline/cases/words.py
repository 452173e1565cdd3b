"""Declared types, values and suggestions in words, for the faults of case files."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec.inspect as mi

from pipeline.cases.declared import bare, keys_of, options
from pipeline.cases.model import ToolArguments
from pipeline.cases.tree import Node
from pipeline.errors import quote

# What YAML reads a scalar as.
_READ_AS = {
    "integer": "a number",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "date": "a date",
    "other": "a sign of its own",
}


def found(node: Node) -> str:
    """A value in words for the `found` of a fault."""
    if node.kind == "object":
        keys = ", ".join(quote(member.key, 40) for member in node.members[:5])
        return f"an object with the keys {keys}" if keys else "an empty object"
    if node.kind == "list":
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    if node.kind == "text":
        return f'the text "{quote(node.value)}"'
    if node.kind == "null":
        return "null" if node.source in {"", "null"} else f"null, written {node.source}"
    return f"the {_READ_AS[node.kind].removeprefix('a ')} {quote(node.source)}"


def quote_it(node: Node) -> str:
    """What to do about a YAML scalar that is no text where text is due."""
    shown = quote(node.source, 80)
    return f'YAML reads {shown} as {_READ_AS[node.kind]}; quote it: "{shown}".'


def demand(declared: mi.Type) -> str:
    """What a declared type asks of a value of the right kind: its description, where it has one."""
    extra = declared.extra_json_schema if isinstance(declared, mi.Metadata) else None
    return str((extra or {}).get("description", "")) or describe(declared)


def describe(declared: mi.Type) -> str:
    """A declared type in words for the `expected` of a fault.

    >>> describe(mi.type_info(bool | None))
    'true, false or null'
    """
    *words, last = (word for option in options(declared) for word in _words(bare(option)))
    return f"{', '.join(words)} or {last}" if words else last


def _words(option: mi.Type) -> list[str]:
    return next((words(option) for kind, words in _IN_WORDS if isinstance(option, kind)), ["an object"])


def _struct_in_words(declared: mi.StructType) -> list[str]:
    keys = [field.encode_name for field in declared.fields]
    small = len(keys) <= len(keys_of(ToolArguments))
    return [f"an object {{{', '.join(keys)}}}" if small else "an object"]


def _number_in_words(declared: mi.IntType | mi.FloatType) -> list[str]:
    whole = "a whole number" if isinstance(declared, mi.IntType) else "a number"
    if isinstance(declared, mi.FloatType) and declared.ge is not None and declared.le is not None:
        return [f"{whole} from {declared.ge:g} to {declared.le:g}"]
    return [whole if declared.ge is None else f"{whole} ({declared.ge:g} or more)"]


_IN_WORDS: tuple[tuple[type[mi.Type], Callable[[Any], list[str]]], ...] = (
    (mi.StrType, lambda _: ["text"]),
    (mi.BoolType, lambda _: ["true", "false"]),
    (mi.NoneType, lambda _: ["null"]),
    (mi.LiteralType, lambda declared: [str(value) for value in declared.values]),
    (mi.IntType, _number_in_words),
    (mi.FloatType, _number_in_words),
    (mi.VarTupleType, lambda _: ["a list"]),
    (mi.StructType, _struct_in_words),
)


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean x?` for a word that resembles a known one, else nothing.

    >>> suggest("rootCauseKeyword", ["rootCauseKeywords", "question"])
    '; did you mean rootCauseKeywords?'
    """
    close = difflib.get_close_matches(word[:200], sorted(known), n=1)
    if not close:
        lowered = {one.lower(): one for one in known}
        close = [lowered[word.lower()]] if word.lower() in lowered else []
    return f"; did you mean {quote(close[0], 80)}?" if close else ""
