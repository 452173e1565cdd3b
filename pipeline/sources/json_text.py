"""One JSON document: bytes to a typed value, or a refusal that says where and why (contract section 2).

The fast path is msgspec's typed decoder with three looks at the bytes beside it, for what the decoder does not see in
fields that it ignores: invalid UTF-8, numbers out of range and deep nesting. A record that fails is repaired
where the contract says so and decoded once more.
"""

import math
import re
from typing import Any, Final, TypeVar

import msgspec
import polars as pl

from pipeline.errors import quote
from pipeline.sources.json_scan import Walk, deeper_than, join_path
from pipeline.sources.repair import Repairs, with_valid_tokens, with_valid_utf8
from pipeline.sources.wording import FLOAT_DUE, Refused, malformed, wrong_type

T = TypeVar("T")

MAX_DEPTH: Final = 200
MAX_LEVELS: Final = 3
SHOWN_DIGITS: Final = 40
BOM: Final = b"\xef\xbb\xbf"
ENCODING_HEAD: Final = 4
"""How many bytes of a file tell its encoding."""
_BEGINNINGS: Final = frozenset((b"{", b"[", b'"', b" ", b"\t", b"\r", b"\n"))
ANY: Final = msgspec.json.Decoder()

# A copy of the text in which plain searches find what may break a rule: opening brackets all alike, digits and + all
# 0, E as e. A number overflows by some 300 digits, or by an exponent of three; both are rare outside numbers, and
# what is found is looked at again.
_ALIKE: Final = bytes.maketrans(b"{123456789+E", b"[0000000000e")
_LONG: Final = b"0" * 100
_HUGE: Final = b"0e000"
# With fewer than 100 digits before it, no exponent below 200 overflows.
_EXPONENT: Final = re.compile(rb"\d[eE]\+?0*(?:[2-9]\d\d|[1-9]\d{3,})\d*(?:[\s,\]}]|$)")
# The same for Polars, over many documents at once; a number ends where its value does.
_EXPONENTS: Final = r"[0-9][eE]\+?0*(?:[2-9][0-9]{2}|[1-9][0-9]{3,})[0-9]*(?:[\s,\]}]|$)"
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")
# Of every 14th byte, a run of 100 digits has seven.
_SAMPLE: Final = 14
_SAMPLED: Final = b"0" * 7
_NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MINUS: Final = ord("-")
_DIGITS: Final = frozenset(b"0123456789")


def encoding_of(head: bytes) -> str | None:
    """The name of an encoding that is not UTF-8, told from the first four bytes of a file, else None."""
    head = head[:ENCODING_HEAD]
    if head in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "UTF-32"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    # JSON begins with two ASCII characters, so the NULs among the first bytes tell the width of a character. A stray
    # NUL before something else is a bad line, not an encoding.
    nuls = tuple(byte == 0 for byte in head)
    if head.replace(b"\0", b"")[:1] not in _BEGINNINGS:
        return None
    if nuls in ((False, True, True, True), (True, True, True, False)):
        return "UTF-32"
    if nuls in ((False, True, False, True), (True, False, True, False)):
        return "UTF-16"
    return None


def wrong_encoding(name: str) -> Refused:
    """The refusal of a file in that encoding."""
    return Refused(f"the file is {name}: save it as UTF-8", expected="UTF-8", found=name, malformed=True)


def decode(data: bytes, decoder: "msgspec.json.Decoder[T]", repairs: Repairs, at: str = "$") -> T:
    """Decode one JSON text.

    Args:
        data: the text, without a byte-order mark.
        decoder: decides the types.
        repairs: takes what had to be repaired, once the text is read.
        at: the path of the string that holds this text, `$` for a document of its own.

    Raises:
        Refused: malformed, a wrong type, a number out of range, or nested too deep.
    """
    made = Repairs()
    try:
        if not data.isascii():
            data = with_valid_utf8(data, made)
        try:
            value = _decode(data, decoder)
        except msgspec.ValidationError as error:
            raise wrong_type(error, data) from None
        except msgspec.DecodeError as error:
            repaired = with_valid_tokens(data, made)
            if repaired == data:
                raise malformed(error, data) from None
            try:
                value = _decode(repaired, decoder)
            except msgspec.ValidationError as again:
                raise wrong_type(again, repaired) from None
            except msgspec.DecodeError as again:
                raise malformed(again, repaired) from None
    except Refused as refused:
        refused.path = join_path(at, refused.path)
        raise
    if made:
        repairs.merge(made, at)
    return value


