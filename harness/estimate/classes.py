"""Recall, precision and F1 by class, mean costs, and their differences between models.

**Shares of a class.** Each result of a class is computed from shares. A share is the accuracy of a constant
answer on some of the items (`ClassEvidence`), so it has the interval of an accuracy. `ratio_part` combines
shares without smoothing.

**Ratios.** Recall and F1 are ratios. Let P be the share of all items that are predicted to be of the class, h
the share of these that are of the class (the precision), and m the share of the other items that are of the
class. With A = P h and B = (1 − P) m,

    recall = A/(A + B),    F1 = 2A/(P + A + B)

so a ratio r is the root of a linear form, D(r) = α P h − β (1 − P) m − γ P, with (α, β, γ) = (1 − r, r, 0)
for recall and (2 − r, r, r) for F1. Given the predictions, h and m are means over different items. The
interval contains every r for which the interval of D(r) contains 0: Fieller's set (1954, JRSS B 16). The
limits of D(r) are not a normal approximation: the distances of the parts' limits from their estimates are
squared and added (Zou & Donner 2008, Stat. Med. 27). So the interval needs no large sample, and it ends at 0
or 1 if no answer refutes that. With clusters, h, m and P may be dependent; distances are then added without
squaring, which is valid for any dependence.

**Sums and differences** have parts that use the same answers. For θ = Σ_j a_j θ_j with estimates t_j and
limits (l_j, u_j), low = t − √(Σ_jk ρ_jk x_j x_k), where x_j is the distance of a_j t_j from its lower limit;
high likewise (Zou 2007, Psychol. Methods 12). ρ is the correlation of the a_j t_j, computed from their
influences, the contributions of each item. It is estimated from the sample, so it is moved in the direction
that widens the interval. In a sum, a negative correlation counts as 0. If a class has no observed error, its
correlations are unknown; in a mean over K classes they count as 1/(K − 1), or as 1 with clusters. In a
difference of two models, the lower end of the correlation's interval is used. It is limited to at most
`_MOST`, and to at least the smaller of 0 and the observed correlation.

The influences for the recall R, the F1 value F and the precision h of class c are

    recall:     (1{ŷ = c} − R) 1{y = c}/P(y = c)
    F1:         ((2·1{ŷ = c} − F) 1{y = c} − F·1{ŷ = c})/(P(ŷ = c) + P(y = c))
    precision:  1{ŷ = c} (1{y = c} − h)/P(ŷ = c)

The truth y is estimated by equation (G) of `oversight.harness.estimate.routed_means`.

**Mean costs**: a `CostTable` assigns a cost to every pair of truth and prediction. The accuracy is the mean
of a cost that is 1 if the prediction is the truth, and 0 otherwise. Costs say which model does less harm if,
for example, a missed infarction is worse than a false alarm.

Items with the same combination of the models' predictions form row j, a share P_j of all items. Truth k costs
C_jk; b_j is the most frequent of these costs, and C_jk = b_j + w for the other truths. So the mean cost is
Σ_j P_j b_j + Σ_w w A_w, where A_w is the share of items whose true option costs w more than b_j. If one
option per row adds w, A_w is the accuracy of answering this option, so it has the interval of an accuracy. If
several options of a row add w, A_w has several such parts. With the costs 1 and 0 of an accuracy (see above),
the mean cost is the accuracy itself, for any number of classes.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr

from oversight.harness.argument_checks import check_mapping, check_names
from oversight.harness.arrays import FAILED, AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSENT,
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align,
    align_models,
)
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import (
    check_level,
    count_effective,
    find_root,
    mover_sum,
    share_interval,
    z_value,
)
from oversight.harness.estimate.evaluation import accuracy, complete
from oversight.harness.estimate.evidence import (
    PARTIAL_KINDS,
    Evidence,
    collected_part,
    enough_clusters,
    find_weights,
    number_clusters,
)
from oversight.harness.estimate.intervals import effective_size, scale_by_share
from oversight.harness.estimate.model_comparison import why_unfinished
from oversight.harness.estimate.paired import Comparison, pairs_table
from oversight.harness.estimate.routed_means import (
    ROUTED_ASSUMPTIONS,
    informed,
    pseudo_outcomes,
    resolved_accuracy,
)
from oversight.harness.estimate.routed_sample import RoutedSample, read_item_answers
from oversight.harness.estimate.second import SecondQuestions
from oversight.harness.estimate.side_information import Setting
from oversight.harness.estimate.tallies import Estimates, Strata, find_strata
from oversight.harness.types import (
    Displayable,
    Estimate,
    HtmlTable,
    Note,
    estimate_table,
    interval_text,
    value_text,
)

METHOD = "square-and-add"
"""Method name of intervals that are combined from the intervals of several parts."""
_TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A component of a result: its estimate and the ends of its interval, low ≤ value ≤ high."""

    value: float
    low: float
    high: float

    @classmethod
    def within(cls, value: float, low: float, high: float) -> Part:
        """Make a part whose interval is extended to include the value."""
        return cls(value=value, low=min(low, value), high=max(high, value))

    @classmethod
    def of(cls, estimate: Estimate) -> Part:
        """Make a part from an estimate, whose value may lie outside [0, 1]."""
        return cls.within(estimate.value, estimate.low, estimate.high)

    def widen(self, level: float) -> Part:
        """Widen the interval to include the Clopper–Pearson interval of the same effective number of items.

        Near 0 and 1 estimates are skewed, and an interval made by adding squared distances is too short on
        one side. The effective number of items n follows from the interval's middle m and half-width by
        n = m(1 − m)(z/half)².
        """
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        if half <= 0 or not 0 < middle < 1:
            return self
        size = middle * (1 - middle) * (z_value(level) / half) ** 2
        value = min(1.0, max(0.0, self.value))
        low, high = share_interval(value * size, size, level)
        return Part(value=self.value, low=min(low, self.low), high=max(high, self.high))


def ratio_weights(metric: str, ratio: float) -> tuple[float, float, float]:
    """Return the coefficients (α, β, γ) of D(r), whose root r is the recall or F1."""
    return (1 - ratio, ratio, 0.0) if metric == "recall" else (2 - ratio, ratio, ratio)


