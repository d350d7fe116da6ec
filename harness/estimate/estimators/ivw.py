"""Inverse-variance weighting: w A_ord + (1 − w) A_comp, and where the weight comes from.

Source: "Scalable Oversight via Partitioned Human Supervision", Eq. 6–8. Weights that keep the
estimate unbiased (sample split, cross-fit, finite grid) are in `ivw_split`.
"""

from __future__ import annotations

import math

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    check_counts,
    check_options,
    check_positive,
    check_unit,
)
from oversight.harness.estimate.estimators.likelihood import closed_form, information, inside
from oversight.harness.estimate.estimators.unbiased import (
    complementary_accuracy,
    complementary_variance,
    ordinary_accuracy,
    ordinary_variance,
)


def mix(w: float, A_ord: float, A_comp: float) -> float:
    """A_mix = w A_ord + (1 − w) A_comp; unbiased for every w fixed before the data are seen.

    Raises
    ------
    EstimateError
        If w lies outside [0, 1].
    """
    check_unit("w", w)
    return w * A_ord + (1 - w) * A_comp


def mix_variance(w: float, v_o: float, v_c: float) -> float:
    """Var(A_mix) = w² v_o + (1 − w)² v_c for independent (disjoint) samples and a fixed w.

    Raises
    ------
    EstimateError
        If w lies outside [0, 1].
    """
    check_unit("w", w)
    return w * w * v_o + (1 - w) ** 2 * v_c


def optimal_weight(K: float, A: float, n_o: int, n_c: int) -> float:
    """w* = (A + K − 2) n_o / (A n_c + (A + K − 2) n_o) (Eq. 8, the same as Eq. 6).

    With a pilot for A it is the "pilot" weight; at n_c = (K − 1) n_o it spans [1/2, 1]: one half
    as A → 1, one as A → 0. n_c = 0 gives 1, n_o = 0 gives 0.

    Raises
    ------
    EstimateError
        If A lies outside [0, 1], or both samples are empty.
    """
    check_options(K)
    check_unit("A", A)
    check_positive("n_o + n_c", n_o + n_c, "a weight")
    if n_c == 0 or n_o == 0:
        return 1.0 if n_c == 0 else 0.0
    informed = (A + K - 2) * n_o
    total = A * n_c + informed
    return informed / total if total else n_o / (n_o + n_c)  # K = 2, A = 0: the limit


def plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, published: bool = False) -> float:
    """ŵ = v̂_c/(v̂_o + v̂_c) from the two empirical variances (Eq. 7).

    It depends on the data it weights: A_IVW is then consistent but biased upwards (+1.5 points at
    K = 4, 30 and 90 labels, A = .9; +3.5 at K = 10, 12 and 108, A = .8), and a sample without
    variation has estimated variance 0 and takes all the weight. `safe_plugin_weight` mends the
    latter.

    Parameters
    ----------
    K, S_o, n_o, S_c, n_c
        Sufficient counts of two disjoint samples.
    published
        Variances over n − 1, as in the paper's tables (EDINET, K = 16 with 31 ordinary labels:
        17.95 is printed; n would give 17.98). Eq. 7 itself has n.

    Raises
    ------
    EstimateError
        If a sample is empty (or of one label if `published`), or neither varies (0/0).
    """
    A_ord, A_comp = ordinary_accuracy(S_o, n_o), complementary_accuracy(K, S_c, n_c)
    less = 1 if published else 0
    if min(n_o, n_c) <= less:
        raise EstimateError(f"n_o and n_c must be at least 2 for variances over n - 1, are {n_o} and {n_c}")
    v_o = A_ord * (1 - A_ord) / (n_o - less)
    v_c = (A_comp + K - 2) * (1 - A_comp) / (n_c - less)
    if not (varies(S_o, n_o) or varies(S_c, n_c)):
        raise EstimateError(
            f"w is 0/0: neither sample varies (S_o = {S_o} of {n_o}, S_c = {S_c} of {n_c}); use ml"
        )
    return v_c / (v_o + v_c)


def safe_plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """Eq. 7, but from the informations at A_ML where a sample does not vary.

    A_ML is moved into [1/(2N), 1 − 1/(2N)], so no sample ever counts as known without error.

    Raises
    ------
    EstimateError
        If a sample is empty.
    """
    check_counts(K, S_o, n_o, S_c, n_c)
    check_positive("n_o", n_o, "inverse-variance weighting")
    check_positive("n_c", n_c, "inverse-variance weighting")
    if varies(S_o, n_o) and varies(S_c, n_c):
        return plugin_weight(K, S_o, n_o, S_c, n_c)
    A = inside(closed_form(K, S_o, n_o, S_c, n_c), n_o + n_c)
    I_o = information(BinomialSample(2, n_o, S_o), A)
    I_c = information(BinomialSample(K, n_c, S_c), A)
    return I_o / (I_o + I_c)


def varies(S: int, n: int) -> bool:
    """Whether a sample holds both successes and failures."""
    return 0 < S < n


def ivw_accuracy(K: float, S_o: int, n_o: int, S_c: int, n_c: int, w: float | None = None) -> float:
    """A_IVW with a given weight, or with the plug-in of Eq. 7 (safe where a sample does not vary).

    Parameters
    ----------
    K, S_o, n_o, S_c, n_c
        Sufficient counts of two disjoint samples, neither empty.
    w
        Weight of A_ord: 0.5 for the paper's IVW-0.5, `optimal_weight` at a pilot for Eq. 8.

    Raises
    ------
    EstimateError
        If a sample is empty or the weight lies outside [0, 1].
    """
    A_ord, A_comp = ordinary_accuracy(S_o, n_o), complementary_accuracy(K, S_c, n_c)
    weight = safe_plugin_weight(K, S_o, n_o, S_c, n_c) if w is None else w
    return mix(weight, A_ord, A_comp)


def minimal_se(v_o: float, v_c: float) -> float:
    """√(v_o v_c/(v_o + v_c)): the standard error at the best weight, half the harmonic mean.

    Raises
    ------
    EstimateError
        If a variance is negative or both are zero.
    """
    if min(v_o, v_c) < 0 or v_o + v_c <= 0:
        raise EstimateError(f"v_o and v_c must be ≥ 0 and not both 0, are {v_o!r} and {v_c!r}")
    return math.sqrt(v_o * v_c / (v_o + v_c))


def variances_at(K: float, A: float, n_o: int, n_c: int) -> tuple[float, float]:
    """(Var(A_ord), Var(A_comp)) at accuracy A, by Eq. 3 and its ordinary counterpart.

    Raises
    ------
    EstimateError
        If a sample is empty or A lies outside [0, 1].
    """
    return ordinary_variance(A, n_o), complementary_variance(K, A, n_c)
