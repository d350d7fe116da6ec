"""Is the child better than its parent? Three answers, and what could have been seen at all.

The difference is taken item by item on the items both answered. Its standard error counts two
imaginary items on which they disagree, one each way, as `harness.estimate.comparison.paired` does for
proportions (Bonett & Price 2012): otherwise three lucky items in a row would pass for proof, though a
fair coin does that one time in eight, and programs that have not differed yet would pass for equal.
The difference is then shrunk by how far candidates differ at all. ``better`` needs 95 %: a program
compared with itself passes at most one time in twenty. ``worse`` needs only 80 %, since it merely
discourages a repetition; all else is ``undecided``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from harness import FloatArray

PairedVerdict = Literal["better", "worse", "undecided"]
BETTER, WORSE = 0.95, 0.2
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A child against another program on the same items.

    Attributes
    ----------
    difference, se
        Mean of the per-item differences, child minus other, and its standard error around "none".
    n
        Items both have a score on.
    p_better
        Posterior probability that the child is better.
    """

    difference: float
    se: float
    n: int
    p_better: float

    @property
    def verdict(self) -> PairedVerdict:
        """What the gate says."""
        if self.p_better >= BETTER:
            return "better"
        return "worse" if self.p_better <= WORSE else "undecided"


def compare_paired(child: FloatArray, other: FloatArray, spread: float) -> Paired:
    """Compare two programs' per-item scores, shape (n,) each.

    Parameters
    ----------
    child, other
        Rows of `agents.search.fitness.scores.score_items`; NaN where there is none.
    spread
        τ of the archive (`agents.search.fitness.empirical_bayes.ShrunkScores.spread`); the prior of a
        difference is N(0, 2τ²).
    """
    both = ~(np.isnan(child) | np.isnan(other))
    gaps = child[both] - other[both]
    n = len(gaps)
    if not n:
        return Paired(difference=0.0, se=math.inf, n=0, p_better=0.5)
    square = float((gaps**2).sum())
    differ = int((np.abs(gaps) > 1e-12).sum())
    mean = float(gaps.mean())
    se = math.sqrt(square + 2 * (square / differ if differ else 1.0)) / n
    prior = 2 * spread**2
    shrunken = mean * math.sqrt(prior) / (se * math.sqrt(prior + se**2))
    return Paired(difference=mean, se=se, n=n, p_better=float(ndtr(shrunken)))


def minimum_detectable(se: float) -> float:
    """Smallest difference that the gate's test finds four times in five: (z_.95 + z_.8)·se."""
    return float(ndtri(BETTER) + ndtri(POWER)) * se


def items_for(per_item_sd: float, difference: float) -> int:
    """How many items would show a difference: n = ((z_.95 + z_.8)·sd/difference)²."""
    return math.ceil((minimum_detectable(per_item_sd) / difference) ** 2)
