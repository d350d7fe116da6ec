"""Send a workflow's calls to its model, with a cache, a budget, retries and checks.

`CallCache` stores calls by key. `CallsUnderWay` ensures that identical calls at the same time are sent only
once. `CallUnderWay` counts the usage of all attempts of one call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from oversight.agents.runtime.request_draws import OUTPUT_CAP, RequestDraws, add_price, name_model
from oversight.agents.runtime.run_account import LINGER, Note, RequestAccount
from oversight.harness import (
    BudgetSpent,
    FatalModelError,
    Fault,
    ModelError,
    NoReply,
    OversightError,
    RefusedRequest,
    TransientModelError,
)
from oversight.harness.config import ModelSection
from oversight.harness.llm import (
    Batches,
    Budget,
    LimitedModel,
    Limiter,
    Model,
    ModelReply,
    Price,
    Request,
    Reservation,
    RunTerms,
    ServedModel,
)
from oversight.harness.output import make_storable
from oversight.harness.store import Spending, Store, StoredCall
from oversight.harness.types import Usage


class CallCache:
    """Stored calls by key. Reads and writes that arrive at about the same time are batched.

    Parameters
    ----------
    store
        The study's database; None keeps calls in memory.
    """

    def __init__(self, store: Store | None) -> None:
        self._memory: dict[str, StoredCall] | None = {} if store is None else None
        self._calls = None if store is None else store.calls
        if store is not None:
            calls = store.calls

            def read(keys: Sequence[str]) -> list[StoredCall | None]:
                found = calls.read_calls(list(dict.fromkeys(keys)), failed=True)
                counts = {key: call for key, call in found.items() if _counts(call)}
                return [counts.get(key) for key in keys]

            self._reads = Batches(read, linger=LINGER)
            self._writes = Batches[StoredCall, None](calls.write_calls, linger=LINGER)

    async def find_call(self, key: str) -> StoredCall | None:
        """Return the stored call with this key if it succeeded or was lost; otherwise None.

        A call is lost if its process ended before the reply was stored.
        """
        return self._memory.get(key) if self._memory is not None else await self._reads.add_request(key)

    def find_answered(self, *, has_schema: bool) -> Request | None:
        """Return the latest stored request that was answered; None if none exists.

        `has_schema` selects requests with or without a JSON schema.
        """
        if self._calls is None:
            return None
        found = self._calls.find_latest(has_schema=has_schema)
        return None if found is None else Request.read(found.request)

    async def store_call(self, call: StoredCall) -> None:
        """Store a call. Once this returns, a call in a database survives a kill of the process."""
        if self._memory is None:
            await self._writes.add_request(call)
        elif not call.error:
            self._memory[call.key] = call


def _counts(call: StoredCall) -> bool:
    """Whether a stored call was answered or lost; a call that failed otherwise is sent again."""
    return not call.error or call.error.startswith(f"{Fault.LOST}: ")


BESIDE = "beside: tries that were paid for and brought no answer"
"""Error text of the row that stores the usage of an answered call's failed attempts."""
LOST = f"{Fault.LOST}: the call was unfinished when its process ended; it may have been answered"
_NOTHING = ModelReply("", "")