def ratio_part(metric: str, share: Part, hit: Part, miss: Part, *, together: bool) -> Part:
    """Return the ratio r at which the linear form D(r) is 0, and the interval of r (see the module).

    Parameters
    ----------
    metric
        ``"recall"`` or ``"f1"``.
    share, hit, miss
        P, the share of items predicted to be of the class; h, the share of these items that are of the
        class; and m, the share of the other items that are of the class.
    together
        Whether items are clustered. The three parts may then be dependent, so the distances of their limits
        from their estimates are added without squaring.

    Raises
    ------
    EstimateError
        If D is 0 everywhere, because no item of the class was seen.
    """

    def form(ratio: float) -> float:
        alpha, beta, gamma = ratio_weights(metric, ratio)
        return alpha * share.value * hit.value - beta * (1 - share.value) * miss.value - gamma * share.value

    def reach(ratio: float, side: int) -> float:
        """Return the distance of D(r) from its lower end (`side` −1) or its upper end (`side` 1)."""
        alpha, beta, gamma = ratio_weights(metric, ratio)
        slope = alpha * hit.value + beta * miss.value - gamma
        distances = (
            alpha * share.value * _distance(hit, side),
            beta * (1 - share.value) * _distance(miss, -side),
            abs(slope) * _distance(share, side if slope > 0 else -side),
        )
        return sum(distances) if together else math.hypot(*distances)

    at_0, at_1 = form(0.0), form(1.0)
    if at_0 - at_1 <= _TINY:
        raise EstimateError("no expert confirmed that an item is of this class")
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


_ROUNDED = 1e-9
"""Part of the largest value, or of the norm, up to which an influence, or its spread, is a rounding error."""
_MOST = 0.95
"""Largest correlation used for a difference: models without an observed difference may still differ."""
_DEVIATIONS = 2.0
_FEW = 4


