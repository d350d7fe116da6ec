"""On which terms models are asked, and how every run begins: prices, keys, locks, a look at endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from oversight.harness.config import ModelSection
from oversight.harness.errors import OversightError
from oversight.harness.llm.limits import Budget, PriceTable
from oversight.harness.llm.models import RunnableModel, make_model
from oversight.harness.llm.runner.preparation import Prepared, prepare
from oversight.harness.llm.runner.targets import Target, Wanted, hold_runs, refuse_without_keys
from oversight.harness.store import Charge, HeldLocks, Store, Uncertain

DEFAULT_PATIENCE = 600.0
"""Seconds for which an endpoint that answers nothing is waited for, where nobody says otherwise."""


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


class Workers(Protocol):
    """Processes that make calls, see `THIS_PROCESS` and `oversight.harness.cluster.RayWorkers`."""

    @property
    def number(self) -> int:
        """Number of processes; each makes as many calls at once as a model's `concurrency` says."""

    def make_model(
        self, settings: ModelSection, function: Callable[[str], Any] | None = None
    ) -> RunnableModel:
        """Make the model that settings describe, or one of `function`, as these processes call it."""


class _ThisProcess:
    """One process, this one."""

    number = 1
    make_model = staticmethod(make_model)


THIS_PROCESS: Workers = _ThisProcess()
"""Makes its calls itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """How models are asked.

    Attributes
    ----------
    limits
        What may be spent.
    patience
        Seconds for which an endpoint that answers nothing is waited for.
    wait
        Whether to wait for another process that works on the same runs.
    take_over
        Whether the user says that processes on other machines which hold the runs have ended.
    uncertain
        What becomes of answers that were under way when a process ended without a word.
    workers
        The processes that make the calls.
    """

    limits: BudgetCaps = BudgetCaps()
    patience: float = DEFAULT_PATIENCE
    wait: bool = False
    take_over: bool = False
    uncertain: Uncertain = "retry"
    workers: Workers = THIS_PROCESS


DEFAULT_TERMS = RunTerms()
"""Without limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A target as `prepare` settled it, how many answers were asked for, and what stopped it, if any.

    `asked` counts the answers that it lacked.
    """

    target: Target
    asked: int
    error: OversightError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRuns:
    """Runs that are about to be made: their targets with prices, as they were found, budgets and locks."""

    targets: Sequence[Target]
    prepared: Sequence[Prepared]
    budgets: Sequence[Budget | None]
    lock: HeldLocks

    @property
    def ready(self) -> list[Target]:
        """Those that can be asked."""
        return [one.target for one in self.prepared if one.error is None]

    def report(self, asked: Sequence[RunResult]) -> list[RunResult]:
        """What came of all, given that of those that were asked."""
        results = {one.target.spec.name: one for one in asked}
        return [
            results.get(one.target.spec.name) or RunResult(target=one.target, asked=0, error=one.error)
            for one in self.prepared
        ]


@contextmanager
def open_runs(
    wanted: Wanted, targets: Sequence[Target], *, prices: PriceTable, terms: RunTerms
) -> Iterator[OpenRuns]:
    """Look at the models of runs and note these; their locks are held while the block lasts."""
    store, targets = wanted.store, [target.priced(prices) for target in targets]
    budgets = _budgets(targets, terms)  # which refuses unknown prices before anything is sent
    refuse_without_keys(targets)
    with hold_runs(store, targets, wait=terms.wait, take_over=terms.take_over) as lock:
        prepared = prepare(
            wanted,
            targets,
            budgets,
            uncertain=terms.uncertain,
            make_model=terms.workers.make_model,
        )
        opened = OpenRuns(targets=targets, prepared=prepared, budgets=budgets, lock=lock)
        for target in opened.ready:
            target.announce(wanted)
            target.refuse_waiting(store)
        _charge_looks(store, prepared)  # which the budgets have counted
        yield opened


def _budgets(targets: Sequence[Target], terms: RunTerms) -> list[Budget | None]:
    """One budget for all; refused here, before anything is sent, if a price is unknown.

    Where what is under way is held if it is lost, there is one without limits, for its reservations.
    """
    limits = terms.limits
    if limits == BudgetCaps() and terms.uncertain == "retry":
        return [None] * len(targets)
    budget = Budget(limits.usd, limits.tokens, targets[0].price, requests=limits.requests)
    return [budget.at(target.price) for target in targets]


def _charge_looks(store: Store, prepared: Sequence[Prepared]) -> None:
    """Charge the runs with what trying the features of their models took, for this command and later ones."""
    for one in prepared:
        if one.error is None and one.used.attempts:
            used = Charge(0, one.used.attempts, one.used.input_tokens, one.used.output_tokens)
            store.reservations.charge(one.target.spec.id, used)
