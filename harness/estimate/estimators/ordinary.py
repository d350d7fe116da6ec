"""The ordinary estimator: the share of right predictions among items whose answer is known."""

from __future__ import annotations

from harness.errors import EstimateError
from harness.estimate.core import check_positive, check_successes


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


def ordinary_variance(A: float, n_o: int) -> float:
    """Var(A_ord) = A(1 − A)/n_o, for 0 ≤ A ≤ 1 and n_o ≥ 1.

    Raises
    ------
    EstimateError
        If A lies outside [0, 1] or n_o < 1.
    """
    check_positive("n_o", n_o, "a variance")
    if not 0 <= A <= 1:
        raise EstimateError(f"A must lie in [0, 1] for a variance, is {A!r}")
    return A * (1 - A) / n_o
