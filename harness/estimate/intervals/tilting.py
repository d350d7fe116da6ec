"""Score interval of a mean of +1, 0 and −1 by truth, from one yes/no question per item.

The target is θ = Σ_i w_i Σ_k c_ik P(y_i = k): an accuracy (c = 1 at the prediction) or, on items where two
models differ, the difference of their accuracies (c = +1 and −1). The interval inverts a test. Every
item has a working distribution q over its options; the null hypotheses are its exponential tilts
p_λ(k) ∝ q(k) e^{λ c_k}, of mean θ(λ) = Σ_i w_i Σ_k c_ik p_λ(k).
With g of equation (G) at p = p_λ (`harness.estimate.routed.doubly_robust`),

    U(λ) = Σ_i w_i g_i − θ(λ)
    M(λ) = Σ_i w_i² [Var_λ(g_i) + (E_λ g_i − θ)²],   S(λ) = Σ_i w_i² (g_i − θ − U)²
    W(λ) = M + ε max{0, S − M}

(of items in clusters: both with what goes together there, `cluster_variances`; of items drawn in proportion
within strata: both around the means of the strata, see `harness.estimate.intervals.drawn_strata`)

and θ(λ) is accepted where |U| ≤ t √W, t the quantile of Student's t. E U = 0 for every q, so the working
distribution costs width, not validity. The model's variance M keeps samples without an error, or without
a miss, from looking certain; the observed one S widens the interval where the answers contradict q. It
counts in full (ε = 1) for clusters and for a q fixed before the answers, and by half for a q fitted to
them. The estimate is where U = 0.

`harness.estimate.intervals.tilted_rows` says which q. Simulated in `benchmarks/coverage_matrix.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from harness.arrays import FloatArray, IntArray
from harness.estimate.core import find_root
from harness.estimate.intervals.tilted_rows import TiltedRows, collapse_rows

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

    Student's t has `df` degrees of freedom; by default N, or the clusters less one. Variances are a share
    `strata_share` within the rows' strata, which clusters do without.

    An end that no tilt refutes is that of the target's range.
    """
    rows = collapse_rows(rows)
    groups = float(len(np.unique(rows.cluster)) - 1) if rows.cluster.size else float(rows.count.sum())
    share = 0.0 if rows.cluster.size else strata_share
    t = float(stdtrit(max(1.0, groups if df is None else df), 0.5 + level / 2))

    def excess(side: int) -> Callable[[float], float]:
        def at(tilt: float) -> float:
            _, gap, variance = _score(rows, tilt, share)
            return gap - side * t * float(np.sqrt(variance))

        return at

    low, best, high = (fall_through_zero(excess(side), side) for side in (1, 0, -1))
    _, _, variance = _score(rows, best, share)
    least, value, most = (round(_score(rows, tilt)[0], 9) for tilt in (low, best, high))
    return TiltedMean(value=value, low=least, high=most, se=float(np.sqrt(variance)))


def tilted_outcomes(rows: TiltedRows) -> FloatArray:
    """Outcomes g at the estimate, less the estimate, shape (R,): what the observed variance is made of."""
    best = fall_through_zero(lambda tilt: _score(rows, tilt)[1], 0)
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
    _, gap, variance = _score(rows, tilt_of(rows, mean))
    return abs(gap) / float(np.sqrt(variance)) if variance > 0 else 0.0


def _score(rows: TiltedRows, tilt: float, share: float = 0.0) -> tuple[float, float, float]:
    """θ(λ), U(λ) and W(λ)."""
    up, down, variance, g = _outcomes(rows, tilt)
    mean, each = up - down, rows.count * rows.weight
    theta = float(each @ mean)
    gap = float(each @ g) - theta
    squares, residual = (mean - theta) ** 2, g - theta - gap
    if share:
        squares = (1 - share) * squares + share * _spread_within(mean - theta, rows)
    model = float((each * rows.weight) @ (variance + squares))
    if rows.cluster.size:
        square, value = float(each @ (up + down)), min(1.0, max(-1.0, theta + gap))
        now = (square if down.any() else abs(value)) - value**2
        seen, correlation, pairs = cluster_variances(rows.cluster, rows.weight * residual, max(0.0, now))
        model += correlation * (square - theta**2) * pairs
        return theta, gap, max(model, seen)
    squares = residual**2
    if share:
        squares = (1 - share) * squares + share * _spread_within(residual, rows)
    seen = float((each * rows.weight) @ squares)
    return theta, gap, model + float(each @ rows.excess) * max(0.0, seen - model)


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


def cluster_variances(cluster: IntArray, residual: FloatArray, spread: float) -> tuple[float, float, float]:
    """Observed variance of a sum over clusters; intraclass correlation; Σ w_i w_j over pairs of a cluster.

    The correlation is that of the residuals, whose truth varies by `spread`, and of one cluster more that
    is wrong as a whole: where all seen items are right, nothing says that they are so independently.
    """
    size = np.bincount(cluster).astype(np.float64)
    groups = np.count_nonzero(size)
    sums = np.bincount(cluster, weights=residual)
    seen = float((sums**2).sum()) * groups / max(1, groups - 1)
    n = len(residual)
    pairs, one_more = float((size * (size - 1)).sum()) / n**2, n / groups * (n / groups - 1) / n**2
    covariance = float((sums**2).sum() - (residual**2).sum())
    whole = spread * pairs + one_more
    return seen, min(1.0, max(0.0, (covariance + one_more) / whole)) if whole > 0 else 0.0, pairs


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
