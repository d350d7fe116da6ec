"""Intervals of an accuracy by name, and of shares of items: in clusters, in strata of a draw, as a factor.

The variance of a mean over items that come in clusters of any sizes, at every null hypothesis.

Items of one cluster may be right or wrong together. Item i has the weight w_i (Σw = 1) and the outcome g_i.
Cluster j has the share h_j = Σw_i, the residual R_j = Σ w_i (g_i − ḡ) and the pairs P_j = h_j² − Σw_i², sums
over its items; P = ΣP_j. At a null hypothesis θ from which the mean is U away, the variance is the larger of

    M(θ) (1 + 2Σh_j²),  M(θ) = φ I(θ) + ρ s(θ) P     what pairs add to independent items
    Σ_j (c R_j + h_j U)²,  c² = M(θ)/M(θ̂)            squared residuals around θ instead of ḡ

I is the variance of the mean of independent items, φ ≥ 1 the observed one over it at the estimate θ̂, s(θ) the
variance of an item's truth, and ρ the correlation within clusters. 1/Σh_j² is their effective number. Two
over it pays for the few clusters that ρ is measured with: if each is right or wrong as a whole, limits are
near those of Clopper and Pearson. ρ solves the moment equation

    ΣR_j² = o (1 − Σh_j²) + ρ s(θ̂) Σ[(1 − 2h_j) P_j + h_j² P],   o = Σ w_i² (g_i − ḡ)²

which counts that a large cluster pulls ḡ towards itself (the bias correction of Bell & McCaffrey 2002, Surv.
Methodol. 28). A tenth of one more cluster that is wrong as a whole is added to both sides: if all items are
right, nothing says that they are so independently, and ρ is 1.

Residuals around θ need the normal quantile, not Student's: the sum of symmetric R_j over √ΣR_j² has lighter
tails than a normal variable whatever the sizes (Efron 1969, J. Am. Stat. Assoc. 64).

The interval of a mean that only a share of the items carries.

θ = ρ μ: an accuracy is the readable share times the accuracy of what is readable, a difference of two
models the share of items they differ on times the difference there. With ρ̂ = m/n, its Clopper–Pearson
interval [ρ_l, ρ_u] and an interval [l, u] of μ,

    low = ρ̂μ̂ − √( (ρ̂(μ̂ − l))² + (l(ρ_e − ρ̂))² ),   ρ_e = ρ_u if l < 0 else ρ_l

and high likewise; where l or u is an end of μ's own range [−1, 1] and asks for the larger share, the end
is that of the share. It is the method of variance estimates recovery with the share's part taken at the
end of μ instead of at μ̂, which is what holds: simulated coverage with exact parts is .946 or more
for n = 12–150 (product of two intervals: .96–1.00 and up to 1.5 times as wide).

The information that a proportional draw within strata adds to the items.

Items drawn in proportion from strata vary within them only: the mean of z over n items has the variance
Σ_h n_h s_h²/n², s_h² the variance within stratum h, where as many items drawn at random have s²/n. The ratio
is the design effect d ≤ 1 of the draw, and n/d items drawn at random would tell as much (Kish 1965).

If a share f of the drawn items is left (experts are silent or slow), those left are a random part, in
which strata vary in size again: d = 1 − f (1 − d_within).

Score interval of a weighted mean of accuracies from binomial samples: no estimate per group is clipped.

A success of a sample is worth 1 and a failure 2 − K', so that X = (K' − 1)·1{success} − (K' − 2) has mean A
(`oversight.harness.estimate.core.BinomialSample`). At a hypothetical A the samples of a group are weighted by
their information, n/(A + K' − 2) up to a common factor, and groups by their share. With v_j those weights and
M(A) = Σ_j v_j X̄_j, A is accepted where |M(A) − A| ≤ t √W,

    W = max{ Σ v_j² (1−A)(A+K'_j−2)/n_j,  Σ v_j² Σ (X − M)²/n_j² },

t Student's with as many degrees of freedom as labels. Weights do not depend on the answers, so M stays
unbiased where groups differ, and the observed variance sees the difference.

Finite-sample deviation bounds: Hoeffding, empirical Bernstein, and their union for a mixture.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Theorem 2 and Proposition 3. All
return the half-width of an interval around the estimate. The n − 1 under the empirical variance in the
statements is right, because the bound of Maurer & Pontil 2009 is about the unbiased variance; the n in the
paper's proof is a slip.

Exact interval of A: inversion of the exact test that orders outcomes by the score statistic.

For independent S_j ~ Bin(n_j, q_j(A)) the score is V(A)/(1 − A) with V = Σ S_j/q_j − N, so at a
given A outcomes are ordered by |Σ s_j/q_j(A) − N|. The p-value p(A) sums the probabilities of all
outcomes at least as extreme as the one observed, and the interval is the hull of {A: p(A) > α}.
The true A is in that set with probability ≥ 1 − α, whatever it is.

p(A) jumps at ties of two outcomes, so it is not monotone and no grid alone finds the hull. Here
the search is by branch and bound: on a cell [A1, A2] the outcomes that are extreme for *some* A in
the cell form an upper and a lower set, whose probabilities are largest at A2 and at A1 (binomials
are stochastically increasing in A). Cells whose bound is ≤ α cannot hold a point of the set; the
outermost others are halved on until they are narrower than `tol`. The ends returned are cell
edges on the outer side: never too narrow, by less than `tol` too wide.

Approximate intervals of A by inverting a test: score and likelihood ratio.

Both invert (★) of `likelihood` and so allow any number of samples of different K: pooled by K, at least
one, and with their A_ML. Neither is exact; `exact` is. By exact enumeration (K = 3 to 16, 30 to 300
labels) they cover .95 on average, but as little as .84 (score) and .82 (likelihood ratio), mostly near
A = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv, gammaln, stdtrit

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_level,
    clopper_pearson,
    effective_clusters,
    find_edge,
    jeffreys,
    wilson,
    z_value,
)
from oversight.harness.estimate.estimators import Point, log_likelihood
from oversight.harness.types import Interval, Note, NoteKind

_ONE_MORE = 0.1
"""Part of one more cluster, wrong as a whole, that is added to the moment equation."""
_STEP = 0.15
"""Part of the step 1/n of n effective items that a skewed mean may jump at once; one half is Yates's."""
_TINY = 1e-12


