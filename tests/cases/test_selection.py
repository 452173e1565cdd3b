"""Which cases `--case` and `--tag` select."""

import pytest

from pipeline.cases.model import Case, Suite
from pipeline.cases.selection import select
from pipeline.errors import UsageError

TAGS = {
    "mysql-pool": ("mysql", "v2"),
    "mysql-slow": ("mysql",),
    "redis-oom": ("redis", "v2"),
    "Redis-net": (),
}
SUITE = Suite(name="s", cases=tuple(Case(id=case_id, question="q", tags=tags) for case_id, tags in TAGS.items()))

SELECTED = [
    ("nothing asked", (), (), list(TAGS)),
    ("an id", ("mysql-pool",), (), ["mysql-pool"]),
    ("a pattern", ("mysql-*",), (), ["mysql-pool", "mysql-slow"]),
    ("any of several patterns", ("*-pool", "redis-?om"), (), ["mysql-pool", "redis-oom"]),
    ("letters have a case", ("redis*",), (), ["redis-oom"]),
    ("a set of letters", ("[rR]edis*",), (), ["redis-oom", "Redis-net"]),
    ("a tag", (), ("mysql",), ["mysql-pool", "mysql-slow"]),
    ("any of several tags", (), ("redis", "mysql"), ["mysql-pool", "mysql-slow", "redis-oom"]),
    ("a pattern and a tag", ("mysql-*",), ("v2",), ["mysql-pool"]),
]


@pytest.mark.parametrize("globs, tags, expected", [row[1:] for row in SELECTED], ids=[row[0] for row in SELECTED])
def test_selected(globs: tuple[str, ...], tags: tuple[str, ...], expected: list[str]) -> None:
    assert expected == [case.id for case in select(SUITE, globs, tags)]


REFUSED = [
    (
        "a pattern like an id",
        ("mysql-pol",),
        (),
        "No case matches --case mysql-pol.",
        "Did you mean mysql-pool",
    ),
    (
        "a pattern like nothing",
        ("zzz",),
        (),
        "No case matches --case zzz.",
        "The suite's cases are mysql-pool, mysql-slow, redis-oom, Redis-net.",
    ),
    (
        "one of two patterns matches nothing",
        ("mysql-*", "redis_oom"),
        (),
        "No case matches --case redis_oom.",
        "Did you mean redis-oom",
    ),
    ("a tag like a tag", (), ("mysq",), "No case has the tag mysq.", "Did you mean mysql?"),
    (
        "a tag like nothing",
        (),
        ("zzz",),
        "No case has the tag zzz.",
        "The suite's tags are mysql, redis, v2.",
    ),
    (
        "both match, but no case has both",
        ("mysql-slow",),
        ("v2",),
        "The selection is empty: no case matches both --case and --tag.",
        "Remove one of the two, or check the tags of the cases.",
    ),
]


@pytest.mark.parametrize("globs, tags, message, hint", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(globs: tuple[str, ...], tags: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(SUITE, globs, tags)
    assert message == caught.value.message
    assert caught.value.hint.startswith(hint)


def test_a_long_suite_is_not_listed_whole() -> None:
    suite = Suite(name="s", cases=tuple(Case(id=f"case-{n:03}", question="q") for n in range(50)))
    with pytest.raises(UsageError) as caught:
        select(suite, ("zzz",))
    ids = ", ".join(f"case-{n:03}" for n in range(10))
    assert f"The suite's cases are {ids}, …." == caught.value.hint


def test_a_suite_without_tags_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        select(Suite(name="s", cases=(Case(id="a", question="q"),)), tags=("x",))
    assert caught.value.hint == "The suite has no tag at all."
