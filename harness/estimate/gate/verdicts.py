"""Does a model reach a bar? Verdicts at any time and at planned looks.

Does a model reach a bar? One call for an accuracy, one for a difference, for every protocol.

Both may be asked again after every answer: a verdict is wrong with probability at most 1 − level over all
times together, also exactly at the bar. What is known by then is the same share of every expert's questions,
in the order in which they were handed out (`collected_part`), so that it only grows. A question that was left
unanswered counts for the other side (`Gains`).

A verdict from one look, or from one of several that were planned.

It comes from the interval that `oversight.harness.accuracy` and `oversight.harness.compare` give at the level
of the look, so that both verdicts together are wrong with probability at most 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.columns import (
    ABSTAINED,
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align_models,
    keep_predicted,
)
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import check_level, z_value
from oversight.harness.estimate.evaluation import accuracy
from oversight.harness.estimate.evidence import number_clusters
from oversight.harness.estimate.gate.bets import (
    NO_ERRORS,
    Gains,
    WorstRates,
    accuracy_gains,
    bet_on_draws,
    difference_gains,
    make_pool,
    refuting_wealth,
    resolved_ends,
    worst_p_values,
)
from oversight.harness.estimate.intervals import obrien_fleming_level
from oversight.harness.estimate.model_comparison import compare
from oversight.harness.estimate.model_estimates import accuracies
from oversight.harness.estimate.planning import outcomes_to_settle
from oversight.harness.estimate.routed import ErrorRanges, rate_ranges
from oversight.harness.estimate.side_information import allow_for_errors
from oversight.harness.types import Estimate

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
ANY_TIME, WORST_CASE = "any time", "worst case"
EITHER_SIDE = "the answers fit a value on either side of the bar"
_FARTHEST = 1_000_000
"""Answers beyond which a forecast says nothing but "very many"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """On which side of a bar a model's accuracy, or its difference to another's, lies.

    Attributes
    ----------
    verdict
        ``"pass"``: the quantity is at least the bar. ``"fail"``: it is not. ``"undecided"``: the answers do
        not tell, or may not be trusted; `why` says so.
    value
        Mean of the outcomes that are bet on; NaN without any. It is unbiased, but its weights follow from the
        bar (`bets`): it differs a little from bar to bar and from `oversight.harness.accuracy`, which
        gives the number to quote. Where items are asked about until resolved, it is the mean of those
        resolved; at a look, it is the estimate.
    bar
        What it must reach.
    level
        Each verdict is wrong with probability at most 1 − level, at any value of the quantity.
    p_below, p_above
        How far the answers speak against a quantity below the bar, and above: p-values, valid at all looks
        if `method` says so. A verdict needs at most 1 − level. NaN where an interval decided.
    method
        ``"any time"``: may be looked at after every answer. ``"worst case"``: the same, unknown items counted
        for the other side. ``"look J of L"``: valid as that look alone.
    answers, open_questions
        Answers that count by now, and questions without one.
    low, high
        Interval of the look; NaN where bets or exact tails decided.
    further
        A forecast: answers that would settle it in four of five studies like this one, if the quantity is as
        estimated; None where it is settled, or no number up to a million is enough.
    why
        Why it is undecided; empty where it is not.
    either_side
        Whether it is undecided only because the answers fit a value on either side of the bar.
    """

    verdict: str
    value: float
    bar: float
    level: float
    p_below: float
    p_above: float
    method: str
    answers: int
    open_questions: int
    low: float = math.nan
    high: float = math.nan
    further: int | None = None
    why: str = ""
    either_side: bool = False

    @classmethod
    def open_at(cls, bar: float, level: float, *, method: str, open_questions: int = 0) -> GateVerdict:
        """Undecided, before anything is known."""
        return cls(
            verdict=UNDECIDED,
            value=math.nan,
            bar=bar,
            level=level,
            p_below=1.0,
            p_above=1.0,
            method=method,
            answers=0,
            open_questions=open_questions,
        )

    @property
    def decided(self) -> bool:
        """Whether it is pass or fail."""
        return self.verdict != UNDECIDED

    def withheld(self, why: str) -> GateVerdict:
        """The same, undecided for this reason."""
        return replace(self, verdict=UNDECIDED, why=why, further=None, either_side=False)


def judge(
    known: GateVerdict, p_below: float, p_above: float, *, spread: tuple[float, float], per_answer: float
) -> GateVerdict:
    """Verdict from both p-values.

    Parameters
    ----------
    known
        What else there is to say.
    spread
        Mean and second moment of outcomes minus the bar, for the forecast.
    per_answer
        Outcomes an answer brings.
    """
    known = replace(known, p_below=p_below, p_above=p_above)
    if p_below <= 1 - known.level:
        return replace(known, verdict=PASS)
    if p_above <= 1 - known.level:
        return replace(known, verdict=FAIL)
    need = outcomes_to_settle(*spread, level=known.level) / max(per_answer, 1e-9)
    further = further_answers(need, known.answers)
    return replace(known, further=further, why=EITHER_SIDE, either_side=True)


def further_answers(need: float, answers: int) -> int | None:
    """Answers still missing to a number needed, at least one; None beyond a million."""
    return None if not need <= _FARTHEST else max(1, math.ceil(need - answers))


def check_bar(bar: float, low: float, high: float, level: float) -> None:
    """Require a bar strictly between two ends, and a level. Raises EstimateError."""
    check_level(level)
    if not low < bar < high:
        raise EstimateError(f"the bar must lie in ({low:g}, {high:g}), is {bar!r}")


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
