"""Bounds against the number of annotators: where they close and where they cross.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), Figure 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import NO_LABEL, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings import Panel, agreement_with, plurality
from oversight.harness.panel.superhuman.ceiling import ceilings, shuffled


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """Mean bounds with k annotators an item, over the shuffles; ceilings are None at k = 1."""

    annotators: int
    L: float
    U_e: float | None
    U_t: float | None
    U_star: float | None
    U_panel: float | None


def compute_bounds_by_size(
    panel: Panel, predicted: IntArray, *, points: int = 12, shuffles: int = 20, seed: int = 0
) -> tuple[GrowthPoint, ...]:
    """L, U(e), U(t), U* and U(p) of k labels an item, k = 1 … all, slots shuffled within items.

    Only items with the most common full number of labels or more are used, the same ones for every
    k, so that the curve is not one of changing items.

    Raises
    ------
    EstimateError
        If an argument is below 1, or fewer than 2 annotators rate an item.
    """
    if points < 1 or shuffles < 1:
        raise EstimateError(f"points and shuffles must be at least 1, are {points} and {shuffles}")
    C = panel.K
    panel, (predicted,) = panel.numbered_within_items(predicted)
    m = panel.votes().sum(axis=1)
    values, counts = np.unique(m, return_counts=True)
    full = int(values[np.argmax(counts)])
    if full < 2:
        raise EstimateError("most items have 1 annotator: there is no bound to follow")
    rows = m >= full
    grid, own = panel.grid()[rows], predicted[rows]
    ks = sorted({round(k) for k in np.linspace(1, full, min(points, full))})
    sums = np.zeros((len(ks), 5))
    for j in range(shuffles):
        slots = shuffled(grid, seed + j)
        for i, k in enumerate(ks):
            sums[i] += _bounds(slots[:, :k], panel.K, C, own)
    return tuple(_point(k, *row) for k, row in zip(ks, (sums / shuffles).tolist(), strict=True))


def _point(k: int, L: float, *bounds: float) -> GrowthPoint:
    U_e, U_t, U_star, U_panel = bounds if k > 1 else (None,) * 4
    return GrowthPoint(annotators=k, L=L, U_e=U_e, U_t=U_t, U_star=U_star, U_panel=U_panel)


def _bounds(slots: IntArray, K: int, C: int, predicted: IntArray) -> tuple[float, float, float, float, float]:
    """L and the bounds of labels that are numbered 0 … K − 1 within items, of C classes in all."""
    votes = np.stack([(slots == c).sum(axis=1) for c in range(K)], axis=1)
    L = float(np.nanmean(agreement_with(plurality(votes), predicted)))
    if slots.shape[1] < 2 or (slots == NO_LABEL).all():
        return L, 0.0, 0.0, 0.0, 0.0
    c = ceilings(votes, C)
    return L, c.U_e, c.U_t, c.U_star, c.U_panel
