"""Disagreement within items and by chance, from sums over the labels that occur: no (K, K) table is made.

Coincidences o_ck and distances δ²_ck are those of Krippendorff, "Computing Krippendorff's Alpha-Reliability"
(2011), sections C and D. An item with v_c of its m labels in class c adds Σ_ck v_c v_k δ²_ck / (m − 1) to
Σ_ck o_ck δ²_ck, and v_c to the marginal n_c. Chance gives Σ_ck n_c n_k δ²_ck. δ² is:

nominal 1{c≠k} · ordinal (r_c − r_k)², r_c the middle rank of c among the n labels · interval (x_c − x_k)² ·
ratio ((x_c − x_k)/(x_c + x_k))².

The squares of differences reduce to sums: Σ_ck w_c w_k (x_c − x_k)² = 2 (Σ w Σ w x² − (Σ w x)²).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from oversight.harness.arrays import FloatArray, IntArray, divide
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate import check_known

LEVELS = ("nominal", "ordinal", "interval", "ratio")
CELLS = 4_000_000
"""Numbers that an array may have in memory at once."""
_STEP = 0.25
"""Of the trapezoidal rule."""


class WeightedVotes:
    """α of weighted rows of votes.

    Parameters
    ----------
    votes
        Sparse, shape (R, K), K ≥ 2: votes of every row for every class, at least 2 votes a row.
    level
        One of `LEVELS`.
    values
        Shape (K,): number of every class, needed for interval and ratio (≥ 0 there). At the ordinal level
        classes stand in the order of their numbers, and equal numbers are one rank; without numbers classes
        stand in their own order.

    Raises
    ------
    EstimateError
        If the level is unknown, or values are missing, not finite, or negative for ratio.
    """

    def __init__(self, votes: Any, level: str, values: FloatArray | None) -> None:
        check_known("level", level, LEVELS)
        K = votes.shape[1]
        self.votes, self.level = votes, level
        self.m: FloatArray = votes.sum(axis=1).astype(np.float64)
        self.values: FloatArray = np.arange(K, dtype=np.float64)
        if level in ("interval", "ratio") or (level == "ordinal" and values is not None):
            self.values = _check_values(level, K, values)
        if level == "ordinal":
            self._rank: IntArray = np.unique(self.values, return_inverse=True)[1]
            self._by_rank = sparse.csr_array((np.ones(K), (np.arange(K), self._rank)))
        else:
            self._fixed = self._within_rows()

    def alphas(self, weights: FloatArray, n: float) -> FloatArray:
        """α of the rows with some weights, each scaled to n ratings; shape (B, R) to (B,).

        The ratings of no row of `weights` may be all alike.
        """
        found = np.empty(len(weights))
        step = max(1, CELLS // max(*self.votes.shape, self.votes.nnz))
        for start in range(0, len(weights), step):
            part = weights[start : start + step]
            found[start : start + step] = self._alphas(part * (n / (part @ self.m))[:, None], n)
        return found

    def refuse_alike(self, weights: FloatArray) -> None:
        """Refuse ratings that are all alike; weights have shape (R,).

        Raises
        ------
        NotIdentified
            If they are.
        """
        if len(np.unique(self.values[np.flatnonzero(self.votes.T @ weights)])) < 2:
            raise NotIdentified(
                "all ratings are alike: observed and expected disagreement are both 0, alpha is 0/0"
            )

    def _alphas(self, weights: FloatArray, n: float) -> FloatArray:
        marginals: FloatArray = (self.votes.T @ weights.T).T
        if self.level == "ordinal":
            ranked: FloatArray = (self._by_rank.T @ marginals.T).T
            x = (np.cumsum(ranked, axis=1) - ranked / 2)[:, self._rank]
            observed, expected = (weights * self._spread_within(x)).sum(axis=1), _spread(marginals, x)
        else:
            observed = weights @ self._fixed
            if self.level == "nominal":
                expected = marginals.sum(axis=1) ** 2 - (marginals**2).sum(axis=1)
            elif self.level == "interval":
                expected = _spread(marginals, self.values[None])
            else:
                expected = _ratio_spread(marginals, self.values)
        alpha: FloatArray = 1.0 - (n - 1) * observed / expected
        return alpha

    def _within_rows(self) -> FloatArray:
        """Disagreement within every row at a level at which it does not depend on weights; shape (R,)."""
        if self.level == "nominal":
            same = self.votes.multiply(self.votes).sum(axis=1)
            return np.asarray((self.m**2 - same) / (self.m - 1))
        if self.level == "interval":
            found: FloatArray = self._spread_within(self.values[None])[0]
            return found
        ends = self.votes.indptr[1:-1]
        numbers, counts = (np.split(x, ends) for x in (self.values[self.votes.indices], self.votes.data))
        pairs = [v @ _ratio(x) @ v for x, v in zip(numbers, counts, strict=True)]
        return np.array(pairs) / (self.m - 1)

    def _spread_within(self, x: FloatArray) -> FloatArray:
        """Σ_ck v_c v_k (x_c − x_k)² / (m − 1) of every row; shape (B, K) to (B, R).

        Differences to the row's first class are summed, so that a row of one class gives exactly 0.
        """
        starts, classes, counts = self.votes.indptr[:-1], self.votes.indices, self.votes.data
        first = np.repeat(classes[starts], np.diff(self.votes.indptr))
        y = x[:, classes] - x[:, first]
        squares = np.add.reduceat(counts * y**2, starts, axis=1)
        found: FloatArray = 2 * (self.m * squares - np.add.reduceat(counts * y, starts, axis=1) ** 2)
        return found / (self.m - 1)


def _check_values(level: str, K: int, values: FloatArray | None) -> FloatArray:
    if values is None:
        raise EstimateError(f"level {level!r} needs the number every class stands for; none are given")
    x = np.asarray(values, dtype=np.float64)
    if x.shape != (K,) or not np.isfinite(x).all():
        raise EstimateError(f"values must be {K} finite numbers, are {x.tolist()[:8]}")
    if level == "ratio" and (x < 0).any():
        raise EstimateError(f"values must be at least 0 at the ratio level, are {x[x < 0].tolist()[:8]} …")
    return x


def _spread(w: FloatArray, x: FloatArray) -> FloatArray:
    """Σ_ck w_c w_k (x_c − x_k)², around the mean; w of shape (B, K), x of (B, K) or (1, K)."""
    total = w.sum(axis=1)
    mean = (w * x).sum(axis=1) / total
    found: FloatArray = 2 * total * (w * (x - mean[:, None]) ** 2).sum(axis=1)
    return found


def _ratio_spread(w: FloatArray, x: FloatArray) -> FloatArray:
    """Σ_ck w_c w_k ((x_c − x_k)/(x_c + x_k))², shape (B, K) to (B,), in O(K) by an integral.

    As 1/(x + y)² = ∫ t e^{−(x + y)t} dt, it is ∫ t Σ_ck u_c u_k (x_c − x_k)² dt with u_c = w_c e^{−x_c t}.
    With t = e^s the trapezoidal rule errs by 2 |Γ(2 + 2πi/h)| of each summand, 2e-15 at the step h = 1/4.
    """
    x = x / max(float(x.max()), 1e-300)
    least = float(x[x > 0].min()) if x.any() else 1.0
    t = np.exp(np.arange(np.log(0.5e-8), np.log(50 / least), _STEP))
    found = np.zeros(len(w))
    for part in np.array_split(t, max(1, 3 * len(x) * len(t) // CELLS)):
        decay = np.exp(-np.outer(x, part))
        weight = w.mean(axis=0) @ decay
        centre = divide((w.mean(axis=0) * x) @ decay, weight, where=weight > 0, empty=0.0)
        y = x[:, None] - centre  # sums of squares around the mean do not cancel
        zero, one, two = (w @ (decay * y**power) for power in (0, 1, 2))
        found += _STEP * (2 * (zero * two - one**2)) @ part**2
    return found


def _ratio(x: FloatArray) -> FloatArray:
    """((x_c − x_k)/(x_c + x_k))² of all pairs, 0 for two zeros."""
    total = x[:, None] + x
    return divide(x[:, None] - x, total, where=total > 0, empty=0.0) ** 2
