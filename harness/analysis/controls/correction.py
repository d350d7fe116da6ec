"""What control questions do to the estimates: they correct for experts' errors, or tell of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.controls.expert_quality import ControlAnswers
from harness.arrays import IntArray
from harness.columns import LabelColumns, PredictionColumns
from harness.config import Study
from harness.errors import EstimateError
from harness.estimate import ErrorRanges, Estimates, GoldCounts, Rate, allow_for_errors
from harness.types import Estimate

ALLOWING = ("corrected", "hui_walter", "bounded")
"""Estimates that allow for experts' errors; where the study's own controls make them, they come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is known of experts' errors without a hand-made file, and how estimates use it.

    Attributes
    ----------
    gold
        Answers to gold, where they tell both error rates: the estimate is ``corrected``.
    second, known
        Otherwise second experts' answers, and what is known of the rates: ``hui_walter`` or ``bounded``.
    name
        Of these estimates; empty where nothing is known.
    errors
        What experts were seen to do wrong, in words; empty where they were not.
    """

    gold: GoldCounts | None
    second: IntArray
    known: ErrorRanges
    name: str
    errors: str

    def apply(
        self, estimates: Estimates, predictions: PredictionColumns, labels: LabelColumns, level: float
    ) -> Estimates:
        """The estimates of a model with one that allows for errors first, or the reason why there is none."""
        made, undefined = dict(estimates), dict(estimates.undefined)
        if self.gold is None and self.name:
            try:
                made[self.name] = allow_for_errors(predictions, labels, self.second, self.known, level=level)
            except EstimateError as error:
                undefined[self.name] = str(error)
        return Estimates(self.put_first(made), undefined)

    def put_first(self, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
        """Those that allow for errors first; where errors were seen, the others say so."""
        first = {name: e for name, e in estimates.items() if name in ALLOWING}
        others = {name: e for name, e in estimates.items() if name not in ALLOWING}
        return first | {name: replace(e, why=e.why or self.errors) for name, e in others.items()}


def find_correction(study: Study, answers: ControlAnswers | None, labels: LabelColumns) -> Correction | None:
    """How a study's estimates allow for errors; None where nothing is known of them."""
    section = study.experts
    if labels.is_resolved or not labels.tells_accuracy or not (answers or section.knows_errors):
        return None
    true, false = answers.count_gold() if answers else ((0, 0), (0, 0))
    tells_both = sum(true) > 0 and sum(false) > 0
    second = answers.find_second(labels.index) if answers else np.full(labels.index.size, -1)
    bounded = section.knows_errors or sum(true) + sum(false) > 0
    return Correction(
        gold=GoldCounts(true[0], sum(true), false[0], sum(false)) if tells_both else None,
        second=second,
        known=ErrorRanges(
            sensitivity=(section.sensitivity[0], section.sensitivity[1]),
            specificity=(section.specificity[0], section.specificity[1]),
            gold_true=true,
            gold_false=(false[1], false[0]),
        ),
        name="hui_walter" if (second >= 0).any() else "bounded" if bounded else "",
        errors=describe_errors(answers),
    )


def describe_errors(answers: ControlAnswers | None) -> str:
    """Why what takes every answer for right may not hold; empty where no error was seen."""
    quality = answers.report() if answers else ()
    if not quality:
        return ""
    seen = (
        (quality[-1].sensitivity, "the true option of {of} gold questions was missed {wrong} times"),
        (quality[-1].specificity, "a false option of {of} gold questions was taken for true {wrong} times"),
        (quality[-1].steadiness, "{wrong} of {of} repeats were answered otherwise than the first time"),
        (quality[-1].agreement, "on {wrong} of {of} questions two experts differ"),
    )
    told = [_fill(text, rate) for rate, text in seen if rate is not None and rate.successes < rate.of]
    return f"experts err, which is not allowed for here: {'; '.join(told)}" if told else ""


def _fill(text: str, rate: Rate) -> str:
    return text.format(of=rate.of, wrong=rate.of - rate.successes)
