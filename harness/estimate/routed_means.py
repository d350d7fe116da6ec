"""Estimates from drawn options and from resolved items.

The efficient estimator for answers asked with known probabilities.

A target is a linear functional θ = E Σ_k c_k(x)·1{y = k} of the unknown true option y: an accuracy
(c_k = 1{k = ŷ}), a difference of two, any utility. Options were asked about with known inclusion
probabilities π_k(x). Per item,

    g = Σ_j c_j p_j + Σ_{asked k} (c_k − C)(b_k − p_k) / π_k                             (G)

with answers b_k = 1{y = k}, a working posterior p (Σ_j p_j = 1) and any C(x). Then E[g | x] = θ(x)
for *every* p and C. Derivation: E Σ_{asked} (c_k − C)(b_k − p_k)/π_k = Σ_k (c_k − C)(P(y=k) − p_k),
and C drops out because Σ_k (P(y=k) − p_k) = 0. Among unbiased functions of (k, b) the projection of
the complete-data function has the least variance and is (G) with C* below, so (G) is semiparametrically
efficient where p is the true posterior; elsewhere p costs variance, never bias.
C = 0 is the augmented inverse-probability estimator of Robins, Rotnitzky & Zhao (1994, JASA 89);
p = C = 0 is Horvitz & Thompson (1952, JASA 47). Uniform π with p_ŷ = A and the rest flat has exactly
the information of the likelihood of "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 9;
a completely flat p costs the same once more, which cross-fitting prevents.

Equation (G) is unbiased for every p that was not made from the same item's answers, and efficient
for the true one. So items are put into folds; each model's accuracy is estimated on the other folds,
and p on a fold is what votes of such accuracies say (cross-fitting: Schick 1986, Ann. Stat. 14;
Chernozhukov et al. 2018, Econom. J. 21). For one model p_ŷ = Â and the rest is flat, with which
uniform routing attains the information of the likelihood.

Estimates from routed answers: means of equation (G), and of items drawn by a known probability.

The per-item outcome g, its derivation and its validity are in
`oversight.harness.estimate.routed_means`; here it becomes an `Estimate`, items being the independent
units.

Items that were drawn of a pool with unequal, recorded chances weigh as much as they stand for
(`oversight.harness.columns.weigh_draws`), over the sum of all: U(θ) of
`oversight.harness.estimate.tilting` is then Σ_i w_i (g_i − θ)/Σ_i w_i, a ratio of two unbiased sums
(Hájek 1971, in: Foundations of Statistical Inference), and Student's t has as many degrees of freedom as the
weights leave effective items, (Σw)²/Σw². Chances have a floor, so that no item weighs more than a few of
average weight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from oversight.harness.arrays import UNKNOWN, AnyIntArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import (
    blaker,
    check_items,
    check_level,
    count_effective,
    effective_clusters,
)
from oversight.harness.estimate.intervals import (
    DrawnStrata,
    design_effect,
    drawn_interval,
    effective_size,
    scale_by_share,
    share_interval,
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
"""Share of the working distribution from votes that is left flat."""


def question_weights(c: FloatArray, data: RoutedSample) -> FloatArray:
    """(c_k − C*)/π_k of every answered question, shape (n,): how g depends on the answer."""
    constant = optimal_constant(c, data.propensities, data.posterior, data.valid)
    gap: FloatArray = c[data.item, data.asked] - constant[data.item]
    return gap / data.propensities[data.item, data.asked]


def pseudo_outcomes(c: FloatArray, data: RoutedSample) -> FloatArray:
    """Per-item g of equation (G) with C*, shape (N,); its mean estimates θ without bias.

    Items that were not drawn (``sampled``), or need no question because c is constant, have g = Σ c_j p_j.

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
    """Posterior p, shape (N, K), from the votes of models whose accuracies other folds tell.

    Parameters
    ----------
    predicted
        Shape (N, M), −1 for unreadable. With fewer than 20 items the posterior stays flat: there is nothing
        to learn.
    data
        The answers; its own posterior is not used.

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
        # A probability of 1 would exclude any other answer, so at most .99 is used.
        accuracy = np.clip(seen[part], 0.01, 0.99)
        posterior[here] = vote_posterior(columns[here], data.n_options[here], width, accuracy=accuracy)
    return posterior


def weigh_votes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Working distribution of every item's true option from models' votes, shape (N, K).

    The cross-fitted posterior (`crossfitted_posterior`, same parameters), a twentieth of it made flat, so
    that votes which agree leave room for surprise.
    """
    posterior = crossfitted_posterior(predicted, data)
    flat = flat_posterior(data.n_options, data.propensities.shape[1])
    return (1 - _FLAT) * posterior + _FLAT * flat


def informed(predicted: ArrayLike, data: RoutedSample) -> RoutedSample:
    """The same data with a cross-fitted posterior, unless they have one that is not flat."""
    if not np.array_equal(data.posterior, flat_posterior(data.n_options, data.propensities.shape[1])):
        return data
    return replace(data, posterior=crossfitted_posterior(predicted, data))


