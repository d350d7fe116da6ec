"""Coincidences: how often two labels of one item are c and k. What agreement is computed from.

Source: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and D.
"""

from __future__ import annotations

import numpy as np

from harness.arrays import FloatArray, IntArray, divide
from harness.errors import EstimateError
from harness.estimate import check_known

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def coincidences(votes: IntArray, weights: FloatArray | IntArray | None = None) -> FloatArray:
    """o_ck = Σ_n w_n v_nc (v_nk − 1{c=k})/(m_n − 1), m_n = Σ_c v_nc; shape (K, K), symmetric.

    Every item with m_n ≥ 2 labels adds m_n to the total, spread over its ordered pairs; items with
    one label or none add nothing. Weights (shape (N,), 1 by default) serve the bootstrap.
    """
    m = votes.sum(axis=1)
    share = divide(1.0, m - 1, where=m >= 2, empty=0.0)
    if weights is not None:
        share = share * weights
    v = votes.astype(np.float64)
    weighted = v * share[:, None]
    o: FloatArray = weighted.T @ v - np.diag(weighted.sum(axis=0))
    return o


def distances(level: str, marginals: FloatArray, values: FloatArray | None = None) -> FloatArray:
    """δ²_ck, how far apart two classes count; 0 on the diagonal.

    Shape (…, K, K) at the ordinal level, (K, K) at the others.

    nominal 1{c≠k} · ordinal (Σ_{g=c..k} n_g − (n_c + n_k)/2)², which needs the classes in their
    order and the marginals n_c = Σ_k o_ck · interval (x_c − x_k)² · ratio ((x_c − x_k)/(x_c + x_k))².

    Parameters
    ----------
    level
        One of `LEVELS`.
    marginals
        Shape (…, K).
    values
        Shape (K,): what the classes measure; needed for interval and ratio (≥ 0 there).

    Raises
    ------
    EstimateError
        If the level is unknown, or values are missing, not finite, or negative for ratio.
    """
    K = marginals.shape[-1]
    if level == "nominal":
        return 1.0 - np.eye(K)
    if level == "ordinal":
        middle = np.cumsum(marginals, axis=-1) - marginals / 2
        return (middle[..., :, None] - middle[..., None, :]) ** 2
    check_known("level", level, LEVELS)
    if values is None:
        raise EstimateError(f"level {level!r} needs the number every class stands for; none are given")
    x = np.asarray(values, dtype=np.float64)
    if x.shape != (K,) or not np.isfinite(x).all():
        raise EstimateError(f"values must be {K} finite numbers, are {x.tolist()}")
    difference = x[:, None] - x[None, :]
    if level == "interval":
        return difference**2
    if (x < 0).any():
        raise EstimateError(f"values must be at least 0 at the ratio level, are {x.tolist()}")
    total = x[:, None] + x[None, :]
    return divide(difference, total, where=total > 0, empty=0.0) ** 2
