"""Formulas of "Towards Scalable Oversight via Partitioned Human Supervision" that no estimate uses.

They serve to recompute the paper; their arguments are not checked. The bounds are half-widths of an
interval around the estimate. The smaller of two bounds that each hold with probability 1 − δ holds only
with probability 1 − 2δ, because the data decide which one is smaller: each gets δ/2 unless `published`.
"""

from __future__ import annotations

import math

from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.estimators import (
    closed_form,
    complementary_accuracy,
    complementary_variance,
    information,
    inside,
    plugin_weight,
    varies,
)
from oversight.harness.estimate.intervals import bernstein, hoeffding, union_radius


def variances_at(K: float, A: float, n_o: int, n_c: int) -> tuple[float, float]:
    """(Var(A_ord), Var(A_comp)) at accuracy A, by Eq. 3 and its ordinary counterpart A(1 − A)/n_o."""
    return A * (1 - A) / n_o, complementary_variance(K, A, n_c)


def variance_ratio(K: float, A: float, n_o: int, n_c: int) -> float:
    """Var(A_comp)/Var(A_ord) = (A + K − 2) n_o/(A n_c) (Eq. 4), for 0 < A ≤ 1."""
    return (A + K - 2) / A * n_o / n_c


def matching_sample_size(K: float, A: float, n_o: int) -> float:
    """n_c = (1 + (K − 2)/A) n_o no-answers are worth n_o ordinary labels (Eq. 5), for 0 < A ≤ 1.

    Not rounded; the paper's "Comp-Var" rows use the nearest whole number.
    """
    return (A + K - 2) / A * n_o


def optimal_weight(K: float, A: float, n_o: int, n_c: int) -> float:
    """w* = (A + K − 2) n_o / (A n_c + (A + K − 2) n_o) (Eq. 8, the same as Eq. 6), neither sample empty.

    At n_c = (K − 1) n_o it spans [1/2, 1]: one half as A → 1, one as A → 0.
    """
    informed = (A + K - 2) * n_o
    total = A * n_c + informed
    return informed / total if total else n_o / (n_o + n_c)  # K = 2, A = 0: the limit


def mix_variance(w: float, v_o: float, v_c: float) -> float:
    """Var(A_mix) = w² v_o + (1 − w)² v_c for independent (disjoint) samples and a fixed w."""
    return w * w * v_o + (1 - w) ** 2 * v_c


def safe_plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """Eq. 7, but with the informations at A_ML if a sample has no variance.

    A_ML is moved into [1/(2N), 1 − 1/(2N)], so no sample ever counts as known without error.
    """
    if varies(S_o, n_o) and varies(S_c, n_c):
        return plugin_weight(K, S_o, n_o, S_c, n_c)
    A = inside(closed_form(K, S_o, n_o, S_c, n_c), n_o + n_c)
    I_o = information(BinomialSample(2, n_o, S_o), A)
    I_c = information(BinomialSample(K, n_c, S_c), A)
    return I_o / (I_o + I_c)


def ivw_accuracy(K: float, S_o: int, n_o: int, S_c: int, n_c: int, w: float | None = None) -> float:
    """A_IVW at a weight of A_ord, by default that of `safe_plugin_weight`."""
    weight = safe_plugin_weight(K, S_o, n_o, S_c, n_c) if w is None else w
    return weight * S_o / n_o + (1 - weight) * complementary_accuracy(K, S_c, n_c)


def one_step_newton(K: float, S_o: int, n_o: int, S_c: int, n_c: int, pilot: float) -> float:
    """One Newton step on ℓ from a pilot A_0 inside (0, 1), with the observed information (Appendix C).

    A_1 = A_0 + (U_o + U_c)/(J_o + J_c), J_o = S_o/A² + T_o/(1−A)², J_c = S_c/(A+K−2)² +
    T_c/(1−A)². First-order equivalent to A_ML; A_ML itself is a fixed point. Not clipped.
    """
    wrong = (n_o - S_o) + (n_c - S_c)
    U = S_o / pilot + S_c / (pilot + K - 2) - wrong / (1 - pilot)
    J = S_o / pilot**2 + S_c / (pilot + K - 2) ** 2 + wrong / (1 - pilot) ** 2
    return pilot + U / J


def complementary_radius(K: float, S_c: int, n_c: int, delta: float, *, published: bool = False) -> float:
    """Theorem 2: the smaller of `hoeffding` and `bernstein` for A_comp."""
    each = delta if published else delta / 2
    return min(hoeffding(K, n_c, each), bernstein(K, S_c, n_c, each))


def mixture_radius(
    hits: BinomialSample,
    misses: BinomialSample,
    w: float,
    delta_o: float,
    delta_c: float,
    *,
    published: bool = False,
) -> float:
    """Proposition 3: the smaller of the Hoeffding and Bernstein union bounds for A_mix, for any weight w.

    Holds with probability 1 − (δ_o + δ_c).
    """
    parts, weights = (hits, misses), (w, 1 - w)
    deltas = (delta_o, delta_c) if published else (delta_o / 2, delta_c / 2)
    return min(union_radius(parts, weights, deltas, empirical=kind) for kind in (False, True))


def fixed_weight_radius(v: float, c: float, delta: float) -> float:
    """Theorem 4 (Eq. 10): √(2 v log(2/δ)) + c log(2/δ), for a weight fixed before the data are seen.

    Parameters
    ----------
    v
        *True* variance of A_mix, which involves the unknown A: the bound is not computable from
        data. Eq. 15 and 16 put estimates in its place and are therefore heuristics.
    c
        `influence`, the largest of one label.
    delta
        Error probability.
    """
    log = math.log(2 / delta)
    return math.sqrt(2 * v * log) + c * log


def influence(K: float, w: float, n_o: int, n_c: int) -> float:
    """C = max(w/n_o, (1 − w)(K − 1)/n_c) of Eq. 13."""
    return max(w / n_o, (1 - w) * (K - 1) / n_c)


def estimated_variance_radius(hits: BinomialSample, misses: BinomialSample, w: float, delta: float) -> float:
    """Theorem 4 with estimated variances (Eq. 15). No guarantee: see `fixed_weight_radius`.

    By exact enumeration of Eq. 15 over designs of 30 to 176 labels (K = 4, 10, 16) it covered at
    least .985 at δ = .05, at 1.9–2.9 times the width of the score interval.
    """
    v = mix_variance(w, _plug_in_variance(hits), _plug_in_variance(misses))
    return fixed_weight_radius(v, influence(misses.K, w, hits.n, misses.n), delta)


def plugin_weight_radius(hits: BinomialSample, misses: BinomialSample, delta: float) -> float:
    """Eq. 16: Eq. 15 at the weight of Eq. 7. No guarantee, because the weight also depends on the data."""
    w = safe_plugin_weight(misses.K, hits.S, hits.n, misses.S, misses.n)
    return estimated_variance_radius(hits, misses, w, delta)


def _plug_in_variance(c: BinomialSample) -> float:
    q_hat = c.S / c.n
    return (c.K - 1) ** 2 * q_hat * (1 - q_hat) / c.n
