"""Exact interval of A: inversion of the exact test that orders outcomes by the score statistic.

For independent S_j ~ Bin(n_j, q_j(A)) the score is V(A)/(1 − A) with V = Σ S_j/q_j − N, so at a
given A outcomes are ordered by |Σ s_j/q_j(A) − N|. The p-value p(A) sums the probabilities of all
outcomes at least as extreme as the one observed, and the interval is the hull of {A: p(A) > α}.
The true A is in that set with probability ≥ 1 − α, whatever it is.

p(A) jumps wherever two outcomes tie, so it is not monotone and no grid alone finds the hull. Here
the search is by branch and bound: on a cell [A1, A2] the outcomes that are extreme for *some* A in
the cell form an upper and a lower set, whose probabilities are largest at A2 and at A1 (binomials
are stochastically increasing in A). Cells whose bound is ≤ α cannot hold a point of the set; the
outermost others are halved on until they are narrower than `tol`. The ends returned are cell
edges on the outer side: never too narrow, by less than `tol` too wide.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.core import BinomialSample, check_level

_CELLS = 16
_TABLE_RATIO = 50
"""More trials than this for every tail probability wanted make a table of all of them too dear."""
_TINY = 1e-300
_TIE_TOLERANCE = 1e-7
"""Outcomes this close to a tie (in counts) are taken as extreme: rounding must not narrow."""


def lattice_size(parts: tuple[BinomialSample, ...]) -> int:
    """Number of possible outcomes, Π (n_j + 1) over the pooled samples."""
    return math.prod(c.n + 1 for c in parts)


def exact_interval(
    parts: tuple[BinomialSample, ...], A: float, level: float = 0.95, tol: float = 1e-7
) -> tuple[float, float]:
    """Return the hull of {A: p(A) > 1 − level}, widened by less than `tol` at either end.

    Parameters
    ----------
    parts
        Independent samples, those of equal K pooled (their sum is sufficient); at least one.
    A
        A_ML of the samples.
    level
        Confidence level, in (0, 1).
    tol
        Width of the last cells.

    Notes
    -----
    The cost grows with the smaller samples, not with the lattice: for a given outcome of all
    components but the largest, the extreme outcomes of the largest are two tails.

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    check_level(level)
    lattice = _Lattice(parts)
    low = _outermost(lattice, 0.0, A, 1 - level, tol, left=True) if A > 0 else 0.0
    high = _outermost(lattice, A, 1.0, 1 - level, tol, left=False) if A < 1 else 1.0
    return low, high


def _outermost(lattice: _Lattice, a: float, b: float, alpha: float, tol: float, *, left: bool) -> float:
    """Outer edge of the outermost cell of [a, b] that may hold a point with p > alpha."""
    edges = np.linspace(a, b, 2 * _CELLS + 1, dtype=np.float64)
    found = _search(lattice, edges, alpha, tol, left=left)
    if found is None:  # the estimate itself has p = 1; only rounding can lose it
        return b if left else a
    return found


def _search(lattice: _Lattice, edges: FloatArray, alpha: float, tol: float, *, left: bool) -> float | None:
    possible = np.flatnonzero(lattice.bound(edges, left=left) > alpha * (1 - 1e-9))
    for i in possible if left else possible[::-1]:
        a, b = float(edges[i]), float(edges[i + 1])
        if b - a <= tol:
            return a if left else b
        inner = _search(lattice, np.linspace(a, b, _CELLS + 1, dtype=np.float64), alpha, tol, left=left)
        if inner is not None:
            return inner
    return None


