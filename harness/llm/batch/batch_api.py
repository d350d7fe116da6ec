"""The Batch API: the same requests and answers at a lower price, some hours later.

A batch is noted in the store before it is handed over, with a marker that travels in its metadata: a
command killed at any moment finds its batches again, and hands over none twice. Answers are collected
into the same rows as those of calls.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.config import ModelSection
from harness.errors import ConfigError, FatalModelError
from harness.llm.answers import make_request, notation_of
from harness.llm.batch.batch_file import name, read_answer, read_lines, write_line
from harness.llm.runner import Target, announce, prepare, price_target, tell
from harness.store import PORTION, UNDER_WAY, Batch, Store, split_into_batches

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch as RemoteBatch

    from harness.llm.limits import PriceTable

MOST_REQUESTS, MOST_BYTES = 50_000, 100_000_000
"""Of one batch; more become several."""

_METADATA = "oversight"
_ENDED = frozenset({"completed", "expired", "cancelled"})
_LONGEST_POLL = 60.0


def run_batches(
    store: Store,
    ids: Sequence[str],
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    wait: bool,
    retry_failed: bool = False,
    poll: float = 5.0,
) -> list[tuple[Target, int]]:
    """Hand over what has no stored answer, and collect what has come.

    Parameters
    ----------
    wait
        Whether to stay until all answers are there; else look once.
    poll
        Seconds between two looks, doubling up to a minute.

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
    """
    targets = prepare(
        store, [price_target(t, prices) for t in _with_endpoint(targets)], ids, retry_failed=retry_failed
    )

    async def run() -> list[tuple[Target, int]]:
        for target in targets:
            await _start(store, target, ids, retry_failed=retry_failed)
        return await _collect_all(store, targets, wait=wait, poll=poll)

    return asyncio.run(run())


def cancel_batches(store: Store, targets: Sequence[Target], *, poll: float = 5.0) -> int:
    """Give up what is under way, keep what has been answered; return how many batches that were."""

    async def cancel() -> int:
        count = 0
        for target in _with_endpoint(targets):
            async with _client(target.settings) as client:
                for batch in _under_way(store, target):
                    found = batch.remote_id or await _find(client, batch.marker)
                    if found is not None:
                        await client.batches.cancel(found)
                    store.endpoints.update_batch(
                        batch.marker, remote_id=found, state="sent" if found else "cancelled"
                    )
                    count += 1
        await _collect_all(store, targets, wait=True, poll=poll)
        return count

    return asyncio.run(cancel())


async def _collect_all(
    store: Store, targets: Sequence[Target], *, wait: bool, poll: float
) -> list[tuple[Target, int]]:
    while True:
        for target in targets:
            await _collect(store, target)
        waiting = [sum(len(b.requests) for b in _under_way(store, t)) for t in targets]
        if not wait or not any(waiting):
            return list(zip(targets, waiting, strict=True))
        tell(f"{sum(waiting):,} requests are in batches under way; stop and come back at any time")
        await asyncio.sleep(poll)
        poll = min(2 * poll, _LONGEST_POLL)


def _with_endpoint(targets: Sequence[Target]) -> list[Target]:
    for target in targets:
        if target.function is not None or target.settings.python is not None or target.settings.command:
            raise ConfigError(f"{target.spec.name}: there is no Batch API behind {target.settings.where}")
    return list(targets)


def _client(settings: ModelSection) -> AsyncOpenAI:
    from harness.llm.models import sdk_client

    return sdk_client(settings)


def _under_way(store: Store, target: Target) -> list[Batch]:
    return store.endpoints.read_batches(target.spec.id, UNDER_WAY)


async def _start(store: Store, target: Target, ids: Sequence[str], *, retry_failed: bool) -> None:
    """Finish handing over what an interrupted command began, then hand over the rest."""
    announce(store, target)
    async with _client(target.settings) as client:
        for batch in _under_way(store, target):
            if batch.remote_id is None:
                found = await _find(client, batch.marker)
                if found is None:
                    await _submit(store, client, target, batch)
                else:
                    store.endpoints.update_batch(batch.marker, remote_id=found, state="sent")
        taken = {request for batch in _under_way(store, target) for request in batch.requests}
        samples = target.settings.samples
        left = store.runs.find_unasked(target.spec.id, ids, samples, retry_failed=retry_failed)
        todo = (request for portion in left for request in portion if request not in taken)
        for requests in split_into_batches(todo, MOST_REQUESTS):
            batch = Batch(uuid.uuid4().hex, target.spec.id, None, "sending", tuple(requests))
            store.endpoints.add_batch(batch)
            await _submit(store, client, target, batch)


async def _submit(store: Store, client: AsyncOpenAI, target: Target, batch: Batch) -> None:
    data = b"\n".join(_lines(store, target, batch))
    if len(data) > MOST_BYTES and len(batch.requests) > 1:
        await _submit_halves(store, client, target, batch)
        return
    try:
        file = await client.files.create(file=("oversight.jsonl", data), purpose="batch")
        remote = await client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={_METADATA: batch.marker},
        )
    except Exception as error:
        raise _translated(error, target.settings) from error
    store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="sent")


async def _submit_halves(store: Store, client: AsyncOpenAI, target: Target, batch: Batch) -> None:
    middle = len(batch.requests) // 2
    halves = [
        Batch(uuid.uuid4().hex, batch.run_id, None, "sending", part)
        for part in (batch.requests[:middle], batch.requests[middle:])
    ]
    store.endpoints.update_batch(batch.marker, remote_id=None, state="cancelled")
    for half in halves:
        store.endpoints.add_batch(half)
    for half in halves:
        await _submit(store, client, target, half)


def _lines(store: Store, target: Target, batch: Batch) -> Iterator[bytes]:
    for start in range(0, len(batch.requests), PORTION):
        portion = batch.requests[start : start + PORTION]
        items = store.content.find_items({item_id for item_id, _ in portion})
        for j, (item_id, _) in enumerate(portion, start):
            yield write_line(j, make_request(target.spec, items[item_id]), target.settings)


async def _find(client: AsyncOpenAI, marker: str) -> str | None:
    """Id of the batch that carries a marker, if it was handed over before it could be noted."""
    async for remote in client.batches.list(limit=100):
        if (remote.metadata or {}).get(_METADATA) == marker:
            return str(remote.id)
    return None


async def _collect(store: Store, target: Target) -> None:
    async with _client(target.settings) as client:
        for batch in _under_way(store, target):
            try:
                remote = await client.batches.retrieve(batch.remote_id or "")
                if remote.status in _ENDED:
                    await _store_answers(store, client, target, batch, remote)
                    store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="collected")
            except Exception as error:
                raise _translated(error, target.settings) from error
            if remote.status == "failed":
                store.endpoints.update_batch(batch.marker, remote_id=remote.id, state="failed")
                raise FatalModelError(f"{target.spec.name}: the batch was refused: {_reasons(remote)}")


async def _store_answers(
    store: Store, client: AsyncOpenAI, target: Target, batch: Batch, remote: RemoteBatch
) -> None:
    answers: dict[str, Any] = {}
    for file_id in (remote.output_file_id, remote.error_file_id):
        if file_id:
            answers |= read_lines((await client.files.content(file_id)).content)
    asked = notation_of(target.spec.template)
    for start in range(0, len(batch.requests), PORTION):
        portion = batch.requests[start : start + PORTION]
        items = store.content.find_items({item_id for item_id, _ in portion})
        rows = [
            (
                batch.run_id,
                read_answer(items[item_id], sample, answers.get(name(j)), target.settings, asked=asked),
            )
            for j, (item_id, sample) in enumerate(portion, start)
            # What was given up has no row, so that it may be asked in another way.
            if name(j) in answers or remote.status != "cancelled"
        ]
        store.runs.store_predictions(rows)


def _reasons(remote: RemoteBatch) -> str:
    errors = (remote.errors.data if remote.errors else None) or []
    return "; ".join(f"line {e.line}: {e.message}" for e in errors[:3]) or "no reason was given"


def _translated(error: Exception, settings: ModelSection) -> Exception:
    from harness.llm.models import sdk_error

    return sdk_error(error, settings)