def correlate(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Return the correlations of M estimates, shape (M, M); NaN if an influence is constant up to rounding.

    Parameters
    ----------
    influence
        Shape (N, M): influence of every item on every estimate, multiplied by the item's weight.
    cluster
        Shape (N,): cluster number of each item; None if items are independent.
    """
    centred = influence - influence.mean(axis=0)
    if cluster is not None:
        centred = np.stack([np.bincount(cluster, column) for column in centred.T], axis=1)
    spread = np.sqrt((centred**2).sum(axis=0))
    spread[spread <= _ROUNDED * np.sqrt((influence**2).sum(axis=0))] = np.nan
    with np.errstate(invalid="ignore"):
        found: FloatArray = (centred.T @ centred) / np.outer(spread, spread)
    return found


def sum_part(parts: Sequence[tuple[float, Part]], correlation: FloatArray, *, unknown: float = 1.0) -> Part:
    """Return the sum Σ a_j θ_j of pairs (a_j, part), with its interval.

    `correlation` contains the correlations of the estimated terms a_j θ_j. Negative values count as 0, and
    NaN counts as `unknown`.
    """
    rho = np.clip(np.nan_to_num(correlation, nan=unknown), 0.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    return _add_parts(parts, rho)


def _add_parts(parts: Sequence[tuple[float, Part]], correlation: FloatArray) -> Part:
    weights, values, lows, highs = np.array([(a, p.value, p.low, p.high) for a, p in parts]).T
    low, high = mover_sum(values, lows, highs, weights, correlation=correlation)
    return Part(value=float(weights @ values), low=low, high=high)


def difference_part(first: Part, second: Part, correlation: float) -> Part:
    """Return the first part minus the second, in [−1, 1]; `correlation` is from `cautious_correlation`."""
    rho = np.array([[1, -correlation], [-correlation, 1]])
    found = _add_parts([(1.0, first), (-1.0, second)], rho)
    return replace(found, low=max(-1.0, found.low), high=min(1.0, found.high))


def cautious_correlation(first: FloatArray, second: FloatArray, cluster: IntArray | None) -> float:
    """Return a lower confidence limit of the correlation of two estimates, from influences of shape (N,).

    The limit is that of Fisher's z with the effective number of items (Σ ψ²)²/Σ ψ⁴, which is small if a few
    influences ψ are large. Results from the same answers are usually positively correlated, so the limit is
    negative only if the observed correlation is negative. The limit is at most `_MOST`.
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


LEAST_SECOND = 20
"""Smallest number of answered second questions about a group of items for which its share uses them."""
LEAST = 2.0
"""Expected number of yes answers about a class below which its recall and F1 are withheld."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassEvidence:
    """One model's predictions and the labels that its results by class are estimated from.

    Attributes
    ----------
    labels
        The usable labels, selected by `collected_part`.
    notes
        Remarks on labels that were left out.
    strata
        Stratum of every item, or None.
    classes
        Number of classes.
    level
        Confidence level of every interval, in (0, 1).
    second
        Second questions about items whose first answer was no, and their answers; None if not used.
    """

    predictions: PredictionColumns
    labels: LabelColumns
    notes: tuple[Note, ...]
    strata: ItemValues | None
    classes: int
    level: float
    second: LabelColumns | None = None

    @classmethod
    def ready(
        cls,
        predictions: PredictionColumns,
        labels: LabelColumns,
        classes: int,
        strata: Strata,
        level: float,
        second: LabelColumns | None = None,
    ) -> ClassEvidence:
        """Select the usable labels and make the evidence.

        Raises
        ------
        BadInput
            If an item's number of options differs from `classes`, or strata have no effect.
        NotIdentified
            If results by class cannot be computed for the study's design (a rule of the module
            `combinations`), or an expert has not answered any question yet.
        EstimateError
            If no prediction has an answer.
        """
        _check_classes(predictions, labels, classes)
        features = {"strata": strata is not None, "second questions": second is not None}
        refuse("metrics", labels.conditions, **features)
        part, notes = collected_part(labels, predictions.is_there)
        by = find_strata(predictions, part, strata)
        is_partial = any(note.kind in PARTIAL_KINDS for note in notes)
        ready = cls(
            predictions=predictions,
            labels=part,
            notes=notes,
            strata=by,
            classes=classes,
            level=level,
            second=None if is_partial else second,
        )
        if not (part.answered & ready.population).any():
            raise EstimateError(
                "labels must contain a yes or no about a prediction that did not fail, but contain none"
            )
        return ready

    @cached_property
    def population(self) -> BoolArray:
        """Whether each item belongs to the population to which results refer, shape (N,).

        The model must have answered the item. With uniformly drawn options and no strata, experts must also
        have been asked about the item.
        """
        ran = self.predictions.ran
        if self.strata is not None or not self.labels.is_uniform:
            return ran
        return ran & self.labels.asked_items

    def predicted(self, option: int) -> BoolArray:
        """Return which items of the population are predicted to be of a class, shape (N,)."""
        return np.asarray(self.population & (self.predictions.option == option))

    @property
    def size(self) -> float:
        """Number of items of the population; if items have weights, the effective number."""
        weight = find_weights(np.flatnonzero(self.population), self.labels)
        return float(np.count_nonzero(self.population)) if weight is None else count_effective(weight)

    def share(self, items: BoolArray) -> Part:
        """Return the share of the population that is in `items`, with its Clopper–Pearson interval."""
        places = np.flatnonzero(self.population)
        inside, weight = items[places].astype(np.float64), find_weights(places, self.labels)
        cluster = number_clusters(places, self.labels.index, self.labels.cluster)
        size = self.size
        if cluster is not None:
            size = effective_size(inside, cluster, self.level, weight)
        value = float(np.average(inside, weights=weight))
        return Part.within(value, *share_interval(value * size, size, self.level))

    def estimate(self, items: BoolArray, option: int | IntArray) -> Estimate:
        """Estimate the share of `items` that are of a class, by the estimator of the labels' protocol.

        Parameters
        ----------
        items
            Shape (N,): whether an item is included.
        option
            The class, or a class for every item, shape (N,).

        Raises
        ------
        EstimateError
            If the answers do not determine the share.
        """
        chosen = np.where(items, option, ABSENT).astype(np.int64)
        answers = replace(self.predictions, option=chosen, confidence=None)
        labels = self.labels.take(np.flatnonzero(items[self.labels.item]))
        labels = replace(labels, drawn=None, asked=labels.asked & items)
        if self.second is not None:
            with contextlib.suppress(NotIdentified):
                second = SecondQuestions({"": answers}, self.second, least=LEAST_SECOND)
                return second.estimate("", Setting(labels=labels, level=self.level))
        return accuracy(answers, labels, level=self.level, strata=self.strata, checks=False)

    def estimate_share(self, items: BoolArray, option: int | IntArray) -> Estimate:
        """Estimate the share of `items` that are of a class, whatever the model predicts for them.

        Raises
        ------
        EstimateError
            If the answers do not determine the share; the message gives the reason.
        """
        places = np.flatnonzero(items)
        weight = find_weights(places, self.labels)
        cluster = None
        if places.size:
            cluster = enough_clusters(places, self.labels.index, self.labels.cluster, weight)
        if not self.labels.is_resolved:
            try:
                return self.estimate(items, option)
            except NotIdentified as error:
                raise NotIdentified(
                    "the share of this class cannot be estimated, because for some items no question "
                    "about this class could be drawn"
                ) from error
        wanted = np.broadcast_to(option, items.shape)[places][:, None]
        correct = read_item_answers(self.labels).correctness(wanted, places)[:, 0]
        if unknown := np.count_nonzero(correct < 0):
            raise NotIdentified(
                f"it is unknown whether {unknown} of {places.size} items are of this class, because their "
                "predicted options were refuted or experts did not answer"
            )
        return resolved_accuracy(correct, level=self.level, cluster=cluster, weight=weight)

    def expect_yes(self, option: int, share: float) -> float:
        """Return the expected number of yes answers about a class with the given share of the items.

        Results are withheld if this expected number is small. If they were withheld for few observed yes
        answers, the results shown would be overestimates on average. If questions followed predictions, only
        questions about items predicted to be of the class count, and each of these counts as one yes.
        """
        asked = (self.labels.option == option) & (self.labels.kind >= 0)
        items = self.population if self.labels.is_uniform else self.predicted(option)
        put = float(np.count_nonzero(asked & items[self.labels.item]))
        return put * share if self.labels.is_uniform else put


def _check_classes(predictions: PredictionColumns, labels: LabelColumns, classes: int) -> None:
    """Check that items with a question have K = `classes` options, and that predictions are among them.

    Raises
    ------
    BadInput
        If an item has more or fewer options, or a prediction is not a class; the message names the first such
        item.
    """
    for questions in (labels.questions, labels.drawn):
        if questions is None:
            continue
        for row in np.flatnonzero(questions.n_options != classes):
            name = labels.index.ids[int(questions.item[row])]
            raise BadInput(
                f"results by class need the same {classes} classes for every item, but item {name!r} has "
                f"{questions.n_options[row]} options"
            )
    for place in np.flatnonzero(predictions.option >= classes):
        raise BadInput(
            f"the prediction for item {predictions.index.ids[place]!r} is option "
            f"{predictions.option[place]}, but there are only {classes} classes, counted from 0"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTruths:
    """Evidence of the true options of N items, collected from the answers.

    Attributes
    ----------
    items
        Positions of the items in the study, shape (N,).
    data
        Answers about drawn options; None if the study asked about items until they were resolved.
    truth
        Shape (N,): true option of a resolved item, −1 if unknown. Empty if `data` is given.
    weight
        Shape (N,): weight of every item, with mean 1.
    cluster
        Shape (N,): cluster number of every item; None if items are independent.
    width
        Number of classes.
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
        """Collect the items that all models answered and experts were asked about."""
        if labels.is_resolved:
            ran = np.logical_and.reduce([m.ran for m in models])
            items = np.flatnonzero(ran & labels.asked_items)
            data, truth = None, read_item_answers(labels).truth[items]
        else:
            evidence = Evidence.gather(models, labels, few_clusters=True)
            data, items = informed(evidence.predicted.astype(np.int64), evidence.sample), evidence.items
            truth = np.zeros(0, np.int64)
        return cls(
            items=items,
            data=data,
            truth=truth,
            weight=_weigh(models[0], items, labels, strata),
            cluster=number_clusters(items, labels.index, labels.cluster),
            width=classes,
        )

    def influence(self, option: IntArray, weight: FloatArray, known: FloatArray) -> FloatArray:
        """Return the influence of each of the N items on Σ weight·1{truth = option} + known.

        Parameters
        ----------
        option, weight, known
            One entry per item of the study. An item with `option` −1 contributes only `known`.

        Raises
        ------
        NotIdentified
            If the answers do not identify the influence.
        """
        rows, options = np.arange(len(self.items)), option[self.items]
        target = np.zeros((len(self.items), self.width))
        target[rows, np.maximum(options, 0)] = np.where(options >= 0, weight[self.items], 0.0)
        if self.data is None:
            seen = np.where(self.truth >= 0, target[rows, np.maximum(self.truth, 0)], 0.0)
        else:
            seen = pseudo_outcomes(target, self.data)
        rest = known[self.items]
        found = seen + rest
        largest = max(np.abs(x).max(initial=0.0) for x in (target, rest))
        found[np.abs(found) <= _ROUNDED * largest] = 0.0
        return np.asarray(self.weight * found, dtype=np.float64)

    def correlate(self, forms: Sequence[tuple[IntArray, FloatArray, FloatArray]]) -> FloatArray:
        """Return the correlations of several results; NaN if an influence is constant.

        Each element of `forms` contains the arguments of `influence` for one result. If the answers do not
        identify the influences, all correlations are 1.
        """
        try:
            influences = np.stack([self.influence(*form) for form in forms], axis=1)
        except NotIdentified:
            return np.ones((len(forms), len(forms)))
        return correlate(influences, self.cluster)


