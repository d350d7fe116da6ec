"""Efficient estimates of means from options asked about with known probabilities, and from resolved items.

A target is a linear functional θ = E Σ_k c_k(x)·1{y = k} of the unknown true option y: an accuracy (c_k = 1{k
= ŷ}), a difference of two accuracies, or a utility. Options were asked about with known inclusion
probabilities π_k(x). Per item,

    g = Σ_j c_j p_j + Σ_{asked k} (c_k − C)(b_k − p_k) / π_k                             (G)

with answers b_k = 1{y = k}, a working posterior p (Σ_j p_j = 1) and any C(x). Then E[g | x] = θ(x) for
*every* p and C: E Σ_{asked} (c_k − C)(b_k − p_k)/π_k = Σ_k (c_k − C)(P(y=k) − p_k), and C drops out because
Σ_k (P(y=k) − p_k) = 0. Among unbiased functions of (k, b), the projection of the complete-data function has
the smallest variance. It is (G) with the C* of `optimal_constant`, so (G) with C* is semiparametrically
efficient if p is the true posterior; any other p increases the variance, without bias. C = 0 is the augmented
inverse-probability estimator of Robins, Rotnitzky & Zhao (1994, JASA 89); p = C = 0 is Horvitz & Thompson
(1952, JASA 47). With uniform π, p_ŷ = A and equal p elsewhere, (G) has exactly the information of the
likelihood of "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 9. A completely flat p needs
more questions; cross-fitting avoids this.

**Cross-fitting** (`crossfitted_posterior`). Equation (G) is unbiased for every p that does not depend on the
same item's answers, and efficient for the true posterior. So items are divided into folds: each model's
accuracy is estimated on the other folds, and p on a fold is the posterior of the models' votes at these
accuracies (Schick 1986, Ann. Stat. 14; Chernozhukov et al. 2018, Econom. J. 21). For one model p_ŷ = Â and
the other options have equal p, so that uniform routing attains the information of the likelihood.

**Items drawn from a pool** with unequal, recorded probabilities have weights
(`oversight.harness.columns.weigh_draws`), divided by their sum. U(θ) of `oversight.harness.estimate.tilting`
is then Σ_i w_i (g_i − θ)/Σ_i w_i, a ratio of two unbiased sums (Hájek 1971, in: Foundations of Statistical
Inference), and Student's t has as many degrees of freedom as the effective number of items, (Σw)²/Σw². The
probabilities have a lower bound, so that no item weighs more than a few items of average weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from oversight.harness.arrays import UNKNOWN, AnyIntArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import (
    blaker,
    check_items,
    check_level,
    check_rows,
    count_effective,
    effective_clusters,
    share_interval,
)
from oversight.harness.estimate.intervals import (
    DrawnStrata,
    design_effect,
    drawn_interval,
    effective_size,
    scale_by_share,
)
from oversight.harness.estimate.routed_sample import (
    RESOLUTION_ASSUMPTIONS,
    RoutedSample,
    accuracy_target,
    check_predicted,
    flat_posterior,
    optimal_constant,
    vote_posterior,
)
from oversight.harness.estimate.tilting import TiltedMean, TiltedRows, tilt_items, tilted_score
from oversight.harness.types import WORST_CASE, Counts, Estimate, Interval, Note, NoteKind

_LEAST, _FOLDS = 20, 5
_FLAT = 0.05
"""Weight of the uniform distribution that is mixed into the working distribution from votes."""


def question_weights(c: FloatArray, data: RoutedSample) -> FloatArray:
    """Compute the coefficient of every answer in equation (G), (c_k − C*)/π_k, shape (n,)."""
    constant = optimal_constant(c, data.propensities, data.posterior, data.valid)
    return (c[data.item, data.asked] - constant[data.item]) / data.propensities[data.item, data.asked]


def pseudo_outcomes(c: FloatArray, data: RoutedSample) -> FloatArray:
    """Compute g of equation (G) with C* for every item, shape (N,); its mean estimates θ without bias.

    Items without a question have g = Σ c_j p_j: they were not drawn (``sampled``), or their c is constant.

    Examples
    --------
    >>> from oversight.harness.estimate import RoutedSample, accuracy_target
    >>> asked, answer = np.zeros(2, int), np.array([1.0, 0.0])
    >>> data = RoutedSample(np.arange(2), asked, answer, np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> pseudo_outcomes(accuracy_target([0, 0], 2), data).tolist()
    [1.0, 0.0]
    """
    prior = data.posterior[data.item, data.asked]
    correction = question_weights(c, data) * (data.answer - prior)
    g: FloatArray = (c * data.posterior).sum(axis=1)
    return g + np.bincount(data.item, correction, minlength=len(c))


def crossfitted_posterior(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Compute a posterior p, shape (N, K), from models' votes, with accuracies estimated on other folds.

    With fewer than 20 items, p is uniform because accuracies cannot be estimated.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options, −1 for unreadable.
    data
        The answers; `data.posterior` is ignored.

    Examples
    --------
    >>> from oversight.harness.estimate import RoutedSample
    >>> predicted = np.zeros((40, 1), int)
    >>> answer = (np.arange(40) % 4 > 0).astype(float)
    >>> data = RoutedSample(np.arange(40), np.zeros(40, int), answer, np.tile([1.0, 0.0], (40, 1)))
    >>> round(float(crossfitted_posterior(predicted, data)[:, 0].mean()), 2)
    0.75
    """
    columns = np.asarray(predicted)
    n, width = data.propensities.shape
    flat = flat_posterior(data.n_options, width)
    if n < _LEAST:
        return flat
    plain = replace(data, posterior=flat)
    fold = np.random.default_rng(0).permutation(n) % _FOLDS
    seen = _fold_means(columns, plain, fold)
    posterior = np.empty_like(flat)
    for part in range(_FOLDS):
        here = fold == part
        # an accuracy of 1 would give all other options probability 0
        accuracy = np.clip(seen[part], 0.01, 0.99)
        posterior[here] = vote_posterior(columns[here], data.n_options[here], width, accuracy=accuracy)
    return posterior


def weigh_votes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Compute a working distribution of every item's true option from models' votes, shape (N, K).

    It is the `crossfitted_posterior` (same parameters) with weight .95, mixed with the uniform distribution
    with weight .05. So no option gets a probability near 0, even if all models agree.
    """
    posterior = crossfitted_posterior(predicted, data)
    flat = flat_posterior(data.n_options, data.propensities.shape[1])
    return (1 - _FLAT) * posterior + _FLAT * flat


def informed(predicted: ArrayLike, data: RoutedSample) -> RoutedSample:
    """Replace a uniform posterior in the data by a cross-fitted one; keep any other posterior."""
    if not np.array_equal(data.posterior, flat_posterior(data.n_options, data.propensities.shape[1])):
        return data
    return replace(data, posterior=crossfitted_posterior(predicted, data))


def _fold_means(predicted: AnyIntArray, data: RoutedSample, fold: AnyIntArray) -> FloatArray:
    """Return the mean outcome g of every model on the items outside each fold, shape (5, M)."""
    means = np.empty((_FOLDS, predicted.shape[1]))
    for m, column in enumerate(predicted.T):
        g = _outcomes(column, data)
        sums, sizes = np.bincount(fold, g, minlength=_FOLDS), np.bincount(fold, minlength=_FOLDS)
        means[:, m] = (sums.sum() - sums) / (sizes.sum() - sizes)
    return means


def _outcomes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Return one model's outcomes g of equation (G), shape (N,).

    They are all ½ if the answers do not identify the model's accuracy.
    """
    try:
        return pseudo_outcomes(accuracy_target(predicted, data.propensities.shape[1]), data)
    except NotIdentified:
        return np.full(len(data.propensities), 0.5)


ROUTED_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts answer without error",
    "abstentions are unrelated to the truth",
    "no model has seen the experts' answers",
)


