"""Scores to expect of an expert, if truth is what most experts say with probability p_d.

Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500), equations 1, 2, 7–9.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from harness.errors import EstimateError
from harness.estimate import binomial_at_least, check_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Scores of one who gives the majority label with probability p_d, whatever the class."""

    accuracy: float
    precision: float
    recall: float
    f1: float


def expected_scores(p_d: float, positive: float) -> Expected:
    """E: accuracy p, recall p, precision m p/(m p + (1 − m)(1 − p)), F1 from the last two.

    Parameters
    ----------
    p_d
        In [0, 1].
    positive
        m, share of positive items, in [0, 1].

    Raises
    ------
    EstimateError
        If an argument leaves [0, 1].

    Examples
    --------
    >>> round(expected_scores(0.9, 0.01).f1, 4)
    0.1525
    """
    check_unit("p_d", p_d)
    check_unit("positive", positive)
    found = positive * p_d
    claimed = found + (1 - positive) * (1 - p_d)
    precision = found / claimed if claimed > 0 else 0.0
    f1 = 2 * precision * p_d / (precision + p_d) if precision + p_d > 0 else 0.0
    return Expected(accuracy=p_d, precision=precision, recall=p_d, f1=f1)


def probability_at_least(p_d: float, n: int, threshold: float = 0.8) -> float:
    """P(accuracy on n items ≥ threshold) = P(Bin(n, p_d) ≥ ⌈threshold · n⌉).

    Raises
    ------
    EstimateError
        If n < 1, or p_d or the threshold leaves [0, 1].
    """
    if n < 1:
        raise EstimateError(f"n must be at least 1, is {n}")
    check_unit("p_d", p_d)
    check_unit("threshold", threshold)
    return binomial_at_least(ceil(threshold * n - 1e-9), n, p_d)
