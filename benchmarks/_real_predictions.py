"""Read the published answers of twenty models to MMLU-Pro, and simulate labels collected by a protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import oversight as ov
from oversight.harness import IntArray
from oversight.harness.types import Answer, Item, Labels, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import one_expert_per_class

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
LETTERS = tuple("ABCDEFGHIJ")
ROSTER = one_expert_per_class(LETTERS)
Options = dict[str, int | None]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Items with at least two options, true options by item id, and models' answers by model and item id.

    An answer is an option, or None if it is unreadable.
    """

    items: list[Item]
    key: dict[str, int]
    options: dict[str, Options]

    @cached_property
    def n_options(self) -> IntArray:
        """Number of options of each item, shape (N,)."""
        return np.array([len(item.options) for item in self.items], np.int64)

    @cached_property
    def truth(self) -> IntArray:
        """Right option of each item, shape (N,)."""
        return np.array([self.key[item.id] for item in self.items])

    @cached_property
    def models(self) -> dict[str, IntArray]:
        """Model name → chosen options, −1 if unreadable, shape (N,)."""
        return {
            name: np.array([-1 if (k := options[item.id]) is None else k for item in self.items])
            for name, options in self.options.items()
        }

    @cached_property
    def exact(self) -> dict[str, float]:
        """Model name → accuracy on all items."""
        return {name: float((options == self.truth).mean()) for name, options in self.models.items()}


@dataclass
class Seen:
    """Results of simulated studies, one list entry per study.

    `plain` and `ours` are squared errors of the plain and the assisted estimate. `held` is whether the
    assisted interval covers, `widths` its width, and `others` another number that the caller chooses.
    """

    plain: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def add(self, plain: float, found: ov.Estimate, exact: float, other: float, unit: float = 1.0) -> None:
        """Add a study. `plain` is the plain estimate's error; squared errors are divided by `unit`."""
        self.plain.append(plain**2 / unit)
        self.ours.append((found.value - exact) ** 2 / unit)
        self.held.append(found.low - 1e-9 <= exact <= found.high + 1e-9)
        self.widths.append(found.high - found.low)
        self.others.append(other)

    @property
    def ratio(self) -> float:
        """Mean squared error of the plain estimate divided by that of ours: the factor of questions saved."""
        return float(np.mean(self.plain) / np.mean(self.ours))


def load() -> Pool:
    """Read the published answers."""
    path = FOLDER / "mmlu_pro_model_predictions.parquet"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    table = pq.read_table(path, use_threads=False).to_pydict()
    known = {"question_id", "category", "n_options", "answer"}
    items, truth = [], {}
    models: dict[str, Options] = {name: {} for name in table if name not in known}
    for j, k in enumerate(table["n_options"]):
        if k < 2:
            continue
        item = Item(str(table["question_id"][j]), "?", LETTERS[:k], tuple(range(k)))
        items.append(item)
        truth[item.id] = LETTERS.index(table["answer"][j])
        for name, options in models.items():
            letter = table[name][j]
            options[item.id] = LETTERS.index(letter) if letter and letter in LETTERS[:k] else None
    return Pool(items=items, key=truth, options=models)


def predictions(items: Sequence[Item], options: Options) -> list[Prediction]:
    """Return a model's predictions about these items; an option of None is unreadable."""
    return [
        Prediction(
            item.id, option, PredictionStatus.OK if option is not None else PredictionStatus.UNREADABLE
        )
        for item in items
        for option in (options[item.id],)
    ]


def collect(plan: Any, items: Sequence[Item], truth: dict[str, int]) -> Labels:
    """Let a protocol draw all its questions, and answer them from the truth. Returns the labels."""
    experts, answers = SimulatedExperts(truth), list[Answer]()
    waiting = plan.route(items)
    drawn = list(waiting)
    while waiting:
        answers += experts.answer(waiting)
        waiting = plan.next_questions(items, answers) if plan.statement.asks_on else []
        drawn += waiting
    return ov.decode(answers, drawn)
