"""Named things of one kind: no duplicates, a suggestion on a miss, nothing added once in use."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.errors import UsageError
from pipeline.registry import Registry


@pytest.fixture
def registry() -> Registry[int]:
    made: Registry[int] = Registry("check")
    made.register("verdict-present", 1)
    made.register("answer-present", 2)
    return made


def test_entries_keep_the_order_of_their_registration(registry: Registry[int]) -> None:
    assert (registry.names, list(registry), len(registry)) == (("verdict-present", "answer-present"), [1, 2], 2)


def test_an_entry_is_found_by_its_name(registry: Registry[int]) -> None:
    assert (registry.get("answer-present"), "answer-present" in registry, "answer" in registry) == (2, True, False)


def test_a_name_is_taken_once(registry: Registry[int]) -> None:
    with pytest.raises(ValueError, match="check 'answer-present' is registered twice"):
        registry.register("answer-present", 3)
    assert registry.get("answer-present") == 2


def test_a_registry_in_use_takes_no_more(registry: Registry[int]) -> None:
    registry.freeze()
    with pytest.raises(ValueError, match="cannot register check 'x': the registry is already in use"):
        registry.register("x", 3)


@pytest.mark.parametrize(
    "name, hint",
    [
        ("answer-presnt", "did you mean answer-present or verdict-present?"),
        ("verdict", "did you mean verdict-present?"),
        ("zzz", "known: verdict-present, answer-present"),
        ("", "known: verdict-present, answer-present"),
    ],
)
def test_a_miss_suggests(name: str, hint: str, registry: Registry[int]) -> None:
    with pytest.raises(UsageError) as missed:
        registry.get(name)
    assert (missed.value.message, missed.value.hint) == (f"unknown check {name!r}", hint)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package of three modules, of which two offer an entry."""
    folder = tmp_path / "kinds_of_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    entry = "class Entry:\n    name = {name!r}\n\nWRITER = Entry()\n"
    (folder / "b.py").write_text(entry.format(name="second"))
    (folder / "a.py").write_text(entry.format(name="first"))
    (folder / "c.py").write_text("OTHER = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield_names = ["kinds_of_test", *(f"kinds_of_test.{name}" for name in "abc")]
    for name in yield_names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__("kinds_of_test")


def test_discovery_finds_the_entries_of_a_package_in_the_order_of_names(package: ModuleType) -> None:
    found: Registry[object] = Registry("format")
    found.discover(package, "WRITER")
    assert found.names == ("first", "second")


def test_discovery_freezes(package: ModuleType) -> None:
    found: Registry[object] = Registry("format")
    found.discover(package, "WRITER")
    with pytest.raises(ValueError, match="already in use"):
        found.register("third", object())


def test_discovery_refuses_two_modules_of_one_name(package: ModuleType) -> None:
    assert package.__file__ is not None
    place = Path(package.__file__).parent
    (place / "d.py").write_text((place / "a.py").read_text())
    found: Registry[object] = Registry("format")
    with pytest.raises(ValueError, match="format 'first' is registered twice"):
        found.discover(package, "WRITER")