def _weigh(
    predictions: PredictionColumns, items: IntArray, labels: LabelColumns, strata: ItemValues | None
) -> FloatArray:
    weight = find_weights(items, labels)
    if weight is None and strata is not None:
        size, code = len(strata.names), strata.code[items]
        pool = np.bincount(strata.code[predictions.ran], minlength=size)
        weight = (pool / np.maximum(np.bincount(code, minlength=size), 1))[code]
    if weight is None:
        return np.ones(len(items))
    return np.asarray(weight / weight.mean(), dtype=np.float64)


COST = "cost"
"""Name of the result that is the mean cost."""
UNREADABLE_COLUMN = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostTable:
    """Cost of every combination of true and predicted class.

    Attributes
    ----------
    costs
        Shape (K, K): cost by true class (row) and predicted class (column), both in the order of the classes.
        A data frame is refused, because the names of its rows and columns would not be read.
    unreadable
        Shape (K,): cost of an unreadable prediction by true class; None if not given.

    Examples
    --------
    >>> table = CostTable(costs=np.array([[0.0, 1.0], [5.0, 0.0]]), unreadable=np.array([2.0, 2.0]))
    >>> table.of_prediction(0).tolist(), table.of_prediction(-1).tolist()
    ([0.0, 5.0], [2.0, 2.0])
    """

    costs: FloatArray
    unreadable: FloatArray | None = None

    def __post_init__(self) -> None:
        if hasattr(self.costs, "columns") or hasattr(self.unreadable, "iloc"):
            told = "the names in a frame or series are not read; give arrays in the order of the classes"
            raise BadInput(f"costs: {told}, for example frame.loc[classes, classes].to_numpy()")
        square = np.asarray(self.costs, dtype=np.float64)
        if square.ndim != 2 or square.shape[0] != square.shape[1]:
            raise BadInput(f"costs: must be a square table, has shape {square.shape}")
        rest = None if self.unreadable is None else np.asarray(self.unreadable, dtype=np.float64)
        if rest is not None and rest.shape != square.shape[:1]:
            raise BadInput(f"costs: {UNREADABLE_COLUMN!r} must have {len(square)} numbers, has {rest.size}")
        if not (np.isfinite(square).all() and (rest is None or np.isfinite(rest).all())):
            raise BadInput("costs: every cost must be a finite number")
        object.__setattr__(self, "costs", square)
        object.__setattr__(self, "unreadable", rest)

    def of_prediction(self, option: int) -> FloatArray:
        """Return the cost of a prediction by true class, shape (K,); `option` −1 is an unreadable one.

        Raises
        ------
        EstimateError
            If the prediction is unreadable and the table has no cost of unreadable predictions.
        """
        if option >= 0:
            return self.costs[:, option]
        if self.unreadable is None:
            raise EstimateError(
                "costs: some answers are unreadable, and the table has no cost for them: add the column "
                f"{UNREADABLE_COLUMN!r}"
            )
        return self.unreadable


@dataclass(frozen=True, kw_only=True, eq=False)
class CostForm:
    """Costs of N items, split into a known part and a part that depends on the truth.

    Attributes
    ----------
    base
        Shape (N,): known part b of every item's cost.
    weights
        Pairs of an additional cost w and an array of shape (N,): for each item, the option that adds w if it
        is true; −1 if no option does.
    low, high
        Smallest and largest possible cost of an item, over the predictions that occur.
    """

    base: FloatArray
    weights: Sequence[tuple[float, IntArray]]
    low: float
    high: float

    @classmethod
    def of(cls, costs: CostTable, predicted: AnyIntArray, signs: Sequence[int]) -> CostForm:
        """Split each item's cost, Σ_m signs[m] · (cost of model m), by whether it depends on the truth.

        `predicted` has shape (N, M).
        """
        rows, number = np.unique(predicted, axis=0, return_inverse=True)
        number = number.reshape(-1)
        # round, so that costs that differ only by floating-point errors become equal
        table = np.round(
            [
                np.sum([s * costs.of_prediction(int(o)) for s, o in zip(signs, row, strict=True)], axis=0)
                for row in rows
            ],
            12,
        )
        base = np.array([_commonest(line.tolist()) for line in table])
        found = [(weight, options[number]) for weight, options in _group(table - base[:, None])]
        return cls(base=base[number], weights=found, low=float(table.min()), high=float(table.max()))


