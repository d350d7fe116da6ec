"""Score interval of a mean of +1, 0 and −1 from one yes or no per item.

The target is θ = Σ_i w_i Σ_k c_ik P(y_i = k): an accuracy (c = 1 at the prediction) or, on items on which two
models differ, the difference of their accuracies (c = +1 and −1). The interval inverts a test. Every item has
a working distribution q over its options. The null hypotheses are its exponential tilts p_λ(k) ∝ q(k) e^{λ
c_k} with the mean θ(λ) = Σ_i w_i Σ_k c_ik p_λ(k). With g of equation (G) at p = p_λ
(`oversight.harness.estimate.routed_means`),

    U(λ) = Σ_i w_i g_i − θ(λ)
    M(λ) = Σ_i w_i² [Var_λ(g_i) + (E_λ g_i − θ)²],   S(λ) = Σ_i w_i² (g_i − θ − U)²
    W(λ) = M + ε max{0, S − M}

and θ(λ) is accepted if |U| ≤ t √W, where t is the quantile of Student's t. The estimate is θ(λ) at U = 0. E U
= 0 for every q, so a bad working distribution widens the interval but does not make it invalid. The model's
variance M prevents samples without an error, or without a correct answer, from having variance 0. The
observed variance S widens the interval if the answers contradict q. It counts in full (ε = 1) for clusters
and for a q fixed before the answers, and half (ε = ½) for a q fitted to the answers. But on items with only
one readable prediction of two models, a tilt explains a difference of 0 by wrong predictions, while the
numbers of such items are random as well: if q was fitted, these items have ε = 1 and add w_i² U² to S.
`oversight.harness.estimate.intervals` has the variances of clusters and of proportional draws within strata.
`benchmarks/coverage_matrix.py` simulates the interval.

**Working distribution** (`fit_working`). If options were drawn uniformly, the options named by c together
have the same weight as all other options together; p_λ then gives all items the same accuracy, for any K. If
options were drawn with unequal propensities, q is fitted to the propensities and to the answers:

    q_i(k) ∝ π_ik^(γ + δ|c_ik|) e^{β|c_ik| + η c_ik}

The propensities order the options by how likely the draw considered them. γ is the degree to which the
answers confirm this order, negative if they contradict it; δ is the difference in this degree for options
that the target names. β and η shift the probabilities of the options that the target names; the interval's
tilt shifts the same probabilities. The four parameters are the posterior mode under normal priors. At the
true mean the derivative of the score with respect to each parameter has expectation 0, so fitting the
parameters to the same answers changes the distribution of the score only by O(1/N).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from oversight.harness.arrays import BoolArray, FloatArray, IntArray, find_equal, fix_constant
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import find_root, share_interval
from oversight.harness.estimate.intervals import ClusterVariance, skewed_step

_PRIOR_MEAN = np.array([1.0, 0.0, 0.0, 0.0])
_PRIOR_SD = np.array([0.4, 0.5, 3.0, 3.0])
"""Standard deviations of the normal priors of γ, δ, β and η.

