"""A table of named things of one kind: checks, trace formats, report writers.

Adding one is adding one file: `discover` imports every module of a package and takes the object that each
offers under an agreed name. A registry refuses duplicates, suggests on a miss, and freezes once in use.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Generic, TypeVar

from pipeline.errors import UsageError, quote

T = TypeVar("T")


class Registry(Generic[T]):
    """Named objects of one kind, in a fixed order.

    Args:
        kind: what one entry is called in messages, e.g. `check`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._frozen = False

    def register(self, name: str, entry: T) -> T:
        """Add one entry.

        Raises:
            ValueError: the name is taken, or the registry is frozen (both are mistakes of a programmer).
        """
        if self._frozen:
            msg = f"cannot register {self.kind} {name!r}: the registry is already in use"
            raise ValueError(msg)
        if name in self._entries:
            msg = f"{self.kind} {name!r} is registered twice"
            raise ValueError(msg)
        self._entries[name] = entry
        return entry

    def get(self, name: str, *, option: str = "", advice: str = "") -> T:
        """The entry of that name.

        Args:
            name: the name.
            option: the option of the command line that was given it, for the message.
            advice: what else to say on a miss, such as what lists the names.

        Raises:
            UsageError: there is none; the message suggests the nearest names.
        """
        try:
            return self._entries[name]
        except KeyError:
            given = f"'{quote(name)}'"
            what = f"unknown {self.kind} {given}"
            if option:
                what = f"{option} does not take {given}: there is no such {self.kind}"
            raise UsageError(what, hint=self.suggest(name) + (f" ({advice})" if advice else "")) from None

    def suggest(self, name: str) -> str:
        """A did-you-mean sentence for a name that is not here."""
        near = difflib.get_close_matches(name[:200], self._entries, n=3)
        if near:
            return f"did you mean {' or '.join(near)}?"
        return f"known: {', '.join(self._entries)}"

    def freeze(self) -> None:
        """Refuse further entries; from now on the table may be relied on."""
        self._frozen = True

    def discover(self, package: ModuleType, attribute: str | None = None, *, prefix: str = "") -> None:
        """Import every module of `package` in name order, then freeze.

        Args:
            package: the package whose modules hold the entries.
            attribute: the module-level name under which a module offers its entry (with a `name` of its own);
                None where importing a module registers its entries by decorator.
            prefix: how the names of the modules begin that hold entries; no other is imported.
        """
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
            if not info.name.startswith(prefix):
                continue
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            entry = getattr(module, attribute, None) if attribute else None
            if entry is not None:
                self.register(entry.name, entry)
        self.freeze()

    def __iter__(self) -> Iterator[T]:
        """The entries, in the order of registration."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        """Whether an entry of that name is here."""
        return name in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of registration."""
        return tuple(self._entries)
