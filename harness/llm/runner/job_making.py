"""Jobs of what models are still to be asked, those of one endpoint within the same limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from oversight.harness.config import ModelSection
from oversight.harness.llm.limits import Budget, Limiter
from oversight.harness.llm.models import LimitedModel
from oversight.harness.llm.runner.jobs import Job
from oversight.harness.llm.runner.run_opening import THIS_PROCESS, Workers
from oversight.harness.llm.runner.targets import Target, make_served
from oversight.harness.output import say
from oversight.harness.store import ReservedAnswer, Store
from oversight.harness.types import Item

_UNBOUNDED = (
    "{}: without max_tokens nothing bounds an answer, so the budget takes each to be a quarter longer than "
    "the longest seen; set max_tokens for a hard stop"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What a model is still to be asked, and within which budget, see `Job`."""

    target: Target
    todo: Iterator[tuple[Item, int]]
    budget: Budget | None


def make_jobs(
    store: Store,
    questions: Sequence[Questions],
    *,
    patience: float,
    reserve: Callable[[ReservedAnswer], Awaitable[None]],
    served: dict[str, str],
    workers: Workers = THIS_PROCESS,
    holds_lost: bool = False,
) -> list[Job]:
    """Make a job for every model.

    Parameters
    ----------
    patience
        Seconds for which an endpoint that answers nothing is waited for.
    reserve
        Stores what an answer may have used, before each of its calls under a budget goes out.
    served
        The names in the models' first replies come here, by id of the run.
    workers
        The processes that make the calls.
    holds_lost
        Whether a call that was lost with its worker is never made again.
    """
    limiters = _make_limiters([q.target.settings for q in questions], patience, workers.number)
    jobs = []
    for asked in questions:
        target, budget, settings = asked.target, asked.budget, asked.target.settings
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
            holds_lost=holds_lost,
        )
        before = store.runs.read_failed(target.spec.id)
        jobs.append(Job(target.spec, model, asked.todo, budget, reserve, before))
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
