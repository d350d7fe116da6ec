"""No call is sent once all has ended, and none is paid for without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from oversight.agents.runtime import Broker
from oversight.agents.runtime.broker import BESIDE, REFUSALS
from oversight.harness import (
    BudgetSpent,
    FatalModelError,
    Fault,
    NoReply,
    OversightError,
    RefusedRequest,
    TransientModelError,
)
from oversight.harness.llm import Budget, Limiter, ModelReply, Price, Request
from oversight.harness.store import Store
from tests.agents.helpers import FREE
from tests.agents.scripted import Scripted

GOOD = ModelReply('{"thinking": "t", "answer": "A"}', "stop", 20, 10)
CUT = ModelReply('{"thinking": "so', "length", 20, 50)
ASKED = Request.of("question", max_tokens=50)


class Held:
    """A model that answers nothing until it is let go."""

    def __init__(self, reply: ModelReply | Exception = GOOD) -> None:
        self.reply, self.sent, self.go = reply, 0, asyncio.Event()
        self.is_full = asyncio.Event()

    async def ask(self, _: Request) -> ModelReply:
        self.sent += 1
        if self.sent == 2:
            self.is_full.set()
        await self.go.wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    async def close(self) -> None:
        pass


def read_rows(store: Store) -> list[tuple[str, str, int, float | None]]:
    """Error, reply, tokens and dollars of all stored calls."""
    query = sa.text("SELECT error, reply, input_tokens + output_tokens, usd FROM call ORDER BY error, reply")
    with store.transaction() as connection:
        return [(row[0], row[1], row[2], row[3]) for row in connection.execute(query)]


def ask_ten(
    store: Store, model: Held, act: Callable[[Broker, list[asyncio.Task[ModelReply]]], Awaitable[None]]
) -> list[ModelReply | BaseException]:
    """Ask for ten draws of which two are out; what each of them brought after `act`."""

    async def run() -> list[ModelReply | BaseException]:
        broker = Broker(model, "m", budget=FREE, store=store, concurrency=2, tries=1)
        tasks = [asyncio.create_task(broker.ask(ASKED, f"p{j}")) for j in range(10)]
        await model.is_full.wait()
        await act(broker, tasks)
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(run())


def test_a_broker_that_is_closed_stores_what_is_out_and_sends_no_more(tmp_path: Path) -> None:
    async def close(broker: Broker, _: object) -> None:
        closing = asyncio.create_task(broker.close())
        await asyncio.sleep(0)
        model.go.set()
        await closing
        with pytest.raises(OversightError, match="was not sent"):
            await broker.ask(ASKED, "another")

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        model = Held()
        found = ask_ten(store, model, close)
        assert found[:2] == [GOOD, GOOD]
        assert all(isinstance(error, OversightError) for error in found[2:])
        assert model.sent == len(read_rows(store)) == 2


def test_an_interrupted_command_waits_only_for_sent_calls(tmp_path: Path) -> None:
    async def interrupt(broker: Broker, tasks: list[asyncio.Task[ModelReply]]) -> None:
        for task in tasks:
            task.cancel()
        model.go.set()
        await broker.close()

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        model = Held()
        found = ask_ten(store, model, interrupt)
        assert all(isinstance(error, asyncio.CancelledError) for error in found)
        assert model.sent == len(read_rows(store)) == 2


def test_fatal_error_ends_only_waiting_calls(tmp_path: Path) -> None:
    async def refuse(_: Broker, __: object) -> None:
        model.go.set()

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        model = Held(FatalModelError("HTTP 401"))
        found = ask_ten(store, model, refuse)
        assert {(type(error), str(error)) for error in found} == {(FatalModelError, "HTTP 401")}
        assert model.sent == len(read_rows(store)) == 2


def test_run_ends_if_all_calls_are_refused() -> None:
    async def run(model: Scripted) -> int:
        broker = Broker(model, "m", budget=FREE, concurrency=1)
        tasks = [broker.ask(Request.of(f"question {j}"), "p") for j in range(60)]
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(model.requests)

    refused = RefusedRequest("HTTP 400")
    assert asyncio.run(run(Scripted(lambda _: refused))) == REFUSALS
    later = Scripted(lambda r: refused if "question 0" in r.text() else GOOD)
    assert asyncio.run(run(later)) == 60  # if some calls succeed, the run continues


def test_a_call_between_two_tries_is_given_up_and_what_it_has_used_is_kept(tmp_path: Path) -> None:
    async def run(store: Store) -> None:
        paused, never = asyncio.Event(), asyncio.Event()

        async def sleep(_: float) -> None:
            paused.set()
            await never.wait()

        fault = TransientModelError("no answer", fault=Fault.TIMEOUT)
        broker = Broker(
            Scripted(lambda _: fault), "m", budget=FREE, store=store, limiter=Limiter(2, sleep=sleep)
        )
        task = asyncio.create_task(broker.ask(ASKED, "p"))
        await paused.wait()
        await broker.close()
        with pytest.raises(OversightError, match="was not sent"):
            await task

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        asyncio.run(run(store))
        assert sum(row[2] for row in read_rows(store)) == 64 + 50


def ask_again(broker: Broker) -> ModelReply:
    return asyncio.run(broker.ask(ASKED, "p"))


def test_replies_that_stay_cut_are_counted_each_time_they_are_paid(tmp_path: Path) -> None:
    price = Price(input=1.0, output=2.0)
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        for turn in (1, 2):
            broker = Broker(Scripted(lambda _: CUT), "m", budget=FREE, price=price, store=store)
            with pytest.raises(NoReply):
                ask_again(broker)
            rows = read_rows(store)
            assert sum(row[2] for row in rows) == turn * 2 * (20 + 50)
            assert sum(row[3] or 0.0 for row in rows) == pytest.approx(turn * 2 * (20 + 2 * 50) / 1e6)
        reply = ask_again(Broker(Scripted(lambda _: GOOD), "m", budget=FREE, store=store))
        assert reply == GOOD  # the paid but unusable replies are not reused as the answer
        assert sum(row[2] for row in read_rows(store)) == 4 * 70 + 30


def test_a_cut_reply_is_kept_if_the_budget_leaves_no_room_for_another(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        budget = Budget(None, 150, None)
        with pytest.raises(BudgetSpent):
            ask_again(Broker(Scripted(lambda _: CUT), "m", budget=budget, store=store))
        assert budget.spent.tokens == 70
        assert {row[1:3] for row in read_rows(store)} == {("", 0), (CUT.text, 70)}
        with pytest.raises(BudgetSpent):  # no call was sent, so no row is added
            ask_again(Broker(Scripted(), "another", budget=Budget(None, 9, None), store=store))
        assert len(read_rows(store)) == 2


def test_tries_that_were_paid_for_are_kept_beside_the_answer(tmp_path: Path) -> None:
    fault = TransientModelError("garbled", fault=Fault.MALFORMED, retry_after=0)
    replies: list[ModelReply | Exception] = [fault, GOOD]
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        budget = Budget(None, 10_000, None)
        broker = Broker(Scripted(lambda _: replies.pop(0)), "m", budget=budget, store=store)
        assert ask_again(broker) == GOOD
        answered, beside = read_rows(store)
        assert answered[:3] == ("", GOOD.text, 30)
        assert beside[:2] == (BESIDE, "")
        assert answered[2] + beside[2] == budget.spent.tokens


def test_half_a_surrogate_pair_is_the_same_text_whether_it_comes_or_is_stored(tmp_path: Path) -> None:
    half = ModelReply("no \ud800 answer", "stop")
    asked = Request.of("question", max_tokens=50)
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:

        def ask(model: Scripted) -> ModelReply:
            broker = Broker(model, "m", budget=FREE, store=store)
            wish = {GOOD.text: ""}
            return asyncio.run(broker.ask(asked, "p", find_fault=lambda text: wish.get(text, "Once more.")))

        replies: list[ModelReply | Exception] = [half, GOOD, FatalModelError("it is paid for again")]
        model = Scripted(lambda _: replies.pop(0))
        first = ask(model)
        assert first.text == GOOD.text
        assert ask(model) == first
