"""The JSON Schema of a case file, for editors: it accepts what the loader accepts by shape."""

from typing import Any

import msgspec

from pipeline.cases.declared import keys_of
from pipeline.cases.model import CaseEntry, CaseFile, Expectations


def case_file_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a case file.

    Made from the structs, with the two things that a type cannot say: a key that has a default may be null, and what a
    case needs may come from `defaults`, so that neither of them requires it.
    """
    schema = msgspec.json.schema(CaseFile)
    for name, declared in schema["$defs"].items():
        if name in {Expectations.__name__, CaseEntry.__name__}:
            declared["required"] = [key for key in declared["required"] if key not in keys_of(Expectations)]
        for key, value in declared["properties"].items():
            if key not in declared["required"]:
                declared["properties"][key] = _nullable(value)
    return schema


def _nullable(value: dict[str, Any]) -> dict[str, Any]:
    # What describes the key stays beside the choice, where editors look for it.
    beside = {word: one for word, one in value.items() if word in {"default", "description"}}
    options = value.get("anyOf") or [{word: one for word, one in value.items() if word not in beside}]
    null = {"type": "null"}
    return {"anyOf": options if null in options else [*options, null], **beside}
