"""Intervals of an accuracy by method name, and intervals of shares of items.

**Clusters of any sizes** (`ClusterVariance`). Items of one cluster may be right or wrong together. Item i has
the weight w_i (Σw = 1) and the outcome g_i. Cluster j has the share h_j = Σw_i, the residual R_j = Σ w_i (g_i
− ḡ) and the pair weight P_j = h_j² − Σw_i², where the sums are over its items; P = ΣP_j. Under a null
hypothesis θ at the distance U from the mean, the variance is the larger of

    M(θ) (1 + 2Σh_j²),  M(θ) = φ I(θ) + ρ s(θ) P     independent items, and pairs within clusters
    Σ_j (c R_j + h_j U)²,  c² = M(θ)/M(θ̂)            squared residuals around θ instead of ḡ

I is the variance of the mean of independent items, and φ ≥ 1 the ratio of the observed variance to I at the
estimate θ̂. s(θ) is the variance of an item's truth, and ρ the correlation within clusters. The effective
number of clusters is 1/Σh_j². The factor 1 + 2Σh_j² allows for estimating ρ from few clusters: if every
cluster is right or wrong as a whole, the limits are close to those of Clopper and Pearson. ρ solves the
moment equation

    ΣR_j² = o (1 − Σh_j²) + ρ s(θ̂) Σ[(1 − 2h_j) P_j + h_j² P],   o = Σ w_i² (g_i − ḡ)²

which allows for a large cluster pulling ḡ towards itself (the bias correction of Bell & McCaffrey 2002, Surv.
Methodol. 28). A tenth of an additional cluster, wrong as a whole, is added to both sides. So ρ is 1 if all
items are right, because such data do not show that items are independent.

Residuals around θ use the normal quantile instead of Student's, because the sum of symmetric R_j divided by
√ΣR_j² has lighter tails than a normal variable for all sizes (Efron 1969, J. Am. Stat. Assoc. 64).

**Mean over a share of the items** (`scale_by_share`). θ = ρ μ: an accuracy is the readable share times the
accuracy of readable answers; a difference of two models is the share of items on which they differ times the
difference on these items. With ρ̂ = m/n, its Clopper–Pearson interval [ρ_l, ρ_u], and an interval [l, u] of μ,

    low = ρ̂μ̂ − √( (ρ̂(μ̂ − l))² + (l(ρ_e − ρ̂))² ),   ρ_e = ρ_u if l < 0 else ρ_l

and high likewise. If l = −1, low is −ρ_u; if u = 1, high is ρ_u. This is the method of variance estimates
recovery, with the share's part taken at the limit of μ instead of at μ̂. Simulated coverage with exact parts
is .946 or more for n = 12–150; the product of two intervals covers .96–1.00 and is up to 1.5 times as wide.

**Proportional draw within strata** (`DrawnStrata`). Items drawn in proportion from strata vary only within
strata: the variance of their mean is Σ_h n_h s_h²/n², where s_h² is the variance in stratum h. For n items
drawn at random it is s²/n. The ratio d ≤ 1 is the design effect; n/d items drawn at random give as much
information (Kish 1965). If only a share f of the drawn items has answers, the answered items are a random
part, in which the number of items per stratum is random: d = 1 − f (1 − d_within).

**Weighted score interval** (`weighted_score`). Inverts the score test of a weighted mean of accuracies from
binomial samples, without clipping any group's estimate. A success of a sample counts 1 and a failure 2 − K',
so that X = (K' − 1)·1{success} − (K' − 2) has mean A (`oversight.harness.estimate.core.BinomialSample`). At a
hypothetical A, the samples of a group are weighted by their information, in proportion to n/(A + K' − 2), and
groups by their share. With these weights v_j and M(A) = Σ_j v_j X̄_j, A is accepted if |M(A) − A| ≤ t √W,

    W = max{ Σ v_j² (1−A)(A+K'_j−2)/n_j,  Σ v_j² Σ (X − M)²/n_j² },

where t is Student's quantile with as many degrees of freedom as labels. Weights do not depend on the answers,
so M stays unbiased if groups differ, and the observed variance includes the difference.

**Finite-sample bounds** (`hoeffding`, `bernstein`, `union_radius`) return the half-width of an interval
around the estimate. Source: "Towards Scalable Oversight via Partitioned Human Supervision", Theorem 2 and
Proposition 3. The paper's statements rightly divide the empirical variance by n − 1, because the bound of
Maurer & Pontil 2009 is about the unbiased variance; the n in the paper's proof is a slip.

**Exact interval** (`exact_interval`). Inverts the exact test that orders outcomes by the score statistic. For
independent S_j ~ Bin(n_j, q_j(A)) the score is V(A)/(1 − A) with V = Σ S_j/q_j − N, so outcomes are ordered
by |Σ s_j/q_j(A) − N| at a given A. The p-value p(A) is the sum of the probabilities of all outcomes at least
as extreme as the observed one. The interval is the hull of {A: p(A) > α}, which contains the true A with
probability ≥ 1 − α, whatever A is.

p(A) jumps at ties of two outcomes, so it is not monotone, and a grid cannot find the hull. The search is by
branch and bound: on a cell [A1, A2], the outcomes that are extreme for *some* A of the cell form an upper and
a lower set, whose probabilities are largest at A2 and at A1 (binomials increase stochastically in A). A cell
whose bound is ≤ α contains no A with p(A) > α. The outermost of the remaining cells are halved until they are
narrower than `tol`. The ends are cell edges on the outer side, so the interval is never too narrow, and too
wide by less than `tol`.

**Approximate intervals** (`score_interval`, `likelihood_ratio_interval`) invert equation (★) of
`oversight.harness.estimate.estimators`, so they allow samples with different K. Their arguments are the
samples, pooled by K, and A_ML. By exact enumeration (K = 3 to 16, 30 to 300 labels) these intervals cover .95
on average, but only .84 (score) and .82 (likelihood ratio) at worst, mostly near A = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, stdtrit

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_known,
    check_level,
    clopper_pearson,
    count_effective,
    effective_clusters,
    find_edge,
    jeffreys,
    share_interval,
    wilson,
    z_value,
)
from oversight.harness.estimate.estimators import Point, log_likelihood
from oversight.harness.types import Interval, Note, NoteKind

_ONE_MORE = 0.1
"""Fraction of an additional cluster, all of whose items are wrong, in the moment equation of the module."""
_STEP = 0.15
"""Continuity correction of `skewed_step`, as a part of 1/(effective number of items); Yates's is one half."""
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
    """Return the correlation ρ within clusters, in [0, 1], by the moment equation of the module docstring.

    Parameters
    ----------
    sums, share, pairs
        Shape (J,): R_j, h_j > 0 and P_j of every cluster.
    own, spread
        o and s(θ̂).
    items
        Number of items.
    far
        Squared residual of an item of the additional cluster.
    """
    extra = _ONE_MORE * far * (1 / len(sums)) * (1 / len(sums) - 1 / items)
    squares = share**2
    reached = float(((1 - 2 * share) @ pairs) + pairs.sum() * squares.sum())
    whole = spread * reached + extra
    excess = float((sums**2).sum()) - own * (1 - float(squares.sum()))
    return min(1.0, max(0.0, (excess + extra) / whole)) if whole > _TINY**2 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVariance:
    """Components of the variance of a mean over clustered items; symbols as in the module docstring.

    Attributes
    ----------
    squares, cross, concentration
        ΣR_j², ΣR_j h_j and Σh_j²; the last is 1/(effective number of clusters).
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
        """Compute the components at the estimate θ̂; the symbols are those of `ClusterVariance`.

        Parameters
        ----------
        cluster, weight, residual
            Shape (N,): cluster number of each item, w_i, and g_i − ḡ.
        independent, spread
            I(θ̂) and s(θ̂).
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
        """Return M(θ) and the variance under the null hypothesis θ, from I(θ), s(θ), U (see the module)."""
        model = self.excess * independent + self.correlation * spread * self.pairs
        scale = model / self.at_estimate
        around = scale * self.squares + 2 * gap * math.sqrt(scale) * self.cross + gap**2 * self.concentration
        return model, max((1 + 2 * self.concentration) * model, around)