def _fold_means(predicted: AnyIntArray, data: RoutedSample, fold: AnyIntArray) -> FloatArray:
    """Mean g of every model on the items outside each fold, shape (5, M)."""
    means = np.empty((_FOLDS, predicted.shape[1]))
    for m, column in enumerate(predicted.T):
        g = _outcomes(column, data)
        sums, sizes = np.bincount(fold, g, minlength=_FOLDS), np.bincount(fold, minlength=_FOLDS)
        means[:, m] = (sums.sum() - sums) / (sizes.sum() - sizes)
    return means


def _outcomes(predicted: ArrayLike, data: RoutedSample) -> FloatArray:
    """Outcomes g of one model; ½ everywhere if its accuracy alone is not identified."""
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


def routed_mean(
    c: FloatArray, data: RoutedSample, *, level: float = 0.95, cluster: IntArray | None = None
) -> Estimate:
    """Mean of g with Student's t around it, items being the independent units; for any target c.

    θ̂ = Σ_i g_i/N, Var = Σ_i (g_i − θ̂)²/(N(N − 1)). The value is unclipped; the interval is moved
    into the range of c. Several answers on one item enter one g_i, so they are not counted twice.
    With rare large g the interval covers less than its level and says so; an accuracy or a difference
    from one question an item has a better one (`routed_accuracy`, `oversight.harness.estimate.paired`).
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
    working: FloatArray | None = None,
    strata: DrawnStrata | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from answers to questions drawn for it, for several models, or for others.

    A = ρ A_r, the readable share times the accuracy there. If each readable prediction was asked about for
    certain, A is one binomial's (`blaker`); else A_r has the interval of `tilted_score`, and A that of
    `scale_by_share`. Items with several questions fall back to `routed_mean`.

    Parameters
    ----------
    predicted, cluster
        Shape (N,): −1 for unreadable, wrong and counted; number of the item's cluster, if it has one.
    data
        Answers.
    working
        Shape (N, K): side information on each item, see `tilt_items`.
    strata
        Of all N items, if they were drawn from a pool in proportion within strata.
    weight
        Shape (N,), positive: number of pool items that each one represents; not with `cluster`.

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its options.
    NotIdentified
        If the answers do not identify the accuracy, or if an item with a weight has several answers.
    """
    check_level(level)
    predicted = np.asarray(predicted, dtype=np.int64)
    check_predicted(predicted, data)
    rows, width = data.propensities.shape
    readable, target = predicted >= 0, accuracy_target(predicted, width)
    counts = replace(data.counts, unreadable=int(np.count_nonzero(~readable)))
    once = bool((np.bincount(data.item, minlength=rows)[readable] == 1).all())
    if weight is None and not data.sampled:
        if not once:
            found = routed_mean(target, informed(predicted[:, None], data), level=level, cluster=cluster)
            return replace(found, n=replace(found.n, unreadable=counts.unreadable))
        own = (data.propensities * target).sum(axis=1)[readable]
        if (own > 1 - 1e-9).all() and cluster is None:
            return _binomial_accuracy(data.by_item[1] * readable, counts, level, strata)
    if weight is not None and not readable.any():
        raise NotIdentified("no answered item has a readable prediction")
    keep, df = np.flatnonzero(readable), None
    tilted = tilt_sample(
        target,
        keep,
        data,
        cluster=cluster,
        strata=strata,
        working=working,
        weight=weight,
    )
    if weight is not None:
        df = max(1.0, count_effective(weight[keep]))
    elif data.sampled:
        df = float(readable[data.item].sum())
    share = 0.0 if strata is None else strata.take(keep).share
    inner = tilted_score(tilted, level, df=df, strata_share=share)
    return tilted_accuracy(inner, readable, counts, level, cluster=cluster, weight=weight)


def tilt_sample(
    target: FloatArray,
    keep: IntArray,
    data: RoutedSample,
    *,
    cluster: IntArray | None = None,
    strata: DrawnStrata | None = None,
    working: FloatArray | None = None,
    weight: FloatArray | None = None,
) -> TiltedRows:
    """Make the rows (`tilt_items`) of the items at the positions `keep`, with one question each.

    Other parameters are those of `routed_accuracy`; rows of items with weights weigh 1 together.

    Raises
    ------
    NotIdentified
        If items with weights have several questions or none, or answers do not determine the result.
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
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of all predictions from that of the readable ones, A = ρ A_r (`scale_by_share`).

    Shapes (N,): which predictions are readable, the number of the item's cluster, and the number of pool
    items that each item represents (by default one).
    """
    stands = np.ones(len(readable)) if weight is None else weight
    units = count_effective(stands)
    share = float(stands[readable].sum() / stands.sum())
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
    right: FloatArray, counts: Counts, level: float, strata: DrawnStrata | None
) -> Estimate:
    """Accuracy if each readable prediction was asked about with certainty; correctness has shape (N,)."""
    total, n = int(right.sum()), len(right)
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


