"""What was asked about one model's items and what came back, as arrays: the input of every estimate.

`Evidence` holds the answers to drawn options, with everything that the design of a study says of its items:
clusters, strata of a draw, and how many items each one stands for. It is gathered once per model and labels.
`Evidence.accuracy` is the one estimate of it; side information enters as the working distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import check_clusters
from oversight.harness.estimate.data import find_unequal, is_proportional
from oversight.harness.estimate.intervals import DrawnStrata
from oversight.harness.estimate.routed import (
    GoldCounts,
    RoutedSample,
    allows_gold_score,
    corrected_accuracy,
    gold_accuracy,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from oversight.harness.types import Estimate, Note, NoteKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Answers to drawn options about N items that one model predicted.

    Attributes
    ----------
    sample
        Questions with their propensities, and answers. Propensities are those of answered questions: if
        experts answer unequally often about the options, they are corrected for it.
    option
        Shape (N,): the predicted option, −1 if unreadable.
    items
        Shape (N,): place of each item in the study.
    cluster
        Shape (N,): number of the cluster of each item; None if items are independent.
    weight
        Shape (N,): how many items each one stands for; None if all count alike.
    strata
        Strata that the items were drawn from in proportion; None without them.
    """

    sample: RoutedSample
    option: IntArray
    items: IntArray
    cluster: IntArray | None
    weight: FloatArray | None
    strata: DrawnStrata | None

    @classmethod
    def of(
        cls,
        predictions: PredictionColumns,
        labels: LabelColumns,
        *,
        strata: ItemValues | None = None,
        error_free: bool = True,
    ) -> Evidence:
        """Gather the evidence about one model.

        Parameters
        ----------
        predictions, labels
            Of the same items; of a collection that is not finished the interim subset (`collected_part`).
        strata
            Stratum of every item, to weight strata by their share of the predictions.
        error_free
            Whether experts are taken not to err.

        Raises
        ------
        BadInput
            If strata have no effect on such labels, for example on items in clusters.
        NotIdentified
            If `combinations` does not allow an estimate, or there are too few clusters.
        EstimateError
            If no answered item has a prediction, an item has no cluster, or a stratum has no answer.
        """
        refuse("estimate", labels.conditions, gold=not error_free, strata=strata is not None)
        everything = predictions
        if labels.is_uniform:
            # a question there does not follow from a prediction, so an item without one tells nothing
            predictions = predictions.on(labels.asked_items)
        sample, predicted, items = routed_pool(labels, [predictions], error_free=error_free)
        if error_free and (unequal := find_unequal(labels, predictions.is_there)) is not None:
            sample = unequal.tilt(sample)
        weight = find_weights(items, labels)
        if strata is not None:
            weight = _weigh_strata(items, everything, strata)
        return cls(
            sample=sample,
            option=predicted[:, 0].astype(np.int64),
            items=items,
            cluster=enough_clusters(items, labels.index, labels.cluster),
            weight=weight,
            strata=find_drawn_strata(items, labels),
        )

    @property
    def most_questions(self) -> int:
        """Largest number of questions about one item."""
        return int(np.bincount(self.sample.item).max())

    @property
    def is_settled(self) -> bool:
        """Whether every readable prediction was certain to be asked about, so that all is known."""
        rows = np.flatnonzero(self.option >= 0)
        return bool((self.sample.propensities[rows, self.option[rows]] > 1 - 1e-9).all())

    def accuracy(self, level: float, working: FloatArray | None = None) -> Estimate:
        """Estimate the accuracy.

        Parameters
        ----------
        working
            Shape (N, K): probability of each option from side information that has not seen the item's own
            answer; None without. A misleading one costs width, not validity.
        """
        return routed_accuracy(
            self.option,
            self.sample,
            level=level,
            cluster=self.cluster,
            working=working,
            strata=self.strata,
            weight=self.weight,
        )