_STUDENT = "Student's t around a mean of rare large outcomes covers less than its level in small samples"


def routed_mean(c: FloatArray, data: RoutedSample, *, level: float = 0.95) -> Estimate:
    """Estimate the mean θ of any target c by the mean outcome g of equation (G), with a Student's t interval.

    θ̂ = Σ_i g_i/N, Var = Σ_i (g_i − θ̂)²/(N(N − 1)). The value is not clipped; the interval is clipped to the
    range of c. Items are the independent units, and several answers about one item enter the same g_i. If
    large g are rare, the interval covers less than its level, and the estimate reports this. For an accuracy
    or a difference with one question per item, `routed_accuracy` and `oversight.harness.estimate.paired` have
    better intervals.

    Parameters
    ----------
    c
        Shape (N, K): target.
    data
        The answers. If items are in clusters, the clusters are the independent units, and their effective
        number (`effective_clusters`) replaces N in N − 1 and in the degrees of freedom.
    level
        Confidence level.

    Raises
    ------
    EstimateError
        If there are fewer than 2 items.
    NotIdentified
        If an item has several options that are never asked about, and their coefficients c differ (see
        `optimal_constant`).
    """
    check_level(level)
    g, cluster = pseudo_outcomes(c, data), data.cluster
    check_items(len(g))
    value = float(g.mean())
    sums = g - value if cluster is None else np.bincount(cluster, g - value)
    groups = len(g) if cluster is None else max(2.0, effective_clusters(cluster))
    se = float(np.sqrt((sums**2).sum() * groups / (groups - 1))) / len(g)
    floor, ceiling = min(0.0, float(c.min())), max(0.0, float(c.max()))
    half = t_quantile(level, groups - 1) * se
    low, high = (min(ceiling, max(floor, end)) for end in (value - half, value + half))
    notes: tuple[Note, ...] = () if floor <= value <= ceiling else (Note(NoteKind.OUT_OF_RANGE),)
    made = Interval(low=low, high=high, level=level, method="wald", notes=notes, why=_STUDENT)
    return _estimate(value, se, made, data.counts)


