"""Calls are cached by draw, kept within the budget, retried, repaired; an error is no answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.programs import PromptFormat, load_program
from oversight.agents.runtime import Broker, open_broker
from oversight.harness import (
    BudgetSpent,
    ConfigError,
    FatalModelError,
    NoReply,
    RefusedRequest,
    TransientModelError,
)
from oversight.harness.config import ModelSection
from oversight.harness.llm import Budget, Message, ModelReply, Price, Request, RunTerms
from oversight.harness.store import Store
from oversight.harness.types import PredictionStatus
from tests.agents.helpers import FREE, an_item, answer
from tests.agents.scripted import Scripted

SCHEMA = {"type": "object", "required": ["thinking", "answer"], "properties": {}}
GOOD = '{"thinking": "t", "answer": "A"}'
ASKED = Request.of("question", schema=SCHEMA, max_tokens=50)


def ask(broker: Broker, *paths: str, request: Request = ASKED) -> list[ModelReply]:
    async def run() -> list[ModelReply]:
        return await asyncio.gather(*[broker.ask(request, path, find_fault=find_fault) for path in paths])

    return asyncio.run(run())


def find_fault(text: str) -> str:
    return "" if "thinking" in text and "answer" in text else "Say both."


def say(*replies: str | ModelReply | Exception) -> Scripted:
    left = list(replies)
    return Scripted(lambda _: left.pop(0))


def test_a_draw_is_paid_for_once_and_another_draw_is_another_call(tmp_path: Path) -> None:
    model = say(*[ModelReply(f'{{"thinking": "{n}", "answer": "A"}}', "stop", 9, 2) for n in range(3)])
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        first = ask(Broker(model, "m", budget=FREE, store=store), "i/0/0", "i/0/1", "i/0/0")
        assert first[0] == first[2] != first[1]
        assert len(model.requests) == 2
        again = Broker(say(), "m", budget=FREE, store=store)
        assert ask(again, "i/0/1", "i/0/0") == [first[1], first[0]]
        assert (again.spent.calls, again.spent.cached) == (0, 2)
        assert ask(Broker(model, "another", budget=FREE, store=store), "i/0/0") != [first[0]]


def test_five_samples_are_five_draws_and_a_second_run_makes_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    with Store(url) as store:
        broker = Broker(Scripted(), "m", budget=FREE, store=store)
        before = answer(load_program("cot-sc"), broker=broker)
        assert broker.spent.calls == 5
    with Store(url) as store:
        broker = Broker(say(), "m", budget=FREE, store=store)
        after = answer(load_program("cot-sc"), broker=broker)
        assert (broker.spent.calls, broker.spent.cached) == (0, 5)
        assert [(p.option, p.input_tokens) for p in after] == [(p.option, p.input_tokens) for p in before]
        model = Scripted()
        answer(load_program("cot-sc"), replicate=1, broker=Broker(model, "m", budget=FREE, store=store))
        assert len(model.requests) == 5


def test_programs_that_begin_alike_share_their_first_replies(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        spent = []
        for name in ("cot", "self-refine", "quality-diversity"):
            broker = Broker(Scripted(), "m", budget=FREE, store=store)
            answer(load_program(name), broker=broker)
            spent.append((broker.spent.calls, broker.spent.cached))
    assert spent == [(1, 0), (1, 1), (4, 1)]


def test_unusable_reply_is_repaired_once() -> None:
    model = say("I think it is A.", GOOD)
    broker = Broker(model, "m", budget=FREE)
    [reply] = ask(broker, "p")
    assert reply == ModelReply(GOOD, "stop", 200, 20)
    turns = (Message("assistant", "I think it is A."), Message("user", "Say both."))
    assert model.requests[1].messages[1:] == turns
    hopeless = say("no", '{"answer": "A"}')
    assert ask(Broker(hopeless, "m", budget=FREE), "p")[0].text == '{"answer": "A"}'
    assert broker.spent.repaired == 1


@pytest.mark.parametrize(
    "bad", [ModelReply("", "stop", 5, 0), ModelReply("{", "length", 5, 50)], ids=["empty", "cut"]
)
def test_an_empty_or_cut_reply_gets_twice_the_room_and_then_is_an_error(
    bad: ModelReply, tmp_path: Path
) -> None:
    model = say(bad, GOOD)
    assert ask(Broker(model, "m", budget=FREE), "p")[0].text == GOOD
    assert [r.max_tokens for r in model.requests] == [50, 100]
    url = f"sqlite:///{tmp_path / 's.db'}"
    with Store(url) as store:
        broker = Broker(say(bad, bad), "m", budget=FREE, store=store)
        with pytest.raises(NoReply, match="the reply was"):
            ask(broker, "p")
        assert broker.spent.failed == 1
        retried = Broker(say(GOOD), "m", budget=FREE, store=store)  # an error is not cached as an answer
        assert ask(retried, "p")[0].text == GOOD


@pytest.mark.parametrize(
    "fault",
    [
        ModelReply("", "stop"),
        ModelReply('{"thinking": "so', "length"),
        TransientModelError("HTTP 500", retry_after=0),
    ],
    ids=["empty", "cut", "error"],
)
def test_a_failed_call_counts_as_failed_and_not_wrong(fault: ModelReply | Exception) -> None:
    [prediction] = answer(load_program("cot"), Scripted(lambda _: fault), tries=2)
    assert (prediction.status, prediction.option) == (PredictionStatus.FAILED, None)
    assert prediction.reason


def test_a_program_cannot_turn_a_failed_call_into_an_answer() -> None:
    source = """
