"""How labels came about, and the one estimate that any design but a uniform draw allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import check_clusters
from oversight.harness.estimate.data import find_unequal
from oversight.harness.estimate.intervals import DrawnStrata
from oversight.harness.estimate.routed import (
    GoldCounts,
    allows_gold_score,
    corrected_accuracy,
    gold_accuracy,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
    unequal_accuracy,
)
from oversight.harness.types import Estimate, Note, NoteKind


def estimate_by_design(
    predictions: PredictionColumns, labels: LabelColumns, *, level: float, gold: GoldCounts | None
) -> Estimate:
    """The one estimate that recorded propensities, resolved items or clusters allow.

    Raises
    ------
    NotIdentified
        If the protocol says nothing of one model's accuracy.
    """
    if not labels.tells_accuracy:
        raise NotIdentified("questions were asked only where two models differ; see: oversight compare")
    if labels.is_resolved:
        estimate = resolved_estimate(predictions, labels, level, bounds=False)
    else:
        free = gold is None
        data, predicted, items = routed_pool(labels, [predictions], error_free=free, unequal=free)
        options = predicted[:, 0].astype(np.int64)
        cluster = enough_clusters(items, labels.index, labels.cluster)
        weight = find_weights(items, labels)
        if gold is None and weight is not None:
            estimate = unequal_accuracy(options, data, weight, level=level, cluster=cluster)
        elif gold is None:
            unequal = find_unequal(labels, predictions.is_there)
            data = data if unequal is None else unequal.tilt(data)
            strata = find_drawn_strata(items, labels)
            estimate = routed_accuracy(options, data, level=level, cluster=cluster, strata=strata)
        elif allows_gold_score(options, data):
            estimate = gold_accuracy(options, data, gold, level=level, cluster=cluster)
        else:
            estimate = corrected_accuracy(options, data, gold, level=level, cluster=cluster)
    return estimate


def resolved_estimate(
    predictions: PredictionColumns, labels: LabelColumns, level: float, *, bounds: bool
) -> Estimate:
    """Accuracy on resolved items; with `bounds` its interval holds whatever experts were silent about."""
    found = resolved_correctness(labels, [predictions], unequal=True)
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
