"""The JSON Schema for editors does not refuse what the loader accepts."""

from pipeline.cases.schema import case_file_schema

DEFS = case_file_schema()["$defs"]


def test_only_what_nothing_else_can_give_is_required() -> None:
    assert {name: declared["required"] for name, declared in DEFS.items()} == {
        "CaseFile": ["schemaVersion", "suite", "cases"],
        "CaseEntry": ["id"],
        "Expectations": [],
        "VerifierContract": [],
        "DegradedOutput": [],
        "Audit": [],
        "Pattern": [],
        "KnownFailure": ["checks", "reason"],
        "ToolArguments": ["tool", "arguments"],
        "MinPassRate": ["minPassRate"],
    }


def test_every_key_that_is_not_required_may_be_null() -> None:
    nullable = {
        (name, key): {"type": "null"} in value.get("anyOf", [])
        for name, declared in DEFS.items()
        for key, value in declared["properties"].items()
    }
    assert nullable == {(name, key): key not in DEFS[name]["required"] for name, key in nullable}


def test_unknown_keys_are_refused_everywhere() -> None:
    assert [name for name, declared in DEFS.items() if declared["additionalProperties"] is not False] == []


def test_a_key_keeps_its_type_default_and_description() -> None:
    properties = DEFS["CaseEntry"]["properties"]
    assert properties["requireVerdict"] == {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": True}
    assert properties["audit"]["anyOf"] == [{"$ref": "#/$defs/Audit"}, {"type": "null"}]
    assert properties["maxToolCalls"]["anyOf"][1:] == [{"type": "null"}]
