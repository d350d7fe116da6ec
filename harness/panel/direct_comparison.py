"""Direct comparison: ask domain experts only about items on which the model and an annotator differ.

Draw one annotator per item at random. If the model gives the same label as this annotator, both are right or
both are wrong, so the item adds 0 to the difference of their accuracies. Only items with two different labels
need an expert. On such an item the model wins (its label is the truth), loses (the annotator's label is the
truth), or neither is right. For N compared items:

    accuracy of the model − accuracy of the average annotator = (wins − losses)/N

If the accuracies are equal, wins are Binomial(wins + losses, ½), which gives the exact sign test. The test
assumes nothing about the annotators' errors. It can show that a model is better even if the module
`superhuman`, which uses only agreement, cannot certify it.
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
    """Expected cost of a sign test between a model and an annotator, with 80 % power.

    Attributes
    ----------
    win_share
        Assumed P(model right | exactly one of model and annotator is right).
    questions
        Number of items on which model and annotator disagree; an expert is asked about each.
    decisive
        Number of disagreements in which either the model or the annotator is right.
    screened
        Number of items on which model and annotator must be compared to find `questions` disagreements.
    """

    win_share: float
    questions: int
    decisive: int
    screened: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectResult:
    """Result of the sign test between a model and an annotator.

    Attributes
    ----------
    difference, low, high
        Accuracy of the model minus accuracy of the average annotator, and the two-sided interval of this
        difference. The interval is valid whatever is true of the items on which experts abstained.
    p_value
        One-sided p-value of "the model is not better"; items on which experts abstained count as losses.
    level
        Confidence level of the interval.
    wins, losses, neither, unsettled
        Numbers of items on which, in this order: only the model is right, only the annotator is right,
        neither is right, experts abstained.
    screened
        Number of items on which model and annotator were compared.

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
        """Whether the model is significantly better: `p_value` ≤ 1 − `level`."""
        return self.p_value <= 1 - self.level


def disagreement_rate(votes: IntArray, predicted: IntArray) -> float:
    """Return P(model ≠ random annotator): the mean share of an item's votes that differ from the model."""
    # An unreadable prediction (negative) differs from every annotator.
    own = np.where(predicted >= 0, votes[np.arange(len(votes)), np.maximum(predicted, 0)], 0)
    return float((1 - own / votes.sum(axis=1)).mean())


def draw_annotators(panel: Panel, seed: int) -> IntArray:
    """Draw the label of one annotator per item, uniformly from the annotators who rated it; shape (N,).

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
    """Return the positions of the items on which the drawn annotator and the model differ.

    Examples
    --------
    >>> differing(np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [1]
    """
    return np.flatnonzero(drawn != predicted)


def direct_plan(disagreement: float, win_share: float, *, level: float = 0.95) -> DirectPlan:
    """Return the cost of the smallest comparison whose one-sided exact test has 80 % power.

    Parameters
    ----------
    disagreement
        P(model ≠ random annotator), in (0, 1].
    win_share
        Assumed P(model right | exactly one of model and annotator is right), in (½, 1].

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
    """Return the fewest wins, among n wins and losses, with which the one-sided sign test is significant.

    Return n + 1 if n wins are not enough.
    """
    better = range(n + 2)
    return bisect_left(better, True, key=lambda wins: binomial_at_least(wins, n, 0.5) <= 1 - level)


def direct_result(
    wins: int, losses: int, *, neither: int = 0, unsettled: int = 0, screened: int, level: float = 0.95
) -> DirectResult:
    """Test and estimate the accuracy of the model minus that of the average annotator.

    Parameters
    ----------
    wins, losses, neither
        Numbers of items on which, in this order: only the model is right, only the annotator is right,
        neither is right.
    unsettled
        Number of items on which experts abstained.
    screened
        Number of items on which model and annotator were compared, including items on which they agree.

    Raises
    ------
    EstimateError
        If a count is negative, or the counts add up to more than `screened`.

    Examples
    --------
    >>> result = direct_result(wins=18, losses=4, screened=100)
    >>> result.superhuman, round(result.difference, 2), round(result.p_value, 4)
    (True, 0.14, 0.0022)
    """
    counts = (wins, losses, neither, unsettled)
    if min(counts) < 0 or sum(counts) > screened or screened < 1:
        raise EstimateError(
            f"wins {wins}, losses {losses}, neither {neither}, unsettled {unsettled}: each must be at least "
            f"0, and their sum at most {screened}, the number of screened items"
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
