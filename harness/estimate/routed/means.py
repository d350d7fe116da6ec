"""Estimates from routed answers: means of equation (G), and of items drawn by a known probability.

The per-item outcome g, its derivation and its validity are in `harness.estimate.routed.doubly_robust`; here
it becomes an `Estimate`, items being the independent units.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from harness.arrays import UNREADABLE, FloatArray
from harness.errors import EstimateError, NotIdentified
from harness.estimate.core import check_items, check_level, clopper_pearson
from harness.estimate.routed.doubly_robust import informed, pseudo_outcomes
from harness.estimate.routed.routed_sample import RoutedSample, accuracy_target, check_predicted
from harness.types import Counts, Estimate, Interval

ROUTED_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts answer without error",
    "abstentions are unrelated to the truth",
)


def routed_mean(c: FloatArray, data: RoutedSample, *, level: float = 0.95) -> Estimate:
    """Mean of g with Student's t around it, items being the independent units.

    θ̂ = Σ_i g_i/N, Var = Σ_i (g_i − θ̂)²/(N(N − 1)). The value is unclipped; the interval is moved
    into the range of c. Several answers on one item enter one g_i, so they are not counted twice.
    With rare large g (uniform routing, K·A large, N of a few hundred) t-intervals cover .82–.94 at a
    nominal .95: the exact interval of the likelihood is the better one there.
    If every g is 0 or 1 (each predicted option was asked about with certainty), the interval is
    Clopper & Pearson's (1934, Biometrika 26) and exact.

    Raises
    ------
    EstimateError
        If there are fewer than 2 items.
    NotIdentified
        If an option with propensity 0 matters (see `optimal_constant`).
    """
    check_level(level)
    g = pseudo_outcomes(c, data)
    check_items(len(g))
    value, se = float(g.mean()), float(g.std(ddof=1) / np.sqrt(len(g)))
    floor, ceiling = min(0.0, float(c.min())), max(0.0, float(c.max()))
    flags: tuple[str, ...] = () if floor <= value <= ceiling else ("out_of_range",)
    right = np.abs(g - 1) < 1e-9
    if np.all(right | (np.abs(g) < 1e-9)) and floor == 0 and ceiling <= 1:
        low, high = clopper_pearson(int(right.sum()), len(g), level)
        method = "clopper-pearson"
    else:
        half = t_quantile(level, len(g) - 1) * se
        low, high = (min(ceiling, max(floor, end)) for end in (value - half, value + half))
        method = "wald"
        flags += ("zero_variance",) if se == 0 else ()
    return Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(low=low, high=high, level=level, method=method, flags=flags),
        estimator="routed",
        n=data.counts,
        assumptions=ROUTED_ASSUMPTIONS,
    )


def routed_accuracy(predicted: ArrayLike, data: RoutedSample, *, level: float = 0.95) -> Estimate:
    """Accuracy of one model from answers asked for it, for several models, or for others.

    ``predicted`` has shape (N,), −1 for unreadable (wrong, and counted). Where ``data`` has no
    posterior, one is cross-fitted (`harness.estimate.routed.doubly_robust`). Errors as `routed_mean`; labels
    asked for other models serve this one exactly where `NotIdentified` is not raised.
    """
    predicted = np.asarray(predicted, dtype=np.int64)
    check_predicted(predicted, data)
    target = accuracy_target(predicted, data.propensities.shape[1])
    found = routed_mean(target, informed(predicted[:, None], data), level=level)
    return replace(found, n=replace(found.n, unreadable=int((predicted == UNREADABLE).sum())))


def t_quantile(level: float, df: int) -> float:
    """Two-sided quantile of Student's t with df degrees of freedom."""
    return float(stdtrit(df, 0.5 + level / 2))


def sampled_mean(
    prior: FloatArray, value: FloatArray, drawn: ArrayLike, rho: FloatArray, *, level: float = 0.95
) -> Estimate:
    """Mean of a quantity that is known exactly on a sample of items drawn with probability ρ(x).

    θ̂ = (1/N) Σ_i [m_i + R_i (Z_i − m_i)/ρ_i], shape (N,) each: any guess m made without item i's
    answers leaves it unbiased (Robins, Rotnitzky & Zhao 1994). ``value`` is ignored where not drawn.

    Raises
    ------
    EstimateError
        If a drawn item has ρ outside (0, 1] or there are fewer than 2 items.
    NotIdentified
        If an item had no chance to be drawn (ρ = 0).
    """
    check_level(level)
    drawn = np.asarray(drawn, dtype=np.bool_)
    check_items(len(prior))
    for row in np.flatnonzero((rho <= 0) | (rho > 1)):
        kind = NotIdentified if rho[row] == 0 else EstimateError
        raise kind(f"rho[{row}] must lie in (0, 1], is {rho[row]}")
    g = prior + np.where(drawn, (np.where(drawn, value, 0.0) - prior) / rho, 0.0)
    mean, se = float(g.mean()), float(g.std(ddof=1) / np.sqrt(len(g)))
    half = t_quantile(level, len(g) - 1) * se
    low, high = max(0.0, mean - half), min(1.0, mean + half)
    right = int(value[drawn].sum())
    counts = Counts(ordinary=right, complementary=int(drawn.sum()) - right, unlabelled=int((~drawn).sum()))
    flags = () if 0 <= mean <= 1 else ("out_of_range",)
    return Estimate.from_interval(
        value=mean,
        se=se,
        interval=Interval(low=low, high=high, level=level, method="wald", flags=flags),
        estimator="aipw",
        n=counts,
        assumptions=ROUTED_ASSUMPTIONS,
    )
