"""Published answers of twenty models to MMLU-Pro: all questions, and the bundled ones with ten options."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks._field_real import read_answers
from benchmarks._simulation import LETTERS, Estimates, Options
from oversight.harness import FloatArray, IntArray
from oversight.harness.columns import ItemIndex
from oversight.harness.estimate import RoutedSample
from oversight.harness.types import Item, Prediction, PredictionStatus
from oversight.protocols.routing import one_expert_per_class

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
ROSTER = one_expert_per_class(LETTERS)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Items with true options, and models' answers.

    Attributes
    ----------
    ids, subject, n_options, truth
        Id, subject, number of options and true option of each item, shape (N,).
    models
        Model name → chosen options, −1 if unreadable, shape (N,).
    """

    ids: list[str]
    subject: NDArray[np.str_]
    n_options: IntArray
    truth: IntArray
    models: dict[str, IntArray]

    @property
    def size(self) -> int:
        """Number of items, N."""
        return len(self.ids)

    @cached_property
    def items(self) -> list[Item]:
        """The items; their texts are not needed."""
        sizes = self.n_options.tolist()
        return [Item(x, "?", LETTERS[:k], tuple(range(k))) for x, k in zip(self.ids, sizes, strict=True)]

    @cached_property
    def index(self) -> ItemIndex:
        """Index of the items."""
        return ItemIndex.of(self.ids)

    @cached_property
    def key(self) -> dict[str, int]:
        """Item id → true option."""
        return dict(zip(self.ids, self.truth.tolist(), strict=True))

    @cached_property
    def exact(self) -> dict[str, float]:
        """Model name → accuracy on all items."""
        return {name: float((options == self.truth).mean()) for name, options in self.models.items()}

    def votes(self, names: Sequence[str], places: IntArray) -> dict[str, Options]:
        """Return models' options of the items at these places."""
        return {name: {p.item_id: p.option for p in self.predictions(name, places)} for name in names}

    def predictions(self, name: str, places: IntArray) -> list[Prediction]:
        """Return a model's predictions about the items at these places."""
        said = zip(places.tolist(), self.models[name][places].tolist(), strict=True)
        status = (PredictionStatus.OK, PredictionStatus.UNREADABLE)
        return [Prediction(self.ids[j], None if k < 0 else k, status[k < 0]) for j, k in said]

    def ask_about(self, predicted: IntArray, drawn: IntArray, chances: FloatArray) -> RoutedSample:
        """Ask about the readable predictions of drawn items; all other options have propensity 0.

        `chances` are the items' probabilities of being drawn, shape (N,).
        """
        items = drawn[predicted[drawn] >= 0]
        options = predicted[items]
        propensities = np.zeros((self.size, int(self.n_options.max())))
        propensities[items, options] = chances[items]
        right = (options == self.truth[items]).astype(np.float64)
        return RoutedSample(items, options, right, propensities, self.n_options, sampled=True)


@dataclass
class Seen:
    """Plain and assisted estimates in simulated studies, and areas under the ROC curve of a judge."""

    plain: Estimates = field(default_factory=Estimates)
    ours: Estimates = field(default_factory=Estimates)
    areas: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Mean squared error of the plain estimate divided by that of ours: the factor of questions saved."""
        return self.plain.mse / self.ours.mse


@cache
def load_all() -> Pool:
    """Read the published answers to all questions with at least two options."""
    path = FOLDER / "mmlu_pro_model_predictions.parquet"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    table = pq.read_table(path, use_threads=False).to_pydict()
    sizes = np.array(table.pop("n_options"))
    keep = sizes >= 2

    def read(letters: list[str]) -> IntArray:
        options = np.array([LETTERS.index(x) if x in LETTERS else -1 for x in letters])
        return np.where(options < sizes, options, -1)[keep]

    ids = [str(x) for x, is_kept in zip(table.pop("question_id"), keep, strict=True) if is_kept]
    subject, truth = np.array(table.pop("category"))[keep], read(table.pop("answer"))
    models = {name: read(letters) for name, letters in table.items()}
    return Pool(ids=ids, subject=subject, n_options=sizes[keep], truth=truth, models=models)


@cache
def load_bundled() -> Pool:
    """Read the bundled answers to 4,000 questions with ten options."""
    names, subject, truth, options = read_answers()
    ids = [str(j) for j in range(len(truth))]
    sizes, models = np.full(len(truth), len(LETTERS)), dict(zip(names, options, strict=True))
    return Pool(ids=ids, subject=subject, n_options=sizes, truth=truth, models=models)
