"""Estimates from routed answers: means of equation (G), and of items drawn by a known probability.

The per-item outcome g, its derivation and its validity are in
`oversight.harness.estimate.routed.doubly_robust`; here it becomes an `Estimate`, items being the independent
units.

Items that were drawn of a pool with unequal, recorded chances weigh as much as they stand for
(`oversight.harness.columns.weigh_draws`), over the sum of all: U(θ) of
`oversight.harness.estimate.intervals.tilting` is then Σ_i w_i (g_i − θ)/Σ_i w_i, a ratio of two unbiased sums
(Hájek 1971, in: Foundations of Statistical Inference), and Student's t has as many degrees of freedom as the
weights leave effective items, (Σw)²/Σw². Chances have a floor, so that no item weighs more than a few of
average weight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.core import (
    blaker,
    check_items,
    check_level,
    count_effective,
    effective_clusters,
)
from oversight.harness.estimate.intervals import (
    DrawnStrata,
    TiltedMean,
    TiltedRows,
    design_effect,
    drawn_interval,
    effective_size,
    scale_by_share,
    tilt_items,
    tilted_score,
)
from oversight.harness.estimate.routed.doubly_robust import informed, pseudo_outcomes
from oversight.harness.estimate.routed.routed_sample import RoutedSample, accuracy_target, check_predicted
from oversight.harness.types import Counts, Estimate, Interval, Note, NoteKind

ROUTED_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts answer without error",
    "abstentions are unrelated to the truth",
    "no model has seen the experts' answers",
)


_STUDENT = "Student's t around a mean of rare large outcomes covers less than its level in small samples"


def routed_mean(
    c: FloatArray, data: RoutedSample, *, level: float = 0.95, cluster: IntArray | None = None
) -> Estimate:
    """Mean of g with Student's t around it, items being the independent units; for any target c.

    θ̂ = Σ_i g_i/N, Var = Σ_i (g_i − θ̂)²/(N(N − 1)). The value is unclipped; the interval is moved
    into the range of c. Several answers on one item enter one g_i, so they are not counted twice.
    With rare large g the interval covers less than its level and says so; an accuracy or a difference
    from one question an item has a better one (`routed_accuracy`, `oversight.harness.estimate.comparison`).
    With `cluster`, shape (N,), the number of the item's cluster, clusters are the independent units, and N is
    their effective number (`effective_clusters`) in both N − 1 and t.

    Raises
    ------
    EstimateError
        If there are fewer than 2 items.
    NotIdentified
        If an option with propensity 0 matters (see `optimal_constant`).
    """
    check_level(level)
    g = pseudo_outcomes(c, data)
    check_items(len(g))
    value = float(g.mean())
    sums = g - value if cluster is None else np.bincount(cluster, g - value)
    groups = len(g) if cluster is None else max(2.0, effective_clusters(cluster))
    se = float(np.sqrt((sums**2).sum() * groups / (groups - 1))) / len(g)
    floor, ceiling = min(0.0, float(c.min())), max(0.0, float(c.max()))
    half = t_quantile(level, groups - 1) * se
    low, high = (min(ceiling, max(floor, end)) for end in (value - half, value + half))
    notes: tuple[Note, ...] = () if floor <= value <= ceiling else (Note(NoteKind.OUT_OF_RANGE),)
    return Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(low=low, high=high, level=level, method="wald", notes=notes, why=_STUDENT),
        estimator="routed",
        n=data.counts,
        assumptions=ROUTED_ASSUMPTIONS,
    )


def routed_accuracy(
    predicted: ArrayLike,
    data: RoutedSample,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
    count: IntArray | None = None,
    working: FloatArray | None = None,
    strata: DrawnStrata | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from answers asked for it, for several models, or for others.

    A = ρ A_r, the readable share times the accuracy there. If each readable prediction was asked about for
    certain, A is one binomial's (`blaker`); else A_r has the interval of `tilted_score`, and A that of
    `scale_by_share`. Items with several questions fall back to `routed_mean`.

    Parameters
    ----------
    predicted, cluster
        Shape (N,): −1 for unreadable, wrong and counted; number of the item's cluster, if it has one.
    data
        Answers.
    count
        Shape (N,), if an entry stands for so many equal items, of one answer each (`PoolKinds`).
    working
        Shape (N, K): what is known of each item beside its answer, see `tilt_items`.
    strata
        Of all N items, if they were drawn from a pool in proportion within strata; not together with `count`.
    weight
        Shape (N,), above 0: how many items of the pool each stands for; not with `cluster` or `count`.

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its options.
    NotIdentified
        If these answers cannot tell the accuracy of these predictions, or items with weights have several.
    """
    check_level(level)
    predicted = np.asarray(predicted, dtype=np.int64)
    check_predicted(predicted, data)
    rows, width = data.propensities.shape
    number = np.ones(rows, np.int64) if count is None else count
    readable, target = predicted >= 0, accuracy_target(predicted, width)
    counts = replace(_count_answers(data, number), unreadable=int(number[~readable].sum()))
    once = bool((np.bincount(data.item, minlength=rows)[readable] == 1).all())
    if weight is None and not data.sampled:
        if not once:
            found = routed_mean(target, informed(predicted[:, None], data), level=level, cluster=cluster)
            return replace(found, n=replace(found.n, unreadable=counts.unreadable))
        own = (data.propensities * target).sum(axis=1)[readable]
        if (own > 1 - 1e-9).all() and cluster is None:
            return _binomial_accuracy(data.by_item[1] * readable, number, counts, level, strata)
    if weight is not None and not readable.any():
        raise NotIdentified("no answered item has a readable prediction")
    keep, df = np.flatnonzero(readable), None
    tilted = tilt_sample(
        target, keep, data, cluster=cluster, strata=strata, count=count, working=working, weight=weight
    )
    if weight is not None:
        df = max(1.0, count_effective(weight[keep]))
    elif data.sampled:
        df = float(readable[data.item].sum())
    share = 0.0 if strata is None else strata.take(keep).share
    inner = tilted_score(tilted, level, df=df, strata_share=share)
    stands = number if weight is None else weight
    return tilted_accuracy(inner, readable, counts, level, cluster=cluster, stands=stands)


