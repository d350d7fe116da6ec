"""The batches of one run: submit each once, poll them until they end, and store their answers."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from oversight.harness.errors import FatalModelError, Fault, ModelError, RefusedRequest, TransientModelError
from oversight.harness.llm.asking.batch_endpoint import BatchEndpoint, UncertainBatch, copy_error
from oversight.harness.llm.asking.batch_file import name, read_answer, read_lines, write_line
from oversight.harness.llm.models.limited_model import TokenGuess
from oversight.harness.llm.runner.prediction import make_failed
from oversight.harness.llm.runner.prompt import make_request, reply_form_of
from oversight.harness.llm.runner.targets import RequestedItems, Target, load_items, make_served
from oversight.harness.output import counted, say
from oversight.harness.store import PORTION, UNDER_WAY, Batch, Store, Uncertain, split_into_batches
from oversight.harness.types import Item, Prediction, PredictionStatus, Source, Usage

LONGEST_POLL = 60.0
_TRIES = 5  # maximum number of attempts to submit or cancel a batch
_LOOKS = 20  # consecutive failed polls after which this command gives up on a batch
_LOOKS_FOR_FILES = 3  # after this many polls, a finished batch's files are final, even if answers are missing
_REPRICED = (
    "the price in prices.toml has changed since an unfinished batch was submitted, so no further requests "
    "were sent; when the batch has ended, run the same command again"
)


class _Incomplete(TransientModelError):
    """A batch has ended, but its files may lack answers that exist."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Maximum number of requests and of bytes (`size`) of a batch, and the polling interval.

    Larger batches are split. `poll` is the number of seconds between the first two polls.
    """

    requests: int = 50_000
    size: int = 100_000_000
    poll: float = 5.0


DEFAULT_LIMITS = BatchLimits()


@dataclass(slots=True, eq=False)
class BatchRun:
    """The batches of one target (a model with its run) at its endpoint.

    Attributes
    ----------
    uncertain
        What happens to requests if it is unknown whether the endpoint has them; see `run_batches`.
    gives_up
        Whether the command cancels batches.
    errors
        For each batch that this command no longer polls, the error that is the reason, by the batch's marker.
        The key "" has the error, if any, that was raised while batches were submitted.
    """

    store: Store
    target: Target
    endpoint: BatchEndpoint
    limits: BatchLimits
    uncertain: Uncertain | None
    gives_up: bool
    errors: dict[str, ModelError] = field(default_factory=dict)
    _failed_looks: Counter[str] = field(default_factory=Counter)
    _not_cancelled: dict[str, ModelError] = field(default_factory=dict)

    def find_under_way(self) -> list[Batch]:
        """Return the run's batches that may still deliver answers."""
        return self.store.calls.read_batches(self.target.spec.id, UNDER_WAY)

    def count_waiting(self) -> int:
        """Return the number of requests in the batches that this command still polls."""
        here = [b for b in self.find_under_way() if b.marker not in self.errors]
        return sum(len(b.requests) for b in here if b.remote_id is not None)

    async def hand_over(self, wanted: RequestedItems) -> None:
        """Submit the batches that an interrupted command prepared, then all other unanswered requests."""
        self.target.announce(wanted)
        try:
            for batch in self.find_under_way():
                if batch.remote_id is None:
                    await self._settle(batch, is_new=False)
            taken = {request for batch in self.find_under_way() for request in batch.requests}
            left = chain.from_iterable(wanted.find_left(self.target))
            todo = (request for request in left if request not in taken)
            for requests in split_into_batches(todo, self.limits.requests):
                if taken:
                    self._refuse_other_price()
                else:
                    self.target.record_price(self.store)
                await self._settle(self._note(requests), is_new=True)
        except ModelError as error:
            self.errors[""] = copy_error(error, f"{self.target.spec.name}: {error}")

    def _refuse_other_price(self) -> None:
        """Raise an error if the price has changed, because unfinished batches keep their price."""
        if self.target.is_repriced(self.store):
            raise ModelError(_REPRICED)

    async def cancel(self) -> int:
        """Ask the endpoint to cancel all unfinished batches. Returns how many were unfinished."""
        batches = self.find_under_way()
        for batch in batches:
            try:
                if await self._cancel(batch) is None:
                    self._close(batch, "cancelled")
            except ModelError as error:  # the batch may have ended; the next poll will show it
                told = f"it cannot be cancelled, so it may continue and be charged: {error}"
                self._not_cancelled[batch.marker] = copy_error(error, told)
        return len(batches)

    async def collect(self, *, wait: bool) -> None:
        """Poll each unfinished batch once and store the answers that have arrived.

        Without `wait`, the first transient error ends the polling of its batch. With `wait`, only several
        consecutive transient errors do.
        """
        for batch in self.find_under_way():
            marker = batch.marker
            if marker in self.errors:
                continue
            if batch.remote_id is None:
                if marker in self._not_cancelled:
                    self._stop(batch, self._not_cancelled[marker])
                continue
            try:
                await self._look(batch)
                self._failed_looks[marker] = 0
            except TransientModelError as error:
                self._failed_looks[marker] += 1
                most = _LOOKS_FOR_FILES if isinstance(error, _Incomplete) else _LOOKS
                if wait and self._failed_looks[marker] < most:
                    say(f"{self.target.spec.name}: {error}; polling again")
                else:
                    self._stop(batch, error)
            except ModelError as error:
                self._stop(batch, error)

    def _stop(self, batch: Batch, error: ModelError) -> None:
        """Stop polling a batch and store the error in `errors`.

        A command that cancels batches marks the batch as cancelled instead in three cases: if `uncertain` is
        set, if the endpoint does not know the batch, and if answers of the ended batch are missing.
        """
        is_unknown = isinstance(error, RefusedRequest) and error.status in (403, 404, 410)
        if self.gives_up and (is_unknown or self.uncertain or isinstance(error, _Incomplete)):
            self._drop(batch, str(error))
            return
        told = f"{self.target.spec.name}: batch {batch.remote_id or 'of unknown id'}: {error}"
        if any(other.marker == batch.marker for other in self.find_under_way()):
            told += (
                "; the batch remains unfinished: poll again with --batch, or give it up with --batch cancel"
            )
            told += " --uncertain retry (or hold)" if self.gives_up else ""
        self.errors[batch.marker] = copy_error(error, told)

    def _note(self, requests: Sequence[tuple[str, int]]) -> Batch:
        """Record a batch that is about to be submitted.

        The usage of the failed answers that it will replace is charged to the run, so that it stays counted.
        Usage of an earlier batch then counts at the price of single calls, which is an upper bound.
        """
        run_id, runs, calls = self.target.spec.id, self.store.runs, self.store.calls
        batch = Batch(uuid.uuid4().hex, run_id, None, "sending", tuple(requests))
        with self.store.together():
            stored = runs.read_failed(run_id)
            failed = [stored[request] for request in requests if request in stored]
            for p in failed:
                calls.charge(run_id, Usage(p.attempts, p.input_tokens, p.output_tokens))
            free = [replace(p, attempts=0, input_tokens=0, output_tokens=0) for p in failed]
            runs.store_predictions([(run_id, p) for p in free])
            calls.add_batch(batch)
        return batch

    def _close(self, batch: Batch, state: str) -> None:
        self.store.calls.update_batch(batch.marker, remote_id=batch.remote_id, state=state)

    def _drop(self, batch: Batch, why: str) -> None:
        """Mark a batch as cancelled in the store.

        If `uncertain` is ``"hold"``, the batch's requests are stored as failed. With any other setting, they
        stay without an answer.
        """
        say(f"{self.target.spec.name}: batch {batch.remote_id or 'of unknown id'} is given up: {why}")
        if self.uncertain == "hold":
            self._store(batch, (self._make_lost(item, sample, why) for _, item, sample in self._load(batch)))
        self._close(batch, "cancelled")

    def _make_lost(self, item: Item, sample: int, why: str) -> Prediction:
        used = TokenGuess().guess(make_request(self.target.spec, item))
        counts = Usage(requests=1, input_tokens=used[0], output_tokens=used[1], guessed=1)
        return make_failed(item, sample, f"{Fault.LOST}: {why}", counts, Source.BATCH)

    async def _settle(self, batch: Batch, *, is_new: bool) -> None:
        """Submit a batch. If the endpoint may already have it, act as the setting `uncertain` says."""
        try:
            await self._submit(batch, is_new=is_new)
        except UncertainBatch as error:
            if self.uncertain == "hold":
                self._drop(batch, str(error))
            elif self.uncertain == "retry" and not is_new:
                await self._settle(batch, is_new=True)
            else:
                raise UncertainBatch(
                    f"it is unknown whether a batch of {len(batch.requests):,} requests was submitted: "
                    f"{error}; submit it again with --uncertain retry (it may then be charged twice), or "
                    "count its requests as failed with --uncertain hold"
                ) from error

    async def _submit(self, batch: Batch, *, is_new: bool) -> None:
        """Submit a batch unless the endpoint has it; a batch that is too large is split in two."""
        data = self._write(batch)
        if is_new and len(data) > self.limits.size and len(batch.requests) > 1:
            middle = len(batch.requests) // 2
            self._close(batch, "cancelled")
            for part in (batch.requests[:middle], batch.requests[middle:]):
                await self._settle(self._note(part), is_new=True)
            return

        async def attempt(tries: int) -> str:
            remote_id = None if is_new and not tries else await self._find(batch, data)
            if remote_id is None:
                try:
                    remote_id = await self.endpoint.create(batch.marker, data)
                except FatalModelError:  # the endpoint created no batch
                    self._close(batch, "failed")
                    raise
            self.store.calls.update_batch(batch.marker, remote_id=remote_id, state="sent")
            return remote_id

        await self._repeat(attempt)

    async def _repeat(self, attempt: Callable[[int], Awaitable[str | None]]) -> str | None:
        """Call `attempt` with the number of earlier calls, until it succeeds or fails too often."""
        for tries in range(_TRIES - 1):
            try:
                return await attempt(tries)
            except TransientModelError as error:
                say(f"{self.target.spec.name}: {error}; trying again")
                await asyncio.sleep(min(self.limits.poll * 2**tries, LONGEST_POLL))
        return await attempt(_TRIES - 1)

    async def _find(self, batch: Batch, data: bytes) -> str | None:
        known = self.store.calls.read_remote_ids()
        return await self.endpoint.find_batch(batch.marker, data, len(batch.requests), known)

    async def _cancel(self, batch: Batch) -> str | None:
        """Ask the endpoint to cancel a batch.

        Returns the batch's id at the endpoint; None if the endpoint does not have the batch.
        """

        async def attempt(_: int) -> str | None:
            remote_id = batch.remote_id or await self._find(batch, self._write(batch))
            if remote_id is not None:
                self.store.calls.update_batch(batch.marker, remote_id=remote_id, state="sent")
                await self.endpoint.cancel(remote_id)
            return remote_id

        return await self._repeat(attempt)

    async def _look(self, batch: Batch) -> None:
        """Poll a batch once, and store its answers if it has ended."""
        remote = await self.endpoint.retrieve(batch.remote_id or "")
        if remote.is_waiting:
            if remote.status != "cancelling" and batch.marker in self._not_cancelled:
                raise self._not_cancelled[batch.marker]
            return
        files, errors = await self.endpoint.read_files(remote)
        lines = read_lines(*files)
        found = sum(name(j) in lines for j in range(len(batch.requests)))
        lack = remote.find_lack(found, len(batch.requests), len(lines.get("", ())))
        passing = [error for error in errors.values() if isinstance(error, TransientModelError)]
        is_open = remote.output_file in errors or (found < len(batch.requests) and bool(lack or errors))
        # A cancelled batch's unanswered requests are not stored as failed, so they can be sent again.
        all_rows = not is_open and remote.status not in ("cancelled", "failed")
        self._store(batch, self._read(batch, lines, all_rows=all_rows))
        if is_open and passing:
            raise passing[0]
        if is_open:
            raise _Incomplete("; ".join(filter(None, [lack, *map(str, errors.values())])))
        if remote.status == "failed":
            self._close(batch, "failed")
            why = "; ".join(remote.errors[:3]) or "no reason was given"
            raise FatalModelError(f"the batch was refused: {why}")
        if remote.status == "cancelled" and (n := len(batch.requests) - found):
            say(f"{self.target.spec.name}: batch {remote.id} was cancelled with {n:,} requests unanswered")
        self._close(batch, "collected")

    def _read(
        self, batch: Batch, lines: Mapping[str, Sequence[Any]], *, all_rows: bool
    ) -> Iterator[Prediction]:
        """Yield a batch's predictions; with `all_rows`, a failed prediction for each missing answer."""
        spec, settings, guess = self.target.spec, self.target.settings, TokenGuess()
        # Accept any number of replies by another model, because these replies are already paid for.
        served = make_served(self.store, self.target, self.store.runs.note_served_as, patience=math.inf)
        known = 0
        for j, item, sample in self._load(batch):
            known += 1
            if all_rows or name(j) in lines:
                yield read_answer(
                    item,
                    sample,
                    lines.get(name(j)),
                    settings,
                    served,
                    asked=reply_form_of(spec),
                    request=make_request(spec, item),
                    guess=guess,
                )
        if gone := len(batch.requests) - known:
            told = f"{counted(gone, 'request')} about removed items, whose answers are not stored"
            say(f"{spec.name}: batch {batch.remote_id}: {told}")

    def _store(self, batch: Batch, predictions: Iterator[Prediction]) -> None:
        """Store predictions, except for requests that already have an answer."""
        runs = self.store.runs
        for portion in split_into_batches(predictions, PORTION):
            stored = runs.find_samples([batch.run_id], {p.item_id for p in portion})
            have = {(p.item_id, p.sample) for _, p in stored if p.status is not PredictionStatus.FAILED}
            runs.store_predictions([(batch.run_id, p) for p in portion if (p.item_id, p.sample) not in have])

    def _load(self, batch: Batch) -> Iterator[tuple[int, Item, int]]:
        """Yield each request's number, item and sample number; skip items that were removed from the study.

        Only older versions of this package could remove an item that has a request in an unfinished batch.
        """
        numbers = {request: j for j, request in enumerate(batch.requests)}
        for item, sample in load_items(self.store, split_into_batches(batch.requests, PORTION)):
            yield numbers[item.id, sample], item, sample

    def _write(self, batch: Batch) -> bytes:
        """Return the content of a batch's input file."""
        spec, settings = self.target.spec, self.target.settings
        return b"\n".join(
            write_line(j, make_request(spec, item), settings) for j, item, _ in self._load(batch)
        )
