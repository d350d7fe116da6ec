"""Formulas of "Towards Scalable Oversight via Partitioned Human Supervision" that are not in the package.

They are needed only to recompute the paper. The functions do not check their arguments. Bounds are
half-widths of an interval around the estimate. The smaller of two bounds that each hold with probability 1 −
δ holds only with probability 1 − 2δ, because the data decide which one is smaller. So each of the two gets
δ/2, unless `published` is True.
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
    """Return Var(A_ord) = A(1 − A)/n_o and Var(A_comp) (Eq. 3) at accuracy A."""
    return A * (1 - A) / n_o, complementary_variance(K, A, n_c)


def variance_ratio(K: float, A: float, n_o: int, n_c: int) -> float:
    """Return Var(A_comp)/Var(A_ord) = (A + K − 2) n_o/(A n_c) (Eq. 4), for 0 < A ≤ 1."""
    return (A + K - 2) / A * n_o / n_c


def matching_sample_size(K: float, A: float, n_o: int) -> float:
    """Return the number of complementary labels with the same variance as n_o ordinary labels.

    n_c = (1 + (K − 2)/A) n_o (Eq. 5), for 0 < A ≤ 1. The result is not rounded; the paper's "Comp-Var" rows
    use the nearest whole number.
    """
    return (A + K - 2) / A * n_o


def optimal_weight(K: float, A: float, n_o: int, n_c: int) -> float:
    """Return w* = (A + K − 2) n_o / (A n_c + (A + K − 2) n_o) (Eq. 8, equal to Eq. 6), for n_o, n_c > 0.

    At n_c = (K − 1) n_o, w* is between ½ (as A → 1) and 1 (as A → 0).
    """
    informed = (A + K - 2) * n_o
    total = A * n_c + informed
    return informed / total if total else n_o / (n_o + n_c)  # the limit for K = 2 and A = 0


def mix_variance(w: float, v_o: float, v_c: float) -> float:
    """Return Var(A_mix) = w² v_o + (1 − w)² v_c, for independent (disjoint) samples and a fixed w."""
    return w * w * v_o + (1 - w) ** 2 * v_c


def safe_plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """Return the weight of Eq. 7 or, if a sample has no variance, the weight from the information at A_ML.

    A_ML is clipped to [1/(2N), 1 − 1/(2N)] with N = n_o + n_c, so that no sample counts as known without
    error.
    """
    if varies(S_o, n_o) and varies(S_c, n_c):
        return plugin_weight(K, S_o, n_o, S_c, n_c)
    A = inside(closed_form(K, S_o, n_o, S_c, n_c), n_o + n_c)
    I_o = information(BinomialSample(2, n_o, S_o), A)
    I_c = information(BinomialSample(K, n_c, S_c), A)
    return I_o / (I_o + I_c)


def ivw_accuracy(K: float, S_o: int, n_o: int, S_c: int, n_c: int, w: float | None = None) -> float:
    """Return A_IVW; w is the weight of A_ord, by default that of `safe_plugin_weight`."""
    weight = safe_plugin_weight(K, S_o, n_o, S_c, n_c) if w is None else w
    return weight * S_o / n_o + (1 - weight) * complementary_accuracy(K, S_c, n_c)


def one_step_newton(K: float, S_o: int, n_o: int, S_c: int, n_c: int, pilot: float) -> float:
    """Return one Newton step on the log-likelihood ℓ from a pilot A_0 = `pilot` in (0, 1) (Appendix C).

    A_1 = A_0 + (U_o + U_c)/(J_o + J_c), J_o = S_o/A² + T_o/(1−A)², J_c = S_c/(A+K−2)² + T_c/(1−A)² at A =
    A_0; U is the derivative of ℓ, J the observed information, and T = n − S. The result is first-order
    equivalent to A_ML, which is a fixed point, and is not clipped.
    """
    wrong = (n_o - S_o) + (n_c - S_c)
    U = S_o / pilot + S_c / (pilot + K - 2) - wrong / (1 - pilot)
    J = S_o / pilot**2 + S_c / (pilot + K - 2) ** 2 + wrong / (1 - pilot) ** 2
    return pilot + U / J


def complementary_radius(K: float, S_c: int, n_c: int, delta: float, *, published: bool = False) -> float:
    """Return the bound of Theorem 2 for A_comp, the smaller of `hoeffding` and `bernstein`."""
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
    """Return the bound of Proposition 3 for A_mix: the smaller of the Hoeffding and Bernstein union bounds.

    It holds with probability 1 − (δ_o + δ_c) for any weight w.
    """
    parts, weights = (hits, misses), (w, 1 - w)
    deltas = (delta_o, delta_c) if published else (delta_o / 2, delta_c / 2)
    return min(union_radius(parts, weights, deltas, empirical=kind) for kind in (False, True))


def fixed_weight_radius(v: float, c: float, delta: float) -> float:
    """Return the bound of Theorem 4 (Eq. 10), √(2 v log(2/δ)) + c log(2/δ), for a weight fixed in advance.

    Parameters
    ----------
    v
        *True* variance of A_mix, which depends on the unknown A, so the bound cannot be computed from
        data. Eq. 15 and 16 use estimates of v and are therefore heuristics.
    c
        Largest influence of one label, see `influence`.
    delta
        Error probability.
    """
    log = math.log(2 / delta)
    return math.sqrt(2 * v * log) + c * log


def influence(K: float, w: float, n_o: int, n_c: int) -> float:
    """Return the largest influence of one label on A_mix, C = max(w/n_o, (1 − w)(K − 1)/n_c) (Eq. 13)."""
    return max(w / n_o, (1 - w) * (K - 1) / n_c)


def estimated_variance_radius(hits: BinomialSample, misses: BinomialSample, w: float, delta: float) -> float:
    """Return the bound of Theorem 4 with estimated variances (Eq. 15), which has no guarantee.

    By exact enumeration over designs of 30 to 176 labels (K = 4, 10, 16), its coverage is at least .985 at
    δ = .05, and its width is 1.9 to 2.9 times that of the score interval.
    """
    v = mix_variance(w, _plug_in_variance(hits), _plug_in_variance(misses))
    return fixed_weight_radius(v, influence(misses.K, w, hits.n, misses.n), delta)


def plugin_weight_radius(hits: BinomialSample, misses: BinomialSample, delta: float) -> float:
    """Return the bound of Eq. 16, which is Eq. 15 at the weight of Eq. 7.

    It has no guarantee, because the weight also depends on the data.
    """
    w = safe_plugin_weight(misses.K, hits.S, hits.n, misses.S, misses.n)
    return estimated_variance_radius(hits, misses, w, delta)


def _plug_in_variance(c: BinomialSample) -> float:
    q_hat = c.S / c.n
    return (c.K - 1) ** 2 * q_hat * (1 - q_hat) / c.n
