"""On which terms models are asked, and how every run begins: prices, keys, locks, a look at endpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from oversight.harness.errors import OversightError
from oversight.harness.llm.limits import Budget, PriceTable
from oversight.harness.llm.runner.preparation import Prepared, prepare
from oversight.harness.llm.runner.targets import Target, Wanted, hold_runs, refuse_without_keys
from oversight.harness.store import Charge, HeldLocks, Store, Uncertain

DEFAULT_PATIENCE = 600.0
"""Seconds for which an endpoint that answers nothing is waited for, where nobody says otherwise."""
DEFAULT_LEASE = 60.0
"""Seconds after which a process that does not show itself is taken for lost, where nobody says otherwise."""


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


class Crew(Protocol):
    """Workers that are started to ask in a process's place; it watches over what they do.

    Attributes
    ----------
    brings_endpoints
        Whether endpoints are where the workers are, and cannot be looked at from here.
    asked
        How many answers workers that ended asked for, by name of the model.
    stopped
        By name of the model why a worker stopped before all was asked; what is about all models is under "".
    """

    brings_endpoints: bool
    asked: Counter[str]
    stopped: dict[str, str]

    def working(self, work: str) -> AbstractContextManager[None]:
        """Have workers on what has this id in the database while the block lasts."""

    def is_working(self) -> bool:
        """Whether any of them works, or is about to."""


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
        Whether to wait for other processes that work on the same runs, and do not share them.
    uncertain
        What becomes of answers that were under way where a process ended without a word.
    lease
        Seconds after which one of several processes is taken for lost that does not show itself.
    crew
        Who asks in this process's place.
    """

    limits: BudgetCaps = BudgetCaps()
    patience: float = DEFAULT_PATIENCE
    wait: bool = False
    uncertain: Uncertain = "retry"
    lease: float = DEFAULT_LEASE
    crew: Crew | None = None


DEFAULT_TERMS = RunTerms()
"""Without limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A target as `prepare` settled it, how many answers were asked for, and what stopped it, if any.

    `asked` counts what it lacked, or of what several processes asked together, what this one did.
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
    wanted: Wanted, targets: Sequence[Target], *, prices: PriceTable, terms: RunTerms, joins: bool = False
) -> Iterator[OpenRuns]:
    """Look at the models of runs and note these; their locks are held while the block lasts.

    `joins` says that they are opened for several processes, see `LockRepository.hold`.
    """
    store, targets = wanted.store, [target.priced(prices) for target in targets]
    budgets = _budgets(targets, terms)  # which refuses unknown prices before anything is sent
    refuse_without_keys(targets)
    with hold_runs(store, targets, wait=terms.wait, joins=joins) as lock:
        prepared = prepare(
            wanted,
            targets,
            budgets,
            uncertain=terms.uncertain,
            is_reachable=terms.crew is None or not terms.crew.brings_endpoints,
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
