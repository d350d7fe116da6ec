"""Accuracy from fallible experts, with gold items for their error rates and one question an item."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.intervals import effective_size, scale_by_share
from oversight.harness.estimate.routed.annotator_error import GOLD_ASSUMPTIONS, GoldCounts
from oversight.harness.estimate.routed.means import t_quantile
from oversight.harness.estimate.routed.routed_sample import RoutedSample
from oversight.harness.types import Estimate, Interval

_GRID = np.linspace(0.0, 1.0, 2001)
_ROUNDS = 400
_CLOSE = 1e-9
_TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class _YesCounts:
    """Yes-answers x of n about predictions (the first entry), about other options, and about gold.

    With A given, an option asked about is true with probability τ = base + slope·A: A for a prediction,
    (1 − A)/(K − 1) for another one, 1 and 0 for gold. So P(yes) = τ s + (1 − τ)(1 − t).
    """

    x: FloatArray
    n: FloatArray
    base: FloatArray
    slope: FloatArray


def allows_gold_score(predicted: IntArray, data: RoutedSample) -> bool:
    """Whether each item has one question, drawn uniformly or about the prediction, and all have one K."""
    readable = predicted >= 0
    once = len(data.item) == len(predicted) and len(np.unique(data.item)) == len(predicted)
    alike = len(np.unique(data.n_options)) == 1
    return bool(once and alike and readable.any() and (_uniform(data) or _own(predicted, data)))


def gold_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    gold: GoldCounts,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Estimate:
    """Accuracy by maximum likelihood in A, s and t, and the interval of the efficient score test.

    The counts are independent binomials (`_YesCounts`). At every A the rates s and t are fitted (EM), and A
    is kept while its score, freed of what moves with s and t, is within Student's t standard errors: near
    0 and 1, and where yes is rare, that holds where a normal interval around the estimate does not.
    Unreadable predictions are wrong (`scale_by_share`).

    Parameters
    ----------
    predicted
        Shape (N,), −1 for unreadable; data for which `allows_gold_score`.
    cluster
        Shape (N,): number of the item's cluster. The items' counts are then those of as many independent
        ones as tell as much (`independent_share`); gold items count as independent.
    """
    readable = predicted >= 0
    counts = _count(predicted, data, gold)
    s, t, best, kept = _invert(counts, gold, level, int(readable.sum()))
    if cluster is not None:
        rates = float(_GRID[best]), float(s[best]), float(t[best])
        part = independent_share(predicted, data, rates, cluster, level)
        scale = np.array([part, part, 1.0, 1.0])
        counts = replace(counts, x=counts.x * scale, n=counts.n * scale)
        s, t, best, kept = _invert(counts, gold, level, int(readable.sum() * part))
    information = _efficient_score(counts, s, t)[1]
    step = _GRID[1]
    low, value, high = max(0.0, _GRID[kept.min()] - step), _GRID[best], min(1.0, _GRID[kept.max()] + step)
    share, n = float(readable.mean()), float(len(predicted))
    if share < 1:
        n = n if cluster is None else effective_size(readable.astype(np.float64), cluster, level)
        value, low, high = scale_by_share(share, n, value, low, high, level)
    spread = share / math.sqrt(max(float(information[best]), _CLOSE))
    return Estimate.from_interval(
        value=float(value),
        se=float(spread),
        interval=Interval(low=float(low), high=float(high), level=level, method="gold-score"),
        estimator="corrected",
        n=data.counts,
        assumptions=GOLD_ASSUMPTIONS,
    )


def independent_share(
    predicted: IntArray,
    data: RoutedSample,
    rates: tuple[float, float, float],
    cluster: IntArray,
    level: float,
) -> float:
    """By which share of them independent items would tell as much as those of these clusters.

    Of the items' scores of A, brought to the mean and the variance of right and wrong predictions
    (`effective_size`).

    Parameters
    ----------
    predicted, cluster
        Shape (N,), as for `gold_accuracy`.
    rates
        A, s and t at which the scores are taken.
    """
    A, s, t = rates
    of, K = predicted[data.item], int(data.n_options[0])
    hit = of == data.asked
    tau = np.where(hit, A, (1 - A) / (K - 1))
    p = np.clip(tau * s + (1 - tau) * (1 - t), _CLOSE, 1 - _CLOSE)
    score = np.zeros(len(predicted))
    score[data.item] = np.where(
        of >= 0, (data.answer - p) / (p * (1 - p)) * np.where(hit, 1, -1 / (K - 1)), 0
    )
    scored = predicted >= 0
    rest = score[scored] - score[scored].mean()
    spread = float(np.sqrt((rest**2).mean()))
    values = A + rest * (math.sqrt(A * (1 - A)) / spread if spread > 0 else 0.0)
    groups = np.unique(cluster[scored], return_inverse=True)[1]
    if groups.max(initial=0) < 1:
        raise NotIdentified("clusters: there must be at least 2 with a readable prediction")
    return effective_size(values, groups, level) / len(values)


def _invert(
    counts: _YesCounts, gold: GoldCounts, level: float, items: int
) -> tuple[FloatArray, FloatArray, int, IntArray]:
    """Rates at every A of the grid; the place of the estimate, and of what the test keeps."""
    s, t = _fit_rates(counts, gold)
    score, information = _efficient_score(counts, s, t)
    fewest = min(gold.n_true, gold.n_false, items)
    kept = np.flatnonzero(score**2 <= t_quantile(level, max(1, fewest - 1)) ** 2 * information)
    best = int(np.argmin(np.where(information > 0, score**2 / np.maximum(information, _CLOSE), np.inf)))
    return s, t, best, np.append(kept, best)


def _uniform(data: RoutedSample) -> bool:
    return bool(np.allclose(data.propensities * data.n_options[:, None], 1, atol=1e-6))


def _own(predicted: IntArray, data: RoutedSample) -> bool:
    """Whether every question is about the prediction, put for certain."""
    return bool((data.by_item[0] == predicted).all() and (data.propensities.max(axis=1) > 1 - _CLOSE).all())


def _count(predicted: IntArray, data: RoutedSample, gold: GoldCounts) -> _YesCounts:
    of = predicted[data.item]
    hit: BoolArray = of == data.asked
    other = ~hit & (of >= 0)
    yes = data.answer > 0.5
    K = int(data.n_options[0])
    x = [(yes & hit).sum(), (yes & other).sum(), gold.yes_on_true, gold.n_false - gold.no_on_false]
    n = [hit.sum(), other.sum(), gold.n_true, gold.n_false]
    return _YesCounts(
        x=np.array(x, dtype=np.float64),
        n=np.array(n, dtype=np.float64),
        base=np.array([0.0, 1 / (K - 1), 1.0, 0.0]),
        slope=np.array([1.0, -1 / (K - 1), 0.0, 0.0]),
    )


def _fit_rates(counts: _YesCounts, gold: GoldCounts) -> tuple[FloatArray, FloatArray]:
    """Sensitivity and specificity of greatest likelihood at every A of the grid, by EM."""
    tau = counts.base + _GRID[:, None] * counts.slope
    s = np.full(len(_GRID), (gold.yes_on_true + 0.5) / (gold.n_true + 1))
    t = np.full(len(_GRID), (gold.no_on_false + 0.5) / (gold.n_false + 1))
    no = counts.n - counts.x
    for _ in range(_ROUNDS):
        by_true, by_false = tau * s[:, None], (1 - tau) * (1 - t[:, None])
        true_yes = counts.x * by_true / np.maximum(by_true + by_false, _TINY)
        by_true, by_false = tau * (1 - s[:, None]), (1 - tau) * t[:, None]
        true_no = no * by_true / np.maximum(by_true + by_false, _TINY)
        true = (true_yes + true_no).sum(axis=1)
        fresh = true_yes.sum(axis=1) / true, (no - true_no).sum(axis=1) / (counts.n.sum() - true)
        moved = max(float(np.abs(fresh[0] - s).max()), float(np.abs(fresh[1] - t).max()))
        s, t = fresh
        if moved < _CLOSE:
            break
    return s, t


def _efficient_score(counts: _YesCounts, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Score of A and its variance, once what moves with s and t is taken off; at every A of the grid."""
    tau = counts.base + _GRID[:, None] * counts.slope
    p = np.clip(tau * s[:, None] + (1 - tau) * (1 - t[:, None]), _CLOSE, 1 - _CLOSE)
    weight = counts.n / (p * (1 - p))
    residual = (counts.x - counts.n * p) / (p * (1 - p))
    by_A = counts.slope * (s + t - 1)[:, None]
    slopes = (by_A, tau, tau - 1)
    score = [(residual * slope).sum(axis=1) for slope in slopes]
    (aa, a_s, at), (_, ss, st), (_, _, tt) = ([(weight * a * b).sum(axis=1) for b in slopes] for a in slopes)
    det = ss * tt - st**2
    k_s, k_t = (a_s * tt - at * st) / det, (at * ss - a_s * st) / det
    return score[0] - k_s * score[1] - k_t * score[2], aa - k_s * a_s - k_t * at
