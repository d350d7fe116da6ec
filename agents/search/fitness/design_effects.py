"""Items that are not independent, such as images of one patient: what the spread of their scores is worth."""

from __future__ import annotations

import numpy as np

from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import effective_clusters

_NEAR = 1e-9


def design_effect(residuals: FloatArray, cluster: IntArray) -> float:
    """How many times larger the variance of a mean is than that of independent items; at least 1.

    The observed variance pays for the few clusters with C/(C − 1), C being their effective number.

    Parameters
    ----------
    residuals
        Shape (n,) or (M, n), of one mean or of several together; NaN where there is none.
    cluster
        Shape (n,): number of the item's cluster.
    """
    n, groups = len(cluster), _effective(cluster)
    if groups >= n - _NEAR:
        return 1.0
    rest = np.nan_to_num(np.atleast_2d(residuals))
    alone = float((rest**2).sum())
    few = groups / max(1.0, groups - 1) * (n - 1) / n
    return max(1.0, few * float((add_up(rest, cluster) ** 2).sum()) / alone) if alone > 0 else n / groups


def add_up(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Sums over the items of every cluster, shape (M, C), of values of shape (M, n)."""
    _, number = np.unique(cluster, return_inverse=True)
    return np.array([np.bincount(number, row) for row in values])


def _effective(cluster: IntArray) -> float:
    return effective_clusters(np.unique(cluster, return_inverse=True)[1])


def least_variance(cluster: IntArray) -> float:
    """A score's variance at least, p(1 − p) at p = 1/(C + 2): C clusters alike do not prove that all are.

    C is the effective number of clusters.
    """
    groups = _effective(cluster)
    return (groups + 1) / (groups + 2) ** 2 * len(cluster) / groups
