"""Experts who err: rates from gold items, corrected estimates, and refusal where data cannot tell.

An expert says yes to a true option with probability s (sensitivity) and no to a false one with
probability t (specificity), J = s + t − 1. About a predicted option (hit) and another (miss):

    α = P(yes | hit)  = A s + (1 − A)(1 − t)
    β = P(yes | miss) = (1 − t) + (1 − A) J/(K − 1)

Uniform data give the two moments α, β for the three unknowns A, s, t: they do not identify A. Known
rates (gold items) do. Two experts per question do too (`oversight.harness.estimate.routed.error_likelihood`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import (
    check_items,
    check_level,
    check_positive,
    check_successes,
    effective_clusters,
    z_value,
)
from oversight.harness.estimate.routed.doubly_robust import informed, question_weights
from oversight.harness.estimate.routed.means import t_quantile
from oversight.harness.estimate.routed.routed_sample import RoutedSample, accuracy_target
from oversight.harness.types import Estimate, Interval, Note, NoteKind

GOLD_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts err on these items as often as on the gold items, whatever the model predicts",
    "no model has seen the experts' answers",
)


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Answers to questions whose truth is known.

    Attributes
    ----------
    yes_on_true, n_true
        Yes-answers among the questions about the true option.
    no_on_false, n_false
        No-answers among the questions about a false option.

    Raises
    ------
    EstimateError
        If a count is negative, exceeds its total, or a total is 0.
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
        """Estimate ŝ = yes_on_true/n_true."""
        return self.yes_on_true / self.n_true

    @property
    def specificity(self) -> float:
        """Estimate t̂ = no_on_false/n_false."""
        return self.no_on_false / self.n_false


_NORMAL = "a normal interval around a mean of rare large outcomes covers less than its level in small samples"


def youden(s: float, t: float) -> float:
    """J = s + t − 1, in (0, 1].

    Raises
    ------
    NotIdentified
        If J ≤ 0: answers no better than a coin say nothing about the truth.
    """
    if not (0 <= s <= 1 and 0 <= t <= 1):
        raise EstimateError(f"sensitivity and specificity must lie in [0, 1], are {s} and {t}")
    if s + t <= 1:
        raise NotIdentified(f"sensitivity + specificity must exceed 1, is {s + t:.4g}: answers carry nothing")
    return s + t - 1


def corrected_answers(answer: ArrayLike, s: float, t: float) -> FloatArray:
    """b̃ = (b − (1 − t))/(s + t − 1): E[b̃ | y] = 1{y = k}, so b̃ may take b's place in (G).

    Derivation: E[b | y = k] = s and E[b | y ≠ k] = 1 − t; solve the line through the two.
    Values lie outside [0, 1]. Raises `NotIdentified` if s + t ≤ 1.
    """
    return (np.asarray(answer, dtype=np.float64) - (1 - t)) / youden(s, t)


def corrected_mean(
    c: FloatArray,
    data: RoutedSample,
    gold: GoldCounts,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Estimate:
    """Equation (G) with corrected answers, its variance including that of the gold rates.

    With w_q = (c_k − C*)/π_k per question and b̃ as in `corrected_answers`,
    Var = Var(g̃)/N + G_s² s(1−s)/n_s + G_t² t(1−t)/n_t,
    G_s = −Σ_q w_q b̃_q/(N J), G_t = Σ_q w_q (1 − b̃_q)/(N J). For targeted routing this is
    Â = (α̂ + t̂ − 1)/(ŝ + t̂ − 1) with Var = [α(1−α)/n + A² s(1−s)/n_s + (1−A)² t(1−t)/n_t]/J²
    (Rogan & Gladen 1978, Am. J. Epidemiol. 107). The interval is centred on
    rates with one answer of either kind added (Lang & Reiczigel 2014, Prev. Vet. Med. 113), and its
    spread counts one item at each end of the answer scale, so that few gold items or answers without
    an error are not taken for certainty.

    Parameters
    ----------
    c, data
        Target and answers, as for `routed_mean`; build ``data`` with ``error_free=False``.
    gold
        Counts from gold items, not used in ``data``, and of independent items.
    cluster
        Shape (N,): number of the item's cluster; clusters are then the independent units, of which one more
        lies at each end, and the quantile is Student's.

    Raises
    ------
    NotIdentified
        If the rates give J ≤ 0, or positivity fails.
    """
    check_level(level)
    size = len(c)
    check_items(size)
    value, _, _ = _corrected(c, data, gold.sensitivity, gold.specificity)
    n_s, n_t = gold.n_true + 2, gold.n_false + 2
    s, t = (gold.yes_on_true + 1) / n_s, (gold.no_on_false + 1) / n_t
    centre, g, (slope_s, slope_t) = _corrected(c, data, s, t)
    floor, ceiling = min(0.0, float(c.min())), max(0.0, float(c.max()))
    sums = g - g.mean() if cluster is None else np.bincount(cluster, g - g.mean())
    units = size if cluster is None else effective_clusters(cluster)
    # One added unit at each end of the answer scale: a sample without errors is not free of variance.
    end = (ceiling - floor) / youden(s, t) * size / units
    sampling = (float((sums**2).sum()) + end**2 / 2) / (units + 1) * units / size**2
    se = float(np.sqrt(sampling + slope_s**2 * s * (1 - s) / n_s + slope_t**2 * t * (1 - t) / n_t))
    half = se * (z_value(level) if cluster is None else t_quantile(level, max(1.0, units - 1)))
    low, high = (min(ceiling, max(floor, end)) for end in (centre - half, centre + half))
    notes = () if floor <= value <= ceiling else (Note(NoteKind.OUT_OF_RANGE),)
    low, high = min(low, max(floor, value)), max(high, min(ceiling, value))
    return Estimate.from_interval(
        value=value,
        se=se,
        interval=Interval(low=low, high=high, level=level, method="delta", notes=notes, why=_NORMAL),
        estimator="corrected",
        n=data.counts,
        assumptions=GOLD_ASSUMPTIONS,
    )


def corrected_accuracy(
    predicted: ArrayLike,
    data: RoutedSample,
    gold: GoldCounts,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Estimate:
    """Accuracy of one model from fallible experts; see `corrected_mean`. −1 counts as wrong."""
    c = accuracy_target(predicted, data.propensities.shape[1])
    data = informed(np.asarray(predicted, dtype=np.int64)[:, None], data)
    return corrected_mean(c, data, gold, level=level, cluster=cluster)


def _corrected(
    c: FloatArray, data: RoutedSample, s: float, t: float
) -> tuple[float, FloatArray, tuple[float, float]]:
    """Mean of g̃, g̃ itself, and the slopes of the mean in s and t."""
    b = corrected_answers(data.answer, s, t)
    weight = question_weights(c, data)
    g = (c * data.posterior).sum(axis=1)
    g = g + np.bincount(data.item, weight * (b - data.posterior[data.item, data.asked]), minlength=len(c))
    slope = len(c) * youden(s, t)
    slopes = -float((weight * b).sum()) / slope, float((weight * (1 - b)).sum()) / slope
    return float(g.mean()), g, slopes
