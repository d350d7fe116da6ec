"""Inverse-variance weights that do not look at the labels they weight.

The plug-in weight of Eq. 7 is correlated with the estimates it weights, which biases A_IVW and
voids bounds that need a fixed weight. The remedies named in section 2.3.2 of "Scalable Oversight
via Partitioned Human Supervision": weight from a separate part of the sample (sample split), each
part weighted by the others (cross-fit), or the weight from a finite grid with a union bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_counts, check_unit
from oversight.harness.estimate.estimators.ivw import (
    ivw_accuracy,
    mix_variance,
    safe_plugin_weight,
    variances_at,
)
from oversight.harness.estimate.estimators.likelihood import closed_form, inside


def sample_split(
    K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, seed: int, pilot_share: float = 0.2
) -> float:
    """A_IVW of one random part of the labels, weighted from the rest; unbiased.

    Which labels go to the pilot is drawn with `seed`; given the counts, how many of the drawn ones
    are successes is hypergeometric, so counts suffice.

    Parameters
    ----------
    K, S_o, n_o, S_c, n_c
        Sufficient counts of two disjoint samples, each with at least two labels.
    seed
        Seed of the draw.
    pilot_share
        Share of either sample spent on the weight, inside (0, 1).

    Raises
    ------
    EstimateError
        If a sample is too small to be split or the share leaves (0, 1).
    """
    if not 0 < pilot_share < 1:
        raise EstimateError(f"pilot_share must lie inside (0, 1), is {pilot_share!r}")
    check_counts(K, S_o, n_o, S_c, n_c)
    _need("n_o", n_o, 2)
    _need("n_c", n_c, 2)
    rng = np.random.default_rng(seed)
    m_o = min(n_o - 1, max(1, round(pilot_share * n_o)))
    m_c = min(n_c - 1, max(1, round(pilot_share * n_c)))
    s_o = int(rng.hypergeometric(S_o, n_o - S_o, m_o))
    s_c = int(rng.hypergeometric(S_c, n_c - S_c, m_c))
    w = scaled_weight(K, (s_o, m_o, s_c, m_c), n_o - m_o, n_c - m_c)
    return ivw_accuracy(K, S_o - s_o, n_o - m_o, S_c - s_c, n_c - m_c, w)


def cross_fitted(K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, seed: int, folds: int = 2) -> float:
    """Mean over random folds, each weighted from the other folds; unbiased, and no label is lost.

    Σ_f share_f (w_−f A_ord,f + (1 − w_−f) A_comp,f): given the other folds every term is unbiased.
    The shares are those of all labels and fixed before the data are seen.

    Raises
    ------
    EstimateError
        If there are fewer than two folds or a sample has fewer labels than folds.
    """
    check_counts(K, S_o, n_o, S_c, n_c)
    _need("folds", folds, 2)
    _need("n_o", n_o, folds)
    _need("n_c", n_c, folds)
    rng = np.random.default_rng(seed)
    sizes_o, sizes_c = _fold_sizes(n_o, folds), _fold_sizes(n_c, folds)
    hits_o = rng.multivariate_hypergeometric(sizes_o, S_o)
    hits_c = rng.multivariate_hypergeometric(sizes_c, S_c)
    total = 0.0
    for m_o, m_c, s_o, s_c in zip(
        sizes_o.tolist(), sizes_c.tolist(), hits_o.tolist(), hits_c.tolist(), strict=True
    ):
        w = scaled_weight(K, (S_o - s_o, n_o - m_o, S_c - s_c, n_c - m_c), m_o, m_c)
        total += (m_o + m_c) / (n_o + n_c) * ivw_accuracy(K, s_o, m_o, s_c, m_c, w)
    return total


def scaled_weight(K: float, pilot: tuple[int, int, int, int], n_o: int, n_c: int) -> float:
    """Best weight for samples of n_o and n_c labels, with the variances learnt from another.

    `pilot` is (S_o, n_o, S_c, n_c) of the other sample, neither part empty.
    """
    S_o, m_o, S_c, m_c = pilot
    w = safe_plugin_weight(K, S_o, m_o, S_c, m_c)
    # w/(1 − w) is v_c/v_o at the pilot's sizes; carry it over to the sizes weighted
    return w * m_c * n_o / (w * m_c * n_o + (1 - w) * m_o * n_c)


def grid_weight(
    K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, grid: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)
) -> float:
    """The weight on a grid fixed in advance with the least variance at A_ML.

    Still chosen from the data, but among finitely many: a bound at δ/|grid| for each holds for the
    chosen one (see `bounds.grid_radius`).

    Raises
    ------
    EstimateError
        If the grid is empty or leaves [0, 1], or a sample is empty.
    """
    if not grid:
        raise EstimateError("grid must hold at least one weight, is empty")
    for w in grid:
        check_unit("grid", w)
    A = inside(closed_form(K, S_o, n_o, S_c, n_c), n_o + n_c)
    v_o, v_c = variances_at(K, A, n_o, n_c)
    return min(grid, key=lambda w: mix_variance(w, v_o, v_c))


def _fold_sizes(n: int, folds: int) -> NDArray[np.int64]:
    return np.full(folds, n // folds, np.int64) + (np.arange(folds) < n % folds)


def _need(name: str, value: int, least: int) -> None:
    if value < least:
        raise EstimateError(f"{name} must be at least {least} here, is {value}")
