"""What a draw in proportion within strata adds to what the items themselves tell.

Items drawn in proportion from strata vary within them only: the mean of z over n items has the variance
Σ_h n_h s_h²/n², s_h² the variance within stratum h, where as many items drawn at random have s²/n. The ratio
is the design effect d ≤ 1 of the draw, and n/d items drawn at random would tell as much (Kish 1965).

Where a share f of the drawn items is left (experts are silent or slow), those left are a random part, in
which strata vary in size again: d = 1 − f (1 − d_within).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.estimate.core import blaker
from oversight.harness.estimate.intervals.shares import share_interval

FAR_ITEMS = 4.0
"""Items far from the mean that are added to both variances, so that few or no wrong answers prove nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStrata:
    """The stratum of every item that an estimate rests on.

    Attributes
    ----------
    number
        Shape (n,): from 0.
    share
        Share of the items drawn that they are, in [0, 1].
    """

    number: IntArray
    share: float

    def take(self, rows: AnyIntArray) -> DrawnStrata:
        """Some of the items: those of a kind, of which the draw fixed no number."""
        share = self.share * len(rows) / max(1, len(self.number))
        return DrawnStrata(number=self.number[rows], share=share)


def design_effect(values: FloatArray, strata: DrawnStrata) -> float:
    """Variance of the mean of values in [0, 1] over that of as many items drawn at random, at most 1.

    An item alone in its stratum counts as if drawn at random; so do `FAR_ITEMS` items far from the mean, in
    both.
    """
    n, mean = len(values), float(values.mean())
    _, code, size = np.unique(strata.number, return_inverse=True, return_counts=True)
    centre = np.bincount(code, values) / size
    rest = np.bincount(code, (values - np.where(size == 1, mean, centre)[code]) ** 2)
    within = float((rest * np.where(size == 1, 1.0, size / np.maximum(size - 1, 1))).sum())
    far = FAR_ITEMS * max(mean, 1 - mean) ** 2
    whole = float(((values - mean) ** 2).sum()) * n / max(1, n - 1)
    return 1 - strata.share * (1 - min(1.0, (within + far) / (whole + far)))


def drawn_interval(right: FloatArray, strata: DrawnStrata, level: float) -> tuple[float, float, str]:
    """Interval of a share of items, each right (1) or not (0), with the name of its method.

    Blaker's exact one, or Clopper–Pearson's at the number of items drawn at random that tell as much
    (Korn & Graubard 1998, Surv. Methodol. 24), whichever is narrower: they differ much only where strata do.
    """
    n, count = len(right), int(right.sum())
    low, high = blaker(count, n, level)
    size = n / design_effect(right, strata)
    least, most = share_interval(count / n * size, size, level)
    return (least, most, "clopper-pearson+strata") if most - least < high - low else (low, high, "blaker")
