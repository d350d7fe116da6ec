"""Accuracy of one model against a bar, on items drawn with unequal, recorded chances.

The bets are those of `oversight.harness.estimate.intervals.draw_betting`: an item's gain is weighted by v,
and each draw has its own bets, which follow from its chances alone. An unanswered question counts as the
answer that speaks most against the side bet on. Items asked about until resolved count from the start: until
they are known, as wrong for bets above the bar and as right for bets below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns
from oversight.harness.estimate.gate.resolved import resolved_ends
from oversight.harness.estimate.intervals import DrawnAnswers, draw_wealth, weigh_outcomes
from oversight.harness.estimate.unequal_sequence import see_draws, see_known_items


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnBets:
    """What bets on both sides of the bar have won.

    Attributes
    ----------
    up, down
        Wealth of bets on "above the bar" and "below it".
    gains
        Weighted outcomes minus the bar, shape (n,), of items without an unanswered question.
    hides
        Whether unanswered questions alone could put the value on the other side of the bar.
    """

    up: float
    down: float
    gains: FloatArray
    hides: bool


def bet_on_draws(model: PredictionColumns, labels: LabelColumns, bar: float) -> DrawnBets:
    """Bet on both sides of the bar.

    Raises
    ------
    EstimateError
        If no answered item has a prediction.
    NotIdentified
        If several models' predictions were asked about, or items have several questions.
    """
    above, below, heard = _see_sides(model, labels)
    size = 0 if labels.pool is None else labels.pool.size
    ends = [float(weigh_outcomes(draws, bar).mean()) for draws in (above, below)]
    return DrawnBets(
        up=draw_wealth(above, size, bar)[0],
        down=draw_wealth(below, size, bar)[1],
        gains=weigh_outcomes(heard, bar),
        hides=ends[0] < 0 <= ends[1] and above is not below,
    )


def _see_sides(
    model: PredictionColumns, labels: LabelColumns
) -> tuple[Sequence[DrawnAnswers], Sequence[DrawnAnswers], Sequence[DrawnAnswers]]:
    """Draws with what is unknown against the model, for it, and left out."""
    if labels.is_resolved:
        items, low, high = resolved_ends(labels, [model])
        known = low == high
        above, below = (see_known_items(labels, items, right) for right in (low, high))
        return above, below, see_known_items(labels, items[known], low[known])
    heard = see_draws(model, labels)
    if not (labels.kind == ABSTAINED).any():
        return heard, heard, heard
    own = model.option[labels.item] == labels.option
    against, in_favour = (_fill(labels, np.where(own, *kinds)) for kinds in ((NO, YES), (YES, NO)))
    return see_draws(model, against), see_draws(model, in_favour), heard


def _fill(labels: LabelColumns, kind: IntArray) -> LabelColumns:
    """The labels with these answers in place of abstentions."""
    return replace(labels, kind=np.where(labels.kind == ABSTAINED, kind, labels.kind), passed=None)
