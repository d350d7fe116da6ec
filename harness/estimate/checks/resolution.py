"""Checks of items that are asked about until they are resolved, and of answers missing under weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.arrays import UNKNOWN
from harness.estimate.checks.check import Check
from harness.estimate.core import clopper_pearson
from harness.estimate.routed import correctness, routed_accuracy, routed_pool
from harness.types import Label, LabelKind, Labels, Prediction, PredictionStatus

_LEVEL = 0.95


def resolution(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Check:
    """Every item asked about is resolved for this model, or an expert abstained; no question is open."""
    name = "resolution"
    states, silent = _states(predictions, labels), _silent(labels)
    if not states:
        return Check.not_made(name, "no item asked about has a prediction")
    unknown = {item for item, state in states.items() if state == UNKNOWN}
    waiting = unknown - silent
    share = 1 - len(unknown) / len(states)
    text = f"{len(states) - len(unknown)} of {len(states)} items are resolved ({share:.0%})"
    if unknown - waiting:
        text += f"; on {len(unknown - waiting)} an expert abstained"
    if waiting:
        text += f"; on {len(waiting)} the next question is open"
    return Check(name=name, passed=not waiting, statistic=share, p_value=None, message=text)


def unresolved(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Check:
    """Whatever experts hid, the share of right items stays within the interval of the resolved ones."""
    name = "abstention"
    states, silent = _states(predictions, labels), _silent(labels)
    right = sum(state == 1 for state in states.values())
    unknown = sum(state == UNKNOWN and item in silent for item, state in states.items())
    known = sum(state != UNKNOWN for state in states.values())
    if not states:
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
        passed=low <= least and most <= high,
        statistic=unknown / (known + unknown),
        p_value=None,
        message=text,
    )


def unanswered(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Check:
    """Bounds of an estimate by weights over all that unanswered questions might have had for answers.

    With a share ρ of the items answered the accuracy lies between ρ Â and 1 − ρ (1 − Â). Passes if both
    lie within the interval.
    """
    name = "abstention"
    predicted = _predicted(predictions)
    mine = {x.item_id for x in labels if x.item_id in predicted}
    missing = len(mine & _silent(labels))
    if missing == 0:
        return Check(
            name=name, passed=True, statistic=0.0, p_value=None, message="every question was answered"
        )
    asked = labels.design.asked if isinstance(labels, Labels) else mine
    data, options, _ = routed_pool(labels, [predictions], asked)
    now = routed_accuracy(options[:, 0], data, level=_LEVEL)
    share = 1 - missing / len(mine)
    low, high = share * now.clipped, 1 - share * (1 - now.clipped)
    text = f"{missing} of {len(mine)} questions unanswered: accuracy anywhere from {low:.3f} to {high:.3f}"
    inside = now.low <= low and high <= now.high
    return Check(name=name, passed=inside, statistic=1 - share, p_value=None, message=text)


def _predicted(predictions: Sequence[Prediction]) -> Mapping[str, int]:
    return {
        p.item_id: -1 if p.option is None else p.option
        for p in predictions
        if p.status is not PredictionStatus.FAILED
    }


def _silent(labels: Sequence[Label]) -> set[str]:
    return {x.item_id for x in labels if x.kind is LabelKind.ABSTAINED}


def _states(predictions: Sequence[Prediction], labels: Sequence[Label]) -> dict[str, int]:
    """Item asked about → 1 right, 0 wrong, −1 not known."""
    predicted = _predicted(predictions)
    answers: dict[str, dict[int, bool]] = {}
    n_options = {x.item_id: x.n_options for x in labels}
    for x in labels:
        if x.kind is not LabelKind.ABSTAINED:
            answers.setdefault(x.item_id, {})[x.option] = x.kind is LabelKind.ORDINARY
    asked = labels.design.asked if isinstance(labels, Labels) else n_options.keys()
    return {
        item: int(correctness([option], answers.get(item, {}), n_options.get(item, 2))[0])
        for item, option in predicted.items()
        if item in asked
    }
