"""Upper bounds on the accuracy of annotators, from how often they agree, without a truth.

With X the share of an item's annotator pairs that agree and x = E X:

    U(e) = √x                                  pairs of different annotators, Definition 1
    U(t) = √(1/m + (m − 1)/m · x)              all pairs of m annotators, Theorem 1
    U*   = [1 + √((C − 1)(C x − 1))]/C         annotators drawn from a pool, C classes
    U(p) = E max_c v_c/m                       these very annotators, v_c votes for class c

U(p) needs nothing: whatever the truth, the share of an item's annotators who name it is at most the
largest share. Nor does U(t), although the source derives it from its assumption (2): its square is
E Σ_c (v_c/m)² ≥ E (share that is right)² ≥ (average accuracy)². U(e) needs that assumption, and exchangeable
slots (annotators drawn from a pool): with fixed accuracies a, mean(a)² may exceed x by var(a)/(m − 1).
U* needs the pool and nothing about the oracle: if every annotator of an item is drawn from shares p_c,
accuracy is at most E max_c p_c, and max_c p_c at most the root above of Σ p_c², concave in it (Jensen).
U* ≤ U(e) ≤ U(t), and U(p) ≤ the root above at 1/m + (m − 1)/m · x ≤ U(t).

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023), equations 3 and 4; the others are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import check_least, check_unit
from oversight.harness.panel.agreement import pair_agreement
from oversight.harness.panel.ratings import check_votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Bounds from one panel.

    Attributes
    ----------
    U_e, U_t, U_star, U_panel
        As above.
    pairs
        X_n of items with two votes or more, shape (n,).
    pairs_t
        1/m_n + (m_n − 1)/m_n · X_n of them: all pairs, an annotator paired with itself included.
    largest
        max_c v_nc/m_n of them.
    """

    U_e: float
    U_t: float
    U_star: float
    U_panel: float
    pairs: FloatArray
    pairs_t: FloatArray
    largest: FloatArray


def empirical(x: float) -> float:
    """U(e) = √x for x in [0, 1]."""
    check_unit("x", x)
    return math.sqrt(x)


def theoretical(x: float, annotators: float) -> float:
    """U(t) = √(1/m + (m − 1)/m · x).

    Raises
    ------
    EstimateError
        If x leaves [0, 1] or m < 2.
    """
    check_unit("x", x)
    check_least("annotators", annotators, 2)
    return math.sqrt(1 / annotators + (annotators - 1) / annotators * x)


def pool_ceiling(x: float, C: int) -> float:
    """U* = [1 + √((C − 1)(C x − 1))]/C; 1/C where annotators agree less than by guessing.

    Raises
    ------
    EstimateError
        If x leaves [0, 1] or C < 2.
    """
    check_unit("x", x)
    check_least("classes", C, 2)
    return (1 + math.sqrt((C - 1) * max(0.0, C * x - 1))) / C


def pool_agreement(u: float, C: int) -> float:
    """The x at which U* = u: u² + (1 − u)²/(C − 1), for u in [1/C, 1]; below 1/C it is 1/C."""
    v = max(u, 1 / C)
    return v * v + (1 - v) ** 2 / (C - 1)


def ceilings(votes: IntArray, C: int | None = None) -> Ceiling:
    """All bounds; items weigh alike, however many annotators they have (at least two).

    Unequal and missing annotators are fine if what is missing has nothing to do with the labels. `C` is the
    number of classes where those of `votes` are numbered within items.

    Raises
    ------
    EstimateError
        If no item has two votes.
    """
    check_votes(votes)
    m = votes.sum(axis=1)
    kept = m >= 2
    x = pair_agreement(votes)[kept]
    x_t: FloatArray = 1 / m[kept] + (m[kept] - 1) / m[kept] * x
    largest: FloatArray = votes[kept].max(axis=1) / m[kept]
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
    """Labels of every item in random slots, missing ones last; shape as given.

    Makes slots exchangeable, as U(e) asks. Mean pairwise agreement does not change; bounds that use
    slots one by one do.
    """
    rng = np.random.default_rng(seed)
    key = np.where(grid >= 0, rng.random(grid.shape), 2.0)
    out: IntArray = np.take_along_axis(grid, np.argsort(key, axis=1), axis=1)
    return out
