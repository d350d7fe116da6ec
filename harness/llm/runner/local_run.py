"""Run models over items from one process, and store the answers; a repeated call continues the runs.

Locks prevent other processes from working on the same runs meanwhile.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

from oversight.harness.argument_checks import check_records
from oversight.harness.config import ModelSection
from oversight.harness.errors import Fault, FullDisk, OtherModelFirst, Stopped, WrongType
from oversight.harness.llm.limits.budget import Budget, Price, PriceTable
from oversight.harness.llm.models.interface import ModelFunction
from oversight.harness.llm.runner.batches import Batches
from oversight.harness.llm.runner.event_loop import collecting_rarely, run_in_loop
from oversight.harness.llm.runner.jobs import make_jobs
from oversight.harness.llm.runner.preparation import prepare
from oversight.harness.llm.runner.prompt import DEFAULT_TEMPLATE, check_template
from oversight.harness.llm.runner.targets import (
    RequestedItems,
    Target,
    hold_runs,
    make_spec,
    refuse_without_keys,
)
from oversight.harness.llm.runner.terms import DEFAULT_PATIENCE, DEFAULT_TERMS, RunResult, RunTerms
from oversight.harness.llm.runner.worker_pool import StoredRow, run_jobs
from oversight.harness.output import make_printable
from oversight.harness.store import ReservedAnswer, Store
from oversight.harness.types import Item, Prediction, PredictionStatus


class Progress(AbstractContextManager["Progress"]):
    """A progress bar on standard error, or a line every 10 seconds if standard error is not a terminal.

    Parameters
    ----------
    total, done
        Number of requested answers, and number of requested answers that are already stored.
    what
        Text before the bar.
    prices
        Prices by run id (None: unknown).
    """

    def __init__(self, total: int, done: int, what: str, prices: Mapping[str, Price | None]) -> None:
        from tqdm import tqdm

        self._prices = prices
        self._total, self._left = total, total - done
        self._usd, self._asked = 0.0, 0
        self.by_kind: Counter[str] = Counter()
        self._bar: tqdm[Any] = tqdm(
            total=total,
            initial=done,
            desc=what,
            unit="item",
            mininterval=0.5 if sys.stderr.isatty() else 10.0,
            file=sys.stderr,
            # Read the variable here, because tqdm reads it only when it is imported.
            disable=bool(os.environ.get("TQDM_DISABLE")),
        )

    @classmethod
    def of(cls, targets: Sequence[Target], total: int, done: int) -> Self:
        """Create the progress bar of one or several models."""
        what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
        return cls(total, done, what, {target.spec.id: target.price for target in targets})

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the bar; if the disk is full, add the number of stored answers to the error's message."""
        self._bar.close()
        if isinstance(error, FullDisk):
            stored = self._total - self._left + self._asked
            raise FullDisk(f"{error}; {stored:,} of {self._total:,} answers are stored") from error

    def wrote(self, rows: Sequence[StoredRow]) -> None:
        """Advance the bar by answers that were stored."""
        for run_id, prediction in rows:
            price = self._prices[run_id]
            if price is not None:
                self._usd += price.dollars(prediction.input_tokens, prediction.output_tokens)
            if prediction.status is not PredictionStatus.OK:
                self.by_kind[prediction.kind] += 1
        self._asked += len(rows)
        self._bar.set_postfix_str(self._postfix(), refresh=False)
        self._bar.update(len(rows))

    def _postfix(self) -> str:
        parts = []
        if self._usd:
            expected = self._usd * self._left / self._asked
            parts.append(f"${self._usd:.4g} of ~${expected:.4g}")
        elif None in self._prices.values():
            parts.append("price unknown")
        parts += [f"{count} {kind}" for kind, count in self.by_kind.most_common(3)]
        return make_printable(", ".join(parts))


_LOGGER = logging.getLogger(__name__)
_LINGER = 0.002  # seconds during which reservations are collected and then stored together