def _commonest(costs: list[float]) -> float:
    """Return the most frequent cost; of equally frequent costs the largest."""
    number = Counter(costs)
    return max(number, key=lambda cost: (number[cost], cost))


def _group(more: FloatArray) -> Iterator[tuple[float, IntArray]]:
    """Yield every additional cost w ≠ 0 with an array: the option that adds w in each row of `more`.

    The array contains −1 for rows in which no option adds w. If several options of a row add the same w, this
    w is yielded several times.
    """
    for weight in np.unique(more[more != 0]):
        has = more == weight
        for turn in range(int(has.sum(axis=1).max())):
            place = np.cumsum(has, axis=1) == turn + 1
            chosen = has & place
            yield float(weight), np.where(chosen.any(axis=1), chosen.argmax(axis=1), -1)


Entry = tuple[float, Part, IntArray, FloatArray]
"""One term of a mean cost: its weight, a share of items as `Part`, and two arrays with one entry per item of
the study: the option that adds the weight if it is true (−1: none), and 1 if every truth adds it, else 0.
"""


def mean_cost(
    evidence: ClassEvidence, models: Sequence[PredictionColumns], signs: Sequence[int], costs: CostTable
) -> Estimate:
    """Estimate the mean cost of a model, or the difference of two models' mean costs.

    Parameters
    ----------
    evidence
        Evidence on items that all models answered.
    signs
        Factor of each model's cost: (1,) for one model, (1, −1) for a difference.

    Raises
    ------
    EstimateError
        If the answers do not determine the mean.
    """
    # Leave out second questions, because only first answers give the covariance of the summed terms.
    evidence = replace(evidence, second=None)
    places = np.flatnonzero(evidence.population)
    predicted = np.stack([m.option[places] for m in models], axis=1)
    form = CostForm.of(costs, np.maximum(predicted, -1), signs)
    least = float(form.base.min(initial=np.inf))
    if not form.weights and form.low == form.high:
        return _all_alike(evidence, form.low, costs, signs)
    unknown, why = _unknown(evidence, form, places)
    parts = [*_known(evidence, form, places), *unknown]
    rho: FloatArray = np.ones((len(parts), len(parts)))
    if len(parts) > 1:
        truths = ItemTruths.gather(models, evidence.labels, evidence.classes, evidence.strata)
        forms = [(option, np.full(option.size, weight), weight * known) for weight, _, option, known in parts]
        rho = truths.correlate(forms)
    total = sum_part([(weight, part) for weight, part, _, _ in parts], rho)
    spread = form.high - form.low
    if spread > 0 and len(parts) > 1:
        low, value, high = ((least + end - form.low) / spread for end in (total.low, total.value, total.high))
        wide = Part(value=value, low=max(0.0, low), high=min(1.0, high)).widen(evidence.level)
        total = Part(
            value=total.value,
            low=form.low + spread * wide.low - least,
            high=form.low + spread * wide.high - least,
        )
    ends = max(form.low, least + total.low), min(form.high, least + total.high)
    return _estimate_cost(evidence, least + total.value, *ends, why)


def _estimate_cost(evidence: ClassEvidence, cost: float, low: float, high: float, why: str = "") -> Estimate:
    return Estimate(
        value=cost,
        low=low,
        high=high,
        se=None,
        level=evidence.level,
        estimator=COST,
        method=METHOD,
        assumptions=ROUTED_ASSUMPTIONS,
        why=why,
    )


def _all_alike(evidence: ClassEvidence, cost: float, costs: CostTable, signs: Sequence[int]) -> Estimate:
    """Estimate a mean cost if all answered items cost the same, whatever their true class is.

    The interval allows for items with any other cost in the table.
    """
    table = costs.costs if costs.unreadable is None else np.append(costs.costs.ravel(), costs.unreadable)
    most, least = float(table.max()), float(table.min())
    if len(signs) > 1:
        most, least = most - least, least - most
    unseen = share_interval(0, evidence.size, evidence.level)[1]
    return _estimate_cost(evidence, cost, cost - unseen * (cost - least), cost + unseen * (most - cost))


