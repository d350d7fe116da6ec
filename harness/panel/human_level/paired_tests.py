"""Is one rater better than another on the same categories or items? One-sided tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.errors import EstimateError
from harness.estimate import binomial_at_least


def paired_t(first: ArrayLike, second: ArrayLike) -> float:
    """One-sided p of "first is not better" by Student's paired t over categories.

    Valid if the differences of the categories are near normal and the categories a sample. Without
    variance of the differences it is 0, 1 or (no difference) 1.

    Raises
    ------
    EstimateError
        If lengths differ or are below 2.
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise EstimateError(f"a paired t test needs at least 2 categories, there are {d.size}")
    se = float(d.std(ddof=1)) / np.sqrt(len(d))
    if se < 1e-15:
        return 0.0 if d.mean() > 0 else 1.0
    return float(stats.t.sf(float(d.mean()) / se, len(d) - 1))


def sign(first: ArrayLike, second: ArrayLike) -> float:
    """One-sided p of "first is not better" by the exact sign test on items where they differ (McNemar).

    ``first`` and ``second``: 1 right, 0 wrong, nan not judged, shape (N,).
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    return binomial_at_least(wins, wins + losses, 0.5) if wins + losses else 1.0


TESTS = {"paired t": paired_t, "exact sign test": sign}
