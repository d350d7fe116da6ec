"""One stratum's accuracy with its interval, unreadable predictions included.

An unreadable prediction is wrong, but it must not enter the likelihood as a known wrong one: it is
resolved with certainty, while a readable wrong prediction is resolved only if the right question
happened to be asked, as is a right one. Wrong predictions would be over-represented among the
resolved and the estimate biased downwards: at A = .6 with 20 % unreadable by 14 points for K = 4
and by 35 for K = 10, however many labels there are. Instead A = ρ A_r: the readable share of the
labelled items times the accuracy on the readable ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.errors import EstimateError
from harness.estimate.core import clopper_pearson
from harness.estimate.data import Tally
from harness.estimate.estimators import make_point
from harness.estimate.intervals import LATTICE_LIMIT, Interval, make_interval, mover_product


@dataclass(frozen=True, slots=True)
class StratumEstimate:
    """Estimate of one stratum; fields as in `harness.types.records.Estimate`."""

    value: float
    se: float | None
    interval: Interval
    flags: tuple[str, ...]


def stratum_estimate(
    tally: Tally,
    estimator: str,
    method: str,
    level: float,
    *,
    published: bool = False,
    lattice_limit: int = LATTICE_LIMIT,
) -> StratumEstimate:
    """Estimate A = ρ A_r in one stratum.

    The interval is that of A_r if every labelled prediction is readable, else the product (see
    `combine.product`) with the Clopper–Pearson interval of ρ.

    Raises
    ------
    EstimateError
        If the stratum has no labelled item or the estimator is undefined for its counts; names
        the stratum.
    """
    if tally.n_labelled == 0:
        raise EstimateError(f"{where(tally)}: no labelled item has a prediction, needed is at least 1")
    if tally.n_readable == 0:
        _, high = clopper_pearson(0, tally.n_unreadable, level)
        return StratumEstimate(0.0, None, Interval(0.0, high, "clopper_pearson"), ("all_unreadable",))
    try:
        p = make_point(estimator, tally.hits, tally.misses, published=published)
        of_readable = make_interval(p, method, level, lattice_limit)
    except EstimateError as error:
        raise type(error)(f"{where(tally)}: {error}") from error
    if tally.n_unreadable == 0:
        return StratumEstimate(p.value, p.se, of_readable, p.flags + of_readable.flags)
    n = tally.n_labelled
    rho = tally.n_readable / n
    low, high = clopper_pearson(tally.n_readable, n, level)
    inner = min(of_readable.high, max(of_readable.low, p.value))
    ends = mover_product((inner, of_readable.low, of_readable.high), (rho, low, high))
    se = None
    if p.se is not None:
        se = math.sqrt((rho * p.se) ** 2 + p.value**2 * rho * (1 - rho) / n)
    made = Interval(*ends, f"{of_readable.method}+product", of_readable.flags)
    return StratumEstimate(rho * p.value, se, made, p.flags + of_readable.flags)


def where(tally: Tally) -> str:
    """Name a stratum in a message."""
    return f"stratum {tally.stratum!r}, K = {tally.K}" if tally.stratum else f"K = {tally.K}"
