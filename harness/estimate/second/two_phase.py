"""Score interval of an accuracy from one question an item, and a second about some whose answer was no.

An item's first question is about option k with probability π_k. After a yes the truth is known. Of the items
with a no, some are drawn with probability ρ, which may depend on all first answers, and asked about another
option j, drawn with probability q_j (Σ q = 1 over the options left). With c = 1 at the prediction, a working
posterior p, and p' = p/(1 − p_k) over the options left,

    g₀ = equation (G) with the first answer
    g₁ = c_k after a yes, else Σ_j c_j p'_j + (R/ρ) (c_j − C')(b' − p'_j)/q_j,   R = 1 if drawn
    g  = (1 − λ) g₀ + λ g₁

E[g₁ | x, k, y] = c_y for every k and y, as E[(c_j − C')(b' − p'_j)/q_j | y] = c_y − Σ c p' for y among the
options left; E[g₀ | x, y] = c_y over k. So E g = c_y for every p, C' and λ that do not look at the item's own
answers. λ is one number for all items, of least variance in the model p: with V₀ = Var g₀, v = Var c_y, and

    r = E Var(c_y | first answer),   T = E Σ_j (c_j − C')² p'_j (1 − p'_j)/(ρ q_j)  (0 after a yes),
    Var g = (1 − λ)² V₀ + λ² (v − r + T) + 2 λ (1 − λ) v,   λ = (V₀ − v)/(V₀ − v + T − r).

For λ, which must not depend on who was drawn, T is r over the share of items with a no that were drawn and
the chance that they were asked about the prediction (`TwoPhase.reach`). The interval inverts a test as in
`oversight.harness.estimate.intervals.tilting`: p are the exponential tilts of a working distribution, and the
variance is the larger of the model's (with the larger of that T and the one that the items drawn tell without
bias) and the observed one. Two-phase sampling: Neyman 1938, JASA 33; Särndal, Swensson & Wretman 1992, ch. 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.estimate.intervals import ClusterVariance, TiltedMean, fall_through_zero, skewed_step
from oversight.harness.estimate.routed import optimal_constant


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoPhase:
    """N items with a first answer each, and what second questions there are.

    Attributes
    ----------
    c, propensities, working
        Shape (N, K): 1 at the prediction; π; a distribution over the item's options, above 0.
    valid
        Shape (N, K): the item's options.
    asked, yes
        Shape (N,): the option of the first question, and its answer (1 or 0).
    chance
        Shape (N,): ρ, 0 where there is no second answer.
    shares
        Shape (N, K): q of the options left, where there is a second answer.
    second, second_yes
        Shape (N,): the option of the second question, and its answer.
    reach
        Share of the items with a no that have a second answer, times the chance that it is about the
        prediction.
    cluster
        Shape (N,): number of the item's cluster; None if items are independent.
    """

    c: FloatArray
    propensities: FloatArray
    working: FloatArray
    valid: BoolArray
    asked: IntArray
    yes: FloatArray
    chance: FloatArray
    shares: FloatArray
    second: IntArray
    second_yes: FloatArray
    reach: float
    cluster: IntArray | None = None


def two_phase_score(data: TwoPhase, level: float) -> TiltedMean:
    """Estimate the accuracy and invert its score test at `level`.

    Student's t has as many degrees of freedom as second answers less one: they weigh most. Of clusters the
    variance is that of `oversight.harness.estimate.intervals.clusters`.

    Raises
    ------
    NotIdentified
        If an option that was never asked about first matters.
    """
    t = float(stdtrit(max(1, int(np.count_nonzero(data.chance)) - 1), 0.5 + level / 2))
    clusters = None
    if data.cluster is not None:
        best = fall_through_zero(lambda tilt: _score(data, tilt).gap, 0)
        null, n = _score(data, best), len(data.c)
        spread = null.theta * (1 - null.theta)
        weight = np.full(n, 1 / n)
        clusters = ClusterVariance.of(data.cluster, weight, null.residual, null.model, spread)

    def gap_less(side: int, tilt: float) -> float:
        null = _score(data, tilt)
        variance, step = null.limits(clusters)
        return null.gap - side * (t * float(np.sqrt(variance)) + step)

    low, best, high = (
        fall_through_zero(lambda tilt, side=side: gap_less(side, tilt), side)  # type: ignore[misc]
        for side in (1, 0, -1)
    )
    variance, _ = _score(data, best).limits(clusters)
    least, value, most = (round(_score(data, tilt).theta, 9) for tilt in (low, best, high))
    return TiltedMean(value=value, low=least, high=most, se=float(np.sqrt(variance)))


@dataclass(frozen=True, slots=True)
class _Null:
    """At a tilt: θ, the gap of the estimate to it, the model's variance; g less the estimate, shape (N,)."""

    theta: float
    gap: float
    model: float
    residual: FloatArray

    def limits(self, clusters: ClusterVariance | None) -> tuple[float, float]:
        """The variance, and `skewed_step` of clusters."""
        if clusters is None:
            return max(self.model, float((self.residual**2).sum()) / len(self.residual) ** 2), 0.0
        model, variance = clusters.at(self.model, self.theta * (1 - self.theta), self.gap)
        return variance, skewed_step(model, self.theta, self.theta, self.gap)


