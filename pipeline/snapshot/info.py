"""What a snapshot says about its run as a whole: the Parquet key-value metadata."""

from typing import Any, Final

import msgspec

SCHEMA_VERSION: Final = 1

# The lists of the report hold at most so many entries; all are counted (contract section 5).
LIST_LIMIT: Final = 1000


class InfoStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the parts of the metadata: immutable, camelCase in the file."""


class Unmatched(InfoStruct, frozen=True, kw_only=True):
    """A trace that belongs to no case of the suite."""

    file: str
    line: int | None
    trace_id: str | None
    case_id: str | None


class InputFault(InfoStruct, frozen=True, kw_only=True):
    """A record that could not be read."""

    file: str
    line: int | None
    path: str
    expected: str
    found: str
    message: str


class InputWarning(InfoStruct, frozen=True, kw_only=True):
    """A record that was read, but repaired or odd."""

    file: str
    line: int | None
    path: str
    kind: str
    message: str


class SnapshotInfo(InfoStruct, frozen=True, kw_only=True):
    """All that the rows of a snapshot do not say.

    Attributes:
        schema_version: version of the snapshot's columns and of this metadata.
        suite: name of the suite.
        tool_version: version of diagnosis-eval that wrote it.
        cases_digest: digest of the effective cases.
        traces_digest: digest of the traces used.
        unmatched_traces: how many traces belong to no case.
        unreadable_records: how many records could not be read.
        input_warnings_count: how many warnings there were.
        text: whether the free text of the traces was kept.
        unmatched: the first of the unmatched traces.
        input_errors: the first of the unreadable records.
        input_warnings: the first of the warnings.
    """

    schema_version: int
    suite: str
    tool_version: str
    cases_digest: str
    traces_digest: str
    unmatched_traces: int
    unreadable_records: int
    input_warnings_count: int
    text: bool
    unmatched: tuple[Unmatched, ...] = ()
    input_errors: tuple[InputFault, ...] = ()
    input_warnings: tuple[InputWarning, ...] = ()

    def to_metadata(self) -> dict[str, str]:
        """One key per field, each value JSON."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return {key: msgspec.json.encode(value).decode() for key, value in fields.items()}

    @classmethod
    def from_metadata(cls, metadata: dict[str, str]) -> "SnapshotInfo":
        """Read the fields back.

        Raises:
            msgspec.ValidationError: a key is missing or of another type.
            msgspec.DecodeError: a value is no JSON.
        """
        keys = {field.encode_name for field in msgspec.structs.fields(cls)}
        known = {key: msgspec.json.decode(value) for key, value in metadata.items() if key in keys}
        return msgspec.convert(known, type=cls)
