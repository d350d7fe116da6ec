"""Run models over items, everything stored: progress, resume, budget, retry of failures."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.config import ModelSection
from harness.llm.limits import Budget, Limiter, PriceTable
from harness.llm.models import LimitedModel, ServedModel, make_model
from harness.llm.runner.batches import Batches
from harness.llm.runner.event_loop import run_in_loop
from harness.llm.runner.jobs import Job, StoredRow, run_jobs
from harness.llm.runner.preparation import prepare
from harness.llm.runner.progress_bar import Progress
from harness.llm.runner.prompt import DEFAULT_TEMPLATE, check_template
from harness.llm.runner.targets import Target, Wanted, load_items, make_spec
from harness.output import say
from harness.store import ReservedAnswer, Store
from harness.types import Item, Prediction

DEFAULT_PATIENCE = 600.0
"""Seconds for which an endpoint that answers nothing is waited for, where nobody says otherwise."""
_LINGER = 0.002  # seconds for which reservations gather, to be stored together
_UNBOUNDED = (
    "{}: without max_tokens nothing bounds an answer, so the budget takes each to be a quarter longer than "
    "the longest seen; set max_tokens for a hard stop"
)


@dataclass(frozen=True, slots=True)
class BudgetCaps:
    """What may be spent by the runs asked for, counting what they have cost before; None has no limit.

    Attributes
    ----------
    usd, tokens, requests
        Dollars; tokens sent and received together; calls sent, also those that were refused.
    """

    usd: float | None = None
    tokens: int | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What became of a target: settled by `prepare`, and how many answers were asked for now."""

    target: Target
    asked: int


def run(
    model: str | Callable[[str], Any],
    items: Iterable[Item],
    *,
    store: str,
    template: str = DEFAULT_TEMPLATE,
    system: str = "",
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    budget_requests: int | None = None,
    patience: float = DEFAULT_PATIENCE,
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
    template, system
        The prompt, with the fields of `harness.llm.runner.prompt.render_prompt`; a system prompt, if any.
    budget_usd, budget_tokens, budget_requests, prices
        Hard limits for this run, counting what it cost before; dollars need prices, from
        `harness.llm.limits.prices.read_prices`.
    patience
        Seconds for which an endpoint that answers nothing is waited for; 0 records failures at once.
    **settings
        Fields of `harness.config.ModelSection`: endpoint, api_key_env, temperature, max_tokens, stop,
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
    if isinstance(model, str):
        function, section = None, ModelSection(model=model, **settings)
    else:
        function, name = model, getattr(model, "__qualname__", type(model).__qualname__)
        section = ModelSection(model=name, endpoint=f"python {function.__module__}:{name}", **settings)
    spec = make_spec(section.model, section, check_template(template), None, system)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        wanted = Wanted(repository, repository.content.add_items(items))
        target = Target(spec, section, function=function)
        limits = BudgetCaps(budget_usd, budget_tokens, budget_requests)
        [outcome] = run_targets(
            wanted, [target], prices=prices or PriceTable(), limits=limits, patience=patience
        )
        found, ids = repository.runs.read_predictions(outcome.target.spec.id), set(wanted.ids)
    return [prediction for prediction in found if prediction.item_id in ids]


def run_targets(
    wanted: Wanted,
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    limits: BudgetCaps = BudgetCaps(),
    patience: float = DEFAULT_PATIENCE,
) -> list[RunResult]:
    """Ask every model about the stored items that are wanted, where there is no stored answer.

    Models that share an endpoint's limits are asked in turn. Raises as `run` does.
    """
    store, targets = wanted.store, [target.priced(prices) for target in targets]
    budgets = _budgets(targets, limits)
    targets = prepare(wanted, targets)
    for target in targets:
        target.announce(store)
        target.refuse_waiting(store)
    left = [sum(map(len, wanted.find_left(target))) for target in targets]
    if any(left):
        total = sum(len(wanted.ids) * target.settings.samples for target in targets)
        what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
        by_run = {target.spec.id: target.price for target in targets}
        with Progress(total, total - sum(left), what, by_run) as progress:

            def write(rows: Sequence[StoredRow]) -> None:
                store.runs.store_predictions(rows, reserved=limits != BudgetCaps())
                progress.wrote(rows)

            jobs = _jobs(wanted, targets, budgets, patience)
            gc.freeze()  # or the collector looks through all that was imported: a fifth of a fast run
            try:
                run_in_loop(run_jobs(jobs, write))
            finally:
                gc.unfreeze()
    return [RunResult(target=target, asked=asked) for target, asked in zip(targets, left, strict=True)]


def _budgets(targets: Sequence[Target], limits: BudgetCaps) -> list[Budget | None]:
    """One budget for all; refused here, before anything is sent, if a price is unknown."""
    if limits == BudgetCaps():
        return [None] * len(targets)
    budget = Budget(limits.usd, limits.tokens, targets[0].price, requests=limits.requests)
    return [budget.at(target.price) for target in targets]


def _jobs(
    wanted: Wanted, targets: Sequence[Target], budgets: Sequence[Budget | None], patience: float
) -> list[Job]:
    store, limiters = wanted.store, _limiters(targets, patience)
    reservations = Batches[ReservedAnswer, None](store.reservations.reserve, linger=_LINGER)
    jobs = []
    for target, budget in zip(targets, budgets, strict=True):
        settings = target.settings
        _charge_left(store, target)
        if budget is not None:
            budget.charge_before(store.runs.sum_usage(target.spec.id))
            if budget.counts_tokens and target.spec.max_tokens is None and not target.is_program:
                say(_UNBOUNDED.format(target.spec.name))
        model = LimitedModel(
            make_model(settings, target.function),
            limiters[_limits_of(settings)],
            settings.tries,
            ServedModel(settings.model, settings.answers_as, say),
            is_billed=not target.is_program,
        )
        todo = load_items(store, wanted.find_left(target))
        before = store.runs.read_failed(target.spec.id) if wanted.retry_failed else {}
        jobs.append(Job(target.spec, model, todo, budget, reservations.put, before))
    return jobs


def _charge_left(store: Store, target: Target) -> None:
    """Charge what a command that was killed had under way, and say so."""
    left = store.reservations.charge_left(target.spec.id)
    if left.answers:
        say(
            f"{target.spec.name}: {left.answers} answers were under way when an earlier command ended; they "
            f"are charged with all they may have used, {left.input_tokens:,} + {left.output_tokens:,} tokens"
        )


def _limits_of(settings: ModelSection) -> tuple[str, str]:
    """What a limiter is shared by: limits are mostly set per model."""
    return settings.where, "" if settings.shared_limits else settings.model


def _limiters(targets: Sequence[Target], patience: float) -> dict[tuple[str, str], Limiter]:
    """One per model of an endpoint; of shared ones the widest window and the lowest rates."""
    shared = defaultdict[tuple[str, str], list[ModelSection]](list)
    for target in targets:
        shared[_limits_of(target.settings)].append(target.settings)
    return {
        where: Limiter(
            max(m.concurrency for m in models),
            min((m.requests_per_minute for m in models if m.requests_per_minute), default=None),
            min((m.tokens_per_minute for m in models if m.tokens_per_minute), default=None),
            patience=patience,
        )
        for where, models in shared.items()
    }