def _estimate(value: float, se: float, interval: Interval, n: Counts) -> Estimate:
    return Estimate.from_interval(
        value=value, se=se, interval=interval, estimator="routed", n=n, assumptions=ROUTED_ASSUMPTIONS
    )


def routed_accuracy(
    predicted: ArrayLike, data: RoutedSample, *, level: float = 0.95, working: FloatArray | None = None
) -> Estimate:
    """Estimate the accuracy of one model from questions about options drawn with known probabilities.

    The questions may have been drawn for this model, for several models, or for other models. The estimate is
    A = ρ A_r: the readable share times the accuracy on readable predictions. If every readable prediction was
    asked about with certainty, A has an exact binomial interval (`blaker`). Otherwise A_r has the interval of
    `tilted_score`, which `scale_by_share` turns into that of A. If items have several questions, the interval
    is that of `routed_mean`.

    Parameters
    ----------
    predicted
        Shape (N,): predicted options; −1 for unreadable, which counts as wrong.
    data
        The answers.
    level
        Confidence level.
    working
        Shape (N, K): working distribution from side information (see `tilt_items`).

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its item's options.
    NotIdentified
        If the answers do not identify the accuracy, or if an item with a weight has several answers.
    """
    check_level(level)
    predicted = np.asarray(predicted, dtype=np.int64)
    check_predicted(predicted, data)
    rows, width = data.propensities.shape
    readable, target = predicted >= 0, accuracy_target(predicted, width)
    once = bool((np.bincount(data.item, minlength=rows)[readable] == 1).all())
    if data.weight is None and not data.sampled:
        if not once:
            found = routed_mean(target, informed(predicted[:, None], data), level=level)
            return replace(found, n=_count(data, readable))
        own = (data.propensities * target).sum(axis=1)[readable]
        if (own > 1 - 1e-9).all() and data.cluster is None:
            return _binomial_accuracy(readable, data, level)
    if data.weight is not None and not readable.any():
        raise NotIdentified("no answered item has a readable prediction")
    keep, df, share = np.flatnonzero(readable), None, 0.0
    tilted = tilt_sample(target, keep, data, working)
    if data.weight is not None:
        df = max(1.0, count_effective(data.weight[keep]))
    elif data.sampled:
        df = float(readable[data.item].sum())
    if data.strata is not None:
        drawn = data.strata.take(keep)
        tilted, share = replace(tilted, stratum=drawn.number), drawn.share
    inner = tilted_score(tilted, level, df=df, strata_share=share)
    return tilted_accuracy(inner, readable, data, level)


def _count(data: RoutedSample, readable: NDArray[np.bool_]) -> Counts:
    return replace(data.counts, unreadable=int(np.count_nonzero(~readable)))


