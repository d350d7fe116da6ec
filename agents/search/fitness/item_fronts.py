"""Who is best on which items: the parents of GEPA (Agrawal et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oversight.harness import FloatArray


def count_fronts(ids: Sequence[str], scores: FloatArray) -> dict[str, int]:
    """On how many items each candidate has the best score; candidates that are best nowhere are left out.

    Parameters
    ----------
    ids
        Of the candidates.
    scores
        Shape (runs, M, n), the mean over runs counts; NaN where there is none. Items on which nobody has a
        score count for nobody.

    Examples
    --------
    >>> count_fronts(["a", "b", "c"], np.array([[[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]))
    {'a': 2, 'b': 2}
    """
    known = ~np.isnan(scores)
    number = known.sum(axis=0)
    mean = np.where(number > 0, np.nansum(scores, axis=0) / np.maximum(number, 1), -np.inf)
    best = mean.max(axis=0)
    on_front = (mean >= best - 1e-9) & np.isfinite(best)
    counts = on_front.sum(axis=1)
    return {name: int(n) for name, n in zip(ids, counts, strict=True) if n}
