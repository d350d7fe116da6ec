"""Shares and differences whose rows come in clusters, with intervals.

A cluster is an item with its several judgements, or several items that depend on each other with theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings import Score, WeightedUnits

DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share or a difference with its interval.

    Attributes
    ----------
    low, high
        Ends of the interval; by simulation it covers from 5 items on.
    why
        Why the interval may hold the truth less often than its level says; empty where it does not.
    """

    value: float
    low: float
    high: float
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the interval covers the truth as often as its level says."""
        return not self.why


def estimate_share(
    sums: FloatArray,
    counts: FloatArray,
    level: float = 0.95,
    *,
    size: float | None = None,
    effective: float | None = None,
    seed: int = 0,
    why: str = "",
) -> Share:
    """p̂ = Σ sums/Σ counts over units; if all rows of a unit are alike, Clopper & Pearson's interval of units.

    Parameters
    ----------
    sums, counts
        Shape (k,): right rows and rows of every unit, counts > 0.
    size
        Rows of a unit on average; by default as seen in `counts`.
    effective
        Effective number of clusters; None if units are items.

    Raises
    ------
    EstimateError
        If there is no unit.
    """
    if len(counts) == 0:
        raise EstimateError("a share needs at least 1 item, there are 0")
    units = (size or float(counts.mean())) * np.array([[0.0, 1.0], [1.0, 1.0]])
    weighted = WeightedUnits.draw(np.stack([sums, counts], axis=1), DRAWS, seed)
    return make_share(weighted, _share, units, level=level, effective=effective, why=why)


def make_share(
    weighted: WeightedUnits,
    score: Score,
    units: FloatArray,
    *,
    level: float,
    effective: float | None,
    why: str = "",
) -> Share:
    """Score of all units with its interval; arguments as in `WeightedUnits.find_interval`."""
    value = float(score(weighted.total))
    low, high = weighted.find_interval(score, units, level, effective)
    return Share(value=value, low=min(value, low), high=max(value, high), why=why)


def _share(sums: FloatArray) -> FloatArray:
    share: FloatArray = sums[..., 0] / sums[..., 1]
    return share


def estimate_difference(
    sums: FloatArray,
    counts: FloatArray,
    level: float = 0.95,
    *,
    size: float | None = None,
    effective: float | None = None,
    why: str = "",
) -> tuple[Share, float]:
    """Δ = Σ sums/Σ counts of paired differences in [−counts, counts], with a two-sided p of Δ = 0.

    Student's t over units after one pseudo-unit of +1 and one of −1 (Bonett & Price 2012, for
    clusters): never of width 0, and near nominal for few units and rare differences. Degrees of freedom are
    those of the effective number of clusters, if it is given.
    """
    k = len(counts)
    if k == 0:
        raise EstimateError("a difference needs at least 1 item, there are 0")
    value = float(sums.sum() / counts.sum())
    typical = size or float(counts.mean())
    d = np.concatenate([sums, [typical, -typical]])
    c = np.concatenate([counts, [typical, typical]])
    centre = float(d.sum() / c.sum())
    se = math.sqrt((k + 2) / (k + 1) * float(((d - centre * c) ** 2).sum())) / float(c.sum())
    freedom = (k if effective is None else effective) + 1
    half = float(stdtrit(freedom, 0.5 + level / 2)) * se
    p = float(2 * stdtr(freedom, -abs(centre) / se))
    low, high = max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half))
    return Share(value=value, low=low, high=high, why=why), p
