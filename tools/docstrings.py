"""What docstrings say of a class and of its attributes."""

import inspect
import re
from typing import Final

_JSON_WORDS: Final = {"None": "null", "True": "true", "False": "false"}
_ENTRY: Final = re.compile(r"    (\w+): (.*)")


def summary(cls: type) -> str:
    """The docstring before its sections."""
    text, *_ = inspect.cleandoc(cls.__doc__ or "").partition("\n\nAttributes:")
    return text


def attributes(cls: type) -> dict[str, str]:
    """The `Attributes` of a class and of its bases, by name, each on one line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        _, _, section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in section.splitlines():
            entry = _ENTRY.fullmatch(line)
            if entry is not None:
                name = entry[1]
                found[name] = entry[2]
            elif name and line.startswith(" " * 8):
                found[name] += f" {line.strip()}"
            else:
                break
    return {name: _as_json(meaning).rstrip(".") for name, meaning in found.items()}


def _as_json(meaning: str) -> str:
    """Python's words as a reader of JSON and YAML knows them."""
    return re.sub(r"\b(None|True|False)\b", lambda word: _JSON_WORDS[word[0]], meaning)
