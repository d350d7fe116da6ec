"""Shares of a class, and results made of several shares.

Results made of parts that have intervals of their own: ratios, means and differences.

Recall and F1 of a class are ratios. Of all items a share P is predicted to be of the class. Among these a
share h is of it (the precision), among the others a share m. With A = P h and B = (1 − P) m,

    recall = A/(A + B),    F1 = 2A/(P + A + B)

so that a ratio r is the root of a linear form, D(r) = α P h − β (1 − P) m − γ P, with (α, β, γ) = (1 − r,
r, 0) for recall and (2 − r, r, r) for F1. Given the predictions h and m are means over different items, and
each is the accuracy of a constant answer there. The interval is the set of r for which the interval of D(r)
holds 0: Fieller's set (1954, JRSS B 16), with the limits of D(r) made by squaring and adding how far those
of its parts are from their estimates (Zou & Donner 2008, Stat. Med. 27) instead of by normal approximation.
So it needs no large sample, and ends at 0 or 1 where nothing refutes that. In clusters h, m and P need not
be independent, and distances are added without squaring, which holds whatever goes together there.

Means and differences are of parts that rest on the same answers. For θ = Σ_j a_j θ_j with estimates t_j and
limits (l_j, u_j), low = t − √(Σ_jk ρ_jk x_j x_k), x_j being how far a_j t_j is from its own lower limit,
and high likewise (Zou 2007, Psychol. Methods 12). ρ is the correlation of the a_j t_j, that of their
influences: what each item adds to them. It is seen in the sample only, so it is moved to the side that
makes the interval wider: in a sum none counts as negative, and in a difference of two models one counts as
no larger than the lower end of its interval, and never as 1.

Shares of a class from labels: each is the accuracy of a constant answer on some of the items.

Two results of the same answers are correlated by their influences, what every item adds to them. A ratio's
is that of its linear form: of recall R of class c (1{ŷ = c} − R) 1{y = c}/P(y = c), of F1 ((2·1{ŷ = c} − F)
1{y = c} − F·1{ŷ = c})/(P(ŷ = c) + P(y = c)), of precision h 1{ŷ = c}(1{y = c} − h)/P(ŷ = c). The truth in
them is estimated by equation (G), see `oversight.harness.estimate.routed.means`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSENT, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import find_root, z_value
from oversight.harness.estimate.data import Strata, find_strata
from oversight.harness.estimate.evaluation import accuracy, complete
from oversight.harness.estimate.evidence import enough_clusters, find_unequal, number_clusters
from oversight.harness.estimate.intervals import effective_size, share_interval
from oversight.harness.estimate.routed import (
    RoutedSample,
    informed,
    pseudo_outcomes,
    read_item_answers,
    resolved_accuracy,
    routed_pool,
)
from oversight.harness.types import Estimate, Note

METHOD = "square-and-add"
"""As intervals made of those of their parts are named."""
_TINY = 1e-12

Weights = Callable[[float], tuple[float, float, float]]
"""(α, β, γ) at a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A share of items: its estimate and the ends of its interval, low ≤ value ≤ high."""

    value: float
    low: float
    high: float

    @classmethod
    def within(cls, value: float, low: float, high: float) -> Part:
        """Of ends between which the value need not lie."""
        return cls(value=value, low=min(low, value), high=max(high, value))

    def widen(self, level: float) -> Part:
        """At least as wide as that of a share of so many items as give this width.

        Near 0 and 1 estimates are skewed, and squared and added distances are then short on one side. Their
        interval is joined with Clopper and Pearson's of the effective number of items n, by which
        (z/half)² = n/(m(1 − m)) at its middle m.
        """
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        if half <= 0 or not 0 < middle < 1:
            return self
        size = middle * (1 - middle) * (z_value(level) / half) ** 2
        value = min(1.0, max(0.0, self.value))
        low, high = share_interval(value * size, size, level)
        return Part(value=self.value, low=min(low, self.low), high=max(high, self.high))


def recall_weights(ratio: float) -> tuple[float, float, float]:
    """(α, β, γ) of recall."""
    return 1 - ratio, ratio, 0.0


def f1_weights(ratio: float) -> tuple[float, float, float]:
    """(α, β, γ) of F1."""
    return 2 - ratio, ratio, ratio


def ratio_part(share: Part, hit: Part, miss: Part, weights: Weights, *, together: bool) -> Part:
    """The root of D(r) with its interval.

    Parameters
    ----------
    share, hit, miss
        P, h and m.
    together
        Whether items come in clusters, so that the parts need not be independent.

    Raises
    ------
    EstimateError
        If D is 0 throughout: no item of the class was seen.
    """

    def form(ratio: float) -> float:
        alpha, beta, gamma = weights(ratio)
        return alpha * share.value * hit.value - beta * (1 - share.value) * miss.value - gamma * share.value

    def reach(ratio: float, side: int) -> float:
        """How far the interval of D(r) reaches down (side −1) or up (1)."""
        alpha, beta, gamma = weights(ratio)
        slope = alpha * hit.value + beta * miss.value - gamma
        distances = (
            alpha * share.value * _distance(hit, side),
            beta * (1 - share.value) * _distance(miss, -side),
            abs(slope) * _distance(share, side if slope > 0 else -side),
        )
        return sum(distances) if together else math.hypot(*distances)

    at_0, at_1 = form(0.0), form(1.0)
    if at_0 - at_1 <= _TINY:
        raise EstimateError("no answer says that any item is of this class")
    value = at_0 / (at_0 - at_1)

    def lower(ratio: float) -> float:
        return form(ratio) - reach(ratio, -1)

    def upper(ratio: float) -> float:
        return form(ratio) + reach(ratio, 1)

    low = find_root(lower, 0.0, value) if value > 0 and lower(0.0) > 0 else 0.0
    high = find_root(upper, value, 1.0) if value < 1 and upper(1.0) < 0 else 1.0
    return Part.within(value, low, high)


def _distance(part: Part, side: int) -> float:
    return part.high - part.value if side > 0 else part.value - part.low


_MOST = 0.95
"""Largest correlation that a difference makes use of: models that were never seen to differ may differ."""
_DEVIATIONS = 2.0
_FEW = 4


def correlate(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Correlations of M estimates from influences of shape (N, M), weighted; NaN where one does not vary."""
    centred = influence - influence.mean(axis=0)
    if cluster is not None:
        centred = np.stack([np.bincount(cluster, column) for column in centred.T], axis=1)
    spread = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = (centred.T @ centred) / np.outer(spread, spread)
    return found


