"""How many models of a study predict the options that experts were asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns

_NEAR = 1e-9


@dataclass(frozen=True)
class ModelVotes:
    """Predictions of all models of a study, beside the answers of its experts.

    Attributes
    ----------
    models
        The models, in any order: nothing here depends on it.
    labels
        Labels over the same items.
    """

    models: Sequence[PredictionColumns]
    labels: LabelColumns

    @cached_property
    def all_ran(self) -> BoolArray:
        """Items that every model answered, readable or not, shape (N,)."""
        found: BoolArray = np.logical_and.reduce([model.ran for model in self.models])
        return found

    def count_votes(self, item: IntArray, option: IntArray) -> IntArray:
        """Number of models that predict an option of an item, shape of `item`."""
        votes = np.zeros(item.size, np.int64)
        for model in self.models:
            votes += model.option[item] == option
        return votes

    @cached_property
    def votes(self) -> IntArray:
        """Number of models that predict the option of each label, shape (L,)."""
        return self.count_votes(self.labels.item, self.labels.option)

    @cached_property
    def is_first(self) -> BoolArray:
        """Whether a label is the first of its item, shape (L,)."""
        first = np.zeros(len(self.labels), np.bool_)
        first[np.unique(self.labels.item, return_index=True)[1]] = True
        return first

    @cached_property
    def usable(self) -> IntArray:
        """Rows whose answer says whether votes are right, in order.

        The first answer about an item if its protocol asks on, since later questions follow from answers;
        else the answer to the only question about an item.
        """
        labels = self.labels
        if labels.is_resolved:
            alone = self.is_first
        else:
            alone = np.bincount(labels.item, minlength=labels.index.size)[labels.item] == 1
        rows: IntArray = np.flatnonzero(alone & (labels.kind != ABSTAINED) & self.all_ran[labels.item])
        return rows

    @cached_property
    def lacks_models(self) -> bool:
        """Whether questions were drawn for other models, too.

        Then an option that none of these models predicts was more likely to be asked about than the least
        likely option of its item.
        """
        if self.labels.is_uniform:
            return False
        rows = self.usable[self.votes[self.usable] == 0]
        asked = self.labels.questions.take(rows)
        least = np.zeros(rows.size)
        known = np.flatnonzero(asked.offered.number)
        if known.size:
            offered = asked.offered.take(known)
            least[known] = np.minimum.reduceat(offered.values, offered.start[:-1])
        return bool((asked.propensity > least + _NEAR).any())

    @cached_property
    def kappa(self) -> float:
        """Mean agreement of two models beyond chance, at most 1; 0 without two models.

        Chance is what the frequencies of the options that models predict imply, for each number of options
        (Cohen's κ over all pairs of models).
        """
        rows, count = self.usable, len(self.models)
        if count < 2 or not rows.size:
            return 0.0
        item, k = self.labels.item[rows], self.labels.questions.n_options[rows]
        agreed, chance = 0.0, 0.0
        for size in np.unique(k).tolist():
            items = item[k == size]
            votes = np.stack([self.count_votes(items, np.full(items.size, o)) for o in range(size)])
            pairs = count * (count - 1)
            agreed += float((votes * (votes - 1)).sum()) / pairs
            chance += items.size * float(((votes.sum(axis=1) / (items.size * count)) ** 2).sum())
        total = float(rows.size)
        return 0.0 if chance >= total else max(0.0, (agreed - chance) / (total - chance))

    def share_of_votes(self, rows: IntArray) -> FloatArray:
        """Share of the models that predict the option of some labels, shape of `rows`."""
        found: FloatArray = self.votes[rows] / len(self.models)
        return found

    def is_yes(self, rows: IntArray) -> BoolArray:
        """Whether the answers of some labels are yes."""
        return np.asarray(self.labels.kind[rows] == YES)

    @property
    def is_alike(self) -> bool:
        """Whether every usable answer is the same."""
        said = self.labels.kind[self.usable]
        return bool((said == NO).all() or (said == YES).all())