def tilt_sample(
    target: FloatArray, keep: IntArray, data: RoutedSample, working: FloatArray | None = None
) -> TiltedRows:
    """Make the rows that `tilted_score` needs from the items at positions `keep`, each with one question.

    `target` is c, shape (N, K). All rows are in one stratum. Weights are normalised to sum 1.

    Raises
    ------
    NotIdentified
        If items with weights have several answers or none, or the answers do not identify the target.
    """
    weight = data.weight
    if weight is not None and (bad := np.bincount(data.item, minlength=len(weight))[keep] != 1).any():
        raise NotIdentified(
            f"{np.count_nonzero(bad)} items have several answers or none, but items drawn with unequal "
            "probabilities need one answer each"
        )
    asked, yes = data.by_item
    rows = tilt_items(
        target[keep],
        data.propensities[keep],
        data.n_options[keep],
        asked[keep],
        yes[keep],
        cluster=None if data.cluster is None else data.cluster[keep],
        working=None if working is None else working[keep],
    )
    return rows if weight is None else replace(rows, weight=weight[keep] / weight[keep].sum())


def tilted_accuracy(
    inner: TiltedMean, readable: NDArray[np.bool_], data: RoutedSample, level: float
) -> Estimate:
    """Compute the accuracy of all predictions, A = ρ A_r, and its interval (`scale_by_share`).

    ρ is the share of readable predictions, and A_r is their accuracy.

    Parameters
    ----------
    inner
        Estimate and interval of A_r.
    readable
        Shape (N,): whether the prediction is readable.
    data, level
        The answers, and the confidence level.
    """
    stands = np.ones(len(readable)) if data.weight is None else data.weight
    units = count_effective(stands)
    share = float(stands[readable].sum() / stands.sum())
    value, low, high, se = inner.value, inner.low, inner.high, inner.se
    if not readable.all():
        se = float(np.sqrt((share * se) ** 2 + value**2 * share * (1 - share) / units))
        size = units
        if data.cluster is not None:
            size = effective_size(readable.astype(np.float64), data.cluster, level, data.weight)
        value, low, high = scale_by_share(share, size, value, low, high, level)
    steps = () if readable.all() else ("share",)
    made = Interval(low=max(0.0, low), high=high, level=level, method="tilted-score", steps=steps)
    return _estimate(value, se, made, _count(data, readable))


def _binomial_accuracy(readable: NDArray[np.bool_], data: RoutedSample, level: float) -> Estimate:
    """Estimate the accuracy if all readable predictions were asked about."""
    right = data.by_item[1] * readable
    total, n = int(right.sum()), len(right)
    se = float(np.sqrt(total * (n - total) / n**3))
    if data.strata is None:
        (low, high), method = blaker(total, n, level), "blaker"
    else:
        low, high, method = drawn_interval(right, data.strata, level)
        se *= float(np.sqrt(design_effect(right, data.strata)))
    made = Interval(low=max(0.0, low), high=high, level=level, method=method)
    return _estimate(total / n, se, made, _count(data, readable))


def t_quantile(level: float, df: float) -> float:
    """Return the two-sided quantile of Student's t with df degrees of freedom.

    Examples
    --------
    >>> round(t_quantile(0.95, 10), 3)
    2.228
    """
    return float(stdtrit(df, 0.5 + level / 2))


SILENCE = "abstentions are as frequent for true options as for other options"


