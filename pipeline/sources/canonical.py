"""One text for one JSON value: how free-form values are kept and compared."""

import math
import re
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
# Types whose values the encoder writes in one way only.
_ONE_WAY: Final = frozenset({str, int, bool, type(None)})
# How the encoder writes a float that is a whole number; elsewhere in the text it only costs the slower way.
_WHOLE_FLOAT: Final = re.compile(rb"\.0(?!\d)|\de\d")


def canonical_json(value: Any) -> str:
    """The canonical JSON text of a value.

    Keys are sorted, there is no white space, and numbers are written by value: 2.0 as 2, -0.0 as 0, integers in
    full however long. What JSON does not have (NaN, Infinity) is null.

    Args:
        value: as decoded from JSON: None, bool, int, float, str, list and dict with text keys, up to 200 levels deep.

    >>> canonical_json({"b": 2.0, "a": [-0.0, 1e3, 0.5, 2**70]})
    '{"a":[0,1000,0.5,1180591620717411303424],"b":2}'
    """
    text = _ENCODER.encode(value)
    # Most values are texts and integers, or flat objects of them: those have one way to be written.
    members = value.values() if type(value) is dict else (value,)
    if not _ONE_WAY.issuperset(map(type, members)) and _WHOLE_FLOAT.search(text):
        text = _ENCODER.encode(_by_value(value))
    return text.decode()


def _by_value(value: Any) -> Any:
    # Recursion ends with the value: what was decoded is at most 200 levels deep.
    kind = type(value)
    if kind is dict:
        return {key: _by_value(item) for key, item in value.items()}
    if kind is list:
        return [_by_value(item) for item in value]
    if kind is float:
        return int(value) if math.isfinite(value) and value.is_integer() else value
    return value
