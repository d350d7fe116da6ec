"""The published answers of twenty models to MMLU-Pro, and the labels that a protocol collects about them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from oversight import harness as h
from oversight.harness.types import Answer, Item, Labels, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import one_expert_per_class

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
LETTERS = tuple("ABCDEFGHIJ")
ROSTER = one_expert_per_class(LETTERS)
Options = dict[str, int | None]


def load() -> tuple[list[Item], dict[str, int], dict[str, str], dict[str, Options]]:
    """Items with two options or more, their truth and subject, and every model's options by name."""
    path = FOLDER / "mmlu_pro_model_predictions.parquet"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    table = pq.read_table(path, use_threads=False).to_pydict()
    known = {"question_id", "category", "n_options", "answer"}
    items, truth, subject = [], {}, {}
    models: dict[str, Options] = {name: {} for name in table if name not in known}
    for j, k in enumerate(table["n_options"]):
        if k < 2:
            continue
        item = Item(str(table["question_id"][j]), "?", LETTERS[:k], tuple(range(k)))
        items.append(item)
        truth[item.id] = LETTERS.index(table["answer"][j])
        subject[item.id] = table["category"][j]
        for name, options in models.items():
            letter = table[name][j]
            options[item.id] = LETTERS.index(letter) if letter and letter in LETTERS[:k] else None
    return items, truth, subject, models


def predictions(items: Sequence[Item], options: Options) -> list[Prediction]:
    """A model's predictions; an answer that could not be parsed is unreadable."""
    return [
        Prediction(
            item.id, option, PredictionStatus.OK if option is not None else PredictionStatus.UNREADABLE
        )
        for item in items
        for option in (options[item.id],)
    ]


def collect(plan: Any, items: Sequence[Item], truth: dict[str, int]) -> Labels:
    """All questions of a rule, answered from the truth."""
    experts, answers = SimulatedExperts(truth), list[Answer]()
    waiting = plan.route(items)
    drawn = list(waiting)
    while waiting:
        answers += experts.answer(waiting)
        waiting = plan.next_questions(items, answers) if plan.statement.asks_on else []
        drawn += waiting
    return h.decode(answers, drawn)
