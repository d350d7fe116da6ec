"""Score interval of a mean of +1, 0 and −1 by truth, from one yes/no question per item.

The target is θ = Σ_i w_i Σ_k c_ik P(y_i = k): an accuracy (c = 1 at the prediction) or, on items where two
models differ, the difference of their accuracies (c = +1 and −1). The interval inverts a test. Every
item has a working distribution q over its options; the null hypotheses are its exponential tilts
p_λ(k) ∝ q(k) e^{λ c_k}, of mean θ(λ) = Σ_i w_i Σ_k c_ik p_λ(k).
With g of equation (G) at p = p_λ (`oversight.harness.estimate.routed.doubly_robust`),

    U(λ) = Σ_i w_i g_i − θ(λ)
    M(λ) = Σ_i w_i² [Var_λ(g_i) + (E_λ g_i − θ)²],   S(λ) = Σ_i w_i² (g_i − θ − U)²
    W(λ) = M + ε max{0, S − M}

(of items in clusters: see `oversight.harness.estimate.intervals.clusters`; of items drawn in proportion
within strata: both around the means of the strata, see `oversight.harness.estimate.intervals.drawn_strata`)

and θ(λ) is accepted where |U| ≤ t √W, t the quantile of Student's t. E U = 0 for every q, so the working
distribution costs width, not validity. The model's variance M keeps samples without an error, or without
a miss, from looking certain; the observed one S widens the interval where the answers contradict q. It
counts in full (ε = 1) for clusters and for a q fixed before the answers, and by half for a q fitted to
them. The estimate is where U = 0.

`oversight.harness.estimate.intervals.tilted_rows` says which q. Simulated in `benchmarks/coverage_matrix.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from oversight.harness.arrays import FloatArray
from oversight.harness.estimate.core import find_root
from oversight.harness.estimate.intervals.clusters import ClusterVariance, skewed_step
from oversight.harness.estimate.intervals.tilted_rows import TiltedRows, collapse_rows

_FARTHEST = 22.0
"""Tilts beyond ±22 put less than 1e-9 on what they tilt away from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedMean:
    """Estimate and interval of θ, and its standard error at the estimate."""

    value: float
    low: float
    high: float
    se: float


def tilted_score(
    rows: TiltedRows, level: float, *, df: float | None = None, strata_share: float = 0.0
) -> TiltedMean:
    """Estimate θ and invert its score test at `level`.

    Student's t has `df` degrees of freedom; by default N, of clusters infinitely many. Variances are a share
    `strata_share` within the rows' strata, which clusters do without.

    An end that no tilt refutes is that of the target's range.
    """
    rows = collapse_rows(rows)
    clusters = _measure_clusters(rows)
    freedom = (float(rows.count.sum()) if clusters is None else np.inf) if df is None else df
    t = float(stdtrit(max(1.0, freedom), 0.5 + level / 2))

    def excess(side: int) -> Callable[[float], float]:
        def at(tilt: float) -> float:
            null = _score(rows, tilt, strata_share, clusters)
            return null.gap - side * (t * float(np.sqrt(null.variance)) + null.step)

        return at

    low, best, high = (fall_through_zero(excess(side), side) for side in (1, 0, -1))
    variance = _score(rows, best, strata_share, clusters).variance
    least, value, most = (round(_score(rows, tilt).theta, 9) for tilt in (low, best, high))
    return TiltedMean(value=value, low=least, high=most, se=float(np.sqrt(variance)))


def tilted_outcomes(rows: TiltedRows) -> FloatArray:
    """Outcomes g at the estimate, less the estimate, shape (R,): what the observed variance is made of."""
    best = fall_through_zero(lambda tilt: _score(rows, tilt).gap, 0)
    g = _outcomes(rows, best)[-1]
    outcomes: FloatArray = g - float((rows.count * rows.weight) @ g)
    return outcomes


def tilt_of(rows: TiltedRows, mean: float) -> float:
    """The tilt λ at which θ(λ) is this mean, or the nearest that there is."""
    each = rows.count * rows.weight

    def gap(tilt: float) -> float:
        up, down = rows.up * np.exp(tilt), rows.down * np.exp(-tilt)
        return mean - float(each @ ((up - down) / (up + down + rows.rest)))

    return fall_through_zero(gap, 0)