def estimate_by_design(
    predictions: PredictionColumns, labels: LabelColumns, *, level: float, gold: GoldCounts | None
) -> Estimate:
    """Estimate by the design of the labels: resolved items, recorded propensities, or gold.

    Raises
    ------
    NotIdentified, EstimateError
        As `Evidence.of`, and if the answers do not tell the accuracy.
    """
    if labels.is_resolved and labels.tells_accuracy:
        return resolved_estimate(predictions, labels, level, bounds=False)
    evidence = Evidence.of(predictions, labels, error_free=gold is None)
    if gold is None:
        return evidence.accuracy(level)
    estimate = gold_accuracy if allows_gold_score(evidence.option, evidence.sample) else corrected_accuracy
    return estimate(evidence.option, evidence.sample, gold, level=level, cluster=evidence.cluster)


def resolved_estimate(
    predictions: PredictionColumns, labels: LabelColumns, level: float, *, bounds: bool
) -> Estimate:
    """Accuracy on resolved items; with `bounds` its interval holds whatever experts were silent about."""
    found = resolved_correctness(labels, [predictions])
    cluster = enough_clusters(found.items, labels.index, labels.cluster)
    # open questions are no random part, however few
    own = None if bounds or found.waiting else found.own[:, 0]
    estimate = resolved_accuracy(
        found.correct[:, 0],
        own=own,
        level=level,
        cluster=cluster,
        strata=find_drawn_strata(found.items, labels),
        weight=find_weights(found.items, labels),
    )
    if not found.waiting:
        return estimate
    note = Note(NoteKind.OPEN_ITEMS, {"open": found.waiting, "of": len(found.items)})
    return replace(estimate, notes=(*estimate.notes, note))


def find_drawn_strata(items: IntArray, labels: LabelColumns) -> DrawnStrata | None:
    """Strata that the items at these places were drawn from; None without such a draw, or of one stratum.

    Items in clusters do without: how much a cluster's items hang together counts for more.
    """
    if labels.pool is None or labels.cluster is not None:
        return None
    number = labels.pool.stratum[items]
    if not number.size or number.min() == number.max():
        return None
    return DrawnStrata(number=number, share=len(items) / labels.pool.number)


def find_weights(items: IntArray, labels: LabelColumns) -> FloatArray | None:
    """How many items of the pool those at these places stand for; None where all are equal."""
    weight = None if labels.pool is None else labels.pool.weight
    return None if weight is None else weight[items]


def _weigh_strata(items: IntArray, predictions: PredictionColumns, strata: ItemValues) -> FloatArray | None:
    """Predictions per answered item in the stratum of every item; None if strata were asked about alike."""
    names = strata.names
    pool = np.bincount(strata.code[predictions.ran], minlength=len(names))
    asked = np.bincount(strata.code[items], minlength=len(names))
    for stratum in np.flatnonzero((pool > 0) & (asked == 0)):
        raise EstimateError(f"strata: {names[stratum]!r} has predictions but no answer")
    there = np.flatnonzero(asked)
    sizes = ({names[j]: int(number[j]) for j in there} for number in (asked, pool))
    if is_proportional(*sizes):
        return None
    weight: FloatArray = (pool / np.maximum(asked, 1))[strata.code[items]]
    return weight


def number_clusters(items: IntArray, index: ItemIndex, cluster: ItemValues | None) -> IntArray | None:
    """Number of the cluster of every item at these places; None without clusters.

    Raises
    ------
    EstimateError
        If an item has none, or all share one.
    """
    if cluster is None:
        return None
    code = cluster.code[items]
    for place in items[code < 0]:
        raise EstimateError(f"clusters: item {index.ids[place]!r} has none")
    known, number = np.unique(code, return_inverse=True)
    if known.size < 2:
        name = str(cluster.names[known[0]])
        raise EstimateError(f"clusters: there must be at least 2, all items are of {name!r}")
    return number.astype(np.int64)


def enough_clusters(items: IntArray, index: ItemIndex, cluster: ItemValues | None) -> IntArray | None:
    """`number_clusters` for an estimate with an interval; None, too, if no two items share a cluster.

    Raises
    ------
    EstimateError
        If an item has no cluster, or all share one.
    NotIdentified
        If the clusters are effectively too few, see `check_clusters`.
    """
    number = number_clusters(items, index, cluster)
    if number is None or number.max() + 1 == len(items):
        return None
    check_clusters(number)
    return number