def cluster_correlation(
    sums: FloatArray,
    share: FloatArray,
    pairs: FloatArray,
    own: float,
    spread: float,
    *,
    items: int,
    far: float = 1.0,
) -> float:
    """ρ of the module, within [0, 1].

    Parameters
    ----------
    sums, share, pairs
        Shape (J,): R, h and P of every cluster; no h is 0.
    own, spread
        o and s(θ̂) of the module.
    items, far
        Number of items; squared residual of an item of the added cluster.
    """
    extra = _ONE_MORE * far * (1 / len(sums)) * (1 / len(sums) - 1 / items)
    squares = share**2
    reached = float(((1 - 2 * share) @ pairs) + pairs.sum() * squares.sum())
    whole = spread * reached + extra
    excess = float((sums**2).sum()) - own * (1 - float(squares.sum()))
    return min(1.0, max(0.0, (excess + extra) / whole)) if whole > _TINY**2 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVariance:
    """Components of the variance at every null hypothesis, see the module.

    Attributes
    ----------
    squares, cross, concentration
        ΣR², ΣRh and Σh² over clusters; the last is 1 over their effective number.
    pairs, correlation, excess, at_estimate
        P, ρ, φ and M(θ̂).
    """

    squares: float
    cross: float
    concentration: float
    pairs: float
    correlation: float
    excess: float
    at_estimate: float

    @classmethod
    def of(
        cls, cluster: IntArray, weight: FloatArray, residual: FloatArray, independent: float, spread: float
    ) -> ClusterVariance:
        """Compute the components at the estimate.

        Parameters
        ----------
        cluster, weight, residual
            Shape (N,): number of the item's cluster, w, and g − ḡ.
        independent, spread
            I and s at the estimate.
        """
        number = np.unique(cluster, return_inverse=True)[1]
        share, alone, sums = (
            np.bincount(number, x).astype(np.float64) for x in (weight, weight**2, weight * residual)
        )
        own = float(((weight * residual) ** 2).sum())
        pairs = share**2 - alone
        rho = cluster_correlation(sums, share, pairs, own, spread, items=len(weight))
        excess = max(1.0, own / max(independent, _TINY))
        return cls(
            squares=float(sums @ sums),
            cross=float(sums @ share),
            concentration=float(share @ share),
            pairs=float(pairs.sum()),
            correlation=rho,
            excess=excess,
            at_estimate=max(_TINY, excess * independent + rho * spread * float(pairs.sum())),
        )

    def at(self, independent: float, spread: float, gap: float) -> tuple[float, float]:
        """M(θ), and the variance at a null hypothesis of these I, s and U."""
        model = self.excess * independent + self.correlation * spread * self.pairs
        scale = model / self.at_estimate
        around = scale * self.squares + 2 * gap * math.sqrt(scale) * self.cross + gap**2 * self.concentration
        return model, max((1 + 2 * self.concentration) * model, around)


