"""Shares of items: in clusters, from strata of a draw, and as a factor of a mean.

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

What a draw in proportion within strata adds to what the items themselves tell.

Items drawn in proportion from strata vary within them only: the mean of z over n items has the variance
Σ_h n_h s_h²/n², s_h² the variance within stratum h, where as many items drawn at random have s²/n. The ratio
is the design effect d ≤ 1 of the draw, and n/d items drawn at random would tell as much (Kish 1965).

Where a share f of the drawn items is left (experts are silent or slow), those left are a random part, in
which strata vary in size again: d = 1 − f (1 − d_within).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.estimate.core import blaker, effective_clusters, z_value

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
        o and s(θ̂).
    items, far
        Number of items; squared residual of an item of the cluster that is added.
    """
    extra = _ONE_MORE * far * (1 / len(sums)) * (1 / len(sums) - 1 / items)
    squares = share**2
    reached = float(((1 - 2 * share) @ pairs) + pairs.sum() * squares.sum())
    whole = spread * reached + extra
    excess = float((sums**2).sum()) - own * (1 - float(squares.sum()))
    return min(1.0, max(0.0, (excess + extra) / whole)) if whole > _TINY**2 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVariance:
    """What the variance at every null hypothesis is made of, see the module.

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
        """Measure it at the estimate.

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
    """How far a mean of +1, 0 and −1 may lie beyond its normal limits on the side of its longer tail.

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
    """Clopper–Pearson interval of a share, also of an effective size that is no whole number."""
    tail = (1 - level) / 2
    low = 0.0 if m <= 0 else float(betaincinv(m, n - m + 1, tail))
    return low, 1.0 if m >= n else float(betaincinv(m + 1, n - m, 1 - tail))


def effective_size(values: FloatArray, cluster: IntArray, level: float) -> float:
    """Number of independent items that would tell the mean of the values as exactly, at most N.

    N over the design effect 1 + ρ N P, with ρ and P of `oversight.harness.estimate.intervals.shares`, and
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
        Share of n items (an effective number of them) that carries the mean.
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
    """The stratum of every item that an estimate rests on.

    Attributes
    ----------
    number
        Shape (n,): from 0.
    share
        Share of the items drawn that they are, in [0, 1].
    """

    number: IntArray
    share: float

    def take(self, rows: AnyIntArray) -> DrawnStrata:
        """Some of the items: those of a kind, of which the draw fixed no number."""
        share = self.share * len(rows) / max(1, len(self.number))
        return DrawnStrata(number=self.number[rows], share=share)


def design_effect(values: FloatArray, strata: DrawnStrata) -> float:
    """Variance of the mean of values in [0, 1] over that of as many items drawn at random, at most 1.

    An item alone in its stratum counts as if drawn at random; so do `FAR_ITEMS` items far from the mean, in
    both.
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
    """Interval of a share of items, each right (1) or not (0), with the name of its method.

    Blaker's exact one, or Clopper–Pearson's at the number of items drawn at random that tell as much
    (Korn & Graubard 1998, Surv. Methodol. 24), whichever is narrower: they differ much only where strata do.
    """
    n, count = len(right), int(right.sum())
    low, high = blaker(count, n, level)
    size = n / design_effect(right, strata)
    least, most = share_interval(count / n * size, size, level)
    return (least, most, "clopper-pearson+strata") if most - least < high - low else (low, high, "blaker")
