"""Drafts as a case file in YAML, with remarks as comments.

PyYAML writes the values, key by key; it knows no comments, so these are put between. A comment is one printable line
whatever it quotes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import yaml

from pipeline.cases.load import load_suite
from pipeline.drafts.base import Draft, Entry
from pipeline.errors import quote
from pipeline.judge import all_checks
from pipeline.writing import scratch_folder

WIDTH: Final = 1 << 20
LONGEST_REMARK: Final = 300
# Line ends but LF: YAML would fold them in any style but double quotes.
_FOREIGN_ENDS: Final = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def write_drafts(drafts: Sequence[Draft], suite: str, head: Iterable[str] = (), verdicts: Sequence[str] = ()) -> bytes:
    """A case file of drafts; ids that stand twice get a number.

    Args:
        drafts: at least one.
        suite: the suite's name.
        head: remarks at the top.
        verdicts: all verdicts of the Verifier, where they are not the default ones.

    Returns:
        YAML in UTF-8.
    """
    make_ids_unique(drafts)
    lines = [*_comments(head, ""), "schemaVersion: 1", *_keyed("suite", suite, "")]
    if verdicts:
        lines += _keyed("verifierContract", {"verdicts": list(verdicts)}, "")
    lines.append("cases:")
    for draft in drafts:
        lines += ["", *_case(draft)]
    return ("\n".join(lines) + "\n").encode()


def check_file(data: bytes) -> None:
    """Load a case file as `run` would.

    Raises:
        CaseFileError: it breaks the contract.
    """
    with scratch_folder() as folder:
        file = folder / "cases.yaml"
        file.write_bytes(data)
        load_suite([str(file)], known_checks=all_checks().names)


def make_ids_unique(drafts: Sequence[Draft]) -> None:
    """Number the ids that stand twice: `a`, `a-2`, `a-3`."""
    taken = {draft.id for draft in drafts}
    seen: set[str] = set()
    for draft in drafts:
        if draft.id in seen:
            number = 2
            while f"{draft.id}-{number}" in taken:
                number += 1
            draft.id = f"{draft.id}-{number}"
            taken.add(draft.id)
        seen.add(draft.id)


def _case(draft: Draft) -> Iterator[str]:
    yield from _comments(draft.about, "  ")
    yield from _comments((f"not carried over: {left}" for left in draft.left_out), "  ")
    first, *rest = _keyed("id", draft.id, "    ")
    yield f"  - {first.strip()}"
    yield from rest
    yield from _comments(draft.notes.get("question", ()), "    ")
    yield from _keyed("question", draft.question, "    ")
    for key, value in draft.fields.items():
        yield from _comments(draft.notes.get(key, ()), "    ")
        yield from _listed(key, value) if isinstance(value, list) and value else _keyed(key, value, "    ")


def _listed(key: str, value: list[Any]) -> Iterator[str]:
    entries = [one if isinstance(one, Entry) else Entry(one) for one in value]
    yield f"    {key}:"
    for entry in entries:
        remark = f"  # {quote(entry.remark, LONGEST_REMARK)}" if entry.remark else ""
        yield f"      - {_flow(entry.value)}{remark}"


def _comments(remarks: Iterable[str], indent: str) -> Iterator[str]:
    for remark in remarks:
        yield f"{indent}# {quote(remark, LONGEST_REMARK)}".rstrip()


def _keyed(key: str, value: Any, indent: str) -> list[str]:
    """A key with its value: a text of several lines as a block, anything else on one line."""
    if isinstance(value, str) and "\n" in value:
        written = yaml.dump({key: value}, Dumper=_Dumper, allow_unicode=True, width=WIDTH, sort_keys=False)
        return [f"{indent}{line}" if line else "" for line in written.removesuffix("\n").split("\n")]
    return [f"{indent}{key}: {_flow(value)}"]


def _flow(value: Any) -> str:
    """A value on one line."""
    # As an element of a list: a text by itself may be written over several lines, or with a document's end.
    written = yaml.dump(
        [value], Dumper=_LineDumper, allow_unicode=True, width=WIDTH, default_flow_style=True, sort_keys=False
    )
    inner: str = written.rstrip("\n")[1:-1]
    return inner


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, where YAML can hold them so."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML asks for each value
        """Write equal values out: an alias would have to be looked up."""
        return True


class _LineDumper(_Dumper):
    """Texts on one line."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _FOREIGN_ENDS.search(text) or text.startswith((" ", "\t", "\n")) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _line(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if "\n" in text or "'" in text or _FOREIGN_ENDS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _block)
_LineDumper.add_representer(str, _line)
