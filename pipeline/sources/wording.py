"""What the decoder says of a document, in the product's own words."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from pipeline.errors import Fault, excerpt, quote

WORDS: Final = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "null": "null",
    "array": "list",
    "object": "object",
}
INT64_DUE: Final = "whole number from -2^63 to 2^63-1"
FLOAT_DUE: Final = "number from -1.8e308 to 1.8e308"
CONTEXT: Final = 24
SHOWN_KEYS: Final = 5

_TYPE: Final = re.compile(r"Expected `(?P<expected>[^`]+)`(?:, got `(?P<got>\w+)`| [<>]= -?\d+)?", re.DOTALL)
_PATH: Final = re.compile(r" - at `(?P<path>[^`]*)`$")
_BYTE: Final = re.compile(r"JSON is malformed: (?P<what>.*) \(byte (?P<byte>\d+)\)$", re.DOTALL)
_STEPS: Final = re.compile(r"\.(?P<key>\w+)|\[(?P<index>\d+)\]")
_LOOK: Final = msgspec.json.Decoder()


class Refused(Exception):  # noqa: N818  # an outcome that becomes a row, not an error that ends anything
    """A document that cannot be read, on its way to becoming a `Fault`.

    Args:
        message: one sentence, ending in what to do.
        path: JSON path in the document.
        expected: what is due there.
        found: what stands there.
        malformed: whether the text is no JSON at all, rather than JSON that breaks a rule.
    """

    def __init__(
        self, message: str, *, path: str = "$", expected: str = "", found: str = "", malformed: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.expected = expected
        self.found = found
        self.malformed = malformed

    def fault(self, file: str, line: int | None) -> Fault:
        """The fault of the record at that place."""
        return Fault(
            file=file, line=line, path=self.path, expected=self.expected, found=self.found, message=self.message
        )


def describe(value: Any) -> str:
    """A decoded value in a few words.

    >>> describe(7), describe("seven"), describe([1, 2]), describe(None)
    ('number 7', 'text "seven"', 'list of 2 values', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'text "{quote(value)}"'
    if isinstance(value, Sequence):
        return f"list of {len(value)} value{'s' * (len(value) != 1)}"
    if isinstance(value, dict):
        keys = ", ".join(quote(key, 40) for key in list(value)[:SHOWN_KEYS])
        return f"object with {keys}{', …' * (len(value) > SHOWN_KEYS)}" if value else "empty object"
    return f"number {quote(str(value))}"


def wrong_type(error: msgspec.ValidationError, data: bytes) -> Refused:
    """The refusal for JSON of another type than the field's."""
    text = str(error)
    at = _PATH.search(text)
    path = at["path"] if at else "$"
    match = _TYPE.match(text)
    if match and match["got"]:
        due = [WORDS.get(word, word) for word in match["expected"].split(" | ") if word != "null"]
        if path == "$" and len(due) > 1:
            # A string may hold the document once more, which is not what anyone should write.
            due.remove(WORDS["str"])
        expected = " or ".join(due)
        found = _value_at(data, path, match["got"])
        message = f"{expected} is due here, not {found}: correct what writes it"
    else:
        # All else that these types can be refused for.
        expected = INT64_DUE
        found = _value_at(data, path, "number")
        message = f"this number is out of range: a {expected} is due; write one, or leave the field out"
    return Refused(message, path=path, expected=expected, found=found)


def malformed(error: msgspec.DecodeError, data: bytes) -> Refused:
    """The refusal for text that is no JSON."""
    if not data.strip():
        return Refused(
            "there is nothing in it: write a JSON object", expected="object", found="nothing", malformed=True
        )
    match = _BYTE.match(str(error))
    if match is None:
        end = data[-CONTEXT:].decode("utf-8", "replace")
        return Refused(
            "the JSON ends before it is complete: the file or line was cut off; write it again",
            expected="JSON",
            found=f"the end, after {excerpt(end)}",
            malformed=True,
        )
    byte = int(match["byte"])
    near = data[max(0, byte - CONTEXT) : byte + CONTEXT].decode("utf-8", "replace")
    message = f"this is no JSON ({match['what']} at byte {byte}): correct or remove it"
    if match["what"] == "trailing characters":
        message = (
            f"more text follows the end of the JSON, at byte {byte - 1}: "
            "several objects belong on lines of their own in a .jsonl file"
        )
    return Refused(message, expected="JSON", found=excerpt(near), malformed=True)


def _value_at(data: bytes, path: str, got: str) -> str:
    """The value at a path in words, else its type alone: of duplicate keys the one at fault may not be the last."""
    word = WORDS.get(got, got)
    try:
        value = _LOOK.decode(data)
        for step in _STEPS.finditer(path):
            value = value[step["key"]] if step["key"] is not None else value[int(step["index"])]
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError):
        return word
    kinds = {
        "str": str, "int": int, "float": float, "bool": bool, "array": list, "object": dict, "number": int | float,
    }  # fmt: skip
    same = value is None if got == "null" else isinstance(value, kinds[got])
    return describe(value) if same and (got == "bool" or not isinstance(value, bool)) else word