def sum_part(parts: Sequence[tuple[float, Part]], correlation: FloatArray) -> Part:
    """Σ a_j θ_j from (a_j, part) and the correlations of the a_j t_j, of which NaN counts as 1."""
    rho = np.clip(np.nan_to_num(correlation, nan=1.0), 0.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    value = sum(a * p.value for a, p in parts)
    below = np.array([a * (p.value - (p.low if a > 0 else p.high)) for a, p in parts])
    above = np.array([a * ((p.high if a > 0 else p.low) - p.value) for a, p in parts])
    low, high = (math.sqrt(float(x @ rho @ x)) for x in (below, above))
    return Part(value=value, low=value - low, high=value + high)


def difference_part(first: Part, second: Part, correlation: float) -> Part:
    """First less second, in [−1, 1], with a correlation of `cautious_correlation`."""

    def half(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x + y * y - 2 * correlation * x * y))

    value = first.value - second.value
    low = value - half(first.value - first.low, second.high - second.value)
    high = value + half(first.high - first.value, second.value - second.low)
    return Part(value=value, low=max(-1.0, low), high=min(1.0, high))


def cautious_correlation(first: FloatArray, second: FloatArray, cluster: IntArray | None) -> float:
    """Lower end of the correlation of two estimates, from their influences of shape (N,).

    By Fisher's z with as many items as count: (Σ ψ²)²/Σ ψ⁴, of rare large influences few. Results of the same
    answers mostly go together, so that less than 0 is assumed only where it is seen.
    """
    both = np.stack([first, second], axis=1)
    seen = float(correlate(both, cluster)[0, 1])
    if math.isnan(seen):
        return 0.0
    if cluster is not None:
        both = np.stack([np.bincount(cluster, column) for column in both.T], axis=1)
    square = both**2
    size = float((square.sum(axis=0) ** 2 / np.maximum((square**2).sum(axis=0), 1e-300)).min())
    low = -1.0
    if size > _FEW:
        low = math.tanh(math.atanh(min(0.999, max(-0.999, seen))) - _DEVIATIONS / math.sqrt(size - 3))
    return min(_MOST, max(low, min(0.0, seen)))


