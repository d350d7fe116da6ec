"""Accuracy from one question per item, and a second question about some of the items whose answer was no.

An item's first question is about option k with probability π_k. After a yes the truth is known. Of the items
with a no, some are drawn with probability ρ, which may depend on all first answers, and are asked about
another option j, drawn with probability q_j (Σ q = 1 over the remaining options). With c = 1 at the
prediction, a working posterior p, and p' = p/(1 − p_k) over the remaining options,

    g₀ = equation (G) with the first answer
    g₁ = c_k after a yes, else Σ_j c_j p'_j + (R/ρ) (c_j − C')(b' − p'_j)/q_j,   R = 1 if drawn
    g  = (1 − λ) g₀ + λ g₁

E[g₁ | x, k, y] = c_y for every k and y, because E[(c_j − C')(b' − p'_j)/q_j | y] = c_y − Σ c p' for y among
the remaining options; E[g₀ | x, y] = c_y, averaged over k. So E g = c_y for every p, C' and λ that do not
depend on the item's own answers. λ is the same for all items and minimises the variance under the model p.
With V₀ = Var g₀, v = Var c_y, and

    r = E Var(c_y | first answer),   T = E Σ_j (c_j − C')² p'_j (1 − p'_j)/(ρ q_j)  (0 after a yes),
    Var g = (1 − λ)² V₀ + λ² (v − r + T) + 2 λ (1 − λ) v,   λ = (V₀ − v)/(V₀ − v + T − r).

λ must not depend on which items were drawn. So the T in λ is r/`TwoPhase.reach`. `reach` is the share of the
items with a no that were drawn, times the probability that a drawn item was asked about the prediction. The
interval inverts a test as in `oversight.harness.estimate.tilting`: p are the exponential tilts of a working
distribution. The variance is the larger of the observed one and the model's, which uses the larger of the T
above and its unbiased estimate from the drawn items. Two-phase sampling: Neyman 1938, JASA 33; Särndal,
Swensson & Wretman 1992, ch. 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.evaluation import allow_for_missing, complete
from oversight.harness.estimate.evidence import PARTIAL_KINDS, Evidence, collected_part
from oversight.harness.estimate.intervals import ClusterVariance, skewed_step
from oversight.harness.estimate.routed_means import tilted_accuracy
from oversight.harness.estimate.routed_sample import (
    FEW_OPEN,
    RoutedSample,
    accuracy_target,
    optimal_constant,
)
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.estimate.tilting import (
    Null,
    TiltedMean,
    fall_through_zero,
    invert_score,
    uniform_working,
)
from oversight.harness.types import Estimate, Note, NoteKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoPhase:
    """N items with one first answer each, and the second answers about some of them.

    Attributes
    ----------
    first
        First questions and their answers. Its `posterior` is the working distribution, which is positive on
        all options.
    c
        Shape (N, K): target, 1 at the prediction and 0 elsewhere.
    chance
        Shape (N,): probability ρ with which the second question was drawn; 0 without a second answer.
    shares
        Shape (N, K): probability q of every remaining option in the second question; 0 without a second
        answer.
    second, second_yes
        Shape (N,): option of the second question, and its answer, 1 for yes and 0 for no; both 0 without a
        second answer.
    reach
        Share of items with a first "no" that have a second answer, times the probability that the second
        question is about the prediction.
    """

    first: RoutedSample
    c: FloatArray
    chance: FloatArray
    shares: FloatArray
    second: IntArray
    second_yes: FloatArray
    reach: float


def two_phase_score(data: TwoPhase, level: float) -> TiltedMean:
    """Estimate the accuracy, and compute its interval by inverting a score test at `level`.

    Student's t has one degree of freedom fewer than there are second answers, because second answers have the
    largest weights. With clusters, the variance is `ClusterVariance` of
    `oversight.harness.estimate.intervals`.

    Raises
    ------
    NotIdentified
        If an item has several options that are never asked about, and their coefficients c differ.
    """
    n, clusters = len(data.c), None
    if data.first.cluster is not None:
        best = fall_through_zero(lambda tilt: _score(data, tilt)[1], 0)
        theta, _, model, residual = _score(data, best)
        weight = np.full(n, 1 / n)
        spread = theta * (1 - theta)
        clusters = ClusterVariance.of(data.first.cluster, weight, residual, model, spread)

    def look(tilt: float) -> Null:
        theta, gap, model, residual = _score(data, tilt)
        if clusters is None:
            return Null(theta, gap, max(model, float((residual**2).sum()) / n**2))
        model, variance = clusters.at(model, theta * (1 - theta), gap)
        return Null(theta, gap, variance, skewed_step(model, theta, theta, gap))

    return invert_score(look, float(np.count_nonzero(data.chance)) - 1, level)


def _first_phase(
    data: TwoPhase, p: FloatArray, top: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return four arrays of shape (N,) that the first answers determine, under the working posterior `p`.

    The arrays are: g₀; the variance of g₀; the expected variance r of c_y given the first answer; and the
    mean of c_y given the first answer. `top` is the mean of c_y before the first answer. The module docstring
    defines the symbols.
    """
    pi, valid = data.first.propensities, data.first.valid
    asked, yes = data.first.by_item
    rows = np.arange(len(p))
    constant = optimal_constant(data.c, pi, p, valid)
    inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
    own, prior = data.c[rows, asked], p[rows, asked]
    g = top + (own - constant) * inverse[rows, asked] * (yes - prior)
    variance = ((data.c - constant[:, None]) ** 2 * p * (1 - p) * inverse).sum(axis=1)
    others = np.maximum(1 - p, 1e-300)
    share = np.where(data.c > 0, 0.0, np.minimum(1.0, top[:, None] / others))
    total = pi.sum(axis=1)
    left = (pi * others * share * (1 - share) * valid).sum(axis=1) / total
    return g, variance, left, np.where(yes > 0, own, share[rows, asked])


