"""Does a model reach a bar? One call for an accuracy, one for a difference, for every protocol.

Both may be asked again after every answer: a verdict is wrong with probability at most 1 − level over all
times together, also exactly at the bar. What is known by then is the same share of every expert's questions,
in the order in which they were handed out (`collected_part`), so that it only grows. A question that was left
unanswered counts for the other side (`Gains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.columns import (
    ABSTAINED,
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align_models,
)
from oversight.harness.errors import BadInput, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.evidence import number_clusters
from oversight.harness.estimate.gate.betting import refuting_wealth
from oversight.harness.estimate.gate.drawn import bet_on_draws
from oversight.harness.estimate.gate.gate_verdict import ANY_TIME, WORST_CASE, GateVerdict, check_bar, judge
from oversight.harness.estimate.gate.outcomes import (
    NO_ERRORS,
    Gains,
    WorstRates,
    accuracy_gains,
    difference_gains,
    make_pool,
)
from oversight.harness.estimate.gate.resolved import resolved_ends, worst_p_values
from oversight.harness.estimate.routed import ErrorRanges, rate_ranges

UNTOLD = (
    "the answers fit a value on either side of the bar, by what is known of experts' errors; more gold tells"
)
UNANSWERED = "what the unanswered questions hide could put the value on either side of the bar"
_FOR_RATES = 0.4
"""Part of the error that is spent on the ranges of the rates where gold tells them."""


def gate_accuracy(
    predictions: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """Whether the probability that a prediction is right is at least so much.

    Parameters
    ----------
    predictions, labels
        As in `oversight.harness.accuracy`. Unreadable predictions are wrong, failed ones left out.
    at_least
        The bar, in (0, 1).
    level
        In (0, 1), see `GateVerdict`.
    errors
        What is known of experts' errors: the verdict holds for all rates s and t that this allows at any
        time (`rate_ranges`), for which two fifths of the error are spent where it rests on gold.

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
    return _gate(models, said, at_least, level, errors)


def gate_difference(
    first: AnyPredictions,
    second: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """Whether the first model's accuracy minus the second's is at least so much, in (−1, 1).

    The difference is of the items that both answered; for the rest see `gate_accuracy`.
    """
    check_bar(at_least, -1.0, 1.0, level)
    models, said = align_models([first, second], labels)
    return _gate(models, said, at_least, level, errors)


def _gate(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> GateVerdict:
    waiting = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    nothing = GateVerdict.open_at(bar, level, method=ANY_TIME, open_questions=waiting)
    there = np.logical_and.reduce([m.is_there for m in models])
    missing = int(np.count_nonzero(labels.asked_items & ~there))
    if missing:
        return nothing.withheld(
            f"the run is not finished: {missing} items asked about have no answer of "
            f"{'the model' if len(models) == 1 else 'both models'}, and those run first may be no random part"
        )
    use = "gate" if len(models) == 1 else "gate difference"
    try:
        refuse(use, labels.conditions, gold=errors is not None)
        part = collected_part(labels, there)[0]
        if labels.is_unequal or labels.is_resolved:
            gate = _gate_drawn if labels.is_unequal else _gate_resolved
            return gate(models, part, nothing)
        above, below, spent = _bet(models, part, bar, level, errors)
    except (BadInput, NotIdentified) as error:
        return nothing.withheld(str(error))
    if not above.answers and not np.isfinite(above.value):
        return nothing.withheld("there are no answers about the model's predictions yet")
    up, down = refuting_wealth(above.sums, above.low), refuting_wealth(-below.sums, -below.high)
    ahead = above if above.sums.mean() > 0 or above is below else below
    is_open = above is not below and ahead is below and below.sums.mean() >= 0
    found = judge(
        replace(nothing, value=above.value, answers=above.answers),
        min(1.0, 1 / up + spent),
        min(1.0, 1 / down + spent),
        spread=(float(ahead.sums.mean()), float((ahead.sums**2).mean())),
        per_answer=len(ahead.sums) / max(1, ahead.answers),
    )
    # on neither side do more answers alone tell
    untold = UNTOLD if errors is not None else UNANSWERED
    return found.withheld(untold) if is_open and not found.decided else found


def _bet(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> tuple[Gains, Gains, float]:
    """Gains for bets above the bar and below it, and the part of the error that the rates take."""
    if errors is None:
        above = _gains(models, labels, bar, NO_ERRORS)
        is_whole = not (labels.kind == ABSTAINED).any()
        return above, above if is_whole else _gains(models, labels, bar, replace(NO_ERRORS, side=-1)), 0.0
    has_gold = bool(sum(errors.gold_true) + sum(errors.gold_false))
    spent = _FOR_RATES * (1 - level) if has_gold else 0.0
    s, t = rate_ranges(errors, 1 - spent if has_gold else level, any_time=True)
    likely = _likely(s, errors.gold_true), _likely(t, errors.gold_false[::-1])
    above, below = (
        _gains(models, labels, bar, WorstRates(sensitivity=s, specificity=t, side=side, likely=likely))
        for side in (1, -1)
    )
    return above, below, spent


def _likely(ends: tuple[float, float], gold: tuple[int, ...]) -> float:
    """The rate that gold gives, within its range; without gold the middle."""
    right, wrong = gold
    return min(ends[1], max(ends[0], right / (right + wrong))) if right + wrong else sum(ends) / 2


def _gains(models: Sequence[PredictionColumns], labels: LabelColumns, bar: float, rates: WorstRates) -> Gains:
    if len(models) == 1:
        return accuracy_gains(make_pool(labels, models), bar, rates)
    both = models[0].ran & models[1].ran
    differ = both & (models[0].option != models[1].option)
    if not differ.any() and labels.cluster is None:
        n = int(np.count_nonzero(both))
        return Gains(sums=np.full(n, -bar), low=-1 - bar, high=1 - bar, answers=0, value=0.0)
    return difference_gains(make_pool(labels, models), bar, rates)


def _gate_drawn(
    models: Sequence[PredictionColumns], labels: LabelColumns, nothing: GateVerdict
) -> GateVerdict:
    """Verdict on items drawn with unequal chances."""
    bets = bet_on_draws(models[0], labels, nothing.bar)
    if not bets.gains.size:
        return nothing.withheld("no item is resolved yet")
    gain, answers = float(bets.gains.mean()), int(np.count_nonzero(labels.kind != ABSTAINED))
    found = judge(
        replace(
            nothing,
            value=nothing.bar + gain,
            answers=answers,
            method=WORST_CASE if labels.is_resolved else ANY_TIME,
        ),
        min(1.0, 1 / bets.up),
        min(1.0, 1 / bets.down),
        spread=(gain, float((bets.gains**2).mean())),
        per_answer=len(bets.gains) / max(1, answers),
    )
    return found.withheld(UNANSWERED) if bets.hides and not found.decided else found


def _gate_resolved(
    models: Sequence[PredictionColumns], labels: LabelColumns, nothing: GateVerdict
) -> GateVerdict:
    items, low, high = resolved_ends(labels, models)
    cluster = number_clusters(items, labels.index, labels.cluster)
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
