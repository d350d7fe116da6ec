"""Average precision where scores tie, as every 0/1 annotator's do.

AP = (1/R) Σ over relevant documents of the precision at their rank. Documents of equal score have no order
of their own: AP is reported for the best order of each tied group (relevant first), the worst, and
in expectation over a random order, which needs no drawing:

    a group of g with r relevant, after n documents of which R' relevant: its share of Σ precision is
    (r/g) Σ_{j=1..g} (R' + 1 + (j − 1)(r − 1)/(g − 1)) / (n + j)

Sources: "Are machines better than humans in image tagging?" section 3.4 (best and worst case); Yang &
Hauptmann 2008 for ΔAP, AP less that of a random ranking. The expectation is our own, by counting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.arrays import FloatArray
from harness.errors import EstimateError, NotIdentified
from harness.estimate import check_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePrecision:
    """AP under three orders of ties, equal without ties.

    `chance` is that of a random ranking: near the share of relevant ones, above it for few documents.
    """

    best: float
    worst: float
    expected: float
    chance: float

    @property
    def delta(self) -> float:
        """ΔAP = expected − chance: 0 for a ranking that knows nothing, however frequent the class."""
        return self.expected - self.chance


def average_precision(relevant: ArrayLike, scores: ArrayLike) -> AveragePrecision:
    """AP of scores, higher first.

    Parameters
    ----------
    relevant
        Shape (N,), 0 or 1.
    scores
        Shape (N,), finite; an annotator's 0/1 as well as a system's confidence.

    Raises
    ------
    EstimateError
        If shapes differ, a value is not 0/1 or a score not finite; names the row.
    NotIdentified
        If nothing is relevant.
    """
    y, s = np.asarray(relevant, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.shape != s.shape or y.ndim != 1 or len(y) == 0:
        raise EstimateError(
            f"relevant and scores must have one equal length of at least 1, have {y.shape}, {s.shape}"
        )
    check_rows("relevant", y, (y == 0) | (y == 1), "be 0 or 1")
    check_rows("scores", s, np.isfinite(s), "be finite")
    if not y.any():
        raise NotIdentified("nothing is relevant: average precision is 0/0")
    return AveragePrecision(
        best=_ordered(y, s, y),
        worst=_ordered(y, s, -y),
        expected=_expected(y, s),
        chance=_expected(y, np.zeros(len(y))),
    )


def _ordered(y: FloatArray, s: FloatArray, tie: FloatArray) -> float:
    hits = y[np.lexsort((-tie, -s))]
    ranks = np.arange(1, len(hits) + 1)
    return float((hits * np.cumsum(hits) / ranks).sum() / hits.sum())


def _expected(y: FloatArray, s: FloatArray) -> float:
    _, group = np.unique(-s, return_inverse=True)
    size = np.bincount(group)
    hits = np.bincount(group, weights=y)
    before, hits_before = np.cumsum(size) - size, np.cumsum(hits) - hits
    total = 0.0
    for g, r, n, R in zip(size, hits, before, hits_before, strict=True):
        if r:
            j = np.arange(1, g + 1)
            step = (r - 1) / (g - 1) if g > 1 else 0.0
            total += float(r / g * ((R + 1 + (j - 1) * step) / (n + j)).sum())
    return total / float(y.sum())
