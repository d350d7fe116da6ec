"""Direct comparison: ask domain experts only where the model and an annotator differ.

Draw one annotator per item at random. If the model gives the same label, both are right or both are wrong,
so the difference of their accuracies is 0 on this item whatever the truth; only the other items need an
expert. On these the model wins (its label is the truth), loses (the annotator's label is), or neither is
right:

    accuracy of the model − accuracy of the average annotator = (wins − losses)/N

Given wins + losses, wins are Binomial(·, ½) if there is no difference: the exact sign test. It needs no
assumption on how annotators err, and it works if agreement-based bounds cannot certify.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import NO_LABEL, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import binomial_at_least, check_unit, paired_proportions
from oversight.harness.panel.ratings import Panel

MOST, POWER = 20_000, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectPlan:
    """Cost of the sign test.

    Attributes
    ----------
    win_share
        Assumed P(model right | exactly one of the two is right).
    questions
        Number of items put to an expert.
    decisive
        Number of these items on which exactly one of the two is right.
    screened
        Number of items needed to find this many disagreements.
    """

    win_share: float
    questions: int
    decisive: int
    screened: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectResult:
    """Result of the sign test.

    Attributes
    ----------
    difference, low, high
        Accuracy of the model minus that of the average annotator, with a two-sided interval whose ends hold
        for any outcome of the unsettled items.
    p_value
        One-sided p-value of "the model is not better"; unsettled items count as losses.
    superhuman
        Whether p_value ≤ 1 − level.

    Examples
    --------
    >>> direct_result(wins=5, losses=4, screened=100).superhuman
    False
    """

    difference: float
    low: float
    high: float
    p_value: float
    level: float
    wins: int
    losses: int
    neither: int
    unsettled: int
    screened: int

    @property
    def superhuman(self) -> bool:
        """Whether the model is better, at `level`."""
        return self.p_value <= 1 - self.level


def disagreement_rate(votes: IntArray, predicted: IntArray) -> float:
    """P(model ≠ an annotator drawn at random): mean over items of 1 − v_nŷ/m_n."""
    # An unreadable prediction differs from every annotator.
    own = np.where(predicted >= 0, votes[np.arange(len(votes)), np.maximum(predicted, 0)], 0)
    return float((1 - own / votes.sum(axis=1)).mean())


def draw_annotators(panel: Panel, seed: int) -> IntArray:
    """Label of one annotator per item, drawn uniformly from those who rated it; shape (N,).

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> drawn = draw_annotators(panel, seed=1)
    >>> [panel.classes[label] for label in drawn]
    ['y', 'y', 'x', 'y', 'x', 'y']
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(panel.item))
    drawn = np.full(len(panel.items), NO_LABEL, dtype=np.int64)
    drawn[panel.item[order]] = panel.label[order]
    return drawn


def differing(drawn: IntArray, predicted: IntArray) -> IntArray:
    """Positions of the items on which the drawn annotator and the model differ.

    Examples
    --------
    >>> differing(np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [1]
    """
    return np.flatnonzero(drawn != predicted)


def direct_plan(disagreement: float, win_share: float, *, level: float = 0.95) -> DirectPlan:
    """Smallest number of decisive items at which the one-sided exact test has 80 % power, and its cost.

    Parameters
    ----------
    disagreement
        P(model ≠ random annotator), in (0, 1].
    win_share
        A value above ½, at most 1.

    Raises
    ------
    EstimateError
        If `disagreement` is out of range, or more than 20,000 decisive items would be needed.
    """
    check_unit("disagreement", disagreement)
    rough = float(ndtri(level) + ndtri(POWER)) ** 2 / (2 * win_share - 1) ** 2
    for n in range(1, MOST if rough < MOST else 0):
        critical = critical_wins(n, level)
        if critical <= n and binomial_at_least(critical, n, win_share) >= POWER:
            screened = ceil(n / disagreement)
            return DirectPlan(win_share=win_share, questions=n, decisive=n, screened=screened)
    raise EstimateError(f"win_share {win_share} is too near 1/2: more than {MOST} decisive items are needed")


def critical_wins(n: int, level: float = 0.95) -> int:
    """Smallest number of wins of n that the one-sided sign test calls better; n + 1 if there is none."""
    better = range(n + 2)
    return bisect_left(better, True, key=lambda wins: binomial_at_least(wins, n, 0.5) <= 1 - level)


def direct_result(
    wins: int, losses: int, *, neither: int = 0, unsettled: int = 0, screened: int, level: float = 0.95
) -> DirectResult:
    """Test and estimate the difference from the experts' answers.

    Parameters
    ----------
    unsettled
        Number of items on which experts abstained.
    screened
        Number of items on which model and annotator were compared, including those on which they agree.

    Raises
    ------
    EstimateError
        If a count is negative or they exceed the screened items.

    Examples
    --------
    >>> result = direct_result(wins=18, losses=4, screened=100)
    >>> result.superhuman, round(result.difference, 2), round(result.p_value, 4)
    (True, 0.14, 0.0022)
    """
    counts = (wins, losses, neither, unsettled)
    if min(counts) < 0 or sum(counts) > screened or screened < 1:
        raise EstimateError(
            f"wins {wins}, losses {losses}, neither {neither}, unsettled {unsettled}: at least 0, in all at "
            f"most {screened} screened"
        )
    decisive = wins + losses + unsettled
    low, _ = paired_proportions(wins, losses + unsettled, screened, level)
    _, high = paired_proportions(wins + unsettled, losses, screened, level)
    return DirectResult(
        difference=(wins - losses) / screened,
        low=low,
        high=high,
        p_value=binomial_at_least(wins, decisive, 0.5) if decisive else 1.0,
        level=level,
        wins=wins,
        losses=losses,
        neither=neither,
        unsettled=unsettled,
        screened=screened,
    )
