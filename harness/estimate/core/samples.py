"""Binomial samples that tell something about the accuracy A, and the tallies that hold a model's.

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
from typing import Literal

from harness.errors import EstimateError
from harness.estimate.core.validation import check_options, check_successes
from harness.types import Counts

Conditioning = Literal["answers", "questions"]
"""Which numbers are taken as given; see `harness.estimate.data.tallies`."""


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


def information(component: BinomialSample, A: float) -> float:
    """Fisher information on A in a component: n/((A + K − 2)(1 − A)), the inverse of Eq. 3.

    Parameters
    ----------
    component
        The sample; its successes do not matter.
    A
        Accuracy at which to evaluate, 0 < A < 1 (A = 0 is fine for K > 2).

    Raises
    ------
    EstimateError
        If the information is infinite or undefined at A: A = 1, or A = 0 with K = 2.
    """
    scale = (A + component.K - 2) * (1 - A)
    if not scale > 0:
        raise EstimateError(f"A must lie inside (0, 1) for the information to be finite, is {A!r}")
    return component.n / scale


def pool_samples(components: tuple[BinomialSample, ...]) -> tuple[BinomialSample, ...]:
    """Merge components of equal K, whose sums are sufficient, and drop the empty ones; K ascending."""
    sums: dict[float, tuple[int, int]] = {}
    for c in components:
        n, S = sums.get(c.K, (0, 0))
        sums[c.K] = (n + c.n, S + c.S)
    return tuple(BinomialSample(K, n, S) for K, (n, S) in sorted(sums.items()) if n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sufficient counts of one model on the items of one stratum with K options.

    Attributes
    ----------
    K
        Options of every item.
    stratum
        Name of the stratum; empty if there are none.
    split
        What the samples are conditioned on.
    hits
        n_o and S_o: items where a label settles whether the (readable) prediction is right.
    misses
        n_c and S_c by effective K': items where options were refused; success: not the prediction.
    n_yes, n_no
        Labels on items that have a prediction, readable or not.
    n_unreadable
        Labelled items whose prediction names no option: wrong.
    n_failed
        Labelled items whose prediction failed: excluded.
    n_abstained
        Questions without an answer: missing.
    """

    K: int
    stratum: str = ""
    split: Conditioning = "answers"
    hits: BinomialSample
    misses: tuple[BinomialSample, ...]
    n_yes: int
    n_no: int
    n_unreadable: int = 0
    n_failed: int = 0
    n_abstained: int = 0

    @property
    def n_o(self) -> int:
        """Items whose label settles the prediction."""
        return self.hits.n

    @property
    def S_o(self) -> int:  # noqa: N802  the source's name
        """Right predictions among them."""
        return self.hits.S

    @property
    def n_c(self) -> int:
        """Items with refused options only."""
        return sum(m.n for m in self.misses)

    @property
    def S_c(self) -> int:  # noqa: N802  the source's name
        """Items among them none of whose refused options is the predicted one."""
        return sum(m.S for m in self.misses)

    @property
    def n_readable(self) -> int:
        """Labelled items with a readable prediction."""
        return self.n_o + self.n_c

    @property
    def n_labelled(self) -> int:
        """Labelled items whose prediction did not fail."""
        return self.n_readable + self.n_unreadable

    def __str__(self) -> str:
        """Name of the stratum in a message."""
        return f"stratum {self.stratum!r}, K = {self.K}" if self.stratum else f"K = {self.K}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """The tallies of a model, and how many of its predictions have no label at all."""

    strata: tuple[Tally, ...]
    n_unlabelled: int = 0

    @property
    def counts(self) -> Counts:
        """What was counted, over all strata."""
        return Counts(
            ordinary=sum(t.n_yes for t in self.strata),
            complementary=sum(t.n_no for t in self.strata),
            abstained=sum(t.n_abstained for t in self.strata),
            unreadable=sum(t.n_unreadable for t in self.strata),
            failed=sum(t.n_failed for t in self.strata),
            unlabelled=self.n_unlabelled,
        )