def skewed_step(model: float, theta: float, square: float, gap: float) -> float:
    """How far a mean of +1, 0 and −1 may exceed its normal limits on the side of its longer tail.

    A part of the step of one effective item, M/s, by how skewed an item's truth is; at most half the gap.

    Parameters
    ----------
    model
        M(θ).
    theta, square, gap
        Mean and mean square of an item's truth under the null hypothesis, and U.
    """
    spread, third = square - theta**2, theta - 3 * theta * square + 2 * theta**3
    if gap * third <= 0 or spread <= 0:
        return 0.0
    return min(abs(gap) / 2, _STEP * model * abs(third) / spread**2)


def share_interval(m: float, n: float, level: float) -> tuple[float, float]:
    """Clopper–Pearson interval of a share, also for a fractional effective size."""
    tail = (1 - level) / 2
    low = 0.0 if m <= 0 else float(betaincinv(m, n - m + 1, tail))
    return low, 1.0 if m >= n else float(betaincinv(m + 1, n - m, 1 - tail))


def effective_size(values: FloatArray, cluster: IntArray, level: float) -> float:
    """Number of independent items with the same precision of the mean, at most N.

    N over the design effect 1 + ρ N P, with ρ and P of `oversight.harness.estimate.intervals`, and
    over (t/z)² for the few clusters that ρ is measured with; t has the effective clusters
    (`effective_clusters`) less one as degrees of freedom. At least the effective clusters: a cluster tells as
    much as one item. Source: Korn & Graubard 1998, Surv. Methodol. 24.

    Parameters
    ----------
    values, cluster
        Shape (N,): values in [−1, 1], and number of the item's cluster, at least two.
    """
    n, size = len(values), np.bincount(cluster).astype(np.float64)
    size = size[size > 0]
    rest = values - values.mean()
    own, mean = float((rest**2).sum()) / n**2, abs(float(values.mean()))
    pairs, sums = size * (size - 1) / n**2, np.bincount(np.unique(cluster, return_inverse=True)[1], rest) / n
    far = max(mean, 1 - mean) ** 2
    rho = cluster_correlation(sums, size / n, pairs, own, own * n, items=n, far=far)
    effective = effective_clusters(cluster)
    few = float(stdtrit(max(1.0, effective - 1), 0.5 + level / 2)) / z_value(level)
    return max(n / (1 + rho * n * float(pairs.sum())) / few**2, min(n, effective))


def scale_by_share(
    share: float, n: float, value: float, low: float, high: float, level: float
) -> tuple[float, float, float]:
    """ρ̂μ̂ with its interval.

    Parameters
    ----------
    share, n
        Share of n items (possibly an effective number) that carry the mean.
    value, low, high
        Estimate and interval of the mean over those items, in [−1, 1], low ≤ value ≤ high.
    """
    least, most = share_interval(share * n, n, level)

    def end(mean_end: float, sign: int) -> float:
        outer = most if sign * mean_end > 0 else least
        if sign * mean_end >= 1 - 1e-9:
            return sign * most
        gap = math.hypot(share * (value - mean_end), mean_end * (outer - share))
        return share * value + sign * gap

    return share * value, max(-1.0, end(low, -1)), min(1.0, end(high, 1))


