"""Checks that void a number if they fail: the answers are then not what every estimate assumes."""

from __future__ import annotations

from functools import lru_cache

from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.checks.suite import run_checks
from oversight.harness.estimate.data import find_unequal

VOIDING_CHECKS = (
    "asked_predicted",
    "yes_rate",
    "yes_rate_by_expert",
    "agreement",
    "hausman",
    "propensities",
    "coin",
    "seen_answers",
    "abstention",
)
ERROR_CHECKS = ("yes_rate", "hausman")
"""Those that fail where experts err. They void nothing that is corrected for experts' errors."""
EQUAL_RATES = ("asked_predicted", "yes_rate", "hausman")
"""Those that assume equal answering rates. Where these differ, estimates are corrected or say so."""


def explain_failures(
    predictions: PredictionColumns, labels: LabelColumns, *, corrected: bool = False, bounded: bool = False
) -> str:
    """Say which voiding checks failed, and what they saw; empty if none did.

    Parameters
    ----------
    predictions, labels
        Of one model, and what the number is made of (`collected_part`).
    corrected
        Whether the number allows for experts' errors.
    bounded
        Whether the number holds whatever unanswered questions hide.
    """
    spared: tuple[str, ...] = ERROR_CHECKS * corrected + ("abstention",) * bounded
    spared += EQUAL_RATES * (find_unequal(labels, predictions.is_there) is not None)
    if all(model is predictions for model in labels.models):
        # one model may be worse than chance, or than those that the questions were drawn for
        spared += ("agreement",)
    failed = [check for check in _find_failed(predictions, labels) if check.name not in spared]
    return "; ".join(f"check {check.name!r} failed: {check.message}" for check in failed)


@lru_cache(maxsize=4)
def _find_failed(predictions: PredictionColumns, labels: LabelColumns) -> tuple[Check, ...]:
    """The voiding checks that failed, made once for all estimates of a model."""
    if not len(labels):
        return ()
    return tuple(
        check
        for check in run_checks(predictions, labels)
        if check.passed is False and check.name in VOIDING_CHECKS
    )
