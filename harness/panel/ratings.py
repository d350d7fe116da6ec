"""A panel of annotators: their labels of items, and ways to combine the labels of an item.

Ratings are given in long form (`item, annotator, label`) and stored as three integer arrays. Every function
of this package takes a `Panel`, or its (N, K) votes. The labels of an item are combined by plurality, by a
weighted vote, or by the latent class model of Dawid and Skene, which learns each annotator's reliability:
P(annotator a gives l | class j) = π^a_jl, P(class j) = p_j, and labels are independent given the class. The
model is fitted by EM that starts from the vote shares. Source: Dawid & Skene 1979, Applied Statistics 28,
equations 2.3–2.5 and 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from scipy import sparse

from oversight.harness.arrays import NO_LABEL, BoolArray, FloatArray, IntArray, divide
from oversight.harness.columns import ItemIndex, ItemValues
from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, EstimateError
from oversight.harness.estimate import check_rows, number_clusters
from oversight.harness.types import Rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Labels of several annotators.

    Attributes
    ----------
    items, annotators, classes
        Names: items and annotators in order of first appearance; classes in the given order, or sorted if
        none was given.
    item, annotator, label
        Shape (R,): one row per rating, as positions in the three tuples. No annotator rates an item twice;
        a rating that was not given has no row.
    cluster
        Shape (N,): index of every item's cluster, for example the patient of an image; None if items are
        independent.
    ordered
        Whether the order of the classes was given, so that ordinal agreement can use it.

    Raises
    ------
    EstimateError
        If a label is not a class, or an annotator rates an item twice; the message names row and value.

    Examples
    --------
    >>> from oversight.harness.types import Rating
    >>> panel = make_panel([Rating("a", "ann", "x"), Rating("a", "bob", "y"), Rating("b", "ann", "x")])
    >>> panel.K, panel.grid().tolist()
    (2, [[0, 1], [0, -1]])
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: IntArray
    annotator: IntArray
    label: IntArray
    cluster: IntArray | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        for name, names in (("item", self.items), ("annotator", self.annotators), ("label", self.classes)):
            values = getattr(self, name)
            check_rows(name, values, (values >= 0) & (values < len(names)), f"lie in 0..{len(names) - 1}")
        if len(self.classes) < 2:
            raise EstimateError(f"a panel needs at least 2 classes, has {len(self.classes)}: {self.classes}")
        pair = self.item * len(self.annotators) + self.annotator
        order = np.argsort(pair, kind="stable")
        again = order[1:][pair[order][1:] == pair[order][:-1]]
        if len(again):
            row = int(again.min())
            raise EstimateError(
                f"row {row}: the annotator {self.annotators[self.annotator[row]]!r} rates the item "
                f"{self.items[self.item[row]]!r} a second time, now {self.classes[self.label[row]]!r}"
            )

    @property
    def K(self) -> int:  # noqa: N802  the sources' name
        """Number of classes."""
        return len(self.classes)

    @property
    def unit(self) -> IntArray:
        """Index of each item's independent unit, shape (N,).

        The unit is the item's cluster or, if there are no clusters, the item itself.
        """
        return np.arange(len(self.items)) if self.cluster is None else self.cluster

    @property
    def clusters(self) -> int | None:
        """Number of clusters; None if items are independent."""
        return None if self.cluster is None else len(np.unique(self.cluster))

    def clustered(self, clusters: Mapping[str, str]) -> Panel:
        """Return the same ratings with clusters of items; `clusters` maps item → name of its cluster.

        If every cluster has only one item, the items remain independent.

        Raises
        ------
        EstimateError
            If an item has no cluster, or all items share one.
        """
        index = ItemIndex.of(self.items)
        values = ItemValues.of(clusters, index) if clusters else None
        cluster = number_clusters(np.arange(index.size), index, values)
        alone = cluster is None or len(np.unique(cluster)) == len(self.items)
        return replace(self, cluster=None if alone else cluster)

    def in_order(self, classes: Sequence[str]) -> Panel:
        """Return the same ratings with the given classes, which may include unused ones, in that order.

        Raises
        ------
        EstimateError
            If a class is given twice, or a class that occurs is missing.
        """
        place = _place(classes)
        seen = np.unique(self.label)
        for c in seen:
            if self.classes[c] not in place:
                told = f"the label {self.classes[c]!r} is no class; classes are {_some(classes)}"
                raise EstimateError(told)
        moved = np.array([place.get(name, NO_LABEL) for name in self.classes], dtype=np.int64)
        return replace(self, classes=tuple(classes), label=moved[self.label], ordered=True)

    def votes(self) -> IntArray:
        """Return v_nc, the number of annotators that gave item n the class c; shape (N, K)."""
        flat = np.bincount(self.item * self.K + self.label, minlength=len(self.items) * self.K)
        return flat.reshape(len(self.items), self.K).astype(np.int64)

    def sparse_votes(self) -> Any:
        """Return the votes as a sparse array of scipy, which saves memory with thousands of classes."""
        ones = np.ones(len(self.item), dtype=np.int64)
        return sparse.csr_array((ones, (self.item, self.label)), shape=(len(self.items), self.K))

    def grid(self) -> IntArray:
        """Return the label by item and annotator, shape (N, annotators); `NO_LABEL` if none exists."""
        grid = np.full((len(self.items), len(self.annotators)), NO_LABEL, dtype=np.int64)
        grid[self.item, self.annotator] = self.label
        return grid

    def without(self, annotators: Iterable[str]) -> Panel:
        """Return the panel without the ratings of the named annotators."""
        kept = ~np.isin(np.arange(len(self.annotators)), self.positions(set(annotators)))
        rows = kept[self.annotator]
        return replace(
            self,
            annotators=tuple(compress(self.annotators, kept)),
            item=self.item[rows],
            annotator=(np.cumsum(kept) - 1)[self.annotator[rows]],
            label=self.label[rows],
        )

    def positions(self, annotators: Iterable[str]) -> list[int]:
        """Return the positions of the named annotators in `Panel.annotators`.

        Raises
        ------
        EstimateError
            If one of the annotators gave no rating.
        """
        for name in annotators:
            if name not in self.annotators:
                raise EstimateError(
                    f"no ratings by annotator {name!r}; known annotators: {_some(self.annotators)}"
                )
        return [self.annotators.index(name) for name in annotators]

    def numbered_within_items(self, *labels: IntArray) -> tuple[Panel, list[IntArray]]:
        """Return the panel and further labels with the classes renumbered 0, 1, … within every item.

        This makes the (N, K) votes small if there are thousands of classes but few per item. Use the result
        only with functions that compare labels of the same item.

        Parameters
        ----------
        labels
            Each of shape (N,): a class per item, negative if the item has no label. The returned labels have
            the same form.

        Raises
        ------
        EstimateError
            If a shape is wrong.
        """
        rows = np.arange(len(self.items))
        for x in labels:
            if x.shape != rows.shape:
                raise EstimateError(f"labels of the items must have shape {rows.shape}, have {x.shape}")
        given = [self.item * self.K + self.label, *(rows[x >= 0] * self.K + x[x >= 0] for x in labels)]
        pairs = np.unique(np.concatenate(given))
        first = np.searchsorted(pairs, rows * self.K)
        number = np.arange(len(pairs)) - first[pairs // self.K]
        own, *others = (number[np.searchsorted(pairs, pair)] for pair in given)
        moved: list[IntArray] = [np.full(len(rows), NO_LABEL) for _ in labels]
        for to, x, found in zip(moved, labels, others, strict=True):
            to[x >= 0] = found
        names = tuple(map(str, range(max(2, int(number.max()) + 1))))
        return replace(self, classes=names, label=own), moved

    def codes(self, name: str, labels: Sequence[str | None] | dict[str, str | None]) -> IntArray:
        """Return the positions of external labels (from a model or an oracle) among the classes; shape (N,).

        Parameters
        ----------
        name
            Name of the labels in messages: ``"predictions"``, ``"reference"``.
        labels
            One label per item in the panel's order, or a mapping item → label; None becomes `NO_LABEL`.

        Raises
        ------
        EstimateError
            If an item has no entry or its label is not a class; the message names the item.
        """
        if isinstance(labels, dict):
            left_out = next((i for i in self.items if i not in labels), None)
            if left_out is not None:
                raise EstimateError(f"{name}: there is no value for the item {left_out!r}")
            labels = [labels[i] for i in self.items]
        if len(labels) != len(self.items):
            raise EstimateError(f"{name} must have length {len(self.items)}, has {len(labels)}")
        place = {None: NO_LABEL} | {c: j for j, c in enumerate(self.classes)}
        for item, label in zip(self.items, labels, strict=True):
            if label not in place:
                raise EstimateError(
                    f"{name}, item {item!r}: {label!r} is no class; classes are {_some(self.classes)}"
                )
        return np.array([place[label] for label in labels], dtype=np.int64)


def make_panel(ratings: Iterable[Rating], classes: Sequence[str] | None = None) -> Panel:
    """Make a `Panel` from ratings.

    Parameters
    ----------
    ratings
        Ratings in any order.
    classes
        All classes, in the order that ordinal agreement uses. By default, the classes that occur, sorted by
        name; ordinal agreement does not use this order.

    Raises
    ------
    EstimateError
        If there is no rating, or for the reasons given in `Panel`.

    Examples
    --------
    >>> from oversight.harness.types import Rating
    >>> panel = make_panel([Rating("a", "ann", "x"), Rating("a", "bob", "y"), Rating("b", "ann", "x")])
    >>> panel.items, panel.votes().tolist()
    (('a', 'b'), [[1, 1], [1, 0]])
    """
    rows = list(ratings)
    if not rows:
        raise EstimateError("a panel needs at least 1 rating, there are 0")
    items = {name: j for j, name in enumerate(dict.fromkeys(r.item for r in rows))}
    people = {name: j for j, name in enumerate(dict.fromkeys(r.annotator for r in rows))}
    known = tuple(classes) if classes is not None else tuple(sorted({r.label for r in rows}))
    place = _place(known)
    for number, r in enumerate(rows):
        if r.label not in place:
            raise EstimateError(
                f"row {number}: the label {r.label!r} of item {r.item!r} by {r.annotator!r} is no class; "
                f"classes are {_some(known)}"
            )
    return Panel(
        items=tuple(items),
        annotators=tuple(people),
        classes=known,
        item=np.array([items[r.item] for r in rows], dtype=np.int64),
        annotator=np.array([people[r.annotator] for r in rows], dtype=np.int64),
        label=np.array([place[r.label] for r in rows], dtype=np.int64),
        ordered=classes is not None,
    )


def make_panel_from_grid(grid: IntArray, classes: Sequence[str], annotators: Sequence[str] = ()) -> Panel:
    """Make a panel from an (N, annotators) array of class positions, with `NO_LABEL` for missing ones."""
    item, annotator = np.nonzero(grid != NO_LABEL)
    return Panel(
        items=tuple(f"i{n}" for n in range(len(grid))),
        annotators=tuple(annotators) or tuple(f"a{j}" for j in range(grid.shape[1])),
        classes=tuple(classes),
        item=item,
        annotator=annotator,
        label=grid[item, annotator].astype(np.int64),
    )


def check_votes(votes: Any) -> None:
    """Check that agreement can be computed from votes.

    Raises
    ------
    EstimateError
        If the shape is not (N ≥ 1, K ≥ 2), a number is negative, or no item has 2 votes.
    """
    if votes.ndim != 2 or votes.shape[0] < 1 or votes.shape[1] < 2:
        raise EstimateError(f"votes must have shape (N >= 1, K >= 2), has {votes.shape}")
    for row in np.flatnonzero((votes < 0).sum(axis=1))[:1]:
        raise EstimateError(f"votes[{row}] must be at least 0, is {votes[row].tolist()}")
    if int(votes.sum(axis=1).max()) < 2:
        raise EstimateError("no item has 2 annotators, so agreement is not defined")


def _place(classes: Sequence[str]) -> dict[str, int]:
    """Return the position of every class; raise an error if a class occurs twice."""
    place = {name: j for j, name in enumerate(classes)}
    if len(place) < len(classes):
        twice = next(name for j, name in enumerate(classes) if place[name] != j)
        raise EstimateError(f"classes must differ, one is given twice: {twice!r} in {_some(classes)}")
    return place


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" … ({len(names)})" if len(names) > 8 else "")


_TOLERANCE = 1e-6
"""EM stops if the lower bound of the evidence, in nats over all items, improves by less than this."""
_STEPS = 1000


def fit_dawid_skene(item: IntArray, annotator: IntArray, label: IntArray, K: int) -> FloatArray:
    """Return P(class of the item | all labels) by the model of Dawid and Skene.

    Parameters
    ----------
    item, annotator, label
        Shape (R,): one row per rating. Every item 0..N−1 has at least one rating; an annotator may rate an
        item several times or never.
    K
        Number of classes; labels lie in 0..K−1.

    Returns
    -------
    array
        Shape (N, K); rows sum to 1. Classes that no annotator chose have probability 0.

    Raises
    ------
    ConfigError
        If Crowd-Kit is not installed.
    EstimateError
        If EM has not converged after a thousand steps.
    """
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        raise ConfigError(f"the aggregate 'dawid-skene' needs: {install_line('crowd')}") from None
    model = DawidSkene(n_iter=_STEPS, tol=_TOLERANCE)
    shares = model.fit_predict_proba(pd.DataFrame({"task": item, "worker": annotator, "label": label}))
    if len(model.loss_history_) >= _STEPS:
        raise EstimateError(f"dawid-skene has not converged after {_STEPS} steps; use another aggregate")
    posterior: FloatArray = shares.reindex(columns=range(K), fill_value=0.0).sort_index().to_numpy()
    return posterior


AGGREGATES = ("plurality", "weighted", "dawid-skene")
TIE = 1e-9
"""Relative difference below which two scores tie, because sums of float weights have rounding errors."""


def plurality(scores: IntArray | FloatArray) -> BoolArray:
    """Return a mask of each item's classes with the most votes; shape (N, K).

    All entries of an item without votes are False.
    """
    best = scores.max(axis=1, keepdims=True)
    winners: BoolArray = (scores >= best * (1 - TIE)) & (best > 0)
    return winners


def agreement_with(winners: BoolArray, predicted: IntArray) -> FloatArray:
    """Return P(aggregate = prediction) if ties are broken at random; shape (N,), nan for items without votes.

    The value is 1/(number of winning classes) if the prediction is a winning class, otherwise 0. Breaking
    ties towards the lowest class would favour models with the same bias, and a random draw would add noise.
    An unreadable prediction (negative) agrees with nothing.
    """
    if predicted.shape != (len(winners),):
        raise EstimateError(f"predicted must have shape ({len(winners)},), has {predicted.shape}")
    tied = winners.sum(axis=1)
    named = np.maximum(predicted, 0)
    hit = winners[np.arange(len(winners)), named] & (predicted >= 0)
    return divide(hit, tied, where=tied > 0)


def weighted_votes(panel: Panel, weights: Mapping[str, float]) -> FloatArray:
    """Return the sum of the weights of the annotators who chose each class; shape (N, K).

    Raises
    ------
    EstimateError
        If an annotator has no weight, a weight is negative or not finite, or all of an item's weights are 0.
    """
    for name in panel.annotators:
        weight = weights.get(name)
        if weight is None or not np.isfinite(weight) or weight < 0:
            raise EstimateError(f"weights: annotator {name!r} needs a number of at least 0, has {weight}")
    by_row = np.array([weights[name] for name in panel.annotators])[panel.annotator]
    total = np.zeros((len(panel.items), panel.K))
    np.add.at(total, (panel.item, panel.label), by_row)
    for row in np.flatnonzero(total.sum(axis=1) == 0)[:1]:
        raise EstimateError(f"weights: all annotators of item {panel.items[row]!r} have weight 0")
    return total


def aggregate_votes(panel: Panel, how: str, weights: Mapping[str, float] | None = None) -> BoolArray:
    """Return the winning classes of every item by the aggregate `how` (one of `AGGREGATES`); shape (N, K).

    Raises
    ------
    ConfigError
        If the library of a learned aggregate is not installed.
    EstimateError
        If `how` is unknown, or weights are missing.
    """
    if how == "plurality":
        return plurality(panel.votes())
    if how == "weighted":
        return plurality(weighted_votes(panel, weights or {}))
    if how == "dawid-skene":
        return plurality(fit_dawid_skene(panel.item, panel.annotator, panel.label, panel.K))
    raise EstimateError(f"aggregate must be one of {', '.join(AGGREGATES)}, is {how!r}")