FAR_ITEMS = 4.0
"""Items far from the mean that are added to both variances, so that few or no wrong answers prove nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStrata:
    """The stratum of every item of an estimate.

    Attributes
    ----------
    number
        Shape (n,): from 0.
    share
        Share of the drawn items that these items are, in [0, 1].
    """

    number: IntArray
    share: float

    def take(self, rows: AnyIntArray) -> DrawnStrata:
        """Select items of a kind whose number the draw did not fix."""
        share = self.share * len(rows) / max(1, len(self.number))
        return DrawnStrata(number=self.number[rows], share=share)


def design_effect(values: FloatArray, strata: DrawnStrata) -> float:
    """Variance of the mean of values in [0, 1] over that of equally many random items, at most 1.

    An item alone in its stratum counts as drawn at random, and so do `FAR_ITEMS` items far from the mean.
    """
    n, mean = len(values), float(values.mean())
    _, code, size = np.unique(strata.number, return_inverse=True, return_counts=True)
    centre = np.bincount(code, values) / size
    rest = np.bincount(code, (values - np.where(size == 1, mean, centre)[code]) ** 2)
    within = float((rest * np.where(size == 1, 1.0, size / np.maximum(size - 1, 1))).sum())
    far = FAR_ITEMS * max(mean, 1 - mean) ** 2
    whole = float(((values - mean) ** 2).sum()) * n / max(1, n - 1)
    return 1 - strata.share * (1 - min(1.0, (within + far) / (whole + far)))


def drawn_interval(right: FloatArray, strata: DrawnStrata, level: float) -> tuple[float, float, str]:
    """Interval of a share of items, each right (1) or wrong (0), with the name of its method.

    Blaker's exact one, or Clopper–Pearson's at the number of items drawn at random that tell as much
    (Korn & Graubard 1998, Surv. Methodol. 24), whichever is narrower: they differ much only where strata do.
    """
    n, count = len(right), int(right.sum())
    low, high = blaker(count, n, level)
    size = n / design_effect(right, strata)
    least, most = share_interval(count / n * size, size, level)
    return (least, most, "clopper-pearson+strata") if most - least < high - low else (low, high, "blaker")


_EDGE = 1e-9


def weighted_score(
    groups: Sequence[tuple[float, Sequence[BinomialSample]]], level: float
) -> tuple[float, float, float, float]:
    """Estimate, ends of the interval in [0, 1], and standard error.

    Parameters
    ----------
    groups
        Share of every group (the shares sum to 1), and its samples, each with n ≥ 1.

    Raises
    ------
    EstimateError
        If the labels contradict every A in [0, 1].
    """
    share = np.array([w for w, samples in groups for _ in samples])
    group = np.array([h for h, (_, samples) in enumerate(groups) for _ in samples])
    K, n, S = np.array([(c.K, c.n, c.S) for _, samples in groups for c in samples]).T
    own = ((K - 1) * S - (K - 2) * n) / n
    t = float(stdtrit(n.sum(), 0.5 + level / 2))

    def look(A: float) -> tuple[float, float]:
        A = min(1 - _EDGE, max(_EDGE, A))
        weight = n / (A + K - 2)
        weight *= share / np.bincount(group, weight)[group]
        mean = float(weight @ own)
        model = float((weight**2 * (1 - A) * (A + K - 2) / n).sum())
        seen = float((weight**2 * (S * (1 - mean) ** 2 + (n - S) * (2 - K - mean) ** 2) / n**2).sum())
        return mean - A, math.sqrt(max(model, seen))

    def search(inside: float, end: float, side: int) -> float:
        """Return the farthest accepted A towards `end`; side 0 solves M(A) = A."""

        def holds(A: float) -> bool:
            gap, se = look(A)
            return gap >= 0 if side == 0 else abs(gap) <= t * se

        return find_edge(holds, inside, end)

    best = 0.0 if look(0.0)[0] <= 0 else search(0.0, 1.0, 0)
    gap, se = look(best)
    if abs(gap) > 2 * t * se:
        raise EstimateError(
            f"the labels contradict every accuracy: at {best:.0%} their mean is still {gap:+.2f} away"
        )
    # if every A is refuted by chance, the interval is the smallest one that is not empty
    t = max(t, 1.1 * abs(gap) / se) if se > 0 else t
    value = best + gap if best in (0.0, 1.0) else best
    return value, search(best, 0.0, 1), search(best, 1.0, 1), se


def hoeffding(K: float, n: int, delta: float) -> float:
    """Theorem 2, first branch: half-width (K − 1) √(log(2/δ)/(2n)) for one sample.

    K = 2 gives the bound of an ordinary sample.
    """
    return (K - 1) * math.sqrt(math.log(2 / delta) / (2 * n))


def bernstein(K: float, S: int, n: int, delta: float) -> float:
    """Theorem 2, second branch: (K − 1){√(2q̂(1−q̂) log(4/δ)/(n−1)) + 7 log(4/δ)/(3(n−1))}.

    Raises
    ------
    EstimateError
        If n < 2.
    """
    if n < 2:
        raise EstimateError(f"n must be at least 2 for this bound, is {n}")
    q_hat = S / n
    log = math.log(4 / delta)
    return (K - 1) * (math.sqrt(2 * q_hat * (1 - q_hat) * log / (n - 1)) + 7 * log / (3 * (n - 1)))


def union_radius(
    parts: Sequence[BinomialSample], weights: Sequence[float], deltas: Sequence[float], *, empirical: bool
) -> float:
    """Σ w_j r_j with r_j the half-width of sample j at δ_j; also valid for data-dependent weights.

    The samples' bounds hold together with probability 1 − Σ δ_j, whatever is then made of them.
    A_ML is such a mixture (weights by information at A_ML), so the bound covers it as well.

    Parameters
    ----------
    parts
        The samples.
    weights
        Weights in [0, 1] summing to 1; a sample of weight 0 costs nothing.
    deltas
        Error probabilities of the samples.
    empirical
        Bernstein if true, else Hoeffding.

    Raises
    ------
    EstimateError
        If a sample is too small.
    """
    total = 0.0
    for c, w, delta in zip(parts, weights, deltas, strict=True):
        if w:
            total += w * (bernstein(c.K, c.S, c.n, delta) if empirical else hoeffding(c.K, c.n, delta))
    return total


_CELLS = 16
_TABLE_RATIO = 50
"""Trials per wanted tail probability above which a table of all of them costs too much."""
_LEAST_CHANCE = 1e-300
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
    """Outer edge of the outermost cell of [a, b] that may contain a point with p > alpha."""
    edges = np.linspace(a, b, 2 * _CELLS + 1, dtype=np.float64)
    found = _search(lattice, edges, alpha, tol, left=left)
    if found is None:  # the estimate itself has p = 1, up to rounding
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
    """All outcomes of the components, with the largest component summed by its tails."""

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
    return np.maximum((A + c.K - 2) / (c.K - 1), _LEAST_CHANCE)


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
    """As `_tails_from_table`, by the incomplete beta function, for few values."""
    q = np.minimum(_q(c, edges), 1.0)[:, None]
    below = np.where(at_most < 0, 0.0, bdtr(np.maximum(at_most, 0.0), c.n, q[:-1]))
    above = np.where(at_least < 1, 1.0, bdtrc(np.maximum(at_least - 1.0, 0.0), c.n, q[1:]))
    return below, above


def _pmf(c: BinomialSample, A: FloatArray) -> FloatArray:
    """Binomial probabilities of 0..n at every A, one row each."""
    s = np.arange(c.n + 1.0)
    log_choose = gammaln(c.n + 1) - gammaln(s + 1) - gammaln(c.n - s + 1)
    log_q = np.log(_q(c, A))[:, None]
    log_p = np.log(np.maximum((1 - A) / (c.K - 1), _LEAST_CHANCE))[:, None]
    pmf: FloatArray = np.exp(log_choose + s * log_q + (c.n - s) * log_p)
    return pmf


_GRID = 64


def score_interval(parts: tuple[BinomialSample, ...], A: float, level: float = 0.95) -> tuple[float, float]:
    """Hull of {A: U(A)² ≤ z² I(A)} with the expected information.

    With V = Σ S_j/q_j − N the condition is V² ≤ z² (1 − A) Σ n_j/(A + K_j − 2). One sample gives
    Wilson's interval of q carried over to A and cut to [0, 1].

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    z2 = z_value(level) ** 2
    checked = parts[0].n if parts[0].K == 2 else 0
    right = parts[0].S if checked else 0

    def holds(a: float) -> bool:
        if a <= 0 and checked:  # the information of a checked prediction is infinite at 0
            return right == 0
        V = sum(p.S * (p.K - 1) / (a + p.K - 2) for p in parts) - sum(p.n for p in parts)
        return z2 * (1 - a) * sum(p.n / (a + p.K - 2) for p in parts) * (1 + 1e-12) >= V * V

    return _hull(holds, A)


