"""What control questions do to the estimates: they correct for experts' errors, or tell of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.analysis.controls import SAID, ControlAnswers
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ItemIndex, LabelColumns, PredictionColumns
from oversight.harness.config import Study
from oversight.harness.estimate import ErrorRanges, GoldAnswer, GoldCounts, Rate
from oversight.harness.store import ControlKind, Store
from oversight.harness.types import CORRECTED, Estimate


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

    def put_first(self, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
        """Those that allow for errors first; where errors were seen, the others say so."""
        first = {name: e for name, e in estimates.items() if name in CORRECTED}
        others = {name: e for name, e in estimates.items() if name not in CORRECTED}
        return first | {name: replace(e, why=e.why or self.errors) for name, e in others.items()}


def find_correction(study: Study, answers: ControlAnswers | None, labels: LabelColumns) -> Correction | None:
    """How a study's estimates allow for errors; None where nothing is known of them."""
    section = study.experts
    if labels.is_resolved or not labels.tells_accuracy or not (answers or section.knows_errors):
        return None
    known = find_rates(study, answers)
    second = answers.find_second(labels.index) if answers else np.full(labels.index.size, -1)
    return Correction(
        gold=known.gold if known else None,
        second=second,
        known=known or ErrorRanges(),
        name="hui_walter" if (second >= 0).any() else "bounded" if known else "",
        errors=describe_errors(answers),
    )


def find_rates(study: Study, answers: ControlAnswers | None) -> ErrorRanges | None:
    """What gold and study.toml tell of the error rates; None where neither does."""
    section = study.experts
    true, false = answers.count_gold() if answers else ((0, 0), (0, 0))
    if not section.knows_errors and sum(true) + sum(false) == 0:
        return None
    return ErrorRanges(
        sensitivity=(section.sensitivity[0], section.sensitivity[1]),
        specificity=(section.specificity[0], section.specificity[1]),
        gold_true=true,
        gold_false=(false[1], false[0]),
    )


def describe_rates(known: ErrorRanges) -> str:
    """What is known of the rates, in words: ``by gold (27 of 30 true options confirmed, …)``."""
    (right, missed), (false_yes, true_no) = known.gold_true, known.gold_false
    told = []
    if right + missed:
        told.append(f"{right} of {right + missed} true options confirmed")
    if false_yes + true_no:
        told.append(f"{true_no} of {false_yes + true_no} false ones denied")
    if told:
        return f"by gold ({', '.join(told)})"
    (s_low, s_high), (t_low, t_high) = known.sensitivity, known.specificity
    return f"by their ranges (sensitivity {s_low:g}–{s_high:g}, specificity {t_low:g}–{t_high:g})"


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


def doubt_answers(study: Study, answers: ControlAnswers | None) -> str:
    """`describe_errors`, or that study.toml says that experts may err; empty where neither is so."""
    known = "experts may err at the rates that study.toml gives, which is not allowed for here"
    return describe_errors(answers) or (known if study.experts.knows_errors else "")


def _fill(text: str, rate: Rate) -> str:
    return text.format(of=rate.of, wrong=rate.of - rate.successes)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldOnItems:
    """Yes and no to gold questions about items of the study.

    Attributes
    ----------
    item, option
        Place of the study's item that has the gold item's text and options, and the option asked about.
    about_truth, is_right
        Whether each question asks about the true option, and whether its answer is right.
    """

    item: IntArray
    option: IntArray
    about_truth: BoolArray
    is_right: BoolArray

    def answers_for(self, predictions: PredictionColumns) -> list[GoldAnswer]:
        """The answers about items that a model predicts."""
        predicted = predictions.option[self.item]
        rows = np.flatnonzero(predicted >= 0)
        own = predicted[rows] == self.option[rows]
        return [
            GoldAnswer(about_truth=about, is_right=right, is_predicted=hit)
            for about, right, hit in zip(
                self.about_truth[rows].tolist(), self.is_right[rows].tolist(), own.tolist(), strict=True
            )
        ]


def match_gold(store: Store, answers: ControlAnswers | None, index: ItemIndex) -> GoldOnItems:
    """Find the answers to gold items that are items of the study; none without control questions."""
    rows = list[tuple[int, int, bool, bool]]()
    said = {} if answers is None else _read_said(answers)
    if answers is not None and said:
        gold = {name: found.item for name, found in store.controls.read_gold_items().items()}
        asked = {c.item_id for c in answers.controls if c.id in said}
        same = store.content.find_same({gold[name].text for name in asked})
        places = {(item.text, item.options): index.places[item.id] for item in same}
        for control in answers.controls:
            item = gold.get(control.item_id)
            place = None if item is None else places.get((item.text, item.options))
            if place is not None and control.id in said:
                about = answers.truth[control.item_id] == control.option
                rows.append((place, control.option, about, said[control.id] is about))
    table = np.array(rows, np.int64).reshape(-1, 4)
    return GoldOnItems(
        item=table[:, 0],
        option=table[:, 1],
        about_truth=table[:, 2].astype(np.bool_),
        is_right=table[:, 3].astype(np.bool_),
    )


def _read_said(answers: ControlAnswers) -> dict[str, bool]:
    """Gold question → yes or no."""
    return {
        c.id: SAID[answers.replies[c.id].value]
        for c in answers.controls
        if c.kind is ControlKind.GOLD and c.id in answers.replies and answers.replies[c.id].value in SAID
    }