LEAST = 2.0
"""Yes-answers about a class to be expected at least, or its recall and F1 are withheld."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassEvidence:
    """One model's predictions and the labels, made ready by `ready`.

    Attributes
    ----------
    labels
        Those that may be estimated from.
    notes
        What was left out for that.
    strata
        Stratum of every item, or None.
    classes
        Number of classes.
    """

    predictions: PredictionColumns
    labels: LabelColumns
    notes: tuple[Note, ...]
    strata: ItemValues | None
    classes: int
    level: float

    @classmethod
    def ready(
        cls, predictions: PredictionColumns, labels: LabelColumns, classes: int, strata: Strata, level: float
    ) -> ClassEvidence:
        """Cut down to what may be estimated from.

        Raises
        ------
        BadInput
            If an item has another number of options, or strata have no effect.
        NotIdentified
            If the answers so far say nothing of one model, or `combinations` does not allow it.
        EstimateError
            If no prediction has an answer.
        """
        _check_classes(predictions, labels, classes)
        refuse("metrics", labels.conditions, strata=strata is not None)
        part, notes = collected_part(labels, predictions.is_there)
        by = None if strata is None else find_strata(predictions, part, strata)
        ready = cls(
            predictions=predictions, labels=part, notes=notes, strata=by, classes=classes, level=level
        )
        if not (part.answered & ready.population).any():
            raise EstimateError(
                "labels must hold a yes or no on a prediction that did not fail; there is none"
            )
        return ready

    @cached_property
    def population(self) -> BoolArray:
        """Items that results are of, shape (N,): the model answered, experts were asked or had no need."""
        ran = self.predictions.ran
        if self.strata is not None or not self.labels.is_uniform:
            return ran
        return ran & self.labels.asked_items

    def predicted(self, option: int) -> BoolArray:
        """Items of the population that the model says are of a class, shape (N,)."""
        return np.asarray(self.population & (self.predictions.option == option))

    def share(self, items: BoolArray) -> Part:
        """How many of the population are of such items, with Clopper and Pearson's interval."""
        places = np.flatnonzero(self.population)
        inside = items[places].astype(np.float64)
        size = float(len(places))
        cluster = number_clusters(places, self.labels.index, self.labels.cluster)
        if cluster is not None:
            size = effective_size(inside, cluster, self.level)
        value = float(inside.mean())
        return Part.within(value, *share_interval(value * size, size, self.level))

    def estimate(self, items: BoolArray, option: int | IntArray) -> Estimate:
        """How many of these items are of a class, by the protocol's own estimator.

        Parameters
        ----------
        option
            The class, or one for every item, shape (N,).

        Raises
        ------
        EstimateError
            If that cannot be told.
        """
        chosen = np.where(items, option, ABSENT).astype(np.int64)
        answers = replace(self.predictions, option=chosen, confidence=None)
        labels = self.labels.take(np.flatnonzero(items[self.labels.item]))
        labels = replace(labels, drawn=None, asked=labels.asked & items)
        return accuracy(answers, labels, level=self.level, strata=self.strata, checks=False)

    def find(self, items: BoolArray, option: int | IntArray) -> Estimate:
        """The same of items of which the model need not have said so.

        Raises
        ------
        EstimateError
            If that cannot be told, and why.
        """
        places = np.flatnonzero(items)
        cluster = enough_clusters(places, self.labels.index, self.labels.cluster) if places.size else None
        if not self.labels.is_resolved:
            try:
                return self.estimate(items, option)
            except NotIdentified as error:
                raise NotIdentified(
                    "not every item could be asked about this class: answers do not tell how many are of it"
                ) from error
        wanted = np.broadcast_to(option, items.shape)[places][:, None]
        correct = read_item_answers(self.labels).correctness(wanted, places)[:, 0]
        if unknown := np.count_nonzero(correct < 0):
            raise NotIdentified(
                f"of {unknown} of {places.size} items nobody said whether they are of this class: what was "
                "predicted of them is refuted, or experts were silent"
            )
        return resolved_accuracy(correct, level=self.level, cluster=cluster)

    def expect_yes(self, option: int, share: float) -> float:
        """Yes-answers about a class that are to be expected if it is as frequent as it is predicted.

        What experts said does not enter: withheld where answers make a class look rare, a result would be
        shown the more often the more it is overestimated. Where questions were drawn by predictions, those
        about items that are predicted to be of the class are counted.
        """
        asked = (self.labels.option == option) & (self.labels.kind >= 0)
        items = self.population if self.labels.is_uniform else self.predicted(option)
        put = float(np.count_nonzero(asked & items[self.labels.item]))
        return put * share if self.labels.is_uniform else put

    def finish(self, estimate: Estimate) -> Estimate:
        """With all counts of the model, and what must hold."""
        return complete(estimate, self.predictions, self.labels, self.notes)