def likelihood_ratio_interval(
    parts: tuple[BinomialSample, ...], A: float, level: float = 0.95
) -> tuple[float, float]:
    """{A: 2(ℓ(A_ML) − ℓ(A)) ≤ z²}; an interval because ℓ is concave.

    Raises
    ------
    EstimateError
        If the level leaves (0, 1).
    """
    floor = log_likelihood(parts, A) - z_value(level) ** 2 / 2

    def holds(a: float) -> bool:
        return log_likelihood(parts, a) >= floor

    return _hull(holds, A)


def _hull(holds: Callable[[float], bool], A: float) -> tuple[float, float]:
    """Outermost points that hold, found on a grid and then by bisection; (A, A) if there are none.

    The second case occurs only at A = 0, if fewer refusals were avoided than any A allows.
    """
    return _edge(holds, A, 0.0), _edge(holds, A, 1.0)


def _edge(holds: Callable[[float], bool], A: float, end: float) -> float:
    if holds(end):
        return end
    outside = end
    for inner in np.linspace(end, A, _GRID)[1:].tolist():
        if holds(inner):
            return find_edge(holds, inner, outside)
        outside = inner
    return A


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
    """Raise an error for a name that is not in `INTERVALS`.

    Raises
    ------
    EstimateError
        If the interval does not exist.
    """
    if method not in INTERVALS:
        raise EstimateError(f"interval must be one of {', '.join(INTERVALS)}, is {method!r}")


