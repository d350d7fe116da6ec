"""Run models over items, everything stored: progress, resume, budget, retry of failures."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.config import ModelSection, api_key
from harness.errors import OversightError, Stopped, WrongType
from harness.expected import check_records
from harness.llm.limits import Budget, Limiter, PriceTable
from harness.llm.models import LimitedModel, make_model
from harness.llm.runner.batches import Batches
from harness.llm.runner.event_loop import run_in_loop
from harness.llm.runner.jobs import Job
from harness.llm.runner.preparation import Prepared, prepare
from harness.llm.runner.progress_bar import Progress
from harness.llm.runner.prompt import DEFAULT_TEMPLATE, check_template
from harness.llm.runner.targets import Target, Wanted, hold_runs, load_items, make_served, make_spec
from harness.llm.runner.workers import StoredRow, run_jobs
from harness.output import say
from harness.store import Charge, ReservedAnswer, Store
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
    """A target as `prepare` settled it, how many answers it lacked, and what stopped it, if anything did."""

    target: Target
    asked: int
    error: OversightError | None = None


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
        If the endpoint cannot be reached, refuses the key, or refuses 20 items in a row.
    BudgetSpent
        If a limit is reached; what was answered is stored.
    RunHeld
        If another process asks the same model the same.
    Stopped
        At Ctrl-C (it is a KeyboardInterrupt) or SIGTERM, once what was under way has come.
    """
    check_records("items", items, Item)
    target = _make_target(model, check_template(template), system, settings)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        wanted = Wanted(repository, repository.content.add_items(items))
        limits = BudgetCaps(budget_usd, budget_tokens, budget_requests)
        [outcome] = run_targets(
            wanted, [target], prices=prices or PriceTable(), limits=limits, patience=patience
        )
        if outcome.error is not None:
            raise outcome.error
        found, ids = repository.runs.read_predictions(outcome.target.spec.id), set(wanted.ids)
    return [prediction for prediction in found if prediction.item_id in ids]


def _make_target(
    model: str | Callable[[str], Any], template: str, system: str, settings: dict[str, Any]
) -> Target:
    if isinstance(model, str):
        function, section = None, ModelSection(model=model, **settings)
    elif not callable(model):
        raise WrongType("model", "a model's name or a callable from prompt to answer", model)
    else:
        function, name = model, getattr(model, "__qualname__", type(model).__qualname__)
        section = ModelSection(model=name, endpoint=f"python {function.__module__}:{name}", **settings)
    return Target(make_spec(section.model, section, template, None, system), section, function=function)


def run_targets(
    wanted: Wanted,
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    limits: BudgetCaps = BudgetCaps(),
    patience: float = DEFAULT_PATIENCE,
    wait: bool = False,
) -> list[RunResult]:
    """Ask every model about the stored items that are wanted, where there is no stored answer.

    Models that share an endpoint's limits are asked in turn; what stops one of them stops no other. `wait` is
    for other processes that work on the same runs. Raises as `run` does, but what stopped one model after
    the first was asked is in its result.
    """
    store, targets = wanted.store, [target.priced(prices) for target in targets]
    budgets = _budgets(targets, limits)  # which refuses unknown prices before anything is sent
    _refuse_without_keys(targets)
    with hold_runs(store, targets, wait=wait) as lock:
        prepared = prepare(wanted, targets, budgets)
        ready = [one.target for one in prepared if one.error is None]
        for target in ready:
            target.announce(wanted)
            target.refuse_waiting(store)
        left = [sum(map(len, wanted.find_left(target))) for target in ready]
        errors: Sequence[OversightError | None] = [None] * len(ready)
        served: dict[str, str] = {}

        def write(rows: Sequence[StoredRow]) -> None:
            store.runs.store_predictions(rows, reserved=limits != BudgetCaps())
            while served:
                store.runs.note_served_as(*served.popitem())
            lock.check()

        by_name = {target.spec.name: budget for target, budget in zip(targets, budgets, strict=True)}
        own = [by_name[target.spec.name] for target in ready]
        jobs = _jobs(wanted, ready, own, patience, served) if any(left) else []
        _charge_looks(store, prepared)  # only now, as the budgets have counted them
        if jobs:
            errors = _ask_all(wanted, jobs, ready, left, write)
    done = zip(ready, left, errors, strict=True)
    results = {t.spec.name: RunResult(target=t, asked=n, error=error) for t, n, error in done}
    for one in prepared:
        name = one.target.spec.name
        results.setdefault(name, RunResult(target=one.target, asked=0, error=one.error))
    return [results[one.target.spec.name] for one in prepared]


def _ask_all(
    wanted: Wanted,
    jobs: Sequence[Job],
    targets: Sequence[Target],
    left: Sequence[int],
    store: Callable[[Sequence[StoredRow]], None],
) -> Sequence[OversightError | None]:
    """Ask what is left of every target; what stopped each, if anything did."""
    total = sum(len(wanted.ids) * target.settings.samples for target in targets)
    what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
    by_run = {target.spec.id: target.price for target in targets}
    with Progress(total, total - sum(left), what, by_run) as progress:

        def write(rows: Sequence[StoredRow]) -> None:
            store(rows)
            progress.wrote(rows)

        with _collecting_rarely():
            end = run_in_loop(run_jobs(jobs, write))
    if end.signal is not None:
        raise Stopped(end.signal)
    return end.errors


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Keep the collector from looking through all that was imported, and often: a quarter of a fast run."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _refuse_without_keys(targets: Sequence[Target]) -> None:
    """Raise ConfigError, before anything is written, if a model has no key."""
    for target in targets:
        # an endpoint that is no URL is refused for that, later
        if not target.is_program and target.settings.endpoint.startswith("http"):
            api_key(target.settings)


def _budgets(targets: Sequence[Target], limits: BudgetCaps) -> list[Budget | None]:
    """One budget for all; refused here, before anything is sent, if a price is unknown."""
    if limits == BudgetCaps():
        return [None] * len(targets)
    budget = Budget(limits.usd, limits.tokens, targets[0].price, requests=limits.requests)
    return [budget.at(target.price) for target in targets]


def _jobs(
    wanted: Wanted,
    targets: Sequence[Target],
    budgets: Sequence[Budget | None],
    patience: float,
    served: dict[str, str],
) -> list[Job]:
    """A job for every target; the names in their first replies come into `served`, by id of the run."""
    store, limiters = wanted.store, _limiters(targets, patience)
    reservations = Batches[ReservedAnswer, None](store.reservations.reserve, linger=_LINGER)
    jobs = []
    for target, budget in zip(targets, budgets, strict=True):
        settings = target.settings
        is_bounded = target.spec.max_tokens is not None or target.is_program
        if budget is not None and budget.counts_tokens and not is_bounded:
            say(_UNBOUNDED.format(target.spec.name))
        model = LimitedModel(
            make_model(settings, target.function),
            limiters[_limits_of(settings)],
            settings.tries,
            make_served(store, target, served.__setitem__).recognise,
            is_billed=not target.is_program,
        )
        todo = load_items(store, wanted.find_left(target))
        before = store.runs.read_failed(target.spec.id)
        jobs.append(Job(target.spec, model, todo, budget, reservations.put, before))
    return jobs


def _charge_looks(store: Store, prepared: Sequence[Prepared]) -> None:
    """Charge the runs with what trying the features of their models took, for this command and later ones."""
    for one in prepared:
        if one.error is None and one.used.attempts:
            used = Charge(0, one.used.attempts, one.used.input_tokens, one.used.output_tokens)
            store.reservations.charge(one.target.spec.id, used)


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
