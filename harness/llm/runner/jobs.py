"""Jobs: the items that a model must still answer, and how one item is answered."""

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
from oversight.harness.llm.limits.budget import Budget, Reservation
from oversight.harness.llm.limits.limiter import Limiter
from oversight.harness.llm.models.completions import CUT
from oversight.harness.llm.models.interface import Request
from oversight.harness.llm.models.limited_model import LimitedModel
from oversight.harness.llm.reading.reply_reader import ReplyForm
from oversight.harness.llm.runner.prediction import make_failed, read_option, read_prediction
from oversight.harness.llm.runner.prompt import make_request, reply_form_of
from oversight.harness.llm.runner.targets import ItemSample, RequestedItems, Target, load_items, make_served
from oversight.harness.llm.runner.terms import RunTerms
from oversight.harness.output import say
from oversight.harness.store import ReservedAnswer, add_usage
from oversight.harness.types import Item, Prediction, Usage

_UNBOUNDED = (
    "{}: without max_tokens answers have no limit, so the budget assumes each answer to be 25 % "
    "longer than the longest so far; set max_tokens for a hard limit"
)
MORE = 4
"""Factor on the token limit if an answer that was cut by the limit is requested once more."""


@dataclass(slots=True, eq=False)
class Job:
    """The work of one model in a run.

    Attributes
    ----------
    spec
        Settings of the run that determine the answers, and its name.
    model
        Client of the model with the limits of its endpoint.
    todo
        (item, sample number) pairs without a stored answer, loaded lazily.
    budget
        Budget of the run; None means no limit.
    reserve
        Function that stores the maximum usage of an answer before each call for this answer. Used only if
        there is a budget.
    before
        Stored failed answers, by (item id, sample); their usage is added to that of the new answers.
    """

    spec: RunSpec
    model: LimitedModel
    todo: Iterator[ItemSample]
    budget: Budget | None = None
    reserve: Callable[[ReservedAnswer], Awaitable[None]] | None = None
    before: Mapping[tuple[str, int], Prediction] = field(default_factory=dict)
    run_id: str = field(init=False)
    _asked: ReplyForm = field(init=False)
    _first: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        # These are computed once, because every answer needs them.
        self.run_id, self._asked = self.spec.id, reply_form_of(self.spec)

    async def predict(self, item: Item, sample: int) -> Prediction:
        """Ask the model about one item and read its answer.

        Raises
        ------
        BudgetSpent
            If the budget does not suffice, and no unfinished call can release any of it.
        FatalModelError
            If a call failed in a way that affects all items.
        """
        request = make_request(self.spec, item)
        if self.budget is not None and self.budget.counts_tokens and not self.model.guess.bounds(request):
            # The first call is sent alone, because it shows how much an answer costs.
            async with self._first:
                if not self.model.guess.bounds(request):
                    return await self._ask(request, item, sample)
        return await self._ask(request, item, sample)

    async def _ask(self, request: Request, item: Item, sample: int) -> Prediction:
        """Get and read an answer; an error that affects only this item becomes a failed prediction.

        If the token limit cut the answer before an option was named, the answer is requested again, with a
        higher limit.
        """
        started, counts, asked = time.perf_counter(), Usage(), self._asked
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
            if hold is not None:  # store the usage so far; the failed call used no tokens
                await self._note(item, sample, counts, 0, 0)
            raise type(error)(f"item {item.id!r}: {error}") from error
        except ModelError as error:
            reason = f"{error.fault}: {error}" if isinstance(error, TransientModelError) else str(error)
        except BudgetSpent:
            if counts.requests:  # store the usage of this answer's earlier calls; the last call was not sent
                await self._note(item, sample, counts, 0, 0)
            raise
        except OversightError:
            raise
        except Exception as error:  # noqa: BLE001  an error caused by a reply must only affect its item
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
        """Reserve the maximum usage of an answer's next call, in memory and in the store."""
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
        """Store the sum of an answer's usage so far and the maximum usage of its next call."""
        if self.reserve is not None:
            used = counts.requests + requests, counts.input_tokens + sent, counts.output_tokens + received
            await self.reserve(ReservedAnswer(self.run_id, item.id, sample, *used))

    def _counted(self, prediction: Prediction) -> Prediction:
        """Return the prediction; if it replaces a failed answer, that answer's usage is added."""
        before = self.before.get((prediction.item_id, prediction.sample))
        return prediction if before is None else add_usage(prediction, [before])


def make_jobs(
    wanted: RequestedItems,
    targets: Mapping[Target, Budget | None],
    terms: RunTerms,
    *,
    reserve: Callable[[ReservedAnswer], Awaitable[None]],
    served: dict[str, str],
) -> list[Job]:
    """Create one job per model.

    Parameters
    ----------
    targets
        Models, each with its budget; None means no limit.
    reserve
        Function that stores the maximum usage of an answer before each call for this answer. Used only if
        there is a budget.
    served
        Dictionary to which the model name in each run's first reply is added, by run id.
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
    """Return the key of a model's limiter: the endpoint, and the model's name or an empty text.

    The text is empty if `shared_limits` is set: all models of the endpoint with this setting share a limiter.
    """
    return settings.where, "" if settings.shared_limits else settings.model


def _make_limiters(
    settings: Sequence[ModelSection], patience: float, workers: int
) -> dict[tuple[str, str], Limiter]:
    """Create all limiters.

    A limiter that several models share has the largest concurrency and the lowest rates of their settings.
    """
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