In simulations, 95 % intervals cover as little as .94 without δ, and .90 if the prior of δ has a standard
deviation of 1.
"""
_LEAST = 1e-3
"""Lower bound on propensities in the features of q."""
_ROUNDS = 60
_ENOUGH = 1e-10


def fit_working(
    c: FloatArray,
    propensities: FloatArray,
    own: BoolArray,
    asked: IntArray,
    yes: FloatArray,
) -> FloatArray:
    """Fit the working distribution q to the answers; shape (N, K), rows sum to 1.

    Parameters
    ----------
    c, propensities, own
        Shape (N, K): the target, the propensities π, and whether the column is an option of the item.
    asked, yes
        Shape (N,): option asked about (−1 for none), and its answer, 1 for yes and 0 for no.
    """
    features = _describe(c, propensities, own)
    drawn = np.flatnonzero(asked >= 0)
    theta = _PRIOR_MEAN.copy()
    if drawn.size:
        first, number = _join_alike([x[drawn] for x in features], own[drawn], asked[drawn], yes[drawn])
        rows = drawn[first]
        theta = _find_mode([x[rows] for x in features], own[rows], asked[rows], yes[rows], number)
    return _distribute(features, own, theta)


def prior_working(c: FloatArray, propensities: FloatArray, own: BoolArray) -> FloatArray:
    """Compute the working distribution q before any answer, q ∝ π; shapes as in `fit_working`."""
    return _distribute(_describe(c, propensities, own), own, _PRIOR_MEAN)


def _describe(c: FloatArray, propensities: FloatArray, own: BoolArray) -> list[FloatArray]:
    """Return four features of the options, shape (N, K) each, in which log q is linear.

    In the module docstring, their coefficients are γ, δ, β and η.
    """
    total = np.where(own, propensities, 0.0).sum(axis=1, keepdims=True)
    share = np.divide(propensities, total, out=np.zeros_like(propensities), where=total > 0)
    log_share, named = np.log(np.maximum(share, _LEAST)), np.abs(c)
    return [log_share, named * log_share, named, c]


def _distribute(features: list[FloatArray], own: BoolArray, theta: FloatArray) -> FloatArray:
    log_q = np.where(own, sum(t * x for t, x in zip(theta.tolist(), features, strict=True)), -np.inf)
    q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
    q = np.where(own, np.maximum(q, 1e-9), 0.0)
    working: FloatArray = q / q.sum(axis=1, keepdims=True)
    return working


def _join_alike(
    features: list[FloatArray], own: BoolArray, asked: IntArray, yes: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Group items with equal likelihood; return the first row and the number of items of every group.

    Items of a group have the same answer, the same features of the option asked about, and the same features
    of all options, in whatever order. Groups are few, because propensities depend only on the number of
    models that predict an option.
    """
    cell = _mix(own.astype(np.uint64), *(np.round(x, 9).view(np.uint64) for x in features))
    told = cell[np.arange(len(asked)), asked]
    key = _mix(told, yes.astype(np.uint64), *np.sort(cell, axis=1).T)
    _, first, number = np.unique(key, return_index=True, return_counts=True)
    return first.astype(np.int64), number.astype(np.float64)


