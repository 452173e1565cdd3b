"""JMESPath expressions, as a mapping file writes them: checked before anything is read, then asked of every record.

A few functions stand beside those of JMESPath, for what homemade logs need most and the language cannot say:
`from_json(text)`, `milliseconds(number, unit)` and `iso_time(number, unit)`.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import msgspec

from pipeline.errors import quote
from pipeline.sources.json_scan import PLAIN_KEY
from pipeline.sources.json_text import ANY, decode
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused, describe

MAX_LENGTH: Final = 4_000
"""Characters of one expression: the parser recurses with its nesting."""

# Microseconds of one unit.
_UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000}
_NANOSECONDS: Final = "ns"
# What `from_json` had to repair; functions of an expression have no way to hand it back.
_REPAIRED: Final = [Repairs()]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# What the library and the functions raise on values that they are not made for.
_RUN_TIME: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
_KINDS: Final = {"string": "text", "array": "a list", "number": "a number", "boolean": "true or false"}
_EXPECTING: Final = re.compile(r"Expecting: .*, got: (\w+)")
_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|([A-Za-z_]\w*)\s*\(")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with an expression.

    Attributes:
        what: in words.
        expected: what would be right.
        column: where in the expression, from 1; None where no place can be told.
    """

    what: str
    expected: str
    column: int | None = None


class Expression:
    """A compiled expression.

    Args:
        text: the expression, without a problem.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._search = _compiled(text).search
        self._options = _library().options

    def find(self, value: Any) -> Any:
        """What the expression finds in plain JSON data; None for nothing.

        Raises:
            Refused: a function was given what it does not take.
        """
        try:
            return self._search(value, options=self._options)
        except _RUN_TIME as error:
            due, found = _of_function(error)
            raise Refused(
                f"the expression {shown(self.text)} cannot be worked out here, as it needs {due}, and there is "
                f"{found}: ask first whether the value is there (`value && function(value)`), or correct the mapping",
                expected=due,
                found=found,
            ) from None

    def path(self) -> str | None:
        """The JSON path of what it finds, where the expression is nothing but a path; `$` for the record itself."""
        steps: list[str] = []
        pending = [_compiled(self.text).parsed]
        while pending:
            node = pending.pop()
            kind = node["type"]
            if kind in {"subexpression", "index_expression"}:
                pending.extend(reversed(node["children"]))
            elif kind == "field":
                key = node["value"]
                steps.append(f".{key}" if PLAIN_KEY.fullmatch(key) else f'["{quote(key)}"]')
            elif kind == "index":
                if node["value"] < 0:
                    return None
                steps.append(f"[{node['value']}]")
            elif kind not in {"current", "identity"}:
                return None
        return "$" + "".join(steps)


def take_repairs() -> Repairs:
    """What `from_json` has repaired since the last time this was asked."""
    made = _REPAIRED[-1]
    _REPAIRED[-1] = Repairs()
    return made


def shown(text: str) -> str:
    """An expression as messages quote it."""
    return f"`{quote(text, 80)}`"


def problem_of(text: str) -> Problem | None:
    """What is wrong with an expression, None where it can be asked.

    >>> problem_of("answer.text"), problem_of("answer.").column, problem_of("lenght(a)").expected
    (None, 8, 'length')
    """
    if len(text) > MAX_LENGTH:
        return Problem(what=f"it is {len(text)} characters long", expected=f"up to {MAX_LENGTH} characters")
    try:
        parsed = _compiled(text).parsed
    except RecursionError:
        return Problem(what="its brackets nest too deep", expected="less nesting")
    except PendingDeprecationWarning:
        return Problem(
            what="what stands between back ticks is no JSON",
            expected="JSON between back ticks, or a text in single quotes",
            column=text.find("`") + 1,
        )
    except _library().error as error:
        place = getattr(error, "lex_position", None)
        return Problem(
            what=_first_line(error),
            expected="a JMESPath expression",
            column=min(place, len(text)) + 1 if isinstance(place, int) else None,
        )
    return next((found for call in _calls(parsed) if (found := _problem_of_call(text, *call))), None)


def _calls(parsed: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The functions that an expression calls, each with the number of its arguments."""
    pending = [parsed]
    while pending:
        node = pending.pop()
        if node["type"] == "function_expression":
            yield node["value"], len(node["children"])
        pending.extend(child for child in node["children"] if isinstance(child, dict))


def _problem_of_call(text: str, name: str, given: int) -> Problem | None:
    known = _library().functions
    column = next((match.start(1) + 1 for match in _TOKEN.finditer(text) if match[1] == name), None)
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        return Problem(
            what=f"there is no function {quote(name)}", expected=", ".join(near or sorted(known)), column=column
        )
    due, or_more = known[name]
    if given < due or (given > due and not or_more):
        return Problem(
            what=f"{name} is given {given} argument{'s' * (given != 1)}",
            expected=f"{due} argument{'s' * (due != 1)}{' or more' * or_more}",
            column=column,
        )
    return None


class _Library(msgspec.Struct, frozen=True):
    """What is used of the jmespath package, imported when the first mapping is read.

    Attributes:
        compile: text to a parsed expression.
        options: our functions beside its own.
        error: the base of all that it raises.
        functions: how many arguments each function takes, and whether it takes more of the last.
    """

    compile: Callable[[str], Any]
    options: Any
    error: type[Exception]
    functions: dict[str, tuple[int, bool]]


