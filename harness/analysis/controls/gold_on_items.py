"""Answers to gold questions about items that models predict as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.analysis.controls.expert_quality import SAID, ControlAnswers
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.estimate import GoldAnswer
from oversight.harness.store import ControlKind, Store


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
