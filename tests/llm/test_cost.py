from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from oversight.harness import BudgetSpent, ConfigError, DataError
from oversight.harness.llm import FREE, Budget, Price, PriceTable, read_prices

PRICE = Price(input=1.0, output=10.0)  # 1,000 + 100 tokens cost 0.2 cents


def test_a_table_is_read_with_its_date(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('checked = 2026-11-21\n[models."a/b"]\ninput = 1\noutput = 10\n')
    table = read_prices(path)
    assert table.checked == date(2026, 11, 21)
    assert table.models["a/b"] == PRICE
    assert "other" not in table.models
    assert PRICE.dollars(1_000_000, 100_000) == pytest.approx(2.0)
    assert PRICE.in_batch().dollars(1_000_000, 100_000) == pytest.approx(1.0)


def test_only_the_default_price_table_may_be_missing(tmp_path: Path) -> None:
    assert read_prices(tmp_path / "prices.toml", required=False) == PriceTable()
    with pytest.raises(DataError, match=r"prices\.toml: the price table cannot be read"):
        read_prices(tmp_path / "prices.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = [", "not valid TOML"),
        ('checked = "today"', r"\[checked\]: must be a date"),
        ("currency = 1", r"\[currency\]: unknown key"),
        ("[models.m]\ninput = 1", r"\[models\.m\.output\]: is missing"),
        ("[models.m]\ninput = -1\noutput = 1", r"\[models\.m\.input\]: must be a number ≥ 0, not -1"),
        ('[models.m]\ninput = "1"\noutput = 1', r"\[models\.m\.input\]: must be a number ≥ 0, not '1'"),
        ("[models.m]\ninput = nan\noutput = 1", r"must be a number ≥ 0, not nan"),
        ("[models.m]\ninput = 1\noutput = 1\ncached = 1", r"\[models\.m\.cached\]: unknown key"),
        ("[models]\nm = 1", r"\[models\.m\]: must be a table"),
    ],
)
def test_a_wrong_table_is_refused_by_key(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_prices(path)


def test_dollars_without_a_price_are_refused() -> None:
    with pytest.raises(ConfigError, match="price, which is unknown"):
        Budget(1.0, None, None)
    assert Budget(None, 10, None).spent.usd == 0.0
    Budget(0.0, None, FREE).reserve(10**9, 10**9)


@pytest.mark.parametrize(("usd", "tokens"), [(-1.0, None), (None, -1), (float("nan"), None)])
def test_a_limit_below_zero_is_refused(usd: float | None, tokens: int | None) -> None:
    with pytest.raises(ConfigError, match="must be ≥ 0"):
        Budget(usd, tokens, PRICE)


def test_calls_under_way_count_against_the_limit() -> None:
    budget = Budget(0.0041, None, PRICE)
    first = budget.reserve(1_000, 100)
    second = budget.reserve(1_000, 100)
    with pytest.raises(BudgetSpent, match=r"\$0\.0041 is spent"):
        budget.reserve(1_000, 100)
    assert budget.under_way == 2
    budget.settle(first, 1_000, 0)  # half of the reserved amount was used; the rest is free again
    assert budget.spent.usd == pytest.approx(0.001)
    second.release()
    budget.reserve(1_000, 100)
    assert (budget.spent.tokens, budget.under_way) == (1_000, 1)


def test_tokens_are_limited_without_a_price() -> None:
    budget = Budget(None, 100, None)
    budget.charge(50, 10)
    budget.settle(budget.reserve(20, 20), 20, 10)
    with pytest.raises(BudgetSpent, match="100 tokens is spent: 90 used"):
        budget.reserve(5, 6)
    budget.reserve(5, 5)


def test_models_of_several_prices_draw_on_one_budget() -> None:
    dear = Budget(0.004, None, PRICE)
    cheap = dear.at(Price(0.5, 5.0))
    dear.reserve(1_000, 100)
    cheap.settle(cheap.reserve(1_000, 100), 1_000, 100)
    assert dear.spent.usd == cheap.spent.usd == pytest.approx(0.001)
    with pytest.raises(BudgetSpent):
        dear.reserve(1_000, 100)
    cheap.reserve(1_000, 100)
    with pytest.raises(ConfigError):
        dear.at(None)
