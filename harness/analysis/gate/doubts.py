"""Why a verdict cannot be trusted whatever the answers say, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from harness.config import Study
from harness.errors import EstimateError
from harness.estimate import collected_part, run_checks

MANY_FAILED = 0.02
"""Share of a model's calls that may have failed: those left out may be the hard items."""
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
"""Checks that say, where they fail, that the answers are not what every estimate supposes."""


ERROR_CHECKS = ("yes_rate", "hausman")
"""Those of them that fail where experts err; no doubt where a verdict allows for that."""


def find_doubts(
    name: str,
    predictions: PredictionColumns,
    labels: LabelColumns,
    *,
    others: Sequence[PredictionColumns] = (),
    allows_errors: bool = False,
) -> list[str]:
    """Why a verdict of this model cannot be trusted, whatever the answers say of it or of the others."""
    failed, there = np.count_nonzero(predictions.has_failed), len(predictions)
    doubts = []
    if failed > MANY_FAILED * there:
        doubts.append(
            f"{failed} of {there} calls of {name!r} failed, and the items left out may be the hard ones; "
            "see: oversight run --retry-errors"
        )
    if not len(labels):
        return doubts
    try:
        part = collected_part(labels, predictions.is_there, by_arrival=True)[0]
    except EstimateError:
        return doubts
    failing = [
        check
        for check in run_checks(predictions, part, others=others)
        if check.passed is False
        and check.name in VOIDING_CHECKS
        and not (allows_errors and check.name in ERROR_CHECKS)
    ]
    return doubts + [f"check {check.name!r} failed for {name!r}: {check.message}" for check in failing]


def write_notes(models: Mapping[str, PredictionColumns], labels: LabelColumns) -> list[str]:
    """What was left out and on what assumption."""
    notes = []
    if silent := int(np.count_nonzero(labels.kind == ABSTAINED)):
        how = "count for the other side" if labels.is_resolved else "are left out as unrelated to the truth"
        notes.append(f"abstentions: {silent}, which {how}")
    for name, predictions in models.items():
        if failed := int(np.count_nonzero(predictions.has_failed)):
            notes.append(f"items left out because every call of {name!r} failed: {failed}")
    return notes


def name_unused(study: Study) -> list[str]:
    """What study.toml says of estimates that a gate has no use for, whose bets are on all items alike."""
    section = study.estimate.model_dump(exclude={"level"}, exclude_defaults=True)
    return [
        f"estimate.{name} = {value!r} is not used: a gate holds all items together against its bar"
        for name, value in section.items()
    ]
