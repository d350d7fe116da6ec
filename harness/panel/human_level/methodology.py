"""The methodology of human-level comparison as one call: people, a reference and systems to a table.

Experts make the reference; people who are none of them judge the same items; systems too. Agreement
with the reference ranks all, paired tests say what is significant, and the agreement among the
people (Krippendorff's α) says whether the categories are well defined.

AP = (1/R) Σ over relevant documents of the precision at their rank. Documents of equal score, as every 0/1
annotator's are, have no order of their own: AP is reported for the best order of each tied group (relevant
first), the worst, and in expectation over a random order, which needs no drawing:

    a group of g with r relevant, after n documents of which R' relevant: its share of Σ precision is
    (r/g) Σ_{j=1..g} (R' + 1 + (j − 1)(r − 1)/(g − 1)) / (n + j)

Sources: "Are machines better than humans in image tagging?", sections 3.4 (best and worst case) and 4.2;
Yang & Hauptmann 2008 for ΔAP, AP less that of a random ranking. The expectation is our own, by counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate import check_known, check_rows
from oversight.harness.panel.agreement import krippendorff_alpha
from oversight.harness.panel.human_level.standing import PAIRED_T, SIGN, HumanLevel, over_clusters, rank

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
    return rank(by_person, by_system, measure, PAIRED_T, correction, significance, alphas)


def human_level_choices(
    people: Mapping[str, IntArray],
    reference: IntArray,
    systems: Mapping[str, IntArray],
    *,
    cluster: IntArray | None = None,
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
    cluster
        Shape (N,): number of the item's cluster, if items are not independent; the test is then Student's t
        over clusters.

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
    test = SIGN if cluster is None else over_clusters(cluster)
    return rank(right, machine, "accuracy", test, correction, significance, alphas)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePrecision:
    """AP under three orders of ties, equal without ties.

    `chance` is that of a random ranking: near the share of relevant ones, above it for few documents.
    """

    best: float
    worst: float
    expected: float
    chance: float

    @property
    def delta(self) -> float:
        """ΔAP = expected − chance: 0 for a ranking that knows nothing, however frequent the class."""
        return self.expected - self.chance


def average_precision(relevant: ArrayLike, scores: ArrayLike) -> AveragePrecision:
    """AP of scores, higher first.

    Parameters
    ----------
    relevant
        Shape (N,), 0 or 1.
    scores
        Shape (N,), finite; an annotator's 0/1 as well as a system's confidence.

    Raises
    ------
    EstimateError
        If shapes differ, a value is not 0/1 or a score not finite; names the row.
    NotIdentified
        If nothing is relevant.
    """
    y, s = np.asarray(relevant, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.shape != s.shape or y.ndim != 1 or len(y) == 0:
        raise EstimateError(
            f"relevant and scores must have one equal length of at least 1, have {y.shape}, {s.shape}"
        )
    check_rows("relevant", y, (y == 0) | (y == 1), "be 0 or 1")
    check_rows("scores", s, np.isfinite(s), "be finite")
    if not y.any():
        raise NotIdentified("nothing is relevant: average precision is 0/0")
    return AveragePrecision(
        best=_ordered(y, s, y),
        worst=_ordered(y, s, -y),
        expected=_expected(y, s),
        chance=_expected(y, np.zeros(len(y))),
    )


def _ordered(y: FloatArray, s: FloatArray, tie: FloatArray) -> float:
    hits = y[np.lexsort((-tie, -s))]
    ranks = np.arange(1, len(hits) + 1)
    return float((hits * np.cumsum(hits) / ranks).sum() / hits.sum())


def _expected(y: FloatArray, s: FloatArray) -> float:
    _, group = np.unique(-s, return_inverse=True)
    size = np.bincount(group)
    hits = np.bincount(group, weights=y)
    before, hits_before = np.cumsum(size) - size, np.cumsum(hits) - hits
    total = 0.0
    for g, r, n, R in zip(size, hits, before, hits_before, strict=True):
        if r:
            j = np.arange(1, g + 1)
            step = (r - 1) / (g - 1) if g > 1 else 0.0
            total += float(r / g * ((R + 1 + (j - 1) * step) / (n + j)).sum())
    return total / float(y.sum())
