"""How labels came about, and the one estimate that any design but a uniform draw allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from harness.errors import NotIdentified
from harness.estimate.routed import (
    GoldCounts,
    corrected_accuracy,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from harness.types import (
    Counts,
    Estimate,
    Label,
    LabelDesign,
    LabelKind,
    Labels,
    Prediction,
    PredictionStatus,
)

_PLAIN = LabelDesign(statements=(), asked=frozenset())


def design_of(labels: Sequence[Label]) -> LabelDesign:
    """How labels came about; a plain list states nothing."""
    return labels.design if isinstance(labels, Labels) else _PLAIN


def is_uniform(labels: Sequence[Label]) -> bool:
    """Whether the labels' protocol drew options uniformly; a plain list is taken for such."""
    design = design_of(labels)
    return not design.statements or design.statement.estimator == "likelihood"


def is_resolved(labels: Sequence[Label]) -> bool:
    """Whether the labels' protocol asked about every item until it was resolved."""
    design = design_of(labels)
    return bool(design.statements) and design.statement.estimator == "resolved"


def asked_items(labels: Sequence[Label]) -> frozenset[str]:
    """Ids of the items that have a question."""
    return frozenset(design_of(labels).asked or {x.item_id for x in labels})


def estimate_by_design(
    predictions: Sequence[Prediction], labels: Sequence[Label], *, level: float, gold: GoldCounts | None
) -> Estimate:
    """The one estimate that recorded propensities or resolved items allow.

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
        estimate = resolved_accuracy(resolved_correctness(labels, [predictions], asked)[:, 0], level=level)
    else:
        data, predicted = routed_pool(labels, [predictions], asked, error_free=gold is None)
        if gold is not None:
            estimate = corrected_accuracy(predicted[:, 0], data, gold, level=level)
        else:
            estimate = routed_accuracy(predicted[:, 0], data, level=level)
    return replace(estimate, n=_count(predictions, labels))


def _count(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Counts:
    """Count answers as everywhere else: by what experts said on items with a prediction."""
    status = {p.item_id: p.status for p in predictions}
    kinds = Counter(x.kind for x in labels if status.get(x.item_id) is not PredictionStatus.FAILED)
    labelled = {x.item_id for x in labels}
    by_status = Counter(s for item, s in status.items() if item in labelled)
    return Counts(
        ordinary=kinds[LabelKind.ORDINARY],
        complementary=kinds[LabelKind.COMPLEMENTARY],
        abstained=kinds[LabelKind.ABSTAINED],
        unreadable=sum(n for s, n in by_status.items() if s.no_option),
        failed=by_status[PredictionStatus.FAILED],
        unlabelled=len(set(status) - labelled),
    )