def skewed_step(model: float, theta: float, square: float, gap: float) -> float:
    """Return how far the mean of skewed outcomes in {−1, 0, 1} may exceed its normal limits.

    The result is `_STEP` · (M/s) · (skewness of an item's truth), and at most half of `gap`. M/s is the step
    of one effective item, where s² is the variance of an item's truth. The result is 0 on the side of the
    shorter tail.

    Parameters
    ----------
    model
        M(θ) of `ClusterVariance`.
    theta, square
        Mean and mean square of an item's truth under the null hypothesis.
    gap
        Distance U of the null hypothesis from the mean.
    """
    spread, third = square - theta**2, theta - 3 * theta * square + 2 * theta**3
    if gap * third <= 0 or spread <= 0:
        return 0.0
    return min(abs(gap) / 2, _STEP * model * abs(third) / spread**2)


def effective_size(
    values: FloatArray, cluster: IntArray, level: float, weight: FloatArray | None = None
) -> float:
    """Return the number of independent items whose mean is as precise as the mean of these clustered items.

    It is N divided by the design effect 1 + ρ N P, with ρ and P as in the module docstring, and by (t/z)²,
    because ρ is estimated from few clusters. t has `effective_clusters` − 1 degrees of freedom. The result is
    at most N, and at least `effective_clusters`, because a cluster carries at least the information of one
    item. With weights, N is the effective number of items (`count_effective`). Source: Korn & Graubard 1998,
    Surv. Methodol. 24.

    Parameters
    ----------
    values, cluster
        Shape (N,): values in [−1, 1], and cluster number of each item. At least two clusters are required.
    level
        Confidence level.
    weight
        Shape (N,), positive: weight of each item; None if all weights are equal.
    """
    w = np.full(len(values), 1 / len(values)) if weight is None else weight / weight.sum()
    centre, number = float(w @ values), np.unique(cluster, return_inverse=True)[1]
    rest = values - centre
    share, alone, sums = (np.bincount(number, x).astype(np.float64) for x in (w, w**2, w * rest))
    own, pairs, n = float(((w * rest) ** 2).sum()), share**2 - alone, count_effective(w)
    far = max(abs(centre), 1 - abs(centre)) ** 2
    rho = cluster_correlation(sums, share, pairs, own, own * n, items=len(values), far=far)
    effective = effective_clusters(cluster, weight)
    few = float(stdtrit(max(1.0, effective - 1), 0.5 + level / 2)) / z_value(level)
    return max(n / (1 + rho * n * float(pairs.sum())) / few**2, min(n, effective))