def t_quantile(level: float, df: float) -> float:
    """Two-sided quantile of Student's t with df degrees of freedom.

    Examples
    --------
    >>> round(t_quantile(0.95, 10), 3)
    2.228
    """
    return float(stdtrit(df, 0.5 + level / 2))


SILENCE = "experts are silent as often about true options as about others"


def resolved_accuracy(
    correct: ArrayLike,
    *,
    own: ArrayLike | None = None,
    level: float = 0.95,
    cluster: IntArray | None = None,
    strata: DrawnStrata | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from its exact correctness, with Blaker's exact interval.

    Unknown items (an expert was silent) cannot just be left out, however blindly experts are silent: an
    item whose other predicted option is confirmed gets known all the same, and known wrong. With `own`
    all items whose own question met with silence are taken to be right as often as those where it was
    answered. Without it nothing is taken for granted: the lower end takes the unknown ones as wrong and the
    upper end as right, and the value is that of the known ones. The notes say how far they could move it.

    Parameters
    ----------
    correct
        Shape (N,) of 1, 0 and `UNKNOWN`.
    own
        Shape (N,), of `oversight.harness.estimate.routed_sample.Resolution`.
    cluster
        Shape (N,): number of the item's cluster, where items are not independent.
    strata
        Of all N items, if they were drawn from a pool in proportion within strata; used where all are known.
    weight
        Shape (N,), positive: number of pool items that each one represents, for unequal probabilities;
        unknown items are then not filled in by `own`. Not together with `cluster`.

    Raises
    ------
    EstimateError
        If no item is resolved, or none by the model's own question where `own` fills in the others.
    """
    check_level(level)
    z = np.asarray(correct, dtype=np.int64)

    unknown = int((z == UNKNOWN).sum())
    right, n = int((z == 1).sum()), len(z) - unknown
    if n == 0:
        raise EstimateError("an accuracy needs at least 1 resolved item, there are 0")
    assumptions: tuple[str, ...] = RESOLUTION_ASSUMPTIONS
    fills = weight is None and unknown > 0 and own is not None
    effect = 1.0 if strata is None or unknown else design_effect(z.astype(np.float64), strata)
    if weight is not None:
        if cluster is not None:
            refuse("estimate", {"weights", "clusters"})
        value = min(1.0, float(weight @ (z == 1) / weight[z != UNKNOWN].sum()))
        low, high = _tilt(z, level, weight=weight)
        method = "tilted-score"
        effect = n / count_effective(weight[z != UNKNOWN])
    elif fills:
        value, low, high, method = _fill_in(z, np.asarray(own, dtype=np.int64), level, cluster)
        assumptions = (*assumptions, SILENCE)
    else:
        value = right / n
        low, high, method = _enclose(z, level, cluster, strata)
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


def _enclose(
    z: IntArray, level: float, cluster: IntArray | None, strata: DrawnStrata | None
) -> tuple[float, float, str]:
    """Interval that covers all possible values of unknown items."""
    is_known = z != UNKNOWN
    if cluster is not None:
        return *_tilt(z, level, cluster=cluster), "tilted-score"
    if strata is not None and is_known.all():
        return drawn_interval(z.astype(np.float64), strata, level)
    low, high = blaker(int((z == 1).sum()), len(z), level)[0], blaker(int((z != 0).sum()), len(z), level)[1]
    return low, high, "blaker"


def _fill_in(
    z: IntArray, own: IntArray, level: float, cluster: IntArray | None
) -> tuple[float, float, float, str]:
    """Value and interval with silent items right as often as those whose own question was answered.

    Clopper–Pearson at the effective number of items (Korn & Graubard 1998, Surv. Methodol. 24): N times
    the variance of a share of N items over that with what the silent ones add, r(1 − r)(1/n − 1/m)(m/N)²
    with n of m own questions answered; r with one right and one wrong item more.
    """
    answered, put = own > 0, own != 0
    n, m = int(answered.sum()), int(put.sum())
    if n == 0:
        raise EstimateError("no item is resolved by the question about the model's own prediction")
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


def _tilt(
    z: IntArray,
    level: float,
    *,
    cluster: IntArray | None = None,
    weight: FloatArray | None = None,
) -> tuple[float, float]:
    """Lower end if unknown items are wrong, and upper end if they are right."""
    c = np.tile([1.0, 0.0], (len(z), 1))
    K, asked = np.full(len(z), 2), np.zeros(len(z), np.int64)
    df = None if weight is None else count_effective(weight)
    ends = []
    for right in (z == 1, z != 0):
        yes = right.astype(np.float64)
        rows = tilt_items(c, c, K, asked, yes, cluster=cluster)
        if weight is not None:
            rows = replace(rows, weight=weight / weight.sum())
        ends.append(tilted_score(rows, level, df=df))
    return ends[0].low, ends[1].high
