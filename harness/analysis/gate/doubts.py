"""Why a verdict cannot be trusted whatever the answers say, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from oversight.harness.config import Study
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import collected_part, explain_failures

MANY_FAILED = 0.02
"""Share of a model's calls that may have failed: those left out may be the hard items."""


def find_doubts(
    name: str,
    predictions: PredictionColumns,
    labels: LabelColumns,
    *,
    allows_errors: bool = False,
) -> list[str]:
    """Why a verdict of this model cannot be trusted, whatever the answers say of it.

    Unanswered questions are no such reason, because they count for the other side.
    """
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
        part = collected_part(labels, predictions.is_there)[0]
    except EstimateError:
        return doubts
    failures = explain_failures(predictions, part, corrected=allows_errors, bounded=True)
    return doubts + [f"{name!r}: {failures}" for failures in [failures] if failures]


def write_remarks(models: Mapping[str, PredictionColumns], labels: LabelColumns) -> list[str]:
    """What was left out and on what assumption."""
    remarks = []
    if silent := int(np.count_nonzero(labels.kind == ABSTAINED)):
        remarks.append(f"abstentions: {silent}, which count for the other side")
    for name, predictions in models.items():
        if failed := int(np.count_nonzero(predictions.has_failed)):
            remarks.append(f"items left out because every call of {name!r} failed: {failed}")
    return remarks


def name_unused(study: Study) -> list[str]:
    """What study.toml says of estimates that a gate has no use for, whose bets are on all items alike."""
    section = study.estimate.model_dump(exclude={"level"}, exclude_defaults=True)
    return [
        f"estimate.{name} = {value!r} is not used: a gate holds all items together against its bar"
        for name, value in section.items()
    ]