def _mix(start: NDArray[np.uint64], *values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash a sequence of arrays to 64 bits, element by element (the finaliser of SplitMix64)."""
    mixed = start
    for value in values:
        mixed = (mixed ^ value) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = mixed ^ (mixed >> np.uint64(27))
    return mixed


def _find_mode(
    features: list[FloatArray], own: BoolArray, asked: IntArray, yes: FloatArray, count: FloatArray
) -> FloatArray:
    """Find the posterior mode of (γ, δ, β, η), by Fisher scoring with step-size control.

    These are the parameters of the working distribution q of the module docstring.
    """
    row = np.arange(len(asked))
    told = np.stack([x[row, asked] for x in features])
    precision = _PRIOR_SD**-2.0

    def density(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        q = _distribute(features, own, theta)
        p = np.clip(q[row, asked], 1e-12, 1 - 1e-12)
        likelihood = float(count @ np.where(yes > 0, np.log(p), np.log1p(-p)))
        return likelihood - float(precision @ (theta - _PRIOR_MEAN) ** 2) / 2, q, p

    theta, size = _PRIOR_MEAN.copy(), 1.0
    best, q, p = density(theta)
    for _ in range(_ROUNDS):
        slope = told - np.stack([(q * x).sum(axis=1) for x in features])
        odds = p / (1 - p)
        gradient = slope @ (count * np.where(yes > 0, 1.0, -odds)) - precision * (theta - _PRIOR_MEAN)
        step = np.linalg.solve((slope * (count * odds)) @ slope.T + np.diag(precision), gradient)
        step *= size / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _ENOUGH:
            break
        found, q_next, p_next = density(theta + step)
        # Allow a tolerance, because near the mode the density increases by less than its rounding error
        if found > best - 1e-10 * (1 + abs(best)):
            theta, best, q, p, size = theta + step, found, q_next, p_next, min(1.0, 2 * size)
        else:
            size /= 4
    return np.round(theta, 6)  # rounded, so that the result does not depend on the order of the items


_EXCESS = 0.5
"""ε in W(λ) if q is fitted: the share of S − M that is added to M.

In simulations with misleading votes, 95 % intervals cover as little as .81 for ε = 0, and .93 for ε = .25. ε
= 1 makes intervals 10 % wider.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedRows:
    """Input of the score test: items with at most one answer each, one row per kind of item.

    All fields have shape (R,).

    Attributes
    ----------
    up, down, rest
        Probability q of the option with c = +1, of the option with c = −1 (0 if none exists), and of all
        other options together.
    inverse_up, inverse_down
        1/π of the options with c = +1 and c = −1; 0 if the option is never asked about.
    linear, square
        Σ q/π and Σ q²/π over the other options, leaving out options that are never asked about.
    constant
        C of equation (G), if an option that is never asked about determines it; otherwise NaN.
    asked_c, asked_q, asked_inverse, yes
        c, q and 1/π of the option asked about (0 if none was), and the answer: 1 for yes, 0 for no.
    weight, count
        Weight w of each item, and number of items in the row; Σ count·weight = 1.
    cluster
        Cluster number of the item; empty if items are independent.
    stratum
        Stratum number of the item; 0 for all items if there are no strata.
    excess
        ε: share of S − M that is added to M, as in the module docstring.
    one_sided
        1 if q was fitted, and θ is a difference to which this item can contribute only +1 or only −1, because
        the other model's answer is unreadable; otherwise 0.
    """

    up: FloatArray
    down: FloatArray
    rest: FloatArray
    inverse_up: FloatArray
    inverse_down: FloatArray
    linear: FloatArray
    square: FloatArray
    constant: FloatArray
    asked_c: FloatArray
    asked_q: FloatArray
    asked_inverse: FloatArray
    yes: FloatArray
    weight: FloatArray
    count: FloatArray
    cluster: IntArray
    stratum: IntArray
    excess: FloatArray
    one_sided: FloatArray


def collapse_rows(rows: TiltedRows) -> TiltedRows:
    """Merge equal items into one row; clustered items keep separate rows."""
    if rows.cluster.size:
        return rows
    names = [f.name for f in fields(rows) if f.name not in ("count", "cluster")]
    # infinity replaces NaN ("C is not determined"), because NaN is not equal to itself
    table = np.nan_to_num(np.stack([getattr(rows, name) for name in names], axis=1), nan=np.inf)
    first, inverse = find_equal(table + 0.0)  # turns −0 into 0
    count = np.bincount(inverse, weights=rows.count)
    kept = table[first]
    order = np.lexsort(kept.T[::-1])  # sorted, so that sums do not depend on the order of the items
    kept, count = kept[order], count[order]
    kept[np.isinf(kept)] = np.nan
    columns = {name: kept[:, j] for j, name in enumerate(names)}
    stratum = columns.pop("stratum").astype(np.int64)
    return TiltedRows(**columns, count=count, cluster=rows.cluster, stratum=stratum)


def tilt_items(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    asked: IntArray,
    yes: FloatArray,
    *,
    cluster: IntArray | None = None,
    working: FloatArray | None = None,
) -> TiltedRows:
    """Make rows for `tilted_score` from N equally weighted items with at most one question each.

    Parameters
    ----------
    c
        Shape (N, K): target, with at most one +1 and one −1 per row, otherwise 0.
    propensities
        Shape (N, K): π, the probability that the item is drawn and asked about the option; 0 in columns
        beyond the item's options. With `working`, items that were not drawn may have a row of 0 if their
        probability is unknown; drawn items then count 1/ρ times in Σ Var(g), where ρ is the sum of their row.
    n_options, asked, yes
        Shape (N,): number of options K; option asked about (−1 if the item was not drawn); answer, 1 for yes
        and 0 for no.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    working
        Shape (N, K): working distribution q, positive on the item's options, rows sum to 1; must not depend
        on the item's own answer. If None, it is `uniform_working` for uniform draws, otherwise `fit_working`.

    Raises
    ------
    EstimateError
        If there is no item, or an item was asked about an option with propensity 0.
    NotIdentified
        If an item has several options that are never asked about, and their coefficients c differ.
    """
    n, width = c.shape
    if n == 0:
        raise EstimateError("a score interval needs at least 1 item, there are 0")
    own = np.arange(width) < n_options[:, None]
    can = own & (propensities > 0)
    inverse = np.divide(1.0, propensities, out=np.zeros_like(propensities), where=can)
    plus, minus, zero = c > 0, c < 0, own & (c == 0)
    told, never = np.ones(n, np.bool_), own & ~can
    if working is not None:
        told = propensities.sum(axis=1) > 0
        never &= told[:, None]
    stands = np.ones(n) if told.all() else np.where(told, propensities.sum(axis=1), 1.0)
    at, drawn = (np.arange(n), asked), asked >= 0
    if not can[at][drawn].all():
        row = int(np.flatnonzero(~can[at] & drawn)[0])
        raise EstimateError(
            f"item {row}: an expert was asked about option {asked[row]}, whose propensity is 0"
        )
    q, excess, one_sided = working, np.ones(n), np.zeros(n, np.bool_)
    if q is None:
        q, uniform = uniform_working(c, propensities, own)
        fitted = np.flatnonzero(~uniform)
        excess[fitted] = _EXCESS
        said = asked[fitted], np.asarray(yes, dtype=np.float64)[fitted]
        if plus.any() and minus.any():
            one_sided = ~uniform & (plus.any(axis=1) != minus.any(axis=1))
            excess[one_sided] = 1.0
        if fitted.size:
            q[fitted] = fit_working(c[fitted], propensities[fitted], own[fitted], *said)
    return TiltedRows(
        up=(q * plus).sum(axis=1),
        down=(q * minus).sum(axis=1),
        rest=(q * zero).sum(axis=1),
        inverse_up=(inverse * plus).sum(axis=1) / stands,
        inverse_down=(inverse * minus).sum(axis=1) / stands,
        linear=(q * inverse * zero).sum(axis=1) / stands,
        square=(q * q * inverse * zero).sum(axis=1) / stands,
        constant=fix_constant(c, never),
        asked_c=np.where(drawn, c[at], 0.0),
        asked_q=np.where(drawn, q[at], 0.0),
        asked_inverse=np.where(drawn, inverse[at], 0.0),
        yes=np.asarray(yes, dtype=np.float64),
        weight=np.full(n, 1 / n),
        count=np.ones(n),
        cluster=np.zeros(0, np.int64) if cluster is None else cluster,
        stratum=np.zeros(n, np.int64),
        excess=excess,
        one_sided=one_sided.astype(np.float64),
    )


def plan_working(c: FloatArray, propensities: FloatArray, n_options: IntArray) -> FloatArray:
    """Compute the working distribution that `tilt_items` uses before any answer; shape (N, K)."""
    own = np.arange(c.shape[1]) < n_options[:, None]
    q, uniform = uniform_working(c, propensities, own)
    return np.where(uniform[:, None], q, prior_working(c, propensities, own))


def uniform_working(c: FloatArray, propensities: FloatArray, own: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return q for items with uniform draws, shape (N, K), and whether each item's draw was uniform, (N,)."""
    high = np.where(own, propensities, 0.0).max(axis=1)
    low = np.where(own, propensities, np.inf).min(axis=1)
    others = np.maximum((own & (c == 0)).sum(axis=1, keepdims=True), 1)
    q = np.where(own, np.where(c != 0, others, 1.0), 0.0)
    return q / q.sum(axis=1, keepdims=True), high - low < 1e-9


def uniform_rows(K: int, counts: tuple[int, int, int, int], weight: float) -> TiltedRows:
    """Make the rows of items with one uniformly drawn option of K, from counts of their answers.

    Parameters
    ----------
    K
        Number of options.
    counts
        Numbers of items with each of four answers, in this order: yes about the prediction; no about the
        prediction; no about another option; yes about another option.
    weight
        Weight w of each item.
    """
    c = np.tile((np.arange(K) == 0).astype(np.float64), (4, 1))
    asked, yes = np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 0.0, 1.0])
    rows = tilt_items(c, np.full((4, K), 1 / K), np.full(4, K), asked, yes)
    return replace(rows, weight=np.full(4, weight), count=np.array(counts, dtype=np.float64))