async def forward(task):
    try:
        await task.ask(["answer"])
    except Exception:
        return "A"
"""
    fault = TransientModelError("HTTP 500", retry_after=0)
    [prediction] = answer(source, Scripted(lambda _: fault), tries=1)
    assert prediction.status is PredictionStatus.FAILED


def test_a_refusal_ends_all_unless_the_endpoint_has_answered_before() -> None:
    with pytest.raises(FatalModelError):
        answer(load_program("cot"), say(FatalModelError("HTTP 401")))
    items = [an_item(name="i0"), an_item(name="i1")]
    model = say(GOOD, RefusedRequest("HTTP 400: too long"))
    found = answer(load_program("cot"), model, items, concurrency=1)
    assert {p.status for p in found} == {PredictionStatus.OK, PredictionStatus.FAILED}


def test_a_process_that_begins_with_a_refusal_tries_what_was_answered_before(tmp_path: Path) -> None:
    refused, plain = RefusedRequest("HTTP 400"), Request.of("no schema", max_tokens=50)

    def run(store: Store, model: Scripted, request: Request = ASKED) -> Scripted:
        ask(Broker(model, "m", budget=FREE, tries=1, store=store), "odd", request=request)
        return model

    def odd(request: Request) -> str | Exception:
        return refused if "odd" in request.text() else GOOD

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        with pytest.raises(RefusedRequest):
            run(store, say(refused))
        asked = run(store, say(GOOD)).requests
        sent = Scripted(odd)
        with pytest.raises(NoReply):
            run(store, sent, replace(ASKED, messages=(Message("user", "odd"),)))
        assert sent.requests[1:] == asked
        with pytest.raises(RefusedRequest):  # a second request with this schema is refused as well
            run(store, say(refused, refused), Request.of("another", schema=SCHEMA))
        # refusals of requests with a schema do not count for requests without one
        with pytest.raises(RefusedRequest):
            run(store, say(refused), plain)


def test_many_refusals_in_a_row_end_all_only_if_nothing_else_is_answered_either() -> None:
    refused = RefusedRequest("HTTP 400")

    def run(model: Scripted) -> int:
        broker = Broker(model, "m", budget=FREE, tries=1)
        assert ask(broker, "first")
        for n in range(45):
            with pytest.raises(NoReply):
                ask(broker, f"p{n}", request=Request.of("odd"))
        return len(model.requests)

    assert run(Scripted(lambda r: refused if "odd" in r.text() else GOOD)) == 1 + 45 + 2
    replies = iter([GOOD])
    with pytest.raises(RefusedRequest):
        run(Scripted(lambda _: next(replies, refused)))


# --- the budget -----------------------------------------------------------------------------------


def test_the_budget_is_never_passed_whatever_is_under_way() -> None:
    model = Scripted(lambda _: ModelReply(GOOD, "stop", 20, 50))
    budget = Budget(None, 1000, None)
    broker = Broker(model, "m", budget=budget, concurrency=8)
    items = [an_item(name=f"i{n}") for n in range(50)]
    with pytest.raises(BudgetSpent):
        answer(load_program("cot"), broker=broker, items=items, shape=PromptFormat(max_tokens=60))
    assert 0 < budget.spent.tokens <= 1000
    assert budget.under_way == 0


def test_a_program_cannot_outlive_the_budget() -> None:
    stubborn = """
async def forward(task):
    for _ in range(5):
        try:
            await task.ask(["answer"])
        except Exception:
            pass
    return "A"
"""
    with pytest.raises(BudgetSpent):
        answer(stubborn, budget=Budget(None, 10, None))


def test_dollars_are_counted_and_stored(tmp_path: Path) -> None:
    price = Price(input=1.0, output=2.0)
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        budget = Budget(1.0, None, price)
        broker = Broker(Scripted(), "m", budget=budget, price=price, store=store)
        answer(load_program("cot"), broker=broker)
        [call] = read_all(store)
    assert budget.spent.usd == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert call == (100, 10, budget.spent.usd)


def test_an_unknown_price_is_refused_and_never_free() -> None:
    with pytest.raises(ConfigError, match="price"):
        Budget(5.0, None, None)


def read_all(store: Store) -> list[tuple[int, int, float | None]]:
    import sqlalchemy as sa

    with store.transaction() as connection:
        keys = [row[0] for row in connection.execute(sa.text("SELECT key FROM call"))]
    return [(c.input_tokens, c.output_tokens, c.usd) for c in store.calls.read_calls(keys).values()]


class One:
    """A worker that makes the calls of one model."""

    number = 1

    def __init__(self, model: Scripted) -> None:
        self._model = model

    def make_model(self, *_: object) -> Any:
        return self._model


def test_a_reply_of_another_model_is_no_answer(tmp_path: Path) -> None:
    settings = ModelSection(model="small", tries=1)
    replies = [ModelReply(GOOD, "stop", 9, 2, model=name) for name in ("small-2026-01-01", "large")]
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        terms = RunTerms(workers=One(say(*replies)))

        async def run() -> None:
            opening = open_broker(settings, terms, store=store, budget=FREE, price=None, checks=False)
            async with opening as broker:
                assert (await broker.ask(ASKED, "i/0/0")).text == GOOD
                with pytest.raises(
                    TransientModelError, match="the model 'large' answered, not 'small-2026-01-01'"
                ):
                    await broker.ask(ASKED, "i/0/1")

        asyncio.run(run())
