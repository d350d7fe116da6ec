"""How labels came about, and the one estimate that any design but a uniform draw allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.arrays import IntArray
from harness.errors import EstimateError, NotIdentified
from harness.estimate.intervals import scale_by_share
from harness.estimate.routed import (
    GoldCounts,
    corrected_accuracy,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from harness.types import (
    Estimate,
    Label,
    LabelKind,
    Prediction,
    PredictionStatus,
    asked_items,
    design_of,
    is_resolved,
)


def estimate_by_design(
    predictions: Sequence[Prediction], labels: Sequence[Label], *, level: float, gold: GoldCounts | None
) -> Estimate:
    """The one estimate that recorded propensities, resolved items or clusters allow.

    Raises
    ------
    NotIdentified
        If the protocol says nothing of one model's accuracy.
    """
    design = design_of(labels)
    if design.statements and "accuracy" not in design.statement.answers:
        raise NotIdentified("questions were asked only where two models differ; see: oversight compare")
    asked = asked_items(labels)
    if is_resolved(labels):
        correct, items = resolved_correctness(labels, [predictions], asked)
        estimate = resolved_accuracy(
            correct[:, 0], level=level, cluster=number_clusters(items, design.clusters)
        )
    else:
        data, predicted, items = routed_pool(labels, [predictions], asked, error_free=gold is None)
        cluster = number_clusters(items, design.clusters)
        if gold is None:
            estimate = routed_accuracy(predicted[:, 0], data, level=level, cluster=cluster)
        elif cluster is not None:
            raise EstimateError("a correction for experts' errors takes items as independent; leave out gold")
        else:
            estimate = corrected_accuracy(predicted[:, 0], data, gold, level=level)
    return estimate


def number_clusters(items: Sequence[str], clusters: Mapping[str, str]) -> IntArray | None:
    """Number of every item's cluster, shape (N,); None without clusters.

    Raises
    ------
    EstimateError
        If an item has none, or all share one.
    """
    if not clusters:
        return None
    for item in items:
        if item not in clusters:
            raise EstimateError(f"clusters: item {item!r} has none")
    names, number = np.unique([clusters[item] for item in items], return_inverse=True)
    if len(names) < 2:
        raise EstimateError(f"clusters: there must be at least 2, all items are of {str(names[0])!r}")
    return number.astype(np.int64)


def bound_missing(
    estimate: Estimate, predictions: Sequence[Prediction], labels: Sequence[Label]
) -> Estimate | None:
    """The estimate with an interval that holds whatever failed calls and abstentions hide; None without any.

    With a share ρ of the items known, A lies between ρ·A_known and 1 − ρ·(1 − A_known), each end with the
    uncertainty of both (`scale_by_share`).
    """
    failed = {p.item_id for p in predictions if p.status is PredictionStatus.FAILED}
    ran = {p.item_id for p in predictions} - failed
    said = {x.item_id for x in labels if x.kind is not LabelKind.ABSTAINED} & ran
    # an interval of resolved items is that of the worst case of abstentions already
    silent = set() if is_resolved(labels) else ({x.item_id for x in labels} & ran) - said
    if not (failed or silent) or not said:
        return None
    # calls fail on predictions, experts abstain from labels: of a part of the labels, as large a part failed
    share = len(ran) / (len(ran) + len(failed)) * len(said) / (len(said) + len(silent))
    n, missing = len(said) / share, len(failed) + len(silent)
    inner = min(estimate.high, max(estimate.low, estimate.value))
    _, low, _ = scale_by_share(share, n, inner, estimate.low, estimate.high, estimate.level)
    _, wrong, _ = scale_by_share(share, n, 1 - inner, 1 - estimate.high, 1 - estimate.low, estimate.level)
    return replace(
        estimate,
        value=inner,
        low=max(0.0, low),
        high=min(1.0, 1 - wrong),
        se=None,
        estimator="worst_case",
        interval=f"{estimate.interval}+worst-case",
        flags=(*estimate.flags, f"missing: {missing} of {len(said) + missing} items failed or had no answer"),
    )