def join_rows(parts: list[TiltedRows]) -> TiltedRows:
    """Concatenate several sets of rows."""
    return replace(
        parts[0],
        **{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])},
    )


_FARTHEST = 22.0
"""Largest tilt λ: e⁻²² < 1e-9, so larger tilts change probabilities by less than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedMean:
    """Estimate, interval and standard error of θ; the standard error is √W at the estimate."""

    value: float
    low: float
    high: float
    se: float


def tilted_score(
    rows: TiltedRows,
    level: float,
    *,
    df: float | None = None,
    strata_share: float = 0.0,
    is_difference: bool = False,
) -> TiltedMean:
    """Estimate θ, and compute its interval by inverting the score test.

    If the test rejects no tilt on one side, that end of the interval is the end of the target's range.

    Parameters
    ----------
    rows
        Items with their answers.
    level
        Confidence level.
    df
        Degrees of freedom of Student's t; by default the number of items, or infinite for clusters.
    strata_share
        Share of the variance that is computed within strata, in [0, 1]; ignored for clusters.
    is_difference
        Whether θ is a difference of two accuracies. On items where only one model has a readable prediction,
        the difference cannot be both +1 and −1. The number of these items is random, so an end at the largest
        θ that they allow is extended (`_extend`).
    """
    rows = collapse_rows(rows)
    clusters = _measure_clusters(rows)
    freedom = (float(rows.count.sum()) if clusters is None else np.inf) if df is None else df

    def look(tilt: float) -> Null:
        return _score(rows, tilt, strata_share, clusters)

    found = invert_score(look, freedom, level)
    if not is_difference:
        return found
    high = _extend(found.high, 1, rows, look(_FARTHEST), freedom, level)
    low = -_extend(-found.low, -1, rows, look(-_FARTHEST), freedom, level)
    return replace(found, low=low, high=high)


def _extend(end: float, side: int, rows: TiltedRows, null: Null, df: float, level: float) -> float:
    """Extend an end of an interval if it is the largest value that the target can have on these items.

    The largest value is the share s of items on which the target can be `side`. The extended interval
    excludes a value above s only if s, or the mean of the outcomes g, is significantly smaller than that
    value.

    Parameters
    ----------
    end, side
        For an upper end: the end, and 1. For a lower end: its negative, and −1.
    null
        Score test at the largest tilt on this side.
    df, level
        As in `tilted_score`.
    """
    each = rows.count * rows.weight
    share = float(each @ ((rows.up if side > 0 else rows.down) > 0))
    if end < share - 1e-6:
        return end
    squares = np.bincount(rows.cluster, each) ** 2 if rows.cluster.size else each * rows.weight
    size = 1 / float(squares.sum())
    room = share_interval(share * size, size, level)[1] - share
    t = float(stdtrit(max(1.0, df), 0.5 + level / 2))
    more = side * null.gap + max(room, t * float(np.sqrt(null.variance)) + null.step)
    return min(1.0, share + max(0.0, more))


def invert_score(look: Callable[[float], Null], df: float, level: float) -> TiltedMean:
    """Invert the score test that `look` computes at each tilt; Student's t has `df` degrees of freedom."""
    t = float(stdtrit(max(1.0, df), 0.5 + level / 2))

    def excess(side: int) -> Callable[[float], float]:
        def at(tilt: float) -> float:
            null = look(tilt)
            return null.gap - side * (t * float(np.sqrt(null.variance)) + null.step)

        return at

    low, best, high = (look(fall_through_zero(excess(side), side)) for side in (1, 0, -1))
    least, value, most = (round(null.theta, 9) for null in (low, best, high))
    return TiltedMean(value=value, low=least, high=most, se=float(np.sqrt(best.variance)))


