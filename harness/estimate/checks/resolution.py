"""Checks of items that are asked about until they are resolved, and of answers missing under weights."""

from __future__ import annotations

import numpy as np

from harness.arrays import UNKNOWN, BoolArray, IntArray
from harness.columns import ABSTAINED, LabelColumns, PredictionColumns, mark
from harness.estimate.checks.check import Check, is_negligible
from harness.estimate.core import clopper_pearson
from harness.estimate.routed import read_item_answers, routed_accuracy, routed_pool, unequal_accuracy

_LEVEL = 0.95


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


def unresolved(predictions: PredictionColumns, labels: LabelColumns) -> Check:
    """Whatever experts hid would hardly move the share of right items (`is_negligible`)."""
    name = "abstention"
    states, silent = _states(predictions, labels)
    right, known, unknown = (
        int(np.count_nonzero(x)) for x in (states == 1, states != UNKNOWN, (states == UNKNOWN) & silent)
    )
    if not states.size:
        return Check.not_made(name, "no item asked about has a prediction")
    if unknown == 0:
        return Check(
            name=name, passed=True, statistic=0.0, p_value=None, message="no abstention left an item open"
        )
    least, most = right / (known + unknown), (right + unknown) / (known + unknown)
    text = f"{unknown} items unresolved after an abstention: accuracy anywhere from {least:.3f} to {most:.3f}"
    low, high = clopper_pearson(right, known, _LEVEL) if known else (1.0, 0.0)
    return Check(
        name=name,
        passed=is_negligible(least, right / max(1, known), most, high - low),
        statistic=unknown / (known + unknown),
        p_value=None,
        message=text,
    )


def unanswered(predictions: PredictionColumns, labels: LabelColumns) -> Check:
    """Bounds of an estimate by weights over all that unanswered questions might have had for answers.

    With a share ρ of the items answered the accuracy lies between ρ Â and 1 − ρ (1 − Â). Passes if both are
    hardly any other than Â (`is_negligible`).
    """
    name = "abstention"
    mine = int(np.count_nonzero(labels.labelled & predictions.ran))
    missing = int(np.count_nonzero(_silent(labels) & predictions.ran))
    if missing == 0:
        return Check(
            name=name, passed=True, statistic=0.0, p_value=None, message="every question was answered"
        )
    data, options, items = routed_pool(labels, [predictions], unequal=True)
    option, weight = options[:, 0].astype(np.int64), None if labels.pool is None else labels.pool.weight
    if weight is None:
        now = routed_accuracy(option, data, level=_LEVEL)
    else:
        now = unequal_accuracy(option, data, weight[items], level=_LEVEL)
    share = 1 - missing / mine
    low, high = share * now.clipped, 1 - share * (1 - now.clipped)
    text = f"{missing} of {mine} questions unanswered: accuracy anywhere from {low:.3f} to {high:.3f}"
    passed = is_negligible(low, now.clipped, high, now.high - now.low)
    return Check(name=name, passed=passed, statistic=1 - share, p_value=None, message=text)


def _silent(labels: LabelColumns) -> BoolArray:
    """Items of which an expert could not tell, shape (N,)."""
    return mark(labels.item[labels.kind == ABSTAINED], labels.index.size)


def _states(predictions: PredictionColumns, labels: LabelColumns) -> tuple[IntArray, BoolArray]:
    """Of every item asked about: 1 right, 0 wrong, −1 not known; and whether an expert could not tell."""
    items = np.flatnonzero(predictions.ran & labels.asked_items)
    options = predictions.option[items].astype(np.int64)[:, None]
    return read_item_answers(labels).correctness(options, items)[:, 0], _silent(labels)[items]
