"""Run models over stored items, everything stored: progress, resume, budget, retry of failures."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.config import ModelSection
from harness.errors import BadInput
from harness.llm.limits import Budget, LimitedModel, Limiter, PriceTable
from harness.llm.models import ServedModel, make_model
from harness.llm.runner.job import Job
from harness.llm.runner.preparation import prepare
from harness.llm.runner.progress_bar import Progress
from harness.llm.runner.targets import Target, announce, load_items, price_target, tell
from harness.llm.runner.workers import StoredRow, run_jobs
from harness.store import UNDER_WAY, Store


@dataclass(frozen=True, slots=True)
class BudgetCaps:
    """What may be spent by the runs asked for, counting what they have cost before; None has no limit."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What became of a target: settled by `prepare`, and how many answers were asked for now."""

    target: Target
    asked: int


def run_targets(
    store: Store,
    ids: Sequence[str],
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    limits: BudgetCaps = BudgetCaps(),
    retry_failed: bool = False,
) -> list[RunResult]:
    """Ask every model about the stored items of these ids, where there is no stored answer.

    Models behind one endpoint share its limits in turn. Raises as `run` does.
    """
    targets = [price_target(target, prices) for target in targets]
    budgets = _budgets(targets, limits)
    targets = prepare(store, targets, ids, retry_failed=retry_failed)
    for target in targets:
        announce(store, target)
        _refuse_waiting(store, target)
    left = [sum(map(len, target.find_left(store, ids, retry_failed=retry_failed))) for target in targets]
    if any(left):
        total = sum(len(ids) * target.settings.samples for target in targets)
        what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
        by_run = {target.spec.id: target.price for target in targets}
        with Progress(total, total - sum(left), what, by_run) as progress:

            def write(rows: Sequence[StoredRow]) -> None:
                store.runs.store_predictions(rows)
                progress.wrote(rows)

            jobs = _jobs(store, targets, ids, budgets, retry_failed=retry_failed)
            gc.freeze()  # or the collector looks through all that was imported: a fifth of a fast run
            try:
                asyncio.run(_run(jobs, write))
            finally:
                gc.unfreeze()
    return [RunResult(target=target, asked=asked) for target, asked in zip(targets, left, strict=True)]


def _budgets(targets: Sequence[Target], limits: BudgetCaps) -> list[Budget | None]:
    """One budget for all; refused here, before anything is sent, if a price is unknown."""
    if limits == BudgetCaps():
        return [None] * len(targets)
    budget = Budget(limits.usd, limits.tokens, targets[0].price)
    return [budget.at(target.price) for target in targets]


def _jobs(
    store: Store,
    targets: Sequence[Target],
    ids: Sequence[str],
    budgets: Sequence[Budget | None],
    *,
    retry_failed: bool,
) -> list[Job]:
    limiters = _limiters(targets)
    jobs = []
    for target, budget in zip(targets, budgets, strict=True):
        settings = target.settings
        if budget is not None:
            budget.charge_before(store.runs.sum_usage(target.spec.id))
        model = LimitedModel(
            make_model(settings, target.function),
            limiters[settings.where],
            settings.tries,
            ServedModel(settings.model, settings.answers_as, tell),
        )
        todo = load_items(store, target.find_left(store, ids, retry_failed=retry_failed))
        jobs.append(Job(target.spec, model, todo, budget))
    return jobs


def _limiters(targets: Sequence[Target]) -> dict[str, Limiter]:
    """One per endpoint: the widest of its models' windows, the lowest of their rates."""
    shared: dict[str, list[ModelSection]] = {}
    for target in targets:
        shared.setdefault(target.settings.where, []).append(target.settings)
    return {
        where: Limiter(
            max(m.concurrency for m in models),
            min((m.requests_per_minute for m in models if m.requests_per_minute), default=None),
            min((m.tokens_per_minute for m in models if m.tokens_per_minute), default=None),
        )
        for where, models in shared.items()
    }


async def _run(jobs: Sequence[Job], write: Callable[[Sequence[StoredRow]], None]) -> None:
    try:
        await run_jobs(jobs, write)
    finally:
        for job in jobs:
            await job.model.close()


def _refuse_waiting(store: Store, target: Target) -> None:
    """Raise BadInput if a batch of this run is under way: its items would be paid for twice."""
    waiting = store.endpoints.read_batches(target.spec.id, UNDER_WAY)
    if waiting:
        n = sum(len(batch.requests) for batch in waiting)
        raise BadInput(
            f"{target.spec.name}: {n} items are in a batch that is under way; collect it with --batch, or "
            "give it up with --batch cancel"
        )
