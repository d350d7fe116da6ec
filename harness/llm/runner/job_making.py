"""Jobs of what models are still to be asked, those of one endpoint within the same limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from oversight.harness.config import ModelSection
from oversight.harness.llm.limits import Budget, Limiter
from oversight.harness.llm.models import LimitedModel, make_model
from oversight.harness.llm.runner.jobs import Job
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
    together: bool = False,
    tell: Callable[[str], None] = say,
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
    together
        Whether other processes ask the same endpoints, and keep to the same rates.
    tell
        Told in words what a user should know.
    """
    limiters = _make_limiters(store, [q.target.settings for q in questions], patience, together=together)
    jobs = []
    for asked in questions:
        target, budget, settings = asked.target, asked.budget, asked.target.settings
        is_bounded = target.spec.max_tokens is not None or target.is_program
        if budget is not None and budget.counts_tokens and not is_bounded:
            tell(_UNBOUNDED.format(target.spec.name))
        model = LimitedModel(
            make_model(settings, target.function),
            limiters[_limits_of(settings)],
            settings.tries,
            make_served(store, target, served.__setitem__).recognise,
            is_billed=not target.is_program,
            name=target.spec.name,
        )
        before = store.runs.read_failed(target.spec.id)
        jobs.append(Job(target.spec, model, asked.todo, budget, reserve, before))
    return jobs


def _limits_of(settings: ModelSection) -> tuple[str, str]:
    """What a limiter is shared by: limits are mostly set per model."""
    return settings.where, "" if settings.shared_limits else settings.model


def _make_limiters(
    store: Store, settings: Sequence[ModelSection], patience: float, *, together: bool
) -> dict[tuple[str, str], Limiter]:
    """One per model of an endpoint; of shared ones the widest window and the lowest rates."""
    shared = defaultdict[tuple[str, str], list[ModelSection]](list)
    for one in settings:
        shared[_limits_of(one)].append(one)
    return {
        where: Limiter(
            max(m.concurrency for m in models),
            min((m.requests_per_minute for m in models if m.requests_per_minute), default=None),
            min((m.tokens_per_minute for m in models if m.tokens_per_minute), default=None),
            patience=patience,
            book=partial(store.paces.book, *where) if together else None,
        )
        for where, models in shared.items()
    }