def _check_classes(predictions: PredictionColumns, labels: LabelColumns, classes: int) -> None:
    """Require the same number of options of every item that has a question or a prediction.

    Raises
    ------
    BadInput
        Naming the first that has another one.
    """
    for questions in (labels.questions, labels.drawn):
        if questions is None:
            continue
        for row in np.flatnonzero(questions.n_options != classes):
            name = labels.index.ids[int(questions.item[row])]
            raise BadInput(
                f"results by class need the same {classes} classes of every item, and item {name!r} has "
                f"{questions.n_options[row]} options"
            )
    for place in np.flatnonzero(predictions.option >= classes):
        raise BadInput(
            f"item {predictions.index.ids[place]!r} is predicted to be of option "
            f"{predictions.option[place]}, and there are {classes} classes, counted from 0"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTruths:
    """What answers tell of the truth of N items.

    Attributes
    ----------
    items
        Their places, shape (N,).
    data
        Answers to drawn options; None where items were resolved.
    truth
        Where items were resolved, the true option, −1 unknown; shape (N,).
    weight
        Of every item, mean 1: items of strata stand for different numbers of others.
    """

    items: IntArray
    data: RoutedSample | None
    truth: IntArray
    weight: FloatArray
    cluster: IntArray | None
    width: int

    @classmethod
    def gather(
        cls,
        models: Sequence[PredictionColumns],
        labels: LabelColumns,
        classes: int,
        strata: ItemValues | None = None,
    ) -> ItemTruths:
        """Of the items with an answer."""
        if labels.is_resolved:
            ran = np.logical_and.reduce([m.ran for m in models])
            items = np.flatnonzero(ran & labels.asked_items)
            data, truth = None, read_item_answers(labels).truth[items]
        else:
            data, predicted, items = routed_pool(labels, models)
            unequal = find_unequal(labels, np.logical_and.reduce([m.is_there for m in models]))
            data = data if unequal is None else unequal.tilt(data)
            data, truth = informed(predicted.astype(np.int64), data), np.zeros(0, np.int64)
        return cls(
            items=items,
            data=data,
            truth=truth,
            weight=_weigh(models[0], items, strata),
            cluster=number_clusters(items, labels.index, labels.cluster),
            width=classes,
        )

    def influence(self, option: IntArray, weight: FloatArray, known: FloatArray) -> FloatArray:
        """What every item adds to Σ weight·1{truth = option} + known, each of shape (study's items,).

        Raises
        ------
        NotIdentified
            If answers do not tell it.
        """
        rows, options = np.arange(len(self.items)), option[self.items]
        target = np.zeros((len(self.items), self.width))
        target[rows, np.maximum(options, 0)] = np.where(options >= 0, weight[self.items], 0.0)
        if self.data is None:
            seen = np.where(self.truth >= 0, target[rows, np.maximum(self.truth, 0)], 0.0)
        else:
            seen = pseudo_outcomes(target, self.data)
        return np.asarray(self.weight * (seen + known[self.items]), dtype=np.float64)

    def correlate(self, forms: Sequence[tuple[IntArray, FloatArray, FloatArray]]) -> FloatArray:
        """Correlations of results by their parameters of `influence`; NaN where answers do not tell."""
        try:
            influences = np.stack([self.influence(*form) for form in forms], axis=1)
        except NotIdentified:
            return np.full((len(forms), len(forms)), np.nan)
        return correlate(influences, self.cluster)


def _weigh(predictions: PredictionColumns, items: IntArray, strata: ItemValues | None) -> FloatArray:
    if strata is None:
        return np.ones(len(items))
    pool = np.bincount(strata.code[predictions.ran], minlength=len(strata.names))
    code = strata.code[items]
    weight: FloatArray = (pool / np.maximum(np.bincount(code, minlength=len(strata.names)), 1))[code]
    return np.asarray(weight / weight.mean(), dtype=np.float64)