def make_interval(point: Point, method: str = "exact", level: float = 0.95) -> Interval:
    """Confidence interval of A for a point estimate and its samples.

    Parameters
    ----------
    point
        The estimate.
    method
        ``exact``: test inversion over all outcomes (coverage ≥ `level`), Blaker's where
        every label settles its prediction, that of `weighted_score` beyond `LATTICE_LIMIT` outcomes.
        ``score``, ``likelihood_ratio``: inversion of (★), approximate.
        ``wald``: value ± z·se, as published; too short near 0 and 1.
        ``blaker``, ``wilson``, ``jeffreys``, ``clopper_pearson``: for a single sample (`ord`, `comp`, or `ml`
        with labels of one kind).
        ``hoeffding``, ``bernstein``: distribution-free bounds around the value.
    level
        Confidence level, in (0, 1).


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
    elif method == "exact" and lattice_size(parts) > LATTICE_LIMIT * (10 if len(parts) == 2 else 1):
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


def _widen_until_some(point: Point, method: str, level: float) -> tuple[float, float, int]:
    """Ends in [0, 1] at the level, or at the first higher level that leaves some A.

    The number counts how often the error was divided by ten. Chance alone leaves no A in fewer than 1 −
    level of all samples, so that 2 or more indicate a violated assumption.
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