@dataclass(slots=True, eq=False)
class CallUnderWay:
    """A call in progress.

    Attributes
    ----------
    key, text
        Key of the call in the cache, and its stored request.
    account
        Counts the usage of all attempts.
    latest
        The latest reply, usable or not.
    is_noted
        Whether a stored row marks the call as lost; the call's reply or error will replace that row.
    """

    key: str
    text: str
    account: RequestAccount
    latest: ModelReply = _NOTHING
    is_noted: bool = False
    _started: float = field(default_factory=time.perf_counter)

    def rows(self, reply: ModelReply | None, price: Price | None, error: str = "") -> list[StoredCall]:
        """Return one row with a call's answer or error, and one with the usage of its other attempts, if any.

        The second row has a random key and is never looked up. If a failed call is requested again, it is
        sent again, and its new row replaces the row with the error.
        """
        used, answer = self.account.used, reply or _NOTHING
        sent = max(0, used.input_tokens - answer.input_tokens)
        received = max(0, used.output_tokens - answer.output_tokens)
        rows = [self._row(self.key, answer, price, error)]
        if sent or received:
            paid = self.latest if reply is None else _NOTHING
            paid = replace(paid, input_tokens=sent, output_tokens=received)
            rows.append(self._row(f"{self.key}/{uuid4().hex}", paid, price, error or BESIDE))
        return rows

    def lose(self, used: Usage, price: Price | None) -> StoredCall:
        """Return the row that marks a call as lost but paid for, until the call's result replaces the row."""
        reply = replace(_NOTHING, input_tokens=used.input_tokens, output_tokens=used.output_tokens)
        return self._row(self.key, reply, price, LOST)

    def _row(self, key: str, reply: ModelReply, price: Price | None, error: str) -> StoredCall:
        tokens = reply.input_tokens, reply.output_tokens
        return StoredCall(
            key=key,
            request=self.text,
            reply=reply.text,
            finish=reply.finish_reason,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            usd=None if price is None else price.dollars(*tokens),
            ms=(time.perf_counter() - self._started) * 1000,
            error=error,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


class NotSent(OversightError):
    """A call was not sent, because the broker has stopped sending calls."""


class CallsUnderWay:
    """The calls in progress.

    A call waits for its turn, is sent, and is stored; before a retry it waits again. After `end`, waiting
    calls raise an error, but calls that were sent are still stored, because they are paid for.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[ModelReply]] = {}
        self._kept_on: set[asyncio.Task[Any] | None] = set()
        self._end: FatalModelError | NotSent | None = None

    def find_task(self, key: str) -> asyncio.Task[ModelReply] | None:
        """Return the task that makes the call with this key, or None if the call is not in progress."""
        return self._tasks.get(key)

    def start(self, key: str, making: Coroutine[Any, Any, ModelReply]) -> asyncio.Task[ModelReply]:
        """Start the task that makes a call, and return the task."""
        task = self._tasks[key] = asyncio.create_task(self._run(making))

        def forget(done: asyncio.Task[ModelReply]) -> None:
            self._tasks.pop(key, None)
            if not done.cancelled():
                done.exception()  # prevents a traceback by asyncio if no task waits for the call any more

        task.add_done_callback(forget)
        # Protect the task until its first step: if cancelled earlier, it could not raise `_end`.
        self._kept_on.add(task)
        return task

    async def _run(self, making: Coroutine[Any, Any, ModelReply]) -> ModelReply:
        self.is_back()
        try:
            return await making
        except (NotSent, asyncio.CancelledError):
            if self._end is None:
                raise
            raise type(self._end)(str(self._end)) from None

    def check(self) -> None:
        """Raise NotSent if `end` was called."""
        if self._end is not None:
            raise NotSent(str(self._end))

    def end(self, why: FatalModelError | NotSent) -> None:
        """Stop sending calls, and raise the error `why` in the waiting tasks."""
        if self._end is None:
            # Copy the error, because an error raised by several tasks would accumulate their tracebacks.
            self._end = (NotSent if isinstance(why, NotSent) else FatalModelError)(str(why))
        for task in self._tasks.values():
            if task is not asyncio.current_task() and task not in self._kept_on:
                task.cancel()

    async def close(self) -> None:
        """Stop sending calls, and wait for the calls that were sent."""
        self.end(NotSent("the call was not sent, because its run has ended"))
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    @contextmanager
    def kept_on(self) -> Iterator[None]:
        """Protect the current task from cancellation within the block."""
        new = {asyncio.current_task()} - self._kept_on
        self._kept_on |= new
        try:
            yield
        finally:
            self._kept_on -= new

    async def hold(self, account: RequestAccount, guess: Callable[[], tuple[int, int]]) -> Reservation:
        """Reserve the maximum usage of the current task's call in the budget.

        From then on, the call counts as sent until `OutModel` records that the call has returned.
        """
        self.check()
        with self.kept_on():
            held = await account.hold(guess)
        # If `end` was called while this call waited for budget, the call is not sent.
        if self._end is not None:
            held.release()
            self.check()
        self._kept_on.add(asyncio.current_task())
        return held

    def is_back(self) -> None:
        """Record that the current task has no call in progress, so the task can be cancelled."""
        self._kept_on.discard(asyncio.current_task())


@dataclass(frozen=True, slots=True)
class OutModel:
    """Wraps a model, and records in `calls` that a sent call has returned."""

    model: Model
    calls: CallsUnderWay

    async def ask(self, request: Request) -> ModelReply:
        """Ask the model."""
        try:
            return await self.model.ask(request)
        finally:
            self.calls.is_back()

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()


REFUSALS = 20
"""Number of consecutive refusals after which a previously answered request is sent again as a test. If the
endpoint refuses this request too, or has answered no request before, no more calls are sent."""
_OF_THE_MODEL = (403, 404)
"""HTTP statuses of refusals that concern the API key or the model, not the request."""


class Broker(RequestDraws):
    """Calls one model, and never pays for the same call twice.

    Parameters
    ----------
    model
        The model that answers.
    name
        Name of model and endpoint; part of every cache key.
    budget
        Budget, in which a call's maximum cost is reserved before the call is sent. In a search, the
        optimiser's calls share the budget. A budget in dollars requires a model with a price.
    price
        Price from which the stored cost of each call is computed; None if unknown.
    store
        Database whose table `call` is the cache; None keeps the cache in memory.
    concurrency
        Largest number of concurrent calls.
    tries
        Maximum number of attempts per call.
    limiter
        Concurrency and rate limits of the endpoint; if given, `concurrency` is ignored.
    is_billed
        Whether tokens are paid for. If so, usage that the endpoint does not report is estimated.
    note
        Function that stores a call's maximum usage before the call is sent, and its actual usage afterwards.
    holds_lost
        Whether a call that was in progress when its process died counts as failed. If not, it is repeated.
    recognise
        Function that checks the model name of each reply, see `ServedModel`.
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
        recognise: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(name)
        self._note, self._holds_lost = note, holds_lost
        # Lost calls are marked in the cache if `note` does not store their usage, or if they count as failed.
        self._notes_lost = store is not None and (note is None or holds_lost)
        self._budget, self._price = budget, price
        self._cache = CallCache(store)
        self._calls = CallsUnderWay()
        out, limits = OutModel(model, self._calls), limiter or Limiter(concurrency)
        self._model = LimitedModel(out, limits, tries, recognise, is_billed=is_billed, holds_lost=holds_lost)
        # The semaphore frees a place only when a reply is stored: a kill loses at most `concurrency` replies.
        # The limiter frees a place as soon as a reply arrives, before the reply is stored.
        self._unstored = asyncio.Semaphore(self._model.limiter.concurrency)
        self._answered: Request | None = None
        self._refusals = 0
        self._first_refusal = asyncio.Lock()

    async def close(self) -> None:
        """Stop sending calls, and wait until sent calls are stored, because they are paid for."""
        await self._calls.close()

    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Return the reply from an identical call in progress, from the cache, or from the model."""
        task = self._calls.find_task(key)
        if task is None:
            task = self._calls.start(key, self._look_up(key, text, request, as_it_comes=as_it_comes))
        else:
            self.spent.cached += 1
        # Shield the call, because other tasks may wait for its reply, and a paid reply must be stored.
        return await asyncio.shield(task)

    async def _look_up(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        stored = await self._cache.find_call(key)
        if stored is not None and stored.error:
            if self._holds_lost:
                raise TransientModelError(stored.error, fault=Fault.LOST)
            # The new call replaces the lost call's row. Keep a copy, because both calls may cost money.
            await self._cache.store_call(replace(stored, key=f"{key}/{uuid4().hex}"))
        elif stored is not None:
            self.spent.cached += 1
            return ModelReply(stored.reply, stored.finish, stored.input_tokens, stored.output_tokens)
        # Do not cancel this wait, because it is short: a place becomes free when a sent call ends.
        with self._calls.kept_on():
            await self._unstored.acquire()
        try:
            return await self._make(key, text, request, as_it_comes=as_it_comes)
        finally:
            self._unstored.release()

    async def _make(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Make a call, and store its outcome and usage."""
        call = CallUnderWay(key, text, RequestAccount(self._budget, self._note))
        if self._notes_lost:
            call.account.note = self._note_as_lost(call)
        try:
            self._calls.check()
            reply = await self._pay(call, request, as_it_comes=as_it_comes)
        except ModelError as error:
            self.spent.failed += 1
            # Fewer than REFUSALS refusals in a row may be due to the requests themselves, so continue.
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

    async def _pay(self, call: CallUnderWay, request: Request, *, as_it_comes: bool) -> ModelReply:
        """Send a call; send it again with twice the token limit if the reply is empty or cut short."""
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

    async def _send(self, call: CallUnderWay, request: Request) -> ModelReply:
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

    async def _find_answered(self, call: CallUnderWay, refused: Request) -> Request | None:
        """Return an answered request, which proves that the endpoint does not refuse every request.

        Returns None if there is none. If this process has no answered request yet, one from an earlier
        process is sent again.

        Raises
        ------
        RefusedRequest
            If the request that was sent again is also refused.
        """
        async with self._first_refusal:
            if self._answered is None:
                stored = self._cache.find_answered(has_schema=refused.schema is not None)
                if stored is None:
                    return None
                await self._ask(call, stored)
                self._answered = stored
        return self._answered

    async def _ask(self, call: CallUnderWay, request: Request) -> ModelReply:
        account, guessed = call.account, call.account.used.guessed
        try:
            reply = await self._model.ask(request, account.used, partial(self._calls.hold, account))
        finally:
            self.spent.guessed += account.used.guessed - guessed
            with self._calls.kept_on():
                await account.close()
        self.spent.calls += 1
        # Use the text as the database stores it, so that a resumed program sees and sends the same text.
        call.latest = replace(reply, text=make_storable(reply.text))
        return call.latest

    async def _keep(self, call: CallUnderWay, reply: ModelReply | None, error: str = "") -> None:
        with self._calls.kept_on():
            await asyncio.gather(*map(self._cache.store_call, call.rows(reply, self._price, error)))

    def _note_as_lost(self, call: CallUnderWay) -> Note:
        """Return a function that stores a call as lost before it is sent, in case this process dies."""

        async def note(change: Spending) -> None:
            if self._note is not None:
                await self._note(change)
            if change.under_way.requests > 0:
                call.is_noted = True
                await self._cache.store_call(call.lose(change.under_way, self._price))

        return note


@asynccontextmanager
async def open_broker(
    settings: ModelSection,
    terms: RunTerms,
    *,
    store: Store,
    budget: Budget,
    price: Price | None,
    note: Note | None = None,
    holds_lost: bool = False,
    checks: bool = True,
) -> AsyncIterator[Broker]:
    """Open a model of study.toml with its broker; the model's `concurrency` applies to each worker.

    With `checks`, an endpoint that cannot be reached raises FatalModelError.
    """
    model, workers = terms.workers.make_model(settings), terms.workers.number
    broker = Broker(
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
        recognise=ServedModel(settings, settings.answers_as).recognise,
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(model.close)
        stack.push_async_callback(broker.close)
        if checks:
            await model.check()
        yield broker


def _describe(error: ModelError) -> str:
    if isinstance(error, TransientModelError) and error.fault is Fault.LOST:
        return f"{Fault.LOST}: {error}"
    return str(error) or type(error).__name__


def _whole(reply: ModelReply) -> bool:
    return bool(reply.text.strip()) and reply.finish_reason != "length"
