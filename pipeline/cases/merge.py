"""A case as it counts: its own keys over its file's defaults over the built-in ones.

Works on nodes, so that a rule about the merged case can still say on which line the value at fault stands.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from pipeline.cases.document import Document
from pipeline.cases.tree import Node, child

# Objects of the case format that merge key by key; everything else is replaced as a whole.
MERGED_KEYS = ("audit", "degradedOutput")


class Place(NamedTuple):
    """A node and its JSON path."""

    node: Node
    path: str

    def get(self, key: str) -> "Place | None":
        """The place of a key of an object."""
        node = self.node.get(key)
        return None if node is None else Place(node, child(self.path, key))

    def items(self) -> "list[Place]":
        """The places of the elements of a list; none for anything else."""
        return [Place(item, child(self.path, index)) for index, item in enumerate(self.node.items)]


def effective_cases(document: Document) -> Iterator[tuple[Place, dict[str, Place]]]:
    """The cases of a file with their effective keys; what is no object is passed over."""
    root = Place(document.root, "$")
    defaults = root.get("defaults")
    cases = root.get("cases")
    for case in cases.items() if cases is not None else ():
        if case.node.kind == "object":
            yield case, effective(case, defaults)


def effective(case: Place, defaults: Place | None) -> dict[str, Place]:
    """The keys of a case with those of the defaults that it does not set.

    Args:
        case: the case's object.
        defaults: the object of its file's defaults.

    Returns:
        The places by key. A key that the case sets to null stands here with that null: it restores the
        built-in default. A null in the defaults is as good as no key. A merged object has the case's place.
    """
    places: dict[str, Place] = {}
    if defaults is not None:
        for member in defaults.node.members:
            if member.node.kind != "null":
                places[member.key] = Place(member.node, child(defaults.path, member.key))
    for member in case.node.members:
        node = member.node
        inherited = places.get(member.key)
        if member.key in MERGED_KEYS and inherited is not None and node.kind == "object":
            node = _merged(node, inherited.node)
        places[member.key] = Place(node, child(case.path, member.key))
    return places


def _merged(node: Node, inherited: Node) -> Node:
    own = {member.key for member in node.members}
    kept = tuple(member for member in inherited.members if member.key not in own)
    return msgspec.structs.replace(node, members=kept + node.members)