def _known(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[Entry]:
    """Return one entry for every base cost except the smallest: the share of items with that base cost."""
    found = list[Entry]()
    values = np.unique(form.base)
    for value in values[1:]:
        items = np.zeros(len(evidence.population), np.bool_)
        items[places[form.base == value]] = True
        none = np.full(items.size, -1, dtype=np.int64)
        found.append((float(value - values[0]), evidence.share(items), none, items.astype(np.float64)))
    return found


def _unknown(evidence: ClassEvidence, form: CostForm, places: IntArray) -> tuple[list[Entry], str]:
    """Return entries for the costs that depend on the truth, and a reason to doubt an interval (or "")."""
    found, why = list[Entry](), ""
    for weight, column in form.weights:
        option = np.full(len(evidence.population), -1)
        option[places] = column
        items = option >= 0
        inner = evidence.estimate_share(items, option)
        part, share = _part(inner), evidence.share(items)
        if share.value < 1:
            ends = part.value, part.low, part.high
            part = Part.within(*scale_by_share(share.value, evidence.size, *ends, evidence.level))
        found.append((weight, part, option, np.zeros(items.size)))
        why = why or inner.why
    return found, why


BY_CLASS = ("precision", "recall", "f1", "prevalence")
"""Metrics of a single class."""
MACRO = ("macro_precision", "macro_recall", "macro_f1")
"""Unweighted means of `BY_CLASS` metrics over all classes; ``macro_recall`` is balanced accuracy."""
METRICS = (*BY_CLASS, *MACRO)
USUAL = ("precision", "recall", "f1", "macro_f1")
"""Metrics that are reported by default."""


def check_metrics(metrics: Iterable[str], *, some: bool = True) -> tuple[str, ...]:
    """Return the metrics without repetition.

    Raises
    ------
    BadInput
        If a metric is unknown, or if no metric is given and `some` is true.

    Examples
    --------
    >>> check_metrics(["recall", "recall", "f1"])
    ('recall', 'f1')
    """
    check_names("metrics", metrics, "['recall', 'macro_f1']")
    found = tuple(dict.fromkeys(metrics))
    for name in found:
        if name not in METRICS:
            raise BadInput(f"metrics: must be among {', '.join(METRICS)}; {name!r} is not")
    if some and not found:
        raise BadInput(f"metrics: give at least one of {', '.join(METRICS)}")
    return found


def check_classes(classes: Sequence[str], costs: CostTable | None) -> int:
    """Return the number of classes.

    Raises
    ------
    BadInput
        If there are fewer than two classes, two classes are equal, or the cost table is for a different
        number of classes.
    """
    check_names("classes", classes)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise BadInput(f"classes: give at least 2, each only once, not {', '.join(map(repr, classes))}")
    if costs is not None and len(costs.costs) != len(classes):
        raise BadInput(f"costs: there are {len(classes)} classes, but the table has {len(costs.costs)}")
    return len(classes)


def name_results(
    metrics: Iterable[str], classes: Sequence[str], costs: CostTable | None
) -> list[tuple[str, str, int]]:
    """Return name, metric and class of every result, for example ("recall[cardiology]", "recall", 0).

    The class is −1 for results that refer to all classes.
    """
    found = list[tuple[str, str, int]]()
    for metric in metrics:
        each = enumerate(classes) if metric in BY_CLASS else ()
        found += [(f"{metric}[{name}]", metric, k) for k, name in each] or [(metric, metric, -1)]
    return found + [(COST, COST, -1)] * (costs is not None)


class ClassEstimates(Estimates):
    """Results by class of one model, by name; `undefined` maps the names of withheld results to the reasons.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> found = classification_report(model, labels, ["w", "x", "y", "z"], metrics=["recall"])
    >>> found.undefined["recall[y]"]
    'no item is predicted to be of this class'
    """

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables that a notebook shows."""
        return (estimate_table(self, self.undefined, title="", column="result"),)

    def __str__(self) -> str:
        """Return one line per result."""
        found = [f"{name}: {value_text(e)} [{interval_text(e)}]" for name, e in self.items()]
        return "\n".join([*found, *(f"{name}: {why}" for name, why in self.undefined.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResult:
    """A result of one class c, and the linear form Σ weight·1{y = c} + known that gives its influences.

    Attributes
    ----------
    estimate
        The result.
    option
        The class.
    inside, outside
        Weight of 1{y = c} for items predicted to be of the class, and for other items.
    known
        Term that every item predicted to be of the class adds, whatever its truth.
    """

    estimate: Estimate
    option: int
    inside: float = 1.0
    outside: float = 0.0
    known: float = 0.0


class ClassResults:
    """All results of one model, class by class; shares that several results need are computed once."""

    def __init__(
        self, evidence: ClassEvidence, classes: Sequence[str], costs: CostTable | None = None
    ) -> None:
        self.evidence, self.classes, self.costs = evidence, classes, costs
        self._estimates = dict[tuple[str, int], Estimate]()

    @cached_property
    def truths(self) -> ItemTruths:
        """Evidence of the items' true options, collected from the answers."""
        e = self.evidence
        return ItemTruths.gather([e.predictions], e.labels, e.classes, e.strata)

    def report(self, metrics: Sequence[str]) -> ClassEstimates:
        """Return the results of `metrics`, in the same order, and the reasons for withheld results."""
        found, undefined = dict[str, Estimate](), dict[str, str]()
        for name, metric, option in name_results(metrics, self.classes, self.costs):
            try:
                found[name] = self.complete(self.estimate(metric, option))
            except EstimateError as error:
                undefined[name] = str(error)
        return ClassEstimates(found, undefined)

    def complete(self, estimate: Estimate) -> Estimate:
        """Add counts, notes, and reasons why the interval may not hold, to an estimate."""
        e = self.evidence
        return complete(estimate, e.predictions, e.labels, e.notes)

    def estimate(self, metric: str, option: int) -> Estimate:
        """Return a result of one class, or of all classes if `option` is −1.

        Raises
        ------
        EstimateError
            If the result is withheld; the message gives the reason.
        """
        if metric == COST:
            return self.cost()
        return self.mean(metric) if option < 0 else self.result(metric, option).estimate

    def reading(self, metric: str, option: int) -> tuple[Part, FloatArray | None, str]:
        """Return a result, every item's influence on it, and why its interval may not hold.

        Influences that are unknown are None. The reason is empty if nothing is wrong with the interval.
        """
        made = self.complete(self.estimate(metric, option))
        whole = range(len(self.classes)) if option < 0 else (option,)
        try:
            forms = [self._form(self.result(metric.removeprefix("macro_"), k)) for k in whole]
            each = [self.truths.influence(*form) for form in forms]
        except NotIdentified:
            each = []
        return Part.of(made), np.mean(each, axis=0) if each else None, made.why

    def cost(self) -> Estimate:
        """Estimate the mean cost of the model's answers."""
        if self.costs is None:
            raise BadInput("costs: a mean cost needs a table of costs")
        return mean_cost(self.evidence, [self.evidence.predictions], (1,), self.costs)

    def result(self, metric: str, option: int) -> ClassResult:
        """Return a result of one class.

        Raises
        ------
        EstimateError
            If the result is withheld; the message gives the reason.
        """
        evidence = self.evidence
        if metric == "prevalence":
            everybody = self._share("prevalence", option)
            return ClassResult(estimate=replace(everybody, estimator=metric), option=option, outside=1.0)
        share = evidence.share(evidence.predicted(option))
        if share.value == 0:
            raise EstimateError("no item is predicted to be of this class")
        hit = self._share("hit", option)
        if metric == "precision":
            known = -hit.value / share.value
            made = replace(hit, estimator=metric)
            return ClassResult(estimate=made, option=option, inside=1 / share.value, known=known)
        return self._ratio(metric, option, share, hit)

    def _ratio(self, metric: str, option: int, share: Part, hit: Estimate) -> ClassResult:
        evidence, whole = self.evidence, 1 - share.value
        missed = self._share("missed", option) if whole > 0 else None
        miss = Part(value=1.0, low=0.0, high=1.0) if missed is None else _part(missed)
        of_class = share.value * hit.value + whole * miss.value
        expected = evidence.expect_yes(option, share.value)
        if expected < LEAST:
            raise EstimateError(
                f"these questions are expected to give about {expected:.1f} yes-answers about this class if "
                f"the class is as frequent as predicted; an estimate needs at least {LEAST:g}"
            )
        together = evidence.labels.cluster is not None
        found = ratio_part(metric, share, _part(hit), miss, together=together).widen(evidence.level)
        size = of_class if metric == "recall" else share.value + of_class
        alpha, beta, gamma = (w / size for w in ratio_weights(metric, found.value))
        why = hit.why or (missed.why if missed else "")
        estimate = _combine(hit, found, metric, why)
        return ClassResult(estimate=estimate, option=option, inside=alpha, outside=-beta, known=-gamma)

    def mean(self, metric: str) -> Estimate:
        """Estimate the mean of a metric over all classes."""
        one, results = metric.removeprefix("macro_"), list[ClassResult]()
        for option, name in enumerate(self.classes):
            try:
                results.append(self.result(one, option))
            except EstimateError as error:
                raise type(error)(f"{one}[{name}] is withheld: {error}") from error
        each = 1 / len(results)
        correlation = self.truths.correlate([self._form(r) for r in results])
        # An item affects at most two classes, the true and the predicted one. So the variance of the sum is
        # at most twice the sum of the variances. With equal variances, the mean correlation is ≤ 1/(K − 1).
        unknown = 1 / (len(results) - 1) if self.truths.cluster is None else 1.0
        found = sum_part([(each, Part.of(r.estimate)) for r in results], correlation, unknown=unknown)
        found = Part(value=found.value, low=max(0.0, found.low), high=min(1.0, found.high))
        found = found.widen(self.evidence.level)
        why = next((r.estimate.why for r in results if r.estimate.why), "")
        return _combine(results[0].estimate, found, metric, why)

    def _form(self, result: ClassResult) -> tuple[IntArray, FloatArray, FloatArray]:
        mine = self.evidence.predictions.option == result.option
        option, weight = np.full(mine.size, result.option), np.where(mine, result.inside, result.outside)
        return option, weight, result.known * mine

    def _share(self, what: str, option: int) -> Estimate:
        """Return the share of a class in a group of items; cached.

        `what` is ``"prevalence"`` for all items, ``"hit"`` for items predicted to be of the class, and
        ``"missed"`` for the other items.
        """
        e, key = self.evidence, (what, option)
        if key not in self._estimates:
            predicted = e.predicted(option)
            others = e.population & ~predicted if what == "missed" else e.population
            hit = what == "hit"
            made = e.estimate(predicted, option) if hit else e.estimate_share(others, option)
            self._estimates[key] = made
        return self._estimates[key]


def _part(estimate: Estimate) -> Part:
    return Part.within(estimate.clipped, estimate.low, estimate.high)


def _combine(like: Estimate, found: Part, metric: str, why: str) -> Estimate:
    """Make an estimate from a combined part, with the counts and assumptions of the estimate `like`."""
    return replace(
        like,
        value=found.value,
        low=found.low,
        high=found.high,
        se=None,
        estimator=metric,
        method=METHOD,
        steps=(),
        notes=(),
        why=why,
    )


def classification_report(
    predictions: AnyPredictions,
    labels: AnyLabels,
    classes: Sequence[str],
    *,
    metrics: Sequence[str] = USUAL,
    costs: CostTable | None = None,
    level: float = 0.95,
    strata: Strata = None,
    second: LabelColumns | None = None,
) -> ClassEstimates:
    """Estimate the results by class of one model, and the mean cost of its answers.

    Parameters
    ----------
    predictions, labels, strata
        As in `oversight.accuracy`. An unreadable prediction belongs to no class.
    classes
        Names of the options, the same for every item.
    metrics
        Names of `METRICS`: ``precision``, P(y = c | ŷ = c); ``recall``, P(ŷ = c | y = c); ``f1``;
        ``prevalence``, P(y = c); and the means ``macro_precision``, ``macro_recall``, ``macro_f1``.
    costs
        Cost of every combination of true and predicted class. If given, the mean ``cost`` is added.
    level
        Confidence level of every interval, in (0, 1).
    second
        Second questions about items whose first answer was no, and their answers. If given, `predictions`
        must be PredictionColumns and `labels` LabelColumns for the same items. Second questions narrow the
        intervals of the results by class, but not the interval of the mean cost.

    Returns
    -------
    ClassEstimates
        Results by name, for example ``recall[cardiology]``, ``macro_f1`` or ``cost``. `undefined` maps the
        names of withheld results to the reasons.

    Raises
    ------
    BadInput
        If a metric is unknown, the options of an item are not the classes, or strata have no effect.
    EstimateError
        If the labels contradict each other.
    TypeError
        If `second` is not over the same items as `labels`.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> found = classification_report(model, labels, ["w", "x", "y", "z"], metrics=["recall"])
    >>> print(found["recall[w]"])
    0.800 [0.666, 0.909] RECALL, square-and-add 95% · 20 ordinary + 60 complementary
    """
    metrics = check_metrics(metrics, some=costs is None)
    number = check_classes(classes, costs)
    check_level(level)
    one, said = align(predictions, labels)
    if second is not None and second.index is not said.index:
        raise TypeError("second questions need PredictionColumns and LabelColumns with the same index")
    try:
        evidence = ClassEvidence.ready(one, said, number, strata, level, second)
    except NotIdentified as error:
        names = [name for name, _, _ in name_results(metrics, classes, costs)]
        return ClassEstimates({}, dict.fromkeys(names, str(error)))
    return ClassResults(evidence, classes, costs).report(metrics)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CostComparison(Comparison):
    """Difference of two models' mean costs; the model with the lower cost is better."""

    scale: ClassVar[float] = 1.0
    unit: ClassVar[str] = ""
    better: ClassVar[int] = -1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClassComparison(Displayable):
    """Differences between models in their results by class.

    Attributes
    ----------
    results
        Name of a result, for example ``recall[cardiology]`` → comparison of every pair of models.
    undefined
        Name of a withheld result → reason.
    left_out
        Remarks on what the comparison leaves out: judges, models without answers yet, and second questions.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> found = compare_classes({"a": a, "b": b}, labels, ["w", "x", "y", "z"], metrics=["recall"])
    >>> found.results["recall[w]"][0].verdict
    'tie'
    """

    results: Mapping[str, tuple[Comparison, ...]]
    undefined: Mapping[str, str]
    left_out: Sequence[str] = ()

    picture: ClassVar[str] = "differences"

    @property
    def pairs(self) -> tuple[Comparison, ...]:
        """All comparisons; the name of the result is put before the name of the first model."""
        return tuple(
            replace(pair, first=f"{name}: {pair.first}")
            for name, pairs in self.results.items()
            for pair in pairs
        )

    def __str__(self) -> str:
        """Return one line per result and pair of models."""
        found = [f"{name}: {pair}" for name, pairs in self.results.items() for pair in pairs]
        return "\n".join([*found, *(f"{name}: {why}" for name, why in self.undefined.items())])

    def records(self) -> list[dict[str, Any]]:
        """Return one row per result and pair of models."""
        return [
            {"result": n} | row for n, pairs in self.results.items() for p in pairs for row in p.records()
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables that a notebook shows, one per result."""
        shown = (replace(pairs_table(pairs), title=f"Difference in {n}") for n, pairs in self.results.items())
        return (*shown, HtmlTable(notes=[f"{n}: {why}" for n, why in self.undefined.items()]))


def compare_classes(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    classes: Sequence[str],
    *,
    metrics: Sequence[str] = ("macro_f1",),
    costs: CostTable | None = None,
    level: float = 0.95,
) -> ClassComparison:
    """Compare models by their results for each class, on the items that all of them answered.

    Parameters
    ----------
    models
        Name → predictions, of at least two models.
    labels, classes, metrics, costs
        As in `classification_report`, without ``prevalence``, which does not depend on the model.
    level
        Joint confidence level of all pairs of a result (Bonferroni).

    Raises
    ------
    BadInput
        If there are fewer than two models, a metric is unknown, or the options of an item are not the
        classes.
    EstimateError
        If the labels contradict each other.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> found = compare_classes({"a": a, "b": b}, labels, ["w", "x", "y", "z"], metrics=["recall"])
    >>> print(found.results["recall[w]"][0])
    not decided: a − b +13.8 points [-4.4, +31.3], p = 0.14 · square-and-add 95% · 80 items, 80 questions
    """
    check_mapping("models", models, "name to predictions")
    metrics, number = check_metrics(metrics, some=costs is None), check_classes(classes, costs)
    if len(models) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(models)}")
    if "prevalence" in metrics:
        raise BadInput("metrics: prevalence describes the items, not a model; leave it out of a comparison")
    check_level(level)
    columns, said = align_models(list(models.values()), labels)
    everywhere = np.logical_and.reduce([m.ran for m in columns])
    left_out = np.where(np.logical_and.reduce([m.is_there for m in columns]), FAILED, ABSENT)
    kept = [replace(m, option=np.where(everywhere, m.option, left_out), confidence=None) for m in columns]
    said = replace(said, models=tuple(kept))
    pairs = list(combinations(range(len(kept)), 2))
    each = 1 - (1 - level) / len(pairs)
    names = [name for name, _, _ in name_results(metrics, classes, costs)]
    try:
        made = [ClassResults(ClassEvidence.ready(m, said, number, None, each), classes, costs) for m in kept]
    except NotIdentified as error:
        return ClassComparison(results={}, undefined=dict.fromkeys(names, str(error)))
    unfinished = why_unfinished(said.asked_items, np.logical_and.reduce([m.is_complete for m in columns]))
    found, undefined = dict[str, tuple[Comparison, ...]](), dict[str, str]()
    for name, metric, option in name_results(metrics, classes, costs):
        try:
            parts = [_subtract(made[i], made[j], metric, option, unfinished) for i, j in pairs]
        except EstimateError as error:
            undefined[name] = str(error)
            continue
        kind = CostComparison if metric == COST else Comparison
        found[name] = tuple(
            _compare(
                kind, difference, made[i].evidence, (list(models)[i], list(models)[j]), len(pairs), level
            )
            for difference, (i, j) in zip(parts, pairs, strict=True)
        )
    return ClassComparison(results=found, undefined=undefined)


def _subtract(
    first: ClassResults, second: ClassResults, metric: str, option: int, unfinished: str
) -> tuple[Part, str]:
    """Return the difference of two models' results, and a reason to doubt its interval (or "").

    Raises
    ------
    EstimateError
        If the result of one model is withheld.
    """
    if metric == COST and first.costs is not None:
        both = [first.evidence.predictions, second.evidence.predictions]
        made = mean_cost(first.evidence, both, (1, -1), first.costs)
        return Part.of(made), unfinished or first.complete(made).why or second.complete(made).why
    one, ours, why = first.reading(metric, option)
    other, theirs, why_not = second.reading(metric, option)
    rho = -1.0
    if ours is not None and theirs is not None:
        rho = cautious_correlation(ours, theirs, first.truths.cluster)
    return difference_part(one, other, rho), unfinished or why or why_not


def _compare(
    kind: type[Comparison],
    difference: tuple[Part, str],
    evidence: ClassEvidence,
    names: tuple[str, str],
    pairs: int,
    level: float,
) -> Comparison:
    """Make a comparison from a difference.

    The p-value assumes a normal error. The standard error is computed from the distance between the
    difference and the end of the interval that lies towards 0.
    """
    (part, why), labels = difference, evidence.labels
    half = part.value - part.low if part.value > 0 else part.high - part.value
    deviations = abs(part.value) / half * z_value(evidence.level) if half > 0 else 0.0
    return kind(
        first=names[0],
        second=names[1],
        difference=part.value,
        low=part.low,
        high=part.high,
        p_value=min(1.0, pairs * 2 * float(ndtr(-deviations))),
        level=level,
        method=METHOD,
        items=int(np.count_nonzero(evidence.population)),
        questions=int(np.count_nonzero(evidence.population[labels.item] & (labels.kind >= 0))),
        adjusted="bonferroni" if pairs > 1 else "none",
        assumptions=labels.statement.assumptions if labels.statements else (),
        notes=evidence.notes,
        why=why,
    )
