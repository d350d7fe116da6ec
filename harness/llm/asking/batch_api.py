"""The Batch API: the same requests and answers at a lower price, some hours later.

A batch is noted in the store before it is handed over, with a marker that travels in its metadata: a
command killed at any moment finds its batches again, and hands over none twice. Answers are collected
into the same rows as those of calls.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from harness.distribution import require
from harness.errors import ConfigError, FatalModelError
from harness.llm import models  # its SDK is loaded by who first uses it, and may not be installed
from harness.llm.asking.batch_file import name, read_answer, read_lines, write_line
from harness.llm.runner import (
    Target,
    Wanted,
    hold_runs,
    load_items,
    make_request,
    make_served,
    prepare,
    reply_form_of,
)
from harness.output import say
from harness.store import PORTION, UNDER_WAY, Batch, Store, split_into_batches

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch as RemoteBatch

    from harness.llm.limits import PriceTable

_METADATA = "oversight"
_ENDED = frozenset({"completed", "expired", "cancelled"})
_LONGEST_POLL = 60.0


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Most requests and bytes of one batch, more become several; seconds between the first two looks."""

    requests: int = 50_000
    size: int = 100_000_000
    poll: float = 5.0


def run_batches(
    wanted: Wanted,
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    wait: bool,
    limits: BatchLimits = BatchLimits(),
    wait_for_lock: bool = False,
) -> list[tuple[Target, int]]:
    """Hand over what has no stored answer, and collect what has come.

    Parameters
    ----------
    wait
        Whether to stay until all answers are there, looking twice as rarely each time, but once a minute;
        else look once.
    wait_for_lock
        Whether to wait for other processes that work on the same runs.

    Returns
    -------
    list of (Target, int)
        Every target with its number of requests that are still under way.

    Raises
    ------
    ConfigError
        If a model is not behind an endpoint.
    FatalModelError
        If the endpoint refuses a batch.
    RunHeld
        If another process works on one of the runs.
    """
    _check(targets)

    async def run() -> list[tuple[Target, int]]:
        async with _open(wanted.store, ready, limits) as runs:
            for each in runs:
                await each.hand_over(wanted)
            return await _collect_all(runs, wait=wait, poll=limits.poll)

    with hold_runs(wanted.store, targets, wait=wait_for_lock):
        ready = list[Target]()
        for one in prepare(wanted, [target.priced(prices) for target in targets]):
            target, error = one.target, one.error
            if error is not None:
                raise error
            ready.append(target)
        return asyncio.run(run())


def cancel_batches(store: Store, targets: Sequence[Target], *, limits: BatchLimits = BatchLimits()) -> int:
    """Give up what is under way, keep what has been answered; return how many batches that were."""
    _check(targets)

    async def cancel() -> int:
        async with _open(store, [target.settled(store) for target in targets], limits) as runs:
            count = sum([await each.cancel() for each in runs])
            await _collect_all(runs, wait=True, poll=limits.poll)
            return count

    with hold_runs(store, targets, wait=False):
        return asyncio.run(cancel())


def _check(targets: Sequence[Target]) -> None:
    require("openai", "the Batch API", "openai")
    for target in targets:
        if target.is_program:
            raise ConfigError(f"{target.spec.name}: there is no Batch API behind {target.settings.where}")


@asynccontextmanager
async def _open(
    store: Store, targets: Sequence[Target], limits: BatchLimits
) -> AsyncIterator[list[_BatchRun]]:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(models.sdk_client(target.settings)) for target in targets]
        yield [_BatchRun(store, t, client, limits) for t, client in zip(targets, clients, strict=True)]


async def _collect_all(runs: Sequence[_BatchRun], *, wait: bool, poll: float) -> list[tuple[Target, int]]:
    while True:
        for run in runs:
            await run.collect()
        waiting = [sum(len(batch.requests) for batch in run.under_way()) for run in runs]
        if not wait or not any(waiting):
            return [(run.target, n) for run, n in zip(runs, waiting, strict=True)]
        say(f"{sum(waiting):,} requests are in batches under way; stop and come back at any time")
        await asyncio.sleep(poll)
        poll = min(2 * poll, _LONGEST_POLL)


