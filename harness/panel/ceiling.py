"""Upper bounds on the accuracy of annotators from their agreement, without ground truth.

An item has m annotators. X is the share of its pairs of annotators that agree, and x = E X is the mean over
items:

    U(e) = √x                                  pairs of different annotators, Definition 1
    U(t) = √(1/m + (m − 1)/m · x)              all pairs of m annotators, Theorem 1
    U*   = [1 + √((C − 1)(C x − 1))]/C         annotators drawn from a pool, C classes
    U(p) = E max_c v_c/m                       the given annotators, v_c votes for class c

U(p) needs no assumption: whatever the true class, the share of an item's annotators who name it is at most
the share of the most frequent class. U(t) needs no assumption either, although the paper derives it from its
assumption (2): U(t)² is E Σ_c (v_c/m)² ≥ E (share of right annotators)² ≥ (average accuracy)². U(e) needs
assumption (2) and exchangeable slots (annotators drawn from a pool): with fixed accuracies a, mean(a)² may
exceed x by var(a)/(m − 1). U* needs the pool, but no assumption on the truth: if an item's annotators are
drawn from a pool with class shares p_c, accuracy is at most E max_c p_c. max_c p_c is at most the formula of
U* at x = Σ p_c², which is concave, so Jensen's inequality applies. U* ≤ U(e) ≤ U(t), and U(p) is at most the
formula of U* at 1/m + (m − 1)/m · x, which is at most U(t).

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), equations 3 and 4; U* and U(p) are this
project's derivation.

`compute_bounds_by_size` computes the bounds for growing numbers of annotators (Figure 3 of the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.panel.agreement import pair_agreement
from oversight.harness.panel.ratings import Panel, agreement_with, check_votes, plurality


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Upper bounds of the annotators' accuracy for one panel, and the values per item behind them.

    Attributes
    ----------
    U_e, U_t, U_star, U_panel
        U(e), U(t), U* and U(p) of the module.
    pairs
        Shape (n,): X, the share of agreeing pairs, for each of the n items with two or more votes.
    pairs_t
        Shape (n,): 1/m + (m − 1)/m · X for an item with m votes. This is the agreement of all pairs,
        including each annotator with itself.
    largest
        Shape (n,): share of votes for the item's most frequent class.
    """

    U_e: float
    U_t: float
    U_star: float
    U_panel: float
    pairs: FloatArray
    pairs_t: FloatArray
    largest: FloatArray


def empirical(x: float) -> float:
    """Return U(e) = √x for x in [0, 1]."""
    return math.sqrt(x)


def theoretical(x: float, annotators: float) -> float:
    """Return the ceiling U(t) = √(1/m + (m − 1)/m · x) for m = `annotators` ≥ 2 and agreement `x`."""
    return math.sqrt(1 / annotators + (annotators - 1) / annotators * x)


def pool_ceiling(x: float, C: int) -> float:
    """Return the ceiling U* = [1 + √((C − 1)(C x − 1))]/C for C ≥ 2 classes; 1/C (guessing) if x < 1/C."""
    return (1 + math.sqrt((C - 1) * max(0.0, C * x - 1))) / C


def pool_agreement(u: float, C: int) -> float:
    """Return the agreement x at which U* is u: u² + (1 − u)²/(C − 1) for u in [1/C, 1]; 1/C if u < 1/C."""
    v = max(u, 1 / C)
    return v * v + (1 - v) ** 2 / (C - 1)


def ceilings(votes: IntArray, C: int | None = None) -> Ceiling:
    """Compute all ceilings, with the same weight for every item that has at least two votes.

    The number of annotators may differ between items if labels are missing independently of their values. `C`
    is the total number of classes, which must be given if the classes of `votes` are numbered within items.

    Raises
    ------
    EstimateError
        If no item has two votes.
    """
    check_votes(votes)
    m = votes.sum(axis=1)
    kept = m >= 2
    votes, m = votes[kept], m[kept]
    x = pair_agreement(votes)
    x_t: FloatArray = 1 / m + (m - 1) / m * x
    largest: FloatArray = votes.max(axis=1) / m
    mean = float(x.mean())
    return Ceiling(
        U_e=empirical(mean),
        U_t=math.sqrt(float(x_t.mean())),
        U_star=pool_ceiling(mean, C or votes.shape[1]),
        U_panel=float(largest.mean()),
        pairs=x,
        pairs_t=x_t,
        largest=largest,
    )


def shuffled(grid: IntArray, seed: int) -> IntArray:
    """Return the grid with the labels of every item in random order, and missing labels last.

    This makes the slots (columns) exchangeable, as U(e) requires. The mean pairwise agreement stays the same,
    but bounds that are computed from only some of the slots change.
    """
    rng = np.random.default_rng(seed)
    key = np.where(grid >= 0, rng.random(grid.shape), 2.0)
    out: IntArray = np.take_along_axis(grid, np.argsort(key, axis=1), axis=1)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """The model's agreement L and the ceilings, from `annotators` labels per item, averaged over shuffles.

    With one label per item, the ceilings are None.
    """

    annotators: int
    L: float
    U_e: float | None
    U_t: float | None
    U_star: float | None
    U_panel: float | None


def compute_bounds_by_size(
    panel: Panel, predicted: IntArray, *, points: int = 12, shuffles: int = 20, seed: int = 0
) -> tuple[GrowthPoint, ...]:
    """Compute the model's agreement L and the four ceilings from k random labels per item, for growing k.

    At most `points` values of k are used, from 1 to the most common number of labels among items with two or
    more labels. Items with fewer labels than this number are left out, so that the items are the same for
    every k.

    Raises
    ------
    EstimateError
        If an argument is below 1, or no item has two labels.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> points = compute_bounds_by_size(panel, np.array([0, 1, 0, 1, 0, 1]), points=2)
    >>> [(point.annotators, round(point.L, 2)) for point in points]
    [(1, 0.86), (3, 1.0)]
    """
    if points < 1 or shuffles < 1:
        raise EstimateError(f"points and shuffles must be at least 1, are {points} and {shuffles}")
    C = panel.K
    panel, (predicted,) = panel.numbered_within_items(predicted)
    m = panel.votes().sum(axis=1)
    values, counts = np.unique(m[m >= 2], return_counts=True)
    if not len(values):
        raise EstimateError("no item has 2 annotators, so no bound on accuracy can be computed")
    full = int(values[np.argmax(counts)])
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
    """Return L and the ceilings; `slots` contains labels from 0 to K − 1, and C counts all classes."""
    votes = np.stack([(slots == c).sum(axis=1) for c in range(K)], axis=1)
    L = float(np.nanmean(agreement_with(plurality(votes), predicted)))
    if slots.shape[1] < 2:
        return L, 0.0, 0.0, 0.0, 0.0
    c = ceilings(votes, C)
    return L, c.U_e, c.U_t, c.U_star, c.U_panel
