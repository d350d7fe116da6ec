"""What a model is still to be asked, and how one item of it becomes a prediction."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from oversight.harness.config import ModelSection, RunSpec
from oversight.harness.errors import (
    BudgetSpent,
    FatalModelError,
    Fault,
    ModelError,
    OversightError,
    RefusedRequest,
    TransientModelError,
)
from oversight.harness.llm.limits import Budget, Limiter, Reservation
from oversight.harness.llm.models import CUT, LimitedModel, Request
from oversight.harness.llm.runner.prediction import make_failed, read_option, read_prediction
from oversight.harness.llm.runner.prompt import make_request, reply_form_of
from oversight.harness.llm.runner.targets import Target, Wanted, load_items, make_served
from oversight.harness.llm.runner.terms import RunTerms
from oversight.harness.output import say
from oversight.harness.store import ReservedAnswer, add_usage
from oversight.harness.types import Item, Prediction, Usage

_UNBOUNDED = (
    "{}: without max_tokens nothing bounds an answer, so the budget takes each to be a quarter longer than "
    "the longest seen; set max_tokens for a hard stop"
)
MORE = 4
"""An answer that was cut by the token limit is asked for once more with this many times as many."""


@dataclass(slots=True, eq=False)
class Job:
    """A run under way.

    Attributes
    ----------
    spec
        What is asked, and the run's name.
    model
        What answers, within the limits of its endpoint.
    todo
        Items and sample numbers without a stored answer; drawn from as places come free.
    budget
        What may still be spent; None has no limit.
    reserve
        Stores what an answer may have used, before each of its calls under a budget goes out.
    before
        What earlier answers used that these are to replace; counted as theirs.
    """

    spec: RunSpec
    model: LimitedModel
    todo: Iterator[tuple[Item, int]]
    budget: Budget | None = None
    reserve: Callable[[ReservedAnswer], Awaitable[None]] | None = None
    before: Mapping[tuple[str, int], Prediction] = field(default_factory=dict)
    run_id: str = field(init=False)
    _first: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.run_id = self.spec.id  # hashed once, not for every row

    async def predict(self, item: Item, sample: int) -> Prediction:
        """Ask about one item and read the answer.

        Raises
        ------
        BudgetSpent
            If the budget leaves no room and nothing under way can make any.
        FatalModelError
            If a call failed in a way that no other item mends.
        """
        request = make_request(self.spec, item)
        if self.budget is not None and self.budget.counts_tokens and not self.model.guess.bounds(request):
            # Nothing says how much an answer may cost, so the first one goes out alone.
            async with self._first:
                if not self.model.guess.bounds(request):
                    return await self._ask(request, item, sample)
        return await self._ask(request, item, sample)

    async def _ask(self, request: Request, item: Item, sample: int) -> Prediction:
        """Ask; a last passing fault, a refusal, or an error of our own becomes a prediction that failed.

        An answer that the token limit cut before it could be read is asked for once more with a higher
        limit.
        """
        started, counts, asked = time.perf_counter(), Usage(), reply_form_of(self.spec)
        hold = None if self.budget is None else partial(self._hold, self.budget, item, sample, counts)
        try:
            reply = await self.model.ask(request, counts, hold)
            if (
                reply.finish_reason == CUT
                and request.max_tokens
                and read_option(item, reply, asked).option is None
            ):
                more = replace(request, max_tokens=MORE * request.max_tokens)
                reply = await self.model.ask(more, counts, hold)
            counts.seconds = time.perf_counter() - started
            return self._counted(read_prediction(item, sample, reply, counts, asked=asked))
        except RefusedRequest as error:
            reason = f"{Fault.REFUSED}: {error}"
        except FatalModelError as error:
            if hold is not None:  # of what was reserved no more is owed
                await self._note(item, sample, counts, 0, 0)
            raise FatalModelError(f"item {item.id!r}: {error}") from error
        except ModelError as error:
            reason = f"{error.fault}: {error}" if isinstance(error, TransientModelError) else str(error)
        except BudgetSpent:
            if counts.requests:  # paid for, and not yet an answer
                await self._note(item, sample, counts, 0, 0)
            raise
        except OversightError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a reply can bring about is this item's alone
            reason = f"{Fault.UNEXPECTED}: {type(error).__name__}: {error}"
        counts.seconds = time.perf_counter() - started
        return self._counted(make_failed(item, sample, reason, counts))

    async def _hold(
        self,
        budget: Budget,
        item: Item,
        sample: int,
        counts: Usage,
        guess: Callable[[], tuple[int, int]],
    ) -> Reservation:
        """Reserve what the next call for an answer may use, here and in the store."""
        held = await budget.hold(guess)
        try:
            await self._note(item, sample, counts, held.input_tokens, held.output_tokens, requests=1)
        except BaseException:
            held.release()
            raise
        return held

    async def _note(
        self, item: Item, sample: int, counts: Usage, sent: int, received: int, requests: int = 0
    ) -> None:
        """Store what an answer used so far, and what its next call may use."""
        if self.reserve is not None:
            used = counts.requests + requests, counts.input_tokens + sent, counts.output_tokens + received
            await self.reserve(ReservedAnswer(self.run_id, item.id, sample, *used))

    def _counted(self, prediction: Prediction) -> Prediction:
        """Add what an earlier answer used that this one replaces."""
        before = self.before.get((prediction.item_id, prediction.sample))
        return prediction if before is None else add_usage(prediction, [before])


def make_jobs(
    wanted: Wanted,
    targets: Mapping[Target, Budget | None],
    terms: RunTerms,
    *,
    reserve: Callable[[ReservedAnswer], Awaitable[None]],
    served: dict[str, str],
) -> list[Job]:
    """Make a job for every model; those of one endpoint share its limits.

    Parameters
    ----------
    targets
        Models with the budget of each; None has no limit.
    reserve
        Stores what an answer may have used, before each of its calls under a budget goes out.
    served
        Receives the names in the models' first replies, by id of the run.
    """
    store, workers = wanted.store, terms.workers
    limiters = _make_limiters([target.settings for target in targets], terms.patience, workers.number)
    jobs = []
    for target, budget in targets.items():
        settings = target.settings
        is_bounded = target.spec.max_tokens is not None or target.is_program
        if budget is not None and budget.counts_tokens and not is_bounded:
            say(_UNBOUNDED.format(target.spec.name))
        model = LimitedModel(
            workers.make_model(settings, target.function),
            limiters[_limits_of(settings)],
            settings.tries,
            make_served(store, target, served.__setitem__).recognise,
            is_billed=not target.is_program,
            name=target.spec.name,
            holds_lost=terms.uncertain == "hold",
        )
        todo = load_items(store, wanted.find_left(target))
        jobs.append(Job(target.spec, model, todo, budget, reserve, store.runs.read_failed(target.spec.id)))
    return jobs


def _limits_of(settings: ModelSection) -> tuple[str, str]:
    """What a limiter is shared by: limits are mostly set per model."""
    return settings.where, "" if settings.shared_limits else settings.model


def _make_limiters(
    settings: Sequence[ModelSection], patience: float, workers: int
) -> dict[tuple[str, str], Limiter]:
    """One per model of an endpoint; of shared ones the widest window and the lowest rates."""
    shared = defaultdict[tuple[str, str], list[ModelSection]](list)
    for one in settings:
        shared[_limits_of(one)].append(one)
    return {
        where: Limiter(
            workers * max(m.concurrency for m in models),
            min((m.requests_per_minute for m in models if m.requests_per_minute), default=None),
            min((m.tokens_per_minute for m in models if m.tokens_per_minute), default=None),
            patience=patience,
        )
        for where, models in shared.items()
    }
