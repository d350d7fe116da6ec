"""Accuracy of one model where experts err: by second experts' answers, or by ranges of their error rates."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.by_design import enough_clusters
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.routed import ErrorRanges, allows_gold_score, bounded_accuracy, routed_pool
from oversight.harness.types import Estimate


def allow_for_errors(
    predictions: PredictionColumns,
    labels: LabelColumns,
    second: IntArray,
    known: ErrorRanges,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate named ``hui_walter`` where items have a second answer, otherwise ``bounded``.

    Parameters
    ----------
    second
        Shape (items,): what a second expert said to the item's question, 1, 0, or −1 for none.
    known
        Ranges of the error rates, and answers to gold.

    Raises
    ------
    NotIdentified
        As `bounded_accuracy`, or if the draw has no likelihood: several questions an item, drawn by several
        models' predictions, or items of different K.
    EstimateError
        If an item has no cluster where items come in clusters, or nothing can be estimated.
    """
    part, notes = collected_part(labels, predictions.is_there)
    data, predicted, items = routed_pool(part, [predictions], error_free=False)
    options = predicted[:, 0].astype(np.int64)
    if not allows_gold_score(options, data):
        raise NotIdentified(
            "without gold items experts' errors are told from one question an item, its option drawn "
            "uniformly or predicted by this model, and items of one number of options"
        )
    cluster = enough_clusters(items, labels.index, labels.cluster)
    asked = second[items[data.item]]
    estimate = bounded_accuracy(options, data, asked, known, level=level, cluster=cluster)
    return complete(estimate, predictions, part, notes)