def resolved_accuracy(
    correct: ArrayLike,
    *,
    own: ArrayLike | None = None,
    level: float = 0.95,
    cluster: IntArray | None = None,
    strata: DrawnStrata | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Estimate the accuracy of one model from its exact correctness on the items of a sequential study.

    Unknown items (an expert abstained) cannot be left out, even if abstentions are random: if another
    predicted option of such an item is confirmed, the item becomes known, and the model is wrong on it. With
    `own`, the model is assumed to be right equally often whether the question about its own prediction was
    answered or not. Without `own`, nothing is assumed: the lower end counts unknown items as wrong, the
    upper end counts them as right, and the value is the accuracy on known items. A note gives the range over
    all possible values of unknown items. Without clusters, weights and unknown items, the interval is
    Blaker's exact one.

    Parameters
    ----------
    correct
        Shape (N,): 1 right, 0 wrong, or `UNKNOWN`.
    own
        Shape (N,): one model's column of `oversight.harness.estimate.routed_sample.Resolution.own`.
    level
        Confidence level.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    strata
        Strata of all N items, if they were drawn from a pool in proportion within strata. Ignored if any item
        is unknown.
    weight
        Shape (N,), positive: number of pool items that each item represents, for unequal probabilities. `own`
        is then ignored.

    Raises
    ------
    EstimateError
        If no item is resolved, or if `own` is used and no question about the model's own prediction was
        answered.
    """
    check_level(level)
    z = np.asarray(correct, dtype=np.int64)
    check_rows("correct", z, (z >= UNKNOWN) & (z <= 1), "be 0, 1 or -1 (unknown)")
    unknown = int((z == UNKNOWN).sum())
    right, n = int((z == 1).sum()), len(z) - unknown
    if n == 0:
        raise EstimateError("an accuracy needs at least 1 resolved item, there are 0")
    assumptions: tuple[str, ...] = RESOLUTION_ASSUMPTIONS
    fills = weight is None and unknown > 0 and own is not None
    effect = 1.0 if strata is None or unknown else design_effect(z.astype(np.float64), strata)
    if fills:
        value, low, high, method = _fill_in(z, np.asarray(own, dtype=np.int64), level, cluster)
        assumptions = (*assumptions, SILENCE)
    else:
        value = right / n
        drawn = strata if weight is None and cluster is None and not unknown else None
        low, high, method = _enclose(z, level, cluster=cluster, weight=weight, strata=drawn)
    if weight is not None:
        value = min(1.0, float(weight @ (z == 1) / weight[z != UNKNOWN].sum()))
        effect = n / count_effective(weight[z != UNKNOWN])
    each = np.full(len(z), 1 / len(z)) if weight is None else weight / weight.sum()
    within = {"items": unknown, "least": float(each @ (z == 1)), "most": float(each @ (z != 0))}
    return Estimate.from_interval(
        value=value,
        se=float(np.sqrt(value * (1 - value) / n * effect)),
        interval=Interval(
            low=low,
            high=high,
            level=level,
            method=method,
            steps=(WORST_CASE,) if unknown and not fills else (),
            notes=(Note(NoteKind.UNRESOLVED_WITHIN, within),) if unknown else (),
        ),
        estimator="resolved",
        n=Counts(ordinary=right, complementary=n - right, abstained=unknown),
        assumptions=assumptions,
    )


def _enclose(z: IntArray, level: float, **design: Any) -> tuple[float, float, str]:
    """Return both ends and the method of an interval that allows for any values of unknown items."""
    option, rows = np.zeros(len(z), np.int64), np.arange(len(z))
    sure = accuracy_target(option, 2)
    worst, best = (
        routed_accuracy(
            option, RoutedSample(rows, option, right.astype(np.float64), sure, **design), level=level
        )
        for right in (z == 1, z != 0)
    )
    return worst.low, best.high, worst.method


def _fill_in(
    z: IntArray, own: IntArray, level: float, cluster: IntArray | None
) -> tuple[float, float, float, str]:
    """Return value, interval and method, with unanswered questions assumed to be like answered ones.

    The interval is Clopper–Pearson at an effective number of items (Korn & Graubard 1998, Surv. Methodol.
    24), N v/(v + u). Here v is the binomial variance of a share of N items, and
    u = (m/N)² r(1 − r)(1/n − 1/m) is the additional variance from items that are filled in. n of the m
    questions about the model's own prediction were answered. r is the share of right predictions on these n
    items and on two fictitious items, one right and one wrong.
    """
    answered, put = own > 0, own != 0
    n, m = int(answered.sum()), int(put.sum())
    if n == 0:
        raise EstimateError("no item was resolved by a question about the model's own prediction")
    right, rest = int((answered & (z == 1)).sum()), int((~put & (z == 1)).sum())
    filled = np.where(put & ~answered, right / n, z)
    r = (right + 1) / (n + 2)
    share = (rest + m * r) / len(z)
    known = share * (1 - share) / len(z)
    size = len(z) * known / (known + (m / len(z)) ** 2 * r * (1 - r) * (1 / n - 1 / m))
    if cluster is not None:
        size *= effective_size(filled, cluster, level) / len(z)
    value = float(filled.mean())
    low, high = share_interval(value * size, size, level)
    return value, low, high, "clopper-pearson"
