"""The interval of a mean that only a share of the items carries.

θ = ρ μ: an accuracy is the readable share times the accuracy of what is readable, a difference of two
models the share of items they differ on times the difference there. With ρ̂ = m/n, its Clopper–Pearson
interval [ρ_l, ρ_u] and an interval [l, u] of μ,

    low = ρ̂μ̂ − √( (ρ̂(μ̂ − l))² + (l(ρ_e − ρ̂))² ),   ρ_e = ρ_u if l < 0 else ρ_l

and high likewise; where l or u is an end of μ's own range [−1, 1] and asks for the larger share, the end
is that of the share. It is the method of variance estimates recovery with the share's part taken at the
end of μ instead of at μ̂, which is what holds: simulated coverage with exact parts is .946 or more
for n = 12–150 (product of two intervals: .96–1.00 and up to 1.5 times as wide).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, stdtrit

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.core import effective_clusters, z_value
from oversight.harness.estimate.intervals.clusters import cluster_correlation


def share_interval(m: float, n: float, level: float) -> tuple[float, float]:
    """Clopper–Pearson interval of a share, also of an effective size that is no whole number."""
    tail = (1 - level) / 2
    low = 0.0 if m <= 0 else float(betaincinv(m, n - m + 1, tail))
    return low, 1.0 if m >= n else float(betaincinv(m + 1, n - m, 1 - tail))


def effective_size(values: FloatArray, cluster: IntArray, level: float) -> float:
    """Number of independent items that would tell the mean of the values as exactly, at most N.

    N over the design effect 1 + ρ N P, with ρ and P of `oversight.harness.estimate.intervals.clusters`, and
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
