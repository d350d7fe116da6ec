"""Checks of what is missing: unanswered questions, unresolved items, labels that follow readability."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import UNKNOWN
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns, mark
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.core import two_sided, z_of_sum
from oversight.harness.estimate.missing_answers import Estimator, find_hidden
from oversight.harness.estimate.routed import read_item_answers


def abstention(make: Estimator, predictions: PredictionColumns, labels: LabelColumns) -> Check:
    """The interval can be widened a little so that it holds whatever unanswered questions hide.

    Estimates assume that a missing answer is unrelated to the truth. Nothing in the data can test that.

    Parameters
    ----------
    make
        Makes the main estimate.
    """
    name = "abstention"
    now = make(labels)
    hidden = find_hidden(now, make, predictions, labels)
    if hidden is None:
        text = "every question was answered"
        return Check(name=name, passed=True, statistic=0.0, p_value=None, message=text)
    passed = hidden.allow_for(now) is not None
    text = f"{hidden}" + ("; the interval allows for that" if passed else "")
    return Check(name=name, passed=passed, statistic=hidden.missing / hidden.of, p_value=None, message=text)


def readability(predictions: PredictionColumns, labels: LabelColumns, alpha: float) -> Check:
    """Unreadable predictions are as common among labelled items as among the others.

    If questions were put only where the model had named an option, unreadable predictions (which
    are wrong) are missing from the labelled items, and the accuracy is that of the readable ones.
    """
    name = "readability"
    inside = labels.labelled
    n, bad = (
        [int(np.count_nonzero(x & side)) for side in (~inside, inside)]
        for x in (predictions.ran, predictions.is_unreadable)
    )
    if not sum(bad) or not all(n):
        return Check.not_made(name, "no unreadable predictions, or no items without labels")
    share = sum(bad) / sum(n)
    z = z_of_sum(bad[1] / n[1] - bad[0] / n[0], 0.0, share * (1 - share) * (1 / n[0] + 1 / n[1]))
    text = f"unreadable: {bad[1]} of {n[1]} predictions with labels, {bad[0]} of {n[0]} without"
    return Check.of_test(name, z, two_sided(z), alpha, text)


def resolution(predictions: PredictionColumns, labels: LabelColumns) -> Check:
    """Every item asked about is resolved for this model, or an expert abstained; no question is open."""
    name = "resolution"
    items = np.flatnonzero(predictions.ran & labels.asked_items)
    if not items.size:
        return Check.not_made(name, "no item asked about has a prediction")
    options = predictions.option[items].astype(np.int64)[:, None]
    unknown = read_item_answers(labels).correctness(options, items)[:, 0] == UNKNOWN
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)[items]
    open_items, waiting = (int(np.count_nonzero(x)) for x in (unknown, unknown & ~silent))
    share = 1 - open_items / items.size
    text = f"{items.size - open_items} of {items.size} items are resolved ({share:.0%})"
    if open_items > waiting:
        text += f"; on {open_items - waiting} an expert abstained"
    if waiting:
        text += f"; on {waiting} the next question is open"
    return Check(name=name, passed=not waiting, statistic=share, p_value=None, message=text)