def tilt_sample(
    target: FloatArray,
    keep: IntArray,
    data: RoutedSample,
    *,
    cluster: IntArray | None = None,
    strata: DrawnStrata | None = None,
    count: IntArray | None = None,
    working: FloatArray | None = None,
    weight: FloatArray | None = None,
) -> TiltedRows:
    """Make the rows (`tilt_items`) of the items at the places `keep`, of one question each.

    Other parameters are those of `routed_accuracy`; rows of items with weights weigh 1 together.

    Raises
    ------
    NotIdentified
        If items with weights have several questions or none, or answers cannot tell.
    """
    if weight is not None and (bad := np.bincount(data.item, minlength=len(weight))[keep] != 1).any():
        raise NotIdentified(
            f"{np.count_nonzero(bad)} items drawn with unequal chances have several answers, or none"
        )
    asked, yes = data.by_item
    rows = tilt_items(
        target[keep],
        data.propensities[keep],
        data.n_options[keep],
        asked[keep],
        yes[keep],
        cluster=None if cluster is None else cluster[keep],
        stratum=None if strata is None else strata.number[keep],
        count=None if count is None else count[keep],
        working=None if working is None else working[keep],
    )
    return rows if weight is None else replace(rows, weight=weight[keep] / weight[keep].sum())


def tilted_accuracy(
    inner: TiltedMean,
    readable: NDArray[np.bool_],
    counts: Counts,
    level: float,
    *,
    cluster: IntArray | None = None,
    stands: IntArray | FloatArray | None = None,
) -> Estimate:
    """Accuracy of all predictions from that of the readable ones, A = ρ A_r (`scale_by_share`).

    Shapes (N,): which predictions are readable, the number of the item's cluster, and for how many items
    an entry stands: whole numbers count items, fractions are weights, and none is one each.
    """
    weight = np.ones(len(readable), np.int64) if stands is None else stands
    whole = np.issubdtype(weight.dtype, np.integer)
    units = float(weight.sum()) if whole else count_effective(weight)
    share = float(weight[readable].sum() / weight.sum())
    value, low, high, se = inner.value, inner.low, inner.high, inner.se
    if not readable.all():
        se = float(np.sqrt((share * se) ** 2 + value**2 * share * (1 - share) / units))
        size = units if cluster is None else effective_size(readable.astype(np.float64), cluster, level)
        value, low, high = scale_by_share(share, size, value, low, high, level)
    return Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(
            low=max(0.0, low),
            high=high,
            level=level,
            method="tilted-score",
            steps=() if readable.all() else ("share",),
        ),
        estimator="routed",
        n=counts,
        assumptions=ROUTED_ASSUMPTIONS,
    )


def _binomial_accuracy(
    right: FloatArray, number: IntArray, counts: Counts, level: float, strata: DrawnStrata | None
) -> Estimate:
    """Accuracy where each readable prediction was asked about for certain; right or not has shape (N,)."""
    total, n = int((right * number).sum()), int(number.sum())
    se = float(np.sqrt(total * (n - total) / n**3))
    if strata is None:
        (low, high), method = blaker(total, n, level), "blaker"
    else:
        low, high, method = drawn_interval(right, strata, level)
        se *= float(np.sqrt(design_effect(right, strata)))
    return Estimate.from_interval(
        value=total / n,
        se=se,
        interval=Interval(low=max(0.0, low), high=high, level=level, method=method),
        estimator="routed",
        n=counts,
        assumptions=ROUTED_ASSUMPTIONS,
    )


def _count_answers(data: RoutedSample, number: IntArray) -> Counts:
    yes, answers = int((data.answer * number[data.item]).sum()), int(number[data.item].sum())
    return Counts(ordinary=yes, complementary=answers - yes)


def t_quantile(level: float, df: float) -> float:
    """Two-sided quantile of Student's t with df degrees of freedom."""
    return float(stdtrit(df, 0.5 + level / 2))
