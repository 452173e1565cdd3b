"""What all checks share: how they are registered, and the words that their sentences are made of."""

import re

import polars as pl
import pytest

from pipeline.checks.base import CHECKS, Check, Facts, Judgement, check, counted, joined, listed, number, shown
from pipeline.judge import all_checks


def nothing(facts: Facts) -> Judgement:
    """Nothing is asked.

    Passes: always
    """
    raise NotImplementedError


def test_a_check_is_registered_with_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[str, Check]] = []
    monkeypatch.setattr(CHECKS, "register", lambda name, entry: kept.append((name, entry)))
    assert check("nothing-asked", serves="R99")(nothing) is nothing
    expected = Check(
        name="nothing-asked",
        serves="R99",
        meaning="Nothing is asked.",
        page="Nothing is asked.\n\nPasses: always",
        judge=nothing,
    )
    assert kept == [("nothing-asked", expected)]


def test_checks_come_by_module_then_as_written() -> None:
    assert all_checks().names == (
        "answer-present",
        "root-cause-keywords",
        "forbidden-answer-keywords",
        "forbidden-confirmed-claims",
        "raw-protocol-leak",
        "degraded-output",
        "audit-fields-present",
        "gatekeeper-verdict-conflict",
        "claim-checks-auditable",
        "composer-auditable",
        "claim-bindings",
        "unsupported-claims",
        "unsupported-claim-text",
        "tool-call-budget",
        "duration-budget",
        "token-budget",
        "cost-budget",
        "evidence-coverage",
        "forbidden-tools",
        "tool-order",
        "tool-arguments",
        "verdict-present",
        "verdict-allowed",
    )


@pytest.mark.parametrize("one", list(all_checks()), ids=all_checks().names)
def test_a_page_says_what_when_why_and_shows_both_sides(one: Check) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", one.name)
    assert re.fullmatch(r"R\d\d(, R\d\d)*|design of V2|beyond the sources", one.serves)
    assert re.fullmatch(r"[A-Z].*\.", one.meaning)
    starts = [line.partition(" ")[0] for line in one.page.splitlines()]
    for word in ("Asked", "Why", "Passes:", "Fails:"):
        assert starts.count(word) == 1, word


def words(expression: pl.Expr, values: list[object], dtype: pl.DataType) -> list[str | None]:
    return pl.DataFrame({"value": pl.Series(values, dtype=dtype)}).select(expression).to_series().to_list()


def test_a_text_is_cut_after_120_characters() -> None:
    values: list[object] = ["池" * 120, "池" * 121, "", None]
    assert words(shown(pl.col("value")), values, pl.String()) == ["池" * 120, "池" * 120 + "…", "", None]


def test_a_list_is_cut_after_20_entries_and_so_are_they() -> None:
    values: list[object] = [["a", "b"], ["x"] * 20, ["x"] * 21, ["y" * 121], [], None]
    expected = ["a, b", ", ".join("x" * 20), ", ".join("x" * 20) + " and 1 more", "y" * 120 + "…", "", None]
    assert expected == words(listed(pl.col("value")), values, pl.List(pl.String()))


def test_sentences_are_cut_by_number_only() -> None:
    values: list[object] = [["a", "b"], ["y" * 121], ["x"] * 22, None]
    expected = ["a; b", "y" * 121, "; ".join("x" * 20) + " and 2 more", None]
    assert expected == words(joined(pl.col("value")), values, pl.List(pl.String()))


def test_figures_have_no_trailing_zero() -> None:
    values: list[object] = [0.0, 60000.0, 0.1, 100.05, None]
    assert words(number(pl.col("value")), values, pl.Float64()) == ["0", "60000", "0.1", "100.05", None]


def test_one_is_singular() -> None:
    assert words(counted(pl.col("value"), "call"), [0, 1, 2, None], pl.UInt64()) == [
        "0 calls",
        "1 call",
        "2 calls",
        None,
    ]
    assert words(counted(pl.col("value"), "call"), [0.5, 1.0], pl.Float64()) == ["0.5 calls", "1 call"]
