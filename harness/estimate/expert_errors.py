"""Accuracy from experts who err: gold items, second experts, and known ranges of error rates.

An expert says yes to a true option with probability s (sensitivity) and no to a false one with probability t
(specificity); J = s + t − 1. The probabilities of a yes about a predicted option (hit) and about another
option (miss) are

    α = P(yes | hit)  = A s + (1 − A)(1 − t)
    β = P(yes | miss) = (1 − t) + (1 − A) J/(K − 1)

Uniform data give the two moments α and β for the three unknowns A, s and t, so they do not identify A. Known
rates (gold items, `GoldCounts`) or two experts per question identify A, and ranges of s and t (`ErrorRanges`)
bound it. Ranges from the study's settings are taken as certain; ranges from gold items hold with a stated
probability.

**Likelihood** (`bounded_accuracy`). A question about an option that is true with probability τ is put to
experts who answer independently. The probability that y of them say yes and m say no is proportional to

    τ s^y (1 − s)^m + (1 − τ) (1 − t)^y t^m.

τ is A for a model's prediction, (1 − A)/(K − 1) for another option, and 1 or 0 for a true or false option of
a gold item. Questions with and without a second expert together identify A, s and t (Hui & Walter 1980,
Biometrics 36, with a known relation of the two prevalences). Without second experts, ranges of s and t bound
A.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.anytime import likelihood_sequence
from oversight.harness.estimate.core import (
    check_items,
    check_level,
    check_positive,
    check_successes,
    chi2_tail,
    clopper_pearson,
    count_effective,
    effective_clusters,
    find_root,
    sign_p_value,
    z_value,
)
from oversight.harness.estimate.intervals import effective_size, scale_by_share
from oversight.harness.estimate.routed_means import informed, question_weights, t_quantile
from oversight.harness.estimate.routed_sample import RoutedSample, accuracy_target
from oversight.harness.types import Counts, Estimate, Interval, Note, NoteKind

GOLD_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts err on these items as often as on the gold items, whatever the model predicts",
    "no model has seen the experts' answers",
)


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Counts of experts' answers about gold items, whose truth is known.

    Attributes
    ----------
    yes_on_true, n_true
        Number of "yes" answers, and of all answers, about true options.
    no_on_false, n_false
        Number of "no" answers, and of all answers, about false options.

    Raises
    ------
    EstimateError
        If a count is negative, exceeds its total, or a total is 0.

    Examples
    --------
    >>> GoldCounts(yes_on_true=18, n_true=20, no_on_false=19, n_false=20).sensitivity
    0.9
    """

    yes_on_true: int
    n_true: int
    no_on_false: int
    n_false: int

    def __post_init__(self) -> None:
        check_positive("n_true", self.n_true, "a sensitivity")
        check_positive("n_false", self.n_false, "a specificity")
        check_successes("yes_on_true", self.yes_on_true, "n_true", self.n_true)
        check_successes("no_on_false", self.no_on_false, "n_false", self.n_false)

    @property
    def sensitivity(self) -> float:
        """Estimated sensitivity ŝ = yes_on_true/n_true."""
        return self.yes_on_true / self.n_true

    @property
    def specificity(self) -> float:
        """Estimated specificity t̂ = no_on_false/n_false."""
        return self.no_on_false / self.n_false


_NORMAL = "a normal interval around a mean of rare large outcomes covers less than its level in small samples"


def youden(s: float, t: float) -> float:
    """Return Youden's index J = s + t − 1, in (0, 1], of the sensitivity s and the specificity t.

    Raises
    ------
    NotIdentified
        If J ≤ 0, because the answers are then no better than random.
    """
    if not (0 <= s <= 1 and 0 <= t <= 1):
        raise EstimateError(f"sensitivity and specificity must lie in [0, 1], are {s} and {t}")
    if s + t <= 1:
        raise NotIdentified(
            f"sensitivity + specificity must exceed 1, is {s + t:.4g}: answers with a smaller sum contain no "
            "information"
        )
    return s + t - 1


