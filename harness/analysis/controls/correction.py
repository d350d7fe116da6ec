"""What control questions do to the estimates: they correct for experts' errors, or say what errors there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.controls.expert_quality import ControlAnswers
from harness.analysis.model_report import ModelReport
from harness.columns import LabelColumns
from harness.estimate import GoldCounts
from harness.types import Estimate

CORRECTED = ("corrected",)
"""Estimates that allow for experts' errors; they come first where the study's own control questions made them."""


def find_default_gold(answers: ControlAnswers | None, labels: LabelColumns) -> GoldCounts | None:
    """Answers to the study's own gold, where they tell both error rates and the labels can be corrected."""
    if answers is None or labels.is_resolved or not labels.tells_accuracy:
        return None
    return answers.count_gold()


def put_corrected_first(models: Sequence[ModelReport], gold: GoldCounts | None) -> tuple[ModelReport, ...]:
    """The reports with corrected estimates first; where experts erred on gold, the others say so."""
    why = _describe_errors(gold) if gold else ""
    return tuple(replace(model, estimates=_reorder(model, why)) for model in models)


def _reorder(model: ModelReport, why: str) -> dict[str, Estimate]:
    first = {name: e for name, e in model.estimates.items() if name in CORRECTED}
    others = {name: e for name, e in model.estimates.items() if name not in CORRECTED}
    return first | {name: replace(e, why=e.why or why) for name, e in others.items()}


def _describe_errors(gold: GoldCounts) -> str:
    missed, false_yes = gold.n_true - gold.yes_on_true, gold.n_false - gold.no_on_false
    if not missed + false_yes:
        return ""
    return (
        f"experts err: of gold questions they missed {missed} of {gold.n_true} true options and took "
        f"{false_yes} of {gold.n_false} false ones for true, which this estimate does not allow for"
    )