@dataclass(frozen=True, slots=True)
class _First:
    """g₀ and what the first answers leave open: see the module. All of shape (N,)."""

    g: FloatArray
    variance: FloatArray
    left: FloatArray
    known: FloatArray


def _first_phase(data: TwoPhase, p: FloatArray, top: FloatArray) -> _First:
    rows, pi = np.arange(len(p)), data.propensities
    constant = optimal_constant(data.c, pi, p, data.valid)
    inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
    own, prior = data.c[rows, data.asked], p[rows, data.asked]
    g = top + (own - constant) * inverse[rows, data.asked] * (data.yes - prior)
    variance = ((data.c - constant[:, None]) ** 2 * p * (1 - p) * inverse).sum(axis=1)
    others = np.maximum(1 - p, 1e-300)
    share = np.where(data.c > 0, 0.0, np.minimum(1.0, top[:, None] / others))
    total = pi.sum(axis=1)
    left = (pi * others * share * (1 - share) * data.valid).sum(axis=1) / total
    return _First(g, variance, left, np.where(data.yes > 0, own, share[rows, data.asked]))


def _second_phase(data: TwoPhase, p: FloatArray) -> tuple[FloatArray, float]:
    """What second answers add to g₁, shape (N,), and N·T."""
    added = np.zeros(len(p))
    there = np.flatnonzero((data.chance > 0) & (data.yes == 0))
    if not there.size:
        return added, 0.0
    rows, asked, q = np.arange(there.size), data.asked[there], data.shares[there]
    left = data.valid[there].copy()
    left[rows, asked] = False
    posterior = p[there] * left
    posterior /= posterior.sum(axis=1, keepdims=True)
    c, option, chance = data.c[there], data.second[there], data.chance[there]
    constant = optimal_constant(c, q, posterior, left)
    weight = (c[rows, option] - constant) / q[rows, option]
    added[there] = weight * (data.second_yes[there] - posterior[rows, option]) / chance
    inverse = np.divide(1.0, q, out=np.zeros_like(q), where=q > 0)
    each = ((c - constant[:, None]) ** 2 * posterior * (1 - posterior) * inverse * left).sum(axis=1)
    return added, float((each / chance**2).sum())


def _score(data: TwoPhase, tilt: float) -> _Null:
    weight = data.working * np.exp(tilt * data.c)
    p = weight / weight.sum(axis=1, keepdims=True)
    top, n = (data.c * p).sum(axis=1), len(p)
    first, (added, open_variance) = _first_phase(data, p, top), _second_phase(data, p)
    plain, own = float(first.variance.sum()), float((top * (1 - top)).sum())
    left = float(first.left.sum())
    planned, mixed = left / max(data.reach, 1e-9), max(0.0, plain - own)
    share = mixed / (mixed + planned - left) if data.reach > 0 and mixed > 0 else 0.0
    noise = max(open_variance, planned)
    g = (1 - share) * first.g + share * (first.known + added)
    theta = float(top.mean())
    gap = float(g.mean()) - theta
    model = (1 - share) ** 2 * plain + share**2 * (own - left + noise) + 2 * share * (1 - share) * own
    model = (model + float(((top - theta) ** 2).sum())) / n**2
    return _Null(theta, gap, model, g - theta - gap)