def corrected_answers(answer: ArrayLike, s: float, t: float) -> FloatArray:
    """Return b̃ = (b − (1 − t))/(s + t − 1) for answers b about options k.

    E[b̃ | y] = 1{y = k} for the truth y, so b̃ may replace b in equation (G). It is the linear function of b
    with this property, because E[b | y = k] = s and E[b | y ≠ k] = 1 − t. Values lie outside (0, 1).

    Raises
    ------
    NotIdentified
        If s + t ≤ 1.
    """
    return (np.asarray(answer, dtype=np.float64) - (1 - t)) / youden(s, t)


def corrected_mean(c: FloatArray, data: RoutedSample, gold: GoldCounts, *, level: float = 0.95) -> Estimate:
    """Estimate a mean by equation (G) with answers that are corrected by error rates from gold items.

    The variance allows for the uncertainty of these rates.

    With w_q = (c_k − C*)/π_k per question q and b̃ as in `corrected_answers`, the variance is
    Var(g̃)/N + G_s² s(1−s)/n_s + G_t² t(1−t)/n_t, where G_s = −Σ_q w_q b̃_q/(N J) and
    G_t = Σ_q w_q (1 − b̃_q)/(N J). For targeted routing this is Â = (α̂ + t̂ − 1)/(ŝ + t̂ − 1) with the
    variance [α(1−α)/n + A² s(1−s)/n_s + (1−A)² t(1−t)/n_t]/J² (Rogan & Gladen 1978, Am. J. Epidemiol. 107).

    Two additions keep the interval from being too short if there are few gold items, or no errors. One right
    and one wrong gold answer are added to the counts of each rate (Lang & Reiczigel 2014, Prev. Vet. Med.
    113), and the variance includes one more item at each end of the scale of outcomes.

    Parameters
    ----------
    c, data
        Target and answers, as for `routed_mean`; build ``data`` with ``error_free=False``. If items are in
        clusters, clusters are the independent units and the quantile is Student's. If items have weights,
        means are weighted and the number of units is the effective one.
    gold
        Counts from independent gold items that are not in ``data``.

    Raises
    ------
    NotIdentified
        If the rates give J ≤ 0, or an option of the target had no chance to be asked about.
    """
    check_level(level)
    size, cluster, weight = len(c), data.cluster, data.weight
    check_items(size)
    share = np.full(size, 1 / size) if weight is None else weight / weight.sum()
    value, _, _ = _corrected(c, data, share, gold.sensitivity, gold.specificity)
    n_s, n_t = gold.n_true + 2, gold.n_false + 2
    s, t = (gold.yes_on_true + 1) / n_s, (gold.no_on_false + 1) / n_t
    centre, g, (slope_s, slope_t) = _corrected(c, data, share, s, t)
    floor, ceiling = min(0.0, float(c.min())), max(0.0, float(c.max()))
    rest = size * share * (g - centre)
    sums = rest if cluster is None else np.bincount(cluster, rest)
    units = count_units(data)
    # One unit is added at each end of the scale of outcomes, so that the variance of equal outcomes is not 0.
    end = (ceiling - floor) / youden(s, t) * size / units
    sampling = (float((sums**2).sum()) + end**2 / 2) / (units + 1) * units / size**2
    se = float(np.sqrt(sampling + slope_s**2 * s * (1 - s) / n_s + slope_t**2 * t * (1 - t) / n_t))
    are_many = cluster is None and weight is None
    half = se * (z_value(level) if are_many else t_quantile(level, max(1.0, units - 1)))
    low, high = (min(ceiling, max(floor, end)) for end in (centre - half, centre + half))
    notes = () if floor <= value <= ceiling else (Note(NoteKind.OUT_OF_RANGE),)
    low, high = min(low, max(floor, value)), max(high, min(ceiling, value))
    made = Interval(low=low, high=high, level=level, method="delta", notes=notes, why=_NORMAL)
    return _estimate(value, se, made, data.counts)


def _estimate(value: float, se: float, interval: Interval, n: Counts) -> Estimate:
    return Estimate.from_interval(
        value=value, se=se, interval=interval, estimator="corrected", n=n, assumptions=GOLD_ASSUMPTIONS
    )


def count_units(data: RoutedSample) -> float:
    """Return the effective number of independent units among the items."""
    if data.cluster is not None:
        return effective_clusters(data.cluster, data.weight)
    return float(len(data.propensities)) if data.weight is None else count_effective(data.weight)


