"""The variance of a mean over items that come in clusters of any sizes, at every null hypothesis.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray

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
