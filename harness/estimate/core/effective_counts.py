"""How many equal units leave a sum as exact as units that weigh differently."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import NotIdentified

FEWEST_EFFECTIVE = 4.0
"""Fewest effective clusters (`effective_clusters`) for an interval; with fewer, one cluster decides it."""


def count_effective(weight: FloatArray) -> float:
    """Number of units of equal weight that leave a mean as exact as these, (Σw)²/Σw².

    Parameters
    ----------
    weight
        Shape (N,), at least 0, not all 0.

    Examples
    --------
    >>> count_effective(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weight.sum() ** 2 / (weight**2).sum())


def effective_clusters(cluster: IntArray) -> float:
    """Number of clusters of equal size that leave a mean as exact as these, (Σm)²/Σm² of their sizes m.

    The number of clusters if all have one size; nearly 1 if one cluster holds nearly all items. Source: Kish
    1965, Survey Sampling, with clusters that are right or wrong as a whole.

    Parameters
    ----------
    cluster
        Shape (N,), N ≥ 1: number of every item's cluster, 0 or more; gaps are allowed.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1]))
    2.0
    >>> round(effective_clusters(np.array([0] * 10 + [1, 2])), 2)
    1.41
    """
    return count_effective(np.bincount(cluster).astype(np.float64))


def check_clusters(cluster: IntArray) -> None:
    """Refuse clusters that are effectively fewer than `FEWEST_EFFECTIVE`.

    Items that are all of different clusters pass, however few.

    Parameters
    ----------
    cluster
        As in `effective_clusters`.

    Raises
    ------
    NotIdentified
        If they are fewer; the message gives their effective number and the share of the largest cluster.
    """
    size = np.bincount(cluster)
    effective = effective_clusters(cluster)
    if size.max() > 1 and effective < FEWEST_EFFECTIVE - 1e-9:
        raise NotIdentified(
            f"{np.count_nonzero(size)} clusters, the largest with {size.max() / size.sum():.0%} of the "
            f"items, count as {effective:.1f} of equal size; an interval needs {FEWEST_EFFECTIVE:g}: label "
            "more items of other clusters"
        )