def outcomes_at(rows: TiltedRows, tilt: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E_λ c, Var_λ(g) and the outcome g of every row at a tilt; shape (R,) each."""
    up, down, variance, g = _outcomes(rows, tilt)
    mean: FloatArray = up - down
    return mean, variance, g


def score_at(rows: TiltedRows, mean: float = 0.0) -> float:
    """|U|/√W at the tilt of this mean: how far the answers are from it; 0 where nothing varies."""
    rows = collapse_rows(rows)
    null = _score(rows, tilt_of(rows, mean), clusters=_measure_clusters(rows))
    return (abs(null.gap) - null.step) / float(np.sqrt(null.variance)) if null.variance > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _Null:
    """A null hypothesis θ(λ), U(λ), W(λ), and `skewed_step` of clusters."""

    theta: float
    gap: float
    variance: float
    step: float = 0.0


def _measure_clusters(rows: TiltedRows) -> ClusterVariance | None:
    """What clusters add to the variance, measured at the estimate; None if no two items share one."""
    if len(np.unique(rows.cluster)) == len(rows.cluster):
        return None
    best = fall_through_zero(lambda tilt: _score(rows, tilt).gap, 0)
    up, down, variance, g = _outcomes(rows, best)
    mean, square = up - down, float(rows.weight @ (up + down))
    theta = float(rows.weight @ mean)
    model = float((rows.weight**2) @ (variance + (mean - theta) ** 2))
    rest = g - float(rows.weight @ g)
    return ClusterVariance.of(rows.cluster, rows.weight, rest, model, max(0.0, square - theta**2))


def _score(
    rows: TiltedRows, tilt: float, share: float = 0.0, clusters: ClusterVariance | None = None
) -> _Null:
    up, down, variance, g = _outcomes(rows, tilt)
    mean, each = up - down, rows.count * rows.weight
    theta = float(each @ mean)
    gap = float(each @ g) - theta
    squares, residual = (mean - theta) ** 2, (g - theta - gap) ** 2
    if share and clusters is None:
        squares = (1 - share) * squares + share * _spread_within(mean - theta, rows)
        residual = (1 - share) * residual + share * _spread_within(g - theta - gap, rows)
    model = float((each * rows.weight) @ (variance + squares))
    if clusters is None:
        seen = float((each * rows.weight) @ residual)
        return _Null(theta, gap, model + float(each @ rows.excess) * max(0.0, seen - model))
    square = float(each @ (up + down))
    model, together = clusters.at(model, max(0.0, square - theta**2), gap)
    return _Null(theta, gap, together, skewed_step(model, theta, square, gap))


def _outcomes(rows: TiltedRows, tilt: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """p_λ of the options with c = ±1, Var_λ(g) and g; shape (R,) each."""
    up, down = rows.up * np.exp(tilt), rows.down * np.exp(-tilt)
    total = up + down + rows.rest
    # what is left beside an option is summed, not subtracted: where p is nearly 1, 1 − p would be 0
    not_up, not_down = (down + rows.rest) / total, (up + rows.rest) / total
    not_other = (up + down + (rows.rest - rows.asked_q)) / total
    up, down = up / total, down / total
    v_up, v_down = up * not_up * rows.inverse_up, down * not_down * rows.inverse_down
    v_rest = np.maximum(rows.linear / total - rows.square / total**2, 0.0)
    whole = v_up + v_down + v_rest
    constant = np.divide(v_up - v_down, whole, out=np.zeros_like(whole), where=whole > 0)
    constant = np.where(np.isnan(rows.constant), constant, rows.constant)
    variance = (1 - constant) ** 2 * v_up + (1 + constant) ** 2 * v_down + constant**2 * v_rest
    is_up, is_down = rows.asked_c > 0, rows.asked_c < 0
    asked = np.where(is_up, up, np.where(is_down, down, rows.asked_q / total))
    others = np.where(is_up, not_up, np.where(is_down, not_down, not_other))
    mean = up - down
    surprise = rows.yes * others - (1 - rows.yes) * asked
    g = mean + (rows.asked_c - constant) * surprise * rows.asked_inverse
    return up, down, variance, g


def _spread_within(centred: FloatArray, rows: TiltedRows) -> FloatArray:
    """Squares of values of mean 0 around the means of their strata; around 0 of an item alone in its own."""
    size = np.bincount(rows.stratum, rows.count)
    total, several = np.bincount(rows.stratum, rows.count * centred), size > 1
    mean = np.divide(total, size, out=np.zeros(len(size)), where=several)
    scale = np.divide(size, size - 1, out=np.ones(len(size)), where=several)
    spread: FloatArray = (centred - mean[rows.stratum]) ** 2 * scale[rows.stratum]
    return spread


def fall_through_zero(falling: Callable[[float], float], side: int) -> float:
    """Where a function falls through 0; an end of the range where it does not.

    The gap of an estimate (side 0) may rise instead where answers say next to nothing: it is 0 there.
    """
    left, right = -_FARTHEST, _FARTHEST
    at_left, at_right = falling(left), falling(right)
    if side == 0 and at_left < 0 < at_right:
        return fall_through_zero(lambda tilt: -falling(tilt), side)
    if at_left < 0 or (at_left == 0 and side >= 0):
        return left
    if at_right > 0 or (at_right == 0 and side <= 0):
        return right
    return find_root(falling, left, right, (at_left, at_right))
