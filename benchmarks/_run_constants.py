"""What a joint run's operations cost, as functions of how many answers each is about."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from benchmarks._database_costs import Cost, JointRunBench

SIZES = (1, 16, 128)
"""Answers of one transaction."""
TOGETHER = 4
"""Workers that store at once."""


@dataclass(frozen=True, slots=True)
class Line:
    """A cost that grows with the number of rows: of a transaction, and of each row."""

    fixed: float
    each: float

    @classmethod
    def fit(cls, costs: dict[int, float]) -> Line:
        """Through what was measured, least squares of the relative errors, neither part below 0."""
        sizes, found = np.array(list(costs)), np.array(list(costs.values()))
        weights = 1 / np.maximum(found, 1e-9)
        design = np.stack([weights, weights * sizes], axis=1)
        fixed, each = np.linalg.lstsq(design, weights * found, rcond=None)[0]
        return cls(max(0.0, float(fixed)), max(0.0, float(each)))

    def at(self, rows: float) -> float:
        """Cost of so many."""
        return self.fixed + self.each * rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What was measured: seconds by the clock, the server's seconds, bytes of its log and of a stored row."""

    keep: Line
    claim_cpu: Line
    keep_cpu: Line
    claim_log: Line
    keep_log: Line
    lease: Cost
    show: Cost
    grant: Cost
    book: Cost
    row: float
    alone: float
    together: float
    trip: float
    flush: float

    def lasts(self, what: str) -> float:
        """Seconds of an operation on machines that do nothing else."""
        cost: Cost = getattr(self, what)
        return cost.lasts(self.trip, self.flush)


def measure(bench: JointRunBench, seconds: float, trip: float, flush: float) -> Constants:
    """Time all operations."""
    claims, keeps = dict[int, Cost](), dict[int, Cost]()
    for size in SIZES:
        claims[size] = bench.measure(lambda size=size: bench.claim(size), seconds)  # type: ignore[misc]
        both = bench.measure(lambda size=size: claim_and_keep(bench, size), seconds)  # type: ignore[misc]
        keeps[size] = both.minus(claims[size])
    lone = {name: bench.measure(work, seconds) for name, work in others(bench).items()}

    def fit(costs: dict[int, Cost], what: str) -> Line:
        return Line.fit({size: getattr(cost, what) for size, cost in costs.items()})

    return Constants(
        keep=Line.fit({size: cost.lasts(trip, flush) for size, cost in keeps.items()}),
        claim_cpu=fit(claims, "cpu"),
        keep_cpu=fit(keeps, "cpu"),
        claim_log=fit(claims, "log"),
        keep_log=fit(keeps, "log"),
        **lone,
        row=bench.count_bytes(),
        alone=store_together(bench, 1, seconds),
        together=store_together(bench, TOGETHER, seconds),
        trip=trip,
        flush=flush,
    )


def claim_and_keep(bench: JointRunBench, size: int) -> None:
    bench.claim(size)
    bench.keep(size)


def others(bench: JointRunBench) -> dict[str, Callable[[], None]]:
    return {"lease": bench.lease, "show": bench.show, "grant": bench.grant, "book": bench.book}


def store_together(bench: JointRunBench, number: int, seconds: float) -> float:
    """Answers a second that several workers store for one run, 16 at a time; what they claim not counted."""
    with ExitStack() as stack:
        workers = [stack.enter_context(bench.beside(j)) for j in range(number)]
        with ThreadPoolExecutor(number) as pool:
            costs = list(pool.map(lambda one: one.measure(lambda: one.keep(16), seconds), workers))
    return float(sum(16 / cost.wall for cost in costs))
