"""Verdicts on items that are asked about until they are resolved.

Items resolved early are no random part of all, so those that are not count for the other side: as wrong
where a pass is at stake, as right where a failure is. What is then decided stays decided whatever the rest
turns out to be, and the test of a fixed number of items may be looked at any time, at no cost.

* Accuracy: exact binomial tail.
* Difference D = (n_+ − n_−)/N: exact tail of n_+ − n_− of trinomial items, its largest over the shares of
  items on which exactly one is right in their Clopper–Pearson interval at 1 − γ, plus γ (Berger & Boos 1994,
  JASA 89).
* Clusters: bets on their sums (`refuting_wealth`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, xlog1py, xlogy

from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import binomial_at_least, clopper_pearson
from oversight.harness.estimate.gate.betting import refuting_wealth
from oversight.harness.estimate.routed import read_item_answers

_GAMMA = 0.001
_SHARES = 15


def resolved_ends(
    labels: LabelColumns, models: Sequence[PredictionColumns]
) -> tuple[IntArray, IntArray, IntArray]:
    """Places of items, and least and largest value of each: correctness of one model, or a difference.

    Raises
    ------
    EstimateError
        If no item was asked about, or answers contradict each other.
    """
    options = np.stack([m.option for m in models], axis=1).astype(np.int64)
    ran = np.logical_and.reduce([m.ran for m in models])
    items = np.flatnonzero(ran & (labels.asked_items | (options.max(axis=1) < 0)))
    if not items.size:
        raise EstimateError("labels: no item asked about has a prediction of every model; there are 0")
    predicted = options[items]
    correct = read_item_answers(labels).correctness(predicted, items)
    least, most = np.where(correct == UNKNOWN, 0, correct), np.where(correct == UNKNOWN, 1, correct)
    if len(models) == 1:
        return items, least[:, 0], most[:, 0]
    alike = predicted[:, 0] == predicted[:, 1]
    low, high = least[:, 0] - most[:, 1], most[:, 0] - least[:, 1]
    return items, np.where(alike, 0, low), np.where(alike, 0, high)


def worst_p_values(
    low: IntArray, high: IntArray, cluster: IntArray | None, bar: float, floor: int
) -> tuple[float, float]:
    """p-values of a mean below the bar and above it, from ends of every item's value.

    Parameters
    ----------
    floor
        The least value there is: 0 of a correctness, −1 of a difference; the largest is 1.
    """
    if cluster is not None:
        size = int(np.bincount(cluster).max())
        up = refuting_wealth(_sums(cluster, low - bar), size * (floor - bar))
        down = refuting_wealth(_sums(cluster, bar - high), size * (bar - 1))
        return min(1.0, 1 / up), min(1.0, 1 / down)
    n = len(low)
    if floor == 0:
        right, wrong = int(low.sum()), n - int(high.sum())
        return binomial_at_least(right, n, bar), binomial_at_least(wrong, n, 1 - bar)
    known = (low == high) & (low != 0)
    least = clopper_pearson(int(known.sum()), n, 1 - _GAMMA)[0]
    most = clopper_pearson(int(((low != 0) | (high != 0)).sum()), n, 1 - _GAMMA)[1]
    shares = np.unique(np.clip(np.linspace(least, most, _SHARES), abs(bar), 1.0))
    up = max(_difference_tail(int(low.sum()), n, bar, float(d)) for d in shares)
    down = max(_difference_tail(-int(high.sum()), n, -bar, float(d)) for d in shares)
    return min(1.0, up + _GAMMA), min(1.0, down + _GAMMA)


def _sums(cluster: IntArray, gains: NDArray[np.floating[Any]]) -> FloatArray:
    return np.bincount(cluster, gains).astype(np.float64)


def _difference_tail(lead: int, n: int, mean: float, share: float) -> float:
    """P(n_+ − n_− ≥ lead) of n items, each 1 or −1 with probability `share` together, of this mean."""
    if share <= 0:
        return float(lead <= 0)
    d = np.arange(n + 1)
    least = np.ceil((d + lead) / 2)
    # of d items that tell, the first is right on at least so many
    tail: FloatArray = np.where(least <= 0, 1.0, 0.0)
    inside = (least > 0) & (least <= d)
    tail[inside] = 1 - bdtr(least[inside] - 1, d[inside], (1 + mean / share) / 2)
    ways = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
    chance = np.exp(ways + xlogy(d, share) + xlog1py(n - d, -share))
    return float(chance @ tail)