@dataclass(frozen=True, slots=True)
class _BatchRun:
    """A target's batches at its endpoint."""

    store: Store
    target: Target
    client: AsyncOpenAI
    limits: BatchLimits

    def under_way(self) -> list[Batch]:
        return self.store.endpoints.read_batches(self.target.spec.id, UNDER_WAY)

    async def hand_over(self, wanted: Wanted) -> None:
        """Finish handing over what an interrupted command began, then hand over the rest."""
        self.target.announce(wanted)
        for batch in self.under_way():
            if batch.remote_id is None:
                found = await self._find(batch.marker)
                if found is None:
                    await self._submit(batch)
                else:
                    self.store.endpoints.update_batch(batch.marker, remote_id=found, state="sent")
        taken = {request for batch in self.under_way() for request in batch.requests}
        left = chain.from_iterable(wanted.find_left(self.target))
        todo = (request for request in left if request not in taken)
        for requests in split_into_batches(todo, self.limits.requests):
            await self._submit(self._note(requests))

    async def cancel(self) -> int:
        """Give up what is under way; return how many batches that were."""
        batches = self.under_way()
        for batch in batches:
            found = batch.remote_id or await self._find(batch.marker)
            if found is not None:
                await self.client.batches.cancel(found)
            self.store.endpoints.update_batch(
                batch.marker, remote_id=found, state="sent" if found else "cancelled"
            )
        return len(batches)

    async def collect(self) -> None:
        """Store what has come."""
        for batch in self.under_way():
            with models.translate_errors(self.target.settings):
                remote = await self.client.batches.retrieve(batch.remote_id or "")
                if remote.status in _ENDED:
                    await self._store_answers(batch, remote)
                    self.store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="collected")
            if remote.status == "failed":
                self.store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="failed")
                errors = (remote.errors.data if remote.errors else None) or []
                why = "; ".join(f"line {e.line}: {e.message}" for e in errors[:3]) or "no reason was given"
                raise FatalModelError(f"{self.target.spec.name}: the batch was refused: {why}")

    def _note(self, requests: Sequence[tuple[str, int]]) -> Batch:
        """Note a batch that is about to be handed over."""
        batch = Batch(uuid.uuid4().hex, self.target.spec.id, None, "sending", tuple(requests))
        self.store.endpoints.add_batch(batch)
        return batch

    async def _submit(self, batch: Batch) -> None:
        """Hand a batch over; one that is too large, in halves."""
        portions = split_into_batches(batch.requests, PORTION)
        data = b"\n".join(
            write_line(j, make_request(self.target.spec, item), self.target.settings)
            for j, (item, _) in enumerate(load_items(self.store, portions))
        )
        if len(data) > self.limits.size and len(batch.requests) > 1:
            middle = len(batch.requests) // 2
            self.store.endpoints.update_batch(batch.marker, remote_id=None, state="cancelled")
            halves = [self._note(part) for part in (batch.requests[:middle], batch.requests[middle:])]
            for half in halves:
                await self._submit(half)
            return
        with models.translate_errors(self.target.settings):
            file = await self.client.files.create(file=("oversight.jsonl", data), purpose="batch")
            remote = await self.client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_METADATA: batch.marker},
            )
        self.store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="sent")

    async def _find(self, marker: str) -> str | None:
        """Id of the batch that carries a marker, if it was handed over before it could be noted."""
        async for remote in self.client.batches.list(limit=100):
            if (remote.metadata or {}).get(_METADATA) == marker:
                return str(remote.id)
        return None

    async def _store_answers(self, batch: Batch, remote: RemoteBatch) -> None:
        files = [i for i in (remote.output_file_id, remote.error_file_id) if i]
        lines = read_lines(b"\n".join([(await self.client.files.content(i)).content for i in files]))
        settings, asked = self.target.settings, reply_form_of(self.target.spec)
        fix = self.store.runs.note_served_as
        served = make_served(self.store, self.target, fix, patience=math.inf)  # all of it is paid for
        requests = load_items(self.store, split_into_batches(batch.requests, PORTION))
        read = partial(read_answer, settings=settings, served=served, guess=models.TokenGuess(), asked=asked)
        spec = self.target.spec
        rows = (
            (batch.run_id, read(item, sample, lines.get(name(j)), request=make_request(spec, item)))
            for j, (item, sample) in enumerate(requests)
            # What was given up has no row, so that it may be asked in another way.
            if name(j) in lines or remote.status != "cancelled"
        )
        for portion in split_into_batches(rows, PORTION):
            self.store.runs.store_predictions(portion)
