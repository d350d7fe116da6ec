"""Shares of a class from labels: each is the accuracy of a constant answer on some of the items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ABSENT, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.classes.ratios import Part
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.data import Strata, find_strata
from oversight.harness.estimate.evaluation import accuracy, complete
from oversight.harness.estimate.evidence import enough_clusters, number_clusters
from oversight.harness.estimate.intervals import effective_size, share_interval
from oversight.harness.estimate.routed import read_item_answers, resolved_accuracy
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