def decode_document(data: bytes, decoder: "msgspec.json.Decoder[T | str]", repairs: Repairs) -> T:
    """Decode a whole document, which may itself stand inside a string.

    Raises:
        Refused: see `decode`; also for nothing at all.
    """
    try:
        value: T | str | None = decode(data, decoder, repairs)
        if isinstance(value, str):
            value = from_text(value, decoder, repairs, "$")
    except Refused as refused:
        if refused.path == "$" and refused.found.startswith("list of "):
            refused.message = (
                f"a {refused.found} where one trace object is due: write one object per line in a .jsonl file"
            )
        raise
    if value is None:
        raise Refused("there is nothing in it: write a JSON object", expected="object", found="blank text or null")
    return value


def from_text(text: str, decoder: "msgspec.json.Decoder[T | str]", repairs: Repairs, at: str) -> T | None:
    """The JSON value inside a string, up to three strings deep.

    Args:
        text: the string.
        decoder: decides the type that is due; it must take a string too, being one more level.
        repairs: see `decode`.
        at: the path of the string.

    Returns:
        The value, or None where the text is blank or null.

    Raises:
        Refused: no JSON of the type that is due, or deeper in strings than that.
    """
    value: T | str = text
    for _ in range(MAX_LEVELS):
        if not isinstance(value, str) or not value or value.isspace():
            break
        try:
            value = decode(value.encode(), decoder, repairs, at)
        except Refused as refused:
            if refused.malformed:
                refused.message = f"the text here is no JSON: {refused.message}"
            raise
    if not isinstance(value, str):
        return value
    if not value or value.isspace():
        return None
    raise Refused(
        f"JSON stands inside more than {MAX_LEVELS} strings, one in the other: encode it once",
        path=at,
        expected=f"JSON inside up to {MAX_LEVELS} strings",
        found="one more string",
    )


def is_plain(text: bytes) -> bool:
    """Whether whole lines are valid UTF-8, without a number that may be out of range: where a decoder does not look.

    Such numbers are told by their looks, in strings too: a False says that each line is to be looked at by itself.
    """
    if _SAMPLED in text[::_SAMPLE].translate(_DIGITS_ALIKE):
        return False
    try:
        valid = pl.Series(values=[text], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return not valid.str.contains(_EXPONENTS).item()


def is_shallow(data: bytes) -> bool:
    """Whether a document is surely nested no deeper than is allowed."""
    return data.count(b"[") + data.count(b"{") <= MAX_DEPTH


def _decode(data: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    alike = data.translate(_ALIKE)
    if alike.count(b"[") > MAX_DEPTH and deeper_than(data, MAX_DEPTH):
        raise _too_deep()
    try:
        value = decoder.decode(data)
    except RecursionError:
        # The limit above is far below Python's own, but the caller's stack counts too.
        raise _too_deep() from None
    except msgspec.ValidationError as error:
        if "out of range" in str(error):
            _check_range(data)
        raise
    if _LONG in alike or (_HUGE in alike and _has_exponent(data, alike)):
        _check_range(data)
    return value


def _too_deep() -> Refused:
    return Refused(
        f"nested deeper than {MAX_DEPTH} levels: flatten it or keep it as text",
        expected=f"up to {MAX_DEPTH} levels of objects and lists",
        found="more levels",
    )


def _has_exponent(data: bytes, alike: bytes) -> bool:
    found = alike.find(_HUGE)
    while found >= 0:
        if _EXPONENT.match(data, found):
            return True
        found = alike.find(_HUGE, found + 1)
    return False


def _check_range(data: bytes) -> None:
    walk = Walk(data)
    for kind, start, end in walk:
        # Not all of a token need be the number: the decoder may have stopped at it, before what is malformed.
        number = _NUMBER.match(data, start, end) if kind in _DIGITS or kind == _MINUS else None
        if number and math.isinf(float(number[0])):
            raise Refused(
                f"this number is out of range: a {FLOAT_DUE} is due; write one, or leave the field out",
                path=walk.path(),
                expected=FLOAT_DUE,
                found=f"number {quote(number[0].decode(), SHOWN_DIGITS)}",
            )


def plain(data: bytes) -> Any:
    """A whole document as plain lists, dicts and scalars, repaired and taken out of strings.

    Raises:
        Refused: see `decode_document`.
    """
    return decode_document(data, ANY, Repairs())
