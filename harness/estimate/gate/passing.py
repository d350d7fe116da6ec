"""Does a model reach a bar? One call for an accuracy, one for a difference, for every protocol.

Both may be asked again after every answer: a verdict is wrong with probability at most 1 − level over all
times together, also exactly at the bar. What is known by then is the same share of every expert's questions
in the order in which he answered (`collected_part`), so that it only grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.columns import AnyLabels, AnyPredictions, LabelColumns, PredictionColumns, align_models
from harness.errors import NotIdentified
from harness.estimate.collected import collected_part
from harness.estimate.gate.betting import refuting_wealth
from harness.estimate.gate.gate_verdict import ANY_TIME, WORST_CASE, GateVerdict, check_bar, judge
from harness.estimate.gate.outcomes import Gains, accuracy_gains, difference_gains, make_pool
from harness.estimate.gate.resolved import resolved_ends, worst_p_values


def gate_accuracy(
    predictions: AnyPredictions, labels: AnyLabels, at_least: float, *, level: float = 0.95
) -> GateVerdict:
    """Whether the probability that a prediction is right is at least so much.

    Parameters
    ----------
    predictions, labels
        As in `harness.accuracy`. Unreadable predictions are wrong, failed ones left out.
    at_least
        The bar, in (0, 1).
    level
        In (0, 1), see `GateVerdict`.

    Returns
    -------
    GateVerdict
        Undecided, with the reason, also where the answers cannot tell.

    Raises
    ------
    EstimateError
        If the bar or the level is none, or answers contradict each other.
    """
    check_bar(at_least, 0.0, 1.0, level)
    models, said = align_models([predictions], labels)
    return _gate(models, said, at_least, level)


def gate_difference(
    first: AnyPredictions, second: AnyPredictions, labels: AnyLabels, at_least: float, *, level: float = 0.95
) -> GateVerdict:
    """Whether the first model's accuracy minus the second's is at least so much, in (−1, 1).

    The difference is of the items that both answered; for the rest see `gate_accuracy`.
    """
    check_bar(at_least, -1.0, 1.0, level)
    models, said = align_models([first, second], labels)
    return _gate(models, said, at_least, level)


def _gate(models: Sequence[PredictionColumns], labels: LabelColumns, bar: float, level: float) -> GateVerdict:
    is_open = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    nothing = GateVerdict.open_at(bar, level, method=ANY_TIME, open_questions=is_open)
    there = np.logical_and.reduce([m.is_there for m in models])
    missing = int(np.count_nonzero(labels.asked_items & ~there))
    if missing:
        return nothing.withheld(
            f"the run is not finished: {missing} items asked about have no answer of "
            f"{'the model' if len(models) == 1 else 'both models'}, and those run first may be no random part"
        )
    try:
        if labels.is_resolved:
            return _gate_resolved(models, labels, nothing)
        part = collected_part(labels, there, by_arrival=True)[0]
        gains = _gains(models, part, bar)
    except NotIdentified as error:
        return nothing.withheld(str(error))
    if not len(gains.sums):
        return nothing.withheld("there are no answers about the model's predictions yet")
    up, down = refuting_wealth(gains.sums, gains.low), refuting_wealth(-gains.sums, -gains.high)
    return judge(
        replace(nothing, value=gains.value, answers=gains.answers),
        min(1.0, 1 / up),
        min(1.0, 1 / down),
        spread=(float(gains.sums.mean()), float((gains.sums**2).mean())),
        per_answer=len(gains.sums) / max(1, gains.answers),
    )


def _gains(models: Sequence[PredictionColumns], labels: LabelColumns, bar: float) -> Gains:
    if len(models) == 1:
        if not labels.tells_accuracy:
            raise NotIdentified("questions were asked only where two models differ; see: --not-worse-than")
        return accuracy_gains(make_pool(labels, models), bar)
    both = models[0].ran & models[1].ran
    differ = both & (models[0].option != models[1].option)
    if not differ.any() and labels.cluster is None:
        n = int(np.count_nonzero(both))
        return Gains(sums=np.full(n, -bar), low=-1 - bar, high=1 - bar, answers=0, value=0.0)
    return difference_gains(make_pool(labels, models), bar)


def _gate_resolved(
    models: Sequence[PredictionColumns], labels: LabelColumns, nothing: GateVerdict
) -> GateVerdict:
    low, high, cluster = resolved_ends(labels, models)
    p_below, p_above = worst_p_values(low, high, cluster, nothing.bar, 0 if len(models) == 1 else -1)
    known = low == high
    if not known.any():
        return nothing.withheld("no item is resolved yet")
    gains = low[known] - nothing.bar
    value = float(low[known].mean())
    return judge(
        replace(nothing, value=value, answers=len(labels), method=WORST_CASE),
        p_below,
        p_above,
        spread=(float(gains.mean()), float((gains**2).mean())),
        per_answer=known.size / max(1, len(labels)),
    )