def corrected_accuracy(
    predicted: ArrayLike, data: RoutedSample, gold: GoldCounts, *, level: float = 0.95
) -> Estimate:
    """Estimate the accuracy of one model from experts who err, as `corrected_mean` does.

    `predicted` has shape (N,); −1 is an unreadable prediction, which counts as wrong.
    """
    c = accuracy_target(predicted, data.propensities.shape[1])
    data = informed(np.asarray(predicted, dtype=np.int64)[:, None], data)
    return corrected_mean(c, data, gold, level=level)


def _corrected(
    c: FloatArray, data: RoutedSample, share: FloatArray, s: float, t: float
) -> tuple[float, FloatArray, tuple[float, float]]:
    """Return the mean of g̃ weighted by `share`, the array g̃, and the pair of the mean's derivatives.

    g̃ contains the outcomes of equation (G) with answers that are corrected for experts' errors. The
    derivatives are those with respect to the sensitivity s and the specificity t.
    """
    b = corrected_answers(data.answer, s, t)
    weight = question_weights(c, data)
    g = (c * data.posterior).sum(axis=1)
    g = g + np.bincount(data.item, weight * (b - data.posterior[data.item, data.asked]), minlength=len(c))
    weight = weight * share[data.item]
    slope = youden(s, t)
    slopes = -float((weight * b).sum()) / slope, float((weight * (1 - b)).sum()) / slope
    return float(share @ g), g, slopes


_FINE_GRID = np.linspace(0.0, 1.0, 2001, dtype=np.float64)
_GOLD_ROUNDS = 400
_GOLD_CLOSE = 1e-9
_LEAST_CHANCE = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class _YesCounts:
    """Numbers of "yes" answers, x, and of all answers, n, in four groups of questions.

    All arrays have one entry per group. The groups are questions about predictions, about other options,
    about true options of gold items, and about false options of gold items. In this order, the option asked
    about is true with probability A, (1 − A)/(K − 1), 1 and 0. This is τ = base + slope·A, and
    P(yes) = τ s + (1 − τ)(1 − t).
    """

    x: FloatArray
    n: FloatArray
    base: FloatArray
    slope: FloatArray


def allows_gold_score(predicted: IntArray, data: RoutedSample) -> bool:
    """Whether `gold_accuracy` applies to the data.

    The method requires one question per item and the same K for all items. The options asked about must have
    been drawn uniformly, or must all be the model's predictions.
    """
    readable = predicted >= 0
    once = len(data.item) == len(predicted) and len(np.unique(data.item)) == len(predicted)
    alike = len(np.unique(data.n_options)) == 1
    return bool(once and alike and readable.any() and (_uniform(data) or _own(predicted, data)))


def gold_accuracy(
    predicted: IntArray, data: RoutedSample, gold: GoldCounts, *, level: float = 0.95
) -> Estimate:
    """Estimate an accuracy A by maximum likelihood, with an efficient-score interval.

    The likelihood depends on A and on the experts' rates s and t. The counts are independent binomials
    (`_YesCounts`). At every A of a grid, s and t are fitted by EM. The interval contains every A whose
    efficient score is at most t_q standard errors from 0, where t_q is a quantile of Student's t. Unlike a
    normal interval around the estimate, it keeps its coverage if A is near 0 or 1, or if yes answers are
    rare. Unreadable predictions count as wrong (`scale_by_share`).

    Parameters
    ----------
    predicted, data
        Predictions, shape (N,), −1 for unreadable; and answers that `allows_gold_score` accepts. If items are
        in clusters, their counts are reduced to their effective number (`independent_share`); gold items
        count as independent.
    gold
        Counts from independent gold items that are not in `data`.
    """
    readable = predicted >= 0
    counts = _count_yes(predicted, data, gold)
    s, t, best, kept = _invert(counts, gold, level, int(readable.sum()))
    if data.cluster is not None:
        rates = float(_FINE_GRID[best]), float(s[best]), float(t[best])
        part = independent_share(predicted, data, rates, data.cluster, level)
        scale = np.array([part, part, 1.0, 1.0])
        counts = replace(counts, x=counts.x * scale, n=counts.n * scale)
        s, t, best, kept = _invert(counts, gold, level, int(readable.sum() * part))
    information = _efficient_score(counts, s, t)[1]
    low, high = _widen(_FINE_GRID, kept)
    value, low, high = _scale(predicted, data, level, (float(_FINE_GRID[best]), low, high))
    se = float(readable.mean()) / math.sqrt(max(float(information[best]), _GOLD_CLOSE))
    made = Interval(low=low, high=high, level=level, method="gold-score")
    return _estimate(value, se, made, data.counts)


