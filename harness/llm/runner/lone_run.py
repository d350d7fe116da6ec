"""Run models over items from one process, everything stored: progress, resume, budget, retry of failures.

Nobody else works on the same runs meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from oversight.harness.config import ModelSection
from oversight.harness.errors import OversightError, Stopped, WrongType
from oversight.harness.expected import check_records
from oversight.harness.llm.limits import Budget, PriceTable
from oversight.harness.llm.runner.batches import Batches
from oversight.harness.llm.runner.event_loop import collecting_rarely, run_in_loop
from oversight.harness.llm.runner.job_making import Questions, make_jobs
from oversight.harness.llm.runner.jobs import Job
from oversight.harness.llm.runner.lanes import StoredRow, run_jobs
from oversight.harness.llm.runner.progress_bar import Progress
from oversight.harness.llm.runner.prompt import DEFAULT_TEMPLATE, check_template
from oversight.harness.llm.runner.run_opening import (
    DEFAULT_PATIENCE,
    DEFAULT_TERMS,
    BudgetCaps,
    RunResult,
    RunTerms,
    open_runs,
)
from oversight.harness.llm.runner.targets import Target, Wanted, load_items, make_spec
from oversight.harness.store import ReservedAnswer, Store
from oversight.harness.types import Item, Prediction

_LOGGER = logging.getLogger(__name__)
_LINGER = 0.002  # seconds for which reservations gather, to be stored together


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
        The prompt, with the fields of `oversight.harness.llm.runner.prompt.render_prompt`; a system prompt,
        if any.
    budget_usd, budget_tokens, budget_requests, prices
        Hard limits for this run, counting what it cost before; dollars need prices, from
        `oversight.harness.llm.limits.prices.read_prices`.
    patience
        Seconds for which an endpoint that answers nothing is waited for; 0 records failures at once.
    **settings
        Fields of `oversight.harness.config.ModelSection`: endpoint, api_key_env, temperature, max_tokens,
        stop, samples, structured, logprobs, concurrency, requests_per_minute, tokens_per_minute, timeout,
        tries.

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
        At Ctrl-C (it is a KeyboardInterrupt), SIGTERM or SIGHUP, once what was under way has come.
    """
    check_records("items", items, Item)
    target = _make_target(model, check_template(template), system, settings)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        wanted = Wanted(repository, repository.content.add_items(items))
        limits = BudgetCaps(budget_usd, budget_tokens, budget_requests)
        terms = RunTerms(limits=limits, patience=patience)
        [outcome] = run_alone(wanted, [target], prices=prices or PriceTable(), terms=terms)
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


def run_alone(
    wanted: Wanted, targets: Sequence[Target], *, prices: PriceTable, terms: RunTerms = DEFAULT_TERMS
) -> list[RunResult]:
    """Ask every model about the stored items that are wanted, where there is no stored answer.

    Models that share an endpoint's limits are asked in turn; what stops one of them stops no other. Raises as
    `run` does, but what stopped one model after the first was asked is in its result.
    """
    with open_runs(wanted, targets, prices=prices, terms=terms) as opened:
        by_name = {t.spec.name: budget for t, budget in zip(opened.targets, opened.budgets, strict=True)}
        own = [by_name[target.spec.name] for target in opened.ready]
        asked, errors = _ask(wanted, opened.ready, own, terms=terms, check=opened.lock.check)
    done = zip(opened.ready, asked, errors, strict=True)
    return opened.report([RunResult(target=t, asked=n, error=error) for t, n, error in done])


def _ask(
    wanted: Wanted,
    targets: Sequence[Target],
    budgets: Sequence[Budget | None],
    *,
    terms: RunTerms,
    check: Callable[[], None],
) -> tuple[list[int], Sequence[OversightError | None]]:
    """Ask what is left of every target; return how many answers each lacked, and what stopped each.

    Parameters
    ----------
    budgets
        Of the targets; None of one without.
    check
        Raises if a run is another process's by now.
    """
    store, served = wanted.store, dict[str, str]()
    left = [sum(map(len, wanted.find_left(target))) for target in targets]
    if not any(left):
        return left, [None] * len(left)
    for target, number in zip(targets, left, strict=True):
        if number:
            _LOGGER.info("%s: %d answers are asked of %s", target.spec.name, number, target.settings.where)
            target.note_price(store)
    reservations = Batches[ReservedAnswer, None](store.reservations.reserve, linger=_LINGER)
    questions = [
        Questions(target=target, todo=load_items(store, wanted.find_left(target)), budget=budget)
        for target, budget in zip(targets, budgets, strict=True)
    ]
    jobs = make_jobs(
        store,
        questions,
        patience=terms.patience,
        reserve=reservations.put,
        served=served,
        workers=terms.workers,
        holds_lost=terms.uncertain == "hold",
    )
    is_reserved = any(budget is not None for budget in budgets)

    def write(rows: Sequence[StoredRow]) -> None:
        store.runs.store_predictions(rows, reserved=is_reserved)
        while served:
            store.runs.note_served_as(*served.popitem())
        check()

    return left, _ask_all(wanted, jobs, targets, left, write)


def _ask_all(
    wanted: Wanted,
    jobs: Sequence[Job],
    targets: Sequence[Target],
    left: Sequence[int],
    store: Callable[[Sequence[StoredRow]], None],
) -> Sequence[OversightError | None]:
    """Ask what is left of every target; what stopped each, if anything did."""
    total = sum(len(wanted.ids) * target.settings.samples for target in targets)
    with Progress.of(targets, total, total - sum(left)) as progress:

        def write(rows: Sequence[StoredRow]) -> None:
            store(rows)
            progress.wrote(rows)

        with collecting_rarely():
            end = run_in_loop(run_jobs(jobs, write))
    if end.signal is not None:
        raise Stopped(end.signal)
    return end.errors
