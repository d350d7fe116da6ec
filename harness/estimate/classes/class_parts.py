"""Shares of a class from labels: each is the accuracy of a constant answer on some of the items.

Two results of the same answers are correlated by their influences, what every item adds to them. A ratio's
is that of its linear form: of recall R of class c (1{ŷ = c} − R) 1{y = c}/P(y = c), of F1 ((2·1{ŷ = c} − F)
1{y = c} − F·1{ŷ = c})/(P(ŷ = c) + P(y = c)), of precision h 1{ŷ = c}(1{y = c} − h)/P(ŷ = c). The truth in
them is estimated by equation (G), see `oversight.harness.estimate.routed.doubly_robust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSENT, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.classes.parts import Part, correlate
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.data import Strata, find_strata, find_unequal
from oversight.harness.estimate.evaluation import accuracy, complete
from oversight.harness.estimate.evidence import enough_clusters, number_clusters
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