class _Lattice:
    """All outcomes of the components, with one of them (the largest) summed by its tails."""

    def __init__(self, parts: tuple[BinomialSample, ...]) -> None:
        ordered = sorted(parts, key=lambda c: c.n)
        self.inner, outer = ordered[-1], ordered[:-1]
        axes = np.meshgrid(*(np.arange(c.n + 1.0) for c in outer), indexing="ij")
        self.outer = [(c, axis.ravel()) for c, axis in zip(outer, axes, strict=True)]
        self.size = self.outer[0][1].size if self.outer else 1
        self.N = sum(c.n for c in parts)

    def bound(self, edges: FloatArray, *, left: bool) -> FloatArray:
        """Upper bound of p(A) on every cell between neighbouring edges.

        `left` says that the cells lie left of the estimate, where the observed outcome is high:
        then the upper set is "at least as high as observed" and the lower one its mirror image;
        right of the estimate the roles change.
        """
        A1, A2 = edges[:-1, None], edges[1:, None]
        near = np.zeros((A1.size, self.size))
        far = np.zeros((A1.size, self.size))
        for c, s in self.outer:
            inv1, inv2 = 1 / _q(c, A1), 1 / _q(c, A2)
            d = s - c.S
            # the sign of d decides at which end of the cell the term is most permissive
            near += d * np.where((d >= 0) == left, inv1, inv2)
            far += (s + c.S) * (inv2 if left else inv1)
        q1, q2 = _q(self.inner, A1), _q(self.inner, A2)
        cut_near = self.inner.S - near * np.where((near >= 0) == left, q2, q1)
        cut_far = (2 * self.N - far) * (q2 if left else q1) - self.inner.S
        high, low = (cut_near, cut_far) if left else (cut_far, cut_near)
        return self._probability(edges, low, high)

    def _probability(self, edges: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """P_{A1}(inner ≤ low) + P_{A2}(inner ≥ high), summed over the outer outcomes."""
        n = self.inner.n
        at_most = np.clip(np.floor(low + _TIE_TOLERANCE), -1, n).astype(np.int64)
        at_least = np.clip(np.ceil(high - _TIE_TOLERANCE), 0, n + 1).astype(np.int64)
        tails = _tails_one_by_one if n > _TABLE_RATIO * self.size else _tails_from_table
        below, above = tails(self.inner, edges, at_most, at_least)
        weight: FloatArray = np.ones((edges.size, 1))
        for c, s in self.outer:
            weight = weight * _pmf(c, edges)[:, s.astype(np.int64)]
        total: FloatArray = np.sum(weight[:-1] * below + weight[1:] * above, axis=1)
        return total


def _q(c: BinomialSample, A: FloatArray) -> FloatArray:
    return np.maximum((A + c.K - 2) / (c.K - 1), _TINY)


def _tails_from_table(
    c: BinomialSample, edges: FloatArray, at_most: IntArray, at_least: IntArray
) -> tuple[FloatArray, FloatArray]:
    """P_{A1}(S ≤ at_most) and P_{A2}(S ≥ at_least) for every cell, by summing all probabilities."""
    pmf = _pmf(c, edges)
    zero = np.zeros((edges.size, 1))
    cdf = np.concatenate([zero, np.cumsum(pmf, axis=1)], axis=1)[:-1]
    sf = np.concatenate([np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1], zero], axis=1)[1:]
    return np.take_along_axis(cdf, at_most + 1, axis=1), np.take_along_axis(sf, at_least, axis=1)


def _tails_one_by_one(
    c: BinomialSample, edges: FloatArray, at_most: IntArray, at_least: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Like `_tails_from_table`, by the incomplete beta function where only few are wanted."""
    q = np.minimum(_q(c, edges), 1.0)[:, None]
    below = np.where(at_most < 0, 0.0, bdtr(np.maximum(at_most, 0.0), c.n, q[:-1]))
    above = np.where(at_least < 1, 1.0, bdtrc(np.maximum(at_least - 1.0, 0.0), c.n, q[1:]))
    return below, above


def _pmf(c: BinomialSample, A: FloatArray) -> FloatArray:
    """Binomial probabilities of 0..n at every A, one row each."""
    s = np.arange(c.n + 1.0)
    log_choose = gammaln(c.n + 1) - gammaln(s + 1) - gammaln(c.n - s + 1)
    log_q = np.log(_q(c, A))[:, None]
    log_p = np.log(np.maximum((1 - A) / (c.K - 1), _TINY))[:, None]
    pmf: FloatArray = np.exp(log_choose + s * log_q + (c.n - s) * log_p)
    return pmf
