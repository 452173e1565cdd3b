"""Checks a tree against the case structs: unknown keys, missing keys, wrong types, numbers out of range.

The walker reads the structs of `model` through `msgspec.inspect`, so that they stay the one declaration, and
reports every fault where `msgspec.convert` would stop at the first.
"""

import math
import re

import msgspec
import msgspec.inspect as mi

from pipeline.cases.declared import bare, fields_of, fits, keys_of, options, restores_default, struct_type, whole
from pipeline.cases.model import CaseEntry, CaseFile, Expectations
from pipeline.cases.tree import Member, Node, child
from pipeline.cases.words import demand, describe, found, quote_it, suggest
from pipeline.errors import Fault, quote

_NOT_DECIMAL = re.compile(r"[-+]?0[0-7_]+|.*:.*")


class Walker:
    """Checks the tree of one file.

    Args:
        file: the file's name for faults.
        language: `YAML` or `JSON`, for messages.

    Attributes:
        faults: what was found so far.
    """

    def __init__(self, file: str, language: str) -> None:
        self.file = file
        self.language = language
        self.faults: list[Fault] = []

    def check(self, cls: type[msgspec.Struct], root: Node) -> None:
        """Check a whole document against a struct."""
        self._check(struct_type(cls), root, "$")

    def _fault(self, node: Node, path: str, expected: str, message: str, observed: str = "") -> None:
        self.faults.append(
            Fault(
                file=self.file,
                line=node.line,
                path=path,
                expected=expected,
                found=observed or found(node),
                message=message,
            )
        )

    def _check(self, declared: mi.Type, node: Node, path: str) -> None:
        option = next((option for option in options(declared) if fits(bare(option), node)), None)
        if option is None:
            self._wrong_type(declared, node, path)
            return
        chosen = bare(option)
        if isinstance(chosen, mi.StructType):
            self._check_struct(chosen, node, path)
        elif isinstance(chosen, mi.VarTupleType):
            self._check_list(chosen, node, path)
        elif isinstance(chosen, mi.StrType):
            self._check_text(chosen, demand(option), node, path)
        elif isinstance(chosen, mi.LiteralType):
            self._check_literal(chosen, describe(declared), node, path)
        elif isinstance(chosen, (mi.IntType, mi.FloatType)):
            self._check_number(chosen, describe(declared), node, path)
        else:
            self._check_free(node, path)

    def _check_struct(self, declared: mi.StructType, node: Node, path: str) -> None:
        fields = fields_of(declared.cls)
        for member in node.members:
            field = fields.get(member.key)
            if field is None:
                self._unknown_key(declared.cls, member, child(path, member.key))
            elif not (member.node.kind == "null" and restores_default(declared.cls, field)):
                self._check(field.type, member.node, child(path, member.key))
        for name, field in fields.items():
            # Only the merged case can tell what a case and its file's defaults lack together.
            if field.required and not restores_default(declared.cls, field) and node.get(name) is None:
                message = f"The key {name} is missing; add it."
                self._fault(node, child(path, name), describe(field.type), message, observed="nothing")

    def _unknown_key(self, cls: type[msgspec.Struct], member: Member, path: str) -> None:
        here = keys_of(cls)
        key = member.key
        if cls is Expectations and key in keys_of(CaseEntry):
            message = "This key belongs to one case; move it from defaults into the case."
        elif issubclass(cls, Expectations) and key in keys_of(CaseFile):
            message = "This key holds for the whole file; move it to the top level."
        elif cls is CaseFile and key in keys_of(CaseEntry):
            message = "This key belongs to a case; move it into the case, or into defaults."
        else:
            message = f"There is no such key{suggest(key, here) or '; remove it.'}"
        self._fault(
            msgspec.structs.replace(member.node, line=member.line),
            path,
            f"one of the keys {', '.join(here)}",
            message,
            observed=f"the key {quote(key, 80)}",
        )

    def _check_list(self, chosen: mi.VarTupleType, node: Node, path: str) -> None:
        if chosen.min_length and not node.items:
            self._fault(node, path, "a list that is not empty", "The list is empty; add an entry.")
        for index, item in enumerate(node.items):
            self._check(chosen.item_type, item, child(path, index))

    def _check_text(self, chosen: mi.StrType, expected: str, node: Node, path: str) -> None:
        if chosen.min_length and not node.value.strip():
            self._fault(node, path, expected, "The text is blank; write something, or remove it.")
        elif chosen.pattern is not None and whole(chosen.pattern).fullmatch(node.value) is None:
            self._fault(node, path, expected, "The text holds a character that may not stand here; remove it.")

    def _check_literal(self, chosen: mi.LiteralType, expected: str, node: Node, path: str) -> None:
        if node.value not in chosen.values:
            words = [value for value in chosen.values if isinstance(value, str)]
            hint = suggest(node.value, words) if isinstance(node.value, str) else ""
            message = f"The value is not known{hint or '; use one that is expected.'}"
            if path == "$.schemaVersion":
                message = (
                    f"This version of the format is not known; write {expected}, the one that is, "
                    "or use the diagnosis-eval that the file was written for."
                )
            self._fault(node, path, expected, message)

    def _check_number(self, chosen: mi.IntType | mi.FloatType, expected: str, node: Node, path: str) -> None:
        low, high = chosen.ge, chosen.le
        if not self._is_finite(node, path, expected):
            return
        if (low is not None and node.value < low) or (high is not None and node.value > high):
            self._fault(node, path, expected, "The number is out of range; correct it.")

    def _is_finite(self, node: Node, path: str, expected: str) -> bool:
        if not math.isfinite(node.value):
            self._fault(node, path, expected, "The number is not finite, or too large; write one that is finite.")
            return False
        if self.language == "YAML" and _NOT_DECIMAL.fullmatch(node.source):
            self._fault(
                node,
                path,
                expected,
                "YAML reads this in base 8 or 60; write plain decimal digits, or quote it where text is due.",
                observed=f"{quote(node.source, 80)}, which YAML reads as {node.value}",
            )
            return False
        return True

    def _check_free(self, node: Node, path: str) -> None:
        if node.kind in {"integer", "number"}:
            self._is_finite(node, path, "a finite number")
        elif node.kind in {"date", "other"}:
            self._fault(node, path, "a value that JSON knows", quote_it(node))
        for member in node.members:
            self._check_free(member.node, child(path, member.key))
        for index, item in enumerate(node.items):
            self._check_free(item, child(path, index))

    def _wrong_type(self, declared: mi.Type, node: Node, path: str) -> None:
        due = [bare(option) for option in options(declared)]
        text_due = any(fits(option, Node(kind="text", line=0)) for option in due)
        number_due = any(fits(option, Node(kind="integer", line=0)) for option in due)
        if node.kind == "null" and node.source in {"", "null"}:
            message = "There is no value here; write one, or remove the entry."
        elif text_due and node.kind not in {"object", "list", "text"}:
            message = quote_it(node) if self.language == "YAML" else "Text is due here; write it in quotes."
        elif number_due and node.kind == "text":
            trap = ", in plain digits (YAML reads 1e3 as text)" if self.language == "YAML" else ""
            message = f"Write a number without quotes{trap}."
        else:
            message = "The value has the wrong type; write what is expected."
        self._fault(node, path, describe(declared), message)
