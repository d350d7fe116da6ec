"""Checks of what is missing: unanswered questions, and labels that follow readability."""

from __future__ import annotations

import numpy as np

from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.core import two_sided, z_of_sum
from oversight.harness.estimate.missing_answers import Estimator, find_hidden


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
    p_value = two_sided(z)
    text = f"unreadable: {bad[1]} of {n[1]} predictions with labels, {bad[0]} of {n[0]} without"
    return Check(name=name, passed=p_value >= alpha, statistic=z, p_value=p_value, message=text)
