"""Looking on while answers come in about items that come in clusters, such as a patient's images."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.core import check_level
from oversight.harness.types import Interval

_SIZE = 1000
_BETS = np.geomspace(1e-3, 1.0, 12)
"""Shares of the largest bet that cannot ruin; the mixture over them stands in for the best one."""


def score_betting_sequence(
    right: IntArray,
    wrong: IntArray,
    open_: IntArray,
    effective_K: FloatArray,
    *,
    largest: int,
    level: float = 0.95,
) -> Interval:
    """Confidence sequence from bets on the likelihood's score, clusters being the independent units.

    At the true accuracy A each item's score, 1/A if it is seen right, −1/(1 − A) if seen wrong and
    1/(A + K' − 2) if an option other than the prediction was refused, has mean 0 whatever the items of
    its cluster do. So Π_j (1 + λ s_j(A)) over the sums s_j of clusters is a martingale with mean 1, and
    so is its mixture over λ; an A where it reaches 1/(1 − level) is refuted (Ville). λ goes up to where
    a cluster of the largest size cannot make a factor negative. A cluster that is answered in parts is
    counted with what there is of it: the bound is then that of the central limit theorem in random order.

    Parameters
    ----------
    right, wrong
        Shape (J,): items of every cluster that were seen right, and wrong.
    open_, effective_K
        Shapes (J, m) and (m,): items left open by refusals, by K'.
    largest
        Items of the largest cluster, known before any answer.
    """
    check_level(level)
    counts, times = np.unique(np.column_stack([right, wrong, open_]), axis=0, return_counts=True)
    A = np.sin(np.pi * (np.arange(_SIZE) + 0.5) / (2 * _SIZE)) ** 2
    scores = np.stack([1 / A, -1 / (1 - A), *(1 / (A + K - 2) for K in effective_K)])
    sums = counts @ scores
    most, least = scores.max(axis=0), -scores.min(axis=0)
    logs = [
        times @ np.log1p(bet * share * sums)
        for share in _BETS
        for bet in (0.999 / (largest * least), -0.999 / (largest * most))
    ]
    evidence = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    kept = np.flatnonzero(evidence < -np.log1p(-level))
    low, high = int(kept[0]), int(kept[-1])
    return Interval(
        low=0.0 if low == 0 else float(A[low - 1]),
        high=1.0 if high == _SIZE - 1 else float(A[high + 1]),
        level=level,
        method="score betting",
    )
