"""Intervals by name around a point estimate, always within [0, 1]; each says how it was made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from harness.errors import EstimateError
from harness.estimate.core import (
    BinomialSample,
    check_level,
    clopper_pearson,
    jeffreys,
    pool_samples,
    wilson,
    z_value,
)
from harness.estimate.estimators import Point
from harness.estimate.intervals.deviation import union_radius
from harness.estimate.intervals.exact import exact_interval, lattice_size
from harness.estimate.intervals.score import likelihood_ratio_interval, score_interval

LATTICE_LIMIT = 10_000_000
"""Outcomes up to which ``exact`` is exact: below 0.1 s for two samples, 0.7 s for three."""

INTERVALS = (
    "exact",
    "score",
    "likelihood_ratio",
    "wald",
    "wilson",
    "jeffreys",
    "clopper_pearson",
    "hoeffding",
    "bernstein",
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends within [0, 1], how they were made, and what a reader must know."""

    low: float
    high: float
    method: str
    flags: tuple[str, ...] = ()


def make_interval(
    point: Point, method: str = "exact", level: float = 0.95, lattice_limit: int = LATTICE_LIMIT
) -> Interval:
    """Confidence interval of A for a point estimate and the samples it used.

    Parameters
    ----------
    point
        The estimate.
    method
        ``exact``: test inversion over all outcomes (coverage ≥ `level`), Clopper–Pearson where
        every label settles its prediction, the score interval beyond `lattice_limit` outcomes.
        ``score``, ``likelihood_ratio``: inversion of (★), approximate.
        ``wald``: value ± z·se, as published; too short near 0 and 1.
        ``wilson``, ``jeffreys``, ``clopper_pearson``: for a single sample (`ord`, `comp`, or `ml`
        with labels of one kind).
        ``hoeffding``, ``bernstein``: distribution-free bounds around the value.
    level
        Confidence level, in (0, 1).
    lattice_limit
        Largest number of outcomes for ``exact``.

    Notes
    -----
    Exact, score and likelihood-ratio intervals are about A given the samples, not about the
    estimator: `ivw` and `ml` share them, and an `ivw` value can lie outside.

    Raises
    ------
    EstimateError
        If the method is unknown or not defined for these samples.
    """
    check_level(level)
    if method not in INTERVALS:
        raise EstimateError(f"interval must be one of {', '.join(INTERVALS)}, is {method!r}")
    made = _make(point, method, level, lattice_limit)
    low, high = _unit(made.low), _unit(made.high)
    # an interval that misses [0, 1] is cut to its nearer end: the data contradict every A
    flags = made.flags + (("contradicts_model",) if low == high and method != "wald" else ())
    if not low <= _unit(point.value) <= high:
        flags += ("value_outside_interval",)
    return Interval(low, high, made.method, flags)


def _make(point: Point, method: str, level: float, lattice_limit: int) -> Interval:
    if method == "exact":
        return _exact(point.components, level, lattice_limit)
    if method == "score":
        return Interval(*score_interval(point.components, level), method)
    if method == "likelihood_ratio":
        return Interval(*likelihood_ratio_interval(point.components, level), method)
    if method == "wald":
        return _wald(point, level)
    if method in ("hoeffding", "bernstein"):
        return _bound(point, level, empirical=method == "bernstein")
    binomial = {"wilson": wilson, "jeffreys": jeffreys, "clopper_pearson": clopper_pearson}[method]
    return _binomial(point.components, binomial, method, level)


def _exact(components: tuple[BinomialSample, ...], level: float, lattice_limit: int) -> Interval:
    parts = pool_samples(components)
    if len(parts) == 1 and parts[0].K == 2:
        return _binomial(parts, clopper_pearson, "clopper_pearson", level)
    if lattice_size(parts) > lattice_limit:
        return Interval(*score_interval(parts, level), "score", ("lattice_too_large",))
    return Interval(*_cached_exact(parts, level), "exact")


# ivw, ivw_half and ml share one interval, and so do models with equal counts
_cached_exact = lru_cache(maxsize=4096)(exact_interval)


def _wald(point: Point, level: float) -> Interval:
    if point.se is None:
        raise EstimateError("wald needs a standard error, which a sample of n = 1 does not have")
    half = z_value(level) * point.se
    return Interval(point.value - half, point.value + half, "wald")


def _binomial(
    components: tuple[BinomialSample, ...],
    method: Callable[[int, int, float], tuple[float, float]],
    name: str,
    level: float,
) -> Interval:
    parts = pool_samples(components)
    if len(parts) != 1:
        kinds = ", ".join(f"K = {p.K:g} (n = {p.n})" for p in parts)
        raise EstimateError(f"{name} is for one binomial sample, here are {len(parts)}: {kinds}; use exact")
    (c,) = parts
    low, high = method(c.S, c.n, level)
    return Interval((c.K - 1) * low - (c.K - 2), (c.K - 1) * high - (c.K - 2), name)


def _bound(point: Point, level: float, *, empirical: bool) -> Interval:
    used = [(c, w) for c, w in zip(point.components, point.weights, strict=True) if w > 0]
    parts, weights = [c for c, _ in used], [w for _, w in used]
    # rounding must not push a sole weight over 1
    total = math.fsum(weights)
    shares = [w / total for w in weights]
    deltas = [(1 - level) / len(used)] * len(used)
    half = union_radius(parts, shares, deltas, empirical=empirical)
    name = "bernstein" if empirical else "hoeffding"
    return Interval(point.value - half, point.value + half, name)


def _unit(x: float) -> float:
    return min(1.0, max(0.0, x))