def _second_phase(data: TwoPhase, p: FloatArray) -> tuple[FloatArray, float]:
    """Return the second answers' terms in g₁, shape (N,), and an unbiased estimate of N·T.

    The module docstring defines g₁ and T; `p` is the working posterior.
    """
    added = np.zeros(len(p))
    asked, yes = data.first.by_item
    there = np.flatnonzero((data.chance > 0) & (yes == 0))
    if not there.size:
        return added, 0.0
    rows, q = np.arange(there.size), data.shares[there]
    left = data.first.valid[there]
    left[rows, asked[there]] = False
    posterior = p[there] * left
    posterior /= posterior.sum(axis=1, keepdims=True)
    c, option, chance = data.c[there], data.second[there], data.chance[there]
    constant = optimal_constant(c, q, posterior, left)
    weight = (c[rows, option] - constant) / q[rows, option]
    added[there] = weight * (data.second_yes[there] - posterior[rows, option]) / chance
    inverse = np.divide(1.0, q, out=np.zeros_like(q), where=q > 0)
    each = ((c - constant[:, None]) ** 2 * posterior * (1 - posterior) * inverse * left).sum(axis=1)
    return added, float((each / chance**2).sum())


def _score(data: TwoPhase, tilt: float) -> tuple[float, float, float, FloatArray]:
    """Return four values at a tilt, with the symbols of the module docstring.

    They are θ, the mean outcome minus θ, the variance of the mean outcome if p is the distribution of the
    true options, and the outcomes minus their mean.
    """
    weight = data.first.posterior * np.exp(tilt * data.c)
    p = weight / weight.sum(axis=1, keepdims=True)
    top, n = (data.c * p).sum(axis=1), len(p)
    g, variance, is_open, known = _first_phase(data, p, top)
    added, open_variance = _second_phase(data, p)
    plain, own = float(variance.sum()), float((top * (1 - top)).sum())
    left = float(is_open.sum())
    planned, mixed = left / max(data.reach, 1e-9), max(0.0, plain - own)
    share = mixed / (mixed + planned - left) if data.reach > 0 and mixed > 0 else 0.0
    noise = max(open_variance, planned)
    g = (1 - share) * g + share * (known + added)
    theta = float(top.mean())
    gap = float(g.mean()) - theta
    model = (1 - share) ** 2 * plain + share**2 * (own - left + noise) + 2 * share * (1 - share) * own
    model = (model + float(((top - theta) ** 2).sum())) / n**2
    return theta, gap, model, g - theta - gap


TWO_PHASE = "deepened"
_POWER = 0.7
"""Power in the working distribution q ∝ π^power if options were drawn with unequal probabilities."""


