"""Checks of items that are asked about until they are resolved."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import UNKNOWN, BoolArray, IntArray
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns, mark
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.routed import read_item_answers


def resolution(predictions: PredictionColumns, labels: LabelColumns) -> Check:
    """Every item asked about is resolved for this model, or an expert abstained; no question is open."""
    name = "resolution"
    states, silent = _states(predictions, labels)
    if not states.size:
        return Check.not_made(name, "no item asked about has a prediction")
    unknown = states == UNKNOWN
    open_items, waiting = (int(np.count_nonzero(x)) for x in (unknown, unknown & ~silent))
    share = 1 - open_items / states.size
    text = f"{states.size - open_items} of {states.size} items are resolved ({share:.0%})"
    if open_items > waiting:
        text += f"; on {open_items - waiting} an expert abstained"
    if waiting:
        text += f"; on {waiting} the next question is open"
    return Check(name=name, passed=not waiting, statistic=share, p_value=None, message=text)


def _silent(labels: LabelColumns) -> BoolArray:
    """Items of which an expert could not tell, shape (N,)."""
    return mark(labels.item[labels.kind == ABSTAINED], labels.index.size)


def _states(predictions: PredictionColumns, labels: LabelColumns) -> tuple[IntArray, BoolArray]:
    """Of every item asked about: 1 right, 0 wrong, −1 not known; and whether an expert could not tell."""
    items = np.flatnonzero(predictions.ran & labels.asked_items)
    options = predictions.option[items].astype(np.int64)[:, None]
    return read_item_answers(labels).correctness(options, items)[:, 0], _silent(labels)[items]
