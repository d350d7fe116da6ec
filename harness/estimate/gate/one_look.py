"""A verdict from one look, or from one of several that were planned.

It comes from the interval that `oversight.harness.accuracy` and `oversight.harness.compare` give at the level
of the look, so that both verdicts together are wrong with probability at most 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oversight.harness.columns import LabelColumns, PredictionColumns, keep_predicted
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import z_value
from oversight.harness.estimate.evaluation import accuracy
from oversight.harness.estimate.gate.gate_verdict import (
    EITHER_SIDE,
    FAIL,
    PASS,
    UNDECIDED,
    GateVerdict,
    further_answers,
)
from oversight.harness.estimate.intervals import obrien_fleming_level
from oversight.harness.estimate.model_comparison import compare
from oversight.harness.estimate.model_estimates import accuracies
from oversight.harness.estimate.planning import outcomes_to_settle
from oversight.harness.estimate.routed import ErrorRanges
from oversight.harness.estimate.second_experts import allow_for_errors
from oversight.harness.types import Estimate


def gate_at_look(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    at_least: float,
    *,
    look: tuple[int, int],
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """`gate_accuracy` of one model, or `gate_difference` of two, valid as look J of L planned ones alone.

    Parameters
    ----------
    models
        Name → predictions.
    look
        J and L; (1, 1) is one look.
    errors
        What is known of experts' errors: the interval is that of the corrected accuracy or difference.
    """
    now = obrien_fleming_level(*look, level)
    is_open = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    value = low = high = float("nan")
    try:
        value, low, high, why = _interval(models, labels, now, errors)
    except EstimateError as error:
        why = str(error)
    verdict = UNDECIDED if why else PASS if low >= at_least else FAIL if high < at_least else UNDECIDED
    further, either_side = None, verdict == UNDECIDED and not why
    if either_side:
        why = EITHER_SIDE
        square = len(labels) * ((high - low) / 2 / z_value(now)) ** 2
        need = outcomes_to_settle(value - at_least, square, level=level, looks=False)
        further = further_answers(need, len(labels))
    known = GateVerdict.open_at(
        at_least, level, method=f"look {look[0]} of {look[1]}", open_questions=is_open
    )
    return replace(
        known,
        verdict=verdict,
        value=value,
        p_below=math.nan,
        p_above=math.nan,
        low=low,
        high=high,
        answers=len(labels),
        further=further,
        why=why,
        either_side=either_side,
    )


def _interval(
    models: Mapping[str, PredictionColumns], labels: LabelColumns, level: float, errors: ErrorRanges | None
) -> tuple[float, float, float, str]:
    """Value, ends, and why they may not hold."""
    if len(models) == 1:
        (one,) = models.values()
        found = _accuracy(one, keep_predicted(labels, one), level, errors)
        return found.value, found.low, found.high, found.why
    (pair,) = compare(models, labels, level=level, errors=errors).pairs
    return pair.difference, pair.low, pair.high, pair.why


def _accuracy(
    model: PredictionColumns, labels: LabelColumns, level: float, errors: ErrorRanges | None
) -> Estimate:
    if errors is None:
        found = accuracies(model, labels, level=level)
        return found.get("worst_case") or accuracy(model, labels, level=level)
    if errors.gold is None:
        return allow_for_errors(model, labels, np.full(labels.index.size, -1), errors, level=level)
    return accuracy(model, labels, level=level, gold=errors.gold)
