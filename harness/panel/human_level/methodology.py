"""The methodology of human-level comparison as one call: people, a reference and systems to a table.

Experts make the reference; people who are none of them judge the same items; systems too. Agreement
with the reference ranks all, paired tests say what is significant, and the agreement among the
people (Krippendorff's α) says whether the categories are well defined.

Source: "Are machines better than humans in image tagging?", sections 3.4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.arrays import FloatArray, IntArray
from harness.errors import EstimateError
from harness.estimate import check_known
from harness.panel.agreement import krippendorff_alpha
from harness.panel.human_level.precision import average_precision
from harness.panel.human_level.standing import HumanLevel, rank

ORDERS = ("expected", "best", "worst")


def human_level_tagging(
    people: Mapping[str, IntArray],
    reference: IntArray,
    systems: Mapping[str, FloatArray],
    *,
    order: str = "expected",
    correction: str = "holm",
    significance: float = 0.05,
) -> HumanLevel:
    """Rank by mean average precision over categories, paired t over categories.

    Parameters
    ----------
    people
        Name → shape (N, C): 1 if the person tags the item with the category, else 0.
    reference
        Shape (N, C): 1, 0, or −1 where the experts did not agree (left out for that category).
    systems
        Name → shape (N, C): scores, higher is more sure.
    order
        How ties count (`average_precision`): for 0/1 people the order decides much. The source
        reports ``"best"`` and ``"worst"``.
    correction
        ``"holm"``, or ``"none"`` as published.

    Raises
    ------
    EstimateError
        If shapes differ, there are fewer than 2 categories, or an option is unknown.
    NotIdentified
        If a category has no relevant item.
    """
    check_known("order", order, ORDERS)
    if not people or not systems:
        raise EstimateError(f"people and systems are needed, there are {len(people)} and {len(systems)}")
    by_person = {n: _precisions(n, x, reference, order) for n, x in people.items()}
    by_system = {n: _precisions(n, x, reference, order) for n, x in systems.items()}
    measure = f"mean average precision, ties {order}"
    alphas = {str(c): _alpha([x[:, c] for x in people.values()], 2) for c in range(reference.shape[1])}
    return rank(by_person, by_system, measure, "paired t", correction, significance, alphas)


def human_level_choices(
    people: Mapping[str, IntArray],
    reference: IntArray,
    systems: Mapping[str, IntArray],
    *,
    correction: str = "holm",
    significance: float = 0.05,
) -> HumanLevel:
    """Rank by accuracy on one label an item, exact sign test over items both judged.

    Parameters
    ----------
    people, systems
        Name → shape (N,): class chosen, negative where a person gave none (left out) or a system's
        answer was unreadable (wrong).
    reference
        Shape (N,): class, negative where unknown (left out).

    Raises
    ------
    EstimateError
        If lengths differ, a person judged no item with a reference, or an option is unknown.
    """
    for name, x in (*people.items(), *systems.items()):
        if x.shape != reference.shape:
            raise EstimateError(f"{name!r} must have shape {reference.shape}, has {x.shape}")
    right = {n: _right(x, reference, missing=True) for n, x in people.items()}
    machine = {n: _right(x, reference, missing=False) for n, x in systems.items()}
    for name, r in right.items():
        if np.isnan(r).all():
            raise EstimateError(f"{name!r} judged no item that has a reference")
    K = 1 + max(int(reference.max()), *(int(x.max()) for x in people.values()))
    alphas = {"all": _alpha(list(people.values()), max(2, K))}
    return rank(right, machine, "accuracy", "exact sign test", correction, significance, alphas)


def _precisions(name: str, x: FloatArray | IntArray, reference: IntArray, order: str) -> FloatArray:
    if x.shape != reference.shape or reference.ndim != 2:
        raise EstimateError(f"{name!r} must have the reference's shape {reference.shape}, has {x.shape}")
    known = enumerate(reference.T >= 0)
    return np.array([getattr(average_precision(reference[k, c], x[k, c]), order) for c, k in known])


def _right(x: IntArray, reference: IntArray, *, missing: bool) -> FloatArray:
    right: FloatArray = (x == reference).astype(np.float64)
    right[(reference < 0) | ((x < 0) if missing else False)] = np.nan
    return right


def _alpha(labels: list[IntArray], K: int) -> float | None:
    votes = np.stack([sum((x == c).astype(np.int64) for x in labels) for c in range(K)], axis=1)
    try:
        return krippendorff_alpha(votes).value
    except EstimateError:
        return None
