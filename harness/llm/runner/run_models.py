"""Run models over items with everything stored: progress, resume, budget, retry of failures."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.config import ModelSection, RunSpec
from harness.errors import BadInput
from harness.llm.answers import DEFAULT_TEMPLATE, check_template
from harness.llm.limits import Budget, Limiter, PriceTable
from harness.llm.models import ServedModel, make_model
from harness.llm.runner.job import Job
from harness.llm.runner.preparation import Target, prepare, price_target
from harness.llm.runner.progress_bar import Progress, tell
from harness.llm.runner.workers import run_jobs
from harness.store import UNDER_WAY, Store
from harness.types import Item, Prediction


@dataclass(frozen=True, slots=True)
class BudgetCaps:
    """What may be spent by the runs asked for, counting what they have cost before; None has no limit."""

    usd: float | None = None
    tokens: int | None = None


def run(
    model: str | Callable[[str], Any],
    items: Iterable[Item],
    *,
    store: str,
    template: str = DEFAULT_TEMPLATE,
    system: str = "",
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    prices: PriceTable | None = None,
    **settings: Any,
) -> list[Prediction]:
    """Ask a model about every item and return its predictions.

    Parameters
    ----------
    model
        The model's name as its endpoint knows it, or a callable from prompt to answer; its name and
        module then name the run, so change the name when it answers differently.
    items
        What to ask about; drawn once, portion by portion.
    store
        SQLite file or SQLAlchemy URL; answers that are there already are not paid for again.
    template
        Prompt template; see `harness.llm.answers.prompt.render_prompt` for its fields.
    system
        System prompt; none if empty.
    budget_usd, budget_tokens
        Hard limits for this run, counting what it cost before; dollars need a price in `prices`.
    prices
        From `harness.llm.limits.budget.read_prices`.
    **settings
        Fields of `harness.config.study.ModelSection`: endpoint, api_key_env, temperature, max_tokens, stop,
        samples, structured, logprobs, concurrency, requests_per_minute, tokens_per_minute, timeout, tries.

    Raises
    ------
    ConfigError
        If the key or the local server is missing, or the template cannot be filled in.
    DataError
        If an item id is there twice.
    FatalModelError
        If the endpoint cannot be reached or refuses in a way that no repetition mends.
    BudgetSpent
        If a limit is reached; what was answered is stored.
    """
    function = None if isinstance(model, str) else model
    if function is not None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        section = ModelSection(model=name, endpoint=f"python {function.__module__}:{name}", **settings)
    else:
        section = ModelSection(model=str(model), **settings)
    spec = make_spec(section.model, section, check_template(template), None, system)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        ids = repository.content.add_items(items)
        [outcome] = run_targets(
            repository,
            ids,
            [Target(spec, section, function=function)],
            prices=prices or PriceTable(),
            limits=BudgetCaps(budget_usd, budget_tokens),
        )
        wanted = set(ids)
        return [p for p in repository.runs.read_predictions(outcome.target.spec.id) if p.item_id in wanted]


def make_spec(
    name: str, settings: ModelSection, template: str, max_words: int | None, system: str = ""
) -> RunSpec:
    """Collect all that decides a model's answers; what the endpoint offers is settled by `prepare`."""
    return RunSpec(
        name=name,
        model=settings.model,
        endpoint=settings.where,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        stop=tuple(settings.stop),
        template=template,
        max_words=max_words,
        system=system,
        extra=settings.extra,
    )


@dataclass(frozen=True, slots=True)
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
    budget = _budget(targets, limits)
    targets = prepare(store, targets, ids, retry_failed=retry_failed)
    for target in targets:
        announce(store, target)
        _refuse_waiting(store, target)
    left = [sum(len(p) for p in _left(store, target, ids, retry_failed=retry_failed)) for target in targets]
    if not any(left):
        return [RunResult(target, 0) for target in targets]
    total = sum(len(ids) * target.settings.samples for target in targets)
    what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
    by_run = {target.spec.id: target.price for target in targets}
    with Progress(total, total - sum(left), what, by_run) as progress:

        def write(rows: Sequence[tuple[str, Prediction]]) -> None:
            store.runs.store_predictions(rows)
            progress.wrote(rows)

        with _settled_heap():
            asyncio.run(_run(store, targets, ids, budget, write, retry_failed=retry_failed))
    return [RunResult(target, asked) for target, asked in zip(targets, left, strict=True)]


async def _run(
    store: Store,
    targets: Sequence[Target],
    ids: Sequence[str],
    budget: Budget | None,
    write: Callable[[Sequence[tuple[str, Prediction]]], None],
    *,
    retry_failed: bool,
) -> None:
    limiters = _limiters(targets)
    models = [make_model(target.settings, target.function) for target in targets]
    jobs = []
    for target, model in zip(targets, models, strict=True):
        settings = target.settings
        own = None
        if budget is not None:
            own = budget.at(target.price)
            own.charge_before(store.runs.sum_usage(target.spec.id))
        todo = _items(store, _left(store, target, ids, retry_failed=retry_failed))
        accepts = ServedModel(settings.model, settings.answers_as, tell)
        jobs.append(Job(target.spec, model, limiters[settings.where], todo, own, settings.tries, accepts))
    try:
        await run_jobs(jobs, write)
    finally:
        for model in models:
            await model.close()


@contextmanager
def _settled_heap() -> Iterator[None]:
    """Spare the collector looking through all that was imported, which takes a fifth of a fast run."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _left(
    store: Store, target: Target, ids: Sequence[str], *, retry_failed: bool
) -> Iterator[list[tuple[str, int]]]:
    return store.runs.find_unasked(target.spec.id, ids, target.settings.samples, retry_failed=retry_failed)


def _items(store: Store, portions: Iterator[list[tuple[str, int]]]) -> Iterator[tuple[Item, int]]:
    for portion in portions:
        items = store.content.find_items({item_id for item_id, _ in portion})
        for item_id, sample in portion:
            yield items[item_id], sample


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


def _budget(targets: Sequence[Target], limits: BudgetCaps) -> Budget | None:
    """One budget for all; refused here, before anything is sent, if a price is unknown."""
    if limits.usd is None and limits.tokens is None:
        return None
    budgets = [Budget(limits.usd, limits.tokens, target.price) for target in targets]
    return budgets[0]


def announce(store: Store, target: Target) -> None:
    """Note the run, and say what a changed one has otherwise than the one before."""
    spec = target.spec
    runs = store.runs.read_runs()
    if spec.id in {run["id"] for run in runs}:
        return
    before = [run for run in runs if run["name"] == spec.name]
    if before:
        changed = "; ".join(spec.differences(before[-1]["spec"]))
        tell(f"{spec.name}: a new run, since {changed}; the answers of run {before[-1]['id']} are kept")
    store.runs.add_run(spec)


def _refuse_waiting(store: Store, target: Target) -> None:
    """Raise BadInput if a batch of this run is under way: its items would be paid for twice."""
    waiting = store.endpoints.read_batches(target.spec.id, UNDER_WAY)
    if waiting:
        n = sum(len(batch.requests) for batch in waiting)
        raise BadInput(
            f"{target.spec.name}: {n} items are in a batch that is under way; collect it with --batch, or "
            "give it up with --batch cancel"
        )
