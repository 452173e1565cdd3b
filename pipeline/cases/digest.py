"""What a case asks for, as canonical text, and its digests (contract sections 5 and 6)."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from pipeline.cases.model import Case


def case_definition(case: Case) -> str:
    """The effective case as canonical JSON: all keys, sorted, in the file's spelling, numbers by value.

    How the case was written leaves no trace: neither the order of keys, nor defaults, nor 1 against 1.0.

    >>> case_definition(Case(id="a", question="why?"))[:51]
    '{"allowedVerdicts":[],"audit":{"claimBindings":fals'
    """
    plain = _by_value(msgspec.to_builtins(case))
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def case_digest(case: Case) -> str:
    """`sha256:` and the digest of one case's definition."""
    return _sha256(case_definition(case))


def cases_digest(cases: Iterable[Case]) -> str:
    """`sha256:` and the digest of all cases' definitions, whatever their order and their files."""
    definitions = [case_definition(case) for case in sorted(cases, key=lambda case: case.id)]
    return _sha256(f"[{','.join(definitions)}]")


def _sha256(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _by_value(value: Any) -> Any:
    # NOTE: values come from a case file, which is at most 200 levels deep.
    if isinstance(value, dict):
        return {key: _by_value(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_value(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