class SecondQuestions(SideInformation):
    """Second answers about items whose first answer was no, as side information.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second
        Second questions and their answers, which are not among the study's labels.
    least
        Smallest number of second answers about a model's items with which the model gets an estimate.

    Examples
    --------
    >>> from oversight.harness.columns import LabelColumns, align
    >>> from oversight.harness.estimate import estimate_models
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> second = SecondQuestions({"model": predicted}, LabelColumns.of([], said.index))
    >>> estimate_models({"model": predicted}, said, [second])["model"].undefined["deepened"]
    'no second questions were drawn'
    """

    name, feature = TWO_PHASE, "second questions"
    subject = "second questions are"
    worth = NoteKind.SECOND_WORTH

    def __init__(
        self, models: Mapping[str, PredictionColumns], second: LabelColumns, *, least: int = 1
    ) -> None:
        self._models, self._second, self._least = models, second, least

    def ignores_strata(self, _labels: LabelColumns) -> bool:
        """Return True: second questions cannot be used together with strata."""
        return True

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """Estimate one model's accuracy from first and second answers; unreadable predictions count as wrong.

        The estimate counts second questions without a yes or no as not asked: the probabilities of second
        questions are multiplied by the share that was answered. As for first questions, the interval is
        widened to hold for every possible missing answer, or marked with the reason (`allow_for_missing`).

        Raises
        ------
        NotIdentified
            If first answers or too many second answers are missing, or items have several first questions.
        EstimateError
            If only some items have a cluster, or nothing can be estimated.
        """
        labels, second, level = setting.labels, self._second, setting.level
        predictions = keep_drawn(self._models[model], labels)
        part, notes = collected_part(labels, predictions.is_there)
        if any(note.kind in PARTIAL_KINDS for note in notes):
            raise NotIdentified(
                "some first questions are open; second questions are used only after all first questions are "
                "answered"
            )
        evidence = Evidence.gather([predictions], part, tilted=False)
        data, option, items = evidence.sample, evidence.option(), evidence.items
        number = np.bincount(data.item, minlength=len(items))
        if number.max() > 1:
            raise NotIdentified(
                "some items have several first questions; second questions can be used only with one first "
                "question per item"
            )
        readable = option >= 0
        rows = np.flatnonzero(readable & (number == 1))
        if rows.size < np.count_nonzero(readable):
            raise NotIdentified("some items with a readable prediction have no question")
        first = data.take(rows)
        _, yes = first.by_item
        c = accuracy_target(option[rows], data.propensities.shape[1])
        place = np.full(labels.index.size, -1)
        place[items[rows]] = np.arange(rows.size)
        asked = _take_second(second, place, yes)
        used, put = int(np.count_nonzero(asked.kind != ABSTAINED)), len(asked)
        if used < self._least:
            raise NotIdentified(
                f"only {used} of {put} second questions about this model's items have a yes or a no; "
                f"at least {self._least} are needed"
            )
        working = replace(first, posterior=_working(c, first.propensities, first.valid))

        def make(answers: LabelColumns) -> Estimate:
            inner = two_phase_score(_read_second(answers, place, working, c), level)
            return tilted_accuracy(inner, readable, data, level)

        estimate, why = allow_for_missing(make(asked), predictions, asked, make, name="second questions")
        estimate = complete(replace(estimate, why=why), predictions, part, notes)
        note = Note(NoteKind.SECOND_QUESTIONS, {"used": used, "of": put})
        return replace(estimate, method="two-phase-score", estimator=TWO_PHASE, notes=(*estimate.notes, note))


def _take_second(second: LabelColumns, place: AnyIntArray, yes: FloatArray) -> LabelColumns:
    """Return a label for every second question about an item whose first answer was no.

    Open questions get an abstention.

    Parameters
    ----------
    second
        Second questions and their answers.
    place
        For every item of the index, its row among the N items; negative if it is not one of them.
    yes
        Shape (N,): first answer, 1 for yes and 0 for no.

    Raises
    ------
    NotIdentified
        If no second question was drawn or answered, or more than the share `FEW_OPEN` of them is unanswered.
    """
    drawn = second.drawn
    if drawn is None:
        raise NotIdentified("no second questions were drawn")
    row = place[drawn.item]
    mine = np.flatnonzero(row >= 0)
    mine = mine[yes[row[mine]] == 0]
    label = second.answers[mine]
    waiting = int(np.count_nonzero(label < 0))
    if waiting > FEW_OPEN * len(mine) or not (second.kind[label[label >= 0]] != ABSTAINED).any():
        raise NotIdentified(
            f"{waiting} of {len(mine)} second questions about this model's items are not answered yet"
        )
    return second.take(label[label >= 0]).pass_over(drawn.take(mine[label < 0]))


def _read_second(answers: LabelColumns, place: AnyIntArray, first: RoutedSample, c: FloatArray) -> TwoPhase:
    """Join the second answers to the N items; `answers` is made by `_take_second` with the same `place`."""
    _, yes = first.by_item
    (n, width), put = c.shape, answers.questions
    propensities, shares, chance = put.offered.spread(width), np.zeros((n, width)), np.zeros(n)
    heard = np.flatnonzero(answers.kind != ABSTAINED)
    at, rho = place[put.item[heard]], propensities[heard].sum(axis=1)
    shares[at] = propensities[heard] / rho[:, None]
    chance[at] = np.minimum(1.0, rho) * len(heard) / len(put)
    which, said = np.zeros(n, np.int64), np.zeros(n)
    which[at], said[at] = put.option[heard], answers.kind[heard] == YES
    return TwoPhase(
        first=first,
        c=c,
        chance=chance,
        shares=shares,
        second=which,
        second_yes=said,
        reach=_find_reach(c, chance, shares, yes),
    )


def _find_reach(c: FloatArray, chance: FloatArray, shares: FloatArray, yes: FloatArray) -> float:
    """Compute `TwoPhase.reach`.

    The probability that a second question is about the prediction differs between items. Its harmonic mean
    over the items where it is positive is used.
    """
    drawn, own = chance > 0, (c * shares).sum(axis=1)
    asked = own[drawn & (own > 0)]
    if not asked.size:
        return 0.0
    return float(np.count_nonzero(drawn) / max(1, np.count_nonzero(yes == 0)) / (1 / asked).mean())


def _working(c: FloatArray, propensities: FloatArray, valid: BoolArray) -> FloatArray:
    """Compute the working distribution, proportional to the propensities to the power `_POWER`.

    For items with uniformly drawn options, it is that of `uniform_working`.
    """
    even, is_even = uniform_working(c, propensities, valid)
    q = np.where(valid, np.maximum(propensities, 1e-12) ** _POWER, 0.0)
    return np.where(is_even[:, None], even, q / q.sum(axis=1, keepdims=True))