def scale_by_share(
    share: float, n: float, value: float, low: float, high: float, level: float
) -> tuple[float, float, float]:
    """Return the product ρ̂μ̂ of a share and a mean over that share, and the ends of its interval.

    Parameters
    ----------
    share, n
        Share ρ̂ of the items over which the mean is taken, and number of all items, which may be an effective
        number.
    value, low, high
        Estimate μ̂ and interval of the mean over that share, in [−1, 1], low ≤ value ≤ high.
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
"""Number of items far from the mean that are added to both variances of `design_effect`.

Otherwise a sample with few or no wrong answers would show a design effect near 0 by chance.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStrata:
    """Strata from which the items of an estimate were drawn in proportion to the strata's sizes.

    Attributes
    ----------
    number
        Shape (n,): stratum number of each item, from 0.
    share
        Number of the n items, divided by the number of all drawn items; in [0, 1].
    """

    number: IntArray
    share: float

    def take(self, rows: AnyIntArray) -> DrawnStrata:
        """Select the strata of the items at `rows`.

        The number of selected items per stratum is treated as random.
        """
        share = self.share * len(rows) / max(1, len(self.number))
        return DrawnStrata(number=self.number[rows], share=share)


def design_effect(values: FloatArray, strata: DrawnStrata) -> float:
    """Return the variance of a mean of values in [0, 1], divided by its variance for random draws; at most 1.

    An item that is alone in its stratum counts as drawn at random. `FAR_ITEMS` fictitious items far from the
    mean are added, and count as drawn at random too.
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
    """Return the ends of an interval of the share of right items, and the name of its method.

    It is the narrower of Blaker's exact interval and the Clopper–Pearson interval with the effective number
    of items (Korn & Graubard 1998, Surv. Methodol. 24). The two intervals differ much only if strata differ.

    Parameters
    ----------
    right
        Shape (n,): 1 for a right item, 0 for a wrong one.
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
    """Return the estimate, the ends of the weighted score interval in [0, 1], and the standard error.

    Parameters
    ----------
    groups
        One pair per group: its share and its samples. Every sample has n ≥ 1; the shares sum to 1.

    Raises
    ------
    EstimateError
        If the labels contradict every accuracy in [0, 1].
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
        """Return the last A on the way from `inside` to `end` that the test accepts.

        If `side` is 0, return the last A with M(A) ≥ A instead.
        """

        def holds(A: float) -> bool:
            gap, se = look(A)
            return gap >= 0 if side == 0 else abs(gap) <= t * se

        return find_edge(holds, inside, end)

    best = 0.0 if look(0.0)[0] <= 0 else search(0.0, 1.0, 0)
    gap, se = look(best)
    if abs(gap) > 2 * t * se:
        raise EstimateError(
            f"the labels contradict every accuracy: even the accuracy that fits best, {best:.0%}, differs "
            f"from the accuracy computed from the labels by {gap:+.2f}"
        )
    # if by chance every A is rejected, t is raised so that the interval is not empty
    t = max(t, 1.1 * abs(gap) / se) if se > 0 else t
    value = best + gap if best in (0.0, 1.0) else best
    return value, search(best, 0.0, 1), search(best, 1.0, 1), se


def hoeffding(K: float, n: int, delta: float) -> float:
    """Return Hoeffding's half-width (K − 1) √(log(2/δ)/(2n)) for one sample (Theorem 2, first branch).

    For an ordinary sample, pass K = 2.
    """
    return (K - 1) * math.sqrt(math.log(2 / delta) / (2 * n))


def bernstein(K: float, S: int, n: int, delta: float) -> float:
    """Return the empirical Bernstein half-width for one sample (Theorem 2, second branch).

    It is (K − 1){√(2q̂(1−q̂) log(4/δ)/(n−1)) + 7 log(4/δ)/(3(n−1))}.

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
    """Return the half-width Σ w_j r_j of a weighted mean of sample estimates.

    r_j is the half-width for sample j at error probability δ_j.

    The bounds of all samples are jointly valid with probability 1 − Σ δ_j, so the weights may depend on the
    data. A_ML is such a mean (with weights by the information at A_ML), so the bound also applies to it.

    Parameters
    ----------
    parts
        The samples.
    weights
        Weights in [0, 1] with sum 1; samples of weight 0 are ignored.
    deltas
        Error probabilities δ_j of the samples.
    empirical
        Whether to use `bernstein` instead of `hoeffding`.

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
"""Likely outcomes per required tail above which single tails are computed faster than a table."""
_LEAST_CHANCE = 1e-300
_NEGLIGIBLE = 45.0
_LARGE = 10_000
_TIE_TOLERANCE = 1e-7
"""Outcomes this close to a tie (in counts) count as extreme, so that rounding cannot narrow the interval."""


def lattice_size(parts: tuple[BinomialSample, ...]) -> int:
    """Return the number of possible outcomes, Π (n_j + 1) over the pooled samples."""
    return math.prod(c.n + 1 for c in parts)


def exact_interval(
    parts: tuple[BinomialSample, ...], A: float, level: float = 0.95, tol: float = 1e-7
) -> tuple[float, float]:
    """Return the ends of the exact interval, the hull of {A: p(A) > 1 − level} with the p-value p(A).

    Each end is moved outwards by less than `tol`.

    Parameters
    ----------
    parts
        Independent samples, pooled by K; at least one.
    A
        A_ML of the samples.
    level
        Confidence level, in (0, 1).
    tol
        Width of the cells at which the search stops.

    Notes
    -----
    The time grows with the number of outcomes of all samples except the largest. For each of these outcomes,
    the extreme outcomes of the largest sample are two tails.

    Raises
    ------
    EstimateError
        If the level is outside (0, 1).
    """
    check_level(level)
    lattice, ends = _Lattice(parts), []
    for a, b, left in ((0.0, A, True), (A, 1.0, False)):
        edges = np.linspace(a, b, 2 * _CELLS + 1, dtype=np.float64)
        end = _search(lattice, edges, 1 - level, tol, left=left) if a < b else None
        # the estimate itself has p = 1, up to rounding
        ends.append(A if end is None else end)
    return ends[0], ends[1]


def _search(lattice: _Lattice, edges: FloatArray, alpha: float, tol: float, *, left: bool) -> float | None:
    """Return the outer edge of the outermost cell that may contain a point with p > alpha.

    Return None if there is no such cell.
    """
    # In large samples, computing portions of cells from the outermost one is faster than computing all cells.
    width = _CELLS // 2 if lattice.N > _LARGE else edges.size - 1
    groups = range(0, edges.size - 1, width)
    for first in groups if left else reversed(groups):
        near = edges[first : first + width + 1]
        possible = np.flatnonzero(lattice.bound(near, left=left) > alpha * (1 - 1e-9))
        for i in possible if left else possible[::-1]:
            a, b = float(near[i]), float(near[i + 1])
            if b - a <= tol:
                return a if left else b
            inner = _search(lattice, np.linspace(a, b, _CELLS + 1, dtype=np.float64), alpha, tol, left=left)
            if inner is not None:
                return inner
    return None


class _Lattice:
    """Joint outcomes of all samples but the largest; those of the largest enter as tail probabilities."""

    def __init__(self, parts: tuple[BinomialSample, ...]) -> None:
        *self.outer, self.inner = sorted(parts, key=lambda c: c.n)
        self.N = sum(c.n for c in parts)

    def bound(self, edges: FloatArray, *, left: bool) -> FloatArray:
        """Return an upper bound of p(A) on every cell between neighbouring edges.

        With `left`, the cells lie left of the estimate, where the observed outcome is high. The upper set
        then contains the outcomes at least as high as the observed one, and the lower set is its mirror
        image. Right of the estimate, "high" and "low" are exchanged.

        For each outcome of the samples `outer`, P(S ≤ low) at A1 and P(S ≥ high) at A2 are added for a cell
        [A1, A2], where S is the number of successes of the largest sample, `inner`. The bound is the sum over
        these outcomes.
        """
        A1, A2 = edges[:-1, None], edges[1:, None]
        near: FloatArray = np.zeros((A1.size, 1))
        far: FloatArray = near
        weight: FloatArray = np.ones((edges.size, 1))
        for c in self.outer:
            s = _likely(c, edges)
            d = s - c.S
            inv1, inv2 = 1 / _q(c, A1), 1 / _q(c, A2)
            # Of the cell's two ends, take the one at which this term counts more outcomes as extreme.
            near = _pairwise(np.add, near, d * np.where((d >= 0) == left, inv1, inv2))
            far = _pairwise(np.add, far, (s + c.S) * (inv2 if left else inv1))
            weight = _pairwise(np.multiply, weight, _pmf(c, s, edges))
        q1, q2 = _q(self.inner, A1), _q(self.inner, A2)
        cut_near = self.inner.S - near * np.where((near >= 0) == left, q2, q1)
        cut_far = (2 * self.N - far) * (q2 if left else q1) - self.inner.S
        low, high = (cut_far, cut_near) if left else (cut_near, cut_far)
        s = _likely(self.inner, edges)
        tails = _tails_one_by_one if s.size > _TABLE_RATIO * low.shape[1] else _tails_from_table
        at_most, at_least = np.floor(low + _TIE_TOLERANCE), np.ceil(high - _TIE_TOLERANCE)
        below, above = tails(self.inner, s, edges, at_most, at_least)
        total: FloatArray = np.sum(weight[:-1] * below + weight[1:] * above, axis=1)
        return total


def _likely(c: BinomialSample, edges: FloatArray) -> FloatArray:
    """Return a range of numbers of successes, outside which both tails are negligible at the A of every edge.

    By Bernstein's inequality, each tail is below exp(−`_NEGLIGIBLE`).
    """
    q = np.minimum(_q(c, edges), 1.0)
    third = _NEGLIGIBLE / 3
    reach = third + np.sqrt(third**2 + 2 * _NEGLIGIBLE * c.n * q * (1 - q))
    low, high = np.min(c.n * q - reach), np.max(c.n * q + reach)
    return np.arange(max(0.0, np.floor(low)), min(c.n, np.ceil(high)) + 1)


def _pairwise(combine: np.ufunc, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return `combine(x, y)` for each value x of `a` and each value y of `b` in the same row."""
    return np.asarray(combine(a[:, :, None], b[:, None, :]).reshape(len(a), -1))


