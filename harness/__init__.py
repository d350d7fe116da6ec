"""Evaluate AI systems without ground truth, from experts' yes/no answers.

The names below are imported when they are first used, so that ``import harness`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.datasets.classifier_arrays import predictions_from_arrays
    from harness.datasets.item_files import ItemMapping, read_items
    from harness.datasets.key_file import read_key
    from harness.datasets.presets import read_preset
    from harness.estimate.counts import estimate_counts
    from harness.estimate.evaluation import accuracies, accuracy
    from harness.labels import decode
    from harness.llm.runner.run_models import run
    from harness.types.records import (
        Answer,
        Counts,
        Estimate,
        Item,
        Label,
        LabelKind,
        Prediction,
        PredictionStatus,
        Question,
        Verdict,
    )

_TYPES = (
    "Answer",
    "Counts",
    "Estimate",
    "Item",
    "Label",
    "LabelKind",
    "Prediction",
    "PredictionStatus",
    "Question",
    "Verdict",
)
_HOME = {
    "ItemMapping": "harness.datasets",
    "accuracies": "harness.estimate",
    "accuracy": "harness.estimate",
    "decode": "harness.labels",
    "estimate_counts": "harness.estimate",
    "predictions_from_arrays": "harness.datasets.classifier_arrays",
    "read_items": "harness.datasets",
    "read_key": "harness.datasets",
    "read_preset": "harness.datasets",
    "run": "harness.llm.runner.run_models",
    **dict.fromkeys(_TYPES, "harness.types.records"),
}

__all__ = [
    "Answer",
    "Counts",
    "Estimate",
    "Item",
    "ItemMapping",
    "Label",
    "LabelKind",
    "Prediction",
    "PredictionStatus",
    "Question",
    "Verdict",
    "accuracies",
    "accuracy",
    "decode",
    "estimate_counts",
    "predictions_from_arrays",
    "read_items",
    "read_key",
    "read_preset",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
