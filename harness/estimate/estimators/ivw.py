"""The plug-in weight w of inverse-variance weighting, w A_ord + (1 − w) A_comp.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 7.
"""

from __future__ import annotations

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.estimators.unbiased import complementary_accuracy, ordinary_accuracy


def plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, published: bool = False) -> float:
    """ŵ = v̂_c/(v̂_o + v̂_c) from the two empirical variances (Eq. 7).

    It depends on the data it weights: A_IVW is then consistent but biased upwards (+1.5 points at
    K = 4, 30 and 90 labels, A = .9; +3.5 at K = 10, 12 and 108, A = .8), and a sample without
    variation has estimated variance 0 and takes all the weight.

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


def varies(S: int, n: int) -> bool:
    """Whether a sample holds both successes and failures."""
    return 0 < S < n