def _q(c: BinomialSample, A: FloatArray) -> FloatArray:
    return np.maximum((A + c.K - 2) / (c.K - 1), _LEAST_CHANCE)


def _tails_from_table(
    c: BinomialSample, s: FloatArray, edges: FloatArray, at_most: FloatArray, at_least: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return, for every cell [A1, A2], P(S ≤ at_most) at A1 and P(S ≥ at_least) at A2.

    Both are read from a table of cumulative sums of the probabilities of `s`, the likely values of S.
    """
    pmf = _pmf(c, s, edges)
    zero = np.zeros((edges.size, 1))
    cdf = np.concatenate([zero, np.cumsum(pmf, axis=1)], axis=1)[:-1]
    sf = np.concatenate([np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1], zero], axis=1)[1:]
    below = np.clip(at_most + 1 - s[0], 0, s.size).astype(np.int64)
    above = np.clip(at_least - s[0], 0, s.size).astype(np.int64)
    return np.take_along_axis(cdf, below, axis=1), np.take_along_axis(sf, above, axis=1)


def _tails_one_by_one(
    c: BinomialSample, _: FloatArray, edges: FloatArray, at_most: FloatArray, at_least: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute the tails of `_tails_from_table` by the incomplete beta function: faster for few tails."""
    q = np.minimum(_q(c, edges), 1.0)[:, None]
    below = np.where(at_most < 0, 0.0, bdtr(np.clip(at_most, 0, c.n), c.n, q[:-1]))
    above = np.where(at_least < 1, 1.0, bdtrc(np.clip(at_least - 1, 0, c.n), c.n, q[1:]))
    return below, above


def _pmf(c: BinomialSample, s: FloatArray, A: FloatArray) -> FloatArray:
    """Return the binomial probabilities of the outcomes `s` at every A; one row per A."""
    log_choose = gammaln(c.n + 1) - gammaln(s + 1) - gammaln(c.n - s + 1)
    log_q = np.log(_q(c, A))[:, None]
    log_p = np.log(np.maximum((1 - A) / (c.K - 1), _LEAST_CHANCE))[:, None]
    pmf: FloatArray = np.exp(log_choose + s * log_q + (c.n - s) * log_p)
    return pmf


_GRID = 64


def score_interval(parts: tuple[BinomialSample, ...], A: float, level: float = 0.95) -> tuple[float, float]:
    """Return the score interval, the hull of {A: U(A)² ≤ z² I(A)} with score U and expected information I.

    With V = Σ S_j/q_j − N the condition is V² ≤ z² (1 − A) Σ n_j/(A + K_j − 2). For one sample it is Wilson's
    interval of q, transformed to A and clipped to [0, 1].

    Raises
    ------
    EstimateError
        If the level is outside (0, 1).
    """
    z2 = z_value(level) ** 2
    checked = parts[0].n if parts[0].K == 2 else 0
    right = parts[0].S if checked else 0

    def holds(a: float) -> bool:
        if a <= 0 and checked:  # the information of a sample with K = 2 is infinite at A = 0
            return right == 0
        V = sum(p.S * (p.K - 1) / (a + p.K - 2) for p in parts) - sum(p.n for p in parts)
        return z2 * (1 - a) * sum(p.n / (a + p.K - 2) for p in parts) * (1 + 1e-12) >= V * V

    return _hull(holds, A)


def likelihood_ratio_interval(
    parts: tuple[BinomialSample, ...], A: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the ends of {A: 2(ℓ(A_ML) − ℓ(A)) ≤ z²}, which is an interval because ℓ is concave.

    Raises
    ------
    EstimateError
        If the level is outside (0, 1).
    """
    floor = log_likelihood(parts, A) - z_value(level) ** 2 / 2

    def holds(a: float) -> bool:
        return log_likelihood(parts, a) >= floor

    return _hull(holds, A)


def _hull(holds: Callable[[float], bool], A: float) -> tuple[float, float]:
    """Return the outermost points at which a condition holds, found by a grid and bisection.

    The result is (A, A) if the condition holds nowhere. This happens only for A = 0, if experts refuse
    predictions more often than any A in [0, 1] explains.
    """

    def search(end: float) -> float:
        outside = end
        for inner in np.linspace(end, A, _GRID).tolist():
            if holds(inner):
                return find_edge(holds, inner, outside)
            outside = inner
        return A

    return search(0.0), search(1.0)


_STEPS = 8
"""Number of levels tried before labels count as contradictory; 1 − level falls to a tenth at each step."""

LATTICE_LIMIT = 10_000_000
"""Largest number of outcomes for which ``exact`` tests all outcomes (in less than 0.7 s).

For two samples the limit is ten times larger.
"""

_INVERTED: Mapping[str, Callable[..., tuple[float, float]]] = MappingProxyType(
    {
        "exact": exact_interval,
        "score": score_interval,
        "likelihood_ratio": likelihood_ratio_interval,
    }
)
_BINOMIAL: Mapping[str, Callable[[int, int, float], tuple[float, float]]] = MappingProxyType(
    {"blaker": blaker, "wilson": wilson, "jeffreys": jeffreys, "clopper_pearson": clopper_pearson}
)
_ON_AVERAGE = (
    "an approximate interval was requested: it has its level on average over accuracies, and less for some "
    "of them"
)
APPROXIMATE: Mapping[str, str] = MappingProxyType(
    {
        "wald": "a Wald interval was requested: near 0 % and 100 % it covers far less than its level",
        **dict.fromkeys(("score", "likelihood_ratio", "wilson", "jeffreys"), _ON_AVERAGE),
    }
)
"""Name of an approximate interval → reason why its coverage may be below the level."""

INTERVALS = (*_INVERTED, "wald", *_BINOMIAL, "hoeffding", "bernstein")


def make_interval(point: Point, method: str = "exact", level: float = 0.95) -> Interval:
    """Make the confidence interval of A for a point estimate and its samples.

    Parameters
    ----------
    point
        The estimate.
    method
        ``exact``: inversion of an exact test (coverage ≥ `level`). It is Blaker's interval if every label
        decides whether its prediction is right, and `weighted_score` beyond `LATTICE_LIMIT` outcomes.
        ``score``, ``likelihood_ratio``: inversion of (★), approximate.
        ``wald``: value ± z·se, as published; too short near 0 and 1.
        ``blaker``, ``wilson``, ``jeffreys``, ``clopper_pearson``: for a single sample (`ord`, `comp`, or `ml`
        with labels of one kind).
        ``hoeffding``, ``bernstein``: distribution-free bounds around the value.
    level
        Confidence level, in (0, 1).


    Notes
    -----
    Exact, score and likelihood-ratio intervals depend on the samples and not on the estimator: ``ivw`` and
    ``ml`` have the same interval, and the value of ``ivw`` can lie outside this interval.

    Raises
    ------
    EstimateError
        If the method is unknown or not defined for these samples.
    """
    check_level(level)
    check_known("interval", method, INTERVALS)
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
        why = f"the labels fit no accuracy, which happens by chance in fewer than 1 in {one_in:,} samples"
    if not low <= min(1.0, max(0.0, point.value)) <= high:
        notes += (Note(NoteKind.VALUE_OUTSIDE_INTERVAL),)
    return Interval(low=low, high=high, level=level, method=made, notes=notes, why=why)


@lru_cache(maxsize=4096)  # cached, because ivw, ivw_half and ml have the same interval
def _invert(method: str, parts: tuple[BinomialSample, ...], A: float, level: float) -> tuple[float, float]:
    """Return the ends of an interval that depends only on the samples and their A_ML."""
    if method == "weighted-score":
        return weighted_score([(1.0, parts)], level)[1:3]
    return _INVERTED[method](parts, A, level)


def _widen_until_some(point: Point, method: str, level: float) -> tuple[float, float, int]:
    """Widen an empty interval until it is not empty; return its ends in [0, 1] and the number of steps.

    Each step divides 1 − level by ten. If the assumptions hold, a share of less than 1 − level of all
    intervals is empty, so two or more steps indicate a violated assumption.
    """
    for step in range(_STEPS if method != "wald" else 1):
        at = 1 - (1 - level) / 10**step
        low, high = (min(1.0, max(0.0, end)) for end in _ends(point, method, at))
        if low < high:
            return low, high, step
    reason = "the standard error is 0" if point.se == 0 else "the labels contradict every accuracy"
    raise EstimateError(f"{reason}, so the {method} interval contains only {point.value:.0%}; see the checks")


def _ends(point: Point, method: str, level: float) -> tuple[float, float]:
    """Return the ends of an interval, which may lie outside [0, 1]."""
    parts = point.parts
    if method == "weighted-score" or method in _INVERTED:
        return _invert(method, parts, point.peak, level)
    if method in _BINOMIAL:
        if len(parts) != 1:
            kinds = ", ".join(f"K = {p.K:g} (n = {p.n})" for p in parts)
            raise EstimateError(
                f"{method} is for one binomial sample, but there are {len(parts)}: {kinds}; use 'exact'"
            )
        (c,) = parts
        low, high = _BINOMIAL[method](c.S, c.n, level)
        return (c.K - 1) * low - (c.K - 2), (c.K - 1) * high - (c.K - 2)
    half = _half_width(point, method, level)
    return point.value - half, point.value + half


def _half_width(point: Point, method: str, level: float) -> float:
    if method == "wald":
        if point.se is None:
            raise EstimateError("'wald' needs a standard error, which a sample of n = 1 does not have")
        return z_value(level) * point.se
    total = math.fsum(point.weights)
    # divide by the total, because rounding may have made a single weight exceed 1
    shares = [w / total for w in point.weights]
    deltas = [(1 - level) / sum(w > 0 for w in shares)] * len(shares)
    return union_radius(point.components, shares, deltas, empirical=method == "bernstein")
