"""The only way from a workflow to a model: cached, within the budget, retried, checked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from uuid import uuid4

from oversight.agents.runtime.call_cache import CallCache
from oversight.agents.runtime.call_in_making import CallInMaking
from oversight.agents.runtime.calls_under_way import CallsUnderWay, NotSent, OutModel
from oversight.agents.runtime.request_draws import OUTPUT_CAP, RequestDraws, add_price, name_model
from oversight.agents.runtime.run_account import Note, RequestAccount
from oversight.harness import (
    BudgetSpent,
    FatalModelError,
    Fault,
    ModelError,
    NoReply,
    RefusedRequest,
    TransientModelError,
)
from oversight.harness.config import ModelSection
from oversight.harness.llm import Budget, LimitedModel, Limiter, Model, ModelReply, Price, Request
from oversight.harness.output import make_storable
from oversight.harness.store import Spending, Store

REFUSALS = 20
"""After so many refusals in a row a request that was answered before is sent again: if it is refused, too,
the fault is the endpoint's. After so many before any answer no more is sent."""
_OF_THE_MODEL = (403, 404)
"""HTTP statuses that are about the key or the model, not about what was asked."""


class Broker(RequestDraws):
    """Asks one model, and pays for no call twice.

    Parameters
    ----------
    model
        What answers.
    name
        Name of model and endpoint; part of every cache key.
    budget
        Holds back what a call may cost before it is sent; shared with the optimiser's calls. One in
        dollars refuses a model without a price when it is made.
    price
        For the cost noted with each stored call; None notes that it is unknown.
    store
        Database whose table `call` is the cache; None keeps the cache in memory.
    concurrency
        Most calls under way at once.
    tries
        Tries per call.
    limiter
        The endpoint's, in place of `concurrency`, where its rates are known or shared.
    is_billed
        Whether tokens are paid for, so that a reply which does not say what it used is charged by a guess.
    note
        Stores what a call may use at most before it goes out, and what it used once it is over.
    holds_lost
        Whether a call that was under way when a process ended is never made again, but failed.
    """

    def __init__(
        self,
        model: Model,
        name: str,
        *,
        budget: Budget,
        price: Price | None = None,
        store: Store | None = None,
        concurrency: int = 8,
        tries: int = 5,
        limiter: Limiter | None = None,
        is_billed: bool = True,
        note: Note | None = None,
        holds_lost: bool = False,
    ) -> None:
        super().__init__(name)
        self._note, self._holds_lost = note, holds_lost
        # a run's own account counts calls that are lost; without one, they are counted as calls
        self._notes_lost = store is not None and (note is None or holds_lost)
        self._budget, self._price = budget, price
        self._cache = CallCache(store)
        self._calls = CallsUnderWay()
        out, limits = OutModel(model, self._calls), limiter or Limiter(concurrency)
        self._model = LimitedModel(out, limits, tries, is_billed=is_billed, holds_lost=holds_lost)
        # Held until a reply is stored, unlike the limiter's places: a kill loses no more than these.
        self._unstored = asyncio.Semaphore(self._model.limiter.concurrency)
        self._answered: Request | None = None
        self._refusals = 0
        self._first_refusal = asyncio.Lock()

    @classmethod
    def of(
        cls,
        model: Model,
        settings: ModelSection,
        *,
        budget: Budget,
        price: Price | None,
        store: Store,
        note: Note | None = None,
        workers: int = 1,
        holds_lost: bool = False,
    ) -> Broker:
        """Make the broker of a model of study.toml, whose `concurrency` is that of each worker."""
        return cls(
            model,
            name_model(settings),
            budget=budget,
            price=price,
            store=store,
            tries=settings.tries,
            limiter=Limiter(
                workers * settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute
            ),
            is_billed=not (settings.python or settings.command),
            note=note,
            holds_lost=holds_lost,
        )

    @property
    def concurrency(self) -> int:
        """Most calls under way at once."""
        return self._model.limiter.concurrency

    async def close(self) -> None:
        """Send no more calls, and wait for those that are out: they are paid for, so they are stored."""
        await self._calls.close()

    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """One draw from the cache, from the same call under way, or from the model."""
        task = self._calls.find(key)
        if task is None:
            task = self._calls.start(key, self._look_up(key, text, request, as_it_comes=as_it_comes))
        else:
            self.spent.cached += 1
        # Shielded: others may wait for the same call, and what is paid for is to be stored.
        return await asyncio.shield(task)

    async def _look_up(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        stored = await self._cache.get(key)
        if stored is not None and stored.error:
            if self._holds_lost:
                raise TransientModelError(stored.error, fault=Fault.LOST)
            # it may have been paid for, and is counted beside the call that takes its place
            await self._cache.add(replace(stored, key=f"{key}/{uuid4().hex}"))
        elif stored is not None:
            self.spent.cached += 1
            return ModelReply(stored.reply, stored.finish, stored.input_tokens, stored.output_tokens)
        with self._calls.kept_on():  # its turn comes with the end of those that are out
            await self._unstored.acquire()
        try:
            return await self._make(key, text, request, as_it_comes=as_it_comes)
        finally:
            self._unstored.release()

    async def _make(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Make a call, and store what came of it and all that it used."""
        call = CallInMaking(key, text, RequestAccount(self._budget, self._note))
        if self._notes_lost:
            call.account.note = self._note_as_lost(call)
        try:
            self._calls.check()
            reply = await self._pay(call, request, as_it_comes=as_it_comes)
        except ModelError as error:
            self.spent.failed += 1
            # A refusal may be one request's own: what else is answered shows that when all begins anew.
            is_own = isinstance(error, RefusedRequest) and self._refusals < REFUSALS
            if isinstance(error, FatalModelError) and not is_own:
                self._calls.end(error)
            await self._keep(call, None, _describe(error))
            raise
        except (BudgetSpent, NotSent, asyncio.CancelledError) as error:
            if call.account.used.requests:
                await self._keep(call, None, str(error) or "cut off")
            elif call.is_noted:
                await self._keep(call, None, "not sent")
            raise
        await self._keep(call, reply)
        return reply

    async def _pay(self, call: CallInMaking, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Ask; a second time with twice the room if the answer is empty or cut short."""
        reply = await self._send(call, request)
        if as_it_comes or _whole(reply):
            return reply
        wider = replace(request, max_tokens=2 * (request.max_tokens or OUTPUT_CAP))
        second = await self._send(call, wider)
        if not _whole(second):
            what = "cut off at" if second.text.strip() else "empty with"
            reason = f"{what} {wider.max_tokens} tokens ({second.finish_reason})"
            raise NoReply(f"the reply was {reason}")
        return add_price(reply, second)

    async def _send(self, call: CallInMaking, request: Request) -> ModelReply:
        try:
            reply = await self._ask(call, request)
        except RefusedRequest as error:
            self._refusals += 1
            if (answered := await self._find_answered(call, request)) is None:
                raise
            if self._refusals % REFUSALS == 0:
                await self._ask(call, answered)
            if error.status in _OF_THE_MODEL:
                raise TransientModelError(str(error)) from error
            raise NoReply(str(error)) from error
        self._answered, self._refusals = request, 0
        return reply

    async def _find_answered(self, call: CallInMaking, refused: Request) -> Request | None:
        """A request that was answered: of this process, else a stored one, which is sent again.

        Raises
        ------
        RefusedRequest
            If that is refused, too.
        """
        async with self._first_refusal:
            if self._answered is None:
                stored = self._cache.find_answered(has_schema=refused.schema is not None)
                if stored is None:
                    return None
                await self._ask(call, stored)
                self._answered = stored
        return self._answered

    async def _ask(self, call: CallInMaking, request: Request) -> ModelReply:
        account, guessed = call.account, call.account.used.guessed
        try:
            reply = await self._model.ask(request, account.used, partial(self._calls.hold, account))
        finally:
            self.spent.guessed += account.used.guessed - guessed
            with self._calls.kept_on():
                await account.close()
        self.spent.calls += 1
        # As it is stored: whoever goes on later is to see, and to send back, the same text.
        call.latest = replace(reply, text=make_storable(reply.text))
        return call.latest

    async def _keep(self, call: CallInMaking, reply: ModelReply | None, error: str = "") -> None:
        with self._calls.kept_on():
            await asyncio.gather(*map(self._cache.add, call.rows(reply, self._price, error)))

    def _note_as_lost(self, call: CallInMaking) -> Note:
        """What stores a call as lost before it goes out: it stays so if this process ends."""

        async def note(change: Spending) -> None:
            if self._note is not None:
                await self._note(change)
            if change.under_way.requests > 0:
                call.is_noted = True
                await self._cache.add(call.lose(change.under_way, self._price))

        return note


def _describe(error: ModelError) -> str:
    if isinstance(error, TransientModelError) and error.fault is Fault.LOST:
        return f"{Fault.LOST}: {error}"
    return str(error) or type(error).__name__


def _whole(reply: ModelReply) -> bool:
    return bool(reply.text.strip()) and reply.finish_reason != "length"
