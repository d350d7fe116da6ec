"""Score interval of a weighted mean of accuracies from binomial samples: no estimate per group is clipped.

A success of a sample is worth 1 and a failure 2 − K', so that X = (K' − 1)·1{success} − (K' − 2) has mean A
(`oversight.harness.estimate.core.BinomialSample`). At a hypothetical A the samples of a group are weighted by
their information, n/(A + K' − 2) up to a common factor, and groups by their share. With v_j those weights and
M(A) = Σ_j v_j X̄_j, A is accepted where |M(A) − A| ≤ t √W,

    W = max{ Σ v_j² (1−A)(A+K'_j−2)/n_j,  Σ v_j² Σ (X − M)²/n_j² },

t Student's with as many degrees of freedom as labels. Weights do not depend on the answers, so M stays
unbiased where groups differ, and the observed variance sees the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample

_HALVINGS = 60
_EDGE = 1e-9


def weighted_score(
    groups: Sequence[tuple[float, Sequence[BinomialSample]]], level: float
) -> tuple[float, float, float, float]:
    """Estimate, ends of the interval in [0, 1], and standard error.

    Parameters
    ----------
    groups
        Share of every group, together 1, and its samples, each of n ≥ 1.

    Raises
    ------
    EstimateError
        If the labels contradict every A in [0, 1].
    """
    share = np.array([w for w, samples in groups for _ in samples])
    group = np.array([h for h, (_, samples) in enumerate(groups) for _ in samples])
    K, n, S = np.array([(c.K, c.n, c.S) for _, samples in groups for c in samples]).T
    own = ((K - 1) * S - (K - 2) * n) / n
    t = float(stdtrit(n.sum(), 0.5 + level / 2))

    def look(A: float) -> tuple[float, float]:
        A = min(1 - _EDGE, max(_EDGE, A))
        weight = n / (A + K - 2)
        weight *= share / np.bincount(group, weight)[group]
        mean = float(weight @ own)
        model = float((weight**2 * (1 - A) * (A + K - 2) / n).sum())
        seen = float((weight**2 * (S * (1 - mean) ** 2 + (n - S) * (2 - K - mean) ** 2) / n**2).sum())
        return mean - A, math.sqrt(max(model, seen))

    def search(inside: float, end: float, side: int) -> float:
        """The farthest A towards `end` that is not refuted; side 0 looks for M(A) = A."""

        def refuted(A: float) -> bool:
            gap, se = look(A)
            return gap < 0 if side == 0 else abs(gap) > t * se

        if not refuted(end):
            return end
        for _ in range(_HALVINGS):
            middle = (inside + end) / 2
            inside, end = (inside, middle) if refuted(middle) else (middle, end)
        return end

    best = 0.0 if look(0.0)[0] <= 0 else search(0.0, 1.0, 0)
    gap, se = look(best)
    if abs(gap) > 2 * t * se:
        raise EstimateError(
            f"the labels contradict every accuracy: at {best:.0%} their mean is still {gap:+.2f} away"
        )
    # where chance alone refutes every A the interval is the one that just leaves something
    t = max(t, 1.1 * abs(gap) / se) if se > 0 else t
    value = best + gap if best in (0.0, 1.0) else best
    return value, search(best, 0.0, 1), search(best, 1.0, 1), se
