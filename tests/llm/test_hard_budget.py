"""Billed amounts stay within the budget; only a call that ignores its own limit may exceed it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness import BudgetSpent
from oversight.harness.config import ModelSection
from oversight.harness.llm import Price, PriceTable, RequestedItems, Target, make_spec, run_alone
from oversight.harness.store import Store
from oversight.harness.types import Item, Usage
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

PRICE = Price(10.0, 100.0)  # 12 + 20 tokens cost 0.212 cents
ITEMS = [Item(f"i{j}", f"number {j}.", ("red", "green", "blue"), (0, 1, 2)) for j in range(300)]
CONCURRENCY, MOST = 16, 20


def ask(server: FakeOpenAI, folder: Path, **settings: Any) -> list[ov.Prediction]:
    prices = PriceTable({"m": PRICE})
    options: dict[str, Any] = {"concurrency": CONCURRENCY, "max_tokens": MOST, **settings}
    return ov.run("m", ITEMS, store=str(folder / "s.db"), endpoint=server.url, prices=prices, **options)


def billed(server: FakeOpenAI) -> float:
    return sum(PRICE.dollars(*call) for call in server.bill)


def limit_of(server: FakeOpenAI, n: int) -> int:
    limit: int = server.requests[n]["max_completion_tokens"]
    return limit


def cut(server: FakeOpenAI, n: int) -> Reply:
    return Reply("let me think", finish_reason="length", billed=(12, limit_of(server, n)))


def unreadable(server: FakeOpenAI, n: int) -> Reply:
    if n % 10 == 9:  # a long sequence of unreadable replies would end the run
        return Reply("red", billed=(12, MOST))
    return Reply(body='{"choices": [{"mess' if n % 2 else '{"choices": 7}', billed=(12, MOST))


def without_usage(server: FakeOpenAI, n: int) -> Reply:
    return Reply("red", says_usage=False, billed=(12, MOST))


@pytest.mark.parametrize("answer", [cut, unreadable, without_usage])
@pytest.mark.parametrize("concurrency", [1, CONCURRENCY])
def test_the_bill_never_passes_the_cap(
    answer: Callable[[FakeOpenAI, int], Reply], concurrency: int, tmp_path: Path
) -> None:
    with fake_openai(lambda prompt, n: answer(server, n)) as server:
        for cap in (0.05, 0.15):
            with pytest.raises(BudgetSpent):
                ask(server, tmp_path, budget_usd=cap, concurrency=concurrency, tries=2)
            assert 0.7 * cap <= billed(server) <= cap


def test_answers_without_usage_are_counted_and_charged_by_a_guess(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red", says_usage=n % 2 == 0)) as server:
        found = ask(server, tmp_path)
    assert sum(p.guessed for p in found) == len(ITEMS) / 2
    assert {p.output_tokens for p in found} == {3, MOST}
    assert min(p.input_tokens for p in found) == 7


def test_answer_beyond_its_limit_raises_later_reservations(tmp_path: Path) -> None:
    often, cap = 200, 0.5
    with fake_openai(lambda prompt, n: Reply("red", billed=(12, often))) as server:
        with pytest.raises(BudgetSpent):
            ask(server, tmp_path, budget_usd=cap)
        # All later calls reserve this amount, and hardly any of the first calls are unfinished at the end.
        past = PRICE.dollars(12, often) - PRICE.dollars(12, MOST)
        assert 0.8 * cap <= billed(server) <= cap + 2 * past


def test_requests_are_capped_with_those_that_were_refused(tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply("red") if n % 3 else Reply(status=429, body="", headers={"Retry-After": "0"})

    with fake_openai(answer) as server:
        for cap in (20, 50):
            with pytest.raises(BudgetSpent, match=f"the budget of {cap} requests is spent"):
                ask(server, tmp_path, budget_requests=cap)
            assert cap - 1 <= len(server.prompts) <= cap


def test_without_max_tokens_the_first_call_is_sent_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cap = 8.0

    def answer(prompt: str, n: int) -> Reply:
        # The first call is still unfinished after half of its body.
        return Reply("red", billed=(12, 4_000), stall=0.3 if n == 0 else 0.0)

    with fake_openai(answer) as server:
        with pytest.raises(BudgetSpent):
            ask(server, tmp_path, max_tokens=None, budget_usd=cap)
        # 16 simultaneous calls of 1,024 tokens each would have exceeded the cap
        assert 0.8 * cap <= billed(server) <= cap
    assert "without max_tokens answers have no limit" in capsys.readouterr().err


def test_retried_failure_keeps_its_cost(tmp_path: Path) -> None:
    settings = ModelSection(model="m", endpoint="", max_tokens=MOST, tries=2)

    def ask_again(url: str, store: Store) -> Usage:
        target = Target(
            make_spec("m", settings, "$text", None), settings.model_copy(update={"endpoint": url})
        )
        wanted = RequestedItems(store, store.content.add_items(ITEMS[:4]), retry_failed=True)
        run_alone(wanted, [target], prices=PriceTable())
        [usage] = store.runs.sum_usage(target.spec.id)
        return usage

    with fake_openai(lambda prompt, n: unreadable(server, n)) as server:
        with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
            first = ask_again(server.url, store)
            server.answer = lambda prompt, n: Reply("red")
            second = ask_again(server.url, store)
        assert first.requests == 8
        assert (first.output_tokens, second.output_tokens) == (8 * MOST, 8 * MOST + 4 * 3)
        assert second.requests == len(server.prompts)


@pytest.mark.parametrize("features", [{"structured": "auto"}, {"structured": "auto", "logprobs": True}])
def test_feature_tests_count_towards_the_budget(features: dict[str, Any], tmp_path: Path) -> None:
    """In this command and, told by the store, in later ones."""

    def answer(_prompt: str, n: int) -> Reply:
        said = '{"answer": "yes"}' if n == 0 else '{"answer": "A"}'
        return Reply(said, billed=(12, MOST))

    with fake_openai(answer) as server:
        for _ in range(3):
            with pytest.raises(BudgetSpent):
                ask(server, tmp_path, budget_requests=40, concurrency=1, **features)
            assert len(server.requests) == 40
        with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
            [run] = store.runs.read_runs()
            assert sum(used.requests for used in store.runs.sum_usage(run["id"])) == 40


def test_nothing_is_tried_that_the_budget_does_not_cover(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply('{"answer": "yes"}')) as server:
        with pytest.raises(BudgetSpent):
            ask(server, tmp_path, budget_requests=0, structured="auto")
        assert not [r for r in server.requests if r]
