"""The native trace format: one object per document (contract section 2)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipeline.sources.base import Document, Format, ReadTrace, Trace, Unreadable
from pipeline.sources.json_text import decode_document, is_shallow
from pipeline.sources.nested import take_out_of_strings
from pipeline.sources.repair import Repairs
from pipeline.sources.wording import Refused

# Keys that only this format has; the others (status, model, question …) stand in many a document.
OWN_KEYS: Final = (
    "traceId", "caseId", "finalAnswer", "toolInvocations", "executorOutput", "selfEvaluation",
)  # fmt: skip

# Those that no other format has under the same name (`traceId` is one of Langfuse's too).
SURE_KEYS: Final = ("finalAnswer", "toolInvocations", "executorOutput", "selfEvaluation")

# What a span or an observation of another tool has beside its `traceId`.
_SPAN_KEYS: Final = ("startTime", "start_time", "spanId", "parentObservationId")

_DECODER: Final = msgspec.json.Decoder(Trace | str)

# Only whether they are there: values are passed over.
_SURE: Final = msgspec.json.Decoder(
    msgspec.defstruct("_Sure", [(key, msgspec.Raw, msgspec.Raw()) for key in SURE_KEYS])
)


def has_ai_sdk_calls(message: Any) -> bool:
    """Whether a chat message carries the `toolInvocations` of the Vercel AI SDK, which are not ours."""
    calls = message.get("toolInvocations") if isinstance(message, dict) else None
    return isinstance(calls, list) and any(
        isinstance(call, dict) and "toolCallId" in call and "state" in call for call in calls
    )


def is_surely(document: Any) -> bool:
    """Whether a document is a native trace beyond doubt, so that no other format need be asked."""
    return isinstance(document, dict) and any(key in document for key in SURE_KEYS) and not has_ai_sdk_calls(document)


def is_surely_written(data: bytes) -> bool:
    """Whether a text is `is_surely` by its keys, told without decoding it: False where that would be needed.

    Args:
        data: the text of a document, which may be broken.
    """
    try:
        found = _SURE.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    present = {key: bytes(getattr(found, key)) for key in SURE_KEYS}
    calls = present["toolInvocations"]
    # A letter of the key that tells the AI SDK's calls may be written as its number.
    return any(present.values()) and b"toolCallId" not in calls and b"\\u00" not in calls


def recognises(document: Any) -> str | None:
    """The reason why a document is a native trace, else None."""
    if not isinstance(document, dict) or has_ai_sdk_calls(document):
        return None
    own = [key for key in OWN_KEYS if key in document]
    if not is_surely(document) and any(key in document for key in _SPAN_KEYS):
        return None
    return f"it has {', '.join(own)}" if own else None


def read(documents: Iterable[Document]) -> Iterator[ReadTrace | Unreadable]:
    """Read native traces, one per document."""
    for document in documents:
        repairs = Repairs()
        try:
            if type(document.value) is Trace and document.plain and is_shallow(document.data):
                trace = document.value
            else:
                trace = decode_document(document.data, _DECODER, repairs)
            take_out_of_strings(trace, repairs)
        except Refused as refused:
            yield Unreadable(fault=refused.fault(document.file, document.line), root=document.root)
        else:
            yield ReadTrace(
                trace=trace,
                file=document.file,
                line=document.line,
                root=document.root,
                warned=repairs.warned() if repairs else (),
            )


FORMAT = Format(
    name="native",
    summary="the trace format of this tool: one JSON object per .json file, or one per line",
    recognises=recognises,
    read=read,
    by_record=True,
    decode=_DECODER.decode,
    recognised_by=f"an object with one of {', '.join(OWN_KEYS)}",
)
