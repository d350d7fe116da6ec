"""The two unbiased estimators: accuracy from known answers alone, and from refused options alone.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 2–5.
"""

from __future__ import annotations

import math

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_options, check_positive, check_successes


def ordinary_accuracy(S_o: int, n_o: int) -> float:
    """Return A_ord = S_o / n_o, unbiased for A ("Scalable Oversight…", section 2.1).

    Parameters
    ----------
    S_o
        Right predictions among the ordinary labels, 0 ≤ S_o ≤ n_o.
    n_o
        Ordinary labels, ≥ 1.

    Notes
    -----
    Under the yes/no protocol a yes is an ordinary label drawn from the same distribution as the
    rest only if the asked option was drawn uniformly. A false yes, even a rare one, pulls it down
    sharply; a missed yes (an expert who says no to the truth) leaves it unbiased.

    Raises
    ------
    EstimateError
        If n_o = 0, or the counts are impossible.
    """
    check_successes("S_o", S_o, "n_o", n_o)
    check_positive("n_o", n_o, "the ordinary estimator")
    return S_o / n_o


def complementary_accuracy(K: float, S_c: int, n_c: int) -> float:
    """Return A_comp = (K − 1) q̂ − (K − 2) with q̂ = S_c/n_c (Eq. 2), unbiased for A.

    Parameters
    ----------
    K
        Options, ≥ 2; the effective K' = 1 + (K − 1)/m where m options were refused on each item.
    S_c
        No-answers on an option other than the predicted one ("weakly correct"), 0 ≤ S_c ≤ n_c.
    n_c
        No-answers, ≥ 1.

    Returns
    -------
    float
        In [−(K − 2), 1]. It is *not* clipped: that would make it biased. For K = 4 the paper says
        q̂ ≥ 2/3; that holds for q, while q̂ can be anything in [0, 1].

    Notes
    -----
    Valid if the refused option is uniform over the K − 1 wrong ones (Eq. 1) and independent of the
    prediction given the truth. K = 2 is allowed, A_comp = q̂. Immune to false yes, biased by
    missed yes. The items must be disjoint from those of an ordinary set it is compared with: if
    each item gives all its K − 1 refused options, A_comp is identically A_ord on the same items.

    Raises
    ------
    EstimateError
        If n_c = 0, K < 2, or the counts are impossible.
    """
    check_options(K)
    check_successes("S_c", S_c, "n_c", n_c)
    check_positive("n_c", n_c, "the complementary estimator")
    return (K - 1) * (S_c / n_c) - (K - 2)


def complementary_variance(K: float, A: float, n_c: int) -> float:
    """Var(A_comp) = (A + K − 2)(1 − A)/n_c (Eq. 3), which is (K − 1)² q(1 − q)/n_c.

    Parameters
    ----------
    K
        Options, ≥ 2.
    A
        Accuracy, in [−(K − 2), 1]; an unclipped A_comp gives the plug-in variance of the paper.
    n_c
        No-answers, ≥ 1.

    Raises
    ------
    EstimateError
        If A lies outside its range or n_c < 1.
    """
    check_options(K)
    check_positive("n_c", n_c, "a variance")
    if not 2 - K <= A <= 1:
        raise EstimateError(f"A must lie in [{2 - K}, 1] for K = {K}, is {A!r}")
    return (A + K - 2) * (1 - A) / n_c


def moment_weights(groups: tuple[BinomialSample, ...]) -> tuple[float, ...]:
    """Weights w_j ∝ n_j/(K_j − 1), summing to 1, with Σ w_j A_comp,j unbiased and fixed in advance.

    The estimate they give solves Σ S_j = Σ n_j q_j(A), so that one group gives Eq. 2 back. Needed
    where items have different numbers of refused options.

    Raises
    ------
    EstimateError
        If all groups are empty.
    """
    raw = [g.n / (g.K - 1) for g in groups]
    total = math.fsum(raw)
    if not total > 0:
        raise EstimateError("n_c must be at least 1 for the complementary estimator, is 0")
    return tuple(r / total for r in raw)