def run(
    model: str | ModelFunction,
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
        The model's name at its endpoint, or a function from a prompt to an answer. The run is identified by
        the function's module and name, so rename a function whose answers change.
    items
        Items to ask about; the iterable is read once, in batches.
    store
        Path of an SQLite file, or SQLAlchemy URL. Stored answers are reused.
    template, system
        The prompt template, with the fields of `oversight.harness.llm.runner.prompt.render_prompt`, and the
        system prompt (empty for none).
    budget_usd, budget_tokens, budget_requests, prices
        Hard limits on the run's usage, including the usage of earlier calls of `run`. A limit in dollars
        needs `prices`, see `oversight.harness.llm.limits.budget.read_prices`.
    patience
        Seconds to wait for an endpoint that does not answer; 0 does not wait.
    **settings
        Fields of `oversight.harness.config.ModelSection`: endpoint, api_key_env, temperature, max_tokens,
        stop, samples, structured, logprobs, concurrency, requests_per_minute, tokens_per_minute, timeout,
        tries.

    Raises
    ------
    ConfigError
        If the API key or the local server is missing, or the template is invalid.
    DataError
        If an item id occurs twice.
    FatalModelError
        If the endpoint cannot be reached or refuses the key, or if 20 consecutive items fail.
    BudgetSpent
        If a limit is reached; all answers so far are stored.
    RunHeld
        If another process runs the same model with the same settings.
    Stopped
        At Ctrl-C (`Stopped` is a KeyboardInterrupt), SIGTERM or SIGHUP, after unfinished calls have finished.

    Examples
    --------
    >>> import oversight as ov
    >>> items = ov.read_items("data/questions.jsonl")[:2]
    >>> predictions = ov.run(lambda prompt: "### A", items, store="sqlite://")
    >>> [str(p.status) for p in predictions]
    ['ok', 'ok']
    """
    check_records("items", items, Item)
    target = _make_target(model, check_template(template), system, settings)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        wanted = RequestedItems(repository, repository.content.add_items(items))
        terms = RunTerms(
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            budget_requests=budget_requests,
            patience=patience,
        )
        [outcome] = run_alone(wanted, [target], prices=prices or PriceTable(), terms=terms)
        if outcome.error is not None:
            raise outcome.error
        found, ids = repository.runs.read_predictions(outcome.target.spec.id), set(wanted.ids)
    return [prediction for prediction in found if prediction.item_id in ids]


def _make_target(model: str | ModelFunction, template: str, system: str, settings: dict[str, Any]) -> Target:
    if isinstance(model, str):
        function, section = None, ModelSection(model=model, **settings)
    elif not callable(model):
        raise WrongType("model", "a model's name or a callable from prompt to answer", model)
    else:
        function, name = model, getattr(model, "__qualname__", type(model).__qualname__)
        section = ModelSection(model=name, endpoint=f"python {function.__module__}:{name}", **settings)
    return Target(make_spec(section.model, section, template, None, system), section, function=function)


def run_alone(
    wanted: RequestedItems, targets: Sequence[Target], *, prices: PriceTable, terms: RunTerms = DEFAULT_TERMS
) -> list[RunResult]:
    """Ask every model about the items in `wanted` that have no stored answer.

    An error of one model's endpoint or calls is part of that model's result and does not stop the other
    models. If no model can be called, or a setting is wrong, the error is raised before the first call.
    """
    store, targets = wanted.store, [target.priced(prices) for target in targets]
    budgets = _make_budgets(targets, terms)  # unknown prices are an error before anything is sent
    refuse_without_keys(targets)
    with hold_runs(store, targets, wait=terms.wait, take_over=terms.take_over) as lock:
        prepared = prepare(
            wanted, targets, budgets, uncertain=terms.uncertain, make_model=terms.workers.make_model
        )
        ready = {
            one.target: budget for one, budget in zip(prepared, budgets, strict=True) if one.error is None
        }
        for target in ready:
            target.announce(wanted)
            target.refuse_waiting(store)
        for one in prepared:
            if one.error is None and one.used.requests:  # the budgets have already counted these test calls
                store.calls.charge(one.target.spec.id, one.used)
        done = _ask(wanted, ready, terms, lock.check)
    return [
        done.get(one.target) or RunResult(target=one.target, asked=0, error=one.error) for one in prepared
    ]


def _make_budgets(targets: Sequence[Target], terms: RunTerms) -> list[Budget | None]:
    """Return one budget per target, all with shared limits; None for every target if there are no limits.

    If `terms.uncertain` is ``"hold"``, budgets are created even without limits, because they store
    reservations.
    """
    usd, tokens, requests = terms.budget
    if terms.budget == (None, None, None) and terms.uncertain == "retry":
        return [None] * len(targets)
    budget = Budget(usd, tokens, targets[0].price, requests=requests)
    return [budget.at(target.price) for target in targets]


def _ask(
    wanted: RequestedItems,
    targets: Mapping[Target, Budget | None],
    terms: RunTerms,
    check: Callable[[], None],
) -> dict[Target, RunResult]:
    """Run the remaining items of all targets; `check` raises an error if another process took over a run."""
    store, served = wanted.store, dict[str, str]()
    left = {target: sum(map(len, wanted.find_left(target))) for target in targets}
    if not any(left.values()):
        return {target: RunResult(target=target, asked=0) for target in targets}
    for target, number in left.items():
        if number:
            _LOGGER.info("%s: requesting %d answers from %s", target.spec.name, number, target.settings.where)
            target.record_price(store)
    reservations = Batches[ReservedAnswer, None](store.calls.reserve, linger=_LINGER)
    jobs = make_jobs(wanted, targets, terms, reserve=reservations.add_request, served=served)
    is_reserved = any(budget is not None for budget in targets.values())
    total = sum(len(wanted.ids) * target.settings.samples for target in targets)
    asked = Counter[str]()
    with Progress.of(list(targets), total, total - sum(left.values())) as progress:

        def write(rows: Sequence[StoredRow]) -> None:
            store.runs.store_predictions(rows, reserved=is_reserved)
            asked.update(run for run, _ in rows)
            while served:
                store.runs.note_served_as(*served.popitem())
            check()
            progress.wrote(rows)

        with collecting_rarely():
            errors, signal = run_in_loop(run_jobs(jobs, write))
    for target, error in zip(left, errors, strict=True):
        if isinstance(error, OtherModelFirst):
            # Mark the answers as refused, so that the next run repeats them even without `retry_failed`.
            store.runs.forget_served_as(target.spec.id, f"{Fault.REFUSED}: {error}")
    if signal is not None:
        raise Stopped(signal)
    return {
        target: RunResult(target=target, asked=asked[target.spec.id], error=error)
        for target, error in zip(left, errors, strict=True)
    }