@cache
def _compiled(text: str) -> Any:
    with warnings.catch_warnings():
        # `word` for 'word' is read by this release of the library, and not by a later one.
        warnings.simplefilter("error", PendingDeprecationWarning)
        return _library().compile(text)


@cache
def _library() -> _Library:
    import jmespath  # type: ignore[import-untyped] # it has no annotations
    from jmespath import exceptions, functions

    class Functions(functions.Functions):  # type: ignore[misc] # see above
        """Those of JMESPath, and ours; their names come from the methods."""

        @functions.signature({"types": ["string", "null"]})  # type: ignore[untyped-decorator] # see above
        def _func_from_json(self, text: str | None) -> Any:
            return from_json(text)

        @functions.signature({"types": ["number", "null"]}, {"types": ["string"]})  # type: ignore[untyped-decorator] # see above
        def _func_milliseconds(self, number: float | None, unit: str) -> float | None:
            return milliseconds(number, unit)

        @functions.signature({"types": ["number", "null"]}, {"types": ["string"]})  # type: ignore[untyped-decorator] # see above
        def _func_iso_time(self, number: float | None, unit: str) -> str | None:
            return iso_time(number, unit)

    table = {
        name: (len(entry["signature"]), any(one.get("variadic") for one in entry["signature"]))
        for name, entry in Functions.FUNCTION_TABLE.items()
    }
    return _Library(
        compile=jmespath.compile,
        options=jmespath.Options(custom_functions=Functions()),
        error=exceptions.JMESPathError,
        functions=table,
    )


def from_json(text: str | None) -> Any:
    """The value of JSON inside a text; None for none and for blank text.

    Raises:
        Refused: the text is no JSON.

    >>> from_json('{"a": [1]}'), from_json(" ")
    ({'a': [1]}, None)
    """
    if text is None or not text.strip():
        return None
    try:
        return decode(text.encode("utf-8", "replace"), ANY, _REPAIRED[-1])
    except Refused as refused:
        refused.message = f"from_json is given a text that is no JSON: {refused.message}"
        raise


def milliseconds(number: float | None, unit: str) -> float | None:
    """A span of time in milliseconds.

    Args:
        number: how many of the unit; None gives None.
        unit: `ns`, `us`, `ms`, `s` or `min`.

    Raises:
        Refused: there is no such unit.

    >>> milliseconds(1.5, "s"), milliseconds(250_000_000, "ns"), milliseconds(None, "s")
    (1500.0, 250.0, None)
    """
    if unit == _NANOSECONDS:
        return None if number is None else number / 1_000_000
    size = _unit(unit)
    return None if number is None else number * size / 1000


def iso_time(number: float | None, unit: str) -> str | None:
    """An instant, counted from 1970 in UTC, as ISO 8601 text to the microsecond.

    Args:
        number: how many of the unit since then; None gives None.
        unit: `ns`, `us`, `ms` or `s`.

    Raises:
        Refused: there is no such unit, or no such date.

    >>> iso_time(1_700_000_000.25, "s"), iso_time(1_700_000_000_250, "ms")
    ('2023-11-14T22:13:20.250000+00:00', '2023-11-14T22:13:20.250000+00:00')
    """
    size = 0 if unit == _NANOSECONDS else _unit(unit)
    if number is None:
        return None
    try:
        # Whole numbers stay whole: nanoseconds do not fit into a float.
        since = timedelta(microseconds=round(number * size) if size else round(number) // 1000)
        return (_EPOCH + since).isoformat(timespec="microseconds")
    except (OverflowError, ValueError):
        raise Refused(
            f"iso_time makes no date of {describe(number)} {quote(unit)}: correct the unit in the mapping",
            expected="a time from the year 1 to 9999",
            found=describe(number),
        ) from None


def _of_function(error: Exception) -> tuple[str, str]:
    """What a function takes, and what it was given."""
    name = getattr(error, "function_name", None)
    if name is None:
        return "values that its functions can work with", quote(f"{type(error).__name__}: {_first_line(error)}")
    types = [_KINDS.get(word, word) for word in getattr(error, "expected_types", ())]
    return f"{' or '.join(types)} for {name}", describe(getattr(error, "current_value", None))


def _unit(unit: str) -> int:
    size = _UNITS.get(unit)
    if size is None:
        raise Refused(
            f"there is no unit {quote(unit)}: correct the mapping",
            expected=f"one of {_NANOSECONDS}, {', '.join(_UNITS)}",
            found=f'text "{quote(unit)}"',
        )
    return size


def _first_line(error: BaseException) -> str:
    """What the library says, without the expression, which is quoted beside it."""
    text = str(error).strip()
    for prefix in ("Invalid jmespath expression: ", "Invalid JMESPath expression: ", "Bad jmespath expression: "):
        text = text.removeprefix(prefix)
    text = text.partition(": Parse error at column")[0].partition("\n")[0].strip().rstrip(":.")
    due = _EXPECTING.fullmatch(text)
    if due is None:
        return "it ends too early" if text == "Incomplete expression" else text
    return "it ends too early" if due[1] == "eof" else f"{due[1].replace('_', ' ')} cannot stand here"
