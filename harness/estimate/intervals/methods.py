"""Intervals by name around a point estimate, always within [0, 1]; each says how it was made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_level,
    clopper_pearson,
    jeffreys,
    wilson,
    z_value,
)
from oversight.harness.estimate.estimators import Point
from oversight.harness.estimate.intervals.deviation import union_radius
from oversight.harness.estimate.intervals.exact import exact_interval, lattice_size
from oversight.harness.estimate.intervals.score import likelihood_ratio_interval, score_interval
from oversight.harness.estimate.intervals.weighting import weighted_score
from oversight.harness.types import Interval, Note, NoteKind

_STEPS = 8
"""Levels tried, each ten times nearer to 1, before labels count as contradictory."""

LATTICE_LIMIT = 10_000_000
"""Outcomes up to which ``exact`` is exact, ten times as many for two samples: below 0.7 s."""

_INVERTED: Mapping[str, Callable[..., tuple[float, float]]] = MappingProxyType(
    {
        # ivw, ivw_half and ml share one interval, and so do models with equal counts
        "exact": lru_cache(maxsize=4096)(exact_interval),
        "score": score_interval,
        "likelihood_ratio": likelihood_ratio_interval,
    }
)
_BINOMIAL: Mapping[str, Callable[[int, int, float], tuple[float, float]]] = MappingProxyType(
    {"blaker": blaker, "wilson": wilson, "jeffreys": jeffreys, "clopper_pearson": clopper_pearson}
)
_ON_AVERAGE = (
    "an approximate interval was asked for: it covers its level on average, less for some accuracies"
)
APPROXIMATE: Mapping[str, str] = MappingProxyType(
    {
        "wald": "a Wald interval was asked for: near 0 % and 100 % it covers far less than its level",
        **dict.fromkeys(("score", "likelihood_ratio", "wilson", "jeffreys"), _ON_AVERAGE),
    }
)
"""Why an interval of a name may not hold its level; the others do."""

INTERVALS = (*_INVERTED, "wald", *_BINOMIAL, "hoeffding", "bernstein")


def check_method(method: str) -> None:
    """Refuse a name that is not in `INTERVALS`.

    Raises
    ------
    EstimateError
        If there is no such interval.
    """
    if method not in INTERVALS:
        raise EstimateError(f"interval must be one of {', '.join(INTERVALS)}, is {method!r}")


def make_interval(
    point: Point, method: str = "exact", level: float = 0.95, lattice_limit: int | None = None
) -> Interval:
    """Confidence interval of A for a point estimate and the samples it used.

    Parameters
    ----------
    point
        The estimate.
    method
        ``exact``: test inversion over all outcomes (coverage ≥ `level`), Blaker's where
        every label settles its prediction, that of `weighted_score` beyond `lattice_limit` outcomes.
        ``score``, ``likelihood_ratio``: inversion of (★), approximate.
        ``wald``: value ± z·se, as published; too short near 0 and 1.
        ``blaker``, ``wilson``, ``jeffreys``, ``clopper_pearson``: for a single sample (`ord`, `comp`, or `ml`
        with labels of one kind).
        ``hoeffding``, ``bernstein``: distribution-free bounds around the value.
    level
        Confidence level, in (0, 1).
    lattice_limit
        Largest number of outcomes for ``exact``; by default `LATTICE_LIMIT`, ten times that for two samples.

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
    check_method(method)
    parts = point.parts
    notes: tuple[Note, ...] = ()
    made = method
    if method == "exact" and len(parts) == 1 and parts[0].K == 2:
        made = "blaker"
    elif method == "exact" and lattice_size(parts) > (lattice_limit or _default_limit(parts)):
        made, notes = "weighted-score", (Note(NoteKind.LATTICE_TOO_LARGE),)
    low, high, steps = _widen_until_some(point, made, level)
    notes += (Note(NoteKind.CONTRADICTS_MODEL),) * (steps > 0)
    why = APPROXIMATE.get(method, "")
    if steps > 1:
        one_in = round(10 ** (steps - 1) / (1 - level))
        why = f"the labels fit no accuracy; chance does that in fewer than 1 in {one_in:,} samples"
    if not low <= min(1.0, max(0.0, point.value)) <= high:
        notes += (Note(NoteKind.VALUE_OUTSIDE_INTERVAL),)
    return Interval(low=low, high=high, level=level, method=made, notes=notes, why=why)


def _default_limit(parts: tuple[BinomialSample, ...]) -> int:
    return LATTICE_LIMIT * (10 if len(parts) == 2 else 1)


def _widen_until_some(point: Point, method: str, level: float) -> tuple[float, float, int]:
    """Ends in [0, 1] at the level, or where nothing is left there, at the first higher level that does.

    The number says how many times the error had to be divided by ten: chance alone leaves nothing in
    fewer than 1 − level of all samples, so that at 2 or more an assumption is broken.
    """
    for step in range(_STEPS if method != "wald" else 1):
        at = 1 - (1 - level) / 10**step
        low, high = (min(1.0, max(0.0, end)) for end in _ends(point, method, at))
        if low < high:
            return low, high, step
    reason = "the standard error is 0" if point.se == 0 else "the labels contradict every accuracy"
    raise EstimateError(f"{reason}: at {point.value:.0%} the {method} interval has no width; see the checks")


def _ends(point: Point, method: str, level: float) -> tuple[float, float]:
    """Ends that may lie outside [0, 1]."""
    parts = point.parts
    if method == "weighted-score":
        return weighted_score([(1.0, parts)], level)[1:3]
    if method in _INVERTED:
        return _INVERTED[method](parts, point.peak, level)
    if method in _BINOMIAL:
        if len(parts) != 1:
            kinds = ", ".join(f"K = {p.K:g} (n = {p.n})" for p in parts)
            raise EstimateError(
                f"{method} is for one binomial sample, here are {len(parts)}: {kinds}; use exact"
            )
        (c,) = parts
        low, high = _BINOMIAL[method](c.S, c.n, level)
        return (c.K - 1) * low - (c.K - 2), (c.K - 1) * high - (c.K - 2)
    half = _half_width(point, method, level)
    return point.value - half, point.value + half


def _half_width(point: Point, method: str, level: float) -> float:
    if method == "wald":
        if point.se is None:
            raise EstimateError("wald needs a standard error, which a sample of n = 1 does not have")
        return z_value(level) * point.se
    used = [(c, w) for c, w in zip(point.components, point.weights, strict=True) if w > 0]
    parts, weights = zip(*used, strict=True)
    total = math.fsum(weights)
    shares = [w / total for w in weights]  # rounding must not push a sole weight over 1
    deltas = [(1 - level) / len(used)] * len(used)
    return union_radius(parts, shares, deltas, empirical=method == "bernstein")
