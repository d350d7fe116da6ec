"""The only way from a workflow to a model: cached, within the budget, retried, checked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from agents.runtime.call_cache import CallCache
from agents.runtime.joint import SharedCalls
from agents.runtime.request_draws import OUTPUT_CAP, RequestDraws, add_price, name_model
from agents.runtime.run_account import Note, RequestAccount
from harness import BudgetSpent, ModelError, NoReply, RefusedRequest, TransientModelError
from harness.config import ModelSection
from harness.llm import Budget, LimitedModel, Limiter, Model, ModelReply, Price, Request
from harness.store import Store, StoredCall

REFUSALS = 20
"""After so many refusals in a row a request that was answered before is sent again: if it is refused, too,
the fault is the endpoint's."""
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
    shared
        Claims and stores calls where other processes may make the same; what they use is stored with these.
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
        shared: SharedCalls | None = None,
    ) -> None:
        super().__init__(name)
        self._note, self._shared = note, shared
        self._budget, self._price = budget, price
        self._cache = CallCache(store)
        self._model = LimitedModel(model, limiter or Limiter(concurrency), tries, is_billed=is_billed)
        # Held until a reply is stored, unlike the limiter's places: a kill loses no more than these.
        self._unstored = asyncio.Semaphore(self._model.limiter.concurrency)
        self._under_way: dict[str, asyncio.Task[ModelReply]] = {}
        self._answered: Request | None = None
        self._refusals = 0

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
        shared: SharedCalls | None = None,
    ) -> Broker:
        """Make the broker of a model of study.toml, within the limits that stand there."""
        return cls(
            model,
            name_model(settings),
            budget=budget,
            price=price,
            store=store,
            tries=settings.tries,
            limiter=Limiter(
                settings.concurrency,
                settings.requests_per_minute,
                settings.tokens_per_minute,
                book=None if shared is None else partial(store.paces.book, settings.where, settings.model),
            ),
            is_billed=not (settings.python or settings.command),
            note=note,
            shared=shared,
        )

    @property
    def concurrency(self) -> int:
        """Most calls under way at once."""
        return self._model.limiter.concurrency

    async def close(self) -> None:
        """Wait for calls that nobody waits for any more: they are paid for, so they are stored."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """One draw from the cache, from the same call under way, or from the model."""
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._look_up(key, text, request, as_it_comes=as_it_comes))
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        else:
            self.spent.cached += 1
        # Shielded: others may wait for the same call, and what is paid for is to be stored.
        return await asyncio.shield(task)

    async def _look_up(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        stored = await self._cache.get(key)
        if stored is None and self._shared is not None:
            stored = await self._shared.take(key)
        if stored is not None:
            self.spent.cached += 1
            return ModelReply(stored.reply, stored.finish, stored.input_tokens, stored.output_tokens)
        async with self._unstored:
            started = time.perf_counter()
            try:
                reply = await self._pay(key, request, as_it_comes=as_it_comes)
            except ModelError as error:
                self.spent.failed += 1
                await self._keep(key, text, ModelReply("", ""), started, str(error) or type(error).__name__)
                raise
            except BudgetSpent:
                if self._shared is not None:
                    await self._shared.release(key)
                raise
            await self._keep(key, text, reply, started, "")
        return reply

    async def _pay(self, key: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Ask; a second time with twice the room if the answer is empty or cut short."""
        reply = await self._send(key, request)
        if as_it_comes or _whole(reply):
            return reply
        wider = replace(request, max_tokens=2 * (request.max_tokens or OUTPUT_CAP))
        second = await self._send(key, wider)
        if not _whole(second):
            what = "cut off at" if second.text.strip() else "empty with"
            reason = f"{what} {wider.max_tokens} tokens ({second.finish_reason})"
            raise NoReply(f"the reply was {reason}")
        return add_price(reply, second)

    async def _send(self, key: str, request: Request) -> ModelReply:
        try:
            reply = await self._ask(key, request)
        except RefusedRequest as error:
            if self._answered is None:
                raise
            self._refusals += 1
            if self._refusals % REFUSALS == 0:
                await self._ask(key, self._answered)
            if error.status in _OF_THE_MODEL:
                raise TransientModelError(str(error)) from error
            raise NoReply(str(error)) from error
        self._answered, self._refusals = request, 0
        return reply

    async def _ask(self, key: str, request: Request) -> ModelReply:
        note = self._note if self._shared is None else self._shared.note(key, self._price)
        account = RequestAccount(self._budget, note)
        try:
            reply = await self._model.ask(request, account.used, account.hold)
        finally:
            await account.close()
        self.spent.calls += 1
        return reply

    async def _keep(self, key: str, request: str, reply: ModelReply, started: float, error: str) -> None:
        price = self._price
        usd = None if price is None else price.dollars(reply.input_tokens, reply.output_tokens)
        add = self._cache.add if self._shared is None else self._shared.add
        await add(
            StoredCall(
                key=key,
                request=request,
                reply=reply.text,
                finish=reply.finish_reason,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                usd=usd,
                ms=(time.perf_counter() - started) * 1000,
                error=error,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )


def _whole(reply: ModelReply) -> bool:
    return bool(reply.text.strip()) and reply.finish_reason != "length"