def _widen(grid: FloatArray, kept: IntArray) -> tuple[float, float]:
    """Return the ends of the kept part of a grid on [0, 1], widened by one step at each end."""
    return max(0.0, float(grid[kept.min()] - grid[1])), min(1.0, float(grid[kept.max()] + grid[1]))


def _scale(
    predicted: IntArray, data: RoutedSample, level: float, found: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Scale an accuracy on readable predictions, and its interval, to all predictions (`scale_by_share`)."""
    readable = (predicted >= 0).astype(np.float64)
    if readable.all():
        return found
    n = len(readable) if data.cluster is None else effective_size(readable, data.cluster, level)
    return scale_by_share(float(readable.mean()), n, *found, level)


def independent_share(
    predicted: IntArray,
    data: RoutedSample,
    rates: tuple[float, float, float],
    cluster: IntArray,
    level: float,
) -> float:
    """Return the effective number of items in clusters as a share of the number of items.

    It is computed by `effective_size` from each item's score (derivative of the log likelihood in A). The
    scores are first scaled to the mean A and the variance A(1 − A) of correctness.

    Parameters
    ----------
    predicted, cluster
        Shape (N,), as for `gold_accuracy`.
    rates
        A, s and t at which the scores are computed.
    """
    A, s, t = rates
    of, K = predicted[data.item], int(data.n_options[0])
    hit = of == data.asked
    tau = np.where(hit, A, (1 - A) / (K - 1))
    p = np.clip(tau * s + (1 - tau) * (1 - t), _GOLD_CLOSE, 1 - _GOLD_CLOSE)
    score = np.zeros(len(predicted))
    score[data.item] = np.where(
        of >= 0, (data.answer - p) / (p * (1 - p)) * np.where(hit, 1, -1 / (K - 1)), 0
    )
    scored = predicted >= 0
    rest = score[scored] - score[scored].mean()
    spread = float(np.sqrt((rest**2).mean()))
    values = A + rest * (math.sqrt(A * (1 - A)) / spread if spread > 0 else 0.0)
    groups = np.unique(cluster[scored], return_inverse=True)[1]
    if groups.max(initial=0) < 1:
        raise NotIdentified("clusters: at least 2 must have a readable prediction")
    return effective_size(values, groups, level) / len(values)


def _invert(
    counts: _YesCounts, gold: GoldCounts, level: float, items: int
) -> tuple[FloatArray, FloatArray, int, IntArray]:
    """Return the fitted rates s and t at every A of the grid, and positions on the grid.

    The positions are that of the estimate of A, and those of all A that the interval contains.
    """
    s, t = _fit_rates(counts, gold)
    score, information = _efficient_score(counts, s, t)
    fewest = min(gold.n_true, gold.n_false, items)
    kept = np.flatnonzero(score**2 <= t_quantile(level, max(1, fewest - 1)) ** 2 * information)
    best = int(np.argmin(np.where(information > 0, score**2 / np.maximum(information, _GOLD_CLOSE), np.inf)))
    return s, t, best, np.append(kept, best)


def _uniform(data: RoutedSample) -> bool:
    return bool(np.allclose(data.propensities * data.n_options[:, None], 1, atol=1e-6))


def _own(predicted: IntArray, data: RoutedSample) -> bool:
    """Whether every question was certain to be about the prediction."""
    return bool(
        (data.by_item[0] == predicted).all() and (data.propensities.max(axis=1) > 1 - _GOLD_CLOSE).all()
    )


def _count_yes(predicted: IntArray, data: RoutedSample, gold: GoldCounts) -> _YesCounts:
    of = predicted[data.item]
    hit: BoolArray = of == data.asked
    other = ~hit & (of >= 0)
    yes = data.answer > 0.5
    K = int(data.n_options[0])
    x = [(yes & hit).sum(), (yes & other).sum(), gold.yes_on_true, gold.n_false - gold.no_on_false]
    n = [hit.sum(), other.sum(), gold.n_true, gold.n_false]
    return _YesCounts(
        x=np.array(x, dtype=np.float64),
        n=np.array(n, dtype=np.float64),
        base=np.array([0.0, 1 / (K - 1), 1.0, 0.0]),
        slope=np.array([1.0, -1 / (K - 1), 0.0, 0.0]),
    )


def _fit_rates(counts: _YesCounts, gold: GoldCounts) -> tuple[FloatArray, FloatArray]:
    """Return the maximum-likelihood sensitivity and specificity at every A of the grid, by EM."""
    tau = counts.base + _FINE_GRID[:, None] * counts.slope
    s = np.full(len(_FINE_GRID), (gold.yes_on_true + 0.5) / (gold.n_true + 1))
    t = np.full(len(_FINE_GRID), (gold.no_on_false + 0.5) / (gold.n_false + 1))
    no = counts.n - counts.x
    for _ in range(_GOLD_ROUNDS):
        by_true, by_false = tau * s[:, None], (1 - tau) * (1 - t[:, None])
        true_yes = counts.x * by_true / np.maximum(by_true + by_false, _LEAST_CHANCE)
        by_true, by_false = tau * (1 - s[:, None]), (1 - tau) * t[:, None]
        true_no = no * by_true / np.maximum(by_true + by_false, _LEAST_CHANCE)
        true = (true_yes + true_no).sum(axis=1)
        fresh = true_yes.sum(axis=1) / true, (no - true_no).sum(axis=1) / (counts.n.sum() - true)
        moved = max(float(np.abs(fresh[0] - s).max()), float(np.abs(fresh[1] - t).max()))
        s, t = fresh
        if moved < _GOLD_CLOSE:
            break
    return s, t


def _efficient_score(counts: _YesCounts, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the efficient score of A (s and t projected out) and its variance, at every A of the grid."""
    tau = counts.base + _FINE_GRID[:, None] * counts.slope
    p = np.clip(tau * s[:, None] + (1 - tau) * (1 - t[:, None]), _GOLD_CLOSE, 1 - _GOLD_CLOSE)
    weight = counts.n / (p * (1 - p))
    residual = (counts.x - counts.n * p) / (p * (1 - p))
    by_A = counts.slope * (s + t - 1)[:, None]
    slopes = (by_A, tau, tau - 1)
    score = [(residual * slope).sum(axis=1) for slope in slopes]
    (aa, a_s, at), (_, ss, st), (_, _, tt) = ([(weight * a * b).sum(axis=1) for b in slopes] for a in slopes)
    det = ss * tt - st**2
    k_s, k_t = (a_s * tt - at * st) / det, (at * ss - a_s * st) / det
    return score[0] - k_s * score[1] - k_t * score[2], aa - k_s * a_s - k_t * at


ERROR_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts err equally often, whatever the model predicts, and better than a coin",
)
SECOND_ASSUMPTIONS = (
    *ERROR_ASSUMPTIONS,
    "two experts of a question judge it independently, given the truth",
)
_GRID = np.linspace(0.0, 1.0, 501, dtype=np.float64)
_STARTS = ((0.95, 0.97), (0.75, 0.75))
_ROUNDS = 2000
_CLOSE = 1e-6
_TINY = 1e-12
_FEW = 3
"""Smallest expected count of a cell; with smaller counts, the deviance test rejects too often."""
_DOUBT = 0.01
"""Level of the tests of the assumptions about second experts; if one fails, no estimate is returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRanges:
    """Prior ranges of experts' error rates, and experts' answers about gold items.

    Attributes
    ----------
    sensitivity, specificity
        Smallest and largest possible value of the rate, within [½, 1].
    gold_true, gold_false
        Pairs of the number of yes answers and the number of no answers about gold items: `gold_true` for
        questions about true options, `gold_false` for questions about false options.

    Raises
    ------
    EstimateError
        If a range is empty or not within [½, 1].

    Examples
    --------
    >>> known = ErrorRanges(sensitivity=(0.8, 1.0), gold_true=(18, 2), gold_false=(1, 19))
    >>> known.gold
    GoldCounts(yes_on_true=18, n_true=20, no_on_false=19, n_false=20)
    """

    sensitivity: tuple[float, float] = (0.5, 1.0)
    specificity: tuple[float, float] = (0.5, 1.0)
    gold_true: tuple[int, int] = (0, 0)
    gold_false: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            low, high = getattr(self, name)
            if not 0.5 <= low <= high <= 1:
                raise EstimateError(f"{name} must be a range between 0.5 and 1, is {low:g} to {high:g}")

    @property
    def gold(self) -> GoldCounts | None:
        """Counts of answers about gold items; None if no true option, or no false option, has an answer."""
        (right, missed), (false_yes, true_no) = self.gold_true, self.gold_false
        if not (right + missed and false_yes + true_no):
            return None
        return GoldCounts(right, right + missed, true_no, true_no + false_yes)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts of questions with the same numbers of yes and no answers, and the same P(option is true).

    That probability is base + slope·A. All arrays have one entry per cell.
    """

    count: FloatArray
    yes: FloatArray
    no: FloatArray
    base: FloatArray
    slope: FloatArray

    def split(self, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(answers, option true) and P(answers, option false), shape (grid, cells).

        Each entry is the probability of one cell's answers in a fixed order, at one accuracy A of the grid.
        `s` and `t` contain one sensitivity and one specificity per A.
        """
        tau = self.base + _GRID[:, None] * self.slope
        s, t = s[:, None], t[:, None]
        return tau * s**self.yes * (1 - s) ** self.no, (1 - tau) * (1 - t) ** self.yes * t**self.no


def bounded_accuracy(
    predicted: IntArray, data: RoutedSample, second: IntArray, known: ErrorRanges, *, level: float = 0.95
) -> Estimate:
    """Estimate an accuracy A by maximum likelihood, with a profile-likelihood interval.

    The likelihood depends on A and on the experts' rates s and t. The interval contains every A at which
    twice the loss of profile log-likelihood is at most the quantile of the mixture ½χ²₁ + ½χ²₂. If the rates
    lie at the ends of their ranges, twice the loss is stochastically at most the mixture (Self & Liang 1987,
    JASA 82, in the plane of the two frequencies). If the square of Student's t quantile is larger, for
    example because few items have second answers, that square is used instead. If the ranges of s and t only
    bound A, several A have the largest likelihood, and the interval contains all of them. Unreadable
    predictions count as wrong.

    Parameters
    ----------
    predicted, data
        As for `gold_accuracy`.
    second
        Second expert's answer to each question of `data`: 1 yes, 0 no, −1 none.
    known
        Ranges of the error rates, and answers about gold items.

    Raises
    ------
    NotIdentified
        If second answers contradict the assumptions, or the interval is the whole of [0, 1].
    """
    readable = predicted >= 0
    cells, doubles = _count_cells(predicted, data, second, known)
    if doubles:
        _check_exchangeable(data, second)
    likelihood, rates = _profile(cells, known)
    best, part = int(np.argmax(likelihood)), 1.0
    if data.cluster is not None:
        found = float(_GRID[best]), float(rates[0][best]), float(rates[1][best])
        part = independent_share(predicted, data, found, data.cluster, level)
        cells = replace(cells, count=np.where(cells.slope != 0, cells.count * part, cells.count))
        likelihood, rates = _profile(cells, known)
        best = int(np.argmax(likelihood))
    if doubles:
        _check_fit(cells, rates[0][best], rates[1][best], float(_GRID[best]))
    loss = 2 * (likelihood[best] - likelihood)
    quantile = t_quantile(level, max(1, int(part * (doubles or readable.sum())) - 1))
    kept = np.flatnonzero(loss <= max(quantile**2, _mixed_quantile(level)))
    low, high = _widen(_GRID, kept)
    if low == 0 and high == 1:
        raise NotIdentified(
            "experts' error rates are not known well enough: every accuracy from 0 to 1 fits the answers; "
            "add gold items, or ask a second expert more questions"
        )
    value, low, high = _scale(predicted, data, level, (float(_GRID[best]), low, high))
    return Estimate.from_interval(
        value=value,
        interval=Interval(low=low, high=high, level=level, method="profile-likelihood"),
        estimator="hui_walter" if doubles else "bounded",
        n=data.counts,
        assumptions=SECOND_ASSUMPTIONS if doubles else ERROR_ASSUMPTIONS,
    )


def _mixed_quantile(level: float) -> float:
    """Return the quantile of the equal mixture of χ² with one and with two degrees of freedom."""
    return find_root(lambda x: (chi2_tail(x, 1) + chi2_tail(x, 2)) / 2 - (1 - level), 0.0, 100.0)


def _count_cells(
    predicted: IntArray, data: RoutedSample, second: IntArray, known: ErrorRanges
) -> tuple[_Cells, int]:
    """Return answers counted by cell, and the number of second answers for readable predictions."""
    of = predicted[data.item]
    hit, there, yes = of == data.asked, of >= 0, data.answer > 0.5
    K, rows = int(data.n_options[0]), list[tuple[float, int, int, float, float]]()
    for base, slope, which in ((0.0, 1.0, hit & there), (1 / (K - 1), -1 / (K - 1), ~hit & there)):
        for said in (True, False):
            own = which & (yes == said)
            rows.append((float((own & (second < 0)).sum()), int(said), int(not said), base, slope))
            for again in (1, 0):
                n = float((own & (second == again)).sum())
                rows.append((n, said + again, 2 - said - again, base, slope))
    for base, (n_yes, n_no) in ((1.0, known.gold_true), (0.0, known.gold_false)):
        rows += [(n_yes, 1, 0, base, 0.0), (n_no, 0, 1, base, 0.0)]
    columns = np.array([row for row in rows if row[0]], dtype=np.float64).T
    return _Cells(*columns), int(((second >= 0) & there).sum())


def _profile(cells: _Cells, known: ErrorRanges) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the maximum log-likelihood at every A of the grid, and the maximising rates s and t, by EM."""
    flat = np.zeros_like(_GRID)
    best = flat - np.inf
    found: tuple[FloatArray, FloatArray] = flat, flat
    for start in _STARTS:
        s = np.clip(flat + start[0], *known.sensitivity)
        t = np.clip(flat + start[1], *known.specificity)
        likelihood, before = flat - np.inf, flat - np.inf
        for _ in range(_ROUNDS):
            true, false = cells.split(s, t)
            both = np.maximum(true + false, _TINY)
            before, likelihood = likelihood, (cells.count * np.log(both)).sum(axis=1)
            if float((likelihood - before).max()) < _CLOSE:
                break
            is_true = cells.count * true / both
            is_false = cells.count - is_true
            s = np.clip(_ratio(is_true, cells.yes, cells.no, s), *known.sensitivity)
            t = np.clip(_ratio(is_false, cells.no, cells.yes, t), *known.specificity)
        better = likelihood > best
        best = np.where(better, likelihood, best)
        found = np.where(better, s, found[0]), np.where(better, t, found[1])
    return best, found


def _ratio(weight: FloatArray, successes: FloatArray, failures: FloatArray, kept: FloatArray) -> FloatArray:
    """Return the share of successes among weighted answers; the value `kept` if all weights are 0."""
    of = (weight * (successes + failures)).sum(axis=1)
    return np.where(of > _TINY, (weight * successes).sum(axis=1) / np.maximum(of, _TINY), kept)


def _check_exchangeable(data: RoutedSample, second: IntArray) -> None:
    """Raise an error if first experts say yes more often than second experts, or the reverse.

    The difference must be significant in a sign test on the questions about which they disagree, at level
    `_DOUBT`.
    """
    first = data.answer > 0.5
    more, fewer = int((first & (second == 0)).sum()), int((~first & (second == 1)).sum())
    if more + fewer and sign_p_value(more, fewer) < _DOUBT:
        raise NotIdentified(
            "this estimate assumes that first and second experts err equally often, but where they disagree, "
            f"the first said yes {more} times and the second {fewer} times"
        )


def _check_fit(cells: _Cells, s: float, t: float, A: float) -> None:
    """Refuse answers that do not fit two independent experts with the rates s and t, by a deviance test."""
    deviance, free = 0.0, -3
    tau = cells.base + A * cells.slope
    for slope in np.unique(cells.slope[cells.slope != 0]):
        for size in (1, 2):
            group = (cells.slope == slope) & (cells.yes + cells.no == size)
            seen = [float(cells.count[group & (cells.yes == yes)].sum()) for yes in range(size + 1)]
            if not sum(seen):
                continue
            share = float(tau[group][0])
            chance = [_chance(size, yes, s, t, share) for yes in range(size + 1)]
            merged = _merge_rare(seen, [sum(seen) * each for each in chance])
            deviance += sum(2 * x * np.log(x / mean) for x, mean in merged if x)
            free += max(0, len(merged) - 1)
    if free > 0 and chi2_tail(float(deviance), free) < _DOUBT:
        raise NotIdentified(
            "the answers do not fit two experts who judge independently with equal error rates "
            f"(deviance {deviance:.1f} with {free} degrees of freedom); add gold items"
        )


def _chance(size: int, yes: int, s: float, t: float, tau: float) -> float:
    """Return the probability that `yes` of `size` experts say yes.

    `s` and `t` are their sensitivity and specificity, and `tau` is the probability that the option is true.
    """
    true = s**yes * (1 - s) ** (size - yes)
    false = (1 - t) ** yes * t ** (size - yes)
    return comb(size, yes) * (tau * true + (1 - tau) * false)


def _merge_rare(seen: Sequence[float], expected: Sequence[float]) -> list[tuple[float, float]]:
    """Return pairs of observed and expected counts; cells with small expected counts are merged."""
    found, x, mean = list[tuple[float, float]](), 0.0, 0.0
    for one, of in zip(seen, expected, strict=True):
        x, mean = x + one, mean + of
        if mean >= _FEW:
            found.append((x, mean))
            x = mean = 0.0
    if found and mean:
        last = found.pop()
        found.append((last[0] + x, last[1] + mean))
    return found


def youden_interval(gold: GoldCounts, level: float) -> tuple[float, float, float]:
    """Return J = sensitivity + specificity − 1 and the ends of its interval.

    The lower end is possibly negative. The squared distances of the Clopper–Pearson limits of both rates are
    added (Newcombe 1998, Stat. Med. 17). The rates are independent, because they come from different
    questions.

    Raises
    ------
    NotIdentified
        If the rates give J ≤ 0, because the answers are then no better than random.
    """
    s, t = gold.sensitivity, gold.specificity
    s_low, s_high = clopper_pearson(gold.yes_on_true, gold.n_true, level)
    t_low, t_high = clopper_pearson(gold.no_on_false, gold.n_false, level)
    J = youden(s, t)
    return J, J - math.hypot(s - s_low, t - t_low), J + math.hypot(s_high - s, t_high - t)


def rate_ranges(
    known: ErrorRanges, level: float, *, any_time: bool = False
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return ranges of sensitivity and specificity that hold jointly with probability `level`.

    They are the prior ranges, narrowed by answers about gold items.

    Parameters
    ----------
    any_time
        Whether the ranges must be valid after every answer about a gold item (`likelihood_sequence`).

    Raises
    ------
    NotIdentified
        If answers about gold items contradict a prior range.
    """
    kinds = ((known.sensitivity, known.gold_true), (known.specificity, known.gold_false[::-1]))
    asked = sum(sum(gold) > 0 for _, gold in kinds)
    each = 1 - (1 - level) / max(1, asked)
    found = list[tuple[float, float]]()
    for (low, high), (right, wrong) in kinds:
        if right + wrong:
            if any_time:
                sequence = likelihood_sequence(right, wrong, [], [], level=each)
                least, most = sequence.low, sequence.high
            else:
                least, most = clopper_pearson(right, right + wrong, each)
        else:
            least, most = 0.0, 1.0
        if max(low, least) > min(high, most):
            raise NotIdentified(
                "the answers to gold items do not fit the range of sensitivity or of specificity that "
                "study.toml sets (default: 0.5 to 1)"
            )
        found.append((max(low, least), min(high, most)))
    return found[0], found[1]
