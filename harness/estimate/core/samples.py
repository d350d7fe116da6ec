"""Binomial samples that tell something about the accuracy A.

Every kind of label an estimator here uses is a count of successes S among n trials with success
probability q(A) = (A + K − 2)/(K − 1) for some K, possibly fractional:

* a checked prediction (the label settles whether it is right): K = 2, q = A;
* a refused option of a K-option item, success = "not the predicted option" (Eq. 2): K;
* m refused options of one item, success = "none is the predicted option": K' = 1 + (K − 1)/m,
  because P(no hit | wrong) = (K − 1 − m)/(K − 1) under uniform wrong options; m = K − 1 leaves
  one option standing, K' = 2, which is a checked prediction again.

Source: "Scalable Oversight via Partitioned Human Supervision", section 2; the fractional K' is
this project's derivation.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import EstimateError
from harness.estimate.core.validation import check_options, check_successes


@dataclass(frozen=True, slots=True)
class BinomialSample:
    """S successes in n trials, each with probability (A + K − 2)/(K − 1).

    Attributes
    ----------
    K
        Effective number of options, ≥ 2; 2 where the label settles the prediction.
    n
        Trials, ≥ 0.
    S
        Successes, 0 ≤ S ≤ n.
    """

    K: float
    n: int
    S: int

    def __post_init__(self) -> None:
        check_options(self.K)
        check_successes("S", self.S, "n", self.n)


def effective_options(K: int, m: int) -> float:
    """K' = 1 + (K − 1)/m of an item on which m different options were refused.

    Raises
    ------
    EstimateError
        If m is not in 1..K−1: all K options cannot be wrong.
    """
    check_options(K)
    if not 1 <= m <= K - 1:
        raise EstimateError(f"m, the options refused on one item, must lie in 1..K-1 = {K - 1}, is {m}")
    return 1 + (K - 1) / m


def success_probability(K: float, A: float) -> float:
    """Return q(A) = (A + K − 2)/(K − 1), the probability of avoiding the refused option (Eq. 2)."""
    return (A + K - 2) / (K - 1)