def tilted_outcomes(rows: TiltedRows) -> FloatArray:
    """Return the outcomes g at the tilt of the estimate, minus their weighted mean; shape (R,)."""
    best = fall_through_zero(lambda tilt: _score(rows, tilt).gap, 0)
    g = _outcomes(rows, best)[-1]
    return g - float((rows.count * rows.weight) @ g)


def tilt_of(rows: TiltedRows, mean: float) -> float:
    """Return the tilt λ at which θ(λ) is `mean`, or as near as possible."""
    each = rows.count * rows.weight

    def gap(tilt: float) -> float:
        up, down = rows.up * np.exp(tilt), rows.down * np.exp(-tilt)
        return mean - float(each @ ((up - down) / (up + down + rows.rest)))

    return fall_through_zero(gap, 0)


def outcomes_at(rows: TiltedRows, tilt: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E_λ c, Var_λ(g) and the outcome g of every row at a tilt λ; shape (R,) each."""
    up, down, variance, g = _outcomes(rows, tilt)
    return up - down, variance, g


def score_at(rows: TiltedRows, mean: float = 0.0) -> float:
    """Return the statistic (|U| − `Null.step`)/√W of the null hypothesis θ = `mean`; 0 if W is 0."""
    rows = collapse_rows(rows)
    null = _score(rows, tilt_of(rows, mean), clusters=_measure_clusters(rows))
    return (abs(null.gap) - null.step) / float(np.sqrt(null.variance)) if null.variance > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Null:
    """Score test of one null hypothesis.

    Attributes
    ----------
    theta, gap, variance
        θ(λ), U(λ) and W(λ), as in the module docstring.
    step
        Amount by which |U| may exceed t √W because outcomes are skewed (`skewed_step`); 0 without clusters.
    """

    theta: float
    gap: float
    variance: float
    step: float = 0.0


def _measure_clusters(rows: TiltedRows) -> ClusterVariance | None:
    """Measure the additional variance of clusters at the estimate; None if no two items share a cluster."""
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
) -> Null:
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
        seen += gap**2 * float((each * rows.weight) @ rows.one_sided)
        return Null(theta, gap, model + float(each @ rows.excess) * max(0.0, seen - model))
    square = float(each @ (up + down))
    model, together = clusters.at(model, max(0.0, square - theta**2), gap)
    return Null(theta, gap, together, skewed_step(model, theta, square, gap))


def _outcomes(rows: TiltedRows, tilt: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return p_λ of the option with c = +1, p_λ of that with c = −1, Var_λ(g), and g; shape (R,) each."""
    up, down = rows.up * np.exp(tilt), rows.down * np.exp(-tilt)
    total = up + down + rows.rest
    # 1 − p is computed as a sum of other probabilities, because it would round to 0 for p near 1
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
    """Return squared deviations from stratum means, scaled to be unbiased for the variance; shape (R,).

    `centred` holds values minus the overall mean. If a stratum has only one item, the item's value in
    `centred` counts as its deviation.
    """
    size = np.bincount(rows.stratum, rows.count)
    total, several = np.bincount(rows.stratum, rows.count * centred), size > 1
    mean = np.divide(total, size, out=np.zeros(len(size)), where=several)
    scale = np.divide(size, size - 1, out=np.ones(len(size)), where=several)
    spread: FloatArray = (centred - mean[rows.stratum]) ** 2 * scale[rows.stratum]
    return spread


def fall_through_zero(falling: Callable[[float], float], side: int) -> float:
    """Find the tilt at which a decreasing function is 0; if it never is, return an end of the range of tilts.

    `side` is 1 for the lower end of an interval, −1 for the upper end, and 0 for the estimate. For the
    estimate, the function may also increase if answers contain very little information; its zero is then
    found as well.
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
