"""Shares and differences whose rows come in clusters, with intervals.

A cluster is an item with its several judgements, or several items that depend on each other with theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from harness.arrays import FloatArray
from harness.errors import EstimateError
from harness.estimate import z_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share or a difference with its interval."""

    value: float
    low: float
    high: float


def estimate_share(sums: FloatArray, counts: FloatArray, level: float = 0.95, *, few: bool = False) -> Share:
    """p̂ = Σ sums/Σ counts over clusters, Wilson's interval at the effective number of rows.

    The variance of a ratio over clusters, s² = k/(k − 1) Σ (sums − p̂ counts)²/(Σ counts)², gives
    n_eff = p̂(1 − p̂)/s², at most the rows there are. Where all clusters agree (s = 0) it is the
    number of clusters: rows of one item are no independent evidence.

    Parameters
    ----------
    sums, counts
        Shape (k,): right rows and rows of every cluster, counts > 0.
    few
        Whether n_eff pays for the k clusters that s² is measured with, by (z/t)².

    Raises
    ------
    EstimateError
        If there is no cluster.
    """
    k, rows = len(counts), float(counts.sum())
    if k == 0:
        raise EstimateError("a share needs at least 1 item, there are 0")
    p = float(sums.sum()) / rows
    variance = k / max(1, k - 1) * float(((sums - p * counts) ** 2).sum()) / rows**2
    n = float(k) if variance < 1e-15 else min(rows, p * (1 - p) / variance)
    z = z_value(level)
    if few and k > 1:
        n *= (z / float(stdtrit(k - 1, 0.5 + level / 2))) ** 2
    z2 = z**2
    centre = (p * n + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (p * (1 - p) * n + z2 / 4)) / (n + z2)
    low, high = max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))
    return Share(value=p, low=low, high=high)


def estimate_difference(sums: FloatArray, counts: FloatArray, level: float = 0.95) -> tuple[Share, float]:
    """Δ = Σ sums/Σ counts of paired differences in [−counts, counts], with a two-sided p of Δ = 0.

    Student's t over clusters after one pseudo-cluster of +1 and one of −1 (Bonett & Price 2012, for
    clusters): never of width 0, and near nominal for few clusters and rare differences.
    """
    k = len(counts)
    if k == 0:
        raise EstimateError("a difference needs at least 1 item, there are 0")
    value = float(sums.sum() / counts.sum())
    typical = float(counts.mean())
    d = np.concatenate([sums, [typical, -typical]])
    c = np.concatenate([counts, [typical, typical]])
    centre = float(d.sum() / c.sum())
    se = math.sqrt((k + 2) / (k + 1) * float(((d - centre * c) ** 2).sum())) / float(c.sum())
    half = float(stdtrit(k + 1, 0.5 + level / 2)) * se
    p = float(2 * stdtr(k + 1, -abs(centre) / se))
    low, high = max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half))
    return Share(value=value, low=low, high=high), p
