"""Experts' answers about a fixed list of items, as arrays: the input of every fitness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness import BoolArray, EstimateError, FloatArray, IntArray
from harness.estimate import RoutedSample
from harness.types import Item, Label, LabelKind


@dataclass(frozen=True, slots=True)
class ExpertLabels:
    """Labels of n items, by item.

    Attributes
    ----------
    items
        Their ids.
    n_options
        K of each, shape (n,).
    truth
        The option with a yes, −1 if there is none, shape (n,).
    refused
        Options with a no, shape (n, K).
    propensities
        With which every option was asked about, shape (n, K); meaningful where `routed`.
    routed
        Whether the item's options were drawn with unequal propensities, shape (n,).
    cluster
        Number of the item's cluster, shape (n,); all different where items are independent.
    """

    items: tuple[str, ...]
    n_options: IntArray
    truth: IntArray
    refused: BoolArray
    propensities: FloatArray
    routed: BoolArray
    cluster: IntArray

    @property
    def answered(self) -> BoolArray:
        """Items with a yes or a no, shape (n,)."""
        return (self.truth >= 0) | self.refused.any(axis=1)

    @classmethod
    def of(
        cls, items: Sequence[Item], labels: Iterable[Label], clusters: Mapping[str, str] | None = None
    ) -> ExpertLabels:
        """Gather labels of these items; labels of others and abstentions are left out.

        An item with an abstention among routed questions is left out whole, because which questions
        stay unanswered may depend on the truth. `clusters` names the cluster of every item by id.

        Raises
        ------
        EstimateError
            If an item has two true options, all its options refused, or two answers about one option.
        """
        row = {item.id: i for i, item in enumerate(items)}
        n, width = len(items), max((len(item.options) for item in items), default=2)
        truth = np.full(n, -1)
        refused = np.zeros((n, width), np.bool_)
        propensities = np.zeros((n, width))
        routed, silent = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for label in labels:
            i = row.get(label.item_id)
            if i is None:
                continue
            if label.propensities or label.propensity >= 1:
                routed[i] = True
                pi = label.propensities or np.eye(label.n_options)[label.option]
                propensities[i, : label.n_options] = np.maximum(propensities[i, : label.n_options], pi)
            if label.kind is LabelKind.ABSTAINED:
                silent[i] = True
            else:
                _note(truth, refused, i, label)
        drop = silent & routed
        truth[drop], refused[drop], routed[drop] = -1, False, False
        n_options = np.array([len(item.options) for item in items])
        for i in np.flatnonzero(refused.sum(axis=1) >= n_options):
            raise EstimateError(f"labels: item {items[i].id!r} has all its {n_options[i]} options refused")
        names = [clusters[i] if clusters else i for i in row]
        cluster = np.unique(names, return_inverse=True)[1].astype(np.int64)
        return cls(tuple(row), n_options, truth, refused, propensities, routed, cluster)

    def routed_data(self, columns: IntArray) -> RoutedSample:
        """Answers about some items, as the estimators of `harness.estimate.routed` take them."""
        yes = self.truth[columns, None] == np.arange(self.refused.shape[1])
        item, asked = np.nonzero(yes | self.refused[columns])
        return RoutedSample(
            item=item,
            asked=asked,
            answer=yes[item, asked].astype(np.float64),
            propensities=self.propensities[columns],
            n_options=self.n_options[columns],
        )


def _note(truth: IntArray, refused: BoolArray, i: int, label: Label) -> None:
    if refused[i, label.option] or truth[i] == label.option:
        raise EstimateError(f"labels: item {label.item_id!r} has two answers about option {label.option}")
    if label.kind is not LabelKind.ORDINARY:
        refused[i, label.option] = True
    elif truth[i] >= 0:
        raise EstimateError(
            f"labels: item {label.item_id!r} must have one true option, has yes for "
            f"{truth[i]} and {label.option}"
        )
    else:
        truth[i] = label.option
